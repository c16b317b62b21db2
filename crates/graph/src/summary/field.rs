//! Receptive fields.
//!
//! Along an axis, output position o of a node sees the input positions [first + jump·o, last + jump·o]. A window
//! with k taps at distance d, stride s and p positions of padding before maps
//! first → first − jump·p, last → last + jump·((k−1)d − p), jump → jump·s; a node with several inputs sees their union.

use crate::{Graph, Op, Shape, Support, Window};

/// What position 0 of a node sees along one axis, and how it moves.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Local { first: i64, last: i64, jump: i64 },
    Whole,
}

const POINT: Axis = Axis::Local {
    first: 0,
    last: 0,
    jump: 1,
};

impl Axis {
    fn slide(self, window: &Window, axis: usize, n: usize) -> Axis {
        let Axis::Local { first, last, jump } = self else {
            return Axis::Whole;
        };
        let reach = (window.kernel[axis] - 1) * window.dilation[axis];
        let stride = window.stride[axis];
        let (before, _) = window.padding.amounts(n, reach + 1, stride);
        let (reach, before) = (reach as i64, before as i64);
        // Saturation only meets fields beyond any input, which are cut to the input anyway.
        Axis::Local {
            first: first.saturating_sub(jump.saturating_mul(before)),
            last: last.saturating_add(jump.saturating_mul(reach - before)),
            jump: jump.saturating_mul(stride as i64),
        }
    }

    fn union(self, other: Axis) -> Axis {
        match (self, other) {
            (
                Axis::Local { first, last, jump },
                Axis::Local {
                    first: f,
                    last: l,
                    jump: j,
                },
            ) => Axis::Local {
                first: first.min(f),
                last: last.max(l),
                jump: jump.max(j),
            },
            _ => Axis::Whole,
        }
    }

    fn positions(self, n: usize) -> usize {
        match self {
            Axis::Whole => n,
            Axis::Local { first, last, .. } => {
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
    let mut axes: Vec<[Axis; 2]> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let mut seen = [POINT; 2];
        for (i, input) in node.inputs.iter().enumerate() {
            let other = axes[input.0];
            seen = match i {
                0 => other,
                _ => [seen[0].union(other[0]), seen[1].union(other[1])],
            };
        }
        let input = node.inputs.first().map(|id| graph.nodes[id.0].shape);
        axes.push(through(&node.op, seen, input.unwrap_or(node.shape)));
    }
    let used = |seen: [Axis; 2]| match sizes.len() {
        2 => vec![seen[0].positions(sizes[0]), seen[1].positions(sizes[1])],
        _ => vec![seen[1].positions(sizes[0])],
    };
    axes.into_iter().map(used).collect()
}

/// What a node sees, given what its input sees. A single axis is the second.
fn through(op: &Op, seen: [Axis; 2], input: Shape) -> [Axis; 2] {
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
        Support::Token | Support::All => [Axis::Whole; 2],
        Support::Same => seen,
    }
}
