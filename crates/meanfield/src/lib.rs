//! Covariances of gradients and signals, propagated over a graph in closed form.
#![forbid(unsafe_code)]
