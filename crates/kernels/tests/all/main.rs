//! Every integration test of the crate in one program, a module a subject.

mod cuda;
mod experiments;
mod inference;
mod motions;
mod spheres;
mod symmetry;
