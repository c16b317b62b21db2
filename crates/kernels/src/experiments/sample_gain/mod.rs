//! What a symmetry is worth in samples: P_plain/P_inv at the same test error.
//!
//! Kernel ridge regression of a target that is invariant under a group G, with the Laplace kernel K and with its average K_G
//! over the group. Regression with K_G on P samples is regression with K on their |G| P images, so a symmetry is worth at most
//! about |G| samples for each (Bietti et al. 2021), and all of them where the images of a sample teach as much as new samples.
//!
//! Training samples, test samples and targets are drawn from streams of their own. Targets are `rough`, draws of the Gaussian
//! process with covariance K_G at all samples together, or `smooth`, sums of waves averaged over the group.

mod gain;
mod settings;
mod task;
#[cfg(test)]
mod tests;
mod view;

use polariscope_experiment::{Cell, Claim, Design, Experiment, Select, Wanted, level};

use super::ExperimentError;
use gain::gain;
pub(super) use settings::ENTRY;
use task::{Group, KERNELS, TARGETS, Task};

/// The gain over |G| that cyclic shifts should have.
const EXPECTED: (f64, f64) = (0.6, 1.3);

/// The experiment.
pub struct SampleGain {
    /// Sizes of training sets, smallest first.
    pub sizes: Vec<usize>,
    /// Test samples.
    pub test: usize,
    /// Runs: draws of samples and target.
    pub runs: u64,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

/// The rows of a group and a target.
fn at(group: &Group, target: &str) -> Select {
    Select::of(&[("group", group.name), ("target", target)])
}

/// The measure of a kernel's error at P.
fn error_at(kernel: &str, samples: usize) -> String {
    format!("{kernel} {samples}")
}

impl Experiment for SampleGain {
    type Error = ExperimentError;

    fn design(&self) -> Design {
        let groups = Group::ALL.map(|g| g.name);
        let curves = KERNELS
            .iter()
            .flat_map(|kernel| self.sizes.iter().map(|&p| error_at(kernel, p)));
        let measures: Vec<String> = ["gain", "share"]
            .map(String::from)
            .into_iter()
            .chain(curves)
            .collect();
        let measures: Vec<&str> = measures.iter().map(String::as_str).collect();
        let factors: [(&str, &[&str]); 2] = [("group", &groups), ("target", &TARGETS)];
        Design::product(&factors, self.runs, &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let (low, high) = EXPECTED;
        let wanted = Wanted::Near {
            value: (low + high) / 2.0,
            tolerance: (high - low) / 2.0,
        };
        let claim = |group: &Group, target: &str| {
            Claim::new(
                format!(
                    "{}, {target} target: the gain is {low} to {high} times |G| = {}",
                    group.name,
                    group.permutations().order()
                ),
                level("share", at(group, target), wanted),
            )
        };
        let shifts = Group::ALL.iter().filter(|g| g.is_shift());
        shifts
            .flat_map(|group| TARGETS.map(|target| claim(group, target)))
            .collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, ExperimentError> {
        let group = Group::of(cell.level("group"));
        let largest = self.sizes.last().copied().unwrap_or(0);
        let task = Task::draw(
            group,
            cell.level("target"),
            (largest, self.test),
            (self.seed, cell.run),
        )?;
        let plain = task.errors(&task.plain(), &self.sizes)?;
        let averaged = task.errors(&task.averaged(), &self.sizes)?;
        let curve = |errors: &[f64]| -> Vec<(f64, f64)> {
            let sizes = self.sizes.iter().map(|&p| p as f64);
            sizes.zip(errors.iter().copied()).collect()
        };
        let gain = gain(&curve(&plain), &curve(&averaged)).unwrap_or(f64::NAN);
        let share = gain / task.group.order() as f64;
        Ok([vec![gain, share], plain, averaged].concat())
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        Group::of(cell.level("group")).permutations().order() as f64
    }
}
