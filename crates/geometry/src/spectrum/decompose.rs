//! The eigendecomposition, verified.
//!
//! B = Σ λᵢ uᵢuᵢᵀ by divide and conquer, then ‖Bu − λu‖ and uᵢ·uⱼ are computed from what came out. Both are of the
//! order n·ε = 2·10⁻¹⁶ n where the solver did its work; above 10⁻¹² n the decomposition is refused. Eigenvalues
//! of a positive semidefinite matrix that came out slightly negative stay as they are.

use polariscope_diff::Device;

use super::Spectrum;
use super::solver::Solver;
use crate::matrix::dot;
use crate::{GeometryError, Kron};
use polariscope_linalg::product;

/// Allowed residual and loss of orthogonality, per row.
const ALLOWED: f64 = 1e-12;

impl Spectrum {
    /// Decomposes a geometry and checks the result.
    ///
    /// ```
    /// use polariscope_geometry::{Kron, Spectrum};
    /// // I₂ ⊗ [[2,1],[1,2]]: 3 and 1, twice each.
    /// let g = Kron { channels: 2, n: 2, factor: vec![2.0, 1.0, 1.0, 2.0] };
    /// let spectrum = Spectrum::of(&g)?;
    /// assert!(spectrum.values.iter().zip([3.0, 3.0, 1.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-14));
    /// // The second direction is (1,1)/√2 on the second channel.
    /// assert!((spectrum.direction(1)[3] - 0.5f64.sqrt()).abs() < 1e-14);
    /// # Ok::<(), polariscope_geometry::GeometryError>(())
    /// ```
    pub fn of(matrix: &Kron) -> Result<Spectrum, GeometryError> {
        Spectrum::on(Device::Cpu, matrix)
    }

    /// [`Spectrum::of`] on a device; small matrices are left to the processor.
    pub fn on(device: Device, matrix: &Kron) -> Result<Spectrum, GeometryError> {
        let n = matrix.n;
        let solver = Solver::new(device, n)?;
        let eigen = solver.eigen(&matrix.factor, n)?;
        let vectors = eigen.vectors;
        // B is symmetric: U B is U Bᵀ.
        let images = solver.product(&vectors, &matrix.factor, n)?;
        let scale = eigen.values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let miss = |(i, image): (usize, &[f64])| {
            let u = &vectors[i * n..(i + 1) * n];
            let squares = image
                .iter()
                .zip(u)
                .map(|(b, u)| (b - eigen.values[i] * u).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let worst = images
            .chunks_exact(n.max(1))
            .enumerate()
            .map(miss)
            .fold(0.0, f64::max);
        let residual = if scale > 0.0 { worst / scale } else { worst };
        let products = solver.product(&vectors, &vectors, n)?;
        let off = |(at, p): (usize, &f64)| (p - f64::from(u8::from(at / n == at % n))).abs();
        let orthogonality = products.iter().enumerate().map(off).fold(0.0, f64::max);
        let allowed = ALLOWED * n as f64;
        if residual > allowed || orthogonality > allowed {
            return Err(GeometryError::Decomposition {
                residual,
                orthogonality,
            });
        }
        let values = eigen.values.iter();
        Ok(Spectrum {
            channels: matrix.channels,
            n,
            values: values
                .flat_map(|&v| std::iter::repeat_n(v, matrix.channels))
                .collect(),
            vectors,
            residual,
            orthogonality,
            errors: Vec::new(),
        })
    }

    /// Number of directions, D.
    pub fn dim(&self) -> usize {
        self.channels * self.n
    }

    /// Direction i, D numbers: e_c ⊗ u, where the C directions of one u come in the order of the channels.
    ///
    /// # Panics
    /// If there is no direction i.
    pub fn direction(&self, i: usize) -> Vec<f64> {
        let (block, channel) = (i / self.channels, i % self.channels);
        let mut direction = vec![0.0; self.dim()];
        direction[channel * self.n..(channel + 1) * self.n]
            .copy_from_slice(&self.vectors[block * self.n..(block + 1) * self.n]);
        direction
    }

    /// Directions 0 … k−1, one a row (k × D).
    pub(crate) fn directions(&self, k: usize) -> Vec<f64> {
        (0..k).flat_map(|i| self.direction(i)).collect()
    }

    /// uᵀ S u for every direction and a D × D matrix S.
    pub(crate) fn quadratics(&self, s: &[f64]) -> Vec<f64> {
        let (n, dim) = (self.n, self.dim());
        let mut quadratics = vec![0.0; dim];
        for c in 0..self.channels {
            let rows = s[c * n * dim..(c + 1) * n * dim].chunks_exact(dim.max(1));
            let block: Vec<f64> = rows
                .flat_map(|row| &row[c * n..(c + 1) * n])
                .copied()
                .collect();
            let images = product(&self.vectors, &block, n, n);
            let pairs = self
                .vectors
                .chunks_exact(n.max(1))
                .zip(images.chunks_exact(n.max(1)));
            for (i, (u, image)) in pairs.enumerate() {
                quadratics[i * self.channels + c] = dot(u, image);
            }
        }
        quadratics
    }
}
