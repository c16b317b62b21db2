//! Levels of the spectrum: eigenvalue, multiplicity, degrees.

use serde::{Deserialize, Serialize};

use super::classes::classes;
use super::coefficients::coefficients;
use super::{Profile, SphereError};

/// Orders beyond this are not looked at when eigenvalues are counted.
const HIGHEST: usize = 12;

/// p spheres of dimension d0 on a circle, s of them in a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    p: usize,
    d0: usize,
    s: usize,
}

impl Product {
    /// p ≥ 1, d0 ≥ 1, 1 ≤ s ≤ p.
    pub fn new(p: usize, d0: usize, s: usize) -> Result<Self, SphereError> {
        for (name, size) in [("p", p), ("d0", d0), ("s", s)] {
            if size == 0 {
                return Err(SphereError::Zero { name });
            }
        }
        if s > p {
            return Err(SphereError::Patch { s, p });
        }
        Ok(Self { p, d0, s })
    }

    /// Mini-patches.
    pub fn p(self) -> usize {
        self.p
    }

    /// Numbers in a mini-patch.
    pub fn d0(self) -> usize {
        self.d0
    }

    /// Mini-patches in a patch.
    pub fn s(self) -> usize {
        self.s
    }

    /// d = p d0.
    pub fn dim(self) -> usize {
        self.p * self.d0
    }
}

/// How the hidden layer looks at the input and is read out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// Fully connected.
    Fcn,
    /// Convolution, flattened. Locally connected layers have the same kernel.
    Vec,
    /// Convolution, averaged over positions.
    Gap,
}

impl System {
    /// All of them.
    pub const ALL: [System; 3] = [System::Fcn, System::Vec, System::Gap];

    /// `FCN`, `VEC` or `GAP`.
    pub fn name(self) -> &'static str {
        match self {
            System::Fcn => "FCN",
            System::Vec => "VEC",
            System::Gap => "GAP",
        }
    }
}

/// One eigenvalue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// |r⃗|.
    pub order: usize,
    /// One of the r⃗ of this level; the others have the same degrees and lie in as many windows.
    pub degrees: Vec<usize>,
    /// λ.
    pub eigenvalue: f64,
    /// Independent eigenfunctions.
    pub multiplicity: u64,
}

/// The spectrum up to an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    /// Whose it is.
    pub system: System,
    /// On which inputs.
    pub product: Product,
    /// Degrees r⃗ with |r⃗| up to this are listed.
    pub order: usize,
    /// Largest eigenvalue first; eigenvalues of 0 are below [`RESOLUTION`](super::RESOLUTION).
    pub levels: Vec<Level>,
    /// E K(ξ, ξ) = Σ λ over all orders, where it has a closed form: k(1) for FCN and VEC;
    /// (k(1) + (p − 1) c_0)/p for GAP with s ≤ p/2, where shifted patches meet in independent cosines.
    pub trace: Option<f64>,
}

impl Spectrum {
    /// Every level with |r⃗| ≤ `order`.
    pub fn to_order(
        system: System,
        product: Product,
        profile: &Profile,
        order: usize,
    ) -> Result<Self, SphereError> {
        let classes = classes(system, product, order)?;
        let window = match system {
            System::Fcn => product.p,
            System::Vec | System::Gap => product.s,
        };
        let c = coefficients(profile, product.d0, window, order)?;
        let p = product.p as f64;
        let level = |class: super::classes::Class| {
            let c = c.get(&class.degrees).copied().unwrap_or(0.0);
            Level {
                order: class.degrees.iter().sum(),
                eigenvalue: c * class.windows as f64 / p,
                degrees: class.example,
                multiplicity: class.multiplicity,
            }
        };
        let mut levels: Vec<Level> = classes.into_iter().map(level).collect();
        levels.sort_by(|a, b| {
            let by_order = a.order.cmp(&b.order);
            let by_degrees = b.degrees.cmp(&a.degrees);
            let by_value = b.eigenvalue.total_cmp(&a.eigenvalue);
            by_value.then(by_order).then(by_degrees)
        });
        let (k1, c0) = (profile.at(1.0), c.get(&Vec::new()).copied().unwrap_or(0.0));
        let trace = match system {
            System::Fcn | System::Vec => Some(k1),
            System::Gap if 2 * product.s <= product.p || product.p == 1 => {
                Some((k1 + (p - 1.0) * c0) / p)
            }
            System::Gap => None,
        };
        Ok(Self {
            system,
            product,
            order,
            levels,
            trace,
        })
    }

    /// Levels up to the first order at which `count` eigenvalues above 0 are listed; order 12 at most, or
    /// the last one that can be listed.
    pub fn covering(
        system: System,
        product: Product,
        profile: &Profile,
        count: u64,
    ) -> Result<Self, SphereError> {
        let mut spectrum = Self::to_order(system, product, profile, 2)?;
        for order in 3..=HIGHEST {
            if spectrum.count() >= count {
                break;
            }
            spectrum = match Self::to_order(system, product, profile, order) {
                Err(SphereError::Classes { .. }) => break,
                next => next?,
            };
        }
        Ok(spectrum)
    }

    /// Eigenvalues above 0 that are listed, with multiplicity.
    pub fn count(&self) -> u64 {
        let seen = self.levels.iter().filter(|l| l.eigenvalue > 0.0);
        seen.fold(0, |n, l| n.saturating_add(l.multiplicity))
    }

    /// Σ λ over the listed levels.
    pub fn listed(&self) -> f64 {
        let terms = self.levels.iter();
        terms.map(|l| l.eigenvalue * l.multiplicity as f64).sum()
    }

    /// The listed part of the trace.
    pub fn share(&self) -> Option<f64> {
        self.trace.map(|t| self.listed() / t)
    }
}
