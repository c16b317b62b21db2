//! Numbers epoch by epoch: columns of a table, lines of a figure.

use polariscope_experiment::{Select, Table, levels};
use polariscope_report::{Axis, Plot, Section, Series};

/// `loss1`, `loss2`, …
pub(crate) fn columns(name: &str, epochs: u64) -> Vec<String> {
    (1..=epochs).map(|e| format!("{name}{e}")).collect()
}

/// (epoch, mean, standard error) of the columns of a name.
pub(crate) fn points(table: &Table, select: &Select, name: &str) -> Vec<(f64, f64, f64)> {
    let column = |measure: &String| {
        let epoch: u64 = measure.strip_prefix(name)?.parse().ok()?;
        let mean = table.mean(select, measure)?;
        Some((epoch as f64, mean.value, mean.standard_error.unwrap_or(0.0)))
    };
    table.measures().iter().filter_map(column).collect()
}

/// A line with its band.
pub(crate) fn line(label: String, points: &[(f64, f64, f64)]) -> Series {
    let band = points.iter().map(|p| (p.1 - p.2, p.1 + p.2)).collect();
    Series::line(label, points.iter().map(|p| (p.0, p.1)).collect()).with_band(band)
}

/// A figure over epochs with a line for each level of a factor.
pub(crate) fn epochs(
    table: &Table,
    (factor, name): (&str, &str),
    (title, y): (&str, Axis),
    caption: &str,
) -> Section {
    let series = levels(table, factor).into_iter().map(|l| {
        let select = Select::of(&[(factor, l.as_str())]);
        line(format!("{factor} {l}"), &points(table, &select, name))
    });
    let plot = Plot {
        title: title.into(),
        x: Axis::linear("epoch"),
        y,
        series: series.collect(),
    };
    let caption = format!("{caption} Bands: a standard error over runs.");
    Section::new(title).figure(title.to_lowercase(), plot.draw(), caption)
}
