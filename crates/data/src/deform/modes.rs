//! The sines that fields are made of.

use std::f64::consts::PI;

use pulp::{Arch, NullaryFnOnce};
use serde::{Deserialize, Serialize};

/// Which modes (i, j), i, j ≥ 1, a cutoff c keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeRule {
    /// i² + j² ≤ c².
    #[default]
    Strict,
    /// √(i² + j²) < c + ½ with i, j ≤ c, as the published code has it.
    Code,
}

impl ModeRule {
    /// The largest i of a mode below a cutoff.
    pub(super) fn fastest(self, cutoff: usize) -> usize {
        match self {
            // i² + 1 ≤ c².
            ModeRule::Strict => cutoff.saturating_sub(1),
            ModeRule::Code => cutoff,
        }
    }

    /// The largest cutoff for n pixels a side: n − 1 half-waves of a sine are zero at every pixel.
    pub(super) fn most(self, n: usize) -> usize {
        match self {
            ModeRule::Strict => n.saturating_sub(1),
            ModeRule::Code => n.saturating_sub(2),
        }
    }

    fn keeps(self, cutoff: usize, i: usize, j: usize) -> bool {
        let square = i * i + j * j;
        match self {
            ModeRule::Strict => square <= cutoff * cutoff,
            // 2√(i² + j²) < 2c + 1, squared: exact in integers.
            ModeRule::Code => 4 * square < (2 * cutoff + 1).pow(2),
        }
    }

    /// The modes below a cutoff.
    pub(super) fn modes(self, cutoff: usize) -> Vec<(usize, usize)> {
        let most = self.fastest(cutoff);
        let all = (1..=most).flat_map(|i| (1..=most).map(move |j| (i, j)));
        all.filter(|&(i, j)| self.keeps(cutoff, i, j)).collect()
    }
}

/// The modes of an ensemble on its grid of pixels.
#[derive(Debug, PartialEq)]
pub(super) struct Modes {
    /// Pixels a side.
    pub n: usize,
    /// The largest i.
    pub fastest: usize,
    /// (i, j), i outermost.
    pub list: Vec<(usize, usize)>,
    /// sin(iπu), a row of n pixels for each i = 1, 2, ….
    pub sines: Vec<f32>,
    /// iπ cos(iπu), their derivatives.
    pub slopes: Vec<f32>,
}

impl Modes {
    pub fn new(n: usize, fastest: usize, list: Vec<(usize, usize)>) -> Modes {
        let spaces = n - 1;
        let table = |f: &dyn Fn(usize, usize) -> f64| {
            let rows = (1..=fastest).flat_map(|i| (0..n).map(move |k| (i, k)));
            rows.map(|(i, k)| f(i, k) as f32).collect()
        };
        // iπu = πik/(n − 1), brought below one turn in integers; exactly zero on the frame.
        let angle = |i: usize, k: usize| PI * (i * k % (2 * spaces)) as f64 / spaces as f64;
        let sine = |i: usize, k: usize| match (i * k).is_multiple_of(spaces) {
            true => 0.0,
            false => angle(i, k).sin(),
        };
        Modes {
            n,
            fastest,
            list,
            sines: table(&sine),
            slopes: table(&|i, k| PI * i as f64 * angle(i, k).cos()),
        }
    }

    /// out = Σ_ij a_ij left_i(u) right_j(v) at every pixel, row by row: first A_i(v) = Σ_j a_ij right_j(v), then
    /// Σ_i A_i(v) left_i(u). `half` is room for A.
    pub fn sum(&self, a: &[f32], [left, right]: [&[f32]; 2], half: &mut Vec<f32>, out: &mut [f32]) {
        let n = self.n;
        half.clear();
        half.resize(self.fastest * n, 0.0);
        out.fill(0.0);
        Arch::new().dispatch(Sum {
            modes: self,
            a,
            tables: [left, right],
            half,
            out,
        });
    }
}

/// The sum, compiled for the vectors at hand. Products and sums are rounded one after the other on all of them: the same
/// bits.
struct Sum<'a> {
    modes: &'a Modes,
    a: &'a [f32],
    tables: [&'a [f32]; 2],
    half: &'a mut [f32],
    out: &'a mut [f32],
}

impl NullaryFnOnce for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.modes.n;
        let [left, right] = self.tables;
        for (&(i, j), &a) in self.modes.list.iter().zip(self.a) {
            let half = &mut self.half[(i - 1) * n..i * n];
            add(a, &right[(j - 1) * n..j * n], half);
        }
        for (v, out) in self.out.chunks_exact_mut(n).enumerate() {
            for (left, half) in left.chunks_exact(n).zip(self.half.chunks_exact(n)) {
                add(half[v], left, out);
            }
        }
    }
}

/// out += a x.
#[inline(always)]
fn add(a: f32, x: &[f32], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out += a * x;
    }
}
