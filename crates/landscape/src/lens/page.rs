//! `report.html` of the answer.

use polariscope_report::{
    Axis, BarChart, Bars, Mark, Page, Plot, Section, Series, counted, grouped, pretty,
};

use super::words::percent;
use super::{Answer, Sampled, Summary};

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let summary = &answer.summary;
    let Summary { network, data, .. } = summary;
    let mut page = Page::new(
        format!("The landscape of {network} on {data}"),
        format!(
            "How many parameters does {network} need to fit {data}, in which regime does it train, and what is the noise of \
             its initial weights worth?"
        ),
        summary.words.join("\n\n"),
    );
    page.facts(facts(summary));
    page.push(
        Section::new("Numbers")
            .table(summary.table())
            .prose(
                "Intervals of 95 % by Student's t over networks that differ in their initial weights alone, judged by the \
                 same test samples. Errors of the ensembles are the jackknife's over networks.",
            ),
    );
    page.push(parameters(summary));
    page.push(errors(summary));
    page.push(ensembles(summary));
    if let Some(section) = regime(summary) {
        page.push(section);
    }
    page.push(fitting(answer));
    page.push(Section::new("Each network").table(summary.each()));
    if !summary.missing.is_empty() {
        page.push(Section::new("Not told, and why").list(summary.missing.iter().cloned()));
    }
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(summary: &Summary) -> Vec<(String, String)> {
    let s = &summary.statistics;
    let error = |sampled: &Option<Sampled>, what: &str| {
        sampled.map(|sampled| (percent(&sampled), what.to_string()))
    };
    let fitted = format!("{} of {}", summary.fitted, summary.networks.len());
    let moved = s.kernel.map(|k| {
        (
            k.estimate.pair(),
            "change of the tangent kernel, ‖ΔΘ‖/‖Θ₀‖".into(),
        )
    });
    let facts = [
        Some((
            grouped(summary.parameters.all as u64),
            format!(
                "parameters, for {} margins",
                grouped(summary.constraints() as u64)
            ),
        )),
        Some((fitted, "networks fit".to_string())),
        error(&s.error, "test error of a network"),
        error(&s.limit, "of the mean of infinitely many"),
        moved,
    ];
    facts.into_iter().flatten().collect()
}

fn parameters(summary: &Summary) -> Section {
    let mut section = Section::new("Parameters").table(summary.conventions()).prose(
        "A margin is a training sample and an output. The effective number is the dimension of what the parameters can do to \
         the function to first order, on the training samples.",
    );
    if let Some(found) = &summary.effective {
        let dead = found.dead.iter();
        let dead: Vec<String> = dead
            .map(|(layer, units)| format!("{layer}: {}", counted(*units as u64, "dead unit")))
            .collect();
        let mut notes = Vec::new();
        if !dead.is_empty() {
            notes.push(format!(
                "No training sample moves the weights of {}.",
                dead.join(", ")
            ));
        }
        if found.idle > 0 {
            notes.push(format!(
                "{} no output on any training sample.",
                match found.idle {
                    1 => "One parameter changes".to_string(),
                    n => format!("{} parameters change", grouped(n as u64)),
                }
            ));
        }
        if !found.is_clear() {
            notes.push(format!(
                "The rank is not sharp: singular values go from {} to {} of the largest there, without a gap.",
                pretty(found.gap.0),
                pretty(found.gap.1)
            ));
        }
        section = section.list(notes);
    }
    section
}

/// Test errors side by side.
fn errors(summary: &Summary) -> Section {
    let s = &summary.statistics;
    let rows = [
        ("one network", s.error),
        ("mean of all networks", s.ensemble),
        ("mean of infinitely many", s.limit),
        ("kernel of the start, frozen", s.frozen_start),
        ("kernel of the end, frozen", s.frozen_end),
    ];
    let rows: Vec<(&str, Sampled)> = rows
        .into_iter()
        .filter_map(|(name, sampled)| Some((name, sampled?)))
        .collect();
    let chart = BarChart {
        title: "Test errors".into(),
        value: Axis::linear("test error, %"),
        categories: rows.iter().map(|(name, _)| name.to_string()).collect(),
        series: vec![Bars {
            label: String::new(),
            values: rows.iter().map(|(_, s)| 100.0 * s.value()).collect(),
            errors: rows
                .iter()
                .map(|(_, s)| {
                    let reach = 100.0 * (s.high - s.value());
                    [reach, reach]
                })
                .collect(),
        }],
    };
    let mut prose = format!(
        "On {}; whiskers are intervals of 95 % over networks.",
        counted(summary.test_samples as u64, "test sample")
    );
    if s.frozen_start.is_some() {
        prose += " A frozen kernel is trained from F = 0 on the same loss to the same margin, as if the network were linear \
                  around those weights.";
        if summary.outputs > 1 {
            prose += " It is the mean over outputs and acts on each of them.";
        }
    }
    Section::new("Who is right how often").prose(prose).figure(
        "test-errors",
        chart.draw(),
        "The same training samples and test samples for all.",
    )
}

/// ε(m) and its extrapolation.
fn ensembles(summary: &Summary) -> Section {
    let points = &summary.curve.points;
    let percent = |x: f64| 100.0 * x;
    let measured = Series {
        mark: Mark::LinePoints,
        ..Series::line(
            "mean of m networks",
            points
                .iter()
                .map(|(m, e)| (1.0 / *m as f64, percent(e.value)))
                .collect(),
        )
    };
    let band = points.iter().map(|(_, e)| {
        let s = Sampled::from(*e);
        (percent(s.low.max(0.0)), percent(s.high))
    });
    let mut series = vec![measured.with_band(band.collect())];
    if let Some(fit) = &summary.curve.fit {
        let at = |x: f64| (x, percent(fit.limit.value + fit.slope.value * x));
        series.push(Series::reference("ε̄_∞ + c/m", vec![at(0.0), at(1.0)]));
    }
    let plot = Plot {
        title: "Averaging takes the noise of the initial weights away".into(),
        x: Axis::linear("1/m"),
        y: Axis::linear("test error, %"),
        series,
    };
    Section::new("What the noise of the initial weights is worth")
        .prose(
            "The test error of the mean output of m networks falls like 1/m; at 1/m = 0 it is that of infinitely many, \
             without the noise. The line is fitted to two networks and more.",
        )
        .figure(
            "ensembles",
            plot.draw(),
            format!(
                "Sub-samples of {}; the band is the interval of 95 %, the jackknife's. Points share networks.",
                counted(summary.networks.len() as u64, "network")
            ),
        )
}

/// Which layers move.
fn regime(summary: &Summary) -> Option<Section> {
    let layers = &summary.statistics.layers;
    let chart = BarChart {
        title: "How far weights move".into(),
        value: Axis::linear("‖Δw‖/‖w₀‖"),
        categories: layers.iter().map(|l| l.name.clone()).collect(),
        series: vec![Bars {
            label: String::new(),
            values: layers.iter().map(|l| l.moved.value()).collect(),
            errors: layers
                .iter()
                .map(|l| {
                    let reach = l.moved.high - l.moved.value();
                    [reach, reach]
                })
                .collect(),
        }],
    };
    (!layers.is_empty()).then(|| {
        Section::new("What training moves")
            .prose(format!(
                "The tangent kernel is compared on {} test samples, its alignment with the labels is that on as many training \
                 samples.",
                crate::POINTS.min(summary.test_samples)
            ))
            .figure(
                "layers",
                chart.draw(),
                "Mean over networks; whiskers are intervals of 95 %.",
            )
    })
}

/// Margins not met, step by step.
fn fitting(answer: &Answer) -> Section {
    let series = answer.histories.iter().map(|rows| {
        // Axes of logarithms hold no zero.
        let points = rows.iter().filter(|(_, left)| *left > 0);
        let points = points.map(|(step, left)| (*step as f64 + 1.0, *left as f64));
        Series::line("", points.collect())
    });
    let plot = Plot {
        title: "Margins that are not met".into(),
        x: Axis::log("step + 1"),
        y: Axis::log("N_Δ"),
        series: series.collect(),
    };
    Section::new("How they fit").figure(
        "fitting",
        plot.draw(),
        format!(
            "A line a network, until none is left. There are {} margins.",
            grouped(answer.summary.constraints() as u64)
        ),
    )
}
