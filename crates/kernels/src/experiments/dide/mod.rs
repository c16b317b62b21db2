//! Learning curves (Fig 3): test error against the number m of training samples, and whether the curves bend down: DIDE,
//! the data's help that grows with their number.
//!
//! β(m) is the exponent of error ~ m^{−β}. It is fitted to the first half of the sizes and to the second; a curve bends
//! by β(large) − β(small).

mod settings;
mod view;

use std::marker::PhantomData;

use polariscope_diff::Place;
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Scale, Select, Test, Wanted, exponent,
};

use super::infinite::{operations, regression};
use super::{ExperimentError, Finite, Precision, Problem, System, Training, accuracy, mean_square};
pub(super) use settings::ENTRY;

/// The experiment.
pub struct Dide<T> {
    /// Data of the runs; its training samples are the largest m.
    pub problem: Problem,
    /// Sizes m, smallest first.
    pub sizes: Vec<usize>,
    /// Whether a last size of twice the largest is added, by mirror images.
    pub flips: Flips,
    /// Hidden layers.
    pub depth: usize,
    /// Width of finite networks.
    pub width: usize,
    /// Updates of finite networks.
    pub steps: u64,
    /// Runs.
    pub runs: u64,
    /// Where kernels and networks are computed.
    pub place: Place,
    /// Precision of kernels and networks.
    pub precision: PhantomData<T>,
}

/// Whether mirror images double the largest training set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flips {
    /// No.
    None,
    /// Yes, as one more size.
    Last,
}

/// Who learns: name in the table, system, and whether its width is finite.
const LEARNERS: [(&str, System, Width); 5] = [
    ("vec-n", System::Vec, Width::Finite),
    ("lcn-n", System::Lcn, Width::Finite),
    ("gap-n", System::Gap, Width::Finite),
    ("vec-inf", System::Vec, Width::Infinite),
    ("gap-inf", System::Gap, Width::Infinite),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Finite,
    Infinite,
}

fn learner(name: &str) -> (System, Width) {
    let found = LEARNERS.iter().find(|l| l.0 == name);
    found.map_or((System::Vec, Width::Finite), |l| (l.1, l.2))
}

impl<T> Dide<T> {
    /// Every m, that of the mirror images included.
    pub fn all_sizes(&self) -> Vec<usize> {
        let doubled = self.sizes.last().map(|m| 2 * m);
        let last = doubled.filter(|_| self.flips == Flips::Last);
        self.sizes.iter().copied().chain(last).collect()
    }

    /// Terms of β(large) − β(small) on the logarithm of the error.
    fn bend(&self, learner: &str) -> Vec<(f64, Select)> {
        let sizes = self.all_sizes();
        let point = |m: &usize| {
            let select = Select::of(&[("learner", learner), ("m", &m.to_string())]);
            (*m as f64, select)
        };
        // The size in the middle belongs to both halves.
        let (small, large) = (&sizes[..sizes.len() / 2 + 1], &sizes[sizes.len() / 2..]);
        let terms = |sizes: &[usize]| exponent(&sizes.iter().map(point).collect::<Vec<_>>());
        let minus = terms(large).into_iter().map(|(w, s)| (-w, s));
        terms(small).into_iter().chain(minus).collect()
    }
}

impl<T: Precision> Experiment for Dide<T> {
    type Error = ExperimentError;

    fn design(&self) -> Design {
        let sizes: Vec<String> = self.all_sizes().iter().map(usize::to_string).collect();
        let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
        let learners = LEARNERS.map(|l| l.0);
        let factors: [(&str, &[&str]); 2] = [("learner", &learners), ("m", &sizes)];
        Design::product(&factors, self.runs, &["error", "mse"])
    }

    fn claims(&self) -> Vec<Claim> {
        let positive = |terms| Test::Contrast {
            measure: "error",
            scale: Scale::Log,
            terms,
            wanted: Wanted::Positive,
        };
        let mut claims = vec![Claim::new(
            "VEC_n bends down: β(large m) − β(small m) > 0",
            positive(self.bend("vec-n")),
        )];
        for (name, words) in [
            ("vec-inf", "VEC_∞"),
            ("lcn-n", "LCN_n"),
            ("gap-inf", "GAP_∞"),
        ] {
            let minus = self.bend(name).into_iter().map(|(w, s)| (-w, s));
            let terms = self.bend("vec-n").into_iter().chain(minus).collect();
            claims.push(Claim::new(
                format!("VEC_n bends down more than {words}"),
                positive(terms),
            ));
        }
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, ExperimentError> {
        let (system, width) = learner(cell.level("learner"));
        let m: usize = cell.level("m").parse().unwrap_or(0);
        let problem = &self.problem;
        let train = match self.sizes.contains(&m) {
            true => problem.train(cell.run, m)?,
            false => problem.train(cell.run, m / 2)?.with_flips(problem.shape()),
        };
        let test = problem.test(cell.run)?;
        let sizes = (self.depth, self.width);
        let graph = system.graph(problem.shape(), problem.classes(), sizes)?;
        let outputs = match width {
            Width::Infinite => regression::<T>(self.place.device, &graph, &train, &test.x)?,
            Width::Finite => self.finite(cell.run).learn::<T>(&graph, &train, &test.x)?,
        };
        Ok(vec![
            1.0 - accuracy(&outputs, problem.classes(), &test.labels),
            mean_square(&outputs, &test.targets),
        ])
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let (system, width) = learner(cell.level("learner"));
        let problem = &self.problem;
        let sizes = (self.depth, self.width);
        let Ok(graph) = system.graph(problem.shape(), problem.classes(), sizes) else {
            return 1.0;
        };
        let m = cell.level("m").parse().unwrap_or(0);
        match width {
            Width::Infinite => operations(&graph, m, problem.test_count()),
            Width::Finite => self.finite(cell.run).operations(&graph),
        }
    }
}

impl<T> Dide<T> {
    fn finite(&self, run: u64) -> Finite {
        Finite {
            place: self.place,
            training: Training::NnPlus,
            steps: self.steps,
            seed: self.problem.seed(),
            index: run,
        }
    }
}
