//! Every integration test of the crate in one program, a module a subject.

mod common;
mod csv;
mod deform;
mod files;
mod folder;
mod fuzz;
mod generators;
