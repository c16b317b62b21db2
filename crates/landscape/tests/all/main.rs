//! Every integration test of the crate in one program, a module a subject.

mod cuda;
mod dead;
mod descent;
mod frozen;
mod gaps;
mod hessian;
mod lens;
mod motion;
mod pytorch;
mod words;
