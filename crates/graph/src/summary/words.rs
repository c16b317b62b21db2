//! Ops and laws in words.

use crate::text::Short;
use crate::{Graph, Node, Op, Padding, Param, ParamId, Shape, Window};

/// What a node computes.
pub(super) fn op(graph: &Graph, node: &Node) -> String {
    let flat = matches!(node.shape, Shape::Signal { .. });
    let outputs = |weight: &ParamId| graph.param(*weight).shape[0];
    match &node.op {
        Op::Input => "input".to_owned(),
        Op::Dense { weight, .. } => format!("dense {}", outputs(weight)),
        Op::Conv {
            weight,
            window,
            groups,
            ..
        } => {
            let groups = match groups {
                1 => String::new(),
                n => format!(", {n} groups"),
            };
            format!(
                "conv {}, {}{groups}",
                outputs(weight),
                slide(window, window.stride == [1, 1], flat)
            )
        }
        Op::Local { weight, window, .. } => {
            format!(
                "local {}, {}",
                outputs(weight),
                slide(window, window.stride == [1, 1], flat)
            )
        }
        Op::Bias { .. } => "bias".to_owned(),
        Op::Scale { by } => format!("scale {}", Short(*by)),
        Op::Dropout { rate } => format!("dropout {rate}"),
        Op::Activation(activation) => activation.to_string(),
        Op::MaxPool(window) => format!(
            "max-pool {}",
            slide(window, window.stride == window.kernel, flat)
        ),
        Op::AvgPool(window) => format!(
            "avg-pool {}",
            slide(window, window.stride == window.kernel, flat)
        ),
        Op::GlobalAvgPool => "global-avg-pool".to_owned(),
        Op::Flatten => "flatten".to_owned(),
        Op::Add => "add".to_owned(),
        Op::Concat => "concat".to_owned(),
        Op::BatchNorm { .. } => "batch-norm".to_owned(),
        Op::LayerNorm { .. } => "layer-norm".to_owned(),
        Op::GroupNorm { groups, .. } => format!("group-norm, {groups} groups"),
        Op::RmsNorm { .. } => "rms-norm".to_owned(),
        Op::ToTokens => "tokens".to_owned(),
        Op::ClassToken { .. } => "class-token".to_owned(),
        Op::Position { .. } => "position".to_owned(),
        Op::TakeToken { index } => format!("take-token {index}"),
        Op::Attention { heads, .. } => format!("attention, {heads} heads"),
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

/// Trainable parameters of an op with their forward scales.
pub(super) fn trainable(op: &Op) -> Vec<(ParamId, f64)> {
    match *op {
        Op::Dense { weight, scale }
        | Op::Conv { weight, scale, .. }
        | Op::Local { weight, scale, .. } => vec![(weight, scale)],
        Op::Bias { bias, scale } => vec![(bias, scale)],
        Op::BatchNorm { weight, bias, .. }
        | Op::LayerNorm { weight, bias, .. }
        | Op::GroupNorm { weight, bias, .. } => vec![(weight, 1.0), (bias, 1.0)],
        Op::RmsNorm { weight, .. } => vec![(weight, 1.0)],
        Op::ClassToken { token } => vec![(token, 1.0)],
        Op::Position { embedding } => vec![(embedding, 1.0)],
        Op::Attention {
            in_weight,
            in_bias,
            out_weight,
            out_bias,
            scale,
            bias_scale,
            ..
        } => {
            let bias = |id: Option<ParamId>| id.map(|id| (id, bias_scale));
            let parts = [
                Some((in_weight, scale)),
                bias(in_bias),
                Some((out_weight, scale)),
                bias(out_bias),
            ];
            parts.into_iter().flatten().collect()
        }
        Op::Input
        | Op::Scale { .. }
        | Op::Dropout { .. }
        | Op::Activation(_)
        | Op::MaxPool(_)
        | Op::AvgPool(_)
        | Op::GlobalAvgPool
        | Op::Flatten
        | Op::Add
        | Op::Concat
        | Op::ToTokens
        | Op::TakeToken { .. } => Vec::new(),
    }
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
