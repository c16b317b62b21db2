//! The finding, each sentence where a number with its error carries it.

use polariscope_data::Action;
use polariscope_report::counted;

use super::{Summary, Verdict};
use crate::value::short;

/// The finding.
pub(super) fn words(summary: &Summary) -> String {
    let verdicts = &summary.verdicts;
    let names = |which: &[(Action, Verdict)]| listed(which.iter().map(|(a, _)| a.to_string()));
    let built = verdicts.which(|v| *v == Verdict::BuiltIn);
    let broken = verdicts.which(|v| *v == Verdict::Broken);
    let mut sentences = Vec::new();
    if built.is_empty() && broken.is_empty() {
        sentences.push(format!(
            "No transformation that was tried leaves the outputs of {} at its initial weights as they are.",
            summary.network
        ));
    }
    if !built.is_empty() {
        sentences.push(format!(
            "Built in: the outputs of {} stay the same, to rounding, under {}.",
            summary.network,
            names(&built)
        ));
    }
    if !broken.is_empty() {
        sentences.push(format!(
            "Broken: the outputs of {} stayed the same at its initial weights under {}, and do not any more.",
            summary.network,
            names(&broken)
        ));
    }
    let mut text = sentences.join(" ");
    let factors = |which: &[(Action, Verdict)]| {
        listed(which.iter().filter_map(|(action, verdict)| match verdict {
            Verdict::Learnt { factor } | Verdict::Lost { factor } | Verdict::Open { factor } => {
                Some(format!("{action} (times {})", factor.words()))
            }
            Verdict::BuiltIn | Verdict::NotBuiltIn | Verdict::Broken => None,
        }))
    };
    for (opening, which) in [
        (
            "Learnt: over the distance of two images, the outputs change less than at the initial weights under",
            verdicts.which(|v| matches!(v, Verdict::Learnt { .. })),
        ),
        (
            "Lost: they change more under",
            verdicts.which(|v| matches!(v, Verdict::Lost { .. })),
        ),
        (
            "Not decided by the error:",
            verdicts.which(|v| matches!(v, Verdict::Open { .. })),
        ),
    ] {
        if !which.is_empty() {
            text += &format!("\n\n{opening} {}.", factors(&which));
        }
    }
    if let Some((action, cell)) = summary.border() {
        text += &format!(
            "\n\nThe maps of {} move along with {action} exactly where they see neither the border nor what comes in; with the border \
             their error is {}.",
            cell.layer,
            short(cell.error.value)
        );
    }
    text + &format!(
        "\n\nAn error of 1 is the distance to the values of another image. ({} of {}.)",
        counted(summary.images as u64, "image"),
        summary.data
    )
}

/// `a, b and c`.
fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}
