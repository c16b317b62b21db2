//! How VEC_n breaks the symmetry of VEC_∞ (Fig 2).
//!
//! VEC_n is trained (NN+) on data moved by τ_t, the geodesic from 1 to τ ∈ O(C)^d, and its predictions are averaged over
//! initial weights: E VEC_n^{τ_t}. The larger n and t, the less it knows of how positions belong together: its accuracy
//! falls, its distance to E GAP_n on the data as they are grows, and its distance to VEC_∞, which is the same for every
//! t, shrinks. Distances are root mean squares over test samples and outputs.

mod settings;
mod view;

use std::marker::PhantomData;

use polariscope_diff::Place;
use polariscope_experiment::{Cell, Claim, Design, Experiment, Memo, Scale, Select, Test, Wanted};
use polariscope_random::Stream;

use super::infinite::regression;
use super::{
    ExperimentError, Finite, Part, Precision, Problem, System, Training, accuracy, mean_square,
};
use crate::symmetry::{Element, Geodesic, Group};
pub(super) use settings::ENTRY;

/// The experiment.
pub struct SymmetryBreaking<T> {
    /// Data of the runs.
    pub problem: Problem,
    /// Times t, smallest first.
    pub times: Vec<f64>,
    /// Widths n, smallest first.
    pub widths: Vec<usize>,
    /// Networks that predictions are averaged over.
    pub networks: u64,
    /// Hidden layers.
    pub depth: usize,
    /// Updates of finite networks.
    pub steps: u64,
    /// Runs.
    pub runs: u64,
    /// Where kernels and networks are computed.
    pub place: Place,
    /// What cells share.
    pub kept: Kept<T>,
}

/// Predictions that several cells are compared with.
#[derive(Debug)]
pub struct Kept<T> {
    /// E GAP_n by run and width.
    gap: Memo<(u64, usize), Vec<f64>>,
    /// VEC_∞ by run.
    infinite: Memo<u64, Vec<f64>>,
    precision: PhantomData<T>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept {
            gap: Memo::default(),
            infinite: Memo::default(),
            precision: PhantomData,
        }
    }
}

impl<T: Precision> SymmetryBreaking<T> {
    /// τ_t of a run.
    fn element(&self, run: u64, t: f64) -> Result<Element, ExperimentError> {
        let (shape, seed) = (self.problem.shape(), self.problem.seed());
        let index = Stream::new(seed, run, "experiment.geodesic")
            .cursor()
            .next_u64();
        let tau = Element::draw(Group::EACH_POSITION, shape, seed, index)?;
        Ok(Geodesic::new(&tau)?.at(t))
    }

    /// Predictions averaged over initial weights.
    fn average(
        &self,
        (system, width): (System, usize),
        run: u64,
        train: &Part,
        test: &Part,
    ) -> Result<Vec<f64>, ExperimentError> {
        let problem = &self.problem;
        let sizes = (self.depth, width);
        let graph = system.graph(problem.shape(), problem.classes(), sizes)?;
        let mut sum = vec![0.0; test.targets.len()];
        for network in 0..self.networks {
            let finite = self.finite(run * self.networks + network);
            let outputs = finite.learn::<T>(&graph, train, &test.x)?;
            sum.iter_mut().zip(outputs).for_each(|(s, f)| *s += f);
        }
        let share = 1.0 / self.networks.max(1) as f64;
        sum.iter_mut().for_each(|s| *s *= share);
        Ok(sum)
    }

    fn finite(&self, index: u64) -> Finite {
        Finite {
            place: self.place,
            training: Training::NnPlus,
            steps: self.steps,
            seed: self.problem.seed(),
            index,
        }
    }

    /// Slope of a measure along t, averaged over widths, or along ln n, averaged over times.
    fn slope(&self, along: Along) -> Vec<(f64, Select)> {
        let x = |t: f64, n: usize| match along {
            Along::Time => t,
            Along::Width => (n as f64).ln(),
        };
        let grid = || {
            let times = self.times.iter();
            times.flat_map(|&t| self.widths.iter().map(move |&n| (t, n)))
        };
        let count = (self.times.len() * self.widths.len()) as f64;
        let mean = grid().map(|(t, n)| x(t, n)).sum::<f64>() / count;
        let spread: f64 = grid().map(|(t, n)| (x(t, n) - mean).powi(2)).sum();
        let term = |(t, n): (f64, usize)| {
            let select = Select::of(&[("t", &t.to_string()), ("n", &n.to_string())]);
            ((x(t, n) - mean) / spread, select)
        };
        grid().map(term).collect()
    }
}

#[derive(Clone, Copy)]
enum Along {
    Time,
    Width,
}

impl<T: Precision> Experiment for SymmetryBreaking<T> {
    type Error = ExperimentError;

    fn design(&self) -> Design {
        let texts = |values: Vec<String>| values;
        let times = texts(self.times.iter().map(f64::to_string).collect());
        let widths = texts(self.widths.iter().map(usize::to_string).collect());
        let times: Vec<&str> = times.iter().map(String::as_str).collect();
        let widths: Vec<&str> = widths.iter().map(String::as_str).collect();
        let factors: [(&str, &[&str]); 2] = [("n", &widths), ("t", &times)];
        let measures = ["accuracy", "to_gap", "to_infinite"];
        Design::product(&factors, self.runs, &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let measures = [
            ("accuracy", "the accuracy of E VEC_n falls", -1.0),
            ("to_gap", "its distance to E GAP_n grows", 1.0),
            ("to_infinite", "its distance to VEC_∞ shrinks", -1.0),
        ];
        let ways = [(Along::Time, "along t"), (Along::Width, "with the width n")];
        let claim = |(measure, words, sign): (&'static str, &str, f64), (along, way)| {
            let terms = self.slope(along).into_iter().map(|(w, s)| (sign * w, s));
            let test = Test::Contrast {
                measure,
                scale: Scale::Linear,
                terms: terms.collect(),
                wanted: Wanted::Positive,
            };
            Claim::new(format!("{words} {way}"), test)
        };
        let pairs = measures
            .iter()
            .flat_map(|m| ways.iter().map(move |w| (*m, *w)));
        pairs.map(|(m, w)| claim(m, w)).collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, ExperimentError> {
        let run = cell.run;
        let n: usize = cell.level("n").parse().unwrap_or(1);
        let t: f64 = cell.level("t").parse().unwrap_or(0.0);
        let train = self.problem.train(run, self.problem.train_count())?;
        let test = self.problem.test(run)?;
        let infinite = self.kept.infinite.get(run, || {
            let (shape, classes) = (self.problem.shape(), self.problem.classes());
            // One width for all cells: the limit is the same for any, but for rounding.
            let graph = System::Vec.graph(shape, classes, (self.depth, 1))?;
            regression::<T>(self.place.device, &graph, &train, &test.x)
        })?;
        let gap = self.kept.gap.get((run, n), || {
            self.average((System::Gap, n), run, &train, &test)
        })?;
        let tau = self.element(run, t)?;
        let found = self.average(
            (System::Vec, n),
            run,
            &train.moved(&tau)?,
            &test.moved(&tau)?,
        )?;
        let distance = |to: &[f64]| mean_square(&found, to).sqrt();
        Ok(vec![
            accuracy(&found, self.problem.classes(), &test.labels),
            distance(&gap),
            distance(&infinite),
        ])
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let n: usize = cell.level("n").parse().unwrap_or(1);
        let (shape, classes) = (self.problem.shape(), self.problem.classes());
        let graph = System::Vec.graph(shape, classes, (self.depth, n));
        graph.map_or(1.0, |graph| self.finite(0).operations(&graph))
    }
}
