//! Every integration test of the crate in one program, a module a subject.

mod by_hand;
mod coherent;
mod common;
mod duals;
mod mean_field;
mod refusals;
mod sampling;
mod shifted;
mod skips;
