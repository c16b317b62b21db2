//! What a network looks like, layer by layer, as data.

mod field;
mod initial;
mod multiplications;
mod outline;
mod words;

pub use field::{Reach, reaches};
pub use multiplications::multiplications;
pub use outline::{Outline, OutlineStep, Repeat};

use serde::{Serialize, Serializer};

use crate::{Graph, Node, Op, Role, Shape};

/// A network at a glance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Zoo name or file stem.
    pub name: String,
    /// Shape of one input sample.
    #[serde(serialize_with = "dims")]
    pub input: Shape,
    /// Shape of one output sample.
    #[serde(serialize_with = "dims")]
    pub output: Shape,
    /// The rule that set laws and scales, as the command line spells it.
    pub parametrisation: String,
    /// What weights and biases really start as under it, by kind of layer where they differ.
    pub initialisation: String,
    /// Trainable numbers.
    pub parameters: usize,
    /// Numbers carried along without training (running statistics).
    pub buffers: usize,
    /// Multiplications, each with an addition, of one forward pass of one sample.
    pub multiply_adds: usize,
    /// Every layer, in the order of computation.
    pub layers: Vec<LayerSummary>,
}

/// One layer: the nodes that share its path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// Layer path.
    pub name: String,
    /// What it computes, in words.
    pub op: String,
    /// Shape of its output.
    #[serde(serialize_with = "dims")]
    pub output: Shape,
    /// Trainable numbers.
    pub parameters: usize,
    /// Multiplications, each with an addition, for one sample.
    pub multiply_adds: usize,
    /// Positions of the input that one number of the output sees, along each axis (height and width of
    /// images, length of signals, entries of vectors); at most the whole input.
    pub receptive_field: Vec<usize>,
    /// Init laws of its trainable parameters with their forward scales, in words; empty without parameters.
    pub law: String,
}

fn dims<S: Serializer>(shape: &Shape, serializer: S) -> Result<S::Ok, S::Error> {
    shape.dims().serialize(serializer)
}

impl Summary {
    /// Describes a network.
    pub fn of(graph: &Graph) -> Self {
        let fields = field::receptive_fields(graph);
        let with_fields = graph.nodes.iter().zip(fields);
        let mut layers: Vec<LayerSummary> = Vec::new();
        for (node, field) in with_fields.filter(|(node, _)| node.op != Op::Input) {
            let row = row(graph, node, field);
            match layers.last_mut().filter(|last| last.name == row.name) {
                Some(last) => last.absorb(row),
                None => layers.push(row),
            }
        }
        let buffers = graph.params.iter().filter(|p| p.role == Role::Buffer);
        Summary {
            name: graph.name.clone(),
            input: graph.input(),
            output: graph.output(),
            parametrisation: graph.parametrisation.to_string(),
            initialisation: initial::initialisation(graph),
            parameters: graph.parameter_count(),
            buffers: buffers.map(|p| p.len()).sum(),
            multiply_adds: multiplications(graph),
            layers,
        }
    }
}

impl LayerSummary {
    /// Joins the next node of the same layer, such as its bias.
    fn absorb(&mut self, next: LayerSummary) {
        self.op = format!("{} + {}", self.op, next.op);
        self.output = next.output;
        self.parameters += next.parameters;
        self.multiply_adds += next.multiply_adds;
        self.receptive_field = next.receptive_field;
        if !self.law.is_empty() && !next.law.is_empty() {
            self.law.push_str(", ");
        }
        self.law.push_str(&next.law);
    }
}

fn row(graph: &Graph, node: &Node, receptive_field: Vec<usize>) -> LayerSummary {
    let params = node.op.facts().parameters.into_iter();
    let params: Vec<_> = params.map(|(id, scale)| (graph.param(id), scale)).collect();
    LayerSummary {
        name: node.layer.clone(),
        op: words::op(graph, node),
        output: node.shape,
        parameters: params.iter().map(|(param, _)| param.len()).sum(),
        multiply_adds: multiplications::of_node(graph, node),
        receptive_field,
        law: words::laws(&node.layer, &params),
    }
}
