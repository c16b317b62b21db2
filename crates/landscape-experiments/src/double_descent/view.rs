//! The page of `double-descent`.

use polariscope_experiment::{Answers, Grid, Select, Table, View, levels};
use polariscope_report::{Axis, Mark, Plot, Section, Series, pretty};
use polariscope_stats::{Estimate, PowerLaw, power_law};

use super::{BEYOND, DoubleDescent, ENTRY};

/// The divergence is fitted up to this many times N*.
const NEAR: f64 = 5.0;

/// Mean over runs of a measure at a width.
fn mean(table: &Table, width: &str, measure: &str) -> Option<f64> {
    let select = Select::of(&[("width", width)]);
    table.mean(&select, measure).map(|m| m.value)
}

/// (N/N*, y ± error over networks) of every width.
fn points(table: &Table, measure: &str, error: &str) -> Vec<(f64, f64, f64)> {
    let point = |width: String| {
        let of = |measure: &str| mean(table, &width, measure);
        Some((of("relative")?, of(measure)?, of(error).unwrap_or(0.0)))
    };
    levels(table, "width")
        .into_iter()
        .filter_map(point)
        .collect()
}

/// ‖f‖² as a power of N/N* − 1.
pub(super) fn divergence(table: &Table) -> Option<PowerLaw> {
    let near = points(table, "norm", "scatter").into_iter();
    let near = near.filter(|(x, ..)| *x > 1.0 && *x < NEAR);
    let near: Vec<(f64, Estimate)> = near
        .map(|(x, value, error)| {
            let estimate = Estimate {
                value,
                standard_error: value * error,
                samples: 1,
            };
            (x - 1.0, estimate)
        })
        .collect();
    // Two points would have an exponent whatever they are.
    (near.len() > 2).then(|| power_law(&near)).flatten()
}

/// In per cent.
fn percent(x: f64) -> String {
    format!("{:.1} %", 100.0 * x)
}

impl DoubleDescent {
    /// The width of the peak.
    fn peak(&self, table: &Table) -> Option<String> {
        let widths = levels(table, "width").into_iter();
        let mut peaks = widths.filter(|w| mean(table, w, "peak").is_some());
        peaks.next()
    }

    fn star(&self, table: &Table) -> Option<f64> {
        let width = levels(table, "width").into_iter().next()?;
        Some(mean(table, &width, "weights")? / mean(table, &width, "relative")?)
    }
}

impl View for DoubleDescent {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "Double descent around the jamming point".into()
    }

    fn asked(&self) -> String {
        "Where does the test error peak as networks get wider, and what of the peak is left in an ensemble?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It peaks where networks start to fit, because they differ there: their ensemble has no such peak and is as good for any width \
             beyond 2N*.",
            "Not where networks start to fit, and an ensemble is no better than its networks.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let Some(star) = self.star(table) else {
            return "No width has half of its networks fit: N* is not known, and the curves have no scale.".into();
        };
        let mut words = vec![format!(
            "Networks start to fit at N* = {star:.0} weights (P = {}).",
            self.lab.pick(500, 5_000)
        )];
        if let Some(width) = self.peak(table) {
            let of = |measure: &str| mean(table, &width, measure).unwrap_or(f64::NAN);
            words.push(format!(
                "At the peak, {:.2} N*, a network errs on {} ± {} of the test samples, the ensemble on {}, and at the best moment of \
                 training, which takes the test set to know, a network on {}.",
                of("relative"),
                percent(of("error")),
                percent(of("spread")),
                percent(of("ensemble")),
                percent(of("oracle")),
            ));
        }
        if let Some(fit) = divergence(table) {
            words.push(format!(
                "‖f‖² falls as (N/N* − 1) to the power of {:.2} ± {:.2} for N/N* − 1 between {:.2} and {:.2}; the published prediction \
                 is −2.",
                fit.exponent, fit.error, fit.range.0, fit.range.1
            ));
        }
        words.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let columns = [
            "width",
            "N",
            "N/N*",
            "not fitted",
            "steps",
            "error %",
            "±",
            "oracle %",
            "ensemble %",
            "‖f‖²",
        ];
        let row = |width: String| {
            let of = |measure: &str, unit: f64| match mean(table, &width, measure) {
                None => String::new(),
                Some(value) => pretty(value / unit),
            };
            vec![
                width.clone(),
                of("weights", 1.0),
                of("relative", 1.0),
                of("jammed", 1.0),
                of("steps", 1.0),
                of("error", 0.01),
                of("spread", 0.01),
                of("oracle", 0.01),
                of("ensemble", 0.01),
                of("norm", 1.0),
            ]
        };
        Grid {
            columns: columns.map(str::to_string).into(),
            rows: levels(table, "width").into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let line = |label: &str, measure: &str, error: &str| {
            let points = points(table, measure, error);
            let per_cent = |p: &(f64, f64, f64)| (p.0, 100.0 * p.1);
            let series = Series {
                mark: Mark::LinePoints,
                ..Series::line(label, points.iter().map(per_cent).collect())
            };
            let band = |p: &(f64, f64, f64)| (100.0 * (p.1 - p.2), 100.0 * (p.1 + p.2));
            series.with_band(points.iter().map(band).collect())
        };
        let errors = points(table, "error", "spread");
        if errors.is_empty() {
            return Vec::new();
        }
        let top = errors.iter().map(|p| 100.0 * p.1).fold(0.0, f64::max);
        let curves = Plot {
            title: "Test error".into(),
            x: Axis::log("weights over those that fit, N/N*"),
            y: Axis::linear("test error in %"),
            series: vec![
                line("a network at the end", "error", "spread"),
                line("oracle early stop", "oracle", ""),
                line("ensemble of 20", "ensemble", ""),
                Series::reference("N*", vec![(1.0, 0.0), (1.0, top)]),
            ],
        };
        let norms = points(table, "norm", "scatter").into_iter();
        let norms: Vec<(f64, f64)> = norms
            .filter(|(x, ..)| *x > 1.0)
            .map(|(x, y, _)| (x - 1.0, y))
            .collect();
        let mut series = vec![Series {
            mark: Mark::LinePoints,
            ..Series::line("measured", norms.clone())
        }];
        if let Some(fit) = divergence(table) {
            let at = |x: f64| (x, fit.factor * x.powf(fit.exponent));
            let label = format!("exponent {:.2} ± {:.2}", fit.exponent, fit.error);
            series.push(Series::reference(
                label,
                vec![at(fit.range.0), at(fit.range.1)],
            ));
        }
        let norm = Plot {
            title: "‖f‖² along N".into(),
            x: Axis::log("N/N* − 1"),
            y: Axis::log("‖f‖² on the test set, geometric mean"),
            series,
        };
        vec![
            Section::new("The peak and the ensemble").figure(
                "test error",
                curves.draw(),
                format!(
                    "Means over 20 networks; the band is a standard error. The ensemble is the sign of the mean output. Oracle early stop is \
                     the smallest test error while a network trained: no one has it who does not know the test labels. N* is where half of \
                     the networks fit; beyond {BEYOND}N* the ensemble should be flat."
                ),
            ),
            Section::new("Size of the outputs beyond N*").figure(
                "norm",
                norm.draw(),
                format!(
                    "The exponent is fitted below {NEAR}N*. A finite number of steps rounds the divergence off, and the published prediction, \
                     −2, is for ever."
                ),
            ),
        ]
    }
}
