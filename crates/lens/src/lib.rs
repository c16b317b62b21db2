//! What every lens shares.
//!
//! A lens is a serialisable question, a function that answers it while an [`Observer`] looks on, and an answer that
//! serialises. Its messages name settings of the question as data ([`Setting`]), so that a command line shows flags and
//! another language its own arguments.
#![forbid(unsafe_code)]

mod clock;
mod control;
mod device;
mod fingerprint;
mod foretell;
mod memory;
mod observer;
mod setting;
mod setup;
mod shard;

pub use clock::Clock;
pub use control::{Comparison, Control, Fault, Group, Outcome, comparison, control, farthest};
pub use device::open;
pub use fingerprint::{fingerprint, fingerprint_bytes};
pub use foretell::foretell_cubic;
pub use memory::{TooLarge, afford};
pub use observer::{Observer, Quiet, Stopped, Work};
pub use polariscope_diff::{Device, Place, Precision};
pub use setting::{Setting, render, settings};
pub use setup::{Dtype, Setup};
pub use shard::Shard;
