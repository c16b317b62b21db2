//! `stripe` (Geiger PD section 5, after Paccolat et al.): labels that depend on one input of d, and a network of one hidden
//! layer that learns to look at it alone, or does not.
//!
//! Lazy training is training with the frozen kernel of a wide network at initialisation. Λ is the root mean square of the
//! first layer's weights on the input that matters over that on all others, at the end of training; the kernel on compressed
//! data sees the others divided by Λ. Samples and initial weights are drawn anew in every run.

mod view;

#[cfg(test)]
mod tests;

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_experiment::grid::{grid, text};
use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Row, Scale, Select, Table, Test, Wanted, exponent,
};
use polariscope_landscape::{Flowed, Kernels};
use polariscope_network::Weights;
use polariscope_train::{FlowConfig, Problem, Samples};

use crate::lazy::{binary, error, fitted, network, regime, sets, train};
use crate::{Entry, Lab, LandscapeExperimentsError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "stripe",
    source: "Geiger PD section 5, Fig 9",
    line: "labels that need one input of d: learning curves of both regimes, and of the kernel on compressed data",
    architecture: None,
    data: None,
    minutes: 5.0,
    make: |lab| Ok(Box::new(Stripe { lab: lab.clone() })),
};

/// Hidden layers.
const DEPTH: usize = 1;
/// Width of the network that learns features.
const WIDTH: usize = 100;
/// Width of the network whose kernel is frozen: more weights than samples.
const KERNEL_WIDTH: usize = 1000;
/// α̃ of the network that learns features.
const FEATURE: f64 = 1e-3;
/// Inputs.
const DIMENSIONS: [usize; 2] = [5, 10];
const MEASURES: [&str; 6] = ["lazy", "feature", "compressed", "lambda", "steps", "fitted"];
/// What is learnt by, as the tidy table has it.
const SIDES: [&str; 3] = ["lazy", "feature", "compressed"];

struct Stripe {
    lab: Lab,
}

impl Stripe {
    fn counts(&self) -> Vec<String> {
        self.lab.pick(
            text([64, 128, 256, 512, 1024]),
            text([64, 128, 256, 512, 1024, 2048, 4096]),
        )
    }

    /// Terms of the power of P of what a side's measure is, at `d` inputs.
    fn power(&self, d: usize, side: &str) -> Vec<(f64, Select)> {
        let points = self.counts().into_iter().map(|p| {
            let x = p.parse().unwrap_or(f64::NAN);
            (x, at(d, &p, side))
        });
        exponent(&points.collect::<Vec<_>>())
    }
}

fn at(d: usize, p: &str, side: &str) -> Select {
    Select::of(&[("d", &d.to_string()), ("P", p), ("side", side)])
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
        let factors = [("d", &text(DIMENSIONS)[..]), ("P", &self.counts())];
        grid(&factors, self.lab.runs(5, 10), &MEASURES)
    }

    fn claims(&self) -> Vec<Claim> {
        let counts = self.counts();
        let share = 1.0 / counts.len() as f64;
        let claims = DIMENSIONS.map(|d| {
            let minus = |terms: Vec<(f64, Select)>| terms.into_iter().map(|(w, s)| (-w, s));
            let faster = self.power(d, "lazy").into_iter().chain(minus(self.power(d, "feature")));
            let mean = |side, sign: f64| counts.iter().map(move |p| (sign * share, at(d, p, side)));
            let contrast = |measure, scale, terms, wanted| Test::Contrast {
                measure,
                scale,
                terms,
                wanted,
            };
            [
                Claim::new(
                    format!("d = {d}: the error falls faster where features are learnt"),
                    contrast("error", Scale::Log, faster.collect(), Wanted::Positive),
                ),
                Claim::new(
                    format!("d = {d}: Λ grows with P"),
                    contrast("lambda", Scale::Log, self.power(d, "feature"), Wanted::Positive),
                ),
                Claim::new(
                    format!("d = {d}: the kernel on compressed data has the error of feature learning within 25 %, mean over P"),
                    contrast(
                        "error",
                        Scale::Log,
                        mean("compressed", 1.0).chain(mean("feature", -1.0)).collect(),
                        Wanted::Near {
                            value: 0.0,
                            tolerance: 1.25_f64.ln(),
                        },
                    ),
                ),
            ]
        });
        claims.into_iter().flatten().collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, LandscapeExperimentsError> {
        let d = cell.number("d");
        let seed = self.lab.seed.wrapping_mul(1000) + cell.run;
        let data = Dataset::load(&format!(
            "stripe?shape={d}&train={}&test=2000&seed={seed}",
            cell.number("P")
        ))?;
        let problem = Problem {
            graph: network(&data, DEPTH, WIDTH)?,
            data: binary(data)?,
        };
        let (learn, test, classes) = sets(&problem);
        let config = FlowConfig {
            max_steps: self.lab.pick(200_000, 2_000_000),
            ..regime(FEATURE, WIDTH)
        };
        let net = train(&self.lab, &problem.graph, &config, (learn, test), cell.run)?;
        let Some(net) = fitted(net) else {
            return Ok(vec![f64::NAN, f64::NAN, f64::NAN, f64::NAN, f64::NAN, 0.0]);
        };
        let lambda = compression(&net, d);
        let graph = network(&problem.data, DEPTH, KERNEL_WIDTH)?;
        let weights = Weights::<f64>::draw(&graph, self.lab.seed, cell.run);
        let frozen = |sets: (Samples<'_>, Samples<'_>)| -> Result<f64, LandscapeExperimentsError> {
            let kernels = Kernels::of(Device::Cpu, &graph, &weights, sets)?;
            let found = kernels.train(sets.0.y, 1, &regime(1.0, KERNEL_WIDTH))?;
            Ok(error(&found.test, classes))
        };
        let lazy = frozen((learn, test))?;
        let [few, unseen] = [learn, test].map(|samples| compressed(samples.x, d, lambda));
        let compressed = frozen((Samples { x: &few, ..learn }, Samples { x: &unseen, ..test }))?;
        Ok(vec![
            lazy,
            error(&net.test, classes),
            compressed,
            lambda,
            net.steps as f64,
            1.0,
        ])
    }

    fn scores(&self, table: &Table) -> Result<Option<Table>, LandscapeExperimentsError> {
        Ok(Some(tidy(table)))
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

/// One row a side, with its error; Λ stands beside the network that learns features.
fn tidy(table: &Table) -> Table {
    let design = Design {
        factors: text(["d", "P", "side"]).into(),
        measures: text(["error", "lambda", "steps", "fitted"]),
        cells: Vec::new(),
    };
    let mut tidy = Table::new(&design);
    for row in &table.rows {
        for (i, side) in SIDES.into_iter().enumerate() {
            let value = |k: usize| row.values.get(k).copied().unwrap_or(f64::NAN);
            let own = |k: usize| {
                if side == "feature" {
                    value(k)
                } else {
                    f64::NAN
                }
            };
            tidy.rows.push(Row {
                levels: row
                    .levels
                    .iter()
                    .cloned()
                    .chain([side.to_string()])
                    .collect(),
                run: row.run,
                values: vec![value(i), own(3), own(4), own(5)],
            });
        }
    }
    tidy
}
