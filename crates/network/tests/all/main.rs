//! Every integration test of the crate in one program, a module a subject.

mod cuda;
mod dipole;
mod group;
mod network;
mod ops;
mod pytorch;
mod weights_file;
