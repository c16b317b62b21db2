//! `stripe` (Geiger PD section 5, after Paccolat et al.): labels that depend on one input of d, and a network of one hidden
//! layer that learns to look at it alone, or does not.
//!
//! Lazy training is training with the frozen kernel of a wide network at initialisation. Λ is the root mean square of the
//! first layer's weights on the input that matters over that on all others, at the end of training; the kernel on compressed
//! data sees the others divided by Λ. Samples and initial weights are drawn anew in every run.
//!
//! R_f ([`stability()`]) says how much less the trained F minds noise in the inputs that do not matter than in all; at initialisation
//! it is that of f₀, about 1.
//!
//! Networks have biases. Without them softplus with large weights is homogeneous, f(c x) = c f(x), and no such function is
//! positive between two parallel planes alone: learning features would not pay.

mod stability;
mod view;

#[cfg(test)]
mod tests;

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Row, Scale, Select, Table, Test, Wanted, exponent, level,
};
use polariscope_landscape::{Flowed, Kernels};
use polariscope_network::Weights;
use polariscope_train::{Evaluator, FlowConfig, Problem, Samples, TrainError};

use crate::lazy::{biased, binary, error, fitted, regime, sets, train};
use crate::{Entry, Lab, LandscapeExperimentsError};
use stability::{NOISE, stability};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "stripe",
    source: "Geiger PD section 5, Fig 9; Petrini Fig 7",
    line: "labels that need one input of d: learning curves of both regimes, stability to noise in the others",
    architecture: None,
    data: None,
    minutes: 6.0,
    make: |lab| Ok(Box::new(Stripe { lab: lab.clone() })),
};

/// Hidden layers.
const DEPTH: usize = 1;
/// Width of the network that learns features.
const WIDTH: usize = 100;
/// Width of the network whose kernel is frozen: more weights than samples.
const KERNEL_WIDTH: usize = 1000;
/// α̃ of the network that learns features: the largest on the feature branch of `regimes`, where flows take the fewest steps.
const FEATURE: f64 = 0.1;
const MEASURES: [&str; 9] = [
    "lazy",
    "feature",
    "compressed",
    "lambda",
    "steps",
    "fitted",
    "stability_mean",
    "stability_median",
    "stability_start",
];
/// Those that are test errors.
const SIDES: [&str; 3] = ["lazy", "feature", "compressed"];

struct Stripe {
    lab: Lab,
}

impl Stripe {
    /// Inputs.
    fn dimensions(&self) -> Vec<usize> {
        self.lab.pick(vec![10], vec![5, 10])
    }

    fn counts(&self) -> Vec<String> {
        self.lab.pick(
            text([64, 128, 256, 512, 1024]),
            text([64, 128, 256, 512, 1024, 2048, 4096]),
        )
    }

    /// Terms of the power of P of a measure at `d` inputs.
    fn power(&self, d: usize) -> Vec<(f64, Select)> {
        let points = self.counts().into_iter().map(|p| {
            let x = p.parse().unwrap_or(f64::NAN);
            (x, at(d, &p))
        });
        exponent(&points.collect::<Vec<_>>())
    }

    /// R_f at initialisation is 1; one network and one test set for all P of a run.
    fn start(&self, d: usize) -> Test {
        let at = Select::of(&[("d", &d.to_string())]);
        let wanted = Wanted::Near {
            value: 1.0,
            tolerance: 0.25,
        };
        level("stability_start", at, wanted)
    }

    /// Terms of what a measure is at the largest P over what it is at the smallest.
    fn fall(&self, d: usize) -> Vec<(f64, Select)> {
        let counts = self.counts();
        let ends = counts.last().zip(counts.first());
        ends.map_or(Vec::new(), |(last, first)| {
            vec![(1.0, at(d, last)), (-1.0, at(d, first))]
        })
    }
}

fn at(d: usize, p: &str) -> Select {
    Select::of(&[("d", &d.to_string()), ("P", p)])
}

/// d/(3d − 2).
fn lazy_exponent(d: usize) -> f64 {
    let d = d as f64;
    d / (3.0 * d - 2.0)
}

/// (d + d_⊥/2)/(3d − 2) with d_⊥ = d − 1.
fn feature_exponent(d: usize) -> f64 {
    let d = d as f64;
    (d + (d - 1.0) / 2.0) / (3.0 * d - 2.0)
}

impl Experiment for Stripe {
    type Error = LandscapeExperimentsError;

    fn design(&self) -> Design {
        let factors = [("d", &text(self.dimensions())[..]), ("P", &self.counts())];
        grid(&factors, self.lab.runs(4, 10), &MEASURES)
    }

    fn claims(&self) -> Vec<Claim> {
        let counts = self.counts();
        let share = 1.0 / counts.len() as f64;
        let claims = self.dimensions().into_iter().map(|d| {
            let mean = counts.iter().map(|p| (share, at(d, p))).collect();
            let contrast = |measure, terms, wanted| Test::Contrast {
                measure,
                scale: Scale::Log,
                terms,
                wanted,
            };
            [
                Claim::new(
                    format!("d = {d}: the error falls faster where features are learnt"),
                    contrast("gain", self.power(d), Wanted::Positive),
                ),
                Claim::new(
                    format!("d = {d}: Λ grows with P"),
                    contrast("lambda", self.power(d), Wanted::Positive),
                ),
                Claim::new(
                    format!("d = {d}: the kernel on compressed data has the error of feature learning within 25 %, mean over P"),
                    contrast(
                        "excess",
                        mean,
                        Wanted::Near {
                            value: 0.0,
                            tolerance: 1.25_f64.ln(),
                        },
                    ),
                ),
                Claim::new(
                    format!("d = {d}: R_f, median over test points, falls as P to the power −1 within ½"),
                    contrast(
                        "stability_median",
                        self.power(d),
                        Wanted::Near {
                            value: -1.0,
                            tolerance: 0.5,
                        },
                    ),
                ),
                Claim::new(
                    format!("d = {d}: R_f, median over test points, falls below 0.15 of what it is at the smallest P"),
                    contrast("stability_median", self.fall(d), Wanted::AtMost(0.15_f64.ln())),
                ),
                Claim::new(
                    format!("d = {d}: R_f is 1 at initialisation within 25 %"),
                    self.start(d),
                ),
            ]
        });
        claims.flatten().collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let d = cell.number("d");
        let seed = self.lab.seed.wrapping_mul(1000) + cell.run;
        let data = Dataset::load(&format!(
            "stripe?shape={d}&train={}&test=2000&seed={seed}",
            cell.number("P")
        ))?;
        let problem = Problem {
            graph: biased(&data, DEPTH, WIDTH)?,
            data: binary(data)?,
        };
        let (learn, test, classes) = sets(&problem);
        let config = FlowConfig {
            max_steps: self.lab.pick(200_000, 2_000_000),
            ..regime(FEATURE, WIDTH)
        };
        let net = train(&self.lab, &problem.graph, &config, (learn, test), cell.run)?;
        let Some(net) = fitted(net) else {
            return Ok(MEASURES
                .map(|m| if m == "fitted" { 0.0 } else { f64::NAN })
                .into());
        };
        let lambda = compression(&net, d);
        let graph = biased(&problem.data, DEPTH, KERNEL_WIDTH)?;
        let weights = Weights::<f64>::draw(&graph, self.lab.seed, cell.run);
        let frozen = |sets: (Samples<'_>, Samples<'_>)| -> Result<f64, LandscapeExperimentsError> {
            let kernels = Kernels::of(Device::Cpu, &graph, &weights, sets)?;
            let found = kernels.train(sets.0.y, 1, &regime(1.0, KERNEL_WIDTH))?;
            Ok(error(&found.test, classes))
        };
        let lazy = frozen((learn, test))?;
        let [few, unseen] = [learn, test].map(|samples| compressed(samples.x, d, lambda));
        let compressed = frozen((Samples { x: &few, ..learn }, Samples { x: &unseen, ..test }))?;
        let initial = Weights::<f64>::draw(&problem.graph, self.lab.seed, cell.run);
        let evaluator = Evaluator::new(&problem.graph, config.loss);
        let trained = |x: &[f32]| -> Result<Vec<f64>, TrainError> {
            let f = evaluator.outputs(&net.weights, x)?;
            let origin = evaluator.outputs(&initial, x)?;
            // F but for the factor α.
            Ok(f.iter().zip(origin).map(|(f, origin)| f - origin).collect())
        };
        let noise = (self.lab.seed, cell.run);
        let end = stability(trained, test.x, (d, NOISE), noise)?;
        let start = |x: &[f32]| evaluator.outputs(&initial, x);
        let start = stability(start, test.x, (d, NOISE), noise)?;
        Ok(vec![
            lazy,
            error(&net.test, classes),
            compressed,
            lambda,
            net.steps as f64,
            1.0,
            end.mean,
            end.median,
            start.median,
        ])
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(compared(table)))
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let samples = cell.real("P");
        samples * samples
    }
}

/// Λ: the root mean square of the first layer's weights on the first input over that on the others.
fn compression(net: &Flowed<f64>, d: usize) -> f64 {
    let mut squares = vec![0.0; d];
    for row in net
        .weights
        .values
        .first()
        .map_or(&[][..], Vec::as_slice)
        .chunks_exact(d)
    {
        squares.iter_mut().zip(row).for_each(|(s, w)| *s += w * w);
    }
    let others = squares.iter().skip(1).sum::<f64>() / (d as f64 - 1.0);
    (squares.first().copied().unwrap_or(f64::NAN) / others).sqrt()
}

/// Inputs with all but the first divided by Λ.
fn compressed(x: &[f32], d: usize, lambda: f64) -> Vec<f32> {
    let scaled = |(i, &x): (usize, &f32)| match i % d {
        0 => x,
        _ => (f64::from(x) / lambda) as f32,
    };
    x.iter().enumerate().map(scaled).collect()
}

/// The table with what is compared: `gain`, the error of lazy training over that of feature learning, and `excess`, that of
/// the kernel on compressed data over the same.
fn compared(table: &Table) -> Table {
    let design = Design {
        factors: table.factors().to_vec().into(),
        measures: text(MEASURES.into_iter().chain(["gain", "excess"])),
        cells: Vec::new(),
    };
    let mut compared = Table::new(&design);
    for row in &table.rows {
        let value = |k: usize| row.values.get(k).copied().unwrap_or(f64::NAN);
        let ratios = [value(0) / value(1), value(2) / value(1)];
        compared.rows.push(Row {
            levels: row.levels.clone(),
            run: row.run,
            values: row.values.iter().copied().chain(ratios).collect(),
        });
    }
    compared
}
