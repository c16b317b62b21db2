//! Ops and laws in words.

use crate::text::Short;
use crate::{ChannelWeights, Graph, Node, Padding, Param, Passage, Shape, Support, Window};

/// What a node computes.
pub(super) fn op(graph: &Graph, node: &Node) -> String {
    let facts = node.op.facts();
    let flat = matches!(node.shape, Shape::Signal { .. });
    let own = match facts.weights {
        ChannelWeights::Shared(weight) | ChannelWeights::Own(weight) => Some(weight),
        ChannelWeights::None | ChannelWeights::Attention(_) => None,
    };
    let mut words = facts.words.into_owned();
    if let Some(weight) = own {
        words += &format!(" {}", graph.param(weight).shape[0]);
    }
    if let Support::Window(window) = facts.support {
        let (comma, usual_stride) = match own {
            Some(_) => (",", [1, 1]),
            None => ("", window.kernel),
        };
        let slide = slide(window, window.stride == usual_stride, flat);
        words += &format!("{comma} {slide}");
    }
    match facts.passage {
        Passage::Conv { groups, .. } if groups > 1 => words + &format!(", {groups} groups"),
        _ => words,
    }
}

/// `3x3, stride 2, dilation 2, padding 1`, what is usual left out.
fn slide(window: &Window, usual_stride: bool, flat: bool) -> String {
    let pair = |[h, w]: [usize; 2]| match flat {
        true => w.to_string(),
        false => format!("{h}x{w}"),
    };
    let short = |[h, w]: [usize; 2]| match h == w || flat {
        true => w.to_string(),
        false => format!("{h}x{w}"),
    };
    let mut words = pair(window.kernel);
    if !usual_stride {
        words += &format!(", stride {}", short(window.stride));
    }
    if window.dilation != [1, 1] {
        words += &format!(", dilation {}", short(window.dilation));
    }
    match window.padding {
        Padding::Valid | Padding::Zeros(0) => {}
        Padding::Same => words += ", padding same",
        Padding::Circular => words += ", padding circular",
        Padding::Zeros(p) => words += &format!(", padding {p}"),
    }
    words
}

/// `weight U(±0.1155), bias 0`; a forward scale other than 1 stands in front of the law.
pub(super) fn laws(layer: &str, params: &[(&Param, f64)]) -> String {
    let words = params.iter().map(|(param, scale)| {
        let own = param
            .name
            .strip_prefix(layer)
            .map(|n| n.trim_start_matches('.'));
        let name = own.filter(|n| !n.is_empty()).unwrap_or("value");
        match scale {
            1.0 => format!("{name} {}", param.law),
            scale => format!("{name} {} · {}", Short(*scale), param.law),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}
