//! What products with a matrix tell of its spectrum: for networks whose matrices do not fit.

use polariscope_lens::{Observer, Work};
use polariscope_linalg::{Extremes, Quadrature, Wanted, extremes, quadrature};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_report::counted;
use polariscope_stats::Estimate;
use polariscope_train::{LossHessian, Matrix};
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// A matrix as its products.
pub struct Operator<'a> {
    /// The loss.
    pub hessian: &'a LossHessian<f64>,
    /// Where.
    pub weights: &'a Weights<f64>,
    /// Which of its matrices.
    pub matrix: Matrix,
}

impl Operator<'_> {
    /// Rows.
    pub fn parameters(&self) -> usize {
        self.hessian.graph().parameter_count()
    }

    /// The matrix times v, trainable parameters in order.
    pub fn apply(&self, v: &[f64]) -> Result<Vec<f64>, LandscapeError> {
        let graph = self.hessian.graph();
        let mut direction = Weights::zeros(graph);
        let mut rest = v;
        for i in graph.trainable() {
            let (own, after) = rest.split_at(graph.params[i].len());
            direction.values[i].copy_from_slice(own);
            rest = after;
        }
        let product = self.hessian.apply(self.matrix, self.weights, &direction)?;
        let trainable = graph.trainable().map(|i| product.values[i].as_slice());
        let product = trainable.collect::<Vec<_>>().concat();
        match product.iter().all(|x| x.is_finite()) {
            true => Ok(product),
            false => Err(polariscope_linalg::EigenError.into()),
        }
    }

    /// The eigenvalues at both ends.
    pub fn ends(
        &self,
        wanted: Wanted,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Extremes, LandscapeError> {
        let n = self.parameters();
        observer.begin(Work {
            unit: "products".into(),
            first: 0,
            total: wanted.products as u64,
            words: format!(
                "at most {} for eigenvalues",
                counted(wanted.products as u64, "product")
            ),
            bytes: 8.0 * (n * (wanted.basis + 4)) as f64,
        });
        let mut done = 0;
        let apply = |v: &[f64]| {
            let product = self.apply(v)?;
            done += 1;
            observer.advance(done, &|| None)?;
            Ok::<_, LandscapeError>(product)
        };
        let draw = |k: usize| probe(n, seed, k as u64, "lanczos");
        let found = extremes(n, wanted, draw, apply)?;
        observer.end();
        Ok(found)
    }

    /// Its quadratures from random probes of ±1.
    pub fn sampled(
        &self,
        probes: usize,
        steps: usize,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Sampled, LandscapeError> {
        let n = self.parameters();
        let steps = steps.min(n);
        observer.begin(Work {
            unit: "products".into(),
            first: 0,
            total: (probes * steps) as u64,
            words: format!(
                "{} of {}",
                counted(probes as u64, "probe"),
                counted(steps as u64, "product")
            ),
            bytes: 8.0 * (n * (steps + 4)) as f64,
        });
        let mut quadratures = Vec::with_capacity(probes);
        for k in 0..probes {
            let mut done = k * steps;
            let apply = |v: &[f64]| {
                let product = self.apply(v)?;
                done += 1;
                observer.advance(done as u64, &|| None)?;
                Ok::<_, LandscapeError>(product)
            };
            quadratures.push(quadrature(probe(n, seed, k as u64, "probe"), steps, apply)?);
        }
        observer.end();
        Ok(Sampled {
            parameters: n,
            probes: quadratures,
        })
    }
}

/// Random signs.
fn probe(n: usize, seed: u64, index: u64, name: &str) -> Vec<f64> {
    let mut draws = vec![0.0_f32; n];
    Stream::new(seed, index, name).uniform(1.0, &mut draws);
    let sign = |x: f32| if x < 0.0 { -1.0 } else { 1.0 };
    draws.into_iter().map(sign).collect()
}

/// A spectrum as random probes saw it: means of functions of the eigenvalues, with standard errors over probes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    parameters: usize,
    probes: Vec<Quadrature>,
}

impl Sampled {
    /// Rows of the matrix.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// tr f(A)/N; none of fewer than two probes.
    pub fn mean(&self, f: impl Fn(f64) -> f64) -> Option<Estimate> {
        let means: Vec<f64> = self.probes.iter().map(|p| p.mean(&f)).collect();
        Estimate::mean(&means)
    }

    /// tr A.
    pub fn trace(&self) -> Option<Estimate> {
        let n = self.parameters as f64;
        self.mean(|l| l).map(|mean| Estimate {
            value: n * mean.value,
            standard_error: n * mean.standard_error,
            ..mean
        })
    }

    /// Part of the eigenvalues below a number.
    pub fn below(&self, bound: f64) -> Option<Estimate> {
        self.mean(|l| f64::from(l < bound))
    }

    /// Part of the eigenvalues per unit of λ, seen through a Gaussian of standard deviation `width`.
    pub fn density(&self, at: f64, width: f64) -> Option<Estimate> {
        let height = 1.0 / (width * (2.0 * std::f64::consts::PI).sqrt());
        self.mean(|l| height * (-0.5 * ((l - at) / width).powi(2)).exp())
    }

    /// The smallest and the largest node.
    pub fn range(&self) -> (f64, f64) {
        let nodes = self.probes.iter().flat_map(|p| &p.nodes);
        nodes.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &l| {
            (low.min(l), high.max(l))
        })
    }
}
