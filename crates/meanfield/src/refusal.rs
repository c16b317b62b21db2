//! What a closed form cannot answer: one line each, with what would.

use polariscope_graph::{Node, Op};

/// Which closed form was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`crate::exact`].
    Exact,
    /// [`crate::mean_field`].
    MeanField,
}

impl std::fmt::Display for Method {
    /// As on the command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Method::Exact => "exact",
            Method::MeanField => "meanfield",
        })
    }
}

/// Why a covariance has no closed form here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    // === Layers ===
    /// An op without a closed form.
    #[error("method {method} has no closed form for {op} (layer {layer}){reason}: use {instead}", reason = behind_comma(.reason))]
    Op {
        /// The method.
        method: Method,
        /// Kind of layer.
        op: &'static str,
        /// Layer path.
        layer: String,
        /// Why, where the op says it.
        reason: Option<&'static str>,
        /// What would work.
        instead: &'static str,
    },
    /// An activation that is not differentiable at 0, probed at 0.
    #[error(
        "{op} (layer {layer}) has a kink at 0, where method exact probes it: use a smooth activation \
         (‹activation› gelu), or ‹method meanfield› or sample"
    )]
    Kink {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
    /// An activation whose argument is not 0 at x = 0.
    #[error("{cause} move the activation {layer} ({op}) off 0, so its slope is random: {instead}")]
    Moved {
        /// What moves it.
        cause: Cause,
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
        /// What would work.
        instead: &'static str,
    },
    /// A nonlinear network away from x = 0.
    #[error(
        "{op} (layer {layer}) makes the gradient depend on the probe, so method exact has it at x = 0 only: \
         probe at 0, or use ‹method meanfield› or sample"
    )]
    Nonlinear {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
    /// An activation that reads the input with no weight between: its argument is not Gaussian.
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

    // === Paths ===
    /// Two paths without weights from one node to one sum: their contributions are correlated.
    #[error(
        "{join} (layer {layer}) joins two paths from {source_layer} that hold no random weight, so their \
         contributions are correlated: put a weighted layer on one of them, or use ‹method sample›"
    )]
    Correlated {
        /// Kind of the joining layer.
        join: &'static str,
        /// Its path.
        layer: String,
        /// Where the paths part.
        source_layer: String,
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
    /// The mean of the outputs where the input reaches them with no weight between.
    #[error(
        "the mean over outputs mixes input channels that reach them with no random weight between: ask for one \
         output, or use ‹method sample›"
    )]
    Bare,

    // === Laws ===
    /// A law that the propagation does not cover.
    #[error("parameter {param} has {problem}: {wanted}, or use ‹method sample›")]
    Law {
        /// `state_dict` name.
        param: String,
        /// What is wrong.
        problem: &'static str,
        /// What would be right.
        wanted: &'static str,
    },

    // === Requests ===
    /// An output that is not there.
    #[error("output {k} does not exist: the network has {outputs}, counted from 0")]
    Logit {
        /// The one asked for.
        k: usize,
        /// Number of outputs.
        outputs: usize,
    },
    /// A probe of another size.
    #[error("the probe has {length} numbers, the network reads {wanted}")]
    Probe {
        /// Numbers given.
        length: usize,
        /// Numbers wanted.
        wanted: usize,
    },
    /// More positions than a matrix can have.
    #[error(
        "layer {layer} has a covariance over {positions} positions, the limit is {limit}: use a smaller input, \
         or ‹method sample›"
    )]
    TooLarge {
        /// Layer path.
        layer: String,
        /// Positions (or inputs, where channels differ).
        positions: usize,
        /// Most of them.
        limit: usize,
    },
}

/// What moves a value off 0 at x = 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A bias that does not start at 0.
    Bias {
        /// Layer path.
        layer: String,
    },
    /// Batch norm with β or a running mean that does not start at 0.
    Shift {
        /// Layer path.
        layer: String,
    },
    /// An activation with φ(0) ≠ 0.
    Offset {
        /// The activation.
        op: &'static str,
        /// Its layer path.
        layer: String,
    },
}

impl Cause {
    pub(crate) fn instead(&self) -> &'static str {
        match self {
            Cause::Bias { .. } => "‹bias zero›, or ‹method sample› / meanfield",
            Cause::Shift { .. } => "batch norm with β and running mean 0, or ‹method sample›",
            Cause::Offset { .. } => {
                "‹activation› with φ(0) = 0 (gelu, tanh, erf), or ‹method sample› / meanfield"
            }
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Bias { layer } => write!(f, "biases of {layer} that do not start at 0"),
            Cause::Shift { layer } => write!(f, "shifts of the batch norm {layer}"),
            Cause::Offset { op, layer } => write!(f, "values {op}(0) ≠ 0 of {layer}"),
        }
    }
}

/// The refusal of an op that a method has no rule for.
pub(crate) fn unsupported(method: Method, node: &Node) -> Refusal {
    let instead = match (method, &node.op) {
        (Method::Exact, Op::MaxPool(_)) => {
            "avg-pool in its place, or ‹method meanfield› (which takes it as one) or sample"
        }
        _ => "‹method sample›",
    };
    let facts = node.op.facts();
    Refusal::Op {
        method,
        op: facts.name,
        layer: node.layer.clone(),
        reason: facts.passage.not_closed(),
        instead,
    }
}

fn behind_comma(reason: &Option<&str>) -> String {
    reason.map_or(String::new(), |reason| format!(", {reason}"))
}
