//! What an op is to a map that has changed in a patch.

use polariscope_graph::{Op, ParamId, Passage, Shape, Window};

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
    match op.facts().passage {
        Passage::Input => Class::Input,
        Passage::Dense { weight, scale } => Class::Dense { weight, scale },
        Passage::Conv {
            weight,
            scale,
            window,
            groups,
        } => Class::Conv(Conv {
            weight,
            scale,
            window: *window,
            groups,
        }),
        Passage::Bias { .. } | Passage::Same => Class::Elementwise(Some(Factor::Constant(1.0))),
        Passage::Scale { by } => Class::Elementwise(Some(Factor::Constant(by))),
        Passage::BatchNorm {
            weight,
            running_var,
            eps,
            ..
        } => Class::Elementwise(Some(Factor::Norm {
            weight,
            variance: running_var,
            eps,
        })),
        Passage::Activation(_) => Class::Elementwise(None),
        Passage::MaxPool(window) => Class::Pool(*window, Pool::Max),
        Passage::AvgPool(window) => Class::Pool(*window, Pool::Average),
        Passage::Add => Class::Join(Join::Add),
        Passage::Concat => Class::Join(Join::Concat),
        Passage::Flatten => Class::Flatten,
        Passage::Local { .. } | Passage::GlobalAvgPool | Passage::Norm(_) | Passage::Other(_) => {
            Class::Global
        }
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
