//! Training with a kernel that does not move: dF/dt = −(1/n) Σ_μ ℓ′(F(x_μ), y_μ) Θ(x, x_μ) from F = 0.
//!
//! That is the α-model of [`Flow`](polariscope_train::Flow) as α → ∞, where F is linear in the weights: with Θ the kernel
//! at the start both follow the same steps. Where F is linear, ∇L = Jᵀ r/α with r = ∂ℓ/∂F, so that the bound on the
//! gradient's change is one on (r′ − r)ᵀ Θ (r′ − r) over the square root of rᵀΘr r′ᵀΘr′, whatever α is.
//!
//! Outputs elsewhere are Θ(x, ·) c with the coefficients c = −∫ r dt.
//!
//! A kernel that is the mean over outputs acts on each of them alike, as that of an infinitely wide network does.

use std::sync::Arc;

use polariscope_diff::{Device, Program, Session, Trace, vjp};
use polariscope_empirical::{Float, MEMORY, Outputs, among, between};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_train::{
    FlowConfig, Halving, Labels, Loss, Samples, StopReason, TrainError, Tried,
};

use crate::LandscapeError;
use crate::tangent::Tangent;

/// A kernel among training samples, and between test samples and them; outputs of a sample together.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernels {
    /// nC × nC, or n × n where it is the same for every output.
    pub train: Vec<f64>,
    /// mC × nC, or m × n.
    pub test: Vec<f64>,
}

/// The end of training with a frozen kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen {
    /// F on the training set.
    pub train: Vec<f64>,
    /// F on the test set.
    pub test: Vec<f64>,
    /// ℓ, which is α² L.
    pub loss: f64,
    /// Flow time.
    pub time: f64,
    /// Flow time at which the loss was half of what it was at first.
    pub half: Option<f64>,
    /// Steps accepted.
    pub steps: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Why it ended.
    pub stop: StopReason,
}

impl Kernels {
    /// The tangent kernels of a network.
    pub fn of<T: Float>(
        device: Device,
        graph: &Graph,
        weights: &Weights<T>,
        (train, test): (Samples<'_>, Samples<'_>),
    ) -> Result<Self, LandscapeError> {
        let network = Network::on(graph.clone(), device);
        let widen =
            |x: &[f32]| -> Vec<T> { x.iter().map(|&x| T::from_f64(f64::from(x))).collect() };
        let (x, new) = (widen(train.x), widen(test.x));
        Ok(Kernels {
            train: among(&network, weights, &x, Outputs::All, MEMORY)?,
            test: between(&network, weights, &new, &x, Outputs::All, MEMORY)?,
        })
    }

    /// Their mean over outputs: on the processor layer by layer, on a GPU from gradients.
    pub fn mean(
        device: Device,
        graph: &Graph,
        weights: &Weights<f64>,
        (train, test): (Samples<'_>, Samples<'_>),
    ) -> Result<Self, LandscapeError> {
        let widen = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| f64::from(x)).collect() };
        let (x, new) = (widen(train.x), widen(test.x));
        let [train, test] = match device {
            Device::Cpu => Tangent::new(graph, weights).kernels(&x, &new),
            Device::Cuda(_) => {
                let network = Network::on(graph.clone(), device);
                [
                    among(&network, weights, &x, Outputs::Mean, MEMORY)?,
                    between(&network, weights, &new, &x, Outputs::Mean, MEMORY)?,
                ]
            }
        };
        Ok(Kernels { train, test })
    }

    /// Trains; α and the origin of the settings do not matter.
    pub fn train(
        &self,
        labels: Labels<'_>,
        outputs: usize,
        config: &FlowConfig,
    ) -> Result<Frozen, LandscapeError> {
        config.check()?;
        let y = targets(labels, outputs, config.loss);
        let n = y.len();
        let samples = n / outputs.max(1);
        // Outputs that a shared kernel acts on side by side.
        let width = match self.train.len() == samples * samples {
            true => outputs,
            false => 1,
        };
        let rows = n / width.max(1);
        if n == 0 || self.train.len() != rows * rows || !self.test.len().is_multiple_of(rows) {
            let shared = match samples == n {
                true => String::new(),
                false => format!(
                    " (for a kernel that all outputs share {} and a multiple of {samples})",
                    samples * samples
                ),
            };
            return Err(LandscapeError::Question(format!(
                "a kernel of {} numbers, and one of {} for other samples, do not go with {n} targets; {} and a multiple of {n} \
                 would{shared}",
                self.train.len(),
                self.test.len(),
                n * n
            )));
        }
        let mut slope = Slope::new(config.loss, &y, outputs);
        let mut here = Point::at(&mut slope, vec![0.0; n], (&self.train, width));
        if !(here.loss.is_finite() && here.square.is_finite()) {
            return Err(LandscapeError::Question(
                "the kernel holds numbers that are not finite; scale the weights or the inputs down"
                    .into(),
            ));
        }
        let mut halving = Halving::new(here.loss);
        let mut coefficients = vec![0.0; n];
        let (mut time, mut dt) = (0.0, config.first_dt);
        let (mut steps, mut rejected) = (0, 0);
        let stop = loop {
            if here.f.iter().zip(&y).all(|(f, y)| f * y > config.margin) {
                break StopReason::Margin;
            } else if here.square == 0.0 {
                break StopReason::Stationary;
            } else if time >= config.max_time {
                break StopReason::Time;
            } else if steps >= config.max_steps {
                break StopReason::Steps;
            }
            let left = config.max_time - time;
            let tried = f64::min(dt, left);
            if time + tried == time {
                return Err(TrainError::Stalled { time, dt: tried }.into());
            }
            let there = here.step(&mut slope, tried, (&self.train, width));
            let verdict = match there.loss.is_finite() {
                true => config.judge(here.output_change(tried), here.gradient_change(&there)),
                false => Tried::Refused,
            };
            if verdict == Tried::Refused {
                rejected += 1;
                dt = tried * verdict.factor();
                continue;
            }
            let pairs = coefficients.iter_mut().zip(&here.r);
            pairs.for_each(|(c, r)| *c -= tried * r);
            if tried < left {
                time += tried;
                dt *= verdict.factor();
            } else {
                time = config.max_time;
            }
            steps += 1;
            here = there;
            halving.look(time, here.loss);
        };
        Ok(Frozen {
            test: product((&self.test, width), &coefficients),
            train: here.f,
            loss: here.loss,
            time,
            half: halving.time,
            steps,
            rejected,
            stop,
        })
    }
}

/// y of every output.
fn targets(labels: Labels<'_>, outputs: usize, loss: Loss) -> Vec<f64> {
    match labels {
        Labels::Targets { values, .. } => values.iter().map(|&y| f64::from(y)).collect(),
        Labels::Classes(classes) => {
            let mut y = vec![0.0; classes.len() * outputs];
            let rows = y.chunks_mut(outputs.max(1)).zip(classes);
            rows.for_each(|(row, &class)| loss.targets(class, row));
            y
        }
    }
}

/// Outputs on the training set, with what follows from them.
struct Point {
    f: Vec<f64>,
    loss: f64,
    /// ∂ℓ/∂F.
    r: Vec<f64>,
    /// Θ r = −dF/dt.
    u: Vec<f64>,
    /// rᵀ Θ r.
    square: f64,
}

impl Point {
    fn at(slope: &mut Slope, f: Vec<f64>, kernel: (&[f64], usize)) -> Self {
        let (loss, r) = slope.of(&f);
        let u = product(kernel, &r);
        let square = inner(&r, &u);
        Point {
            // Below 0 by rounding alone; NaN stays.
            square: if square < 0.0 { 0.0 } else { square },
            f,
            loss,
            r,
            u,
        }
    }

    fn step(&self, slope: &mut Slope, dt: f64, kernel: (&[f64], usize)) -> Self {
        let moved = self.f.iter().zip(&self.u).map(|(f, u)| f - dt * u);
        Point::at(slope, moved.collect(), kernel)
    }

    /// max |F′ − F| of a step; NaN if any is.
    fn output_change(&self, dt: f64) -> f64 {
        let larger = |most: f64, u: &f64| {
            if dt * u.abs() <= most {
                most
            } else {
                dt * u.abs()
            }
        };
        self.u.iter().fold(0.0, larger)
    }

    /// ‖g′ − g‖²/(‖g‖ ‖g′‖).
    fn gradient_change(&self, there: &Point) -> f64 {
        let norms = (self.square * there.square).sqrt();
        if norms == 0.0 {
            return 0.0;
        }
        let difference =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        inner(
            &difference(&there.r, &self.r),
            &difference(&there.u, &self.u),
        ) / norms
    }
}

/// ℓ and ∂ℓ/∂F.
struct Slope<'a> {
    session: Session<f64>,
    y: &'a [f64],
}

impl<'a> Slope<'a> {
    fn new(loss: Loss, y: &'a [f64], outputs: usize) -> Self {
        let mut t = Trace::new();
        let samples = y.len() / outputs.max(1);
        let shape = [samples, outputs];
        let (f, targets) = (t.leaf(&shape), t.leaf(&shape));
        let value = loss.expression(&mut t, f, targets, samples);
        let one = t.constant(1.0, &[1]);
        let slope = vjp(&mut t, &[(value, one)], &[f]);
        let program = Program::new(&t, &[&[value][..], &slope].concat());
        Slope {
            session: Session::new(Arc::new(program)),
            y,
        }
    }

    fn of(&mut self, f: &[f64]) -> (f64, Vec<f64>) {
        self.session.run(&[f, self.y]);
        (self.session.output(0)[0], self.session.output(1).to_vec())
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A v of a kernel that acts on so many outputs side by side, by rows of A for one.
fn product((a, width): (&[f64], usize), v: &[f64]) -> Vec<f64> {
    match width {
        1 => a.chunks_exact(v.len()).map(|row| inner(row, v)).collect(),
        _ => polariscope_linalg::product(a, v, v.len() / width, width),
    }
}
