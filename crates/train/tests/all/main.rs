//! Every integration test of the crate in one program, a module a subject.

mod cuda;
mod flow;
mod gradient;
mod hessian;
mod loss;
mod run;
mod updates;
