//! `prediction`: is the accuracy that the geometry predicts, with δ from one training, the one that training finds?
//! Every run is another Fourier direction, drawn without looking at the geometry.

use polariscope_data::Direction;
use polariscope_experiment::{
    Answers, Cell, Claim, Design, Experiment, Grid, Select, Table, View, Wanted, level, levels,
    shown,
};
use polariscope_geometry::{
    Form, LinearProblem, Measured, Output, Predictor, Probe, Ridge, Spectrum, coherent,
};
use polariscope_graph::Op;
use polariscope_random::Stream;
use polariscope_report::{Axis, Plot, Section, Series};
use polariscope_train::Quiet;

use crate::calibrate::{Calibrator, Candidates, Step};
use crate::lab::SIDE;
use crate::linear::{SIGMA, Sizes, accuracy};
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "prediction",
    source: "ours",
    line: "accuracies predicted from the geometry and one training, along directions that were held back",
    architecture: "lenet",
    images: false,
    minutes: 5.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(Prediction {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

/// σ of networks with batch norm, which learn nearly every direction at 1.
const NORMALISED: f64 = 3.0;
/// Samples at which δ is found, and others for which it must do.
const TRAIN: [&str; 2] = ["10000", "2500"];
/// Mean error that is allowed.
const ALLOWED: f64 = 0.05;
const MEASURES: [&str; 6] = [
    "direction",
    "weight",
    "accuracy",
    "predicted",
    "error",
    "delta",
];

struct Prediction {
    lab: Lab,
    shared: Prepared<Shared>,
}

struct Shared {
    predictor: Predictor,
    candidates: Candidates,
    ridge: Ridge,
}

impl Prediction {
    fn sigma(&self) -> Result<f64, GeometryExperimentsError> {
        let graph = self.lab.binary()?;
        let mut ops = graph.nodes.iter().map(|node| &node.op);
        let normalised = ops.any(|op| matches!(op, Op::BatchNorm { .. }));
        Ok(if normalised { NORMALISED } else { SIGMA })
    }

    /// The direction of a run.
    fn direction(&self, run: u64) -> usize {
        let mut cursor = Stream::new(self.lab.seed, run, "trial.direction").cursor();
        cursor.below((SIDE * SIDE) as u64) as usize
    }
}

fn at(n: &str) -> Select {
    Select::of(&[("n", n)])
}

impl Experiment for Prediction {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        grid(&[("n", &text(TRAIN))], self.lab.runs(24, 96), &MEASURES)
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |n: &str| {
            let words = match n == TRAIN[0] {
                true => format!("the mean error at n = {n} is at most 5 points"),
                false => format!("and at n = {n}, with the δ of {}", TRAIN[0]),
            };
            Claim::new(words, level("error", at(n), Wanted::AtMost(ALLOWED)))
        };
        TRAIN.map(claim).into()
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let (lab, sigma) = (&self.lab, self.sigma()?);
        let (one, two) = (lab.binary()?, lab.network(&lab.architecture, 1, 2)?);
        let probe = Probe::Gauss { sigma };
        let g = coherent(&one, &probe, 1, Output::Logit(0), lab.seed)?;
        let spectrum = Spectrum::on(lab.place.device, &g)?;
        let predictor = Predictor::new(&spectrum, Form::Inverse)?;
        let candidates = Candidates::new(&predictor, &spectrum, one.input())?;
        let calibrator = Calibrator {
            lab,
            graph: &two,
            predictor: &predictor,
            candidates: &candidates,
            sigma,
            sizes: Sizes::of(lab),
            directions: 1,
        };
        let mut done = Vec::new();
        let ridge = loop {
            match calibrator.next(&done)? {
                Step::Train(candidate) => done.push(calibrator.train(candidate, &mut Quiet)?),
                Step::Done(ridge) => break ridge,
            }
        };
        self.shared.set(Shared {
            predictor,
            candidates,
            ridge,
        });
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (shared, sigma) = (self.shared.get()?, self.sigma()?);
        let (train, index) = (cell.number("n"), self.direction(cell.run));
        let sizes = Sizes {
            train,
            ..Sizes::of(&self.lab)
        };
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let problem = (Direction::Dft(index), sigma);
        let found = accuracy(&self.lab, &graph, problem, sizes, cell.run)?;
        let problem = LinearProblem { train, sigma };
        let expansion = shared.candidates.expansion();
        let predicted = shared
            .predictor
            .accuracies(problem, shared.ridge.delta, expansion)?[index];
        let measured = Measured {
            accuracy: found,
            error: 0.0,
        };
        let own = shared.predictor.ridge(problem, expansion, index, measured);
        Ok(vec![
            index as f64,
            expansion.weights()[index],
            found,
            predicted,
            (found - predicted).abs(),
            own.map_or(f64::NAN, |ridge| ridge.delta),
        ])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        cell.real("n")
    }
}

impl View for Prediction {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!(
            "Does the geometry of {} predict accuracies",
            self.lab.architecture
        )
    }

    fn asked(&self) -> String {
        "Is the test accuracy along a direction known before training, from the geometry and one other training?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It is, to 5 points on average, at both numbers of samples.",
            "It is not to 5 points on average, at either number of samples.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let sentence = |n: String| {
            let error = shown(table.mean(&at(&n), "error"), 0.01);
            format!("Mean absolute error at n = {n}: {error} points.")
        };
        let sentences: Vec<String> = levels(table, "n").into_iter().map(sentence).collect();
        sentences.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |n: String| {
            let values = |measure: &str| -> Vec<f64> {
                let values = table.values(&at(&n), measure).into_iter();
                values.map(|v| v.1).collect()
            };
            let logs = values("delta")
                .into_iter()
                .map(|d| d.log10())
                .filter(|d| d.is_finite());
            let logs: Vec<f64> = logs.collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let squares: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
            let spread = (squares / (logs.len() as f64 - 1.0)).sqrt();
            let worst = values("error").into_iter().fold(0.0, f64::max);
            vec![
                n.clone(),
                shown(table.mean(&at(&n), "error"), 0.01),
                format!("{:.1}", 100.0 * worst),
                format!("{:.2} ± {:.2} ({})", mean, spread, logs.len()),
            ]
        };
        Grid {
            columns: text([
                "n",
                "mean error in points",
                "largest",
                "log₁₀ δ of each direction: mean ± deviation (directions that tell it)",
            ]),
            rows: levels(table, "n").into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let series = levels(table, "n").into_iter().map(|n| {
            let predicted = table.values(&at(&n), "predicted");
            // A network that diverged has no accuracy.
            let point = |(run, found): (u64, f64)| {
                let own = predicted.iter().find(|p| p.0 == run)?;
                Some((100.0 * own.1, 100.0 * found))
            };
            let found = table.values(&at(&n), "accuracy").into_iter();
            Series::scatter(format!("n = {n}"), found.filter_map(point).collect())
        });
        let plot = Plot {
            title: "Accuracy, predicted and found".into(),
            x: Axis::linear("predicted in %"),
            y: Axis::linear("found in %"),
            series: series
                .chain([Series::reference("", vec![(50.0, 50.0), (100.0, 100.0)])])
                .collect(),
        };
        vec![Section::new("Predictions").figure(
            "predictions",
            plot.draw(),
            "A point is a Fourier direction drawn at random. δ was found once, with 10,000 samples at a direction that the \
             geometry picked.",
        )]
    }
}
