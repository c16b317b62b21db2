//! What is to be computed for a pair of samples, decided once for a graph.
//!
//! A node's value is a list of blocks of exchangeable channels (more than one only after a concatenation); each
//! block is a [`parts::Part`]: what it reads, then a chain of pointwise operations. A convolution of stride s reads
//! the pair (α, α+δ) from (sα+β, sα+β+sδ): displacements δ never mix, so a [`Stage`] takes one δ through all
//! its parts at a time. Stages end where positions mix ([`End`]); what they leave is stored and read by the next.

mod axes;
mod check;
mod forms;
mod laws;
mod parts;
mod stages;
mod step;

pub(crate) use step::{Form, Layer, Link, Over, Read, Shared, Step, StepSource, View, Weights};

use polariscope_graph::{Activation, Graph, Window};

use crate::NngpError;

/// The whole computation.
#[derive(Clone, Debug)]
pub(crate) struct StagePlan {
    /// Channels, height and width of the input.
    pub input: [usize; 3],
    /// In order; the last one makes the output.
    pub stages: Vec<Stage>,
    /// Positions of each array kept per sample.
    pub sides: Vec<usize>,
    /// How many stages are run on (x, x) because a pool's variance is read later.
    pub self_stages: usize,
    /// Whether a step reads the Gram matrix of the inputs.
    pub gram: bool,
    /// Whether a step reads the samples themselves.
    pub reads_input: bool,
    /// Named approximations.
    pub approximations: Vec<String>,
}

impl StagePlan {
    /// Plans a graph, or says why it has no kernel.
    pub fn new(graph: &Graph) -> Result<Self, NngpError> {
        check::check(graph)?;
        let parts = parts::parts(graph)?;
        stages::plan(parts)
    }

    /// An activation whose dual has no text for a GPU: it needs the normal distribution of two numbers.
    pub fn on_processor_only(&self) -> Option<&'static str> {
        let steps = self.stages.iter().flat_map(|stage| &stage.steps);
        steps
            .flat_map(|step| &step.chain)
            .find_map(|link| match link {
                Link::Smooth { activation, .. } => match activation {
                    Activation::HardSigmoid | Activation::HardSwish => Some(activation.name()),
                    _ => None,
                },
                _ => None,
            })
    }
}

/// Everything between two mixings of positions.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// In order.
    pub steps: Vec<Step>,
    /// Fields in memory at one time.
    pub buffers: usize,
    /// Numbers of positions of the largest field.
    pub positions: usize,
    /// Displacements of the last steps.
    pub displacements: Vec<[isize; 2]>,
    /// Positions of the last steps.
    pub grid: [usize; 2],
    /// The last steps, one a block.
    pub last: Vec<usize>,
    /// What becomes of them.
    pub end: End,
    /// Positions of what is left.
    pub grid_out: [usize; 2],
    /// Pairs of positions of what is left.
    pub need: Need,
}

impl Stage {
    /// Pairs of positions that are stored for each block.
    pub fn slots(&self) -> usize {
        let positions = self.grid_out[0] * self.grid_out[1];
        match self.need {
            Need::Diagonal => positions,
            Need::Pairs => positions * positions,
        }
    }
}

/// Which pairs of positions later stages read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// (α, α).
    Diagonal,
    /// All, as (δ modulo the grid, α).
    Pairs,
}

/// Displacements along an axis of n positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// Modulo n: every field is full.
    Wrapped,
    /// In (−n, n): fields hold the α for which α+δ is there; a full field will do where one is read.
    Signed,
}

/// Where positions mix.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The output, a vector: one block, its first position.
    Output,
    /// Mean over all pairs of positions.
    GlobalPool,
    /// Mean over both windows.
    Pool { window: Window },
    /// The same pairs in a grid of one row. One more position in front where `before` has, for each block, what it
    /// adds to K and to Θ.
    Regrid { before: Vec<[f64; 2]> },
    /// One position.
    Take { index: usize },
    /// Attention with uniform weights: mean over all pairs, then two weights; the same at every pair.
    Attention {
        value: Layer,
        output: Layer,
        channels: f64,
    },
}
