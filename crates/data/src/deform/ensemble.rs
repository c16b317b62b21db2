//! The distribution of the fields: temperature, displacement and the range in which they deform without folding.

use std::f64::consts::PI;
use std::sync::Arc;

use polariscope_graph::Shape;
use polariscope_random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::error::DeformError;
use super::field::Field;
use super::modes::{ModeRule, Modes};
use super::sample::{Interpolation, Sampler};

/// How a displacement δ belongs to a temperature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// Root of the mean square displacement over fields and the square: δ² = (T n²/2) Σ 1/(i² + j²).
    #[default]
    Exact,
    /// Its limit for many modes (eq. 3), δ² = (π/4) n² T ln c, as the published code has it.
    Nominal,
}

/// The deformations of n × n pixels below a cutoff.
#[derive(Clone, Debug, PartialEq)]
pub struct Deformations {
    cutoff: usize,
    rule: ModeRule,
    modes: Arc<Modes>,
    /// √(1/(i² + j²)), mode by mode.
    weights: Vec<f32>,
    mode_sum: f64,
}

impl Deformations {
    /// Checks that there is a mode and that the pixels resolve all of them.
    pub fn new(n: usize, cutoff: usize, rule: ModeRule) -> Result<Deformations, DeformError> {
        let most = rule.most(n);
        if cutoff > most {
            return Err(DeformError::TooSmall { n, cutoff, most });
        }
        let list = rule.modes(cutoff);
        if list.is_empty() {
            let least = match rule {
                ModeRule::Strict => 2,
                ModeRule::Code => 1,
            };
            return Err(DeformError::NoMode { cutoff, least });
        }
        let inverse = |&(i, j): &(usize, usize)| 1.0 / (i * i + j * j) as f64;
        Ok(Deformations {
            cutoff,
            rule,
            weights: list.iter().map(|m| inverse(m).sqrt() as f32).collect(),
            mode_sum: list.iter().map(inverse).sum(),
            modes: Arc::new(Modes::new(n, rule.fastest(cutoff), list)),
        })
    }

    /// The deformations of samples of a shape, which must be square images.
    pub fn of(shape: Shape, cutoff: usize, rule: ModeRule) -> Result<Deformations, DeformError> {
        match shape {
            Shape::Image { height, width, .. } if height == width => {
                Deformations::new(height, cutoff, rule)
            }
            shape => Err(DeformError::NotSquare { shape }),
        }
    }

    /// Pixels a side.
    pub fn n(&self) -> usize {
        self.modes.n
    }

    /// Number of modes.
    pub fn modes(&self) -> usize {
        self.modes.list.len()
    }

    /// The modes (i, j), in the order of a field's coefficients.
    pub fn mode_list(&self) -> &[(usize, usize)] {
        &self.modes.list
    }

    /// S = Σ 1/(i² + j²).
    pub fn mode_sum(&self) -> f64 {
        self.mode_sum
    }

    /// Exact displacement in pixels at a temperature: δ² = (T n²/2) S.
    pub fn displacement(&self, t: f64) -> f64 {
        self.n() as f64 * (t / 2.0 * self.mode_sum).sqrt()
    }

    /// Nominal displacement in pixels at a temperature (eq. 3): δ² = (π/4) n² T ln c.
    pub fn nominal_displacement(&self, t: f64) -> f64 {
        self.n() as f64 * (PI / 4.0 * t * (self.cutoff as f64).ln()).sqrt()
    }

    /// The temperature of a displacement in pixels.
    pub fn temperature(
        &self,
        displacement: f64,
        convention: Convention,
    ) -> Result<f64, DeformError> {
        if !(displacement.is_finite() && displacement >= 0.0) {
            return Err(DeformError::Displacement {
                value: displacement,
            });
        }
        if convention == Convention::Nominal && self.cutoff == 1 {
            return Err(DeformError::NoLogarithm);
        }
        let unit = match convention {
            Convention::Exact => self.displacement(1.0),
            Convention::Nominal => self.nominal_displacement(1.0),
        };
        Ok((displacement / unit).powi(2))
    }

    /// Between which temperatures pixels move by half a pixel or more by the formula for many modes, T > 1/(π n² ln c)
    /// (eq. 8), and fields do not fold the image, T < 4/(π³ c² ln c) (eq. 14).
    pub fn range(&self) -> (f64, f64) {
        let (n, c) = (self.n() as f64, self.cutoff as f64);
        let least = 1.0 / (PI * n * n * c.ln());
        let most = 4.0 / (PI.powi(3) * c * c * c.ln());
        (least, most)
    }

    /// Refuses a temperature outside of [`Deformations::range`], with a displacement of the same kind that is within.
    pub fn check(&self, t: f64, convention: Convention) -> Result<(), DeformError> {
        let shown = |t: f64| match convention {
            Convention::Exact => self.displacement(t),
            Convention::Nominal => self.nominal_displacement(t),
        };
        let (n, cutoff) = (self.n(), self.cutoff);
        if !(t.is_finite() && t >= 0.0) {
            return Err(DeformError::Temperature { value: t });
        }
        if cutoff == 1 {
            return Err(DeformError::NoLogarithm);
        }
        let (least, most) = self.range();
        if least >= most {
            // 1/(π n²) < 4/(π³ c²).
            let most = (2.0 * n as f64 / PI) as usize;
            return Err(DeformError::NoRange { n, cutoff, most });
        }
        if t < least {
            return Err(DeformError::TooCold {
                t,
                limit: least,
                cutoff,
                least: (100.0 * shown(least)).ceil() / 100.0,
            });
        }
        if t > most {
            return Err(DeformError::TooHot {
                t,
                limit: most,
                cutoff,
                most: (100.0 * shown(most)).floor() / 100.0,
                smaller: self.smaller(shown(t), convention),
            });
        }
        Ok(())
    }

    /// The largest smaller cutoff with a displacement in range.
    fn smaller(&self, displacement: f64, convention: Convention) -> Option<usize> {
        let fits = |&cutoff: &usize| {
            let slower = Deformations::new(self.n(), cutoff, self.rule);
            slower.is_ok_and(|d| {
                let t = d.temperature(displacement, convention);
                t.is_ok_and(|t| (d.range().0..=d.range().1).contains(&t))
            })
        };
        (2..self.cutoff).rev().find(fits)
    }

    /// A field: C of all modes, then D, are the first normal numbers of the stream times √(T/(i² + j²)).
    pub fn draw(&self, t: f64, stream: &Stream) -> Field {
        let mut coefficients = Vec::new();
        self.draw_into(t, stream, &mut coefficients);
        self.field(&coefficients)
    }

    /// The field of given coefficients: C of all modes in the order of [`Deformations::mode_list`], then D. Missing
    /// ones are zero.
    pub fn field(&self, coefficients: &[f32]) -> Field {
        let mut coefficients = coefficients.to_vec();
        coefficients.resize(2 * self.modes(), 0.0);
        Field::new(self.modes.clone(), coefficients)
    }

    fn draw_into(&self, t: f64, stream: &Stream, coefficients: &mut Vec<f32>) {
        coefficients.resize(2 * self.modes(), 0.0);
        stream.normal(t.sqrt() as f32, coefficients);
        for part in coefficients.chunks_exact_mut(self.modes()) {
            part.iter_mut()
                .zip(&self.weights)
                .for_each(|(x, w)| *x *= w);
        }
    }

    /// Deforms images of `channels` each, every one by a field of its own: image k by that of `stream(k)`.
    pub fn apply_all(
        &self,
        t: f64,
        stream: impl Fn(usize) -> Stream + Sync,
        interpolation: Interpolation,
        channels: usize,
        images: &[f32],
        out: &mut [f32],
    ) {
        let plane = self.n() * self.n();
        let size = (channels * plane).max(1);
        let room = || Room {
            coefficients: Vec::new(),
            half: Vec::new(),
            u: vec![0.0; plane],
            v: vec![0.0; plane],
            sampler: Sampler::new(self.n()),
        };
        let pairs = images
            .par_chunks_exact(size)
            .zip(out.par_chunks_exact_mut(size));
        pairs
            .enumerate()
            .for_each_init(room, |room, (k, (image, out))| {
                self.draw_into(t, &stream(k), &mut room.coefficients);
                let [c, d] = split(&room.coefficients);
                self.modes.displace(c, &mut room.half, &mut room.u);
                self.modes.displace(d, &mut room.half, &mut room.v);
                room.sampler
                    .sample([&room.u, &room.v], interpolation, image, out);
            });
    }
}

/// What a thread needs for one image after the other.
struct Room {
    coefficients: Vec<f32>,
    half: Vec<f32>,
    u: Vec<f32>,
    v: Vec<f32>,
    sampler: Sampler,
}

/// Coefficients C and D.
pub(super) fn split(coefficients: &[f32]) -> [&[f32]; 2] {
    let (c, d) = coefficients.split_at(coefficients.len() / 2);
    [c, d]
}
