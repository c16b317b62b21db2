//! Counter-based random numbers, the same bits on every device.
#![forbid(unsafe_code)]
