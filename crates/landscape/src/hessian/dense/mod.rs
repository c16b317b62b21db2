//! The matrices themselves, for networks of a few thousand parameters.
//!
//! H₀ = Jᵀ ℓ″ J and the Fisher matrix are products of the Jacobian J. H_p has two ways:
//!
//! - **By units**, where every weight multiplies one feature a_j into one unit i of a dense layer ([`sites`]). Moving the
//!   weight moves the unit by a_j, so a forward derivative for every unit, not for every weight, gives all: with the
//!   gradients δ of the units at frozen ℓ′, the derivative of δ_i a_j along unit p of layer l is
//!   δ̇_i a_j + δ_i ȧ_j, and H_p(ij, pq) = Σ over samples of that times a_q. The first term is 0 for relu.
//! - **By columns** for any network: forward over reverse, several columns at once ([`columns`]).
//!
//! Only samples with ℓ′ ≠ 0 or ℓ″ ≠ 0 are looked at: those that a hinge loss leaves alone add nothing.

mod columns;
mod programs;
mod sites;
mod units;

use polariscope_lens::{Observer, Work};
use polariscope_linalg::{add_symmetric_product, mirror, symmetric_eigenvalues};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_report::counted;
use polariscope_train::{Local, LossHessian};

use crate::LandscapeError;

/// ℓ″ of a sample has the rank of its eigenvalues above this part of the largest of all samples.
const RANK: f64 = 1e-12;
/// Rows of J that are held together, times parameters.
const ROWS: usize = 1 << 22;

/// H₀, H_p and the Fisher matrix, each symmetric, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Rows.
    pub parameters: usize,
    /// The loss.
    pub loss: f64,
    /// Σ over samples of the rank of ℓ″: for a quadratic hinge the number N_Δ of patterns that are not satisfied.
    pub constraints: usize,
    /// H₀.
    pub gauss_newton: Vec<f64>,
    /// H_p.
    pub curvature: Vec<f64>,
    /// (1/n) Σ g gᵀ.
    pub fisher: Vec<f64>,
}

impl Dense {
    /// H = H₀ + H_p.
    pub fn hessian(&self) -> Vec<f64> {
        let parts = self.gauss_newton.iter().zip(&self.curvature);
        parts.map(|(a, b)| a + b).collect()
    }
}

/// The matrices at `weights`.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_landscape::hessian::dense;
/// use polariscope_lens::Quiet;
/// use polariscope_network::Weights;
/// use polariscope_train::{Loss, LossHessian};
///
/// // f = w·x with x = (3, 4) and ½(f − y)²: H₀ = x xᵀ, and f has no curvature.
/// let options = ZooOptions { input: Some("2".parse()?), outputs: Some(1), bias: "zero".parse()?, ..ZooOptions::default() };
/// let graph = zoo("logreg", &options)?;
/// let hessian = LossHessian::<f64>::new(&graph, Loss::Sse, &[3.0, 4.0], &[1.0])?;
/// let found = dense(&hessian, &Weights::draw(&graph, 0, 0), &mut Quiet)?;
/// assert_eq!(found.gauss_newton[..2], [9.0, 12.0]);
/// assert!(found.curvature.iter().all(|&h| h == 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dense(
    hessian: &LossHessian<f64>,
    weights: &Weights<f64>,
    observer: &mut dyn Observer,
) -> Result<Dense, LandscapeError> {
    let graph = hessian.graph();
    let local = hessian.local(weights)?;
    let active = Active::new(hessian, &local);
    let n = graph.parameter_count();
    let mut found = Dense {
        parameters: n,
        loss: local.loss,
        constraints: constraints(&local.curvature, graph.output().len())?,
        gauss_newton: vec![0.0; n * n],
        curvature: vec![0.0; n * n],
        fisher: vec![0.0; n * n],
    };
    let sites = sites::sites(graph);
    observer.begin(Work {
        unit: match sites {
            Some(_) => "samples".into(),
            None => "columns".into(),
        },
        first: 0,
        total: match sites {
            Some(_) => active.count() as u64,
            None => n as u64,
        },
        words: format!("the Hessian of {}", counted(n as u64, "parameter")),
        bytes: bytes(n),
    });
    match sites {
        Some(sites) => units::add(&mut found, hessian, weights, &sites, &active, observer)?,
        None => {
            let network = Network::on(graph.clone(), hessian.device());
            outer(&mut found, &network, weights, &active)?;
            columns::add(&mut found.curvature, hessian, weights, &active, observer)?;
        }
    }
    observer.end();
    for matrix in [&mut found.gauss_newton, &mut found.fisher] {
        mirror(matrix, n);
    }
    found.fisher.iter_mut().for_each(|f| *f *= local.fisher);
    Ok(found)
}

/// Bytes of the matrices with their eigenproblems.
pub(crate) fn bytes(parameters: usize) -> f64 {
    7.0 * 8.0 * (parameters as f64).powi(2)
}

/// The samples whose ℓ′ or ℓ″ is not 0.
struct Active {
    /// Outputs of the network.
    outputs: usize,
    /// Inputs, ℓ′ and ℓ″ of each.
    x: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
    /// Numbers of an input.
    sample: usize,
}

impl Active {
    fn new(hessian: &LossHessian<f64>, local: &Local<f64>) -> Self {
        let (sample, outputs) = (
            hessian.graph().input().len(),
            hessian.graph().output().len(),
        );
        let mut active = Active {
            outputs,
            x: Vec::new(),
            slope: Vec::new(),
            curvature: Vec::new(),
            sample,
        };
        let slopes = local.slope.chunks_exact(outputs);
        let curvatures = local.curvature.chunks_exact(outputs * outputs);
        let inputs = hessian.inputs().chunks_exact(sample);
        for ((x, slope), curvature) in inputs.zip(slopes).zip(curvatures) {
            if slope.iter().chain(curvature).any(|&v| v != 0.0) {
                active.x.extend(x);
                active.slope.extend(slope);
                active.curvature.extend(curvature);
            }
        }
        active
    }

    fn count(&self) -> usize {
        self.slope.len() / self.outputs
    }

    /// ℓ″ of some samples times rows of their Jacobian, `rows` numbers each.
    fn weighted(&self, first: usize, jacobian: &[f64], length: usize) -> Vec<f64> {
        let outputs = self.outputs;
        let mut weighted = vec![0.0; jacobian.len()];
        let sample = outputs * length;
        let samples = jacobian
            .chunks_exact(sample)
            .zip(weighted.chunks_exact_mut(sample));
        for (s, (rows, weighted)) in samples.enumerate() {
            let curvature = &self.curvature[(first + s) * outputs * outputs..];
            for (k, weighted) in weighted.chunks_exact_mut(length).enumerate() {
                for (other, row) in rows.chunks_exact(length).enumerate() {
                    axpy(curvature[k * outputs + other], row, weighted);
                }
            }
        }
        weighted
    }

    /// The gradients of the losses of some samples, from rows of their Jacobian.
    fn gradients(&self, first: usize, jacobian: &[f64], length: usize) -> Vec<f64> {
        let outputs = self.outputs;
        let mut gradients = Vec::with_capacity(jacobian.len() / outputs);
        for (s, rows) in jacobian.chunks_exact(outputs * length).enumerate() {
            let mut gradient = vec![0.0; length];
            for (k, row) in rows.chunks_exact(length).enumerate() {
                axpy(self.slope[(first + s) * outputs + k], row, &mut gradient);
            }
            gradients.append(&mut gradient);
        }
        gradients
    }
}

/// y + a x in the place of y.
fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    if a != 0.0 {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    }
}

impl Dense {
    /// Adds what rows of J give to H₀ and to the Fisher matrix, on and below the diagonal.
    fn add_rows(&mut self, active: &Active, first: usize, jacobian: &[f64]) {
        let n = self.parameters;
        let weighted = active.weighted(first, jacobian, n);
        add_symmetric_product(&mut self.gauss_newton, &weighted, jacobian, n);
        let gradients = active.gradients(first, jacobian, n);
        add_symmetric_product(&mut self.fisher, &gradients, &gradients, n);
    }
}

/// H₀ and the Fisher matrix of any network, by a gradient for every output of every sample.
fn outer(
    found: &mut Dense,
    network: &Network<f64>,
    weights: &Weights<f64>,
    active: &Active,
) -> Result<(), LandscapeError> {
    let (n, outputs) = (found.parameters, active.outputs);
    let together = (ROWS / (n * outputs).max(1)).max(1);
    for first in (0..active.count()).step_by(together) {
        let count = together.min(active.count() - first);
        let x = &active.x[first * active.sample..(first + count) * active.sample];
        let mut jacobian = vec![0.0; count * outputs * n];
        for k in 0..outputs {
            let rows = network.sample_gradients(weights, x, Scalar::Logit(k))?;
            for (s, row) in rows.iter().enumerate() {
                jacobian[(s * outputs + k) * n..][..n].copy_from_slice(row);
            }
        }
        found.add_rows(active, first, &jacobian);
    }
    Ok(())
}

/// Σ over samples of the rank of ℓ″.
fn constraints(curvature: &[f64], outputs: usize) -> Result<usize, LandscapeError> {
    let mut eigenvalues = Vec::with_capacity(curvature.len() / outputs);
    for sample in curvature.chunks_exact(outputs * outputs) {
        eigenvalues.extend(symmetric_eigenvalues(sample, outputs)?);
    }
    let largest = eigenvalues.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
    Ok(eigenvalues
        .iter()
        .filter(|l| l.abs() > RANK * largest)
        .count())
}
