//! E[φ(u)φ(v)] of centred Gaussians with E u² = p, E v² = q, E uv = c, as an expression in (p, q, c).
//!
//! | φ | E[φφ] |
//! |---|---|
//! | αu + β\|u\| (relu, leaky relu, abs) | α² c + β² (2/π) √(pq) h(ρ), h(ρ) = √(1−ρ²) + ρ asin ρ, ρ = c/√(pq) |
//! | erf | (2/π) asin(2c/√((1+2p)(1+2q))) |
//! | sin | (e^{c−(p+q)/2} − e^{−c−(p+q)/2})/2 |
//! | gelu | c(¼ + A/2π) + (pq − c² + κc²)/(2π√Δ), Δ = (1+p)(1+q) − c², A = asin(c/√((1+p)(1+q))), κ = 1/(1+p) + 1/(1+q) |
//!
//! Since h' = asin and asin' = 1/√(1−ρ²), derivatives of the first row are singular only through ∂ρ ∂'ρ/√(1−ρ²). Where
//! v = ku, as for equal positions at x' = x, that is 0/0 with the limit 0, and E[φφ] acts as (α² + β² sign k) c: such
//! pairs take this linear map, and the formula is kept at ρ = 0 there.

use std::f64::consts::{FRAC_2_PI, TAU};

use polariscope_diff::{Function, Id, Trace};
use polariscope_graph::Activation;

/// 1 − ρ² below which two Gaussians are multiples of each other. Rounding leaves about 1e-15; what a pair at the
/// threshold loses is of the order of its root, 3e-7.
const COLLINEAR: f64 = 1e-13;

/// The pair of variances and the covariance, p and q ready to expand to the shape of c.
#[derive(Clone, Copy)]
pub(super) struct Moments {
    pub p: Id,
    pub q: Id,
    pub c: Id,
}

/// Which pairs of Gaussians are multiples of each other.
pub(super) struct Collinear {
    /// 0 for such pairs, 1 for others.
    pub keep: Vec<f64>,
    /// The sign of the factor for such pairs, 0 for others.
    pub sign: Vec<f64>,
}

impl Collinear {
    /// From values: c over rows of p and columns of q, or number by number. Nothing where a variance is 0.
    pub fn new(p: &[f64], q: &[f64], c: &[f64]) -> Option<Self> {
        if p.iter().chain(q).any(|&v| v <= 0.0) {
            return None;
        }
        let paired = c.len() == p.len() && p.len() == q.len();
        let factor = |i: usize| match paired {
            true => (p[i], q[i]),
            false => (p[i / q.len()], q[i % q.len()]),
        };
        let sign = c.iter().enumerate().map(|(i, &c)| {
            let (p, q) = factor(i);
            let rho = c / (p.sqrt() * q.sqrt());
            let apart = (1.0 - rho) * (1.0 + rho);
            if apart > COLLINEAR { 0.0 } else { rho.signum() }
        });
        let sign: Vec<f64> = sign.collect();
        let keep = sign.iter().map(|s| 1.0 - s.abs()).collect();
        Some(Self { keep, sign })
    }
}

/// φ = αu + β|u|: (α, β) of the activations with a kink.
pub(super) fn kinked(activation: Activation) -> Option<(f64, f64)> {
    match activation {
        Activation::Relu => Some((0.5, 0.5)),
        Activation::LeakyRelu { slope } => Some((0.5 * (1.0 + slope), 0.5 * (1.0 - slope))),
        Activation::Abs => Some((0.0, 1.0)),
        Activation::Identity
        | Activation::Gelu
        | Activation::Tanh
        | Activation::Erf
        | Activation::Sin
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::HardSigmoid
        | Activation::HardSwish
        | Activation::Softplus { .. } => None,
    }
}

/// E[φφ] of αu + β|u|; `keep` and `sign` as in [`Collinear`].
pub(super) fn of_kinked(
    t: &mut Trace,
    (alpha, beta): (f64, f64),
    m: Moments,
    keep: Id,
    sign: Id,
) -> Id {
    let (odd, even) = (alpha * alpha, beta * beta);
    let product = half_powers(t, m.p, m.q, m.c, 0.5);
    let inverse = half_powers(t, m.p, m.q, m.c, -0.5);
    let rho = t.mul(m.c, inverse);
    let rho = t.mul(rho, keep);
    let h = t.map(Function::AsinIntegral, rho);
    let h = t.mul(h, product);
    let h = t.mul(h, keep);
    let apart = t.scale(h, even * FRAC_2_PI);
    let slope = t.scale(sign, even);
    let slope = t.shift(slope, odd);
    let linear = t.mul(slope, m.c);
    t.add(linear, apart)
}

/// E[φφ] of a smooth activation; nothing where there is no expression.
pub(super) fn of_smooth(t: &mut Trace, activation: Activation, m: Moments) -> Option<Id> {
    let Moments { p, q, c } = m;
    let shape = t.shape(c).to_vec();
    Some(match activation {
        Activation::Identity => c,
        Activation::Erf => {
            let [p, q] = [p, q].map(|v| {
                let v = t.scale(v, 2.0);
                t.shift(v, 1.0)
            });
            let inverse = half_powers(t, p, q, c, -0.5);
            let rho = t.mul(c, inverse);
            let rho = t.scale(rho, 2.0);
            let angle = t.map(Function::Asin, rho);
            t.scale(angle, FRAC_2_PI)
        }
        Activation::Sin => {
            let [p, q] = [p, q].map(|v| {
                let v = t.scale(v, -0.5);
                t.expand(v, &shape)
            });
            let envelope = t.add(p, q);
            let [rising, falling] = [1.0, -1.0].map(|sign| {
                let c = t.scale(c, sign);
                let exponent = t.add(envelope, c);
                t.map(Function::Exp, exponent)
            });
            let twice = t.sub(rising, falling);
            t.scale(twice, 0.5)
        }
        Activation::Gelu => {
            let [s, u] = [p, q].map(|v| t.shift(v, 1.0));
            let inverse = half_powers(t, s, u, c, -0.5);
            let rho = t.mul(c, inverse);
            let angle = t.map(Function::Asin, rho);
            let quadrant = t.scale(angle, 1.0 / TAU);
            let quadrant = t.shift(quadrant, 0.25);
            let first = t.mul(c, quadrant);
            let square = t.mul(c, c);
            let [kappa_p, kappa_q] = [s, u].map(|v| {
                let v = t.map(Function::Pow((-1.0).into()), v);
                t.expand(v, &shape)
            });
            let kappa = t.add(kappa_p, kappa_q);
            let shared = t.mul(kappa, square);
            let [p, q, s, u] = [p, q, s, u].map(|v| t.expand(v, &shape));
            let product = t.mul(p, q);
            let determinant = t.sub(product, square);
            let with_noise = t.mul(s, u);
            let delta = t.sub(with_noise, square);
            let root = t.map(Function::Pow((-0.5).into()), delta);
            let second = t.add(determinant, shared);
            let second = t.mul(second, root);
            let second = t.scale(second, 1.0 / TAU);
            t.add(first, second)
        }
        Activation::Relu
        | Activation::LeakyRelu { .. }
        | Activation::Abs
        | Activation::Tanh
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::HardSigmoid
        | Activation::HardSwish
        | Activation::Softplus { .. } => return None,
    })
}

/// (pq)^power in the shape of c, the powers taken before p and q are repeated.
fn half_powers(t: &mut Trace, p: Id, q: Id, c: Id, power: f64) -> Id {
    let shape = t.shape(c).to_vec();
    let [p, q] = [p, q].map(|v| {
        let v = t.map(Function::Pow(power.into()), v);
        t.expand(v, &shape)
    });
    t.mul(p, q)
}
