//! Functions on [−X, X] that are smooth inside and may have half-integer powers and logarithms at the ends.
//!
//! With x = X cos α, α ∈ [0, π], √(1 − x/X) = √2 sin(α/2) is smooth; what is left (α^n log α, and √(α² +
//! θ²) where two angles meet) is resolved by panels that halve towards both ends. Sixteen nodes on a panel
//! [a, 2a] leave 5.8⁻¹⁶ = 6·10⁻¹³ of a singular part, and the innermost panel holds 10⁻⁹ and less of an
//! integral.

use std::f64::consts::PI;

/// Nodes of a panel.
const NODES: usize = 16;
/// The innermost panel ends at π 2⁻¹⁶.
const LEVELS: i32 = 16;
/// Panels are at most π/8 wide.
const WIDEST: i32 = 3;
/// Weights below this part of the largest do not count.
const NEGLIGIBLE: f64 = 1e-22;

/// Ends of the panels.
fn breaks() -> Vec<f64> {
    let mut ends = vec![0.0];
    ends.extend((WIDEST..=LEVELS).rev().map(|l| PI * 0.5f64.powi(l)));
    let middle = 1 << WIDEST;
    ends.extend((2..middle - 1).map(|i| PI * f64::from(i) / f64::from(middle)));
    ends.extend((WIDEST..=LEVELS).map(|l| PI - PI * 0.5f64.powi(l)));
    ends.push(PI);
    ends
}

/// sin² and cos² of half an angle: 1 − cos and 1 + cos without cancellation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    pub sin2: f64,
    pub cos2: f64,
}

impl Half {
    pub(super) fn of(angle: f64) -> Self {
        let (sin, cos) = (0.5 * angle).sin_cos();
        Self {
            sin2: sin * sin,
            cos2: cos * cos,
        }
    }

    pub(super) fn angle(self) -> f64 {
        2.0 * self.sin2.sqrt().atan2(self.cos2.sqrt())
    }

    pub(super) fn cosine(self) -> f64 {
        self.cos2 - self.sin2
    }
}

/// The law of t = cos θ on a sphere of dimension d0 as nodes and weights: sin^{d0−2}θ dθ, ±1 for d0 = 1.
pub(super) fn law(d0: usize) -> Vec<(Half, f64)> {
    if d0 == 1 {
        return vec![(Half::of(0.0), 0.5), (Half::of(PI), 0.5)];
    }
    // In many dimensions the law is a bell of width 1/√d0 around π/2: the panels must resolve it.
    let (width, middle) = (1.5 / (d0 as f64).sqrt(), 0.5 * PI);
    let power = (d0 - 2) as f64;
    let (x, w) = gauss_legendre(NODES);
    let mut nodes = Vec::new();
    for pair in breaks().windows(2) {
        let near = (pair[0] - middle).abs().min((pair[1] - middle).abs()) < 14.0 * width;
        let parts = if near {
            ((pair[1] - pair[0]) / width).ceil().max(1.0)
        } else {
            1.0
        };
        let half = 0.5 * (pair[1] - pair[0]) / parts;
        for part in 0..parts as usize {
            let centre = pair[0] + (2 * part + 1) as f64 * half;
            for (x, w) in x.iter().zip(&w) {
                let angle = centre + half * x;
                let weight = half * w * (power * angle.sin().ln()).exp();
                nodes.push((Half::of(angle), weight));
            }
        }
    }
    let most = nodes.iter().fold(0.0, |m: f64, n| m.max(n.1));
    nodes.retain(|n| n.1 > NEGLIGIBLE * most);
    let total: f64 = nodes.iter().map(|n| n.1).sum();
    nodes.iter_mut().for_each(|n| n.1 /= total);
    nodes
}

/// Where a function of the angle is sampled to be interpolated.
pub(super) struct Grid {
    breaks: Vec<f64>,
    /// Chebyshev coefficients from values on a panel, row-major.
    transform: Vec<f64>,
    pub(super) nodes: Vec<Half>,
}

impl Grid {
    pub(super) fn new() -> Self {
        let breaks = breaks();
        let n = NODES as f64;
        let at = |i: usize| (i as f64 + 0.5) * PI / n;
        let mut transform = Vec::with_capacity(NODES * NODES);
        for degree in 0..NODES {
            let scale = if degree == 0 { 1.0 } else { 2.0 } / n;
            transform.extend((0..NODES).map(|i| scale * (degree as f64 * at(i)).cos()));
        }
        let panel = |pair: &[f64]| {
            let (centre, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
            (0..NODES).map(move |i| Half::of(centre + half * at(i).cos()))
        };
        let nodes = breaks.windows(2).flat_map(panel).collect();
        Self {
            breaks,
            transform,
            nodes,
        }
    }

    /// Coefficients of the function with these values at the nodes.
    pub(super) fn interpolate(&self, values: &[f64]) -> Vec<f64> {
        let row = |v: &[f64], row: &[f64]| v.iter().zip(row).map(|(v, t)| v * t).sum::<f64>();
        let panels = values.chunks_exact(NODES);
        panels
            .flat_map(|v| {
                self.transform
                    .chunks_exact(NODES)
                    .map(move |r| row(v, r))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The function at an angle, by Clenshaw.
    pub(super) fn at(&self, coefficients: &[f64], angle: f64) -> f64 {
        let inner = &self.breaks[1..self.breaks.len() - 1];
        let panel = inner.partition_point(|&b| b <= angle);
        let (a, b) = (self.breaks[panel], self.breaks[panel + 1]);
        let x = (2.0 * angle - a - b) / (b - a);
        let own = &coefficients[panel * NODES..][..NODES];
        let (mut b1, mut b2) = (0.0, 0.0);
        for c in own[1..].iter().rev() {
            (b1, b2) = (2.0 * x * b1 - b2 + c, b1);
        }
        x * b1 - b2 + own[0]
    }
}

/// Nodes and weights of Gauss and Legendre on [−1, 1], by Newton's method.
fn gauss_legendre(n: usize) -> (Vec<f64>, Vec<f64>) {
    let node = |i: usize| {
        let mut x = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..50 {
            let (mut p, mut before) = (x, 1.0);
            for k in 2..=n {
                let k = k as f64;
                (p, before) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k, p);
            }
            slope = n as f64 * (before - x * p) / (1.0 - x * x);
            let step = p / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(node).unzip()
}
