//! The lenses on symmetry against closed forms and what architectures must do.

mod equivariance;
mod images;
mod stability;
