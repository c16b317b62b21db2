//! `jamming-hessian` (Geiger et al. 2019, Fig 4 to 6): the Hessian where random patterns do not fit any more.

mod cusps;
mod view;

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{Cell, Claim, Design, Experiment, Select, Test, Wanted, level};
use polariscope_graph::{Activation, Shape};
use polariscope_landscape::effective::{Parameters, effective};
use polariscope_landscape::hessian::split;
use polariscope_lens::Quiet;
use polariscope_train::{Control, LossHessian};

use crate::machine::{hinge, machine, samples, sizes, train};
use crate::{Entry, Lab, LandscapeExperimentsError};
use cusps::{cusps, exponent};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "jamming-hessian",
    source: "Geiger 2019 Fig 4, 5, 6, 9",
    line: "random patterns that do not fit: zero modes, negative modes and cusps of the loss",
    architecture: None,
    data: None,
    minutes: 8.0,
    make: |lab| Ok(Box::new(JammingHessian { lab: lab.clone() })),
};

/// The margin that is trained for; the loss is quadratic in what is missing.
const MARGIN: f64 = 0.5;
/// A pre-activation that is closer to 0 than this lies on a cusp: the plateau is looked for between the two.
const CUSPS: [f64; 2] = [1e-4, 1e-3];

/// Networks as deep and wide as the data have dimensions, and patterns a weight.
struct Kind {
    activation: Activation,
    width: usize,
    ratio: f64,
}

const SMALL: [Kind; 2] = [
    Kind {
        activation: Activation::Relu,
        width: 18,
        ratio: 2.8,
    },
    Kind {
        activation: Activation::Tanh,
        width: 14,
        ratio: 4.4,
    },
];

const PAPER: [Kind; 2] = [
    Kind {
        activation: Activation::Relu,
        width: 62,
        ratio: 3.0,
    },
    Kind {
        activation: Activation::Tanh,
        width: 46,
        ratio: 5.0,
    },
];

struct JammingHessian {
    lab: Lab,
}

/// Names of the measures. Those from `loss` on are of runs without dead patterns alone; N counts parameters in the
/// fractions of modes, weights in those of patterns and cusps.
const MEASURES: [&str; 19] = [
    "weights",
    "parameters",
    "patterns",
    "steps",
    "dead",
    "loss",
    "unsatisfied",
    "height",
    "further",
    "trace",
    "balance",
    "negative",
    "downward",
    "gap",
    "collapse",
    "cusps-near",
    "cusps-far",
    "lost",
    "theta",
];
/// What is measured of gaps on the other side, beside.
const GAMMA: &str = "gamma";

impl JammingHessian {
    fn kinds(&self) -> &'static [Kind; 2] {
        self.lab.pick(&SMALL, &PAPER)
    }
}

/// Rows of an activation.
fn at(activation: Activation) -> Select {
    Select::of(&[("activation", activation.to_string().as_str())])
}

impl Experiment for JammingHessian {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let activations = text(self.kinds().iter().map(|kind| kind.activation));
        let measures: Vec<&str> = MEASURES.into_iter().chain([GAMMA]).collect();
        grid(
            &[("activation", &activations)],
            self.lab.runs(20, 10),
            &measures,
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let near = |value, tolerance| Wanted::Near { value, tolerance };
        let certain = |words: &str, measure, activation, wanted| {
            let at = at(activation);
            Claim::new(
                words,
                Test::Certain {
                    measure,
                    at,
                    wanted,
                },
            )
        };
        let mean = |words: &str, measure, activation, wanted| {
            Claim::new(words, level(measure, at(activation), wanted))
        };
        let (relu, tanh) = (Activation::Relu, Activation::Tanh);
        vec![
            certain(
                "relu: H₀ has rank min(N_Δ, parameters − hidden units)",
                "further",
                relu,
                near(0.0, 0.0),
            ),
            certain(
                "tanh: H₀ has rank min(N_Δ, parameters)",
                "further",
                tanh,
                near(0.0, 0.0),
            ),
            certain(
                "relu: the trace of H_p is 0",
                "trace",
                relu,
                near(0.0, 1e-13),
            ),
            certain(
                "relu: H_p has as many negative modes as positive ones, within 2 %",
                "balance",
                relu,
                near(1.0, 0.02),
            ),
            certain(
                "relu: 6 to 16 % of the modes of H are negative",
                "negative",
                relu,
                near(0.11, 0.05),
            ),
            mean(
                "relu: between 0.18 and 0.30 cusps a weight at 10⁻⁴, mean over runs",
                "cusps-near",
                relu,
                near(0.24, 0.06),
            ),
            mean(
                "relu: between 0.18 and 0.30 cusps a weight at 10⁻³, mean over runs",
                "cusps-far",
                relu,
                near(0.24, 0.06),
            ),
            certain(
                "relu: the effective parameters are all but one a hidden unit",
                "lost",
                relu,
                near(0.0, 0.0),
            ),
            mean(
                "tanh: 0.43 ± 0.04 of the modes of H_p are negative, mean over runs",
                "downward",
                tanh,
                near(0.43, 0.04),
            ),
        ]
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let kinds = self.kinds().iter();
        let mut own = kinds.filter(|k| k.activation.to_string() == cell.level("activation"));
        let Some(Kind {
            activation,
            width,
            ratio,
        }) = own.next()
        else {
            return Ok(vec![f64::NAN; MEASURES.len() + 1]);
        };
        let graph = machine(
            (&format!("mlp-2x{width}"), None),
            Shape::Vector { features: *width },
            *activation,
        )?;
        let [weights, parameters] = sizes(&graph);
        let patterns = (ratio * weights as f64).round() as usize;
        let data = Dataset::load(&format!(
            "random?shape={width}&train={patterns}&test=0&seed={}",
            self.lab.seed.wrapping_add(cell.run)
        ))?;
        let descent = self.lab.pick(
            hinge(MARGIN, (1e-3, Some(10_000)), 30_000),
            hinge(MARGIN, (1e-4, Some(250_000)), 3_000_000),
        );
        let from = (self.lab.seed, cell.run);
        let end = train(Device::Cpu, &graph, &descent, from, &data.train, |_| {
            Control::Continue
        })?;
        let mut found = vec![
            weights as f64,
            parameters as f64,
            patterns as f64,
            end.fitted.steps as f64,
            end.frozen as f64,
        ];
        if end.frozen > 0 {
            found.resize(MEASURES.len() + 1, f64::NAN);
            return Ok(found);
        }
        let fitted = &end.fitted;
        let samples = samples(&data.train);
        let hessian = LossHessian::of(Device::Cpu, &graph, descent.loss, samples, &[])?;
        let split = split(&hessian, &fitted.weights, &mut Quiet)?;
        let n = weights as f64;
        let counts = split.curvature.counts;
        let near_zero = cusps(&graph, &fitted.weights, hessian.inputs(), &CUSPS);
        let rank = effective(&graph, &fitted.weights, hessian.inputs(), self.lab.seed)?.rank;
        let gaps: Vec<f64> = hessian
            .targets()
            .iter()
            .zip(&fitted.outputs)
            .map(|(y, f)| MARGIN - y * f)
            .collect();
        found.extend([
            split.loss,
            split.constraints as f64,
            split.constraints as f64 / n,
            split.further_zero_modes() as f64,
            // In units of the largest eigenvalue.
            split.curvature.trace / split.curvature.eigenvalues[0],
            counts.negative as f64 / counts.positive as f64,
            split.hessian.counts.negative_fraction(),
            counts.negative_fraction(),
            split.gauss_newton.gap().unwrap_or(f64::NAN),
            split.collapse().unwrap_or(f64::NAN),
            near_zero[0] as f64 / n,
            near_zero[1] as f64 / n,
            Parameters::of(&graph).bound() as f64 - rank as f64,
            exponent(gaps.iter().copied().filter(|&g| g > 0.0)),
            exponent(gaps.iter().map(|g| -g).filter(|&g| g > 0.0)),
        ]);
        Ok(found)
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        if cell.level("activation") == "relu" {
            1.0
        } else {
            1.2
        }
    }
}
