//! How far apart two learning curves are along P.

/// Error levels at which they are compared.
const LEVELS: usize = 8;

/// P_plain/P_inv at the same error: its geometric mean over error levels, evenly spaced in logarithms over the range that both
/// curves (P, error) reach; `None` where there is no such range.
pub(super) fn gain(plain: &[(f64, f64)], averaged: &[(f64, f64)]) -> Option<f64> {
    let (low, high) = common(plain, averaged)?;
    let levels = (0..LEVELS).map(|k| {
        let share = (k as f64 + 0.5) / LEVELS as f64;
        low.powf(1.0 - share) * high.powf(share)
    });
    let logarithms = levels.map(|error| {
        let ratio = samples(plain, error)? / samples(averaged, error)?;
        Some(ratio.ln())
    });
    let sum: f64 = logarithms.sum::<Option<f64>>()?;
    Some((sum / LEVELS as f64).exp())
}

/// The errors that both curves reach.
fn common(a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<(f64, f64)> {
    let lowest = |curve: &[(f64, f64)]| curve.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let highest = |curve: &[(f64, f64)]| curve.iter().map(|p| p.1).fold(0.0, f64::max);
    let low = lowest(a).max(lowest(b));
    let high = highest(a).min(highest(b));
    (low < high).then_some((low, high))
}

/// P at which a curve first falls to an error, along straight lines between its points in logarithms.
fn samples(curve: &[(f64, f64)], error: f64) -> Option<f64> {
    let pair = curve
        .windows(2)
        .find(|w| w[0].1 >= error && w[1].1 <= error)?;
    let ((p, e), (q, f)) = (pair[0], pair[1]);
    let share = if e > f {
        (e / error).ln() / (e / f).ln()
    } else {
        0.0
    };
    Some(p * (q / p).powf(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(of: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let sizes = [16.0, 32.0, 64.0, 128.0, 256.0];
        sizes.map(|p| (p, of(p))).into()
    }

    /// Two power laws, the one 3 times further along P than the other; and the same with a bend that both have.
    #[test]
    fn shifts_of_power_laws() {
        let law = |p: f64| p.powf(-0.4);
        let found = gain(&curve(law), &curve(|p| law(3.0 * p))).unwrap();
        assert!((found - 3.0).abs() < 1e-12, "{found}");
        let found = gain(&curve(law), &curve(law)).unwrap();
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        // Lines between points of a curve that bends are off by little.
        let bent = |p: f64| 1.0 / (1.0 + 0.1 * p.sqrt());
        let found = gain(&curve(bent), &curve(|p| bent(4.0 * p))).unwrap();
        assert!((found - 4.0).abs() < 0.08, "{found}");
        assert_eq!(gain(&curve(law), &curve(|p| 0.01 * law(p))), None);
    }
}
