//! Test accuracy on D(v) from the geometry and one number.
//!
//! D(v) has labels y = ±1 and samples x = yv + w, ‖v‖ = 1, w ~ N(0, σ²(I − vvᵀ)). The trained network is taken as ridge
//! regression with the kernel xᵀGx', tr G = D, and a ridge δ: its weight vector is
//!
//! ```text
//! ŵ = argmin Σ_k (y_k − ŵᵀx_k)² + δ ŵᵀG⁻¹ŵ.
//! ```
//!
//! Split ŵ = αv + β, β ⊥ v. Times y_k the residual of a sample is 1 − α − βᵀw̃_k with w̃_k = y_k w_k: a regression of the
//! constant 1 − α on pure noise, whose n samples count as n̂. With G = Σ λ_i u_i u_iᵀ, a_i = u_i·v and
//!
//! ```text
//! n̂ = n/(1 + e),  e = σ² Σ d_i,  d_i = 1/(n̂σ² + δ/λ_i),  q_k = Σ a_i² d_i^k
//! ```
//!
//! the mean of ŵ is n̂(n̂Σ + δG⁻¹)⁻¹Σv for the covariance Σ = σ²I + (1 − σ²)vvᵀ of x. By Sherman and Morrison its part
//! along v and the squared length of the rest are
//!
//! ```text
//! a = n̂/(n̂ + 1/q₁ − n̂σ²),    s² = a²(q₂/q₁² − 1).
//! ```
//!
//! Off v the inverse is that of n̂σ²I + δG⁻¹ restricted to v⊥, D⁻ = diag(d) − d̃d̃ᵀ/q₁ with d̃_i = d_i a_i, so that
//! T = tr (D⁻)² = Σ d_i² − 2q₃/q₁ + (q₂/q₁)². The scatter of β over training sets has the variance of the residual, E,
//! for its noise: σ²E‖β‖² = σ²s² + Eγ with γ = n̂²σ⁴T/n, and E = (1 − a)² + σ²E‖β‖² closes the circle. A test sample is
//! right where a + βᵀw̃ > 0:
//!
//! ```text
//! accuracy = Φ( a / √(σ²s² + ((1 − a)² + σ²s²) γ/(1 − γ)) ).
//! ```
//!
//! In the shares p_i = n̂σ²d_i ∈ [0, 1] nothing of this overflows, whatever δ and λ_i ([`shares`]).
//!
//! Noise in the small eigenvalues of a sampled G would be amplified by G⁻¹. There every place of v is taken by its
//! λ_v = vᵀGv, as if v were an eigenvector: q_k = 1/(n̂σ² + δ/λ_v)^k, and s² = 0 ([`Form::Quadratic`]).

mod error;
mod expansion;
mod ridge;
mod shares;

pub use error::PredictError;
pub use expansion::Expansion;
pub use ridge::{Measured, Ridge};

use serde::{Deserialize, Serialize};

use crate::{GeometryError, Spectrum};
use polariscope_linalg::product_transposed;
use shares::Shares;

/// D(v) but for v.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearProblem {
    /// n, training samples.
    pub train: usize,
    /// σ, the noise.
    pub sigma: f64,
}

/// Whether G may be inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The whole formula, for a geometry in closed form.
    Inverse,
    /// vᵀGv alone, for a sampled geometry.
    Quadratic,
}

/// Predicts accuracies from a geometry.
///
/// ```
/// use polariscope_geometry::{Form, Kron, LinearProblem, Predictor, Spectrum};
/// // The second coordinate is seen nine times less than the first.
/// let spectrum = Spectrum::of(&Kron::dense(vec![1.8, 0.0, 0.0, 0.2], 2))?;
/// let predictor = Predictor::new(&spectrum, Form::Inverse)?;
/// let directions = predictor.expand(&[1.0, 0.0, 0.0, 1.0])?;
/// let problem = LinearProblem { train: 20, sigma: 1.0 };
/// let accuracy = predictor.accuracies(problem, 100.0, &directions)?;
/// assert!(accuracy[0] > 0.99 && accuracy[1] < 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Predictor {
    /// λ of one block, tr G = D; what is 0 but for rounding is 0.
    values: Vec<f64>,
    /// As they came, for vᵀGv.
    signed: Vec<f64>,
    vectors: Vec<f64>,
    channels: usize,
    form: Form,
}

impl Predictor {
    /// Brings a geometry to tr G = D.
    pub fn new(spectrum: &Spectrum, form: Form) -> Result<Self, GeometryError> {
        let (dim, channels) = (spectrum.dim() as f64, spectrum.channels);
        let trace: f64 = spectrum.values.iter().sum();
        if trace.is_nan() || trace <= 0.0 {
            return Err(GeometryError::Vanishes);
        }
        let block = spectrum.values.iter().step_by(channels.max(1));
        let signed: Vec<f64> = block.map(|v| v * dim / trace).collect();
        let most = signed.iter().copied().fold(0.0, f64::max);
        let rounding = f64::EPSILON * dim * most;
        let positive = |&v: &f64| if v > rounding { v } else { 0.0 };
        Ok(Self {
            values: signed.iter().map(positive).collect(),
            signed,
            vectors: spectrum.vectors.clone(),
            channels,
            form,
        })
    }

    /// Numbers in a direction.
    pub fn dim(&self) -> usize {
        self.channels * self.values.len()
    }

    /// Which formula.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Directions, one a row, in the eigenvectors of G. They are brought to length 1.
    pub fn expand(&self, rows: &[f64]) -> Result<Expansion, PredictError> {
        let (dim, n) = (self.dim(), self.values.len());
        if !rows.len().is_multiple_of(dim) {
            return Err(PredictError::Size { wanted: dim });
        }
        let length = |(row, v): (usize, &[f64])| {
            // The largest number goes first: its square may overflow.
            let most = v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let sum: f64 = v.iter().map(|x| (x / most).powi(2)).sum();
            let usable = most > 0.0 && sum.is_finite();
            usable
                .then_some(most * sum.sqrt())
                .ok_or(PredictError::Direction { row })
        };
        let lengths = rows.chunks_exact(dim).enumerate().map(length);
        let lengths: Vec<f64> = lengths.collect::<Result<_, _>>()?;
        let scaled = rows.chunks_exact(dim).zip(&lengths);
        let unit: Vec<f64> = scaled
            .flat_map(|(v, l)| v.iter().map(move |x| x / l))
            .collect();
        let coordinates = product_transposed(&unit, &self.vectors, n, n);
        let mut squares = vec![0.0; lengths.len() * n];
        let blocks = coordinates.chunks_exact(self.channels * n);
        for (squares, blocks) in squares.chunks_exact_mut(n).zip(blocks) {
            for block in blocks.chunks_exact(n) {
                squares.iter_mut().zip(block).for_each(|(s, a)| *s += a * a);
            }
        }
        Ok(Expansion::new(squares, &self.signed))
    }

    /// Accuracy along every direction.
    pub fn accuracies(
        &self,
        problem: LinearProblem,
        delta: f64,
        directions: &Expansion,
    ) -> Result<Vec<f64>, PredictError> {
        problem.check()?;
        if !delta.is_finite() || delta < 0.0 {
            return Err(PredictError::Delta);
        }
        let shares = Shares::at(problem, delta, &self.values, self.channels);
        Ok((0..directions.len())
            .map(|row| self.accuracy(problem, &shares, directions, row))
            .collect())
    }

    fn accuracy(
        &self,
        problem: LinearProblem,
        shares: &Shares,
        directions: &Expansion,
        row: usize,
    ) -> f64 {
        let moments = match self.form {
            Form::Inverse => shares.moments(directions.squares(row)),
            Form::Quadratic => {
                let p = shares.share(directions.weights()[row].max(0.0));
                [p, p * p, p * p * p]
            }
        };
        shares.accuracy(problem, moments)
    }
}

impl LinearProblem {
    fn check(self) -> Result<(), PredictError> {
        let sound = self.train > 0 && self.sigma.is_finite() && self.sigma > 0.0;
        sound.then_some(()).ok_or(PredictError::Problem)
    }
}
