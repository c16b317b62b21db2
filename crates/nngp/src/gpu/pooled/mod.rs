//! Stacks of 3×3 convolutions and kinks under a global pool: the map of a displacement stays in the registers of a warp.
//!
//! Lane x holds column x of D(α, α+δ) and of Θ. A layer is a sum over three rows in the lane, a sum over three columns by
//! shuffles, and the kink, for which every sample has s = √p and 1/2s at every position of every layer (`sides.rs`).
//! With w = sin²(θ/2) = (D − (s−s')²)/4ss', a = θ/2 = arcsin √w, h = cos θ = 1 − 2w and f = √(w(1−w)) − ah,
//!
//! D_out/g = D − (8/π)(β²/g) ss' f,  E[φ'φ']/g = 1 − (4/π)(β²/g) a,  g = α² + β²,
//!
//! so D = 0 stays 0 and nearly equal samples lose nothing. D and Θ are linear in what they are made of: factors v and g of
//! the layers are left to one scale σ of each layer, which the sides are divided by.
//!
//! A convolution that pads with zeros never mixes δ and δ − n either, and their positions do not overlap: both lie in one
//! map, with walls between them. Beyond a wall one sample has nothing, so D is the other's variance and Θ is 0.

mod sides;
mod text;

use polariscope_graph::{Padding, Window};

use crate::plan::{Axis, End, Form, Link, Read, Shared, Stage, StagePlan, Step, StepSource, View};
use crate::simd::Kink;

pub(super) use sides::sides;
pub(super) use text::map;

/// SimdNumber of a warp, and rows that fit into the registers of one.
const SIDE: usize = 32;
/// Narrower maps leave most lanes idle.
const LEAST: usize = 16;
/// Scales are kept within 2^±this.
const RANGE: f64 = 20.0;

/// What happens at the borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Borders {
    /// Positions are modulo the grid.
    Circular,
    /// Zeros beyond them.
    Walls,
}

/// A stage of this kind.
#[derive(Clone, Debug)]
pub(super) struct PooledStack {
    pub grid: [usize; 2],
    pub channels: usize,
    pub borders: Borders,
    pub kink: Kink,
    pub input: Entry,
    pub layers: Vec<Layer>,
}

/// Variances of one layer: (p · gain + shift) of a side, in units of σ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub view: View,
    pub scale: f64,
}

/// A convolution and its kink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub entry: Entry,
    /// What D and Θ are multiplied by before, a power of 2.
    pub factor: f64,
    /// Θ + own · c
    pub own: f64,
    /// Θ + add
    pub add: f64,
}

impl PooledStack {
    /// The stage as such a stack, if it is one.
    pub fn of(plan: &StagePlan, stage: &Stage) -> Option<Self> {
        let [first, convs @ ..] = stage.steps.as_slice() else {
            return None;
        };
        let plain = matches!(
            (&first.source, &stage.end),
            (StepSource::Input, End::GlobalPool)
        ) && first.chain.is_empty()
            && first.form_out == Form::Gap
            && stage.last == [convs.len()]
            && stage
                .steps
                .iter()
                .all(|s| s.grid == stage.grid && s.times == [1, 1])
            && stage.grid[0] <= SIDE
            && (LEAST..=SIDE).contains(&stage.grid[1]);
        if !plain {
            return None;
        }
        let last = convs.last()?;
        let borders = match last.axes {
            [Axis::Wrapped, Axis::Wrapped] => Borders::Circular,
            [Axis::Signed, Axis::Signed] => Borders::Walls,
            _ => return None,
        };
        let input = Entry {
            view: first.variance,
            scale: 1.0,
        };
        let (mut layers, mut common) = (Vec::new(), None);
        let mut scale = 1.0;
        for (i, step) in convs.iter().enumerate() {
            let is_last = i + 1 == convs.len();
            if (step.form_out == Form::Covariance) != is_last {
                return None;
            }
            let (layer, kink) = layer(step, i, borders, scale)?;
            if *common.get_or_insert(kink) != kink {
                return None;
            }
            scale = layer.entry.scale * kink.gain();
            layers.push(layer);
        }
        Some(PooledStack {
            grid: stage.grid,
            channels: plan.input[0],
            borders,
            kink: common?,
            input,
            layers,
        })
    }

    /// Maps of a pair: one a displacement modulo the grid.
    pub fn displacements(&self) -> usize {
        self.grid[0] * self.grid[1]
    }

    /// Numbers of the sides of a sample: s and 1/2s, and sums of s² over three rows where there are walls.
    pub fn numbers(&self) -> [usize; 2] {
        // Every row twice, so that rows modulo the grid lie one after another.
        let rows = 2 * self.grid[0] * self.grid[1];
        let sums = match self.borders {
            Borders::Circular => 0,
            Borders::Walls => self.layers.len() * rows,
        };
        [2 * (self.layers.len() + 1) * rows, sums]
    }

    /// Input, then layers.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        std::iter::once(self.input).chain(self.layers.iter().map(|l| l.entry))
    }
}

/// Step i + 1 as a layer over what has this scale.
fn layer(step: &Step, i: usize, borders: Borders, scale: f64) -> Option<(Layer, Kink)> {
    let StepSource::Conv {
        reads,
        weights,
        window,
        shared: Shared::Yes,
    } = &step.source
    else {
        return None;
    };
    let &[Read { from, channels }] = reads.as_slice() else {
        return None;
    };
    let Window {
        kernel: [3, 3],
        stride: [1, 1],
        dilation: [1, 1],
        padding,
    } = *window
    else {
        return None;
    };
    let fits = match borders {
        Borders::Circular => padding == Padding::Circular,
        Borders::Walls => matches!(padding, Padding::Same | Padding::Zeros(1)),
    };
    let [biases @ .., Link::Kink { kink, p }] = step.chain.as_slice() else {
        return None;
    };
    if from != i || !fits || step.form_in != Form::Gap {
        return None;
    }
    let wanted = scale * weights.variance * channels;
    if !wanted.is_normal() {
        return None;
    }
    let factor = match wanted.log2().abs() > RANGE {
        true => wanted.log2().round().exp2(),
        false => 1.0,
    };
    let scale = wanted / factor;
    let mut add = 0.0;
    for link in biases {
        let Link::Bias { variance, ntk } = link else {
            return None;
        };
        // The weights' own part of Θ has the covariance without the biases.
        add += (ntk - weights.own * variance) / scale;
    }
    let layer = Layer {
        entry: Entry { view: *p, scale },
        factor,
        own: weights.own,
        add,
    };
    Some((layer, *kink))
}
