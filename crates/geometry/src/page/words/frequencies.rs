//! Spatial frequencies in words.

use polariscope_report::grouped;

use super::super::sight::{Band, Sight};
use super::super::weight::Weight;
use super::numbers::{percent, share, times};
use super::{plain, what};
use crate::lens::source::Voice;

/// The brightness of the whole image is worth a word from this share on.
const BRIGHTNESS: f64 = 0.3;
/// Waves of one length differ by this factor where it is worth a word.
const OBLIQUE: f64 = 1.5;
/// Frequencies in the dark are worth a word from this share on.
const DARK: f64 = 0.05;
/// What is easy weighs at least this many times as much as what is hard.
const CONTRAST: f64 = 2.0;

/// What weighs most, what is dark, and what else shows.
pub(super) fn sentences(sight: &Sight, voice: Voice, conclusive: bool) -> Vec<String> {
    let mut said = Vec::new();
    if sight.mean_share.above(BRIGHTNESS) {
        said.push(format!(
            "The mean brightness alone takes {} of {}.",
            share(sight.mean_share.value, Some(sight.mean_share.error)),
            what(voice)
        ));
    }
    said.push(format!("{}{}", band(sight), dark(sight, conclusive)));
    if !sight.gaps.is_empty() {
        let numbers: Vec<String> = sight.gaps.iter().map(usize::to_string).collect();
        said.push(format!(
            "Waves with exactly {} cycles across or down weigh less than 5\u{a0}% of those beside them.",
            numbers.join(" or ")
        ));
    }
    if let Some(lattice) = sight.lattice {
        said.push(format!(
            "Strides show on top: patterns that repeat every {} pixels weigh {} other waves of the same length.",
            lattice.period,
            times(lattice.ratio)
        ));
    } else if sight.is_uneven_beside() && sight.band != Band::Uneven && !is_comb(sight) {
        said.push(format!(
            "The number of cycles explains only {} of how the weights differ.",
            percent(sight.explained)
        ));
    }
    if sight.across.differs() {
        let (more, less, ratio) = if sight.across.value > 1.0 {
            ("across the image", "down it", sight.across)
        } else {
            ("down the image", "across it", sight.across.inverse())
        };
        said.push(format!(
            "Changes {more} weigh {} changes {less}.",
            times(ratio)
        ));
    }
    if sight.upright.above(OBLIQUE) {
        said.push(format!(
            "Horizontal and vertical waves weigh {} oblique ones of the same length.",
            times(sight.upright)
        ));
    } else if sight.upright.below(1.0 / OBLIQUE) {
        said.push(format!(
            "Oblique waves weigh {} horizontal and vertical ones of the same length.",
            times(sight.upright.inverse())
        ));
    }
    said
}

fn is_comb(sight: &Sight) -> bool {
    matches!(sight.band, Band::Comb(_))
}

/// Which waves weigh most, without its full stop.
fn band(sight: &Sight) -> String {
    let (low, high) = (sight.low_edge, sight.high_edge);
    match sight.band {
        Band::Flat => "All spatial frequencies weigh the same within 25\u{a0}%".to_string(),
        Band::Unclear => "The sample is too small to tell spatial frequencies apart".to_string(),
        Band::Low => format!(
            "Low spatial frequencies (up to {}) have {} the weight that an isotropic network would give them, fine detail \
             (from {high} on) has {} it",
            cycles(low),
            times(sight.low),
            times(sight.high)
        ),
        Band::High => format!(
            "Fine detail (from {} on) has {} the weight that an isotropic network would give it, slow changes (up to {low}) \
             have {} it",
            cycles(high),
            times(sight.high),
            times(sight.low)
        ),
        Band::Around(ring) => format!(
            "Waves of about {} weigh most, {} what an isotropic network would give them",
            cycles(ring),
            times(sight.best)
        ),
        Band::Comb(period) => format!(
            "Strides fold frequencies onto each other: patterns that repeat every {period} pixels, however fine, have {} the \
             weight that an isotropic network would give them",
            times(sight.best)
        ),
        Band::Uneven => format!(
            "Weights of spatial frequencies differ by a factor of {} over four fifths of them, and the number of cycles \
             explains {} of it",
            factor(sight.spread),
            percent(sight.explained)
        ),
    }
}

/// What has hardly any weight; it is called invisible only where a zero is one for every input.
fn dark(sight: &Sight, conclusive: bool) -> String {
    let limit = sight.limit.map(|limit| {
        let which = format!("what lies at {} or above", cycles(limit));
        (which, "is", "has")
    });
    let part = (sight.dark >= DARK).then(|| {
        let which = format!("{} of all frequencies", percent(sight.dark));
        (which, "are", "have")
    });
    match limit.or(part) {
        None => ".".to_string(),
        Some((which, are, _)) if conclusive => {
            format!(", and {which} {are} all but invisible (below 5\u{a0}% of it).")
        }
        Some((which, _, have)) => format!(", and {which} {have} less than 5\u{a0}% of it."),
    }
}

/// What should be learnt from fewer samples than what, for every pair of weights that are far enough apart.
pub(super) fn learning(sight: &Sight, conclusive: bool) -> Option<String> {
    let (low, high) = (cycles(sight.low_edge), cycles(sight.high_edge));
    let slow = format!("slow waves (up to {low})");
    let fine = format!("fine waves (from {high} on)");
    let mut pairs: Vec<String> = Vec::new();
    let mut pair = |easy: &str, hard: &str, ratio: Weight| {
        if ratio.above(CONTRAST) {
            pairs.push(format!("{easy} than along {hard}"));
        }
    };
    if sight.mean_share.above(BRIGHTNESS) {
        let others = (1.0 - sight.mean_share.value) / (sight.energy.values.len() - 1) as f64;
        let ratio = sight.mean_share.over(plain(others.max(f64::MIN_POSITIVE)));
        pair("the mean brightness", "waves", ratio);
    }
    match sight.band {
        Band::Low => pair(&slow, &fine, sight.low.over_noise(sight.high)),
        Band::High => pair(&fine, &slow, sight.high.over_noise(sight.low)),
        Band::Around(ring) => {
            let waves = format!("waves of about {}", cycles(ring));
            let (end, weight) = if sight.low.value < sight.high.value {
                (&slow, sight.low)
            } else {
                (&fine, sight.high)
            };
            pair(&waves, end, sight.best.over_noise(weight));
        }
        // All waves weigh 1 on average, the others less.
        Band::Comb(period) => {
            let waves = format!("waves that repeat every {period} pixels");
            pair(&waves, "the others", sight.best);
        }
        Band::Flat | Band::Unclear | Band::Uneven => {}
    }
    let (straight, oblique) = ("horizontal and vertical waves", "oblique ones");
    pair(straight, oblique, sight.upright);
    pair(
        "oblique waves",
        "horizontal and vertical ones",
        sight.upright.inverse(),
    );
    if pairs.is_empty() {
        return None;
    }
    let never = if conclusive && (sight.limit.is_some() || sight.dark >= DARK) {
        "; along invisible ones last, if at all"
    } else {
        ""
    };
    Some(format!(
        "So linear rules should be learnt from fewer samples along {}{never}.",
        pairs.join(", along ")
    ))
}

/// `2.4`, `more than 1,000`.
pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        r if !r.is_finite() || r >= 1e3 => "more than 1,000".to_string(),
        r if r >= 9.95 => grouped(r.round() as u64),
        r => format!("{r:.1}"),
    }
}

fn cycles(n: usize) -> String {
    match n {
        1 => "1 cycle an image".to_string(),
        n => format!("{n} cycles an image"),
    }
}
