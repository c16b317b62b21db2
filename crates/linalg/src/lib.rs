//! Dense linear algebra in f64 on row-major slices, by `faer`.
//!
//! Work is split into tiles and blocks of fixed sizes, each on one thread: bits do not depend on how many there are.
//!
//! ```
//! use polariscope_linalg::{product, symmetric_eigen};
//! // [[2, 1], [1, 2]] has 3 and 1.
//! let a = [2.0, 1.0, 1.0, 2.0];
//! let eigen = symmetric_eigen(&a, 2)?;
//! assert!((eigen.values[0] - 3.0).abs() < 1e-15);
//! assert_eq!(product(&a, &a, 2, 2), [5.0, 4.0, 4.0, 5.0]);
//! # Ok::<(), polariscope_linalg::EigenError>(())
//! ```
#![forbid(unsafe_code)]

mod cholesky;
mod covariance;
mod eigen;
mod krylov;
mod product;
mod singular;

pub use cholesky::{Cholesky, Conditioning, NotPositiveDefinite, jitters, mean_diagonal};
pub use covariance::{apply, covariance, covariance_about, orthonormalise};
pub use eigen::{EigenError, SymmetricEigen, symmetric_eigen, symmetric_eigenvalues, to_one};
pub use krylov::{Extremes, Quadrature, Ritz, Wanted, extremes, quadrature};
pub use product::{
    add_symmetric_product, gram, mirror, product, product_transposed, subtract_outer,
    transposed_product,
};
pub use singular::singular_values;
