//! The graph: nodes in topological order, each with its op, inputs and output shape.
//!
//! Pure data. What an op is to whatever runs, differentiates, propagates covariances or reasons about symmetry
//! is declared with it ([`crate::Facts`]).

use serde::{Deserialize, Serialize};

use crate::{Group, Law, Op, Parametrisation};

/// Index of a node in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeId(pub usize);

/// Index of a parameter or buffer in [`Graph::params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParamId(pub usize);

/// Shape of one sample at a node (the batch dimension is implicit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// A plain vector.
    Vector {
        /// Length.
        features: usize,
    },
    /// A 1-D signal, channels first.
    Signal {
        /// Number of channels.
        channels: usize,
        /// Number of positions.
        length: usize,
    },
    /// A 2-D image, channels first.
    Image {
        /// Number of channels.
        channels: usize,
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// A sequence of tokens, each a vector of `width` numbers.
    Tokens {
        /// Number of tokens.
        count: usize,
        /// Length of a token.
        width: usize,
    },
}

impl Shape {
    /// Dimensions in memory order (C,H,W for images).
    pub fn dims(&self) -> Vec<usize> {
        match *self {
            Shape::Vector { features } => vec![features],
            Shape::Signal { channels, length } => vec![channels, length],
            Shape::Image {
                channels,
                height,
                width,
            } => vec![channels, height, width],
            Shape::Tokens { count, width } => vec![count, width],
        }
    }

    /// Numbers in one sample.
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether a sample holds no number at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    /// `3x32x32`, `48`; tokens read `17x192 tokens`, signals `3x100`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(usize::to_string).collect();
        f.write_str(&dims.join("x"))?;
        if matches!(self, Shape::Tokens { .. }) {
            f.write_str(" tokens")?;
        }
        Ok(())
    }
}

/// How a window leaves the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Padding {
    /// XLA's SAME: out = ⌈n/s⌉, total = max((out−1)s+k−n, 0), ⌊total/2⌋ before.
    Same,
    /// No padding.
    Valid,
    /// Periodic boundary with the amounts of `Same`.
    Circular,
    /// This many zeros on both sides.
    Zeros(usize),
}

impl Padding {
    /// (before, after) on an axis of `n` positions; `k` is the dilated kernel extent (k−1)·d+1.
    pub fn amounts(&self, n: usize, k: usize, stride: usize) -> (usize, usize) {
        match *self {
            Padding::Valid => (0, 0),
            Padding::Zeros(p) => (p, p),
            Padding::Same | Padding::Circular => {
                let out = n.div_ceil(stride);
                let total = ((out.max(1) - 1) * stride + k).saturating_sub(n);
                (total / 2, total - total / 2)
            }
        }
    }
}

/// Geometry of a sliding window. A 1-D signal uses the second axis: `kernel = [1, k]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Taps along height and width.
    pub kernel: [usize; 2],
    /// Steps along height and width.
    pub stride: [usize; 2],
    /// Distance between taps along height and width.
    pub dilation: [usize; 2],
    /// Border rule.
    pub padding: Padding,
}

/// What a parameter is to training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Trained.
    Trainable,
    /// Carried along (running statistics); a constant to every derivative.
    Buffer,
}

/// A named tensor of the network, in the layout of PyTorch's `state_dict`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// `state_dict` name, such as `layer1.0.conv1.weight`.
    pub name: String,
    /// Dimensions.
    pub shape: Vec<usize>,
    /// Distribution of the initial value.
    pub law: Law,
    /// Trained or carried along.
    pub role: Role,
}

impl Param {
    /// Numbers in the tensor.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the tensor holds no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Var of one entry at the start, nothing where its mean is not 0. Entries of every law are uncorrelated; those of an
    /// orthogonal matrix have gain²/max(rows, columns).
    pub fn variance(&self) -> Option<f64> {
        match self.law {
            Law::Constant(0.0) => Some(0.0),
            Law::Constant(_) => None,
            Law::Uniform { bound } => Some(bound * bound / 3.0),
            Law::Normal { std } => Some(std * std),
            Law::Orthogonal { gain } => {
                let rows = self.shape.first().copied().unwrap_or(1).max(1);
                Some(gain * gain / rows.max(self.len() / rows) as f64)
            }
        }
    }
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Layer path, such as `layer1.0.conv1`; a layer's bias node carries the layer's name.
    pub layer: String,
    /// What it computes.
    pub op: Op,
    /// What it reads; earlier nodes only.
    pub inputs: Vec<NodeId>,
    /// Shape of its output.
    pub shape: Shape,
}

/// A network without numbers. The last node is the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Zoo name or file stem.
    pub name: String,
    /// Topological order; node 0 is [`Op::Input`].
    pub nodes: Vec<Node>,
    /// Parameters and buffers, in `state_dict` order.
    pub params: Vec<Param>,
    /// The rule that set laws and scales.
    pub parametrisation: Parametrisation,
}

impl Graph {
    /// Shape of one input sample.
    pub fn input(&self) -> Shape {
        self.nodes[0].shape
    }

    /// Shape of one output sample.
    pub fn output(&self) -> Shape {
        self.nodes[self.nodes.len() - 1].shape
    }

    /// Whether each node leads to the output.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        if let Some(last) = live.last_mut() {
            *last = true;
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if live[i] {
                node.inputs.iter().for_each(|input| live[input.0] = true);
            }
        }
        live
    }

    /// Indices of the trainable parameters in [`Graph::params`].
    pub fn trainable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.params.len()).filter(|&i| self.params[i].role == Role::Trainable)
    }

    /// Number of trainable numbers.
    pub fn parameter_count(&self) -> usize {
        self.trainable().map(|i| self.params[i].len()).sum()
    }

    /// The group that a node's maps are over: those of a group convolution and of what keeps their positions apart.
    ///
    /// Such a map has a number for every element g and every position; the maps of the elements lie one below the other,
    /// element 0 first. Where the input goes to its image under g, so does this map with its elements: from (h, p) to
    /// (gh, gp).
    pub fn group(&self, node: NodeId) -> Option<Group> {
        let mut node = &self.nodes[node.0];
        loop {
            match node.op {
                Op::GroupConv { group, .. } => return Some(group),
                _ if !matches!(node.shape, Shape::Image { .. }) => return None,
                Op::Input | Op::Conv { .. } | Op::Local { .. } | Op::GroupPool { .. } => {
                    return None;
                }
                _ => node = &self.nodes[node.inputs.first()?.0],
            }
        }
    }

    /// The parameter behind an id.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0]
    }
}
