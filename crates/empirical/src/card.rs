//! The kernel on a GPU: gradients stay there, and only their products come back.

use polariscope_network::{Network, Rows, Weights};

use crate::{EmpiricalError, Float, Outputs, passes};

/// Θ̂ between the samples of `x1` and of `x2`, or among those of `x1`.
pub(super) fn kernel<T: Float>(
    network: &Network<T>,
    weights: &Weights<T>,
    x1: &[T],
    x2: Option<&[T]>,
    outputs: Outputs,
) -> Result<Vec<f64>, EmpiricalError> {
    let graph = network.graph();
    let (sample, classes) = (graph.input().len(), graph.output().len());
    let (passes, weight) = passes(outputs, classes);
    let mut kernel = Vec::new();
    for pass in passes {
        let list = |x: &[T]| Jacobian::new(x, sample, pass.clone(), classes);
        let (left, right) = (list(x1), x2.map(list));
        let right = right.as_ref().map(Jacobian::rows);
        let part = network.gradient_products(weights, left.rows(), right)?;
        kernel.resize(part.len(), 0.0);
        let sums = kernel.iter_mut().zip(part);
        sums.for_each(|(sum, part)| *sum += weight * part.to_f64());
    }
    Ok(kernel)
}

/// Rows of J for some outputs of some samples, outputs of a sample together.
struct Jacobian<T> {
    x: Vec<T>,
    u: Vec<T>,
}

impl<T: Float> Jacobian<T> {
    fn new(x: &[T], sample: usize, outputs: std::ops::Range<usize>, classes: usize) -> Self {
        let samples = x.chunks(sample);
        let unit = |k: usize| (0..classes).map(move |c| if c == k { T::ONE } else { T::ZERO });
        let units: Vec<T> = outputs.clone().flat_map(unit).collect();
        Jacobian {
            u: units.repeat(samples.len()),
            x: samples.flat_map(|x| x.repeat(outputs.len())).collect(),
        }
    }

    fn rows(&self) -> Rows<'_, T> {
        Rows {
            x: &self.x,
            u: &self.u,
        }
    }
}
