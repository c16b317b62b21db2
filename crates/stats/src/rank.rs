//! Statistics of ranks.

/// Ranks from ½ on, ties at the mean of theirs: below + ½ equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let rank = below as f64 + 0.5 * tied.len() as f64;
        tied.iter().for_each(|&i| ranks[i] = rank);
        below += tied.len();
    }
    ranks
}

/// Spearman's ρ, ties at the mean of their ranks; `None` where one side does not vary.
///
/// ```
/// use polariscope_stats::spearman;
/// // Ranks 1, 2, 3, 4 and 1, 2.5, 2.5, 4: covariance 4.5, variances 5 and 4.5.
/// let rho = spearman(&[(0.0, 1.0), (1.0, 7.0), (5.0, 7.0), (6.0, 9.0)]).unwrap();
/// assert!((rho - (4.5f64 / 5.0).sqrt()).abs() < 1e-15);
/// ```
pub fn spearman(points: &[(f64, f64)]) -> Option<f64> {
    let side = |pick: fn(&(f64, f64)) -> f64| ranks(&points.iter().map(pick).collect::<Vec<_>>());
    let (x, y) = (side(|p| p.0), side(|p| p.1));
    // Ranks and halves of ties average n/2.
    let middle = 0.5 * points.len() as f64;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    (scale > 0.0).then(|| product(&x, &y) / scale)
}

/// Area under the curve: how often a score of the class is above one of the others, ties counted half; `None` where one
/// side is empty.
///
/// ```
/// use polariscope_stats::auc;
/// // Pairs 3 > 1, 3 > 2, 2 > 1, 2 = 2: 3.5 of 4.
/// let area = auc(&[(3.0, true), (2.0, true), (1.0, false), (2.0, false)]);
/// assert_eq!(area, Some(0.875));
/// ```
pub fn auc(scores: &[(f64, bool)]) -> Option<f64> {
    let ranks = ranks(&scores.iter().map(|s| s.0).collect::<Vec<_>>());
    let inside = scores.iter().filter(|s| s.1).count() as f64;
    let outside = scores.len() as f64 - inside;
    let sum: f64 = ranks
        .iter()
        .zip(scores)
        .filter(|(_, s)| s.1)
        .map(|r| r.0)
        .sum();
    // Less the ranks that the class has among itself.
    let above = sum - 0.5 * inside * inside;
    (inside * outside > 0.0).then(|| above / (inside * outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, -2.0]), [3.0, 1.5, 3.0, 0.5]);
        // 0 and −0 are one value.
        assert_eq!(ranks(&[0.0, -0.0]), [1.0, 1.0]);
    }

    #[test]
    fn spearman_by_hand() {
        let up: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i), f64::from(i).exp())).collect();
        assert_eq!(spearman(&up), Some(1.0));
        let down: Vec<(f64, f64)> = up.iter().map(|p| (p.0, -p.1)).collect();
        assert_eq!(spearman(&down), Some(-1.0));
        assert_eq!(spearman(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
        assert_eq!(spearman(&[]), None);
    }

    #[test]
    fn auc_by_hand() {
        let scores = [(1.0, false), (2.0, true), (3.0, false), (4.0, true)];
        // 2 > 1, 4 > 1, 4 > 3 of four pairs.
        assert_eq!(auc(&scores), Some(0.75));
        assert_eq!(auc(&[(1.0, true), (1.0, false)]), Some(0.5));
        assert_eq!(auc(&[(1.0, true), (2.0, true)]), None);
    }
}
