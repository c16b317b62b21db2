//! Hessians with known parts.

use polariscope_graph::{Activation, Graph, ZooOptions, zoo};
use polariscope_lens::{Fault, Quiet, farthest};
use polariscope_linalg::Wanted;
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Loss, LossHessian, Matrix};

use crate::hessian::{Operator, Split, dense, split};

/// Numbers of an input.
const INPUTS: usize = 8;
/// That of the jamming experiments.
const LOSS: Loss = Loss::Hinge {
    power: 2.0,
    margin: 0.5,
};

fn normal(name: &str, n: usize) -> Vec<f64> {
    let mut x = vec![0.0f32; n];
    Stream::new(0, 0, name).normal(1.0, &mut x);
    x.into_iter().map(f64::from).collect()
}

fn network(name: &str, activation: Activation) -> Result<Graph, Fault> {
    let options = ZooOptions {
        input: Some(INPUTS.to_string().parse()?),
        outputs: Some(1),
        activation: Some(activation.into()),
        ..ZooOptions::default()
    };
    Ok(zoo(name, &options)?)
}

/// Random inputs with labels that alternate.
fn subject(graph: &Graph, loss: Loss, samples: usize) -> Result<LossHessian<f64>, Fault> {
    let y: Vec<f64> = (0..samples)
        .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    Ok(LossHessian::new(
        graph,
        loss,
        &normal("x", samples * INPUTS),
        &y,
    )?)
}

fn curved(name: &str, samples: usize) -> Result<Split, Fault> {
    let graph = network(name, Activation::Relu)?;
    let weights = Weights::draw(&graph, 0, 0);
    Ok(split(
        &subject(&graph, LOSS, samples)?,
        &weights,
        &mut Quiet,
    )?)
}

/// f = w·x + b, L = mean of ln(1 + e^{−yf}): ℓ″ = p(1 − p) with p = 1/(1 + e^{−f}).
pub fn logistic() -> Result<f64, Fault> {
    let graph = network("logreg", Activation::Relu)?;
    let (weights, samples) = (Weights::draw(&graph, 0, 0), 30);
    let hessian = subject(&graph, Loss::CrossEntropy, samples)?;
    let found = dense(&hessian, &weights, &mut Quiet)?.hessian();
    let n = graph.parameter_count();
    let mut expected = vec![0.0; n * n];
    for x in normal("x", samples * INPUTS).chunks(INPUTS) {
        let features: Vec<f64> = x.iter().copied().chain([1.0]).take(n).collect();
        let flat = weights.values.iter().flatten();
        let f: f64 = features.iter().zip(flat).map(|(a, w)| a * w).sum();
        let p = 1.0 / (1.0 + (-f).exp());
        for (at, e) in expected.iter_mut().enumerate() {
            *e += p * (1.0 - p) * features[at / n] * features[at % n] / samples as f64;
        }
    }
    Ok(farthest(&found, &expected))
}

/// The outputs are linear in every single weight.
pub fn trace() -> Result<f64, Fault> {
    let split = curved("mlp-2x20", 60)?;
    match split.curvature.eigenvalues[0] > 0.0 {
        true => Ok(split.curvature.trace),
        false => Err("H_p is 0".into()),
    }
}

/// H_p joins the first layer with the second alone. In units of the largest eigenvalue.
pub fn mirror() -> Result<f64, Fault> {
    let eigenvalues = curved("mlp-1x20", 60)?.curvature.eigenvalues;
    let mirrored: Vec<f64> = eigenvalues.iter().rev().map(|l| -l).collect();
    Ok(farthest(&eigenvalues, &mirrored) / eigenvalues[0])
}

/// The gradients of random patterns are independent.
pub fn zero_modes() -> Result<f64, Fault> {
    Ok(curved("mlp-2x20", 60)?.further_zero_modes() as f64)
}

/// Lanczos against the eigenvalues of the matrix, in units of the largest.
pub fn products() -> Result<f64, Fault> {
    let graph = network("mlp-2x10", Activation::Tanh)?;
    let weights = Weights::draw(&graph, 0, 0);
    let hessian = subject(&graph, Loss::CrossEntropy, 60)?;
    let exact = split(&hessian, &weights, &mut Quiet)?.hessian.eigenvalues;
    let operator = Operator {
        hessian: &hessian,
        weights: &weights,
        matrix: Matrix::Hessian,
    };
    let wanted = Wanted {
        largest: 3,
        smallest: 3,
        basis: 30,
        tolerance: 1e-10,
        products: 2000,
    };
    let found = operator.ends(wanted, 0, &mut Quiet)?;
    let ends = found.largest.iter().chain(&found.smallest);
    let found: Vec<f64> = ends.map(|r| r.value).collect();
    let expected = exact.iter().take(3).chain(exact.iter().rev().take(3));
    let expected: Vec<f64> = expected.copied().collect();
    Ok(farthest(&found, &expected) / exact[0])
}
