//! A max pool of Gaussian numbers, at one input and between two.
//!
//! In a window of K numbers u_i = w + e_i, w common to all, moves no winner. With a = mean_ij Cov(u_i, u'_j) and
//! d = mean_i Cov(u_i, u'_i) over a window of x and one of x' (or of the same input), and d₀ − a₀ that of a window with
//! itself, e has the variance V = (d₀ − a₀) K/(K−1) and the correlation c = (d − a)/√((d₀ − a₀)(d₀' − a₀')). Taking
//! the e_i as alike and independent ([`Largest`])
//!
//! E max = mean u + μ_K √V,  Cov(max, max') = a + (d − a) R(c),  E[m_i m'_j] = (1 − ρ(c))/K² + ρ(c) δ_ij/K.
//!
//! Windows at a padded border hold fewer numbers, K_o.

use std::sync::Arc;

use super::meet::beside;
use crate::blocks::{Block, Blocks, Mean};
use crate::dual::largest::Largest;
use crate::matrix::{Form, Matrix};
use crate::window::{Axis, Pairing, slide, slide_sums};

/// What one input alone says of the windows of some channels.
pub(super) struct Pooled {
    channels: usize,
    /// d₀ − a₀ of every window.
    spread: Vec<f64>,
    /// E max of every window.
    mean: Mean,
}

/// The windows of one input.
pub(super) fn pooled(q: &Blocks, axes: &[Axis; 2]) -> Vec<Pooled> {
    let part = |block: &Block| {
        let windows = Windows::new(block, axes);
        let sums = windows.sums(block, axes);
        let spread = windows
            .positions()
            .map(|o| sums.spread(o))
            .collect::<Vec<_>>();
        let mean = windows.positions().map(|o| {
            let k = windows.counts[o];
            let variance = spread[o] * k / (k - 1.0).max(1.0);
            windows.means[0][o] + windows.largest(o).mean * variance.max(0.0).sqrt()
        });
        Pooled {
            channels: block.channels,
            mean: mean.collect(),
            spread,
        }
    };
    q.iter().map(part).collect()
}

/// The moments of the largest numbers between two inputs, or of one with itself, means included; and what every pair of
/// taps, and a tap and itself, get of a gradient.
pub(super) fn pool_pair(
    q: &Blocks,
    axes: &[Axis; 2],
    own: [&[Pooled]; 2],
) -> (Blocks, Blocks, Blocks) {
    let mut made = [(); 3].map(|()| Blocks::default());
    for (channels, block, [x, y]) in beside(q, own, |part| part.channels) {
        let windows = Windows::new(block, axes);
        let sums = windows.sums(block, axes);
        let (matrix, mut rho) = sums.largest(&windows, [x, y]);
        let mut apart = rho.clone();
        let k = &windows.counts;
        apart.fill(|o, p, rho| (1.0 - rho) / (k[o] * k[p]));
        rho.fill(|o, p, rho| rho / (k[o] * k[p]).sqrt());
        let mean = match block.matrix.form {
            Form::Symmetric => Arc::clone(&x.mean),
            Form::General => [&x.mean[..], &y.mean[..]].concat().into(),
        };
        let largest = Block {
            mean: Some(mean),
            ..Block::new(channels, 1.0, matrix)
        };
        let fields = [apart, rho].map(|field| Block::new(channels, 1.0, field));
        let [apart, same] = fields;
        for (all, block) in made.iter_mut().zip([largest, apart, same]) {
            all.push(block);
        }
    }
    let [largest, apart, same] = made;
    (largest, apart, same)
}

/// The windows of a pool.
struct Windows {
    /// K_o.
    counts: Vec<f64>,
    /// Moments of the largest of each number of numbers that occurs.
    kinds: Vec<(f64, Arc<Largest>)>,
    /// Mean of every window, of both inputs in the general form.
    means: Vec<Vec<f64>>,
}

impl Windows {
    fn new(block: &Block, axes: &[Axis; 2]) -> Self {
        let (positions, [_, width]) = (block.matrix.positions(), block.matrix.grid());
        let counts = slide_sums(&vec![1.0; positions], width, axes);
        let mut kinds: Vec<(f64, Arc<Largest>)> = Vec::new();
        for &k in &counts {
            if kinds.iter().all(|(known, _)| *known != k) {
                kinds.push((k, Largest::of(k as usize)));
            }
        }
        let average = |mean: &[f64]| {
            let sums = slide_sums(mean, width, axes);
            sums.iter().zip(&counts).map(|(sum, k)| sum / k).collect()
        };
        let means = match &block.mean {
            Some(mean) => mean.chunks(positions).map(average).collect(),
            None => vec![vec![0.0; counts.len()]; 2],
        };
        Windows {
            counts,
            kinds,
            means,
        }
    }

    fn positions(&self) -> std::ops::Range<usize> {
        0..self.counts.len()
    }

    fn largest(&self, window: usize) -> &Largest {
        let k = self.counts[window];
        let kind = self.kinds.iter().find(|(known, _)| *known == k);
        &kind.unwrap_or(&self.kinds[0]).1
    }

    /// The mean of a window of the second input.
    fn second(&self, window: usize) -> f64 {
        self.means.last().map_or(0.0, |means| means[window])
    }

    fn sums(&self, block: &Block, axes: &[Axis; 2]) -> Sums {
        let k = &self.counts;
        let mut a = slide(&block.matrix, axes, Pairing::All);
        let mut d = slide(&block.matrix, axes, Pairing::Shared);
        let scale = block.scale;
        // Means hardly differ inside a window.
        let means = |o: usize, p: usize| self.means[0][o] * self.second(p);
        a.fill(|o, p, sum| scale * sum / (k[o] * k[p]) - means(o, p));
        d.fill(|o, p, sum| scale * sum / (k[o] * k[p]).sqrt() - means(o, p));
        Sums { a, d }
    }
}

/// a and d of every pair of windows.
struct Sums {
    a: Matrix,
    d: Matrix,
}

impl Sums {
    /// d − a of a window with itself.
    fn spread(&self, window: usize) -> f64 {
        (self.d.get(window, window) - self.a.get(window, window)).max(0.0)
    }

    /// Second moments of the largest numbers, and ρ.
    fn largest(self, windows: &Windows, [x, y]: [&Pooled; 2]) -> (Matrix, Matrix) {
        let Sums { mut a, mut d } = self;
        d.mix(1.0, -1.0, &a);
        let correlation = |o: usize, p: usize, apart: f64| {
            let scale = (x.spread[o] * y.spread[p]).sqrt();
            match scale > 0.0 {
                true => (apart / scale).clamp(-1.0, 1.0),
                false => 0.0,
            }
        };
        a.fill(|o, p, a| {
            let apart = d.get(o, p);
            let (_, mean) = windows.largest(o).at(correlation(o, p, apart));
            a + apart * mean + x.mean[o] * y.mean[p]
        });
        d.fill(|o, p, apart| windows.largest(o).at(correlation(o, p, apart)).0);
        (a, d)
    }
}
