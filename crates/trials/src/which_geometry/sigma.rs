//! Which σ: by the accuracy of a few pilots, before any geometry is looked at.
//!
//! At a σ where every direction is learnt, or none, no geometry can be told from another. From σ = 1 the ladder is climbed
//! while the median accuracy is above 95 %, and descended while it is below 60 %.

/// Every σ that may be taken.
const LADDER: [f64; 6] = [0.5, 1.0, 2.0, 3.0, 4.0, 6.0];
/// The place of σ = 1.
const START: usize = 1;
/// Medians that fit.
const LOW: f64 = 0.6;
const HIGH: f64 = 0.95;
/// Their middle.
const MIDDLE: f64 = 0.5 * (LOW + HIGH);

/// What the pilots so far say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The pilots of this σ are missing.
    Try(f64),
    /// This σ it is.
    Take {
        sigma: f64,
        /// Of the pilots.
        median: f64,
        /// Whether the median is where it should be; else it is the nearest.
        fits: bool,
    },
}

/// The next step, from the median of every σ that was tried.
pub(super) fn step(median: impl Fn(f64) -> Option<f64>) -> Step {
    let mut tried: Vec<(f64, f64)> = Vec::new();
    let mut at = START;
    loop {
        let sigma = LADDER[at];
        let Some(found) = median(sigma) else {
            return Step::Try(sigma);
        };
        tried.push((sigma, found));
        let next = match found {
            m if m > HIGH => at.checked_add(1).filter(|&n| n < LADDER.len()),
            m if m < LOW => at.checked_sub(1),
            median => {
                return Step::Take {
                    sigma,
                    median,
                    fits: true,
                };
            }
        };
        let fresh = |n: &usize| !tried.iter().any(|t| t.0 == LADDER[*n]);
        match next.filter(fresh) {
            Some(next) => at = next,
            None => {
                let far = |t: &(f64, f64)| (t.1 - MIDDLE).abs();
                let nearest = |a: &(f64, f64), b: &(f64, f64)| far(a).total_cmp(&far(b));
                let (sigma, median) = tried.into_iter().min_by(nearest).unwrap_or((sigma, found));
                return Step::Take {
                    sigma,
                    median,
                    fits: false,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(f64, f64)]) -> Step {
        step(|sigma| pairs.iter().find(|p| p.0 == sigma).map(|p| p.1))
    }

    fn take(sigma: f64, median: f64, fits: bool) -> Step {
        Step::Take {
            sigma,
            median,
            fits,
        }
    }

    #[test]
    fn up_while_all_is_learnt_down_while_nothing_is() {
        assert_eq!(of(&[]), Step::Try(1.0));
        assert_eq!(of(&[(1.0, 0.7)]), take(1.0, 0.7, true));
        assert_eq!(of(&[(1.0, 0.99)]), Step::Try(2.0));
        assert_eq!(of(&[(1.0, 0.99), (2.0, 0.97)]), Step::Try(3.0));
        assert_eq!(
            of(&[(1.0, 0.99), (2.0, 0.97), (3.0, 0.8)]),
            take(3.0, 0.8, true)
        );
        assert_eq!(of(&[(1.0, 0.5)]), Step::Try(0.5));
        // The bounds themselves fit.
        assert_eq!(of(&[(1.0, 0.95)]), take(1.0, 0.95, true));
        assert_eq!(of(&[(1.0, 0.6)]), take(1.0, 0.6, true));
    }

    #[test]
    fn the_nearest_where_none_fits() {
        assert_eq!(of(&[(1.0, 0.5), (0.5, 0.55)]), take(0.5, 0.55, false));
        // One rung learns too little and the one below too much: 100 % is nearer to 77.5 % than 52 %.
        assert_eq!(of(&[(1.0, 0.52), (0.5, 1.0)]), take(0.5, 1.0, false));
        let high = [1.0, 2.0, 3.0, 4.0, 6.0].map(|s| (s, 1.0 - 0.005 * s));
        assert_eq!(of(&high), take(6.0, 0.97, false));
    }
}
