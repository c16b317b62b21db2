//! What the loss is in the outputs: its value, its slopes and its curvatures.

use polariscope_diff::{Number, Program, Trace, jvp, vjp};
use polariscope_network::{Network, NetworkError, Weights};

use super::LossHessian;
use crate::{Objective, Origin, TrainError};

/// Samples whose derivatives are taken together.
const CHUNK: usize = 1024;

/// The loss as a function of the outputs, at given weights. The weights of samples in the mean are inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Local<T> {
    /// L.
    pub loss: f64,
    /// f, N × outputs.
    pub outputs: Vec<T>,
    /// ∂L/∂f, N × outputs.
    pub slope: Vec<T>,
    /// ∂²L/∂f∂f of each sample, N × outputs × outputs.
    pub curvature: Vec<T>,
    /// What makes of Σ_s ∇L_s ∇L_sᵀ the mean over samples of the products of their gradients.
    pub fisher: f64,
}

impl<T: Number> LossHessian<T> {
    /// The loss and its derivatives in the outputs.
    pub fn local(&self, weights: &Weights<T>) -> Result<Local<T>, TrainError> {
        self.check(weights)?;
        let network = Network::on(self.graph.clone(), self.device);
        let outputs = network.output(weights, &self.x).map_err(|e| match e {
            NetworkError::Device(e) => TrainError::Device(e),
            _ => TrainError::shapes(&self.graph),
        })?;
        let (count, samples) = (self.graph.output().len(), self.samples());
        let mut local = Local {
            loss: 0.0,
            slope: Vec::with_capacity(outputs.len()),
            curvature: Vec::with_capacity(outputs.len() * count),
            fisher: self.objective.fisher_weight(samples),
            outputs,
        };
        for first in (0..samples).step_by(CHUNK) {
            let n = CHUNK.min(samples - first);
            let rows = first * count..(first + n) * count;
            let program = derivatives(self.objective, [n, count], samples);
            let mut leaves: Vec<&[T]> = vec![&local.outputs[rows.clone()], &self.y[rows.clone()]];
            if self.objective.origin == Origin::Initial {
                leaves.push(&self.origin[rows]);
            }
            let mut columns = Vec::with_capacity(count);
            for k in 0..count {
                let mut unit = vec![T::ZERO; n * count];
                unit.iter_mut()
                    .skip(k)
                    .step_by(count)
                    .for_each(|u| *u = T::ONE);
                let mut found = program.evaluate(&[&leaves[..], &[&unit]].concat());
                columns.push(found.pop().unwrap_or_default());
                if k == 0 {
                    local.loss += found[0][0].to_f64();
                    local.slope.extend_from_slice(&found[1]);
                }
            }
            for at in 0..n * count {
                local
                    .curvature
                    .extend(columns.iter().map(|column| column[at]));
            }
        }
        Ok(local)
    }
}

impl Objective {
    /// What makes of Σ_s ∇L_s ∇L_sᵀ, with the weights of the mean inside of L, the mean over samples.
    pub(super) fn fisher_weight(&self, samples: usize) -> f64 {
        1.0 / (self.loss.weight(samples).powi(2) * samples as f64)
    }
}

/// Loss, slopes, and the change of the slopes along a direction in the outputs. Leaves are f, targets, f₀ where the
/// objective has one, and the direction.
fn derivatives(objective: Objective, shape: [usize; 2], samples: usize) -> Program {
    let mut t = Trace::new();
    let f = t.leaf(&shape);
    let value = objective.expression(&mut t, f, samples);
    let direction = t.leaf(&shape);
    let one = t.constant(1.0, &[1]);
    let slope = vjp(&mut t, &[(value, one)], &[f])[0];
    let change = jvp(&mut t, &[slope], &[(f, direction)])[0];
    Program::new(&t, &[value, slope, change])
}
