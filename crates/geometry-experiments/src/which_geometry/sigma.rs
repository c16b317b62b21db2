//! Which σ: by the accuracy of a few pilots, before any geometry is looked at.
//!
//! At a σ where every direction is learnt, or none, no geometry can be told from another. From σ = 1 the ladder is climbed
//! while the median accuracy is above 95 %, and descended while it is below 60 %. Where one rung is too low and the next
//! too high, the middle between them is tried, and then the middle of the half that is left.

/// Every σ that may be taken without halving.
const LADDER: [f64; 6] = [0.5, 1.0, 2.0, 3.0, 4.0, 6.0];
/// The place of σ = 1.
const START: usize = 1;
/// How often the gap between two rungs is halved.
const HALVINGS: usize = 2;
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
    // The largest σ that is learnt too well, the smallest that is not learnt.
    let (mut easy, mut hard) = (None, None);
    let (mut rung, mut halvings) = (START, 0);
    let mut sigma = LADDER[START];
    loop {
        let Some(found) = median(sigma) else {
            return Step::Try(sigma);
        };
        tried.push((sigma, found));
        match found {
            m if m > HIGH => easy = Some(sigma),
            m if m < LOW => hard = Some(sigma),
            median => {
                return Step::Take {
                    sigma,
                    median,
                    fits: true,
                };
            }
        }
        let next = match (easy, hard) {
            (Some(easy), Some(hard)) => {
                halvings += 1;
                (halvings <= HALVINGS).then_some(0.5 * (easy + hard))
            }
            (Some(_), None) => {
                rung += 1;
                LADDER.get(rung).copied()
            }
            _ => {
                rung = rung.wrapping_sub(1);
                LADDER.get(rung).copied()
            }
        };
        match next {
            Some(next) => sigma = next,
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
        let high = [1.0, 2.0, 3.0, 4.0, 6.0].map(|s| (s, 1.0 - 0.005 * s));
        assert_eq!(of(&high), take(6.0, 0.97, false));
    }
    #[test]
    fn the_middle_where_one_rung_is_too_low_and_the_next_too_high() {
        let gap = [(1.0, 0.52), (0.5, 1.0)];
        assert_eq!(of(&gap), Step::Try(0.75));
        let with = |more: &[(f64, f64)]| of(&[&gap[..], more].concat());
        assert_eq!(with(&[(0.75, 0.9)]), take(0.75, 0.9, true));
        assert_eq!(with(&[(0.75, 0.55)]), Step::Try(0.625));
        assert_eq!(with(&[(0.75, 0.97)]), Step::Try(0.875));
        assert_eq!(with(&[(0.75, 0.97), (0.875, 0.7)]), take(0.875, 0.7, true));
        // No third halving: 97 % is nearer to 77.5 % than 52 and 100.
        let none = [(0.75, 0.97), (0.875, 0.51)];
        assert_eq!(with(&none), take(0.75, 0.97, false));
        let up = [(1.0, 0.99), (2.0, 0.55)];
        assert_eq!(of(&up), Step::Try(1.5));
    }
}
