//! Lines and points over two axes.

use std::collections::HashSet;

use crate::axis::{Area, Axis, Ruler};
use crate::palette;
use crate::svg::{Anchor, Canvas, Drawing, Ink, TICK, num, path, shorten, text_width};

/// Width of a figure in drawing units; with text of 12 to 15 units it stays legible on a phone.
pub(crate) const WIDTH: f64 = 460.0;
/// Height of the rectangle that holds the data.
const INNER: f64 = 230.0;
/// Lines with more points than this are thinned to what the eye can tell apart.
const DENSE: usize = 2000;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line, broken where a value is missing.
    Line,
    /// Points alone: a scatter plot.
    Points,
    /// A line with its points.
    LinePoints,
    /// A thin dashed grey line to compare the others with; takes no colour from them.
    Reference,
}

/// One curve or cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; an empty one stays out of it.
    pub label: String,
    /// (x, y); values that are not finite leave a gap.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of the error band at each point; empty for none.
    pub band: Vec<(f64, f64)>,
    /// Line, points or both.
    pub mark: Mark,
}

impl Series {
    /// A line.
    pub fn line(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            label: label.into(),
            points,
            band: Vec::new(),
            mark: Mark::Line,
        }
    }

    /// A cloud of points.
    pub fn scatter(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            mark: Mark::Points,
            ..Self::line(label, points)
        }
    }

    /// A dashed line to compare the others with, such as what theory or chance gives.
    pub fn reference(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            mark: Mark::Reference,
            ..Self::line(label, points)
        }
    }

    /// With an error band around it.
    pub fn with_band(mut self, band: Vec<(f64, f64)>) -> Self {
        self.band = band;
        self
    }
}

/// A line or scatter plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Heading.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is drawn, in the order of the colours.
    pub series: Vec<Series>,
}

impl Plot {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        self.sized(WIDTH, INNER)
    }

    /// Draws it `width` units wide, `inner` of them the height of the rectangle that holds the data.
    pub(crate) fn sized(&self, width: f64, inner: f64) -> Drawing {
        let points = || self.series.iter().flat_map(|s| s.points.iter().copied());
        // Only points that both axes can show may stretch the axes.
        let shown = || points().filter(|&(x, y)| self.x.scale.shows(x) && self.y.scale.shows(y));
        let bands = || {
            self.series
                .iter()
                .flat_map(|s| s.band.iter().flat_map(|&(a, b)| [a, b]))
        };
        let x = Ruler::over(self.x.scale, shown().map(|p| p.0), 6);
        let y = Ruler::over(self.y.scale, shown().map(|p| p.1).chain(bands()), 5);

        let mut canvas = Canvas::default();
        let left = 2.0 + TICK + 8.0 + y.label_width() + 8.0;
        let mut top = 10.0 + canvas.heading(2.0, 6.0, width - 4.0, &self.title) + 6.0;
        top += self.draw_legend(&mut canvas, top, width);
        let area = Area {
            left,
            top,
            right: width - 22.0,
            bottom: top + inner,
        };
        area.draw_left(&mut canvas, &y, &self.y.label, 12.0);
        area.draw_bottom(&mut canvas, &x, &self.x.label);
        if shown().next().is_none() {
            let at = (area.x(0.5), area.y(0.5));
            canvas.text(at, TICK, Anchor::Middle, Ink::Muted, "no finite data");
        }
        for (i, series) in self.numbered() {
            self.draw_series(&mut canvas, i, series, |px, py| {
                let visible = self.x.scale.shows(px) && self.y.scale.shows(py);
                visible.then(|| (area.x(x.place(px)), area.y(y.place(py))))
            });
        }
        canvas.finish(&self.title, width, area.bottom + 48.0)
    }

    /// Every series with the number of its colour; a reference takes none.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.series.iter().scan(0, |next, series| {
            let number = *next;
            *next += usize::from(series.mark != Mark::Reference);
            Some((number, series))
        })
    }

    fn draw_series(
        &self,
        canvas: &mut Canvas,
        index: usize,
        series: &Series,
        at: impl Fn(f64, f64) -> Option<(f64, f64)>,
    ) {
        let pen = Pen::of(index, series.mark);
        canvas.raw(&pen.group());
        let edge = |pick: fn(&(f64, f64)) -> f64| {
            let pairs = series.points.iter().zip(&series.band);
            thin(pairs.filter_map(|(p, b)| at(p.0, pick(b))).collect())
        };
        let mut outline = edge(|b| b.1);
        outline.extend(edge(|b| b.0).into_iter().rev());
        if outline.len() > 2 {
            let d = path(outline);
            canvas.raw(&format!(
                "<path d=\"{d}Z\" fill=\"currentColor\" fill-opacity=\"0.18\"/>"
            ));
        }
        let placed: Vec<Option<(f64, f64)>> = series.points.iter().map(|p| at(p.0, p.1)).collect();
        if series.mark != Mark::Points {
            for run in placed.split(Option::is_none) {
                let run: Vec<_> = run.iter().copied().flatten().collect();
                if let [alone] = run[..] {
                    marker(canvas, 0, alone, 2.0);
                } else if !run.is_empty() {
                    let d = path(thin(run));
                    canvas.raw(&pen.stroke(&d));
                }
            }
        }
        if matches!(series.mark, Mark::Points | Mark::LinePoints) {
            let radius = if placed.len() > 200 { 2.2 } else { 3.4 };
            // Points that fall on the same half unit of paper are drawn once.
            let mut seen = HashSet::new();
            for p in placed.into_iter().flatten() {
                if seen.insert(((p.0 * 2.0) as i64, (p.1 * 2.0) as i64)) {
                    marker(canvas, index, p, radius);
                }
            }
        }
        canvas.raw("</g>");
    }

    /// Rows of samples and names under the title; returns their height.
    fn draw_legend(&self, canvas: &mut Canvas, top: f64, width: f64) -> f64 {
        let named = self.numbered().filter(|(_, s)| !s.label.is_empty());
        let entries = named.map(|(i, s)| (i, s.label.as_str(), s.mark));
        draw_legend(canvas, (top, width), entries)
    }
}

/// How a series is drawn.
struct Pen {
    class: String,
    colour: &'static str,
    dash: &'static str,
    width: &'static str,
}

impl Pen {
    fn of(index: usize, mark: Mark) -> Self {
        if mark == Mark::Reference {
            return Self {
                class: "reference".to_string(),
                colour: "#57606a",
                dash: "6 4",
                width: "1.5",
            };
        }
        let (class, colour, dash) = palette::series(index);
        Self {
            class: format!("s{class}"),
            colour,
            dash: if dash.is_empty() { "none" } else { dash },
            width: "2",
        }
    }

    /// The opening tag under which `currentColor` is this pen's.
    fn group(&self) -> String {
        format!("<g class=\"{}\" color=\"{}\">", self.class, self.colour)
    }

    fn stroke(&self, d: &str) -> String {
        let Self { dash, width, .. } = self;
        format!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\" stroke-linejoin=\"round\" stroke-dasharray=\"{dash}\"/>"
        )
    }
}

/// A legend from `top` down that wraps in its room; also used by bar charts, with their series as points.
pub(crate) fn draw_legend<'a>(
    canvas: &mut Canvas,
    (top, room): (f64, f64),
    entries: impl Iterator<Item = (usize, &'a str, Mark)>,
) -> f64 {
    let (mut x, mut row, mut any) = (2.0, 0.0, false);
    for (i, label, mark) in entries {
        let label = shorten(label, TICK, room - 70.0);
        let width = 30.0 + text_width(&label, TICK) + 16.0;
        if any && x + width > room - 8.0 {
            (x, row) = (2.0, row + 20.0);
        }
        any = true;
        let y = top + row + 9.0;
        let pen = Pen::of(i, mark);
        canvas.raw(&pen.group());
        if mark != Mark::Points {
            canvas.raw(&pen.stroke(&path([(x, y), (x + 24.0, y)])));
        }
        if matches!(mark, Mark::Points | Mark::LinePoints) {
            marker(canvas, i, (x + 12.0, y), 4.0);
        }
        canvas.raw("</g>");
        canvas.text(
            (x + 30.0, y + TICK * 0.35),
            TICK,
            Anchor::Start,
            Ink::Strong,
            &label,
        );
        x += width;
    }
    if any { row + 28.0 } else { 4.0 }
}

/// A dot whose form also tells the series: circle, square, triangle, diamond.
fn marker(canvas: &mut Canvas, index: usize, (x, y): (f64, f64), r: f64) {
    let shape = match index % 4 {
        0 => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"",
            num(x),
            num(y),
            num(r)
        ),
        1 => polygon(&[
            (x - r, y - r),
            (x + r, y - r),
            (x + r, y + r),
            (x - r, y + r),
        ]),
        2 => polygon(&[
            (x, y - 1.2 * r),
            (x + 1.15 * r, y + 0.9 * r),
            (x - 1.15 * r, y + 0.9 * r),
        ]),
        _ => polygon(&[
            (x, y - 1.3 * r),
            (x + 1.3 * r, y),
            (x, y + 1.3 * r),
            (x - 1.3 * r, y),
        ]),
    };
    canvas.raw(&format!(
        "{shape} fill=\"currentColor\" fill-opacity=\"0.85\"/>"
    ));
}

fn polygon(corners: &[(f64, f64)]) -> String {
    format!("<path d=\"{}Z\"", path(corners.iter().copied()))
}

/// Keeps the first, lowest, highest and last point of every half unit of paper, so peaks survive.
fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= DENSE {
        return points;
    }
    let mut kept = Vec::with_capacity(DENSE);
    for column in points.chunk_by(|a, b| (a.0 * 2.0).floor() == (b.0 * 2.0).floor()) {
        let by_y = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let picks = [
            column.first(),
            column.iter().min_by(by_y),
            column.iter().max_by(by_y),
            column.last(),
        ];
        kept.extend(picks.into_iter().flatten().copied());
    }
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(series: Vec<Series>) -> Plot {
        Plot {
            title: "T".into(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series,
        }
    }

    #[test]
    fn a_missing_value_breaks_the_line() {
        let points = vec![
            (0.0, 0.0),
            (1.0, 1.0),
            (2.0, f64::NAN),
            (3.0, 1.0),
            (4.0, 2.0),
        ];
        let svg = plot(vec![Series::line("", points)]).draw().inline();
        assert_eq!(svg.matches("stroke-linejoin").count(), 2);
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn labels_are_escaped() {
        let mut p = plot(vec![Series::line("<b>&", vec![(0.0, 1.0), (1.0, 2.0)])]);
        p.title = "</svg><script>".into();
        let svg = p.draw().standalone();
        assert!(
            svg.contains("&lt;b&gt;&amp;") && !svg.contains("<script>") && !svg.contains("<b>")
        );
    }

    #[test]
    fn long_lines_are_thinned_but_keep_their_peak() {
        let wave = |i: usize| (i as f64, (i as f64 * 0.01).sin());
        let mut points: Vec<_> = (0..200_000).map(wave).collect();
        points[77_777].1 = 9.0;
        let placed: Vec<_> = points
            .iter()
            .map(|p| (p.0 * 500.0 / 200_000.0, p.1))
            .collect();
        let thinned = thin(placed);
        assert!(thinned.len() <= 4 * 1001, "{}", thinned.len());
        assert!(thinned.iter().any(|p| p.1 == 9.0));
        let svg = plot(vec![Series::line("", points)]).draw().inline();
        assert!(svg.len() < 100_000, "{}", svg.len());
    }

    #[test]
    fn values_a_log_axis_cannot_show_are_left_out() {
        let mut p = plot(vec![Series::scatter(
            "",
            vec![(-1.0, 1.0), (0.0, 2.0), (10.0, 3.0)],
        )]);
        p.x = Axis::log("x");
        assert_eq!(p.draw().inline().matches("<circle").count(), 1);
    }

    #[test]
    fn a_reference_is_dashed_and_takes_no_colour() {
        let line = |label| Series::line(label, vec![(0.0, 1.0), (1.0, 2.0)]);
        let reference = Series::reference("isotropic", vec![(0.0, 1.5), (1.0, 1.5)]);
        let svg = plot(vec![reference, line("a"), line("b")]).draw().inline();
        // Once in the legend and once in the plane.
        for (class, times) in [("reference", 2), ("s0", 2), ("s1", 2), ("s2", 0)] {
            let found = svg.matches(&format!("<g class=\"{class}\"")).count();
            assert_eq!(found, times, "{class}");
        }
        assert_eq!(svg.matches("stroke-dasharray=\"6 4\"").count(), 2);
    }

    #[test]
    fn an_empty_plot_says_so() {
        assert!(plot(vec![]).draw().inline().contains("no finite data"));
    }
}
