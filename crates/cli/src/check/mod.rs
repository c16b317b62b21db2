//! Controls: numbers that theory knows, measured on the user's machine.
//!
//! A group is a name and a list of [`Control`]s; a lens adds its own group to [`GROUPS`].

mod core;
pub mod device;
mod geometry;
mod kernels;

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

/// Why a control could not be measured; it counts as failed.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The controls of one part of the program.
pub struct Group {
    /// What to type.
    pub name: &'static str,
    /// The controls, in the order of the table.
    pub controls: &'static [Control],
}

/// Every group, in the order in which they run.
pub const GROUPS: &[Group] = &[
    Group {
        name: "core",
        controls: core::CONTROLS,
    },
    Group {
        name: "geometry",
        controls: geometry::CONTROLS,
    },
    Group {
        name: "kernels",
        controls: kernels::CONTROLS,
    },
];

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
    /// Why it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A row of a table of controls.
const fn control(
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
            Err(e) => (None, Some(crate::error::flags(&e.to_string()))),
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn judgement() {
        assert!(outcome(|| Ok(1.5)).pass && outcome(|| Ok(0.5)).pass);
        assert!(!outcome(|| Ok(1.6)).pass && !outcome(|| Ok(f64::NAN)).pass);
        let failed = outcome(|| Err("no network".into()));
        assert!(!failed.pass && failed.fault.as_deref() == Some("no network"));
    }
}
