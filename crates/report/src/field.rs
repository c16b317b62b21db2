//! Values over a plane of two numeric axes, as a picture: narrow enough for a phone or a column.

use crate::axis::{Area, Axis, Ruler, Scale};
use crate::palette::ColourMap;
use crate::png;
use crate::svg::{Anchor, Canvas, Drawing, Ink, LABEL, TICK, num, text_width};

/// Width of the drawing; on a phone a unit is about a pixel.
const WIDTH: f64 = 330.0;
/// Pictures are not drawn taller than this.
const TALLEST: f64 = 300.0;
/// Pixels of the bar that explains the colours.
const BAR: u32 = 160;
/// Room for the labels of the rows, so that pictures side by side are of one size.
const ROWS: f64 = 32.0;

/// An axis on which the cells of a picture lie at equal distances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extent {
    /// What is measured, with its unit.
    pub label: String,
    /// Centre of the first cell.
    pub first: f64,
    /// Centre of the last cell.
    pub last: f64,
}

impl Extent {
    /// From the first cell to the last.
    pub fn new(label: impl Into<String>, first: f64, last: f64) -> Self {
        Self {
            label: label.into(),
            first,
            last,
        }
    }

    /// The axis under `cells` cells, from the outer edge of the first to that of the last.
    fn ruler(&self, cells: usize) -> Ruler {
        let step = if cells > 1 {
            (self.last - self.first) / (cells - 1) as f64
        } else {
            1.0
        };
        let (low, high) = (self.first - step / 2.0, self.last + step / 2.0);
        let fits = (low - high).abs() > f64::EPSILON * low.abs().max(high.abs());
        let (low, high) = if fits && step.is_finite() {
            (low, high)
        } else {
            (0.0, cells as f64)
        };
        Ruler::exactly(Scale::Linear, low, high, 4)
    }
}

/// A picture of a function of two variables; row 0 is at the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Heading; may be empty.
    pub title: String,
    /// Columns, left to right.
    pub x: Extent,
    /// Rows, top to bottom.
    pub y: Extent,
    /// What the colours mean, and on which scale.
    pub value: Axis,
    /// Rows of equally many values; what the scale cannot show is grey.
    pub rows: Vec<Vec<f64>>,
    /// Colours.
    pub colours: ColourMap,
    /// Values at the ends of the colours, those beyond taking the end's; `None` to follow the data.
    pub range: Option<(f64, f64)>,
    /// A line around the cells at or above this value.
    pub outline: Option<f64>,
}

impl Field {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut canvas = Canvas::default();
        let top = 8.0 + canvas.heading(2.0, 4.0, WIDTH - 4.0, &self.title) + 6.0;
        if columns == 0 {
            let at = (WIDTH / 2.0, top + 20.0);
            canvas.text(at, TICK, Anchor::Middle, Ink::Muted, "no data");
            return canvas.finish(&self.title, WIDTH, top + 40.0);
        }
        let (x, y) = (self.x.ruler(columns), self.y.ruler(self.rows.len()));
        let left = 2.0 + LABEL + 6.0 + y.label_width().max(ROWS) + 6.0;
        let cell = ((WIDTH - left - 12.0) / columns as f64).min(TALLEST / self.rows.len() as f64);
        let area = Area {
            left,
            top,
            right: left + cell * columns as f64,
            bottom: top + cell * self.rows.len() as f64,
        };
        let colours = self.colour_ruler();
        let place = |v: f64| {
            let shown = self.value.scale.shows(v);
            // What lies below a logarithmic axis is as low as it goes.
            let low = self.value.scale == Scale::Log && v <= 0.0;
            if shown {
                colours.place(v)
            } else if low {
                0.0
            } else {
                f64::NAN
            }
        };
        let missing = std::iter::repeat(&f64::NAN);
        let cells = || {
            let rows = self.rows.iter();
            rows.flat_map(|row| row.iter().chain(missing.clone()).take(columns))
        };
        let picture = png::picture(columns, cells().map(|v| place(*v)), self.colours);
        canvas.image(&area, columns, &picture);
        if let Some(level) = self.outline {
            let above: Vec<bool> = cells().map(|v| *v >= level).collect();
            outline(&mut canvas, &area, cell, &above, columns);
        }
        draw_ticks(&mut canvas, &area, &x, &y);
        let middle = (area.left + area.right) / 2.0;
        let below = area.bottom + TICK + 24.0;
        canvas.text(
            (middle, below),
            LABEL,
            Anchor::Middle,
            Ink::Strong,
            &self.x.label,
        );
        canvas.upward(13.0, (area.top + area.bottom) / 2.0, &self.y.label);
        let height = self.draw_bar(&mut canvas, &colours, (area.left, below + 14.0));
        canvas.finish(&self.title, WIDTH, height)
    }

    /// The axis of the values.
    fn colour_ruler(&self) -> Ruler {
        let scale = self.value.scale;
        let shown = self.rows.iter().flatten().copied();
        let shown = shown.filter(|&v| scale.shows(v));
        let ends = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        let ends = self.range.unwrap_or(ends);
        let usable = scale.shows(ends.0) && scale.shows(ends.1);
        let (low, high) = if usable { ends } else { (0.5, 1.0) };
        let (low, high) = match scale {
            Scale::Linear => self.colours.range(low, high),
            Scale::Log => (low, high),
        };
        // A single value: open a range around it.
        let (low, high) = if high - low > 1e-9 * low.abs().max(high.abs()) {
            (low, high)
        } else if low == 0.0 {
            (-1.0, 1.0)
        } else {
            let factors = if low > 0.0 { (0.5, 2.0) } else { (2.0, 0.5) };
            (low * factors.0, low * factors.1)
        };
        Ruler::exactly(scale, low, high, 4)
    }

    /// The bar of colours under the picture, with its axis; returns where it ends.
    fn draw_bar(&self, canvas: &mut Canvas, ruler: &Ruler, (left, top): (f64, f64)) -> f64 {
        let bar = Area {
            left,
            top,
            right: WIDTH - 12.0,
            bottom: top + 12.0,
        };
        let steps = (0..BAR).map(|i| (f64::from(i) + 0.5) / f64::from(BAR));
        let colours = png::picture(BAR as usize, steps, self.colours);
        canvas.image(&bar, BAR as usize, &colours);
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &ruler.ticks {
            let x = bar.x(ruler.place(*value));
            canvas.axis_line((x, bar.bottom), (x, bar.bottom + 4.0));
            let half = text_width(text, TICK) / 2.0;
            if x - half > free_from {
                let at = (x, bar.bottom + TICK + 5.0);
                canvas.text(at, TICK, Anchor::Middle, Ink::Muted, text);
                free_from = x + half + 5.0;
            }
        }
        if let Some(level) = self.outline.filter(|&l| self.value.scale.shows(l)) {
            let t = ruler.place(level);
            if (0.0..=1.0).contains(&t) {
                let x = bar.x(t);
                two_tone(
                    canvas,
                    &format!("M{} {}V{}", num(x), num(bar.top), num(bar.bottom)),
                );
            }
        }
        let below = bar.bottom + TICK + 24.0;
        let at = ((bar.left + bar.right) / 2.0, below);
        canvas.text(at, LABEL, Anchor::Middle, Ink::Strong, &self.value.label);
        below + 10.0
    }
}

/// Tick marks outside the picture, where they hide nothing.
fn draw_ticks(canvas: &mut Canvas, area: &Area, x: &Ruler, y: &Ruler) {
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in &x.ticks {
        let at = area.x(x.place(*value));
        canvas.axis_line((at, area.bottom), (at, area.bottom + 4.0));
        let half = text_width(text, TICK) / 2.0;
        if at - half > free_from {
            let at = (at, area.bottom + TICK + 6.0);
            canvas.text(at, TICK, Anchor::Middle, Ink::Muted, text);
            free_from = at.0 + half + 5.0;
        }
    }
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in &y.ticks {
        // Rows run downwards.
        let at = area.top + y.place(*value) * (area.bottom - area.top);
        canvas.axis_line((area.left - 4.0, at), (area.left, at));
        if at - TICK / 2.0 > free_from {
            let place = (area.left - 7.0, at + TICK * 0.35);
            canvas.text(place, TICK, Anchor::End, Ink::Muted, text);
            free_from = at + TICK / 2.0;
        }
    }
}

/// The edges between cells above and cells below.
fn outline(canvas: &mut Canvas, area: &Area, cell: f64, above: &[bool], columns: usize) {
    let mut d = String::new();
    for (k, &inside) in above.iter().enumerate() {
        let (i, j) = (k / columns, k % columns);
        let (x, y) = (area.left + cell * j as f64, area.top + cell * i as f64);
        if j + 1 < columns && above[k + 1] != inside {
            d += &format!("M{} {}v{}", num(x + cell), num(y), num(cell));
        }
        if above.get(k + columns).is_some_and(|&below| below != inside) {
            d += &format!("M{} {}h{}", num(x), num(y + cell), num(cell));
        }
    }
    if !d.is_empty() {
        two_tone(canvas, &d);
    }
}

/// Black on white, to be seen on any colour.
fn two_tone(canvas: &mut Canvas, d: &str) {
    for (colour, width) in [("#ffffff", "3"), ("#000000", "1.4")] {
        canvas.raw(&format!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"square\"/>"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(rows: Vec<Vec<f64>>) -> Field {
        Field {
            title: "T".into(),
            x: Extent::new("cycles", -2.0, 1.0),
            y: Extent::new("cycles", -2.0, 1.0),
            value: Axis::log("energy"),
            rows,
            colours: ColourMap::Sequential,
            range: None,
            outline: None,
        }
    }

    /// Four cells at −2 … 1 cover −2.5 … 1.5, so the centre of cell 2 is coordinate 0.
    #[test]
    fn cells_lie_at_their_coordinates() {
        let ruler = Extent::new("", -2.0, 1.0).ruler(4);
        for (cell, coordinate) in [(0.0, -2.0), (2.0, 0.0), (3.0, 1.0)] {
            assert!((ruler.place(coordinate) - (cell + 0.5) / 4.0).abs() < 1e-12);
        }
    }

    /// One cell above the level among nine has four edges, each drawn in both tones.
    #[test]
    fn the_outline_follows_the_edges() {
        let mut f = field(vec![vec![0.5; 3], vec![0.5, 2.0, 0.5], vec![0.5; 3]]);
        f.outline = Some(1.0);
        let svg = f.draw().inline();
        let edges = svg.lines().find(|l| l.contains("#000000")).unwrap();
        assert_eq!(edges.matches('M').count(), 4, "{edges}");
    }

    #[test]
    fn odd_data_still_draw() {
        for rows in [
            vec![],
            vec![vec![]],
            vec![vec![0.0; 4]; 3],
            vec![vec![f64::NAN; 4]; 3],
            vec![vec![1.0], vec![1.0, -2.0, f64::INFINITY]],
            vec![vec![3.0; 2]; 2],
        ] {
            for value in [Axis::log("v"), Axis::linear("v")] {
                for range in [None, Some((0.0, 0.0)), Some((1e-4, 10.0))] {
                    let f = Field {
                        value: value.clone(),
                        range,
                        ..field(rows.clone())
                    };
                    let svg = f.draw().standalone();
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                }
            }
        }
        let mut f = field(vec![vec![1.0, 2.0]]);
        f.x = Extent::new("", f64::NAN, f64::INFINITY);
        assert!(!f.draw().inline().contains("NaN"));
    }
}
