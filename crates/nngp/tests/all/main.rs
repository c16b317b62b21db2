//! Every integration test of the crate in one program, a module a subject.

mod approximate;
mod common;
mod cuda;
mod finite;
mod kernel;
mod neural_tangents;
mod reference;
