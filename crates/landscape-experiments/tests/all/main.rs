//! Every integration test of the crate in one program, a module a subject.

mod double_descent;
mod jamming;
mod jamming_hessian;
mod jamming_point;
mod made_up;
