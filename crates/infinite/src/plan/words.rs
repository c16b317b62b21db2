//! Names of ops.

use polariscope_graph::Op;

/// As the architecture file spells it.
pub(super) fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Input => "input",
        Op::Dense { .. } => "dense",
        Op::Conv { .. } => "conv",
        Op::Local { .. } => "local",
        Op::Bias { .. } => "bias",
        Op::Scale { .. } => "scale",
        Op::Dropout { .. } => "dropout",
        Op::Activation(activation) => activation.name(),
        Op::MaxPool(_) => "max-pool",
        Op::AvgPool(_) => "avg-pool",
        Op::GlobalAvgPool => "global-avg-pool",
        Op::Flatten => "flatten",
        Op::Add => "residual",
        Op::Concat => "concat",
        Op::BatchNorm { .. } => "batch-norm",
        Op::LayerNorm { .. } => "layer-norm",
        Op::GroupNorm { .. } => "group-norm",
        Op::RmsNorm { .. } => "rms-norm",
        Op::ToTokens => "tokens",
        Op::ClassToken { .. } => "class-token",
        Op::Position { .. } => "position",
        Op::TakeToken { .. } => "take-token",
        Op::Attention { .. } => "attention",
    }
}
