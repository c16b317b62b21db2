//! What is asked: which deformations, how many images, which averages.

use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_lens::Setup;
use serde::{Deserialize, Serialize};

use crate::SymmetryError;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed of weights, deformations and noise; precision, device.
    pub setup: Setup,
    /// The first so many test images.
    pub images: usize,
    /// δ: the root mean square displacement of pixels.
    pub displacement: f64,
    /// Other displacements that are measured too, from limit to limit.
    pub others: usize,
    /// c: modes of at most so many half waves.
    pub cutoff: usize,
    /// How δ, modes and values between pixels are understood.
    #[serde(flatten)]
    pub rules: Rules,
}

/// How deformations and averages are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Rules {
    /// Which modes are below the cutoff.
    pub modes: ModeRule,
    /// What δ is.
    pub displacement_is: Convention,
    /// Values between pixels.
    pub interpolation: Interpolation,
    /// ⟨·⟩.
    pub average: Average,
    /// ‖η‖.
    pub radius: Radius,
    /// Pairs ⟨‖f(x) − f(z)‖²⟩ is taken over.
    pub pairs: Pairs,
}

/// ⟨·⟩ over images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// The median.
    #[default]
    Median,
    /// The mean.
    Mean,
    /// The median of each output by itself, then the sum over outputs, as in the code of the source.
    Coordinates,
}

impl Average {
    /// Every name with its meaning.
    pub const ALL: [(&'static str, Average); 3] = [
        ("median", Average::Median),
        ("mean", Average::Mean),
        ("coordinates", Average::Coordinates),
    ];
}

/// ‖η‖.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Radius {
    /// ⟨‖τx − x‖⟩, the same for all images.
    #[default]
    Common,
    /// Each image's own ‖τx − x‖, as in the code of the source.
    Own,
}

impl Radius {
    /// Every name with its meaning.
    pub const ALL: [(&'static str, Radius); 2] = [("common", Radius::Common), ("own", Radius::Own)];
}

/// What ⟨‖f(x) − f(z)‖²⟩ is taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Pairs of different images.
    #[default]
    Distinct,
    /// All pairs, those of an image with itself too, and their median: as in the code of the source.
    All,
}

impl Pairs {
    /// Every name with its meaning.
    pub const ALL: [(&'static str, Pairs); 2] =
        [("distinct", Pairs::Distinct), ("all", Pairs::All)];
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            modes: ModeRule::Strict,
            displacement_is: Convention::Exact,
            interpolation: Interpolation::Bilinear,
            average: Average::Median,
            radius: Radius::Common,
            pairs: Pairs::Distinct,
        }
    }
}

impl Rules {
    /// Those of the code of the source.
    pub const CODE: Rules = Rules {
        modes: ModeRule::Code,
        displacement_is: Convention::Nominal,
        interpolation: Interpolation::Bilinear,
        average: Average::Coordinates,
        radius: Radius::Own,
        pairs: Pairs::All,
    };
}

impl Default for Question {
    fn default() -> Self {
        Question {
            setup: Setup::default(),
            images: 500,
            displacement: 1.0,
            others: 5,
            cutoff: 3,
            rules: Rules::default(),
        }
    }
}

impl Question {
    /// Refuses what makes no sense for any data.
    pub fn check(&self) -> Result<(), SymmetryError> {
        let refuse = |message: String| Err(SymmetryError::Question(message));
        if self.images < 20 {
            return refuse(format!(
                "‹images {}› are too few for an interval; give 20 or more",
                self.images
            ));
        }
        if !(self.displacement.is_finite() && self.displacement > 0.0) {
            return refuse(format!(
                "‹displacement {}› must be a number of pixels above 0, such as 1",
                self.displacement
            ));
        }
        Ok(())
    }
}
