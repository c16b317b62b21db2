//! A convolution of the change alone: y = base + Σ w δ, where δ is what a patch adds to the base.
//!
//! With p changed positions of C channels this takes p·k²·C·O products, whatever the size of the outcome. For all
//! samples together they are one matrix product, (position) × C times C × (tap, O); its rows are then added to the
//! outputs that the taps lead to. Taps along a row are stored last to first: at stride 1 a row of taps then leads to
//! neighbouring outputs, and is one sum of k·O numbers.
//!
//! Affine ops that follow (bias, batch norm, scale) are in the base already and multiply δ by one number a channel.

use polariscope_diff::Number;
use polariscope_graph::ParamId;

use super::gather::Region;
use super::region::{Link, Run, Taps, push};
use crate::Weights;

/// A convolution, or a dense layer on the input itself, with the affine ops that follow it.
#[derive(Clone, Debug)]
pub struct Linear {
    /// W, o × (c, tap).
    pub weight: ParamId,
    /// Its sizes.
    pub sizes: Sizes,
    /// What the products are multiplied by.
    pub factors: Vec<Factor>,
}

/// The derivative of an op that acts on each channel alone.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// The same number for every channel.
    Constant(f64),
    /// γ/√(σ² + ε).
    Norm {
        /// γ.
        weight: ParamId,
        /// σ².
        variance: ParamId,
        /// ε.
        eps: f64,
    },
}

/// Sizes of the weights of a [`Linear`].
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Output channels.
    pub o: usize,
    /// Input channels.
    pub c: usize,
    /// Rows and columns of taps.
    pub kernel: [usize; 2],
}

impl Sizes {
    /// Numbers that one changed number of an input channel leads to.
    pub fn row(&self) -> usize {
        self.kernel[0] * self.kernel[1] * self.o
    }
}

impl Linear {
    /// The weights as c × row of taps × taps from last to first × o, times what the ops multiply by.
    pub fn pack<T: Number>(&self, weights: &Weights<T>, out: &mut Vec<T>) {
        let Sizes {
            o,
            c,
            kernel: [kh, kw],
        } = self.sizes;
        let w = &weights.values[self.weight.0];
        out.resize(w.len(), T::ZERO);
        for (channel, w) in w.chunks_exact(c * kh * kw).enumerate() {
            let factor = self.factor(weights, channel);
            for (rows, w) in w.chunks_exact(kw).enumerate() {
                let to = out[rows * kw * o + channel..].iter_mut().step_by(o);
                to.zip(w.iter().rev()).for_each(|(to, &w)| *to = w * factor);
            }
        }
    }

    /// d output / d (W x) for an output channel.
    fn factor<T: Number>(&self, weights: &Weights<T>, channel: usize) -> T {
        let value = |param: ParamId| weights.values[param.0][channel].to_f64();
        let factors = self.factors.iter().map(|factor| match *factor {
            Factor::Constant(c) => c,
            Factor::Norm {
                weight,
                variance,
                eps,
            } => value(weight) / (value(variance) + eps).sqrt(),
        });
        T::from_f64(factors.product())
    }
}

/// Where the products of a patch are added, for every pixel that may have moved.
#[derive(Clone, Debug)]
pub struct Scatter {
    rows: Vec<Vec<Link>>,
    /// By column coordinate and entry of the patch: taps (from) to outputs (to).
    cols: Vec<Vec<Vec<Run>>>,
    sizes: Sizes,
    width: usize,
}

impl Scatter {
    /// From the patches of one node to those of the next.
    pub fn new(from: &Region, to: &Region, taps: &[Taps; 2], sizes: Sizes) -> Self {
        let runs = |links: Vec<Link>| {
            let mut runs = vec![Vec::new(); from.cols.length];
            for link in links {
                let tap = sizes.kernel[1] - 1 - link.tap;
                push(&mut runs[link.entry], link.output, tap);
            }
            runs
        };
        Scatter {
            rows: from.rows.links(&to.rows, &taps[0]),
            cols: from
                .cols
                .links(&to.cols, &taps[1])
                .into_iter()
                .map(runs)
                .collect(),
            sizes,
            width: to.cols.length,
        }
    }

    /// y += δ · products, for the pixel (row, col); `products` holds a row for each position of the patch.
    pub fn add<T: Number>(&self, [row, col]: [usize; 2], products: &[T], delta: T, y: &mut [T]) {
        let (o, [_, kw]) = (self.sizes.o, self.sizes.kernel);
        let cols = &self.cols[col];
        for link in &self.rows[row] {
            let y = &mut y[link.output * self.width * o..][..self.width * o];
            let products = products[link.entry * cols.len() * self.sizes.row()..]
                .chunks_exact(self.sizes.row());
            for (runs, products) in cols.iter().zip(products) {
                let products = &products[link.tap * kw * o..][..kw * o];
                for run in runs {
                    let from = &products[run.from * o..][..run.length * o];
                    let to = &mut y[run.to * o..][..run.length * o];
                    to.iter_mut().zip(from).for_each(|(y, &p)| *y += delta * p);
                }
            }
        }
    }
}
