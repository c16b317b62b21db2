//! Tensor programs closed under differentiation, and the devices that run them.
#![forbid(unsafe_code)]
