//! Where there is no kernel to differentiate: one line each, with what would help.

use polariscope_graph::{Node, Passage};

/// Why method `kernel` has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KernelRefusal {
    // === Layers ===
    /// An op without a kernel.
    #[error("method kernel has no rule for {op} (layer {layer}), {reason}: use {instead}")]
    Op {
        /// Kind of layer.
        op: &'static str,
        /// Layer path.
        layer: String,
        /// Why there is none.
        reason: &'static str,
        /// What would work.
        instead: &'static str,
    },
    /// An activation whose dual has no expression here.
    #[error(
        "method kernel has no closed form of {op} (layer {layer}): use erf (close to tanh and sigmoid) or gelu (close to \
         silu and softplus), or ‹method meanfield› or sample"
    )]
    Activation {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
    /// An activation that reads the input with no weight between.
    #[error(
        "{op} (layer {layer}) reads the input with no random weight between, so its argument is not Gaussian: \
         use ‹method sample›, or put a weighted layer before it"
    )]
    Unmixed {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
    /// An activation that reads what an activation made.
    #[error(
        "{op} (layer {layer}) reads a value that carries what an activation made, which is not Gaussian: put a weighted \
         layer between, or use ‹method meanfield› or sample"
    )]
    NotGaussian {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
    /// A kink where the argument is 0 for certain.
    #[error(
        "{op} (layer {layer}) reads 0 at some position for every draw of the weights, and it has no derivative there: \
         probe away from 0 (‹probe gauss:1›), draw biases, or use a smooth activation (‹activation› gelu)"
    )]
    Flat {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },

    // === Paths ===
    /// Two paths without weights to one sum.
    #[error(
        "add (layer {layer}) joins two paths from {source_layer} that hold no random weight, so they are correlated: \
         put a weighted layer on one of them, or use ‹method sample›"
    )]
    Correlated {
        /// Path of the sum.
        layer: String,
        /// Where the paths part.
        source_layer: String,
    },
    /// A sum of two values that have means.
    #[error(
        "add (layer {layer}) sums two values with a mean (what activations made, or the input), so they are correlated: \
         put a weighted layer after one of them, or use ‹method meanfield› or sample"
    )]
    Means {
        /// Path of the sum.
        layer: String,
    },
    /// A sum of a flattened image with a vector of another origin.
    #[error(
        "add (layer {layer}) sums a flattened image with features of another layout: use ‹method sample›, or \
         flatten after the sum"
    )]
    Layout {
        /// Path of the sum.
        layer: String,
    },
    /// Outputs that no weight makes.
    #[error(
        "{what} no random weight makes has no kernel of its own: ask for one output, or end with a dense layer"
    )]
    Bare {
        /// Which scalar.
        what: &'static str,
    },

    // === Numbers ===
    /// A parameter with a mean.
    #[error("parameter {param} has a constant initial value: {wanted}, or use ‹method sample›")]
    Law {
        /// `state_dict` name.
        param: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// An output that is not there.
    #[error("output {k} does not exist: the network has {outputs}, counted from 0")]
    Logit {
        /// The one asked for.
        k: usize,
        /// Number of outputs.
        outputs: usize,
    },
    /// Variances beyond the range of numbers.
    #[error(
        "the kernel or its derivative is not finite at this probe: probe at smaller numbers, or try another ‹parametrisation›"
    )]
    NotFinite,
}

/// The refusal of an op that has no rule.
pub(super) fn unsupported(node: &Node) -> KernelRefusal {
    let sample = "‹method sample›";
    let facts = node.op.facts();
    let (op, reason, instead) = match facts.passage {
        passage if let Some(reason) = passage.not_closed() => (facts.name, reason, sample),
        Passage::BatchNorm { .. } => (
            "batch-norm",
            "which couples the samples of a batch",
            "a network without it, or ‹method meanfield› or sample",
        ),
        Passage::MaxPool(_) => (
            "max-pool",
            "whose output is not a function of covariances",
            "avg-pool in its place, or ‹method sample›",
        ),
        Passage::Conv { .. } => (
            "grouped conv",
            "whose channels do not mix, so they are not Gaussian",
            "groups = 1, or ‹method meanfield› or sample",
        ),
        Passage::Dense { .. } => ("dense on tokens", "which attention reads", sample),
        Passage::Input
        | Passage::Local { .. }
        | Passage::Bias { .. }
        | Passage::Scale { .. }
        | Passage::Same
        | Passage::Flatten
        | Passage::Activation(_)
        | Passage::AvgPool(_)
        | Passage::GlobalAvgPool
        | Passage::Add
        | Passage::Concat
        | Passage::Norm(_)
        | Passage::Other(_) => ("this layer", "on tokens", sample),
    };
    KernelRefusal::Op {
        op,
        layer: node.layer.clone(),
        reason,
        instead,
    }
}
