//! Every integration test of the crate in one program, a module a subject.

mod align;
mod bad_input;
mod bad_list;
mod browser;
mod check;
mod common;
mod data;
mod deform;
mod equivariance;
mod eval;
mod evolution;
mod examples;
mod experiment;
mod first_hour;
mod geometry;
mod hessian;
mod init;
#[cfg(target_os = "linux")]
mod interrupt;
mod kernel;
mod landscape;
mod planted;
mod predict;
mod regress;
mod run_directory;
mod show;
mod spectrum;
mod stability;
mod symmetry;
#[cfg(target_os = "linux")]
mod terminal;
mod train;
mod usage;
