//! Smooth deformations of maximum entropy: random displacements of an image's pixels.
//!
//! The deformed image is (τx)(s) = x(s − τ(s)), s = (u, v) in the unit square, u to the right and v down, where
//! (eq. 2) τ_u = Σ C_ij sin(iπu) sin(jπv), τ_v = Σ D_ij sin(iπu) sin(jπv) over the modes i, j ≥ 1 below a cutoff c,
//! and C_ij, D_ij ~ N(0, T/(i² + j²)): of all fields with a given mean of ‖∇τ‖², the distribution of largest entropy. T is
//! its temperature.
//!
//! An image of n × n pixels has them at 0, 1/(n − 1), …, 1 of the square; the displacements in pixels are n τ. The
//! frame stays where it is. All channels move together.
//! ```
//! use polariscope_data::deform::{Convention, Deformations, Interpolation, ModeRule};
//! use polariscope_random::Stream;
//!
//! let deformations = Deformations::new(32, 3, ModeRule::Strict)?;
//! let t = deformations.temperature(1.0, Convention::Exact)?;
//! deformations.check(t, Convention::Exact)?;
//! let field = deformations.draw(t, &Stream::new(0, 0, "deform"));
//! let (image, mut out) = (vec![0.5; 3 * 32 * 32], vec![0.0; 3 * 32 * 32]);
//! field.apply(&image, Interpolation::Bilinear, &mut out);
//! # Ok::<(), polariscope_data::deform::DeformError>(())
//! ```

mod ensemble;
mod error;
mod field;
mod modes;
mod sample;

pub use ensemble::{Convention, Deformations};
pub use error::DeformError;
pub use field::Field;
pub use modes::ModeRule;
pub use sample::Interpolation;
