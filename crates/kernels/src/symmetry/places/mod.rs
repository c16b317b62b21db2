//! Motions of the positions: translations, flips, transposition, turns, all channels alike.
//!
//! A learning system has the motion g if f(g·) has the distribution of f at the start and training keeps that. Then the
//! trained predictor is equivariant in distribution and the kernels of the infinitely wide network satisfy
//! K(gx, gx′) = K(x, x′). It is enough that weights can follow: f(gx; θ_g) = f(x; θ) where θ_g is θ reordered ([`follow`]).
//! Where none has to move, every single network gives gx the output of x.
//!
//! What no weights were found to follow is denied by measurement alone: kernels that change, or sampled networks that tell
//! gx from x. Translations filled with zeros are denied to all: repeated, they blank every sample.

mod answer;
mod check;
mod follow;
mod kind;
mod motion;
mod sampled;
mod words;

pub use answer::{Known, Place, table, table_for_files};
pub use check::{Checked, check};
pub use follow::{Followed, Lost, follow};
pub use motion::{Axis, Motion};
pub use words::words;
