//! What an op is to a map that has changed in a patch.

use polariscope_graph::{Op, ParamId, Shape, Window};

use super::linear::Factor;

/// The kinds of ops that patches tell apart.
pub enum Class {
    /// The input.
    Input,
    /// Each number alone; the derivative of an affine op does not depend on the number.
    Elementwise(Option<Factor>),
    /// A convolution.
    Conv(Conv),
    /// A pool.
    Pool(Window, Pool),
    /// A sum or a concatenation.
    Join(Join),
    /// A matrix: local only in that it turns one number into one column.
    Dense {
        /// W.
        weight: ParamId,
        /// Factor on W.
        scale: f64,
    },
    /// The same numbers as a vector.
    Flatten,
    /// Everything depends on everything, or on weights of its own.
    Global,
}

/// A convolution.
#[derive(Clone, Copy, Debug)]
pub struct Conv {
    /// W.
    pub weight: ParamId,
    /// Factor on W.
    pub scale: f64,
    /// Kernel, stride, dilation, padding.
    pub window: Window,
    /// Channel groups.
    pub groups: usize,
}

/// How a window becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The largest.
    Max,
    /// The mean.
    Average,
}

/// How several maps become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Sum.
    Add,
    /// Channels one after the other.
    Concat,
}

/// The kind of an op.
pub fn classify(op: &Op) -> Class {
    match *op {
        Op::Input => Class::Input,
        Op::Dense { weight, scale } => Class::Dense { weight, scale },
        Op::Conv {
            weight,
            scale,
            window,
            groups,
        } => Class::Conv(Conv {
            weight,
            scale,
            window,
            groups,
        }),
        Op::Bias { .. } | Op::Dropout { .. } => Class::Elementwise(Some(Factor::Constant(1.0))),
        Op::Scale { by } => Class::Elementwise(Some(Factor::Constant(by))),
        Op::BatchNorm {
            weight,
            running_var,
            eps,
            ..
        } => Class::Elementwise(Some(Factor::Norm {
            weight,
            variance: running_var,
            eps,
        })),
        Op::Activation(_) => Class::Elementwise(None),
        Op::MaxPool(window) => Class::Pool(window, Pool::Max),
        Op::AvgPool(window) => Class::Pool(window, Pool::Average),
        Op::Add => Class::Join(Join::Add),
        Op::Concat => Class::Join(Join::Concat),
        Op::Flatten => Class::Flatten,
        Op::Local { .. }
        | Op::GlobalAvgPool
        | Op::LayerNorm { .. }
        | Op::GroupNorm { .. }
        | Op::RmsNorm { .. }
        | Op::ToTokens
        | Op::ClassToken { .. }
        | Op::Position { .. }
        | Op::TakeToken { .. }
        | Op::Attention { .. } => Class::Global,
    }
}

/// Channels, rows and columns of a sample; tokens have none.
pub fn view(shape: Shape) -> Option<[usize; 3]> {
    match shape {
        Shape::Vector { features } => Some([features, 1, 1]),
        Shape::Signal { channels, length } => Some([channels, 1, length]),
        Shape::Image {
            channels,
            height,
            width,
        } => Some([channels, height, width]),
        Shape::Tokens { .. } => None,
    }
}
