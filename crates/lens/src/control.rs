//! Controls: numbers that theory knows, measured on the user's machine.
//!
//! Every lens has a [`Group`] of [`Control`]s, and what computes on a GPU has [`Comparison`]s with the CPU.

use serde::Serialize;

/// One comparison with a known answer.
#[derive(Clone, Copy)]
pub struct Control {
    /// The claim, in a line.
    pub claim: &'static str,
    /// What theory says.
    pub expected: f64,
    /// How far the measured number may lie from it.
    pub tolerance: f64,
    /// Measures it.
    pub measure: fn() -> Result<f64, Fault>,
}

/// A comparison of a GPU with the CPU, whose difference should be 0.
#[derive(Clone, Copy)]
pub struct Comparison {
    /// What is compared, in a line.
    pub claim: &'static str,
    /// How far the numbers may differ.
    pub tolerance: f64,
    /// How far they do on GPU number n.
    pub measure: fn(usize) -> Result<f64, Fault>,
}

/// Why a control could not be measured; it counts as failed.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The controls of one part of the program.
#[derive(Clone, Copy)]
pub struct Group {
    /// What to type.
    pub name: &'static str,
    /// The controls, in the order of the table.
    pub controls: &'static [Control],
}

/// What came of a control.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Name of the group.
    pub group: &'static str,
    /// The claim.
    pub control: &'static str,
    /// What theory says.
    pub expected: f64,
    /// What was found; `None` where it could not be measured.
    pub measured: Option<f64>,
    /// How far the two may differ.
    pub tolerance: f64,
    /// Whether they agree.
    pub pass: bool,
    /// Why it could not be measured; settings are named as [`crate::Setting`] says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A row of a table of controls.
pub const fn control(
    claim: &'static str,
    expected: f64,
    tolerance: f64,
    measure: fn() -> Result<f64, Fault>,
) -> Control {
    Control {
        claim,
        expected,
        tolerance,
        measure,
    }
}

/// A row of a table of comparisons.
pub const fn comparison(
    claim: &'static str,
    tolerance: f64,
    measure: fn(usize) -> Result<f64, Fault>,
) -> Comparison {
    Comparison {
        claim,
        tolerance,
        measure,
    }
}

impl Control {
    /// Measures and judges.
    pub fn run(&self, group: &'static str) -> Outcome {
        Outcome::new(
            group,
            self.claim,
            self.expected,
            self.tolerance,
            (self.measure)(),
        )
    }
}

impl Comparison {
    /// Measures on GPU number `ordinal` and judges.
    pub fn run(&self, group: &'static str, ordinal: usize) -> Outcome {
        let measured = (self.measure)(ordinal);
        Outcome::new(group, self.claim, 0.0, self.tolerance, measured)
    }
}

impl Outcome {
    /// Judges what was measured.
    fn new(
        group: &'static str,
        control: &'static str,
        expected: f64,
        tolerance: f64,
        measured: Result<f64, Fault>,
    ) -> Self {
        let (measured, fault) = match measured {
            Ok(x) => (Some(x), None),
            Err(e) => (None, Some(e.to_string())),
        };
        Outcome {
            group,
            control,
            expected,
            measured,
            tolerance,
            // NaN is never within the tolerance.
            pass: measured.is_some_and(|x| (x - expected).abs() <= tolerance),
            fault,
        }
    }
}

/// The largest difference between two lists of numbers; NaN, which no control lets pass, where one of them has it or is
/// longer.
pub fn farthest(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    // `f64::max` would drop NaN.
    differences.fold(
        0.0,
        |most, d| {
            if most.is_nan() || d <= most { most } else { d }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_farthest() {
        assert_eq!(farthest(&[1.0, 5.0, 2.0], &[1.0, 2.0, 4.0]), 3.0);
        for (a, b) in [
            (&[1.0, f64::NAN, 2.0][..], &[0.0; 3][..]),
            (&[f64::NAN; 2], &[f64::NAN; 2]),
            (&[1.0], &[1.0, 2.0]),
        ] {
            assert!(farthest(a, b).is_nan());
        }
    }

    fn outcome(measure: fn() -> Result<f64, Fault>) -> Outcome {
        let control = Control {
            claim: "",
            expected: 1.0,
            tolerance: 0.5,
            measure,
        };
        control.run("test")
    }

    #[test]
    fn a_gpu_is_compared_with_its_number_and_zero() {
        let claim = comparison("", 0.5, |n| Ok(n as f64));
        assert!(claim.run("test", 0).pass && !claim.run("test", 1).pass);
        assert_eq!(claim.run("test", 1).expected, 0.0);
    }

    #[test]
    fn judgement() {
        assert!(outcome(|| Ok(1.5)).pass && outcome(|| Ok(0.5)).pass);
        assert!(!outcome(|| Ok(1.6)).pass && !outcome(|| Ok(f64::NAN)).pass);
        let failed = outcome(|| Err("no network".into()));
        assert!(!failed.pass && failed.fault.as_deref() == Some("no network"));
        // Whoever shows it writes the setting in its own way.
        let failed = outcome(|| Err("needs ‹probe zero›".into()));
        assert_eq!(failed.fault.as_deref(), Some("needs ‹probe zero›"));
    }
}
