//! Settings of a gradient flow.

use serde::{Deserialize, Serialize};

use crate::{Loss, Origin, TrainError};

/// A gradient flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct FlowConfig {
    /// ℓ.
    pub loss: Loss,
    /// α.
    pub alpha: f64,
    /// f₀.
    pub origin: Origin,
    /// dt of the first attempt.
    pub first_dt: f64,
    /// Bound on the change of α f in a step.
    pub max_output_change: f64,
    /// Bound on the relative change of the gradient in a step.
    pub max_gradient_change: f64,
    /// Stop when every y F is above this; `inf` for never.
    pub margin: f64,
    /// Stop at this time exactly; `inf` for never.
    pub max_time: f64,
    /// Stop after this many accepted steps.
    pub max_steps: u64,
    /// Accepted steps a row of the history.
    pub row_every: u64,
}

impl Default for FlowConfig {
    fn default() -> Self {
        FlowConfig {
            loss: Loss::SoftHinge {
                beta: 20.0,
                margin: 1.0,
            },
            alpha: 1.0,
            origin: Origin::Zero,
            first_dt: 1.0,
            max_output_change: 0.1,
            max_gradient_change: 1e-4,
            margin: 1.0,
            max_time: f64::INFINITY,
            max_steps: 100_000,
            row_every: 10,
        }
    }
}

/// Factor on dt after a refused step.
const SHRINK: f64 = 0.1;
/// Factor on dt after a step well inside the bounds.
const GROW: f64 = 1.1;

/// What becomes of a step that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is not made: something changes too much.
    Refused,
    /// It is made.
    Accepted,
    /// It is made, and a longer one may be tried next.
    Easy,
}

impl Tried {
    /// Factor on dt.
    pub fn factor(self) -> f64 {
        match self {
            Tried::Refused => SHRINK,
            Tried::Accepted => 1.0,
            Tried::Easy => GROW,
        }
    }
}

impl FlowConfig {
    /// What becomes of a step that changes α f by `output` at most and the gradient by `gradient`, relatively.
    pub fn judge(&self, output: f64, gradient: f64) -> Tried {
        let (output, gradient) = (
            output / self.max_output_change,
            gradient / self.max_gradient_change,
        );
        if output < 0.5 && gradient < 0.5 {
            Tried::Easy
        } else if output < 1.0 && gradient < 1.0 {
            Tried::Accepted
        } else {
            // NaN comes here.
            Tried::Refused
        }
    }

    /// With another loss, and the margin that goes with it.
    pub fn of(loss: Loss) -> Self {
        let default = FlowConfig::default();
        let margin = match loss {
            // A target that is met exactly has no far side.
            Loss::Mse | Loss::Sse => f64::INFINITY,
            Loss::CrossEntropy | Loss::Hinge { .. } | Loss::SoftHinge { .. } => default.margin,
        };
        FlowConfig {
            loss,
            margin,
            ..default
        }
    }

    /// Checks every number.
    pub fn check(&self) -> Result<(), TrainError> {
        self.loss.check()?;
        let positive = [
            ("alpha", self.alpha),
            ("first-dt", self.first_dt),
            ("max-output-change", self.max_output_change),
            ("max-gradient-change", self.max_gradient_change),
        ];
        for (setting, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(TrainError::Setting {
                    setting,
                    value,
                    wanted: "a finite number above 0",
                });
            }
        }
        let limits = [
            ("margin", self.margin, f64::NEG_INFINITY),
            ("max-time", self.max_time, 0.0),
        ];
        for (setting, value, above) in limits {
            if value.is_nan() || value <= above {
                let wanted = "a number above 0 (any sign for the margin), or inf for never";
                return Err(TrainError::Setting {
                    setting,
                    value,
                    wanted,
                });
            }
        }
        let counts = [("max-steps", self.max_steps), ("row-every", self.row_every)];
        match counts.into_iter().find(|(_, count)| *count == 0) {
            None => Ok(()),
            Some((setting, _)) => Err(TrainError::Setting {
                setting,
                value: 0.0,
                wanted: "at least 1",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below half of both bounds (0.1 and 1e-4) a step is easy, from either bound on it is refused, and so is NaN.
    #[test]
    fn steps_are_judged_by_both_bounds() {
        let judge = |output, gradient| FlowConfig::default().judge(output, gradient);
        assert_eq!(judge(0.04, 4e-5), Tried::Easy);
        assert_eq!(judge(0.06, 4e-5), Tried::Accepted);
        assert_eq!(judge(0.04, 6e-5), Tried::Accepted);
        assert_eq!(judge(0.1, 0.0), Tried::Refused);
        assert_eq!(judge(0.0, 2e-4), Tried::Refused);
        assert_eq!(judge(f64::NAN, 0.0), Tried::Refused);
        assert_eq!(judge(0.0, f64::NAN), Tried::Refused);
    }
}
