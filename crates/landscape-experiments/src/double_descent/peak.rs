//! N*, the peak and the plateau of a curve of test errors.

use super::BEYOND;

/// Networks of a width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    /// N.
    pub weights: f64,
    /// Fraction of the networks that do not fit.
    pub jammed: f64,
    /// Mean test error.
    pub error: f64,
    /// Its standard error over networks.
    pub spread: f64,
    /// Mean over networks of the smallest test error while they trained.
    pub oracle: f64,
    /// Test error of the mean output.
    pub ensemble: f64,
}

/// All widths of a run, in order.
#[derive(Clone, Debug)]
pub(super) struct Curve(Vec<Width>);

impl Curve {
    pub fn new(mut widths: Vec<Width>) -> Self {
        widths.sort_by(|a, b| a.weights.total_cmp(&b.weights));
        Curve(widths)
    }

    /// N*: where half of the networks fit, between two widths in proportion in ln N.
    pub fn star(&self) -> Option<f64> {
        self.0.windows(2).find_map(|pair| {
            let [a, b] = [pair[0], pair[1]];
            let inside = a.jammed > 0.5 && b.jammed <= 0.5;
            inside.then(|| {
                let way = (a.jammed - 0.5) / (a.jammed - b.jammed);
                a.weights * (b.weights / a.weights).powf(way)
            })
        })
    }

    /// The width of the largest error after the first descent: after the smallest error that a rise of three standard errors
    /// follows.
    pub fn peak(&self) -> Option<Width> {
        let mut low: Option<Width> = None;
        for (i, width) in self.0.iter().enumerate() {
            match low {
                Some(l) if width.error - l.error > 3.0 * width.spread.hypot(l.spread) => {
                    let rest = self.0[i..].iter().copied();
                    return rest.max_by(|a, b| a.error.total_cmp(&b.error));
                }
                Some(l) if l.error <= width.error => {}
                _ => low = Some(*width),
            }
        }
        None
    }

    /// Beside the width of so many weights: N/N*, then, where they are defined, ln(N/N*) and the gain of the ensemble in
    /// standard errors at the peak, the distance of the ensemble from its mean beyond 2N*, and at the peak the over-fitting
    /// of the widest network over that of the peak.
    pub fn scores(&self, weights: f64) -> [f64; 5] {
        let none = f64::NAN;
        let found = self.0.iter().find(|w| w.weights == weights);
        let (Some(width), Some(star)) = (found, self.star()) else {
            return [none; 5];
        };
        let at_peak = self.peak().is_some_and(|p| p.weights == weights);
        let when = |there: bool, value: f64| if there { value } else { none };
        let plateau = self.0.iter().filter(|w| w.weights > BEYOND * star);
        let plateau: Vec<f64> = plateau.map(|w| w.ensemble).collect();
        let mean = plateau.iter().sum::<f64>() / plateau.len() as f64;
        let over = |w: &Width| w.error - w.oracle;
        let widest = self.0.last().map_or(none, over);
        [
            weights / star,
            when(at_peak, (weights / star).ln()),
            when(at_peak, (width.error - width.ensemble) / width.spread),
            when(weights > BEYOND * star, (width.ensemble / mean - 1.0).abs()),
            when(at_peak, widest / over(width)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(weights: f64, jammed: f64, error: f64) -> Width {
        Width {
            weights,
            jammed,
            error,
            spread: 0.01,
            oracle: 0.1,
            ensemble: 0.1,
        }
    }

    #[test]
    fn star_lies_where_half_fit() {
        // Half way in ln N between 100 and 400.
        let curve = Curve::new(vec![width(400.0, 0.0, 0.2), width(100.0, 1.0, 0.3)]);
        assert!((curve.star().unwrap() - 200.0).abs() < 1e-9);
        let curve = Curve::new(vec![width(100.0, 0.8, 0.3), width(200.0, 0.3, 0.2)]);
        assert!((curve.star().unwrap() - 100.0 * 2.0_f64.powf(0.6)).abs() < 1e-9);
        assert_eq!(Curve::new(vec![width(100.0, 1.0, 0.3)]).star(), None);
        assert_eq!(Curve::new(vec![width(100.0, 0.0, 0.3)]).star(), None);
    }

    #[test]
    fn the_peak_is_after_the_first_descent() {
        // 0.5 at the narrowest is no peak, nor is a rise within the errors.
        let errors = [0.5, 0.2, 0.22, 0.3, 0.25, 0.15];
        let widths = errors.iter().enumerate();
        let widths = widths.map(|(i, &e)| width(10.0 * (i + 1) as f64, f64::from(i < 3), e));
        let curve = Curve::new(widths.collect());
        assert_eq!(curve.peak().map(|w| w.weights), Some(40.0));
        let falling = (1..6).map(|i| width(f64::from(i), 0.0, 1.0 / f64::from(i)));
        assert!(Curve::new(falling.collect()).peak().is_none());
    }

    #[test]
    fn scores_stand_where_they_belong() {
        let mut widths = vec![
            width(50.0, 1.0, 0.2),
            width(100.0, 1.0, 0.3),
            width(200.0, 0.0, 0.2),
            width(400.0, 0.0, 0.14),
            width(800.0, 0.0, 0.12),
        ];
        widths[3].ensemble = 0.12;
        let curve = Curve::new(widths);
        let star = 100.0 * 2.0_f64.sqrt();
        let [relative, peak, gain, flat, late] = curve.scores(100.0);
        assert!((relative - 100.0 / star).abs() < 1e-12);
        assert!((peak - (100.0 / star).ln()).abs() < 1e-12);
        assert!((gain - 20.0).abs() < 1e-9 && flat.is_nan());
        // 0.02 of over-fitting over 0.2.
        assert!((late - 0.1).abs() < 1e-9);
        // The ensembles beyond 283 weights: 0.12 and 0.1, mean 0.11.
        let beyond = curve.scores(800.0);
        assert!((beyond[3] - 0.01 / 0.11).abs() < 1e-9);
        assert!(beyond[1].is_nan() && beyond[2].is_nan() && beyond[4].is_nan());
    }
}
