//! A step of a stage: what it reads, then a chain of pointwise operations.

use polariscope_graph::{Activation, Window};

use super::Axis;
use crate::simd::Kink;

/// What a field holds of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// D = p + q − 2c.
    Gap,
    /// c.
    Covariance,
}

/// A part at one stride.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What it reads.
    pub source: StepSource,
    /// What is done to it at each pair of positions.
    pub chain: Vec<Link>,
    /// Positions.
    pub grid: [usize; 2],
    /// Its displacement is this many times that of the stage.
    pub times: [usize; 2],
    /// What happens to displacements at the borders, by axis.
    pub axes: [Axis; 2],
    /// What the source gives.
    pub form_in: Form,
    /// What the chain leaves.
    pub form_out: Form,
    /// Variance of the source, where the form is a gap.
    pub variance: View,
    /// Variance after the chain.
    pub variance_out: View,
    /// Where the field lies.
    pub buffer: usize,
    /// Whether it is wanted at δ ≠ 0.
    pub off_diagonal: bool,
}

impl Step {
    /// 1/Var w of weights whose own part of Θ is left to the kink behind them, which reads the same numbers; or 0.
    pub fn left_to_kink(&self) -> f64 {
        match (&self.source, self.chain.first(), self.form_in) {
            (
                StepSource::Conv { weights, .. }
                | StepSource::Gram { weights, .. }
                | StepSource::Total { weights, .. },
                Some(Link::Kink { .. }),
                Form::Gap,
            ) => weights.own,
            _ => 0.0,
        }
    }
}

/// p = gain · side + shift.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    pub side: usize,
    pub gain: f64,
    pub shift: f64,
}

/// An earlier step, and how many channels of it are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub from: usize,
    pub channels: f64,
}

/// Weights: v = Var(scale · w), and Σ∂f∂f' of the weights themselves as a multiple of c_out: 1/Var w.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    pub variance: f64,
    pub own: f64,
}

/// A linear layer; the bias adds to K and to Θ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub weights: Weights,
    pub bias: [f64; 2],
}

/// What a step (or a part) reads.
#[derive(Clone, Debug)]
pub(crate) enum StepSource {
    /// The samples, summed over channels.
    Input,
    /// A dense layer on the flattened samples times `factor`².
    Gram { weights: Weights, factor: f64 },
    /// A block that an earlier stage left.
    Stored { stage: usize, block: usize },
    /// A convolution; `Local` has c = 0 between different positions.
    Conv {
        reads: Vec<Read>,
        weights: Weights,
        window: Window,
        shared: Shared,
    },
    /// A dense layer: the sum over positions.
    Total { reads: Vec<Read>, weights: Weights },
    /// A sum of blocks.
    Sum { reads: Vec<Read> },
    /// The covariance of a step that holds a gap.
    Converted { from: usize },
}

impl StepSource {
    /// The steps it reads.
    pub fn reads(&self) -> Vec<Read> {
        match self {
            StepSource::Input | StepSource::Gram { .. } | StepSource::Stored { .. } => Vec::new(),
            StepSource::Conv { reads, .. }
            | StepSource::Total { reads, .. }
            | StepSource::Sum { reads } => reads.clone(),
            StepSource::Converted { from } => vec![Read {
                from: *from,
                channels: 1.0,
            }],
        }
    }
}

/// Whether positions share a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// They do.
    Yes,
    /// Each has its own.
    No,
}

/// Over what a norm averages squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Each position (token).
    Position,
    /// All positions.
    Positions,
}

/// A pointwise operation. Views and sides are filled in where the form is a gap.
#[derive(Clone, Debug)]
pub(crate) enum Link {
    /// c + variance, Θ + ntk.
    Bias { variance: f64, ntk: f64 },
    /// Everything times `square`.
    Scale { square: f64 },
    /// αu + β|u|.
    Kink { kink: Kink, p: View },
    /// Any other activation; F(p) is kept in `out`.
    Smooth {
        activation: Activation,
        p: View,
        out: usize,
    },
    /// u/√(p̄ + ε)·γ; 1/√(p̄ + ε) is kept in `root`, the variance in `out`.
    Norm {
        eps: f64,
        gamma_square: f64,
        over: Over,
        p: View,
        root: usize,
        out: usize,
    },
    /// Θ + c/γ²: the γ of a norm, one a channel (shared) or a number.
    Gamma { own: f64, shared: Shared, p: View },
    /// An embedding: its own number at every position.
    Embedding { variance: f64, ntk: f64 },
}

impl Link {
    /// Whether it needs the variances of both samples.
    pub fn is_nonlinear(&self) -> bool {
        match self {
            Link::Bias { .. } | Link::Scale { .. } | Link::Embedding { .. } => false,
            Link::Kink { .. } | Link::Smooth { .. } | Link::Norm { .. } | Link::Gamma { .. } => {
                true
            }
        }
    }
}
