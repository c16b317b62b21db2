//! Counter-based random numbers, the same bits on every device.
//!
//! A [`Stream`] is named by (seed, index, name) and is a function k ↦ element k: nothing is consumed,
//! any block of elements can be drawn alone, in any order, on any number of threads.
//!
//! **Generator.** Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC'11): ten rounds of a keyed bijection
//! on four 32-bit words.
//! The stream's identity is Philox(key = seed, counter = (index, h(name))), four words: two are the key of
//! the stream, two are the upper half of its counters. For one seed that map is a bijection, so two
//! (index, h(name)) never share a stream; h is a 64-bit hash.
//!
//! **Layout.** Elements come in chunks of 64. Word w of block 16c + l is element 64c + 16w + l, so that
//! sixteen blocks fill sixteen vector lanes without a transposition.
//!
//! **Arithmetic.** Integer operations, +, ×, fused multiply-add and √ in f32, each of which IEEE 754
//! defines to the last bit; no division, no mathematics library. See [`Stream::uniform`] and
//! [`Stream::normal`] for the two maps from bits to numbers.
#![deny(unsafe_code)]

mod cursor;
mod fill;
mod philox;
#[allow(unsafe_code)]
mod simd;
mod stream;

pub use cursor::Cursor;
pub use philox::philox;
pub use simd::Path;
pub use stream::Stream;
