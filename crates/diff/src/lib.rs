//! Tensor programs closed under differentiation, and the devices that run them.
//!
//! A [`Trace`] holds expressions; [`vjp`] and [`jvp`] add their derivatives as expressions of the
//! same kind, to any order; a [`Program`] is the plan for some outputs; a [`Session`] runs it on the processor, and what is
//! [`Loaded`] on any [`Device`].
#![deny(unsafe_code)]

mod cost;
pub mod cpu;
pub mod cuda;
mod device;
mod function;
mod jvp;
pub mod program;
mod real;
mod trace;
mod vjp;
mod vmap;

pub use cost::Cost;
pub use cpu::Number;
pub use device::{Device, Loaded, Place, Precision, Session};
pub use function::{Bits, Function};
pub use jvp::jvp;
pub use program::Program;
pub use real::{Dtype, Real};
pub use trace::{Conv, Crop, Id, Node, Op, Origin, Trace, Window};
pub use vjp::vjp;
pub use vmap::vmap;
