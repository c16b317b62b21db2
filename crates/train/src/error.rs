//! What can be wrong with a training run: one line each, with what would be right.

use polariscope_diff::cuda::CudaError;
use polariscope_graph::Graph;

/// A run that cannot start, or that cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    // === Settings ===
    /// A setting outside its range.
    #[error("{setting} {value} is out of range; it must be {wanted}")]
    Setting {
        /// Which one.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// A loss that does not parse.
    #[error("loss `{text}`: {problem}")]
    Loss {
        /// What was typed.
        text: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A setting that does not go with the network or the data.
    #[error("{what}; {wanted}")]
    Unfit {
        /// What does not fit.
        what: String,
        /// What would be right.
        wanted: &'static str,
    },

    // === Samples ===
    /// No sample at all.
    #[error("the {part} set is empty; it needs at least one sample")]
    Empty {
        /// `training` or `test`.
        part: &'static str,
    },
    /// Inputs and labels that do not belong together.
    #[error(
        "the {part} set has {numbers} input numbers for {labels} labels; {sample} numbers a sample would be {}",
        sample * labels
    )]
    Counts {
        /// `training` or `test`.
        part: &'static str,
        /// Input numbers.
        numbers: usize,
        /// Labels.
        labels: usize,
        /// Numbers in a sample of the network.
        sample: usize,
    },
    /// A class that the network has no output for.
    #[error(
        "sample {row} of the {part} set has class {class}; {outputs} output(s) tell classes 0 to {last} apart"
    )]
    Class {
        /// `training` or `test`.
        part: &'static str,
        /// Which sample.
        row: usize,
        /// Its class.
        class: u32,
        /// Outputs of the network.
        outputs: usize,
        /// Largest class that would do.
        last: usize,
    },
    /// Targets of another width than the output.
    #[error(
        "the {part} set has {width} target(s) a sample, the network {outputs} output(s); make them equal"
    )]
    TargetWidth {
        /// `training` or `test`.
        part: &'static str,
        /// Targets a sample.
        width: usize,
        /// Outputs of the network.
        outputs: usize,
    },

    // === The run ===
    /// The output does not depend on anything that is trained.
    #[error("{network} has nothing to train: its output does not depend on any parameter")]
    NothingToTrain {
        /// Name of the graph.
        network: String,
    },
    /// The loss or a gradient stopped being a number.
    #[error(transparent)]
    Diverged(#[from] Box<Diverged>),
    /// A GPU that is not there, or that failed.
    #[error(transparent)]
    Device(#[from] CudaError),
    /// A gradient flow whose step became too small to move anything.
    #[error(
        "gradient flow stalled at time {time}: even a step of {dt:.1e} is refused, because the gradient jumps (as at the kinks of relu) or is lost in rounding; try a smooth activation such as softplus:5, a larger max-gradient-change, or f64"
    )]
    Stalled {
        /// Flow time.
        time: f64,
        /// Step refused.
        dt: f64,
    },
    /// Weights, optimiser buffers or a checkpoint of another network or run.
    #[error("the state does not belong to {network}: {problem}")]
    Foreign {
        /// Name of the graph.
        network: String,
        /// What differs.
        problem: String,
    },
    /// A checkpoint that cannot be read.
    #[error("the checkpoint is damaged: {problem}; delete it to start again")]
    Checkpoint {
        /// What is wrong.
        problem: String,
    },
}

impl TrainError {
    /// A state that is not of this network.
    pub(crate) fn foreign(graph: &Graph, problem: &str) -> Self {
        TrainError::Foreign {
            network: graph.name.clone(),
            problem: problem.to_owned(),
        }
    }

    /// Weights that are not of this network.
    pub(crate) fn shapes(graph: &Graph) -> Self {
        TrainError::foreign(graph, "its weights have other shapes")
    }
}

/// Where a run left the numbers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "training diverged at step {step} (epoch {epoch}): loss {loss}, largest gradient {gradient} in {parameter}; try a learning rate of {} or gradient clipping",
    learning_rate / 10.0
)]
pub struct Diverged {
    /// Update that was not made, from 1.
    pub step: u64,
    /// Its epoch, from 1.
    pub epoch: u64,
    /// Loss of its batch.
    pub loss: f64,
    /// Parameter with the largest gradient (one that is not a number counts as the largest).
    pub parameter: String,
    /// That gradient.
    pub gradient: f64,
    /// Learning rate of the step.
    pub learning_rate: f64,
}

impl TrainError {
    /// Whether another question would help; else the training failed.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            TrainError::Diverged(_)
                | TrainError::Stalled { .. }
                | TrainError::Device(_)
                | TrainError::Checkpoint { .. }
        )
    }
}
