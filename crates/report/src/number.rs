//! Numbers as people read them.

/// A count with its thousands apart.
///
/// ```
/// assert_eq!(polariscope_report::grouped(11_173_962), "11,173,962");
/// ```
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number to four significant digits, without trailing zeros; powers of ten where decimals would be long.
///
/// ```
/// assert_eq!(polariscope_report::pretty(0.0153449), "0.01534");
/// assert_eq!(polariscope_report::pretty(1.5e-9), "1.5e-9");
/// ```
pub fn pretty(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let scientific = format!("{x:.3e}");
    let Some((mantissa, power)) = scientific.split_once('e') else {
        return scientific;
    };
    let power: i32 = power.parse().unwrap_or(0);
    if (-4..6).contains(&power) {
        let decimals = (3 - power).max(0) as usize;
        trim_zeros(&format!("{x:.decimals$}")).to_string()
    } else {
        format!("{}e{power}", trim_zeros(mantissa))
    }
}

/// The shortest decimal that reads back as the same bits, for machine-readable tables.
pub(crate) fn exact(x: f64) -> String {
    if x == 0.0 || (1e-5..1e16).contains(&x.abs()) || !x.is_finite() {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// `1.2300` → `1.23`, `5.000` → `5`.
pub(crate) fn trim_zeros(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (62006, "62,006")] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn four_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-0.25, "-0.25"),
            (1234.56, "1235"),
            (99_999.6, "100000"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.235e6"),
            (0.000_123_456, "0.0001235"),
            (0.000_012_345_6, "1.235e-5"),
            (f64::INFINITY, "inf"),
        ];
        for (x, text) in cases {
            assert_eq!(pretty(x), text, "{x:e}");
        }
    }

    #[test]
    fn exact_reads_back() {
        for x in [0.1, 1.0 / 3.0, 1e-300, 6.02e23, -0.0, 123_456.789] {
            assert_eq!(exact(x).parse::<f64>().unwrap().to_bits(), f64::to_bits(x));
        }
    }
}
