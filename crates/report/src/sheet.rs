//! A sheet of 16:9 for slides: figures, small pictures and text at places.

use crate::axis::Area;
use crate::gallery::Picture;
use crate::plot::Plot;
use crate::svg::{Anchor, Canvas, Drawing, Ink, num, shorten, text_width, wrap};

/// Lines are this much apart, in sizes of their text.
const LEADING: f64 = 1.35;

/// A rectangle of a sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// From the left edge.
    pub left: f64,
    /// From the upper edge.
    pub top: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// How text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Bold.
    Bold,
    /// As it is.
    Plain,
    /// Grey.
    Small,
}

/// A drawing in the making, 1280 × 720 units.
#[derive(Default)]
pub struct Sheet {
    canvas: Canvas,
}

impl Sheet {
    /// Units across.
    pub const WIDTH: f64 = 1280.0;
    /// Units down.
    pub const HEIGHT: f64 = 720.0;

    /// An empty sheet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text in lines that fill a place from its top, as many as it holds, the last one ending in “…” if there are more;
    /// returns where they end.
    pub fn text(&mut self, place: Place, size: f64, tone: Tone, text: &str) -> f64 {
        let room = (place.height / (size * LEADING)).floor().max(1.0) as usize;
        // Bold letters are wider.
        let measure = if tone == Tone::Bold { size * 1.1 } else { size };
        let mut lines = wrap(text, measure, place.width);
        if lines.len() > room {
            lines.truncate(room);
            if let Some(last) = lines.last_mut() {
                *last = cut(last, measure, place.width);
            }
        }
        for (i, line) in lines.iter().enumerate() {
            let line = shorten(line, measure, place.width);
            let at = (place.left, place.top + size + size * LEADING * i as f64);
            match tone {
                Tone::Bold => self.canvas.bold(at, size, &line),
                Tone::Plain => self
                    .canvas
                    .text(at, size, Anchor::Start, Ink::Strong, &line),
                Tone::Small => self.canvas.text(at, size, Anchor::Start, Ink::Muted, &line),
            }
        }
        place.top + size * LEADING * lines.len() as f64
    }

    /// A line in the middle of a place, at its top.
    pub fn label(&mut self, place: Place, size: f64, text: &str) {
        let text = shorten(text, size, place.width);
        let at = (place.left + place.width / 2.0, place.top + size);
        self.canvas
            .text(at, size, Anchor::Middle, Ink::Muted, &text);
    }

    /// A small picture as large as its place allows, in the middle of its upper part; returns where it ends.
    pub fn picture(&mut self, place: Place, picture: &Picture) -> f64 {
        let (columns, aspect) = (picture.size().1, picture.aspect());
        let width = place.width.min(place.height * aspect);
        let left = place.left + (place.width - width) / 2.0;
        let area = Area {
            left,
            top: place.top,
            right: left + width,
            bottom: place.top + width / aspect,
        };
        self.canvas.image(&area, columns, &picture.uri());
        area.bottom
    }

    /// A figure as large as its place allows, from the upper left corner.
    pub fn drawing(&mut self, place: Place, drawing: &Drawing) {
        let (width, height) = drawing.size();
        let scale = (place.width / width).min(place.height / height);
        self.canvas.raw(&format!(
            "<g transform=\"translate({} {}) scale({scale:.4})\">",
            num(place.left),
            num(place.top)
        ));
        self.canvas.raw(drawing.body());
        self.canvas.raw("</g>");
    }

    /// A plot that is drawn for its place, with text of the size that it has on a page.
    pub fn plot(&mut self, place: Place, plot: &Plot) {
        let draw = |inner: f64| plot.sized(place.width, inner);
        // Title, legend and axis take what they need.
        let around = draw(0.0).size().1;
        self.drawing(place, &draw((place.height - around).max(60.0)));
    }

    /// A thin line across.
    pub fn rule(&mut self, left: f64, right: f64, y: f64) {
        self.canvas.grid_line((left, y), (right, y));
    }

    /// The sheet as a figure.
    pub fn draw(self, title: &str) -> Drawing {
        self.canvas.finish(title, Self::WIDTH, Self::HEIGHT)
    }
}

/// A line that ends in “…”, without the words that this takes the room of.
fn cut(line: &str, size: f64, width: f64) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    loop {
        let short = format!("{} …", words.join(" "));
        if words.len() < 2 || text_width(&short, size) <= width {
            return short;
        }
        words.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Series};

    const PLACE: Place = Place {
        left: 100.0,
        top: 50.0,
        width: 200.0,
        height: 60.0,
    };

    fn lines(sheet: Sheet) -> Vec<String> {
        let svg = sheet.draw("T").standalone();
        let texts = svg.split("<text ").skip(1);
        let inner = texts.filter_map(|t| {
            t.split_once('>')?
                .1
                .split_once('<')
                .map(|x| x.0.to_string())
        });
        inner.collect()
    }

    /// Size 10: lines of 13.5 units, four of them in 60.
    #[test]
    fn text_stays_in_its_place() {
        let long = "word ".repeat(100);
        let mut sheet = Sheet::new();
        let bottom = sheet.text(PLACE, 10.0, Tone::Plain, &long);
        assert_eq!(bottom, 50.0 + 4.0 * 13.5);
        let lines = lines(sheet);
        assert_eq!(lines.len(), 4);
        assert!(
            lines[3].ends_with('…') && !lines[2].ends_with('…'),
            "{lines:?}"
        );
        assert!(lines.iter().all(|l| text_width(l, 10.0) <= 200.0));
        let mut sheet = Sheet::new();
        assert_eq!(sheet.text(PLACE, 10.0, Tone::Small, "short"), 63.5);
        assert_eq!(self::lines(sheet), ["short"]);
    }

    /// A picture twice as wide as high in 200 × 60: 120 × 60, 40 units from the left edge of its place.
    #[test]
    fn pictures_keep_their_proportions() {
        let mut sheet = Sheet::new();
        let picture = Picture::Map {
            words: String::new(),
            rows: vec![vec![0.0, 1.0, 2.0, 3.0]; 2],
            colours: crate::ColourMap::Sequential,
        };
        sheet.picture(PLACE, &picture);
        let svg = sheet.draw("T").standalone();
        assert!(
            svg.contains("x=\"140\" y=\"50\" width=\"120\" height=\"60\""),
            "{svg}"
        );
    }

    /// A plot is drawn as high as its place, so it is not scaled.
    #[test]
    fn plots_fill_their_place() {
        let plot = Plot {
            title: "T".into(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series: vec![Series::line("a", vec![(0.0, 0.0), (1.0, 1.0)])],
        };
        let mut sheet = Sheet::new();
        sheet.plot(
            Place {
                height: 300.0,
                ..PLACE
            },
            &plot,
        );
        assert!(sheet.draw("T").standalone().contains("scale(1.0000)"));
    }
}
