//! One file a verb.

pub mod align;
pub mod check;
pub mod compare;
pub mod completions;
pub mod deform;
pub mod equivariance;
pub mod eval;
pub mod evolution;
pub mod experiment;
pub mod geometry;
pub mod hessian;
pub mod init;
pub mod kernel;
pub mod landscape;
pub mod learnt;
pub mod list;
pub mod merge;
pub mod plan;
pub mod predict;
pub mod regress;
pub mod show;
pub mod spectrum;
pub mod stability;
pub mod subject;
pub mod symmetry;
pub mod train;
