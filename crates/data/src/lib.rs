//! Data sets: generators, files, transforms.
#![forbid(unsafe_code)]
