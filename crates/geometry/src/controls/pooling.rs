//! Models of pooling.

use polariscope_lens::Fault;

use crate::theory::bayes::{Pool, accuracy};
use crate::theory::pooling;

/// Networks behind a matrix.
const NETWORKS: u64 = 16 * 4096;

pub fn gradient() -> Result<f64, Fault> {
    Ok(pooling::gradient_covariance(NETWORKS)?.excess.value)
}

pub fn mixed() -> Result<f64, Fault> {
    Ok(pooling::mixed_derivative(NETWORKS)?.excess.value)
}

pub fn relu() -> Result<f64, Fault> {
    Ok(pooling::relu_covariance(NETWORKS)?.excess.value)
}

pub fn curvature() -> Result<f64, Fault> {
    Ok(pooling::curvature(NETWORKS)?.excess.value)
}

/// The pool of the paper's figure, at a frequency where the feature is hard to see.
const POOL: Pool = Pool {
    dim: 128,
    factor: 4,
    frequency: 10,
    ratio: 0.5,
};

pub fn mahalanobis() -> Result<f64, Fault> {
    Ok(POOL.closed() / POOL.exact()?)
}

pub fn bayes() -> Result<f64, Fault> {
    Ok(POOL.simulated(400_000)?.value - accuracy(POOL.closed()))
}
