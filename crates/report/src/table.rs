//! One table, three faces: aligned text for a terminal, HTML for a page, CSV for programs.

use crate::number::{exact, grouped, pretty};
use crate::svg::escape;
use polariscope_stats::Estimate;

/// Which side a column keeps straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Columns of words are not cut below this many characters.
const NARROWEST: usize = 8;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing to say here.
    Empty,
    /// Words.
    Text(String),
    /// An exact count, shown with its thousands apart.
    Count(u64),
    /// A number, shown to four digits.
    Number(f64),
    /// A sampled number, shown with its error.
    Estimate(Estimate),
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            // A line break would tear the row apart.
            Cell::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Cell::Count(n) => grouped(*n),
            Cell::Number(x) => pretty(*x),
            Cell::Estimate(e) => e.to_string(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Cell::Count(count as u64)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl From<f64> for Cell {
    fn from(x: f64) -> Self {
        Cell::Number(x)
    }
}

impl From<Estimate> for Cell {
    fn from(e: Estimate) -> Self {
        Cell::Estimate(e)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Empty, Into::into)
    }
}

/// Columns with headings, and rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, align)| (name.to_string(), align));
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty and cells without a column are dropped.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = row.into_iter().collect();
        row.resize(self.columns.len(), Cell::Empty);
        self.rows.push(row);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned columns under a ruled heading, for a terminal. Where `width` characters do not suffice, the
    /// widest columns of words give way: names in the first column lose their middle, other words their end.
    pub fn to_text(&self, width: usize) -> String {
        let heading: Vec<String> = self.columns.iter().map(|c| c.0.clone()).collect();
        let body = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::shown).collect());
        let lines: Vec<Vec<String>> = std::iter::once(heading).chain(body).collect();
        let widths = self.widths(&lines, width);
        let mut out = String::new();
        for (i, line) in lines.iter().enumerate() {
            let cells = line.iter().zip(&widths).zip(&self.columns).enumerate();
            let padded = cells.map(|(j, ((text, &width), (_, align)))| match align {
                Align::Left => {
                    let tail = if j == 0 { width * 2 / 3 } else { 0 };
                    format!("{:<width$}", cut(text, width, tail))
                }
                Align::Right => format!("{text:>width$}"),
            });
            let padded: Vec<String> = padded.collect();
            out.push_str(padded.join("  ").trim_end());
            out.push('\n');
            if i == 0 {
                let rules: Vec<String> = widths.iter().map(|&w| "─".repeat(w)).collect();
                out.push_str(&rules.join("  "));
                out.push('\n');
            }
        }
        out
    }

    /// Width of every column, with two spaces between them inside `width`.
    fn widths(&self, lines: &[Vec<String>], width: usize) -> Vec<usize> {
        let needed = |j: usize| lines.iter().map(|line| line[j].chars().count()).max();
        let needed = (0..self.columns.len()).map(|j| needed(j).unwrap_or(0));
        let mut widths: Vec<usize> = needed.collect();
        let gaps = 2 * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > width {
            let words = self.columns.iter().zip(&mut widths);
            let words = words.filter(|((_, align), _)| *align == Align::Left);
            match words.map(|(_, width)| width).max() {
                Some(widest) if *widest > NARROWEST => *widest -= 1,
                _ => break,
            }
        }
        widths
    }

    /// A `<table>` element, everything escaped.
    pub(crate) fn to_html(&self) -> String {
        let class = |align| match align {
            Align::Left => "",
            Align::Right => " class=\"n\"",
        };
        let mut out = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
        for (name, align) in &self.columns {
            out.push_str(&format!("<th{}>{}</th>", class(*align), escape(name)));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (cell, (_, align)) in row.iter().zip(&self.columns) {
                out.push_str(&format!(
                    "<td{}>{}</td>",
                    class(*align),
                    escape(&cell.shown())
                ));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// Comma-separated values (RFC 4180): counts without separators, numbers to the last bit. A column
    /// that holds an estimate is followed by `<name>_standard_error` and `<name>_samples`.
    pub fn to_csv(&self) -> String {
        let wide = |j: usize| {
            self.rows
                .iter()
                .any(|row| matches!(row[j], Cell::Estimate(_)))
        };
        let wide: Vec<bool> = (0..self.columns.len()).map(wide).collect();
        let mut heading = Vec::new();
        for ((name, _), &wide) in self.columns.iter().zip(&wide) {
            heading.push(quote(name));
            if wide {
                heading.push(quote(&format!("{name}_standard_error")));
                heading.push(quote(&format!("{name}_samples")));
            }
        }
        let mut out = heading.join(",") + "\n";
        for row in &self.rows {
            let mut fields = Vec::new();
            for (cell, &wide) in row.iter().zip(&wide) {
                let extra = match cell {
                    Cell::Estimate(e) => [exact(e.standard_error), e.samples.to_string()],
                    _ => [String::new(), String::new()],
                };
                fields.push(match cell {
                    Cell::Empty => String::new(),
                    Cell::Text(text) => quote(text),
                    Cell::Count(n) => n.to_string(),
                    Cell::Number(x) => exact(*x),
                    Cell::Estimate(e) => exact(e.value),
                });
                if wide {
                    fields.extend(extra);
                }
            }
            out.push_str(&fields.join(","));
            out.push('\n');
        }
        out
    }
}

/// Text that fits: names lose their middle, because they differ at their ends, other words their end.
fn cut(text: &str, width: usize, tail: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_string();
    }
    let kept = width.saturating_sub(1);
    let tail = tail.min(kept);
    let head: String = text.chars().take(kept - tail).collect();
    let tail: String = text.chars().skip(count - tail).collect();
    format!("{head}…{tail}")
}

/// Quotes a field that holds a separator, a quote or a line break.
fn quote(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut t = Table::new([
            ("layer", Align::Left),
            ("parameters", Align::Right),
            ("gain", Align::Right),
        ]);
        t.push([Cell::from("conv1"), Cell::from(1728usize), Cell::from(0.5)]);
        let gain = Estimate {
            value: 0.25,
            standard_error: 0.03,
            samples: 8,
        };
        t.push(["a, \"b\" <c>".into(), Cell::Empty, gain.into()]);
        t
    }

    #[test]
    fn text_is_aligned() {
        let want = [
            "layer       parameters                 gain",
            "──────────  ──────────  ───────────────────",
            "conv1            1,728                  0.5",
            "a, \"b\" <c>              0.25 ± 0.03 (n = 8)",
        ];
        assert_eq!(sample().to_text(100).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn wide_tables_cut_words_never_numbers() {
        let mut t = Table::new([
            ("name", Align::Left),
            ("law", Align::Left),
            ("n", Align::Right),
        ]);
        t.push([
            "encoder.layers.0.mlp".into(),
            "weight U(±0.1), bias 0".into(),
            123_456usize.into(),
        ]);
        let text = t.to_text(40);
        assert!(text.lines().all(|l| l.chars().count() <= 40), "{text}");
        // 40 − 7 for the number − 4 for the gaps leaves 29: 15 for the name, 14 for the law.
        assert!(
            text.contains("enco…yers.0.mlp  weight U(±0.1…  123,456"),
            "{text}"
        );
        assert_eq!(
            t.to_text(200).lines().last().unwrap(),
            "encoder.layers.0.mlp  weight U(±0.1), bias 0  123,456"
        );
    }

    #[test]
    fn csv_is_exact_and_quoted() {
        let want = "layer,parameters,gain,gain_standard_error,gain_samples\n\
                    conv1,1728,0.5,,\n\
                    \"a, \"\"b\"\" <c>\",,0.25,0.03,8\n";
        assert_eq!(sample().to_csv(), want);
    }

    #[test]
    fn html_is_escaped() {
        let html = sample().to_html();
        assert!(html.contains("<td>a, &quot;b&quot; &lt;c&gt;</td>"));
        assert!(html.contains("<td class=\"n\">1,728</td>"));
    }

    #[test]
    fn rows_always_fit_the_columns() {
        let mut t = Table::new([("a", Align::Left)]);
        t.push([]);
        t.push(["x".into(), "dropped".into()]);
        assert_eq!(t.to_csv(), "a\n\nx\n");
    }
}
