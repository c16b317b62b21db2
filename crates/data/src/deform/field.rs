//! One field of displacements, and how much it distorts.

use std::sync::Arc;

use super::ensemble::split;
use super::modes::Modes;
use super::sample::{Interpolation, Sampler};

/// Displacements of the pixels of square images.
#[derive(Clone, Debug)]
pub struct Field {
    modes: Arc<Modes>,
    /// C of all modes, then D.
    coefficients: Vec<f32>,
    /// To the right, in pixels, row by row.
    pub u: Vec<f32>,
    /// Down, in pixels.
    pub v: Vec<f32>,
}

impl Modes {
    /// n Σ a_ij sin(iπu) sin(jπv): displacements in pixels along one axis.
    pub(super) fn displace(&self, a: &[f32], half: &mut Vec<f32>, out: &mut [f32]) {
        self.sum(a, [&self.sines, &self.sines], half, out);
        let n = self.n as f32;
        out.iter_mut().for_each(|x| *x *= n);
    }
}

/// ∇τ at a pixel, from the exact derivatives of the modes: ∂τ_u/∂u, ∂τ_u/∂v, ∂τ_v/∂u, ∂τ_v/∂v.
type Gradient = [f64; 4];

impl Field {
    pub(super) fn new(modes: Arc<Modes>, coefficients: Vec<f32>) -> Field {
        let mut half = Vec::new();
        let [u, v] = split(&coefficients).map(|a| {
            let mut out = vec![0.0; modes.n * modes.n];
            modes.displace(a, &mut half, &mut out);
            out
        });
        Field {
            modes,
            coefficients,
            u,
            v,
        }
    }

    /// Pixels a side.
    pub fn n(&self) -> usize {
        self.modes.n
    }

    /// C_ij of all modes, then D_ij.
    pub fn coefficients(&self) -> &[f32] {
        &self.coefficients
    }

    /// Mean square displacement in pixels over the square, by the trapezoid rule on the pixels: (n − 1)² squares between
    /// them, the frame is zero. It is exact for sines of at most n − 2 half-waves.
    pub fn mean_square(&self) -> f64 {
        let squares = self.u.iter().chain(&self.v).map(|&x| f64::from(x).powi(2));
        squares.sum::<f64>() / ((self.n() - 1) as f64).powi(2)
    }

    fn gradients(&self) -> impl Iterator<Item = Gradient> {
        let modes = &self.modes;
        let mut half = Vec::new();
        let [c, d] = split(&self.coefficients);
        let mut derivative = |a, left, right| {
            let mut out = vec![0.0; modes.n * modes.n];
            modes.sum(a, [left, right], &mut half, &mut out);
            out
        };
        let parts = [
            derivative(c, &modes.slopes, &modes.sines),
            derivative(c, &modes.sines, &modes.slopes),
            derivative(d, &modes.slopes, &modes.sines),
            derivative(d, &modes.sines, &modes.slopes),
        ];
        (0..self.u.len()).map(move |p| [0, 1, 2, 3].map(|k| f64::from(parts[k][p])))
    }

    /// The largest Ξ of all pixels (eq. 11), Ξ = ½(√(‖∇τ‖² − 2 det ∇τ) + Tr ∇τ). Where it is below 1 no direction is
    /// turned by a right angle or more, and nothing folds. The paper prints − Tr ∇τ, which is Ξ of the field −τ: both
    /// have the same distribution.
    pub fn max_xi(&self) -> f64 {
        let xi = |[a, b, c, d]: Gradient| {
            let (square, det) = (a * a + b * b + c * c + d * d, a * d - b * c);
            // (a − d)² + (b + c)²: below 0 by rounding alone.
            0.5 * ((square - 2.0 * det).max(0.0).sqrt() + a + d)
        };
        self.gradients().map(xi).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The smallest det(1 − ∇τ) of all pixels: the area of which a small square is the image; below 0 the field folds.
    pub fn min_det(&self) -> f64 {
        let det = |[a, b, c, d]: Gradient| (1.0 - a) * (1.0 - d) - b * c;
        self.gradients().map(det).fold(f64::INFINITY, f64::min)
    }

    /// Deforms an image, channel by channel (C,H,W): pixel (x, y) is taken from (x − u, y − v), moved to the nearest point of
    /// 0…n − 1.
    pub fn apply(&self, image: &[f32], interpolation: Interpolation, out: &mut [f32]) {
        Sampler::new(self.n()).sample([&self.u, &self.v], interpolation, image, out);
    }
}
