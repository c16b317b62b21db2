//! A matrix as an image.

use crate::axis::{Area, Ruler, Scale};
use crate::contour::{Contour, legend};
use crate::palette::{self, ColourMap, MISSING, Rgb};
use crate::plot::WIDTH;
use crate::png;
use crate::svg::{Anchor, Canvas, Drawing, Ink, LABEL, TICK, num, shorten, text_width};
use crate::{number, svg};

/// Matrices with more cells than this become an embedded image.
const CELLS: usize = 1024;
/// Larger ones are averaged down to at most this many rows and columns.
const PIXELS: usize = 512;
/// Cells at least this large carry their value.
const ROOM: f64 = 38.0;
/// Row names take at most this much of the width.
const NAMES: f64 = 110.0;

/// A heat map; row 0 is at the top.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Heading.
    pub title: String,
    /// What the columns are.
    pub x: String,
    /// What the rows are.
    pub y: String,
    /// What the values are.
    pub value: String,
    /// Rows of values; missing and non-finite entries are grey.
    pub rows: Vec<Vec<f64>>,
    /// Names of the rows; empty to number them from 0.
    pub row_names: Vec<String>,
    /// Names of the columns; empty to number them from 0.
    pub column_names: Vec<String>,
    /// Colours.
    pub colours: ColourMap,
}

/// A rectangular copy of the values, reduced to what a figure can show.
struct Grid {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Grid {
    /// Averages blocks of equal size until both sides fit into `PIXELS`.
    fn of(rows: &[Vec<f64>]) -> Self {
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let block = |n: usize| n.div_ceil(PIXELS).max(1);
        let (tall, wide) = (block(rows.len()), block(width));
        let (r, c) = (rows.len().div_ceil(tall), width.div_ceil(wide));
        let mut values = Vec::with_capacity(r * c);
        for band in rows.chunks(tall) {
            for j in 0..c {
                let span = j * wide..((j + 1) * wide).min(width);
                let cells = band
                    .iter()
                    .flat_map(|row| row.get(span.start..span.end.min(row.len())).unwrap_or(&[]));
                let (sum, count) = cells
                    .filter(|v| v.is_finite())
                    .fold((0.0, 0.0), |(s, n), v| (s + v, n + 1.0));
                values.push(sum / count);
            }
        }
        Self {
            rows: r,
            columns: c,
            values,
        }
    }

    fn range(&self) -> (f64, f64) {
        let finite = self.values.iter().copied().filter(|v| v.abs() < 1e300);
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        if low > high { (0.0, 1.0) } else { (low, high) }
    }
}

impl HeatMap {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        self.draw_under(&[])
    }

    /// Draws it with lines over it.
    pub fn draw_under(&self, contours: &[Contour]) -> Drawing {
        let grid = Grid::of(&self.rows);
        if grid.values.is_empty() {
            let mut canvas = Canvas::default();
            let top = 30.0 + canvas.heading(2.0, 6.0, WIDTH - 4.0, &self.title);
            let at = (WIDTH / 2.0, top);
            canvas.text(at, TICK, Anchor::Middle, Ink::Muted, "no data");
            return canvas.finish(&self.title, WIDTH, top + 20.0);
        }
        let (low, high) = grid.range();
        let (mut low, mut high) = self.colours.range(low, high);
        if low >= high {
            let room = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low, high) = (low - room, high + room);
        }
        let ruler = Ruler::exactly(Scale::Linear, low, high, 5);

        let mut canvas = Canvas::default();
        let top = 10.0 + canvas.heading(2.0, 6.0, WIDTH - 4.0, &self.title) + 10.0;
        let (full_rows, full_columns) = (
            self.rows.len(),
            self.rows.iter().map(Vec::len).max().unwrap_or(0),
        );
        let names = |given: &[String], count: usize| -> Vec<String> {
            (0..count)
                .map(|i| given.get(i).cloned().unwrap_or_else(|| i.to_string()))
                .collect()
        };
        let row_names = names(&self.row_names, full_rows);
        let row_names: Vec<String> = row_names.iter().map(|n| shorten(n, TICK, NAMES)).collect();
        let widest = row_names
            .iter()
            .map(|n| text_width(n, TICK))
            .fold(0.0, f64::max);
        // Room on the right: gap, colour bar, its tick labels, its name.
        let right = 16.0 + 14.0 + 7.0 + ruler.label_width() + 10.0 + LABEL + 8.0;
        let left = 2.0 + LABEL + 8.0 + widest + 8.0;
        let cell = ((WIDTH - left - right) / grid.columns.max(1) as f64)
            .min(420.0 / grid.rows.max(1) as f64)
            .min(64.0);
        let area = Area {
            left,
            top,
            right: left + cell * grid.columns as f64,
            bottom: top + cell * grid.rows as f64,
        };
        let colour = |v: f64| {
            if v.is_finite() {
                self.colours.at((v - low) / (high - low))
            } else {
                MISSING
            }
        };
        if grid.values.len() <= CELLS {
            draw_cells(&mut canvas, &grid, &area, cell, colour);
        } else {
            let places = grid.values.iter().map(|v| (v - low) / (high - low));
            let uri = png::picture(grid.columns, places, self.colours);
            canvas.image(&area, grid.columns, &uri);
        }
        let pitch = (area.right - area.left) / full_columns.max(1) as f64;
        contours
            .iter()
            .for_each(|c| c.draw(&mut canvas, &area, pitch));

        let pitch_y = (area.bottom - area.top) / full_rows.max(1) as f64;
        let every = (TICK * 1.4 / pitch_y).ceil().max(1.0) as usize;
        for (i, name) in row_names.iter().enumerate().step_by(round_up(every)) {
            let y = area.top + pitch_y * (i as f64 + 0.5) + TICK * 0.35;
            canvas.text((area.left - 7.0, y), TICK, Anchor::End, Ink::Muted, name);
        }
        let column_names = names(&self.column_names, full_columns);
        let pitch_x = (area.right - area.left) / full_columns.max(1) as f64;
        let widest = column_names
            .iter()
            .map(|n| text_width(n, TICK))
            .fold(0.0, f64::max);
        let slanted = widest > 48.0;
        let need = if slanted { TICK * 1.4 } else { widest + 8.0 };
        let every = (need / pitch_x).ceil().max(1.0) as usize;
        let mut below = area.bottom + TICK + 5.0;
        for (i, name) in column_names.iter().enumerate().step_by(round_up(every)) {
            let x = area.left + pitch_x * (i as f64 + 0.5);
            if slanted {
                slanted_text(
                    &mut canvas,
                    x + TICK * 0.35,
                    area.bottom + 6.0,
                    &shorten(name, TICK, NAMES),
                );
            } else {
                canvas.text((x, below), TICK, Anchor::Middle, Ink::Muted, name);
            }
        }
        if slanted {
            below = area.bottom + 6.0 + widest.min(NAMES);
        }
        canvas.text(
            ((area.left + area.right) / 2.0, below + 22.0),
            LABEL,
            Anchor::Middle,
            Ink::Strong,
            &self.x,
        );
        canvas.upward(12.0, (area.top + area.bottom) / 2.0, &self.y);
        self.draw_colour_bar(&mut canvas, &area, &ruler);
        let named = legend(&mut canvas, (area.left, below + 30.0), contours);
        let height = (below + 32.0 + named).max(top + 130.0);
        canvas.finish(&self.title, WIDTH, height)
    }

    /// The legend of colours, with the axis of the values.
    fn draw_colour_bar(&self, canvas: &mut Canvas, area: &Area, ruler: &Ruler) {
        let bar = Area {
            left: area.right + 16.0,
            top: area.top,
            right: area.right + 30.0,
            bottom: area.bottom.max(area.top + 110.0),
        };
        let steps = 64;
        let height = (bar.bottom - bar.top) / f64::from(steps);
        for i in 0..steps {
            let t = (f64::from(i) + 0.5) / f64::from(steps);
            let y = bar.y(f64::from(i + 1) / f64::from(steps));
            // A little overlap hides the seams between steps.
            rect(
                canvas,
                (bar.left, y),
                (14.0, height + 0.4),
                &palette::hex(self.colours.at(t)),
            );
        }
        for (value, text) in &ruler.ticks {
            let y = bar.y(ruler.place(*value)) + TICK * 0.35;
            canvas.text((bar.right + 6.0, y), TICK, Anchor::Start, Ink::Muted, text);
        }
        let x = bar.right + 6.0 + ruler.label_width() + 10.0 + LABEL;
        canvas.upward(x, (bar.top + bar.bottom) / 2.0, &self.value);
    }
}

fn draw_cells(
    canvas: &mut Canvas,
    grid: &Grid,
    area: &Area,
    cell: f64,
    colour: impl Fn(f64) -> Rgb,
) {
    for (k, &value) in grid.values.iter().enumerate() {
        let x = area.left + cell * (k % grid.columns) as f64;
        let y = area.top + cell * (k / grid.columns) as f64;
        let fill = colour(value);
        rect(
            canvas,
            (x, y),
            (cell + 0.2, cell + 0.2),
            &palette::hex(fill),
        );
        if cell >= ROOM && value.is_finite() {
            let text = short_value(value);
            let (x, y) = (num(x + cell / 2.0), num(y + cell / 2.0 + 4.0));
            let (ink, size) = (palette::ink_on(fill), num(11.5));
            let text = svg::escape(&text);
            canvas.raw(&format!(
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"middle\" fill=\"{ink}\">{text}</text>"
            ));
        }
    }
}

/// A value short enough for a cell: two decimals, or a power of ten.
fn short_value(v: f64) -> String {
    let text = if v == 0.0 || (0.01..1000.0).contains(&v.abs()) {
        let decimals = if v.abs() >= 100.0 {
            0
        } else if v.abs() >= 10.0 {
            1
        } else {
            2
        };
        let text = format!("{v:.decimals$}");
        number::trim_zeros(&text).to_string()
    } else {
        format!("{v:.0e}")
    };
    text.replace('-', "−")
}

fn rect(canvas: &mut Canvas, (x, y): (f64, f64), (w, h): (f64, f64), fill: &str) {
    canvas.raw(&format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" shape-rendering=\"crispEdges\"/>",
        num(x),
        num(y),
        num(w),
        num(h)
    ));
}

/// Text that hangs down from its end, for column names.
fn slanted_text(canvas: &mut Canvas, x: f64, y: f64, text: &str) {
    let (x, y, size, text) = (num(x), num(y), num(TICK), svg::escape(text));
    canvas.raw(&format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"end\" class=\"muted\" fill=\"#57606a\" transform=\"rotate(-90 {x} {y})\">{text}</text>"
    ));
}

/// The next of 1, 2, 5, 10, 20, …: distances between labelled rows.
fn round_up(every: usize) -> usize {
    let mut unit = 1;
    loop {
        for m in [1, 2, 5] {
            if m * unit >= every {
                return m * unit;
            }
        }
        unit *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: Vec<Vec<f64>>) -> HeatMap {
        HeatMap {
            title: "T".into(),
            x: "column".into(),
            y: "row".into(),
            value: "v".into(),
            rows,
            row_names: vec![],
            column_names: vec![],
            colours: ColourMap::Sequential,
        }
    }

    #[test]
    fn small_matrices_show_their_values() {
        let svg = map(vec![vec![0.0, 1.0], vec![0.25, f64::NAN]])
            .draw()
            .inline();
        assert!(svg.contains(">0.25</text>"));
        assert!(svg.contains("#440154") && svg.contains("#fde725") && svg.contains("#b0b6bd"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn large_matrices_become_an_image_of_bounded_size() {
        let svg = map(vec![vec![1.0; 2000]; 1500]).draw().inline();
        assert!(svg.contains("data:image/png;base64,iVBORw0KGgo"));
        assert!(svg.len() < 600_000, "{}", svg.len());
    }

    #[test]
    fn reduction_averages_blocks() {
        let rows: Vec<Vec<f64>> = (0..1024).map(|i| vec![f64::from(i), f64::NAN]).collect();
        let grid = Grid::of(&rows);
        assert_eq!((grid.rows, grid.columns), (512, 2));
        assert_eq!(grid.values[0], 0.5);
        assert!(grid.values[1].is_nan());
    }

    #[test]
    fn ragged_empty_and_constant_matrices_draw() {
        for rows in [
            vec![],
            vec![vec![]],
            vec![vec![1.0], vec![1.0, 2.0, 3.0]],
            vec![vec![0.0; 3]; 2],
            vec![vec![f64::NAN; 40]; 40],
        ] {
            let svg = map(rows).draw().standalone();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    /// A line through the middle of the cells, with its name, and a longer figure for it; a line without a name or of one
    /// point has none.
    #[test]
    fn lines_lie_over_the_cells() {
        let two = map(vec![vec![0.0, 1.0], vec![0.25, 0.5]]);
        let line = |label: &str, points: Vec<(f64, f64)>| Contour {
            label: label.into(),
            stroke: crate::Stroke::Bold,
            points,
        };
        let plain = two.draw();
        let drawn = two.draw_under(&[line("level 1", vec![(0.0, 0.0), (9.0, 1.0)])]);
        let svg = drawn.standalone();
        assert!(svg.contains(">level 1</text>") && svg.contains("#1f2328"));
        assert!(drawn.size().1 > plain.size().1);
        let bare = two.draw_under(&[line("", vec![(0.0, 0.0)])]);
        assert_eq!(bare, plain);
    }

    #[test]
    fn labelled_rows_are_round() {
        let steps: Vec<usize> = [1, 2, 3, 6, 11, 40, 51].map(round_up).to_vec();
        assert_eq!(steps, [1, 2, 5, 10, 20, 50, 100]);
    }
}
