//! Every integration test of the crate in one program, a module a subject.

mod common;
mod files;
mod fuzz;
mod generators;
