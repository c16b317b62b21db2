//! The finding in plain words, derived from the numbers.

use polariscope_report::{grouped, pretty};

use super::View;
use super::reading::{Band, Preference, Reading, Sight};

/// A paragraph or two: what the architecture sees, and what it will never see.
pub fn words(view: &View) -> String {
    paragraph(&view.name, &Reading::of(view))
}

pub(super) fn paragraph(name: &str, reading: &Reading) -> String {
    let dim = grouped(reading.dim as u64);
    let mut said = match reading.preference {
        Preference::None => {
            let alike = match reading.sight {
                Some(_) => "it treats all pixels and all spatial frequencies alike, and",
                None => "it treats all inputs alike, and",
            };
            return format!(
                "{name} has no preferred direction: its sensitivity is spread evenly over all {dim} input directions. \
                 As far as its geometry goes {alike} nothing is easier or harder to learn because of the direction in \
                 which it lies."
            );
        }
        Preference::Mild => format!(
            "{name} prefers some directions, but mildly: its sensitivity is spread over about {} of its {dim} input \
             directions.",
            grouped(reading.directions.round() as u64)
        ),
        Preference::Strong => format!(
            "{name} looks at the world through about {} of its {dim} input directions: {}.",
            about(reading.directions),
            head(reading)
        ),
    };
    if let Some(sight) = &reading.sight {
        said += &frequencies(sight);
        let place = place(sight);
        if !place.is_empty() {
            said += "\n\n";
            said += place.trim_start();
        }
    }
    if reading.blind > 0 {
        said += &format!(
            " To {} it is blind: nothing that the data hold there can reach the output.",
            match reading.blind {
                1 => "one direction".to_string(),
                n => format!("{} directions", grouped(n as u64)),
            }
        );
    }
    said
}

/// The share of the first directions.
fn head(reading: &Reading) -> String {
    let (count, share) = reading.head;
    match count {
        1 => format!(
            "the first one carries {} of its sensitivity",
            percent(share)
        ),
        n => format!("the first {n} carry {} of its sensitivity", percent(share)),
    }
}

fn frequencies(sight: &Sight) -> String {
    let (low, high) = (sight.low_edge, sight.high_edge);
    let mut said = match sight.band {
        Band::Flat => " It weighs all spatial frequencies alike.".to_string(),
        Band::Low => format!(
            " It gives low spatial frequencies (up to {}) {} the weight that an isotropic network would",
            cycles(low),
            times(sight.low)
        ),
        Band::High => format!(
            " It gives fine detail (from {} on) {} the weight that an isotropic network would, and slow changes (up to \
             {low}) {} it",
            cycles(high),
            times(sight.high),
            times(sight.low)
        ),
        Band::Around(ring) => format!(
            " It sees waves of about {} best, at {} the weight that an isotropic network would give them",
            cycles(ring),
            times(sight.best)
        ),
        Band::Comb(period) => format!(
            " Its strides fold frequencies onto each other: patterns that repeat every {period} pixels, however fine, get {} \
             the weight that an isotropic network would give them",
            times(sight.best)
        ),
    };
    if sight.band != Band::Flat {
        said += &match sight.limit {
            Some(limit) => format!(
                ", and what lies at {} or above is all but invisible to it: features there will be learnt late or never.",
                cycles(limit)
            ),
            None if sight.dark >= 0.05 => format!(
                ", and {} of all spatial frequencies are all but invisible to it: features there will be learnt late or \
                 never.",
                percent(sight.dark)
            ),
            None if sight.band == Band::Low && sight.high < 1.0 => {
                format!(
                    ", and fine detail (from {high} on) {} it.",
                    times(sight.high)
                )
            }
            None => ".".to_string(),
        };
    }
    if sight.mean_share >= 0.3 {
        said += &format!(
            " The mean brightness alone takes {} of its sensitivity.",
            percent(sight.mean_share)
        );
    }
    if Sight::differ(sight.across) {
        let (more, less, ratio) = if sight.across > 1.0 {
            ("across the image", "down it", sight.across)
        } else {
            ("down the image", "across it", 1.0 / sight.across)
        };
        said += &format!(" Changes {more} weigh {} changes {less}.", times(ratio));
    }
    if sight.upright > 1.5 {
        let ratio = times(sight.upright);
        said += &format!(
            " Horizontal and vertical waves weigh {ratio} oblique ones of the same length."
        );
    } else if sight.upright < 1.0 / 1.5 {
        let ratio = times(1.0 / sight.upright);
        said += &format!(
            " Oblique waves weigh {ratio} horizontal and vertical ones of the same length."
        );
    }
    said
}

fn place(sight: &Sight) -> String {
    let mut said = String::new();
    if Sight::differ(sight.centre) {
        said += &if sight.centre > 1.0 {
            format!(
                " A pixel in the middle of the image counts {} one at its edge.",
                as_much(sight.centre)
            )
        } else {
            format!(
                " A pixel at the edge of the image counts {} one in its middle.",
                as_much(1.0 / sight.centre)
            )
        };
    }
    if sight.grid >= 0.15 {
        said += &format!(
            " Strides leave a grid: neighbouring pixels differ in weight by {} on average.",
            percent(sight.grid)
        );
    }
    said
}

fn cycles(n: usize) -> String {
    match n {
        1 => "1 cycle an image".to_string(),
        n => format!("{n} cycles an image"),
    }
}

/// `40 times`, `2.5 times`, `31 % of`.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 1e6 => format!("{} times", pretty(r)),
        r if r >= 9.95 => format!("{} times", grouped(r.round() as u64)),
        r if r >= 0.95 => format!("{r:.1} times"),
        r => format!("{} of", percent(r)),
    }
}

/// `3 times as much as`.
fn as_much(ratio: f64) -> String {
    if ratio >= 1e4 {
        "more than ten thousand times as much as".to_string()
    } else {
        format!("{} as much as", times(ratio))
    }
}

/// A number of directions: whole, or with a decimal below ten.
pub(super) fn about(count: f64) -> String {
    if count < 9.95 {
        let text = format!("{count:.1}");
        text.strip_suffix(".0").unwrap_or(&text).to_string()
    } else {
        grouped(count.round() as u64)
    }
}

/// `71 %`, `4.2 %`, `less than 0.1 %`, with a space that does not break.
pub fn percent(share: f64) -> String {
    let p = 100.0 * share;
    if !p.is_finite() {
        "an unknown share".to_string()
    } else if p >= 99.95 {
        "100\u{a0}%".to_string()
    } else if p >= 99.0 || (0.1..9.95).contains(&p) {
        format!("{p:.1}\u{a0}%")
    } else if p >= 9.95 {
        format!("{p:.0}\u{a0}%")
    } else {
        "less than 0.1\u{a0}%".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        assert_eq!(times(40.4), "40 times");
        assert_eq!(times(2.54), "2.5 times");
        assert_eq!(times(0.31), "31\u{a0}% of");
        assert_eq!(percent(0.713), "71\u{a0}%");
        assert_eq!(percent(0.0421), "4.2\u{a0}%");
        assert_eq!(percent(0.00001), "less than 0.1\u{a0}%");
        assert_eq!(percent(0.99999), "100\u{a0}%");
        assert_eq!(about(3.0), "3");
        assert_eq!(about(1234.5), "1,235");
    }
}
