//! What is said of every kind of motion, with the numbers that carry it.

use polariscope_graph::Shape;
use polariscope_report::{Align, Table};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::super::answer::{SAME_RUN, number};
use super::check::Checked;
use super::kind::Kind;
use super::motion::Motion;

/// Kernels that change by more than this are others.
const VISIBLE: f64 = 1e-6;

/// Whether a network has a symmetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// By proof.
    Has,
    /// By a measurement that a network with it could not give.
    HasNot,
    /// Neither was found.
    NotKnown,
}

impl Known {
    /// For a table.
    pub fn words(self) -> &'static str {
        match self {
            Known::Has => "has",
            Known::HasNot => "has not",
            Known::NotKnown => "not known",
        }
    }
}

/// One kind of motion: what is known and by which numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// `flips left-right`.
    pub motion: String,
    /// Whether the learning system has it.
    pub answer: Known,
    /// Translations by multiples of so many positions are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiples: Option<usize>,
    /// Whether it has smaller translations too, where multiples are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smaller: Option<Known>,
    /// Whether every single network gives a moved sample the same output.
    pub every_network: bool,
    /// Why it has it, or where no proof goes on.
    pub proof: String,
    /// Relative change of the kernels under what it has (the larger of NNGP and NTK).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_change: Option<f64>,
    /// Relative change of the outputs from weights that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_change: Option<f64>,
    /// Relative distance of the predictions of trained twins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_distance: Option<f64>,
    /// The least change of the kernels under what it was not found to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_kernel_change: Option<f64>,
    /// How sampled networks tell what it was not found to have: ln of the ratio of squared outputs for a line of noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_output_ratio: Option<Estimate>,
}

impl Place {
    /// From what was measured; `exact` says that the kernels are those of the infinitely wide network.
    pub fn new(checked: &Checked, shape: Shape, exact: bool) -> Self {
        let deduced = &checked.deduced;
        let seen = checked.lost_kernel.is_some_and(|change| change > VISIBLE);
        let denied = match exact && seen || checked.lost_sampled.is_some() {
            true => Known::HasNot,
            false => Known::NotKnown,
        };
        let blanked = checked.blanked.is_some_and(|change| change > SAME_RUN);
        let step = deduced
            .follows
            .as_ref()
            .and_then(|(motion, _)| match motion {
                Motion::Shift { by, .. } => Some(*by),
                Motion::Flip(_) | Motion::Transpose | Motion::Turn => None,
            });
        let lost = deduced.lost.first();
        let every_network = (deduced.follows.as_ref()).is_some_and(|(_, f)| f.by_every_network());
        let lost_at = lost.map(|(_, lost)| format!("{} {}.", lost.layer, lost.why));
        Place {
            motion: deduced.kind.name(shape),
            answer: match (&deduced.follows, deduced.kind) {
                (Some(_), _) => Known::Has,
                (None, Kind::Filled) if blanked => Known::HasNot,
                (None, _) => denied,
            },
            multiples: step.filter(|by| *by > 1),
            smaller: step.filter(|by| *by > 1).map(|_| denied),
            every_network,
            proof: match (deduced.follows.is_some(), deduced.kind) {
                (_, Kind::Filled) => {
                    "Repeated, it blanks every sample, so a network that has it gives every sample the same output.".into()
                }
                (true, _) if every_network => {
                    "Every layer hands it on and the output forgets it, whatever the weights.".into()
                }
                (true, _) => {
                    "Weights that move along give the same outputs and are as likely; every optimiser moves them alike.".into()
                }
                (false, _) => lost_at.unwrap_or_default(),
            },
            kernel_change: checked.kernel,
            output_change: checked.outputs,
            run_distance: checked.twins,
            refused_kernel_change: checked.lost_kernel,
            refused_output_ratio: checked.lost_sampled,
        }
    }

    /// `cyclic translations left-right by multiples of 2`.
    pub fn name(&self) -> String {
        match self.multiples {
            None => self.motion.clone(),
            Some(by) => format!("{} by multiples of {by}", self.motion),
        }
    }

    /// The numbers that deny what was not proved.
    pub(super) fn against(&self) -> String {
        match (self.refused_kernel_change, self.refused_output_ratio) {
            (Some(change), _) => format!("kernels change by {}", number(Some(change))),
            (None, Some(ratio)) => format!(
                "sampled networks answer {} times as strongly",
                Estimate {
                    value: ratio.value.exp(),
                    standard_error: ratio.value.exp() * ratio.standard_error,
                    ..ratio
                }
                .pair()
            ),
            (None, None) => "repeated, they blank every sample".into(),
        }
    }
}

/// For people.
pub fn table(places: &[Place]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("motion", Left),
        ("learning system", Left),
        ("kernels change by", Right),
        ("trained twins differ by", Right),
    ]);
    for place in places {
        let kernel = match place.answer {
            Known::Has => place.kernel_change,
            Known::HasNot | Known::NotKnown => place.refused_kernel_change,
        };
        let answer = match place.multiples {
            None => place.answer.words().to_owned(),
            Some(by) => format!("{}, by multiples of {by}", place.answer.words()),
        };
        table.push([
            place.motion.as_str().into(),
            answer.into(),
            number(kernel).into(),
            number(place.run_distance).into(),
        ]);
    }
    table
}

/// For programs.
pub fn table_for_files(places: &[Place]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("motion", Left),
        ("answer", Left),
        ("multiples", Right),
        ("smaller", Left),
        ("every_network", Left),
        ("kernel_change", Right),
        ("output_change", Right),
        ("run_distance", Right),
        ("refused_kernel_change", Right),
        ("refused_output_ratio", Right),
        ("refused_output_ratio_error", Right),
    ]);
    let plain = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for place in places {
        let ratio = place.refused_output_ratio;
        table.push([
            place.motion.as_str().into(),
            place.answer.words().into(),
            place
                .multiples
                .map_or(String::new(), |n| n.to_string())
                .into(),
            place.smaller.map_or("", Known::words).into(),
            place.every_network.to_string().into(),
            plain(place.kernel_change).into(),
            plain(place.output_change).into(),
            plain(place.run_distance).into(),
            plain(place.refused_kernel_change).into(),
            plain(ratio.map(|r| r.value)).into(),
            plain(ratio.map(|r| r.standard_error)).into(),
        ]);
    }
    table
}
