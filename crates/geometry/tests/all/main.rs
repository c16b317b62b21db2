//! Every integration test of the crate in one program, a module a subject.

mod align;
mod coherent;
mod coherent_closed;
mod cuda;
mod evolution;
mod exact;
mod kernel;
mod predict;
mod sample;
mod similar;
mod spectrum;
mod theory;
