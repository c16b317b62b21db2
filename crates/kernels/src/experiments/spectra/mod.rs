//! Eigenvalue decay on products of spheres (Fig 5): the exact levels of one-hidden-layer ReLU NTKs against sampled
//! points, and how they decay with the dimension d = p d0.
//!
//! A class of degrees r⃗ with |r⃗| = r has λ ~ d^{−r} for FCN and λ ~ p^{−1}(s d0)^{−r} for VEC and GAP (Thm 4.1). With d0
//! and s fixed, λ falls as p^{−r} and as p^{−1}. Eigenvalues are estimated class by class from pairs of m points
//! ([`fit`]).

mod settings;
mod view;

use std::collections::HashMap;

use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Memo, Scale, Select, Test, Wanted, exponent,
};
use polariscope_stats::superscript;

use super::ExperimentError;
use crate::spheres::{Level, Points, Product, Profile, Spectrum, System, fit};
pub(super) use settings::ENTRY;

/// Orders r⃗ that are estimated.
const ORDER: usize = 2;
/// How far a fitted exponent may be from that of the leading order.
const TOLERANCE: f64 = 0.15;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectraSizes {
    /// Numbers p of mini-patches, smallest first.
    pub patches: Vec<usize>,
    /// Numbers in a mini-patch.
    pub d0: usize,
    /// Mini-patches in a patch.
    pub s: usize,
    /// Points.
    pub points: usize,
    /// Runs: draws of the points.
    pub runs: u64,
    /// Seed of the points.
    pub seed: u64,
}

/// The experiment.
pub struct Spectra {
    sizes: SpectraSizes,
    profile: Profile,
    spectra: HashMap<(&'static str, usize), Spectrum>,
    /// By system, p and run.
    estimated: Memo<(&'static str, usize, u64), Estimated>,
}

/// λ and its error of every class of a draw, which are estimated together.
type Estimated = Vec<(f64, f64)>;

impl Spectra {
    /// Computes the exact levels of `profile`.
    pub fn new(sizes: SpectraSizes, profile: Profile) -> Result<Self, ExperimentError> {
        let mut spectra = HashMap::new();
        for &p in &sizes.patches {
            let product = Product::new(p, sizes.d0, sizes.s)?;
            for system in System::ALL {
                let spectrum = Spectrum::to_order(system, product, &profile, ORDER)?;
                spectra.insert((system.name(), p), spectrum);
            }
        }
        Ok(Spectra {
            sizes,
            profile,
            spectra,
            estimated: Memo::default(),
        })
    }

    /// The levels of a cell's spectrum.
    fn spectrum(&self, system: System, p: usize) -> Option<&Spectrum> {
        self.spectra.get(&(system.name(), p))
    }

    /// The place of a class among the levels.
    fn place(&self, system: System, p: usize, class: &str) -> Option<usize> {
        let levels = &self.spectrum(system, p)?.levels;
        levels.iter().position(|l| label(l) == class)
    }

    /// λ and its error, level by level, from the points of a run.
    fn estimate(&self, spectrum: &Spectrum, run: u64) -> Result<Vec<(f64, f64)>, ExperimentError> {
        let (seed, count) = (self.sizes.seed, self.sizes.points);
        let points = Points::draw(spectrum.product, count, seed, run);
        let mut found = vec![(f64::NAN, f64::NAN); spectrum.levels.len()];
        for fitted in fit(spectrum, &self.profile, &points, ORDER)? {
            let e = fitted.eigenvalue;
            found[fitted.level] = (e.value, e.standard_error);
        }
        Ok(found)
    }

    /// Every class of any spectrum.
    fn classes(&self) -> Vec<String> {
        let levels = self.spectra.values().flat_map(|s| &s.levels);
        let mut all: Vec<(usize, String)> = levels.map(|l| (l.order, label(l))).collect();
        all.sort();
        all.dedup();
        all.into_iter().map(|(_, class)| class).collect()
    }
}

/// Degrees with the way from the first to the last: `2`, `1.1` for neighbours, `1..1` with one between.
fn label(level: &Level) -> String {
    let r = &level.degrees;
    let last = r.iter().rposition(|&r| r > 0).unwrap_or(0);
    let shown = r[..=last].iter().map(|&r| match r {
        0 => String::new(),
        r => r.to_string(),
    });
    match level.order {
        0 => "0".to_owned(),
        _ => shown.collect::<Vec<_>>().join("."),
    }
}

/// The system of a name.
fn system(name: &str) -> System {
    let found = System::ALL.into_iter().find(|s| s.name() == name);
    found.unwrap_or(System::Fcn)
}

impl Experiment for Spectra {
    type Error = ExperimentError;

    fn design(&self) -> Design {
        let patches: Vec<String> = self.sizes.patches.iter().map(usize::to_string).collect();
        let patches: Vec<&str> = patches.iter().map(String::as_str).collect();
        let classes = self.classes();
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        let systems = System::ALL.map(System::name);
        let factors: [(&str, &[&str]); 3] =
            [("system", &systems), ("p", &patches), ("class", &classes)];
        let measures = ["eigenvalue", "theory", "multiplicity", "z"];
        let design = Design::product(&factors, self.sizes.runs, &measures);
        design.retain(|cell| {
            let p = cell.level("p").parse().unwrap_or(0);
            let place = self.place(system(cell.level("system")), p, cell.level("class"));
            place.is_some()
        })
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims: Vec<Claim> = System::ALL
            .iter()
            .map(|s| {
                Claim::new(
                    format!(
                        "{}: every eigenvalue is the exact one but for sampling",
                        s.name()
                    ),
                    Test::Scatter {
                        measure: "z",
                        at: Select::of(&[("system", s.name())]),
                    },
                )
            })
            .collect();
        for system in System::ALL {
            for (class, order) in [("1", 1), ("2", 2)] {
                let power = match system {
                    System::Fcn => -order,
                    System::Vec | System::Gap => -1,
                };
                let point = |&p: &usize| {
                    let levels = [
                        ("system", system.name()),
                        ("p", &p.to_string()),
                        ("class", class),
                    ];
                    (p as f64, Select::of(&levels))
                };
                let points: Vec<(f64, Select)> = self.sizes.patches.iter().map(point).collect();
                claims.push(Claim::new(
                    format!(
                        "{}: eigenvalues of degree {class} fall as p{}",
                        system.name(),
                        superscript(power)
                    ),
                    Test::Contrast {
                        measure: "eigenvalue",
                        scale: Scale::Log,
                        terms: exponent(&points),
                        wanted: Wanted::Near {
                            value: f64::from(power),
                            tolerance: TOLERANCE,
                        },
                    },
                ));
            }
        }
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, ExperimentError> {
        let system = system(cell.level("system"));
        let p: usize = cell.level("p").parse().unwrap_or(0);
        let (Some(place), Some(spectrum)) = (
            self.place(system, p, cell.level("class")),
            self.spectrum(system, p),
        ) else {
            return Ok(vec![f64::NAN; 4]);
        };
        let level = spectrum.levels[place].clone();
        let draw = (system.name(), p, cell.run);
        let make = || self.estimate(spectrum, cell.run);
        let (value, error) = self.estimated.get(draw, make)?[place];
        Ok(vec![
            value,
            level.eigenvalue,
            level.multiplicity as f64,
            (value - level.eigenvalue) / error,
        ])
    }

    fn cost(&self, cell: &Cell) -> f64 {
        // Only the first class of a draw is work; GAP averages over shifts.
        let p: f64 = cell.level("p").parse().unwrap_or(1.0);
        match system(cell.level("system")) {
            System::Fcn => p * p,
            System::Vec => p,
            System::Gap => p * p,
        }
    }
}
