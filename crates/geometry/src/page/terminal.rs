//! The geometry in a terminal: a table, the spectrum in characters, the finding in words.

use polariscope_report::{fill, grouped};

use super::{View, numbers, words};

/// Most characters in a line.
const WIDTH: usize = 80;
/// Rows of the drawn spectrum.
const ROWS: usize = 9;
/// Columns of bars.
const BARS: usize = 60;
/// Decades drawn at most, and the floor below which eigenvalues are zero to the digits of the arithmetic.
const DECADES: f64 = 7.0;
/// An eighth of a cell and up.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The summary of one geometry, with a line break at its end.
pub(super) fn summary(view: &View) -> String {
    let dims: Vec<String> = view.shape.dims().iter().map(usize::to_string).collect();
    let heading = format!("{}, input {}", view.name, dims.join("×"));
    let source = fill(&view.source.line());
    let mut out = format!("{heading}\n{source}\n{}\n", numbers(view).to_text(WIDTH));
    out += &spectrum(&view.spectrum.values);
    out.push('\n');
    for paragraph in words(view).split("\n\n") {
        out += &fill(paragraph);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Bars over the logarithm of the index, in decades around the isotropic eigenvalue, whose line is dashed.
fn spectrum(values: &[f64]) -> String {
    let isotropic = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let decades: Vec<f64> = bins(values.len())
        .map(|(from, to)| {
            let part = &values[from..to];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            (mean / isotropic).log10()
        })
        .collect();
    let shown = decades.iter().copied().filter(|d| d.is_finite());
    let top = shown.clone().fold(0.0, f64::max).ceil().max(1.0);
    let low = shown.fold(0.0, f64::min).floor();
    let low = low.min(top - 2.0).max(top - DECADES);
    let step = (top - low) / ROWS as f64;
    let mut out =
        "Eigenvalues over the isotropic one, log scale; ╌ is a network without preference\n"
            .to_string();
    // The row whose span holds the isotropic value, counted from the top.
    let reference = (((top - 1e-9) / step).floor() as usize).min(ROWS - 1);
    let labels = [(0, top), (ROWS - 1, low)];
    for row in 0..ROWS {
        let base = top - (row + 1) as f64 * step;
        let label = match labels.iter().find(|(at, _)| *at == row) {
            _ if row == reference => "1".to_string(),
            Some((_, decade)) => power(*decade),
            None => String::new(),
        };
        let cell = |d: &f64| {
            let part = ((d - base) / step).clamp(0.0, 1.0);
            // A bar is never so low that it vanishes.
            let least = f64::from(u8::from(row == ROWS - 1 && *d > low - 1.0));
            let eighths = (8.0 * part).round().max(least) as usize;
            match BLOCKS[eighths.min(8)] {
                ' ' if row == reference => '╌',
                block => block,
            }
        };
        let bars: String = decades.iter().map(cell).collect();
        out += &format!("{label:>6} ┤{}\n", bars.trim_end());
    }
    let width = decades.len();
    let count = grouped(values.len() as u64);
    out += &format!("{:>6} └{}\n", "", "─".repeat(width));
    let gap = width.saturating_sub(1 + count.chars().count()).max(1);
    out += &format!("{:>8}1{:gap$}{count}  direction\n", "", "");
    out
}

/// `10²`, or `10⁰`'s plain 1.
fn power(decade: f64) -> String {
    let whole = decade.round() as i32;
    match whole {
        0 => "1".to_string(),
        n => format!("10{}", polariscope_stats::superscript(n)),
    }
}

/// Ranges of indices that are equally wide in the logarithm where there are enough of them, none empty.
fn bins(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let bars = BARS.min(count);
    let edge = move |k: usize| {
        let t = k as f64 / bars.max(1) as f64;
        let log = ((count as f64 + 1.0).powf(t) - 1.0).round() as usize;
        // At least one index a bar, and enough left for the bars that follow.
        log.max(k).min(count - (bars - k))
    };
    (0..bars).map(move |k| (edge(k), edge(k + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_index_once() {
        for count in [1, 2, 10, 63, 64, 65, 784, 1024, 12_288] {
            let all: Vec<(usize, usize)> = bins(count).collect();
            assert_eq!(all[0].0, 0, "{count}");
            assert_eq!(all.last().unwrap().1, count);
            assert!(all.iter().all(|(a, b)| a < b), "{count} {all:?}");
            assert!(all.windows(2).all(|w| w[0].1 == w[1].0), "{count}");
        }
        assert_eq!(bins(0).count(), 0);
    }

    #[test]
    fn lines_are_never_too_long() {
        let values: Vec<f64> = (0..3072)
            .map(|i| 10f64.powf(-f64::from(i) / 300.0))
            .collect();
        for values in [
            &values[..],
            &values[..1],
            &values[..5],
            &[1.0; 100],
            &[0.0; 4],
            &[],
        ] {
            let text = spectrum(values);
            assert!(text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        }
    }

    /// A flat spectrum is one row of full bars up to the line.
    #[test]
    fn a_flat_spectrum_is_flat() {
        let text = spectrum(&[2.0; 200]);
        let bars: Vec<&str> = text.lines().filter(|l| l.contains('┤')).collect();
        let first: Vec<char> = bars.iter().filter_map(|l| l.chars().nth(8)).collect();
        let last: Vec<char> = bars
            .iter()
            .filter_map(|l| l.chars().nth(7 + BARS))
            .collect();
        assert_eq!(first, last);
    }
}
