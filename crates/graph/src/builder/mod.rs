//! Appends layers one by one: infers shapes, names parameters, chooses laws and forward scales.
//!
//! Every method takes the node it reads and the layer's path, and returns the node it made. Sizes are
//! checked before anything is stored, so no input can make a graph that overflows or does not fit memory.

mod combine;
mod group;
mod laws;
mod linear;
mod norm;
mod pool;
mod tokens;
mod window;

use std::collections::HashSet;

use crate::{
    Activation, Graph, GraphError, Law, Node, NodeId, Nonlinearity, Op, Param, ParamId,
    Parametrisation, Role, Shape,
};

pub use laws::BiasRule;
pub use linear::{ConvSpec, HasBias};
pub use pool::PoolSpec;
pub use window::MAX_WINDOW;

/// Most numbers in all parameters and buffers of a network.
pub const MAX_PARAMETERS: usize = 1 << 33;

/// Most layers in a network.
pub const MAX_LAYERS: usize = 10_000;

/// Most numbers in one sample at any node.
pub const MAX_ACTIVATION: usize = 1 << 31;

/// Longest layer path; nested paths repeat their parents, so long names would multiply.
const MAX_NAME: usize = 200;

/// A graph under construction.
///
/// ```
/// use polariscope_graph::{Activation, BiasRule, Builder, HasBias, Parametrisation, Shape};
///
/// let input = Shape::Vector { features: 48 };
/// let mut net = Builder::new("tiny", input, Parametrisation::Pytorch, BiasRule::Default)?;
/// let x = net.dense(Builder::INPUT, "hidden", 20, HasBias::Yes)?;
/// let x = net.activation(x, "act", Activation::Tanh)?;
/// net.dense(x, "head", 3, HasBias::Yes)?;
/// let graph = net.finish();
/// assert_eq!(graph.parameter_count(), 20 * 49 + 3 * 21);
/// assert_eq!(graph.params[0].name, "hidden.weight");
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    graph: Graph,
    bias: BiasRule,
    layers: HashSet<String>,
    params: HashSet<String>,
    numbers: usize,
}

impl Builder {
    /// The node every network starts from.
    pub const INPUT: NodeId = NodeId(0);

    /// A network that so far only has its input.
    pub fn new(
        name: &str,
        input: Shape,
        parametrisation: Parametrisation,
        bias: BiasRule,
    ) -> Result<Self, GraphError> {
        let mut builder = Builder {
            graph: Graph {
                name: name.to_owned(),
                nodes: Vec::new(),
                params: Vec::new(),
                parametrisation,
            },
            bias,
            layers: HashSet::new(),
            params: HashSet::new(),
            numbers: 0,
        };
        if input.dims().contains(&0) {
            return Err(GraphError::Shape {
                layer: "input".to_owned(),
                op: "input",
                input,
                problem: "holds no number".to_owned(),
                wanted: "sizes of at least 1".to_owned(),
            });
        }
        builder.push("input", Op::Input, &[], input)?;
        Ok(builder)
    }

    /// Shape at a node of this builder.
    pub fn shape(&self, node: NodeId) -> Shape {
        self.graph.nodes[node.0].shape
    }

    /// The rule that sets laws and scales.
    pub fn parametrisation(&self) -> Parametrisation {
        self.graph.parametrisation
    }

    /// Elementwise nonlinearity; a normalised one is followed by a scale named `LAYER.normalised`.
    pub fn activation(
        &mut self,
        x: NodeId,
        layer: &str,
        nonlinearity: impl Into<Nonlinearity>,
    ) -> Result<NodeId, GraphError> {
        let nonlinearity = nonlinearity.into();
        let activation = nonlinearity.activation();
        self.claim(layer)?;
        let (setting, value, right) = match activation {
            Activation::LeakyRelu { slope } => ("slope", slope, slope.is_finite()),
            Activation::Softplus { beta } => ("beta", beta, beta.is_finite() && beta > 0.0),
            _ => ("", 0.0, true),
        };
        if !right {
            let wanted = match setting {
                "beta" => "a finite number above 0",
                _ => "a finite number",
            };
            return Err(setting_error(
                layer,
                activation.name(),
                setting,
                value,
                wanted,
            ));
        }
        let y = self.push(layer, Op::Activation(activation), &[x], self.shape(x))?;
        match nonlinearity {
            Nonlinearity::Plain(_) => Ok(y),
            Nonlinearity::Normalised { .. } => {
                self.scale(y, &format!("{layer}.normalised"), nonlinearity.factor())
            }
        }
    }

    /// y = by · x.
    pub fn scale(&mut self, x: NodeId, layer: &str, by: f64) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        if !by.is_finite() {
            return Err(setting_error(layer, "scale", "by", by, "a finite number"));
        }
        self.push(layer, Op::Scale { by }, &[x], self.shape(x))
    }

    /// Dropout; the identity outside training.
    pub fn dropout(&mut self, x: NodeId, layer: &str, rate: f64) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        if !(0.0..1.0).contains(&rate) {
            let wanted = "at least 0 and below 1";
            return Err(setting_error(layer, "dropout", "rate", rate, wanted));
        }
        self.push(layer, Op::Dropout { rate }, &[x], self.shape(x))
    }

    /// The finished network. Its output is the node made last.
    pub fn finish(mut self) -> Graph {
        self.scale_read_out();
        self.graph
    }

    /// Claims a layer path.
    fn claim(&mut self, layer: &str) -> Result<(), GraphError> {
        let problem = if layer.is_empty() || layer.chars().any(char::is_control) {
            "a name must have at least one character and no control characters"
        } else if layer.len() > MAX_NAME {
            "a name has at most 200 bytes"
        } else if self.layers.len() == MAX_LAYERS {
            return Err(GraphError::TooLarge {
                layer: layer.to_owned(),
                what: "the number of layers",
                limit: MAX_LAYERS,
            });
        } else if !self.layers.insert(layer.to_owned()) {
            "the name is used twice"
        } else {
            return Ok(());
        };
        Err(GraphError::Name {
            layer: layer.to_owned(),
            problem: problem.to_owned(),
        })
    }

    /// Appends a node.
    fn push(
        &mut self,
        layer: &str,
        op: Op,
        inputs: &[NodeId],
        shape: Shape,
    ) -> Result<NodeId, GraphError> {
        if product(&shape.dims()).is_none_or(|n| n > MAX_ACTIVATION) {
            return Err(GraphError::TooLarge {
                layer: layer.to_owned(),
                what: "the output of one sample",
                limit: MAX_ACTIVATION,
            });
        }
        self.graph.nodes.push(Node {
            layer: layer.to_owned(),
            op,
            inputs: inputs.to_vec(),
            shape,
        });
        Ok(NodeId(self.graph.nodes.len() - 1))
    }

    /// Appends a parameter; `state_dict` order is the order of these calls.
    pub(crate) fn param(
        &mut self,
        layer: &str,
        name: String,
        shape: &[usize],
        law: Law,
        role: Role,
    ) -> Result<ParamId, GraphError> {
        let total = product(shape).and_then(|n| n.checked_add(self.numbers));
        let Some(total) = total.filter(|&n| n <= MAX_PARAMETERS) else {
            return Err(GraphError::TooLarge {
                layer: layer.to_owned(),
                what: "the number of parameters",
                limit: MAX_PARAMETERS,
            });
        };
        if !self.params.insert(name.clone()) {
            return Err(GraphError::Name {
                layer: layer.to_owned(),
                problem: format!("another layer already has a parameter named `{name}`"),
            });
        }
        self.numbers = total;
        self.graph.params.push(Param {
            name,
            shape: shape.to_vec(),
            law,
            role,
        });
        Ok(ParamId(self.graph.params.len() - 1))
    }
}

/// Product without overflow.
fn product(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s))
}

/// A setting out of its range.
fn setting_error(
    layer: &str,
    op: &'static str,
    setting: &'static str,
    value: impl ToString,
    wanted: impl Into<String>,
) -> GraphError {
    GraphError::Setting {
        layer: layer.to_owned(),
        op,
        setting,
        value: value.to_string(),
        wanted: wanted.into(),
    }
}

/// An input that a layer cannot read.
fn shape_error(
    layer: &str,
    op: &'static str,
    input: Shape,
    problem: impl Into<String>,
    wanted: impl Into<String>,
) -> GraphError {
    GraphError::Shape {
        layer: layer.to_owned(),
        op,
        input,
        problem: problem.into(),
        wanted: wanted.into(),
    }
}

/// `is a vector`, `is an image`, …
fn is_a(shape: Shape) -> &'static str {
    match shape {
        Shape::Vector { .. } => "is a vector",
        Shape::Signal { .. } => "is a signal",
        Shape::Image { .. } => "is an image",
        Shape::Tokens { .. } => "is a sequence of tokens",
    }
}
