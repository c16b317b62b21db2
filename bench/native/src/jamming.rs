//! Descents on random patterns: which of them fit, and how many patterns do not where they do not.

use std::io::Write;
use std::time::Instant;

use polariscope_data::{Dataset, Labels as Classes};
use polariscope_diff::Device;
use polariscope_graph::{Op, Parametrisation, Shape, ZooOptions, zoo};
use polariscope_landscape::dead::Dead;
use polariscope_landscape::descent::{Descent, descend};
use polariscope_landscape::gaps::{Gaps, signs};
use polariscope_network::Weights;
use polariscope_train::{Control, Labels, Loss, Samples};

use crate::Failure;

/// Steps between two lines.
const EVERY: u64 = 50_000;

/// A run: a network of two hidden layers of `width` units on as many dimensions, `ratio` patterns a weight.
pub struct Run<'a> {
    pub device: Device,
    pub activation: &'a str,
    pub width: usize,
    pub ratio: f64,
    pub seed: u64,
    pub steps: u64,
    /// Then it stops where it is.
    pub seconds: f64,
}

impl Run<'_> {
    /// Trains by full-batch Adam in f64 on the quadratic hinge at margin ½ (rate 1e-4, a tenth every quarter of a million
    /// steps, at least 1e-7) and prints a line every 50,000 steps, then one that starts with `run`.
    pub fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        let Run { width, ratio, .. } = *self;
        let options = ZooOptions {
            input: Some(Shape::Vector { features: width }),
            outputs: Some(1),
            activation: Some(self.activation.parse()?),
            parametrisation: Some(Parametrisation::Orthogonal),
            ..ZooOptions::default()
        };
        let graph = zoo(&format!("mlp-2x{width}"), &options)?;
        let biases = graph.nodes.iter().map(|node| match node.op {
            Op::Bias { bias, .. } => graph.param(bias).len(),
            _ => 0,
        });
        let n = graph.parameter_count() - biases.sum::<usize>();
        let patterns = (ratio * n as f64).round() as usize;
        let spec = format!(
            "random?shape={width}&train={patterns}&test=0&seed={}",
            self.seed
        );
        let data = Dataset::load(&spec)?;
        let Classes::Classes(y) = &data.train.y else {
            return Err("random patterns are classes".into());
        };
        let train = Samples {
            x: &data.train.x,
            y: Labels::Classes(y),
        };
        let descent = Descent {
            loss: Loss::Hinge {
                power: 2.0,
                margin: 0.5,
            },
            // The last approach to the margin is exponential in time, and nothing happens in it.
            margin: 0.5 - 1e-4,
            rate: 1e-4,
            decay_every: Some(250_000),
            floor: 1e-7,
            max_steps: self.steps,
            ..Descent::default()
        };
        let start = Instant::now();
        let mut due = 0;
        let weights = Weights::<f64>::draw(&graph, self.seed, 0);
        let fitted = descend(self.device, &graph, &descent, train, weights, |seen| {
            let seconds = start.elapsed().as_secs_f64();
            if seen.step >= due {
                due = seen.step + EVERY;
                // A line that cannot be written is missed.
                let _ = writeln!(
                    out,
                    "  P/N {ratio} seed {}: step {}, {seconds:.1} s, loss {:.4e}, N_Δ {} ({:.3} N), misclassified {}",
                    self.seed,
                    seen.step,
                    seen.loss,
                    seen.gaps.unsatisfied,
                    seen.gaps.unsatisfied as f64 / n as f64,
                    seen.gaps.misclassified,
                );
                let _ = out.flush();
            }
            match seconds < self.seconds {
                true => Control::Continue,
                false => Control::Stop,
            }
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let dead = Dead::of(self.device, &graph, &fitted.weights, train.x)?.patterns;
        let signs: Vec<f64> = signs(&train, 1);
        let alive = (0..patterns).filter(|i| dead.binary_search(i).is_err());
        let (f, y): (Vec<f64>, Vec<f64>) = alive.map(|i| (fitted.outputs[i], signs[i])).unzip();
        let left = Gaps::of(descent.margin, 1, &f, &y);
        writeln!(
            out,
            "run {} 2x{width} N {n} P {patterns} P/N {ratio} seed {}: {:?} after {} steps, {seconds:.1} s, {:.1} us a step; loss {:.6e}, \
             N_Δ {} ({:.4} N; of patterns that live {}, {:.4} N), misclassified {} (that live {}, {:.4} N), dead patterns {}",
            self.activation,
            self.seed,
            fitted.stop,
            fitted.steps,
            1e6 * seconds / fitted.steps.max(1) as f64,
            fitted.loss,
            fitted.gaps.unsatisfied,
            fitted.gaps.unsatisfied as f64 / n as f64,
            left.unsatisfied,
            left.unsatisfied as f64 / n as f64,
            fitted.gaps.misclassified,
            left.misclassified,
            left.misclassified as f64 / n as f64,
            dead.len(),
        )?;
        Ok(())
    }
}
