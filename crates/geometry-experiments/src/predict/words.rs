//! The prediction in plain words. What is more than a number is said only where the numbers bear it.

use polariscope_geometry::page::NO_EVIDENCE;
use polariscope_geometry::{Form, LinearProblem, Ridge};
use polariscope_report::{counted, grouped, pretty};

use super::Target;
use super::answer::Range;
use crate::FrequencyMap;

/// Mean error that the method itself is allowed, whatever the error of δ.
const METHOD: f64 = 0.05;
/// Standard errors that a difference must have.
const ERRORS: f64 = 2.0;
/// Low frequencies are below this part of the highest along an axis, high ones above that.
const LOW: f64 = 0.25;
const HIGH: f64 = 0.75;
/// What is above this even at the end of its errors counts as learnt, what is below that as not.
const LEARNT: f64 = 0.85;
const UNLEARNT: f64 = 0.65;

/// What there is to say.
pub struct Reading<'a> {
    /// The architecture.
    pub name: &'a str,
    /// Which directions.
    pub target: &'a Target,
    /// Whether all directions are spatial frequencies.
    pub image: bool,
    /// n and σ.
    pub problem: LinearProblem,
    /// How many directions.
    pub directions: usize,
    /// Over them.
    pub accuracy: Range,
    /// Low frequencies against high ones.
    pub contrast: Option<Contrast>,
    /// δ.
    pub ridge: Ridge,
    /// Networks that were trained.
    pub trainings: usize,
    /// Which formula.
    pub form: Form,
}

/// Mean accuracy over low frequencies and over high ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Over low ones.
    pub low: f64,
    /// Over high ones.
    pub high: f64,
    /// Standard error of the difference, as far as it comes from δ.
    pub error: f64,
}

impl Contrast {
    /// From the map, and those at both ends of the error of δ; `None` where the image is too small to tell.
    pub fn new(map: &FrequencyMap, ends: &[FrequencyMap; 2]) -> Option<Self> {
        let mean = |map: &FrequencyMap, wanted: &dyn Fn(f64) -> bool| {
            let (h, w) = (map.height, map.width);
            let part = |k: usize, n: usize| (k as f64 - (n / 2) as f64) / (0.5 * n as f64);
            let chosen = map
                .values
                .iter()
                .enumerate()
                .filter(|(k, _)| wanted(part(k / w, h).hypot(part(k % w, w))));
            let values: Vec<f64> = chosen.map(|(_, v)| *v).collect();
            let count = values.len() as f64;
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
        };
        let both =
            |map: &FrequencyMap| Some((mean(map, &|r| r <= LOW)?, mean(map, &|r| r >= HIGH)?));
        let (low, high) = both(map)?;
        let difference = |map| both(map).map(|(low, high)| low - high);
        let error = 0.5 * (difference(&ends[0])? - difference(&ends[1])?).abs();
        Some(Self { low, high, error })
    }

    /// Which of the two is learnt better, where that is beyond doubt.
    fn sentence(&self) -> Option<String> {
        let difference = self.low - self.high;
        if difference.abs() <= ERRORS * self.error.hypot(METHOD) {
            return None;
        }
        let (better, worse) = match difference > 0.0 {
            true => (("low", self.low), ("high", self.high)),
            false => (("high", self.high), ("low", self.low)),
        };
        Some(format!(
            "{} frequencies are learnt better than {} ones: {} against {} on average.",
            capital(better.0),
            worse.0,
            percent(better.1),
            percent(worse.1)
        ))
    }
}

/// A paragraph on the accuracies, one on δ.
pub fn words(reading: &Reading) -> String {
    let Reading {
        name,
        problem,
        accuracy,
        ridge,
        ..
    } = reading;
    let samples = format!(
        "{} samples and σ = {}",
        grouped(problem.train as u64),
        pretty(problem.sigma)
    );
    let mut first = match reading.target {
        Target::Data { spec, .. } => {
            let mut text = format!(
                "{name} is predicted to get {} % of the test samples of {spec} right, after training on {samples}.",
                with_error(accuracy.median, accuracy.median_error),
            );
            if let Some(verdict) = verdict(accuracy.median, accuracy.median_error) {
                text += verdict;
            }
            text
        }
        Target::All | Target::Rows(_) => format!(
            "With {samples} the predicted test accuracy of {name} over {} is {} to {}, at the median {} %.",
            match (reading.target, reading.image) {
                (Target::Rows(_), _) => counted(reading.directions as u64, "direction"),
                (_, true) => format!(
                    "all {} Fourier directions",
                    grouped(reading.directions as u64)
                ),
                (_, false) => format!(
                    "the {} directions of its geometry",
                    grouped(reading.directions as u64)
                ),
            },
            percent(accuracy.least),
            percent(accuracy.most),
            with_error(accuracy.median, accuracy.median_error),
        ),
    };
    if let Some(sentence) = reading.contrast.as_ref().and_then(Contrast::sentence) {
        first = format!("{first} {sentence}");
    }
    let mut second = match (reading.trainings as u64, ridge.log_spread) {
        (0, _) => format!("δ = {} was given.", pretty(ridge.delta)),
        (n, None) => format!(
            "δ = {} comes from {}, with a relative error of {} from the test samples.",
            pretty(ridge.delta),
            counted(n, "training"),
            pretty(ridge.log_error)
        ),
        (n, Some(spread)) => format!(
            "δ = {} comes from {}, with a relative error of {}; between the calibrating directions ln δ scatters by {}.",
            pretty(ridge.delta),
            counted(n, "training"),
            pretty(ridge.log_error),
            pretty(spread)
        ),
    };
    if reading.form == Form::Quadratic {
        second += " The geometry was sampled: its noise forbids an inverse, so each direction counts by vᵀGv alone. ";
        second += NO_EVIDENCE;
    }
    second += " δ belongs to this architecture, recipe and σ; it carries over n.";
    format!("{first}\n\n{second}")
}

/// Learnt, or not, where the error leaves no doubt.
fn verdict(accuracy: f64, error: f64) -> Option<&'static str> {
    let doubt = ERRORS * error.hypot(METHOD);
    if accuracy - doubt > LEARNT {
        Some(" It will learn this direction.")
    } else if accuracy + doubt < UNLEARNT {
        Some(" That is hardly above chance.")
    } else {
        None
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// `83.1 ± 0.4`, in %.
fn with_error(share: f64, error: f64) -> String {
    match error > 0.0 {
        true => format!("{:.1} ± {:.1}", 100.0 * share, 100.0 * error),
        false => format!("{:.1}", 100.0 * share),
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An 8 × 8 map that is `low` in the middle and `high` elsewhere.
    fn map(low: f64, high: f64) -> FrequencyMap {
        let value = |k: usize| {
            let (i, j) = ((k / 8) as f64 - 4.0, (k % 8) as f64 - 4.0);
            if i.hypot(j) < 2.0 { low } else { high }
        };
        FrequencyMap {
            height: 8,
            width: 8,
            values: (0..64).map(value).collect(),
        }
    }

    fn reading(target: &Target, contrast: Option<Contrast>) -> Reading<'_> {
        Reading {
            name: "net",
            target,
            image: true,
            problem: LinearProblem {
                train: 1000,
                sigma: 1.0,
            },
            directions: 64,
            accuracy: Range {
                least: 0.5,
                median: 0.8,
                median_error: 0.01,
                most: 1.0,
            },
            contrast,
            ridge: Ridge {
                delta: 5000.0,
                log_error: 0.1,
                log_spread: None,
            },
            trainings: 1,
            form: Form::Inverse,
        }
    }

    /// 20 points are beyond the 5 that the method is allowed, twice; 9 points are not, nor 20 with an error of δ that
    /// leaves 12.
    #[test]
    fn frequencies_are_compared_where_the_difference_is_certain() {
        let said = |low: f64, high: f64, ends: [(f64, f64); 2]| {
            let ends = ends.map(|(low, high)| map(low, high));
            let contrast = Contrast::new(&map(low, high), &ends).unwrap();
            words(&reading(&Target::All, Some(contrast)))
        };
        let same = |low, high| [(low, high); 2];
        let text = said(0.9, 0.7, same(0.9, 0.7));
        let sentence =
            "Low frequencies are learnt better than high ones: 90 % against 70 % on average.";
        assert!(text.contains(sentence), "{text}");
        let text = said(0.6, 0.8, same(0.6, 0.8));
        assert!(
            text.contains("High frequencies are learnt better"),
            "{text}"
        );
        for text in [
            said(0.79, 0.7, same(0.79, 0.7)),
            said(0.9, 0.7, [(0.99, 0.67), (0.8, 0.72)]),
        ] {
            assert!(!text.contains("learnt better"), "{text}");
        }
        let tiny = FrequencyMap {
            height: 1,
            width: 1,
            values: vec![1.0],
        };
        assert_eq!(Contrast::new(&tiny, &[tiny.clone(), tiny.clone()]), None);
    }

    #[test]
    fn a_direction_is_called_learnt_or_not_where_the_error_allows() {
        let data = |median: f64, median_error: f64| {
            let target = Target::Data {
                spec: "linear?v=3".into(),
                direction: Vec::new(),
            };
            let mut reading = reading(&target, None);
            reading.accuracy.median = median;
            reading.accuracy.median_error = median_error;
            words(&reading)
        };
        assert!(
            data(0.83, 0.004).contains("get 83.0 ± 0.4 % of the test samples of linear?v=3 right")
        );
        assert!(data(1.0, 0.0).contains("will learn this direction"));
        assert!(data(0.51, 0.0).contains("hardly above chance"));
        for text in [
            data(0.94, 0.0),
            data(1.0, 0.06),
            data(0.51, 0.05),
            data(0.6, 0.0),
        ] {
            assert!(
                !text.contains("will learn") && !text.contains("hardly"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_behind_delta_is_told() {
        let plain = words(&reading(&Target::All, None));
        assert!(plain.contains("comes from 1 training,"), "{plain}");
        assert!(
            !plain.contains("scatters")
                && !plain.contains("sampled:")
                && !plain.contains(NO_EVIDENCE),
            "{plain}"
        );
        let mut other = reading(&Target::All, None);
        (other.ridge.log_spread, other.form) = (Some(0.3), Form::Quadratic);
        let text = words(&other);
        assert!(text.contains("ln δ scatters by 0.3."), "{text}");
        assert!(text.contains("The geometry was sampled"), "{text}");
        assert!(text.contains(NO_EVIDENCE), "{text}");
        other.trainings = 0;
        assert!(words(&other).contains("was given"));
    }
}
