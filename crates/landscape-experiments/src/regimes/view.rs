//! Words and figures.

use polariscope_experiment::{Answers, Grid, Table, View, levels, shown};
use polariscope_report::{Axis, Mark, Plot, Section, Series};

use super::{ENTRY, FEATURE, LAZY, Regimes, at, decades};
use crate::lazy::{called, control, left_out, winner};

impl View for Regimes {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!(
            "Between lazy and feature learning on {}",
            called(&self.lab.data)
        )
    }

    fn asked(&self) -> String {
        "By which powers of α̃ = √h α do the tangent kernel and the weights of a network of width h move while it is trained, and which \
         regime generalises better?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "By those of the theory: kernel and weights move as α̃ to the powers −4/3 and −1/3 where features are learnt and as 1/α̃ in lazy \
             training, where F is that of the frozen kernel; at fixed α they move as 1/h; the time to halve the loss goes from α̃ to a \
             constant, and Var F falls as 1/h.",
            "Not by those of the theory, on either side.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let widths = self.widths();
        let verdicts = widths.iter().filter_map(|&h| verdict(table, h));
        let words: Vec<String> = verdicts.chain(left_out(table)).collect();
        words.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let columns = [
            ("‖ΔΘ‖/‖Θ₀‖", "kernel"),
            ("‖Δw‖/‖w₀‖", "weights"),
            ("t½", "half"),
            ("h Var F", "spread"),
            ("test error", "error"),
            ("steps", "steps"),
        ];
        let row = |h: usize, c: String| {
            let means = columns.map(|(_, m)| shown(table.mean(&at(h, &c), m), 1.0));
            [h.to_string(), c].into_iter().chain(means).collect()
        };
        let all = widths_of(table).into_iter();
        Grid {
            columns: ["h", "α̃"]
                .into_iter()
                .chain(columns.map(|c| c.0))
                .map(String::from)
                .collect(),
            rows: all
                .flat_map(|h| controls_of(table, h).into_iter().map(move |c| (h, c)))
                .map(|(h, c)| row(h, c))
                .collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let h = self.widths();
        let scan =
            |m, x: fn(f64, f64) -> f64, y: fn(f64, f64, f64) -> f64| lines(table, &h, m, x, y);
        let raw_x = |h: f64, c: f64| c / h.sqrt();
        let own_x = |_: f64, c: f64| c;
        let raw = |_: f64, _: f64, y: f64| y;
        let figure =
            |name: &str, title: &str, x: Axis, y: &str, series: Vec<Series>, caption: &str| {
                let plot = Plot {
                    title: title.into(),
                    x,
                    y: Axis::log(y),
                    series,
                };
                Section::new("").figure(name, plot.draw(), caption)
            };
        let alpha = || Axis::log("α");
        let guide =
            |m: &'static str, factor: f64, low: &str, high: &str, power: f64, label: &str| {
                guide(
                    table,
                    h.last().copied().unwrap_or(100),
                    m,
                    (low, high),
                    (power, factor),
                    label,
                )
            };
        let mut kernel = scan("kernel", own_x, raw);
        kernel.extend(guide("kernel", 3.0, "0.001", "1", -4.0 / 3.0, "slope −4/3"));
        kernel.extend(guide("kernel", 3.0, "100", "100000", -1.0, "slope −1"));
        let mut weights = scan("weights", own_x, |h, _, y| y * h.sqrt());
        weights.extend(guide(
            "weights",
            15.0,
            "0.001",
            "1",
            -1.0 / 3.0,
            "slope −1/3",
        ));
        let errors = Plot {
            title: "Test error against α̃".into(),
            x: control(),
            y: Axis::linear("test error in %"),
            series: scan("error", own_x, |_, _, y| 100.0 * y),
        };
        vec![
            Section::new("How far the kernel moves")
                .prose(
                    "What depends on α̃ alone falls together against α̃, whatever the width. A change of 1/(h α), at fixed α, keeps widths √h \
                     apart there.",
                )
                .columns([
                    figure("kernel raw", "‖ΔΘ‖/‖Θ₀‖ against α", alpha(), "‖ΔΘ‖/‖Θ₀‖", scan("kernel", raw_x, raw), "As it is. Bands: a standard error over initial weights."),
                    figure("kernel collapsed", "‖ΔΘ‖/‖Θ₀‖ against α̃", control(), "‖ΔΘ‖/‖Θ₀‖", kernel, "Against α̃, with the slopes of theory."),
                ]),
            Section::new("How far the weights move").columns([
                figure("weights raw", "‖Δw‖/‖w₀‖ against α", alpha(), "‖Δw‖/‖w₀‖", scan("weights", raw_x, raw), "As it is."),
                figure("weights collapsed", "√h ‖Δw‖/‖w₀‖ against α̃", control(), "√h ‖Δw‖/‖w₀‖", weights, "Times √h against α̃, with the slope of theory for two hidden layers."),
            ]),
            Section::new("How long training takes").columns([
                figure("half raw", "Time to halve the loss", alpha(), "t½", scan("half", raw_x, raw), "In flow time, where the loss is divided by α²."),
                figure("half collapsed", "The same over α̃", control(), "t½/α̃", scan("half", own_x, |_, c, y| y / c), "Level where the time is in proportion to √h α."),
            ]),
            Section::new("How much initial weights matter").columns([
                figure("variance raw", "Var F", control(), "Var F", scan("spread", own_x, |h, _, y| y / h), "Variance over initial weights, on average over the first test samples."),
                figure("variance collapsed", "h Var F", control(), "h Var F", scan("spread", own_x, raw), "Times the width."),
            ]),
            Section::new("The frozen kernel, and a fixed α").columns([
                figure("gap", "Distance from the frozen kernel", control(), "largest difference of F", scan("gap", own_x, raw), "Largest difference of F over training and test samples between the network and dF/dt of its initial kernel, at the same flow time."),
                fixed_alpha(table),
            ]),
            Section::new("Which regime generalises").figure(
                "test error",
                errors.draw(),
                "Test error of single networks, on one training set. Bands: a standard error over initial weights.",
            ),
        ]
    }
}

/// Widths that were measured, narrow to wide.
fn widths_of(table: &Table) -> Vec<usize> {
    let mut widths: Vec<usize> = levels(table, "h")
        .iter()
        .filter_map(|h| h.parse().ok())
        .collect();
    widths.sort_unstable();
    widths
}

/// α̃ at which a width was measured.
fn controls_of(table: &Table, h: usize) -> Vec<String> {
    let all = levels(table, "control").into_iter();
    all.filter(|c| !table.values(&at(h, c), "fitted").is_empty())
        .collect()
}

/// A line a width over α̃; `x` and `y` of (h, α̃) and (h, α̃, mean).
fn lines(
    table: &Table,
    widths: &[usize],
    measure: &str,
    x: impl Fn(f64, f64) -> f64,
    y: impl Fn(f64, f64, f64) -> f64,
) -> Vec<Series> {
    let line = |&h: &usize| {
        let width = h as f64;
        let points = decades().into_iter().filter_map(|c| {
            let mean = table.mean(&at(h, &c), measure)?;
            let c: f64 = c.parse().ok()?;
            let error = mean.standard_error.unwrap_or(0.0);
            let value = |m: f64| y(width, c, m);
            // A band that reaches 0 has no lower end on a logarithmic axis.
            let low = if mean.value > error {
                mean.value - error
            } else {
                mean.value
            };
            Some((
                (x(width, c), value(mean.value)),
                (value(low), value(mean.value + error)),
            ))
        });
        let (points, band) = points.unzip();
        Series {
            mark: Mark::LinePoints,
            ..Series::line(format!("h = {h}"), points)
        }
        .with_band(band)
    };
    widths.iter().map(line).collect()
}

/// A line of a power beside a measure, `factor` above it where it starts.
fn guide(
    table: &Table,
    h: usize,
    measure: &str,
    (low, high): (&str, &str),
    (power, factor): (f64, f64),
    label: &str,
) -> Option<Series> {
    let start = table.mean(&at(h, low), measure)?.value * factor;
    let ends: [f64; 2] = [low.parse().ok()?, high.parse().ok()?];
    let point = |c: f64| (c, start * (c / ends[0]).powf(power));
    Some(Series::reference(label, ends.map(point).into()))
}

/// What moves at the fixed α, against the width.
fn fixed_alpha(table: &Table) -> Section {
    let names = [
        ("kernel", "kernel"),
        ("weights", "all weights"),
        ("first", "first layer, flow time 1"),
        ("middle", "middle layer, flow time 1"),
        ("last", "last layer, flow time 1"),
    ];
    let series = names.map(|(measure, label)| {
        let points = super::NARROW_TO_WIDE.iter().filter_map(|&h| {
            let mean = table.mean(&at(h, &super::fixed(h)), measure)?;
            Some((h as f64, mean.value))
        });
        Series {
            mark: Mark::LinePoints,
            ..Series::line(label, points.collect())
        }
    });
    let plot = Plot {
        title: "Relative change at α = 1000".into(),
        x: Axis::log("width h"),
        y: Axis::log("relative change"),
        series: series.into(),
    };
    Section::new("").figure(
        "fixed alpha",
        plot.draw(),
        "At fixed α: the chapters of the source disagree whether the kernel moves as 1/h or as 1/√h.",
    )
}

/// Which side has the lower test error, with the statistic.
fn verdict(table: &Table, h: usize) -> Option<String> {
    let (lazy, feature) = (at(h, LAZY), at(h, FEATURE));
    let said = [format!("at α̃ = {LAZY}"), format!("at α̃ = {FEATURE}")];
    winner(
        table,
        &format!("At h = {h}"),
        (&lazy, &said[0]),
        (&feature, &said[1]),
    )
}
