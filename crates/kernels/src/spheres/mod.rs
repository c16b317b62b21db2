//! Exact spectra of one-hidden-layer kernels on products of spheres, and what m samples can teach.
//!
//! Inputs are ξ = (ξ_0, …, ξ_{p−1}) with ξ_i uniform on √d0·S^{d0−1}, patches are s neighbours on a circle
//! ([`Product`]). With a function k on [−1, 1] ([`Profile`]) the kernels of [`System`] are
//!
//! - FCN: k(Σ_i ξ_i·η_i/(p d0)),
//! - VEC: (1/p) Σ_i k(Σ_b ξ_{i+b}·η_{i+b}/(s d0)),
//! - GAP: (1/p²) Σ_ij k(Σ_b ξ_{i+b}·η_{j+b}/(s d0)).
//!
//! Their eigenfunctions are products of spherical harmonics of degrees r⃗ ∈ ℕ^p (Thm 4.1), for GAP averaged
//! over shifts. By Funk and Hecke, with t_b the cosine of two independent points of one sphere and P_r the
//! Legendre polynomial of dimension d0, P_r(1) = 1,
//!
//! c_r⃗ = E[ k(Σ_b t_b/s) Π_b P_{r_b}(t_b) ],
//!
//! λ_FCN = c_r⃗ (s = p) and λ_VEC = λ_GAP = (n/p) c_r⃗, n the number of windows that hold the support of r⃗.
//! Multiplicities are Π_b N(d0, r_b) for FCN and VEC; for GAP the invariants of the shifts, by Burnside.
//!
//! [`Spectrum`] lists the levels, [`Spectrum::needs`] and [`Spectrum::error`] say what is learnt with m
//! samples, [`fit`] and [`bands`] compare with sampled points, class by class and as plateaus of a Gram
//! spectrum, and [`regress`] learns an eigenfunction.
//!
//! [`answer`] puts it together for a [`Question`].
//!
//! ```
//! use polariscope_kernels::spheres::{self, Question, System};
//! use polariscope_lens::Quiet;
//!
//! let question = Question { system: System::Gap, k: "exp".parse()?, samples: 0, order: Some(2), ..Question::default() };
//! let found = spheres::answer(&question, &mut Quiet)?.levels;
//! let counts: Vec<u64> = found.levels.iter().map(|l| l.multiplicity).collect();
//! // A quarter of what VEC has: only functions that do not change with shifts.
//! assert_eq!(counts, [1, 3, 5, 9]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```
//! use polariscope_kernels::spheres::{Product, Profile, Spectrum, System};
//!
//! let product = Product::new(4, 3, 2)?;
//! let vec = Spectrum::to_order(System::Vec, product, &Profile::exp(), 2)?;
//! let shown: Vec<(String, u64)> = vec.levels.iter().map(|l| (format!("{:.5}", l.eigenvalue), l.multiplicity)).collect();
//! // The first is (sinh ½ / ½)².
//! let expected = [("1.08616", 1), ("0.08904", 12), ("0.00884", 20), ("0.00730", 36)];
//! assert_eq!(shown, expected.map(|(l, n)| (l.to_string(), n)));
//! # Ok::<(), polariscope_kernels::spheres::SphereError>(())
//! ```

mod answer;
mod check;
mod classes;
mod coefficients;
mod error;
mod harmonics;
mod job;
mod learn;
mod page;
mod profile;
mod quadrature;
mod question;
mod regress;
mod sample;
mod spectrum;
mod words;

pub use crate::kernel::Kind;
pub use answer::{Answer, Levels, Plateau, Row};
pub use check::{Band, Fitted, bands, fit};
pub use coefficients::RESOLUTION;
pub use error::SphereError;
pub use harmonics::{harmonics, legendre};
pub use job::{Job, answer};
pub use learn::Need;
pub use page::page;
pub use profile::Profile;
pub use question::{Function, Question};
pub use regress::{Lesson, regress};
pub use sample::{Points, Zonal};
pub use spectrum::{Level, Product, Spectrum, System};
