//! Bars, lying down so that long names fit.

use crate::axis::{Area, Axis, Ruler};
use crate::palette;
use crate::plot::{Mark, WIDTH, draw_legend};
use crate::svg::{Anchor, Canvas, Drawing, Ink, TICK, num, path, shorten, text_width};

/// Thickness of a bar, and the space between categories.
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
/// Names take at most this much of the width.
const NAMES: f64 = 190.0;

/// One series of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Name in the legend; an empty one stays out of it.
    pub label: String,
    /// One value a category; one that is not finite leaves a gap.
    pub values: Vec<f64>,
    /// How far the whisker of each bar reaches below and above its end; empty for none.
    pub errors: Vec<[f64; 2]>,
}

/// A bar chart: categories down the page, values along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// Heading.
    pub title: String,
    /// The axis of the values.
    pub value: Axis,
    /// Names of the categories.
    pub categories: Vec<String>,
    /// Bars side by side in every category.
    pub series: Vec<Bars>,
}

impl BarChart {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        let ends = self.series.iter().flat_map(|s| {
            s.values.iter().enumerate().flat_map(|(i, v)| {
                let [below, above] = s.errors.get(i).copied().unwrap_or_default();
                [v - below, v + above]
            })
        });
        // Bars are compared by length, so the axis always holds zero (a log axis leaves it out).
        let ruler = Ruler::over(self.value.scale, ends.chain([0.0]), 5);

        let mut canvas = Canvas::default();
        let mut top = 10.0 + canvas.heading(2.0, 6.0, WIDTH - 4.0, &self.title) + 6.0;
        let named = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.label.is_empty());
        top += draw_legend(
            &mut canvas,
            (top, WIDTH),
            named.map(|(i, s)| (i, s.label.as_str(), Mark::Points)),
        );
        let names: Vec<String> = self
            .categories
            .iter()
            .map(|c| shorten(c, TICK, NAMES))
            .collect();
        let widest = names
            .iter()
            .map(|n| text_width(n, TICK))
            .fold(0.0, f64::max);
        let pitch = BAR * self.series.len().max(1) as f64 + GAP;
        let area = Area {
            left: 2.0 + widest + 8.0,
            top,
            right: WIDTH - 24.0,
            bottom: top + pitch * names.len().max(1) as f64 + GAP / 2.0,
        };
        area.draw_bottom(&mut canvas, &ruler, &self.value.label);
        for (row, name) in names.iter().enumerate() {
            let first = area.top + GAP / 2.0 + pitch * row as f64;
            let middle = first + (pitch - GAP) / 2.0;
            let at = (area.left - 7.0, middle + TICK * 0.35);
            canvas.text(at, TICK, Anchor::End, Ink::Strong, name);
            for (i, bars) in self.series.iter().enumerate() {
                let y = first + BAR * i as f64;
                self.draw_bar(&mut canvas, &area, &ruler, (i, bars), row, y);
            }
        }
        let zero = area.x(ruler.base());
        canvas.axis_line((zero, area.top), (zero, area.bottom));
        canvas.finish(&self.title, WIDTH, area.bottom + 48.0)
    }

    fn draw_bar(
        &self,
        canvas: &mut Canvas,
        area: &Area,
        ruler: &Ruler,
        (index, bars): (usize, &Bars),
        row: usize,
        y: f64,
    ) {
        let Some(&value) = bars.values.get(row) else {
            return;
        };
        if !self.value.scale.shows(value) {
            return;
        }
        let (class, colour, _) = palette::series(index);
        let (zero, end) = (area.x(ruler.base()), area.x(ruler.place(value)));
        canvas.raw(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"s{class}\" color=\"{colour}\" fill=\"currentColor\" fill-opacity=\"0.85\"/>",
            num(zero.min(end)),
            num(y + 0.5),
            num((end - zero).abs()),
            num(BAR - 1.0)
        ));
        let Some(&[below, above]) = bars.errors.get(row) else {
            return;
        };
        let (low, high) = (value - below, value + above);
        if self.value.scale.shows(low) && self.value.scale.shows(high) {
            let (low, high, y) = (
                area.x(ruler.place(low)),
                area.x(ruler.place(high)),
                y + BAR / 2.0,
            );
            let caps = [low, high].map(|x| path([(x, y - 3.5), (x, y + 3.5)]));
            let d = format!("{}{}{}", path([(low, y), (high, y)]), caps[0], caps[1]);
            canvas.raw(&format!(
                "<path d=\"{d}\" class=\"whisker\" stroke=\"#1c2024\" stroke-width=\"1.5\"/>"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (x, width) of every bar.
    fn bars(svg: &str) -> Vec<(f64, f64)> {
        let field = |s: &str, name: &str| -> f64 {
            let rest = s.split_once(&format!("{name}=\"")).unwrap().1;
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let rects = svg.lines().filter(|l| l.starts_with("<rect x="));
        rects
            .map(|l| (field(l, " x"), field(l, " width")))
            .collect()
    }

    fn chart(values: Vec<f64>) -> BarChart {
        BarChart {
            title: "T".into(),
            value: Axis::linear("v"),
            categories: vec!["a".into(), "b".into(), "c".into()],
            series: vec![Bars {
                label: String::new(),
                values,
                errors: vec![],
            }],
        }
    }

    #[test]
    fn length_is_proportional_to_value() {
        let b = bars(&chart(vec![100.0, 50.0, 101.0]).draw().inline());
        assert_eq!(b.len(), 3);
        // Coordinates are rounded to a hundredth.
        assert!((b[0].1 - 2.0 * b[1].1).abs() < 0.03, "{b:?}");
    }

    #[test]
    fn negative_bars_end_at_zero() {
        let b = bars(&chart(vec![1.0, -1.0, f64::NAN]).draw().inline());
        assert_eq!(b.len(), 2);
        assert!((b[1].0 + b[1].1 - b[0].0).abs() < 0.02, "{b:?}");
    }

    #[test]
    fn whiskers_only_where_there_are_errors() {
        let mut c = chart(vec![1.0, 2.0, 3.0]);
        c.series[0].errors = vec![[0.1, 0.1], [0.2, 0.0]];
        assert_eq!(c.draw().inline().matches("whisker").count(), 2);
    }
}
