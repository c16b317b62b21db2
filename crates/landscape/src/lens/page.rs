//! `report.html` of the answer.

use polariscope_report::{
    Align, Axis, BarChart, Bars, Cell, Mark, Page, Plot, Section, Series, Table, counted, grouped,
    pretty,
};

use super::words::{percent, value};
use super::{Answer, Curvature, Network, Parts, Sampled, Summary};
use crate::hessian::Counts;

/// The counts of a matrix.
type Matrix = fn(&Parts) -> Counts;

/// Dead units of a layer that are named.
const NAMED: usize = 12;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let summary = &answer.summary;
    let Summary { network, data, .. } = summary;
    let mut page = Page::new(
        format!("The landscape of {network} on {data}"),
        format!(
            "Do the parameters of {network} suffice to fit {data}, how rough is the loss where training ends, in which regime \
             does it train, and what is the noise of its initial weights worth?"
        ),
        summary.words.join("\n\n"),
    );
    page.facts(facts(summary));
    page.push(
        Section::new("Numbers")
            .table(summary.table())
            .prose(
                "Intervals of 95 % by Student's t over networks that differ in their initial weights alone, judged by the \
                 same test samples; of ‖ΔΘ‖/‖Θ₀‖ the geometric mean. Errors of the ensembles are the jackknife's over networks.",
            ),
    );
    page.push(parameters(summary));
    page.push(errors(summary));
    page.push(ensembles(summary));
    if let Some(section) = regime(summary) {
        page.push(section);
    }
    page.push(fitting(answer));
    if let Some(section) = curvature(summary) {
        page.push(section);
    }
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
    let moved = s
        .kernel
        .map(|k| (value(&k), "change of the tangent kernel, ‖ΔΘ‖/‖Θ₀‖".into()));
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
         the function to first order, on training and test samples.",
    );
    let mut notes = Vec::new();
    for (n, found) in summary
        .networks
        .iter()
        .filter_map(|n| Some((n, n.effective.as_ref()?)))
    {
        if found.idle > 0 {
            notes.push(format!(
                "Network {}: {} no output on any of these samples.",
                n.index,
                match found.idle {
                    1 => "one parameter changes".to_string(),
                    idle => format!("{} parameters change", grouped(idle as u64)),
                }
            ));
        }
        if !found.is_clear() {
            notes.push(format!(
                "Network {}: the rank is not sharp; singular values go from {} to {} of the largest there, without a gap.",
                n.index,
                pretty(found.gap.0),
                pretty(found.gap.1)
            ));
        }
    }
    notes.extend(summary.networks.iter().filter_map(dead));
    if !notes.is_empty() {
        section = section.list(notes);
    }
    section
}

/// Units that are off on every training sample, by name.
fn dead(n: &Network) -> Option<String> {
    let layer = |(layer, units): &(String, Vec<usize>)| {
        let named = units.iter().take(NAMED).map(ToString::to_string);
        let named: Vec<String> = named.collect();
        let rest = match units.len().saturating_sub(NAMED) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        format!("{layer}: {}{rest}", named.join(", "))
    };
    let layers: Vec<String> = n.dead_units.iter().map(layer).collect();
    (!layers.is_empty()).then(|| {
        format!(
            "Network {}: dead, off on every training sample, are the units {} (all of them: dead.csv).",
            n.index,
            layers.join("; ")
        )
    })
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
    let hundred = |x: f64| 100.0 * x;
    let measured = Series {
        mark: Mark::LinePoints,
        ..Series::line(
            "mean of m networks",
            points
                .iter()
                .map(|(m, e)| (1.0 / *m as f64, hundred(e.value)))
                .collect(),
        )
    };
    let band = points.iter().map(|(_, e)| {
        let s = Sampled::from(*e);
        (hundred(s.low.max(0.0)), hundred(s.high))
    });
    let mut series = vec![measured.with_band(band.collect())];
    if let Some(fit) = &summary.curve.fit {
        let at = |x: f64| (x, hundred(fit.limit.value + fit.slope.value * x));
        series.push(Series::reference("ε̄_∞ + c/m", vec![at(0.0), at(1.0)]));
    }
    let plot = Plot {
        title: "Test error of the mean output of m networks".into(),
        x: Axis::linear("1/m"),
        y: Axis::linear("test error, %"),
        series,
    };
    let mut prose = "Where the noise of the initial weights moves decision boundaries a little, the test error of the mean output of m \
                     networks is ε̄_∞ + c/m, and ε̄_∞ that of infinitely many, without the noise."
        .to_string();
    if let Some(fit) = &summary.curve.fit {
        let slope = Sampled::from(fit.slope);
        prose += &format!(
            " The line is fitted to two networks and more: c = {} (interval {} to {}\u{a0}%).",
            percent(&slope),
            pretty(tenth(slope.low)),
            pretty(tenth(slope.high))
        );
    }
    Section::new("What the noise of the initial weights is worth")
        .prose(prose)
        .figure(
            "ensembles",
            plot.draw(),
            format!(
                "Sub-samples of {}; the band is the interval of 95 %, the jackknife's. Points share networks.",
                counted(summary.networks.len() as u64, "network")
            ),
        )
}

/// The Hessian at the end.
fn curvature(summary: &Summary) -> Option<Section> {
    let found: Vec<&Curvature> = summary
        .networks
        .iter()
        .filter_map(|n| n.curvature.as_ref())
        .collect();
    let samples = counted(found.first()?.samples as u64, "training sample");
    let section = Section::new("The Hessian where training ends");
    let parts: Vec<Parts> = found.iter().filter_map(|c| c.parts).collect();
    if parts.is_empty() {
        let residual = found.iter().map(|c| c.residual).fold(0.0, f64::max);
        return Some(section.prose(format!(
            "Of the loss of {samples}, within the linear pieces of relu and max-pool, statistics of batch norm held fixed. Its ends are Lanczos': an eigenvalue \
             lies within {} of each, the ends themselves may lie further out.",
            pretty(residual)
        )));
    }
    use Align::{Left, Right};
    let mut table = Table::new([
        ("eigenvalues", Left),
        ("negative, N₋", Right),
        ("zero, N₀", Right),
        ("positive, N₊", Right),
    ]);
    let rows: [(&str, Matrix); 3] = [
        ("H = H₀ + H_p", |p| p.hessian),
        ("H₀ = ⟨ℓ″ ∇F ∇Fᵀ⟩", |p| p.gauss_newton),
        ("H_p = ⟨ℓ′ ∇∇F⟩", |p| p.curvature),
    ];
    for (name, counts) in rows {
        let mean = |f: fn(&Counts) -> usize| {
            let values: Vec<f64> = parts.iter().map(|p| f(&counts(p)) as f64).collect();
            Sampled::mean(&values).map_or(Cell::Empty, |s| value(&s).into())
        };
        table.push([
            name.into(),
            mean(|c| c.negative),
            mean(|c| c.zero),
            mean(|c| c.positive),
        ]);
    }
    Some(section.table(table).prose(format!(
        "Of the loss of {samples}, within the linear pieces of relu and max-pool, statistics of batch norm held fixed; means over networks with standard errors. \
         An eigenvalue counts as 0 where rounding hides its sign."
    )))
}

/// A share in per cent, to a tenth.
fn tenth(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
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
        let mut section = Section::new("What training moves");
        if summary.statistics.kernel.is_some() {
            section = section.prose(format!(
                "The tangent kernel, its mean over outputs, is compared on {} test samples; its alignment with the labels is \
                 that on {} training samples.",
                crate::POINTS.min(summary.test_samples),
                crate::POINTS.min(summary.train_samples)
            ));
        }
        section
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
    Section::new("Step by step").figure(
        "fitting",
        plot.draw(),
        format!(
            "A line a network, of {} margins. It ends where none is left, or where training stopped.",
            grouped(answer.summary.constraints() as u64)
        ),
    )
}
