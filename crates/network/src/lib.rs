//! A graph with weights: outputs and derivatives of any order.
#![forbid(unsafe_code)]

pub mod controls;
mod cost;
mod dipole;
mod error;
mod gpu;
mod lower;
mod network;
mod products;
mod weights;
mod weights_io;

pub use cost::{samples_a_task, samples_on_a_gpu};
pub use dipole::{Differences, Dipole, differences};
pub use error::NetworkError;
pub use gpu::{Card, Draws, GpuNetworks};
pub use lower::{BatchStatistics, Lowered, Mask, Mode, lower, lower_through};
pub use network::{Network, Scalar};
pub use polariscope_graph::multiplications;
pub use products::{Rows, gradient_products};
pub use weights::Weights;
pub use weights_io::{Contents, WeightsError};

/// The examples in the documentation of the core.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/core.md")]
struct Core;
