//! The first layers: what reads the bare input, and how.

use polariscope_graph::{
    self as graph, Graph, Node, Op, ParamId, Passage, Rotation, Shape, Window,
};

use super::grid::Grid;
use super::group::{Cell, Group, Sharing};

/// What is left of the input at a node without weights before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bare {
    /// The sample itself, perhaps flattened or scaled.
    Sample,
    /// A sum over positions of it: channels are still apart.
    Pooled,
}

/// How a layer's weights meet the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One row of weights for the whole sample.
    Whole,
    /// The same taps at every position.
    Taps(Window),
    /// Taps of its own at every position.
    OwnTaps(Window),
    /// The same taps at every position, turned by every element of a group.
    TurnedTaps(Window, graph::Group),
    /// The channels of every token or pooled position, in the same way.
    Channels,
}

/// A layer that reads the bare input through weights.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Index of the node.
    pub node: usize,
    pub weight: ParamId,
    pub reading: Reading,
    /// The largest group that its weights can follow.
    pub group: Group,
    /// Why, in a sentence.
    pub proof: String,
}

/// Every first layer, or why the input reaches something that follows no transformation.
pub(super) fn readers(graph: &Graph) -> Result<Vec<Reader>, String> {
    let mut bare: Vec<Option<Bare>> = Vec::with_capacity(graph.nodes.len());
    let mut found = Vec::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let read: Vec<Option<Bare>> = node.inputs.iter().map(|id| bare[id.0]).collect();
        let own = match read.iter().flatten().next() {
            None => matches!(node.op, Op::Input).then_some(Bare::Sample),
            Some(&first) => match kept(node, first, &read)? {
                Some(kept) => Some(kept),
                None => {
                    found.push(reader(graph, index, node, first)?);
                    None
                }
            },
        };
        bare.push(own);
    }
    match found.is_empty() {
        true => Err("no weights read the input".to_owned()),
        false => Ok(found),
    }
}

/// What is left of the input after a node that has no weights; nothing after one that has.
fn kept(node: &Node, first: Bare, read: &[Option<Bare>]) -> Result<Option<Bare>, String> {
    match node.op.facts().rotation {
        Rotation::Kept => Ok(Some(first)),
        Rotation::Positions => Ok(Some(Bare::Pooled)),
        Rotation::Weights => Ok(None),
        Rotation::Paths if read.iter().all(Option::is_some) => Ok(Some(Bare::Pooled)),
        Rotation::Paths => Err(format!(
            "{} adds the bare input to a later layer, past the first weights",
            node.layer
        )),
        Rotation::Ends(why) => Err(format!("{} {why}", node.layer)),
    }
}

fn reader(graph: &Graph, index: usize, node: &Node, bare: Bare) -> Result<Reader, String> {
    let input = Grid::of(graph.nodes[node.inputs[0].0].shape);
    let layer = &node.layer;
    let make = |weight, reading, group, proof| {
        Ok(Reader {
            node: index,
            weight,
            reading,
            group,
            proof,
        })
    };
    let pooled = || {
        format!(
            "{layer} reads means over positions of the input; a rotation of the channels that is the same everywhere \
             commutes with means, and its weights follow it (a larger group was not looked for)"
        )
    };
    if let Op::GroupConv {
        weight,
        window,
        group,
        ..
    } = node.op
    {
        if bare == Bare::Pooled {
            return make(weight, Reading::Channels, Group::CHANNELS, pooled());
        }
        let proof = format!(
            "{layer} reads every position with turned copies of one weight; a rotation of the channels that is the same \
             everywhere commutes with turns, and its weights follow it (a larger group was not looked for)"
        );
        let reading = Reading::TurnedTaps(window, group);
        return make(weight, reading, Group::CHANNELS, proof);
    }
    match node.op.facts().passage {
        Passage::Dense { weight, .. } => match (bare, graph.nodes[node.inputs[0].0].shape) {
            (Bare::Sample, Shape::Vector { .. }) => {
                let proof = format!(
                    "{layer} sees the sample through W x alone, and W x = (W τᵀ)(τ x) for every rotation τ of all its numbers"
                );
                make(weight, Reading::Whole, Group::ALL, proof)
            }
            (Bare::Sample, _) => {
                let proof = format!(
                    "{layer} applies one W to every token, and W x = (W qᵀ)(q x) for a rotation q that all tokens share"
                );
                make(weight, Reading::Channels, Group::CHANNELS, proof)
            }
            (Bare::Pooled, _) => make(weight, Reading::Channels, Group::CHANNELS, pooled()),
        },
        Passage::Conv { groups, .. } if groups > 1 => Err(format!(
            "{layer} reads the channels in {groups} groups, which no rotation of all channels respects"
        )),
        Passage::Conv { weight, .. } | Passage::Local { weight, .. } if bare == Bare::Pooled => {
            make(weight, Reading::Channels, Group::CHANNELS, pooled())
        }
        Passage::Conv { weight, window, .. } => {
            let output = Grid::of(node.shape);
            let (group, proof) = slid(window, &input, output, layer, Sharing::Shared);
            make(weight, Reading::Taps(*window), group, proof)
        }
        Passage::Local { weight, window, .. } => {
            let output = Grid::of(node.shape);
            let (group, proof) = slid(window, &input, output, layer, Sharing::Own);
            make(weight, Reading::OwnTaps(*window), group, proof)
        }
        Passage::Input
        | Passage::Bias { .. }
        | Passage::Scale { .. }
        | Passage::Same
        | Passage::Flatten
        | Passage::Activation(_)
        | Passage::BatchNorm { .. }
        | Passage::MaxPool(_)
        | Passage::AvgPool(_)
        | Passage::GlobalAvgPool
        | Passage::Add
        | Passage::Concat
        | Passage::Norm(_)
        | Passage::Other(_) => Err(format!("{layer} reads the input without weights")),
    }
}

/// The group of a window of weights, shared between positions or not.
fn slid(
    window: &Window,
    input: &Grid,
    output: Grid,
    layer: &str,
    sharing: Sharing,
) -> (Group, String) {
    let [kh, kw] = window.kernel;
    let unpadded = |axis: usize, n: usize| {
        let extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
        window.padding.amounts(n, extent, window.stride[axis]) == (0, 0)
    };
    let plain = window.dilation == [1, 1] && unpadded(0, input.height) && unpadded(1, input.width);
    if plain && window.kernel == [input.height, input.width] {
        let proof = format!(
            "{layer} covers the whole sample with one window, so it is a dense layer: W x = (W τᵀ)(τ x) for every rotation τ"
        );
        return (Group::ALL, proof);
    }
    let tiles = plain
        && window.stride == window.kernel
        && output.height * kh == input.height
        && output.width * kw == input.width;
    let patch = tiles && (kh, kw) != (1, 1);
    let cell = Cell::Patch(if patch { [kh, kw] } else { [1, 1] });
    let what = if patch {
        format!("the patches of {kh}x{kw} that {layer} reads do not overlap")
    } else {
        format!("{layer} reads every position through the weights of its taps")
    };
    let proof = match (sharing, patch) {
        (Sharing::Shared, true) => format!(
            "{what} and share their weights W: a rotation q of a patch that is the same for all turns W into W qᵀ"
        ),
        (Sharing::Shared, false) => format!(
            "{what}, which are the same everywhere: a rotation q of the channels that all positions share turns each \
             tap's W into W qᵀ, and one that differs between positions would need different weights at each"
        ),
        (Sharing::Own, true) => format!(
            "{what} and have weights of their own: each W_α follows its own rotation as W_α q_αᵀ"
        ),
        (Sharing::Own, false) => format!(
            "{what}, each place with weights of its own: where tap β reads position α, its W turns into W q_αᵀ, so every \
             position may rotate in its own way"
        ),
    };
    (Group::rotations(cell, sharing), proof)
}
