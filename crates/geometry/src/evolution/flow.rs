//! θ̇ = −∇_θ L on a whole data set: u = −∂L/∂f from the loss, then Jᵀu.

use polariscope_diff::{Number, Program, Trace, vjp};
use polariscope_network::{Network, Weights};
use polariscope_train::{Labels, Loss, Samples};

use crate::GeometryError;

/// Gradient flow of a loss on fixed samples.
pub(crate) struct Flow<'a, T> {
    network: &'a Network<T>,
    x: Vec<T>,
    y: Vec<T>,
    /// ∂L/∂f of (f, y).
    residual: Program,
}

impl<'a, T: Number> Flow<'a, T> {
    /// Checks the samples and plans ∂L/∂f.
    pub fn new(
        network: &'a Network<T>,
        loss: Loss,
        samples: Samples<'_>,
    ) -> Result<Self, GeometryError> {
        loss.check()?;
        let outputs = network.graph().output().len();
        let y = targets(samples, loss, outputs, network.graph().input().len())?;
        let mut t = Trace::new();
        let shape = [samples.len(), outputs];
        let (f, target) = (t.leaf(&shape), t.leaf(&shape));
        let value = loss.expression(&mut t, f, target, samples.len());
        let one = t.constant_like(1.0, value);
        let gradient = vjp(&mut t, &[(value, one)], &[f]);
        Ok(Flow {
            network,
            x: samples.x.iter().map(|&x| widen(x)).collect(),
            y,
            residual: Program::new(&t, &gradient),
        })
    }

    /// θ̇ at the weights.
    pub fn velocity(&self, weights: &Weights<T>) -> Result<Weights<T>, GeometryError> {
        let f = self.network.output(weights, &self.x)?;
        self.along(weights, self.force(&f))
    }

    /// θ̇ from the part of −∂L/∂f that is odd in f: what is left of a pair of networks with opposite read-outs.
    pub fn mirrored_velocity(&self, weights: &Weights<T>) -> Result<Weights<T>, GeometryError> {
        let f = self.network.output(weights, &self.x)?;
        let opposite: Vec<T> = f.iter().map(|&f| -f).collect();
        let half = T::from_f64(0.5);
        let pairs = self.force(&f).into_iter().zip(self.force(&opposite));
        self.along(weights, pairs.map(|(u, v)| half * (u - v)).collect())
    }

    /// −∂L/∂f.
    fn force(&self, f: &[T]) -> Vec<T> {
        let gradient = self.residual.evaluate::<T>(&[f, &self.y]);
        gradient.into_iter().flatten().map(|g| -g).collect()
    }

    fn along(&self, weights: &Weights<T>, u: Vec<T>) -> Result<Weights<T>, GeometryError> {
        Ok(self.network.parameter_vjp(weights, &self.x, &u)?)
    }
}

/// Targets of all samples, N × outputs.
fn targets<T: Number>(
    samples: Samples<'_>,
    loss: Loss,
    outputs: usize,
    dim: usize,
) -> Result<Vec<T>, GeometryError> {
    let wrong = |text: String| Err(GeometryError::Question(text));
    let count = samples.len();
    if count == 0 || samples.x.len() != count * dim {
        return wrong(format!(
            "{} numbers of input for {count} labels: it takes at least one sample and {dim} numbers each",
            samples.x.len()
        ));
    }
    match samples.y {
        Labels::Targets { values, width } if width == outputs => {
            Ok(values.iter().map(|&y| widen(y)).collect())
        }
        Labels::Targets { width, .. } => wrong(format!(
            "targets of {width} numbers for {outputs} outputs: they must be as many"
        )),
        Labels::Classes(classes) => {
            let last = outputs.max(2) - 1;
            if let Some(class) = classes.iter().find(|class| **class as usize > last) {
                return wrong(format!(
                    "class {class}: {outputs} outputs tell classes 0 to {last} apart"
                ));
            }
            let mut targets = vec![T::ZERO; count * outputs];
            for (&class, row) in classes.iter().zip(targets.chunks_exact_mut(outputs)) {
                loss.targets(class, row);
            }
            Ok(targets)
        }
    }
}

fn widen<T: Number>(x: f32) -> T {
    T::from_f64(f64::from(x))
}
