//! What the questions of all lenses share.

use std::fmt;
use std::str::FromStr;

use polariscope_diff::{Device, Place, Precision};
use serde::{Deserialize, Serialize};

/// The seed of every random number, the numbers that are computed with, and where.
///
/// ```
/// use polariscope_lens::{Dtype, Setup};
/// let setup = Setup { seed: 7, ..Setup::default() };
/// assert_eq!((setup.dtype, setup.place().device.to_string()), (Dtype::F32, "cpu".to_string()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// Seed of every random number.
    pub seed: u64,
    /// Precision of the computation.
    pub dtype: Dtype,
    /// Where networks are computed.
    #[serde(with = "text")]
    pub device: Device,
    /// How products of f32 are made on a GPU.
    #[serde(with = "text")]
    pub precision: Precision,
}

impl Setup {
    /// Where networks are computed, and how products are made there.
    pub fn place(&self) -> Place {
        Place {
            device: self.device,
            precision: self.precision,
        }
    }
}

/// Precision of the computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// Single precision.
    #[default]
    F32,
    /// Double precision.
    F64,
}

impl Dtype {
    /// `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "f32" => Ok(Dtype::F32),
            "f64" => Ok(Dtype::F64),
            _ => Err("it is f32 or f64".into()),
        }
    }
}

/// What prints and parses, as text.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<V: Display, S: Serializer>(value: &V, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, V: FromStr<Err = String>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<V, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
