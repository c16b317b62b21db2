//! What a network does not mind: deformations ([`stability`]), and transformations that it follows or ignores ([`equivariance`]).
#![forbid(unsafe_code)]

pub mod controls;
pub mod deform;
pub mod equivariance;
mod error;
mod layers;
mod maps;
pub mod stability;
mod subject;
mod value;

pub use error::SymmetryError;
pub use subject::{Images, Learnt, Origin, Subject, noise};
pub use value::Value;
