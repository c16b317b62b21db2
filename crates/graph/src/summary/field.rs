//! Receptive fields.
//!
//! Along an axis, output position o of a node sees the input positions [first + jump·o, last + jump·o]. A window
//! with k taps at distance d, stride s and p positions of padding before maps
//! first → first − jump·p, last → last + jump·((k−1)d − p), jump → jump·s; a node with several inputs sees their union.

use crate::{Graph, NodeId, Op, Shape, Support, Window};

/// What a node's positions see of the input along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Position o sees [first + jump·o, last + jump·o], part of which may lie outside of the input.
    Local {
        /// Where the field of position 0 begins.
        first: i64,
        /// Where it ends.
        last: i64,
        /// How far the next position's field lies.
        jump: i64,
    },
    /// Everything.
    Whole,
}

const POINT: Reach = Reach::Local {
    first: 0,
    last: 0,
    jump: 1,
};

impl Reach {
    fn slide(self, window: &Window, axis: usize, n: usize) -> Reach {
        let Reach::Local { first, last, jump } = self else {
            return Reach::Whole;
        };
        let reach = (window.kernel[axis] - 1) * window.dilation[axis];
        let stride = window.stride[axis];
        let (before, _) = window.padding.amounts(n, reach + 1, stride);
        let (reach, before) = (reach as i64, before as i64);
        // Saturation only meets fields beyond any input, which are cut to the input anyway.
        Reach::Local {
            first: first.saturating_sub(jump.saturating_mul(before)),
            last: last.saturating_add(jump.saturating_mul(reach - before)),
            jump: jump.saturating_mul(stride as i64),
        }
    }

    fn union(self, other: Reach) -> Reach {
        match (self, other) {
            (
                Reach::Local { first, last, jump },
                Reach::Local {
                    first: f,
                    last: l,
                    jump: j,
                },
            ) => Reach::Local {
                first: first.min(f),
                last: last.max(l),
                jump: jump.max(j),
            },
            _ => Reach::Whole,
        }
    }

    fn positions(self, n: usize) -> usize {
        match self {
            Reach::Whole => n,
            Reach::Local { first, last, .. } => {
                let seen = last.saturating_sub(first).saturating_add(1);
                usize::try_from(seen).map_or(n, |seen| seen.min(n))
            }
        }
    }
}

/// Positions seen along each axis of the input, node by node.
pub(super) fn receptive_fields(graph: &Graph) -> Vec<Vec<usize>> {
    let sizes = match graph.input() {
        Shape::Vector { features } => vec![features],
        Shape::Signal { length, .. } => vec![length],
        Shape::Image { height, width, .. } => vec![height, width],
        Shape::Tokens { count, .. } => vec![count],
    };
    let used = |seen: [Reach; 2]| match sizes.len() {
        2 => vec![seen[0].positions(sizes[0]), seen[1].positions(sizes[1])],
        _ => vec![seen[1].positions(sizes[0])],
    };
    reaches(graph).into_iter().map(used).collect()
}

/// What every node sees along rows and columns of the input, node by node; a signal is one row.
pub fn reaches(graph: &Graph) -> Vec<[Reach; 2]> {
    let mut axes: Vec<[Reach; 2]> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let mut seen = [POINT; 2];
        for (i, input) in node.inputs.iter().enumerate() {
            let other = axes[input.0];
            seen = match i {
                0 => other,
                _ => [seen[0].union(other[0]), seen[1].union(other[1])],
            };
        }
        let input = node.inputs.first().map(|id| plane(graph, *id));
        axes.push(through(&node.op, seen, input.unwrap_or(node.shape)));
    }
    axes
}

/// The shape of a node's output; of one map, where a group has one for every element.
fn plane(graph: &Graph, node: NodeId) -> Shape {
    match (graph.nodes[node.0].shape, graph.group(node)) {
        (
            Shape::Image {
                channels,
                height,
                width,
            },
            Some(group),
        ) => Shape::Image {
            channels,
            height: height / group.order(),
            width,
        },
        (shape, _) => shape,
    }
}

/// What a node sees, given what its input sees. A single axis is the second.
fn through(op: &Op, seen: [Reach; 2], input: Shape) -> [Reach; 2] {
    let slide = |window: &Window| {
        let [height, width] = match input {
            Shape::Image { height, width, .. } => [height, width],
            Shape::Signal { length, .. } => [1, length],
            Shape::Vector { .. } | Shape::Tokens { .. } => [1, 1],
        };
        [
            seen[0].slide(window, 0, height),
            seen[1].slide(window, 1, width),
        ]
    };
    match op.facts().support {
        Support::Window(window) => slide(window),
        Support::Token if matches!(input, Shape::Tokens { .. }) => seen,
        Support::Token | Support::All => [Reach::Whole; 2],
        Support::Same => seen,
    }
}
