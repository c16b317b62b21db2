//! The geometry lens.
#![forbid(unsafe_code)]
