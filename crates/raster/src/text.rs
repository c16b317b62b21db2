//! Text as outlines.
//!
//! A `<text>` element of a figure is one line: a place, a size, an anchor, a colour, a weight and perhaps a turn. It
//! becomes a `<path>` in the units of the font, scaled and turned upside down, since the y axis of fonts points up.

use std::fmt::Write;
use std::sync::LazyLock;

use resvg::usvg::roxmltree::{Document, Node};
use ttf_parser::{Face, OutlineBuilder};

/// A font that can be read, as those in the binary can.
type Font = LazyLock<Option<Face<'static>>>;

static REGULAR: Font = LazyLock::new(|| Face::parse(dejavu::sans::regular(), 0).ok());
static BOLD: Font = LazyLock::new(|| Face::parse(dejavu::sans::bold(), 0).ok());

fn font(bold: bool) -> Option<&'static Face<'static>> {
    match bold {
        true => BOLD.as_ref(),
        false => REGULAR.as_ref(),
    }
}

/// Whether the font has a letter.
#[cfg(test)]
pub fn has(bold: bool, letter: char) -> bool {
    font(bold).is_some_and(|face| face.glyph_index(letter).is_some())
}

/// The document with every text as a path.
pub fn outlined(document: &Document) -> String {
    let source = document.input_text();
    let mut out = String::with_capacity(2 * source.len());
    let mut done = 0;
    for text in document.descendants().filter(|n| n.has_tag_name("text")) {
        let range = text.range();
        out.push_str(source.get(done..range.start).unwrap_or_default());
        out.push_str(&path(text));
        done = range.end;
    }
    out.push_str(source.get(done..).unwrap_or_default());
    out
}

fn path(text: Node) -> String {
    let attribute = |name: &str| text.attribute(name);
    let number = |name: &str| attribute(name).and_then(|v| v.parse::<f64>().ok());
    let bold = attribute("font-weight").is_some_and(|w| w != "normal" && w != "400");
    let (Some(face), Some(content)) = (font(bold), text.text()) else {
        return String::new();
    };
    let mut pen = Pen::default();
    for c in content.chars() {
        // Glyph 0 is a box: better than a gap where a name has letters that the font lacks.
        let glyph = face.glyph_index(c).unwrap_or_default();
        face.outline_glyph(glyph, &mut pen);
        pen.advance += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
    }
    let scale = number("font-size").unwrap_or(16.0) / f64::from(face.units_per_em());
    let width = f64::from(pen.advance) * scale;
    let left = match attribute("text-anchor") {
        Some("middle") => width / 2.0,
        Some("end") => width,
        _ => 0.0,
    };
    let x = number("x").unwrap_or(0.0) - left;
    let y = number("y").unwrap_or(0.0);
    let fill = attribute("fill").unwrap_or("#000000");
    let turn = attribute("transform").unwrap_or_default();
    format!(
        "<path d=\"{}\" fill=\"{fill}\" transform=\"{turn} translate({x} {y}) scale({scale} {})\"/>",
        pen.path, -scale
    )
}

/// Writes path data, every glyph after the ones before it.
#[derive(Default)]
struct Pen {
    path: String,
    advance: f32,
}

impl Pen {
    fn put(&mut self, verb: char, points: &[(f32, f32)]) {
        self.path.push(verb);
        for (x, y) in points {
            // Writing to a String cannot fail.
            let _ = write!(self.path, "{} {} ", x + self.advance, y);
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.put('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.put('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.put('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.put('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.path.push('Z');
    }
}
