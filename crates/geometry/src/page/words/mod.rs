//! The finding in plain words, derived from the numbers.

mod frequencies;
mod numbers;
mod pixels;
#[cfg(test)]
mod tests;

use polariscope_report::grouped;

use super::View;
use super::reading::{Preference, Reading, Zeros};
use super::scatter::Scatter;
use super::weight::Weight;
use crate::lens::source::Voice;

pub use numbers::percent;
pub(super) use numbers::{about, of_all, pair, share, times};

/// Noise is nearly white where this share of the frequencies is alike.
const WHITE: f64 = 0.9;

/// A few paragraphs: what the architecture sees, and what follows for learning.
pub fn words(view: &View) -> String {
    paragraphs(&view.name, &Reading::of(view))
}

/// The paragraphs of a reading, an empty line between them.
pub(super) fn paragraphs(name: &str, reading: &Reading) -> String {
    let voice = reading.source.voice();
    let mut first = vec![preference(name, reading)];
    first.extend(reading.source.few(reading.dim));
    let mut parts = Vec::new();
    let seen = reading.preference != Preference::Unknown && reading.preference != Preference::None;
    if let Some(sight) = reading.sight.as_ref().filter(|_| seen) {
        let conclusive = reading.source.is_conclusive(reading.dim);
        first.extend(frequencies::sentences(sight, voice, conclusive));
        parts.push(pixels::sentences(&sight.pixels).join(" "));
        if voice == Voice::Coherent {
            parts.extend(frequencies::learning(sight, conclusive));
        }
    }
    parts.insert(0, first.join(" "));
    parts.extend(reading.scatter.as_ref().map(scatter));
    parts.push(caveats(reading).join(" "));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The sentence that the answer begins with: how many directions take part.
pub(super) fn finding(name: &str, reading: &Reading) -> String {
    let said = preference(name, reading);
    match said.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => said,
    }
}

/// Why no directions are drawn.
pub(super) fn undrawn(reading: &Reading) -> &'static str {
    match reading.preference {
        Preference::None => {
            "All directions count alike, so any basis is as good as any other and none is drawn."
        }
        Preference::Unknown => "Noise decides the directions of so small a sample; none is drawn.",
        Preference::Mild | Preference::Strong => {
            "The input is no image, so the directions are not drawn; directions.npy holds them, one a row."
        }
    }
}

/// How many directions take part.
fn preference(name: &str, reading: &Reading) -> String {
    let dim = grouped(reading.dim as u64);
    let voice = reading.source.voice();
    let of = what(voice);
    let takes = of_all(
        reading.directions,
        ("its ", reading.dim, " input directions"),
    );
    // Noise makes large eigenvalues larger and small ones negative: their shares are biased until that is over.
    let head = match reading.negative {
        None => format!(
            ": the first tenth of them carries {} of it",
            share(reading.head.0, reading.head.1)
        ),
        Some(_) => String::new(),
    };
    match reading.preference {
        Preference::Unknown => format!(
            "The sample is too small to say which of its {dim} input directions {name} prefers: noise drowns them. Take more \
             {}.",
            match voice {
                Voice::Given => "inputs (--probes)",
                Voice::Coherent | Voice::Shared | Voice::Sensitivity => {
                    "networks (--samples, --error)"
                }
            }
        ),
        Preference::None => {
            let alike = match reading.sight {
                Some(_) => "All pixels and all spatial frequencies count alike",
                None => "All inputs count alike",
            };
            let learning = match voice {
                Voice::Coherent => {
                    ", and no linear rule is easier to learn than another because of its direction"
                }
                Voice::Shared | Voice::Sensitivity | Voice::Given => "",
            };
            format!(
                "{name} has no preferred direction: {of} is spread evenly over all {dim} input directions. {alike}{learning}."
            )
        }
        Preference::Mild => format!(
            "{name} prefers some directions, but mildly: {of} is spread over about {takes}{head}."
        ),
        Preference::Strong => match voice {
            Voice::Coherent | Voice::Shared => {
                format!("Before training, {of} in {name} lies in about {takes}{head}.")
            }
            Voice::Sensitivity => format!(
                "Before training, the sensitivity of {name} lies along about {takes}{head}."
            ),
            Voice::Given => format!(
                "With the given weights, the sensitivity of {name} lies along about {takes}{head}."
            ),
        },
    }
}

/// What is said of networks that have no closed form.
pub const NO_EVIDENCE: &str = "Whether this predicts what is learnt is not known: for networks that have no closed form, such as those with attention, \
     no geometry was found to order directions as training does (`experiment which-geometry vit`).";

/// What the trace of G is the size of.
fn what(voice: Voice) -> &'static str {
    match voice {
        Voice::Coherent | Voice::Shared => "the gradient that all inputs share",
        Voice::Sensitivity | Voice::Given => "its sensitivity",
    }
}

/// How the local geometry differs.
pub(super) fn scatter(scatter: &Scatter) -> String {
    let shared = percent(scatter.share);
    match &scatter.rest {
        _ if scatter.share >= 0.99 => format!(
            "The local geometry is the same: {shared} of the gradient's variance is shared by all inputs."
        ),
        None => format!(
            "{shared} of the gradient's variance is shared by all inputs; the rest scatters from input to input."
        ),
        Some(rest) if rest.white >= WHITE => format!(
            "{shared} of the gradient's variance is shared by all inputs; the rest scatters from input to input and is nearly \
             white: {} of the frequencies have the same weight in it within 25\u{a0}%.",
            percent(rest.white)
        ),
        Some(rest) => format!(
            "{shared} of the gradient's variance is shared by all inputs; the rest scatters from input to input, with weights \
             that differ by a factor of {} over four fifths of the frequencies.",
            frequencies::factor(rest.spread)
        ),
    }
}

/// Where the geometry vanishes, where it has not converged, where alone it holds.
fn caveats(reading: &Reading) -> Vec<String> {
    let directions = |n: usize| match n {
        1 => "one direction".to_string(),
        n => format!("{} directions", grouped(n as u64)),
    };
    let mut said = Vec::new();
    match reading.zeros {
        Zeros::None => {}
        Zeros::Blind(n) => said.push(format!(
            "To {} it is blind: nothing that the data hold there reaches the output.",
            directions(n)
        )),
        Zeros::Unshared(n) => said.push(format!(
            "Along {} the gradient vanishes on average over inputs, though not at each of them{}.",
            directions(n),
            match reading.source.voice() {
                Voice::Coherent => {
                    ": linear rules there should be learnt last, if at all, though lenet learns some of its own (`experiment \
                     which-geometry`)"
                }
                Voice::Shared | Voice::Sensitivity | Voice::Given => "",
            }
        )),
        Zeros::Here(n) => said.push(format!(
            "Along {} the gradient is zero at the inputs that were taken; elsewhere it need not be.",
            directions(n)
        )),
    }
    if let Some((count, lowest)) = reading.negative {
        said.push(format!(
            "{} of {} eigenvalues are below zero (the lowest is {:.2} of the isotropic one): the sample has not converged. \
             They are drawn as zero, nothing is said of those directions, and the effective rank and the share of the first tenth \
             are biased.",
            grouped(count as u64),
            grouped(reading.dim as u64),
            lowest
        ));
    }
    match reading.source.voice() {
        Voice::Sensitivity => said.push(
            "This is sensitivity, not what is learnt: that is predicted by the coherent geometry (--gradient coherent)."
                .to_string(),
        ),
        Voice::Shared => said.push(NO_EVIDENCE.to_string()),
        Voice::Coherent | Voice::Given => {}
    }
    said
}

/// An exact number as a weight.
fn plain(value: f64) -> Weight {
    Weight { value, error: 0.0 }
}
