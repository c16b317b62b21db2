//! What pooling leaves of a Fourier feature (NAD Thm 1).
//!
//! x = ε y v + w with v = √(2/D) cos(2πℓn/D) and w ~ N(0, σ²(I − vvᵀ)); then a circular prefilter m and every S-th
//! number: z = Px, M = D/S numbers. In the unitary Fourier transform
//!
//! ```text
//! ẑ[t] = (1/√S) Σ_k m̂[t + kM] x̂[t + kM]
//! ```
//!
//! the signal arrives at t = ℓ mod M as `ε|m̂[ℓ]|/√(2S)` (a real v puts half its energy at −ℓ), beside the noise of the
//! S − 1 frequencies that alias onto it, each with the real variance σ²|m̂|²/2S; the noise at ℓ itself has no part along
//! v. Hence for 2ℓ not a multiple of M
//!
//! ```text
//! Bayes accuracy = 1 − Q((ε/σ) γ),     γ² = |m̂[ℓ]|² / Σ_{k=1}^{S−1} |m̂[ℓ + kM]|².
//! ```
//!
//! The proof has a complex v with all its energy at ℓ: there the argument is √2(ε/σ)γ. The text prints (√2ε/2σ)√S γ,
//! the appendix (ε/2σ)√S γ: ε over σ/√2 is √2ε/σ, and the signal has its own 1/√S. The two
//! slips cancel at S = 4, the size of the paper's figure, and nowhere else: there the text's constant is that of a complex
//! feature, the appendix's that of a real one, which is what data and experiments have.

use polariscope_linalg::symmetric_eigen;
use polariscope_random::Stream;
use polariscope_stats::Estimate;
use std::f64::consts::PI;

use crate::GeometryError;
use crate::matrix::dot;
use polariscope_linalg::{product, product_transposed};

/// An average pool of S on a circle of D numbers, and a feature at frequency ℓ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// D.
    pub dim: usize,
    /// S, a divisor of D.
    pub factor: usize,
    /// ℓ.
    pub frequency: usize,
    /// ε/σ.
    pub ratio: f64,
}

impl Pool {
    /// |m̂[k]|² of the moving average over S numbers.
    fn response(&self, k: usize) -> f64 {
        let part = |f: fn(f64) -> f64| -> f64 {
            let angle = |j: usize| 2.0 * PI * (j * k) as f64 / self.dim as f64;
            (0..self.factor).map(|j| f(angle(j))).sum::<f64>() / self.factor as f64
        };
        part(f64::cos).powi(2) + part(f64::sin).powi(2)
    }

    /// (ε/σ)γ, the closed form.
    pub fn closed(&self) -> f64 {
        let folded = self.dim / self.factor;
        let aliases = (1..self.factor)
            .map(|k| self.response((self.frequency + k * folded) % self.dim))
            .sum::<f64>();
        self.ratio * (self.response(self.frequency) / aliases).sqrt()
    }

    /// (√2ε/2σ)√S γ, as the text prints it.
    pub fn printed(&self) -> f64 {
        self.closed() * (self.factor as f64 / 2.0).sqrt()
    }

    fn feature(&self) -> Vec<f64> {
        let cosine = |n: usize| (2.0 * PI * (self.frequency * n) as f64 / self.dim as f64).cos();
        let v: Vec<f64> = (0..self.dim).map(cosine).collect();
        let length = dot(&v, &v).sqrt();
        v.into_iter().map(|v| v / length).collect()
    }

    /// P, M × D: means of S neighbours.
    fn matrix(&self) -> Vec<f64> {
        let entry = |at: usize| {
            let (row, column) = (at / self.dim, at % self.dim);
            f64::from(u8::from(column / self.factor == row)) / self.factor as f64
        };
        (0..self.dim / self.factor * self.dim).map(entry).collect()
    }

    /// The best weights on x, Pᵀ Cov(z)⁻¹ Pv, for ε = σ = 1.
    fn best(&self) -> Result<Vec<f64>, GeometryError> {
        let (p, v) = (self.matrix(), self.feature());
        let folded = self.dim / self.factor;
        let pv = product(&p, &v, self.dim, 1);
        let mut cov = product_transposed(&p, &p, self.dim, folded);
        for (at, c) in cov.iter_mut().enumerate() {
            *c -= pv[at / folded] * pv[at % folded];
        }
        let eigen = symmetric_eigen(&cov, folded)?;
        let along = product(&eigen.vectors, &pv, folded, 1);
        let scaled: Vec<f64> = along
            .iter()
            .zip(&eigen.values)
            .map(|(a, l)| a / l)
            .collect();
        let on_z = product(&scaled, &eigen.vectors, folded, folded);
        Ok(product(&on_z, &p, folded, self.dim))
    }

    /// √(μᵀ Cov(z)⁻¹ μ): the argument of Q from linear algebra, without Fourier transforms.
    pub fn exact(&self) -> Result<f64, GeometryError> {
        Ok(self.ratio * dot(&self.best()?, &self.feature()).sqrt())
    }

    /// Accuracy of the Bayes classifier on samples.
    pub fn simulated(&self, samples: usize) -> Result<Estimate, GeometryError> {
        const BLOCK: usize = 1000;
        let (best, v) = (self.best()?, self.feature());
        let mut right = 0u64;
        let blocks = samples.div_ceil(BLOCK) as u64;
        let mut noise = vec![0.0; BLOCK * self.dim];
        for block in 0..blocks {
            Stream::new(0, block, "pool").normal(1.0, &mut noise);
            for (i, n) in noise.chunks_exact(self.dim).enumerate() {
                let y = if i % 2 == 0 { 1.0 } else { -1.0 };
                let n: Vec<f64> = n.iter().map(|&n| f64::from(n)).collect();
                let shift = self.ratio * y - dot(&n, &v);
                let z = dot(&n, &best) + shift * dot(&v, &best);
                right += u64::from(z * y > 0.0);
            }
        }
        let count = blocks * BLOCK as u64;
        let p = right as f64 / count as f64;
        Ok(Estimate {
            value: p,
            standard_error: (p * (1.0 - p) / count as f64).sqrt(),
            samples: count,
        })
    }
}

/// 1 − Q(z), by Simpson's rule on the density.
pub fn accuracy(z: f64) -> f64 {
    const STEPS: usize = 2000;
    let density = |t: f64| (-0.5 * t * t).exp() / (2.0 * PI).sqrt();
    let h = z / STEPS as f64;
    let term = |i: usize| match i {
        0 | STEPS => density(i as f64 * h),
        _ if i % 2 == 1 => 4.0 * density(i as f64 * h),
        _ => 2.0 * density(i as f64 * h),
    };
    0.5 + h / 3.0 * (0..=STEPS).map(term).sum::<f64>()
}
