//! The finding, each sentence where an interval carries it.

use polariscope_report::{counted, pretty};

use super::{Change, Network, Summary};
use crate::value::short;
use crate::{Origin, Value};

/// The finding.
pub(super) fn words(summary: &Summary) -> String {
    let pixels = match summary.displacement {
        1.0 => "1 pixel".to_string(),
        d => format!("{} pixels", pretty(d)),
    };
    let mut text = String::new();
    for (i, network) in summary.networks.iter().enumerate() {
        let opening = match i {
            0 => format!(
                "Deformations of {pixels} (cutoff {}) change the outputs of {} {}",
                summary.cutoff,
                summary.network,
                place(network)
            ),
            _ => format!(" {}, they do", capital(place(network))),
        };
        text += &format!("{opening} {}.", against(network.asked().relative));
    }
    text += &format!(
        " ({} of {}; intervals of 95 % over images.)",
        counted(summary.images as u64, "image"),
        summary.data
    );
    if let Some(change) = &summary.change {
        text += &format!("\n\n{}", learnt(change));
    }
    text
}

fn place(network: &Network) -> &'static str {
    match network.weights {
        Origin::Initial => "at its initial weights",
        Origin::Given => "at the given weights",
        Origin::Trained => "after training",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Against noise of the same size.
fn against(relative: Value) -> String {
    let Value { value, low, high } = relative;
    let what = if high < 1.0 {
        format!(
            "{} times less than noise of the same size",
            short(1.0 / value)
        )
    } else if low > 1.0 {
        format!("{} times more than noise of the same size", short(value))
    } else {
        "as much as noise of the same size, within the error".into()
    };
    format!("{what}: R = {}", relative.words())
}

/// What learning did, and by which of its two parts.
fn learnt(change: &Change) -> String {
    let Change {
        relative,
        deformation,
        noise,
    } = change;
    let lead = if relative.high < 1.0 {
        format!(
            "It learnt relative stability: R is {} of what it was at first",
            relative.words()
        )
    } else if relative.low > 1.0 {
        format!(
            "Learning made it less stable: R is {} times what it was at first",
            relative.words()
        )
    } else {
        format!(
            "Whether learning changed R is not decided: it is {} times what it was at first",
            relative.words()
        )
    };
    let part = |name: &str, value: &Value| {
        if value.high < 1.0 {
            format!("{name} fell to {} of its first value", value.words())
        } else if value.low > 1.0 {
            format!("{name} grew to {} times its first value", value.words())
        } else {
            format!(
                "{name} did not change within its error ({} times)",
                value.words()
            )
        }
    };
    format!(
        "{lead}. Of its two parts, {}, and {}.",
        part("the response to deformations D", deformation),
        part("the response to noise G", noise)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64, low: f64, high: f64) -> Value {
        Value { value, low, high }
    }

    #[test]
    fn each_side_of_one_has_its_words() {
        let said = |low, high| against(value((low + high) / 2.0, low, high));
        assert!(said(0.2, 0.3).starts_with("4 times less"));
        assert!(said(3.0, 5.0).starts_with("4 times more"));
        assert!(
            said(0.9, 1.2).starts_with("as much as") && said(0.9, 1.2).contains("within the error")
        );
        // No interval, no comparison.
        assert!(against(value(0.5, f64::NAN, f64::NAN)).starts_with("as much as"));
    }

    #[test]
    fn learning_is_claimed_where_its_interval_leaves_one() {
        let of = |r: Value, d: Value, g: Value| {
            learnt(&Change {
                relative: r,
                deformation: d,
                noise: g,
            })
        };
        let (fell, grew, same) = (
            value(0.1, 0.05, 0.2),
            value(3.0, 2.0, 4.0),
            value(1.0, 0.8, 1.2),
        );
        let text = of(fell, same, grew);
        assert!(text.starts_with("It learnt relative stability"));
        assert!(text.contains("D did not change") && text.contains("G grew to 3 (2 to 4) times"));
        assert!(of(grew, grew, same).starts_with("Learning made it less stable"));
        let open = of(same, fell, fell);
        assert!(open.starts_with("Whether learning changed R is not decided"));
        assert!(open.contains("D fell to 0.1") && !open.contains("learnt relative"));
    }
}
