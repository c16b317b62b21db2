//! Training: optimisers, schedules, losses, gradient flow.
#![forbid(unsafe_code)]
