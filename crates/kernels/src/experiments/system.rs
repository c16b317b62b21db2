//! The systems that are compared: one trunk, several ways to share weights and to read out.

use std::str::FromStr;

use polariscope_graph::{Graph, Parametrisation, Shape, ZooOptions, zoo};

use super::ExperimentError;
use crate::symmetry::Group;

/// N(0,1) weights; √2 keeps the variance through ReLU layers.
const PARAMETRISATION: Parametrisation = Parametrisation::Ntk {
    w_std: std::f64::consts::SQRT_2,
    b_std: 0.0,
};

/// An architecture, to be trained at some width or taken to infinite width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Fully connected.
    Fcn,
    /// Locally connected.
    Lcn,
    /// Convolutions, flattened.
    Vec,
    /// Convolutions, averaged over 4 × 4 squares.
    Lap4,
    /// Convolutions, averaged over 8 × 8 squares.
    Lap8,
    /// Convolutions, averaged over all positions.
    Gap,
}

impl System {
    /// All of them, largest group first.
    pub const ALL: [System; 6] = [
        System::Fcn,
        System::Lcn,
        System::Vec,
        System::Lap4,
        System::Lap8,
        System::Gap,
    ];

    /// As it stands in a table.
    pub fn name(self) -> &'static str {
        match self {
            System::Fcn => "fcn",
            System::Lcn => "lcn",
            System::Vec => "vec",
            System::Lap4 => "lap4",
            System::Lap8 => "lap8",
            System::Gap => "gap",
        }
    }

    fn zoo_name(self) -> &'static str {
        match self {
            System::Fcn => "fcn",
            System::Lcn => "lcn",
            System::Vec => "cnn-vec",
            System::Lap4 => "cnn-lap4",
            System::Lap8 => "cnn-lap8",
            System::Gap => "cnn-gap",
        }
    }

    /// The group under which the infinitely wide system is invariant (Thm 3.1).
    pub fn group(self) -> Group {
        match self {
            System::Fcn => Group::ALL,
            System::Lcn | System::Vec => Group::EACH_POSITION,
            System::Lap4 | System::Lap8 | System::Gap => Group::CHANNELS,
        }
    }

    /// Whether the kernel needs pairs of positions, which makes it dear.
    pub fn pools(self) -> bool {
        match self {
            System::Fcn | System::Lcn | System::Vec => false,
            System::Lap4 | System::Lap8 | System::Gap => true,
        }
    }

    /// Whether images can be pooled so, and differently from GAP.
    pub fn suits(self, shape: Shape) -> bool {
        let side = match self {
            System::Lap4 => 4,
            System::Lap8 => 8,
            System::Fcn | System::Lcn | System::Vec | System::Gap => return true,
        };
        match shape {
            Shape::Image { height, width, .. } => {
                height.is_multiple_of(side)
                    && width.is_multiple_of(side)
                    && height * width > side * side
            }
            Shape::Vector { .. } | Shape::Signal { .. } | Shape::Tokens { .. } => false,
        }
    }

    /// The network with `depth` hidden layers of `width`.
    pub fn graph(
        self,
        shape: Shape,
        outputs: usize,
        (depth, width): (usize, usize),
    ) -> Result<Graph, ExperimentError> {
        let options = ZooOptions {
            input: Some(shape),
            outputs: Some(outputs),
            parametrisation: Some(PARAMETRISATION),
            depth: Some(depth),
            width: Some(width),
            ..ZooOptions::default()
        };
        Ok(zoo(self.zoo_name(), &options)?)
    }
}

impl FromStr for System {
    type Err = ExperimentError;

    fn from_str(text: &str) -> Result<Self, ExperimentError> {
        let found = System::ALL.into_iter().find(|s| s.name() == text);
        found.ok_or_else(|| ExperimentError::System { name: text.into() })
    }
}
