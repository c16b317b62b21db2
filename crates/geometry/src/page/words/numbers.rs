//! Numbers as words say them.

use polariscope_report::{grouped, pretty};
use polariscope_stats::Estimate;

use super::super::weight::Weight;

/// `40 times`, `2.5 ± 0.1 times`, `31 % of`, `31 ± 2 % of`.
pub(in super::super) fn times(weight: Weight) -> String {
    let Weight { value, error } = weight;
    if error > 0.0 {
        return if value >= 0.95 {
            format!("{} times", pair(value, error))
        } else {
            format!("{}\u{a0}% of", pair(100.0 * value, 100.0 * error))
        };
    }
    match value {
        r if r >= 1e6 => format!("{} times", pretty(r)),
        r if r >= 9.95 => format!("{} times", grouped(r.round() as u64)),
        r if r >= 0.95 => format!("{r:.1} times"),
        r => format!("{} of", percent(r)),
    }
}

/// `3 times as much as`.
pub(super) fn as_much(ratio: Weight) -> String {
    if ratio.value >= 1e4 || !ratio.value.is_finite() {
        "more than ten thousand times as much as".to_string()
    } else {
        format!("{} as much as", times(ratio))
    }
}

/// `153 ± 4`.
pub(in super::super) fn pair(value: f64, standard_error: f64) -> String {
    Estimate {
        value,
        standard_error,
        samples: 0,
    }
    .pair()
}

/// A number of directions: whole, with a decimal below ten, or with its error.
pub(in super::super) fn about(count: f64, error: Option<f64>) -> String {
    match error.filter(|e| *e > 0.0) {
        Some(error) if error.is_finite() => pair(count, error),
        // Too few groups of networks to know how well it is known.
        Some(_) => "an unknown number".to_string(),
        None if count < 9.95 => {
            let text = format!("{count:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_string()
        }
        None => grouped(count.round() as u64),
    }
}

/// `50 ± 3 of its 1,024 input directions`, for `its `, 1024 and ` input directions`. The estimate has no bias, so noise takes
/// it beyond D where all take part.
pub(in super::super) fn of_all(
    (count, error): (f64, Option<f64>),
    (before, dim, after): (&str, usize, &str),
) -> String {
    let (takes, all) = (about(count, error), grouped(dim as u64));
    match count > dim as f64 && error.is_some() {
        false => format!("{takes} of {before}{all}{after}"),
        true => format!("all of {before}{all}{after}, estimated as {takes}"),
    }
}

/// A share with its error.
pub(in super::super) fn share(value: f64, error: Option<f64>) -> String {
    match error.filter(|e| *e > 0.0 && e.is_finite()) {
        Some(error) => format!("{}\u{a0}%", pair(100.0 * value, 100.0 * error)),
        None => percent(value),
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
        let exact = |x| times(Weight::exact(x));
        assert_eq!(exact(40.4), "40 times");
        assert_eq!(exact(2.54), "2.5 times");
        assert_eq!(exact(0.31), "31\u{a0}% of");
        let with = |value, error| times(Weight { value, error });
        assert_eq!(with(2.54, 0.13), "2.54 ± 0.13 times");
        assert_eq!(with(0.31, 0.02), "31 ± 2\u{a0}% of");
        assert_eq!(percent(0.713), "71\u{a0}%");
        assert_eq!(percent(0.0421), "4.2\u{a0}%");
        assert_eq!(percent(0.00001), "less than 0.1\u{a0}%");
        assert_eq!(percent(0.99999), "100\u{a0}%");
        assert_eq!(about(3.0, None), "3");
        assert_eq!(about(1234.5, None), "1,235");
        assert_eq!(about(123.4, Some(5.2)), "123 ± 5");
        assert_eq!(about(1030.0, Some(f64::INFINITY)), "an unknown number");
        let of = |count| of_all((count, Some(5.2)), ("its ", 1024, " inputs"));
        assert_eq!(of(1019.0), "1019 ± 5 of its 1,024 inputs");
        assert_eq!(of(1025.0), "all of its 1,024 inputs, estimated as 1025 ± 5");
        // Rounding of a closed form is no noise.
        let closed = of_all((1024.0 + 1e-9, None), ("", 1024, ""));
        assert_eq!(closed, "1,024 of 1,024");
        assert_eq!(share(0.713, Some(0.02)), "71 ± 2\u{a0}%");
        assert_eq!(as_much(Weight::exact(3.0)), "3.0 times as much as");
        assert_eq!(
            as_much(Weight::exact(1e9)),
            "more than ten thousand times as much as"
        );
    }
}
