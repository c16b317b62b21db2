//! A graph with weights: outputs and derivatives of any order.
#![forbid(unsafe_code)]
