//! A small SVG writer.
//!
//! Colours are presentation attributes for a light page, so a file opens right in any viewer; a class
//! beside each lets the style sheet of an HTML page recolour the same drawing in the dark.

use std::fmt::Write;

use crate::axis::Area;

/// Text sizes in drawing units.
pub(crate) const TITLE: f64 = 15.0;
pub(crate) const LABEL: f64 = 13.0;
pub(crate) const TICK: f64 = 12.0;

/// How far a page enlarges a figure: text stays about the size of the page's own.
const LARGEST: f64 = 1.35;

/// A finished figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    title: String,
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    /// A standalone `.svg` file on a white ground.
    pub fn standalone(&self) -> String {
        let ground = format!(
            "<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>",
            num(self.width),
            num(self.height)
        );
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
            self.element(&ground, "")
        )
    }

    /// An `<svg>` element for an HTML page, transparent; the page may enlarge it to `LARGEST` times its size.
    pub fn inline(&self) -> String {
        let most = num(self.width * LARGEST);
        self.element("", &format!(" style=\"max-width:{most}px\""))
    }

    fn element(&self, ground: &str, style: &str) -> String {
        let (w, h) = (num(self.width), num(self.height));
        let title = escape(&self.title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\"{style} font-family=\"system-ui, 'Helvetica Neue', Arial, sans-serif\">\
             <title>{title}</title>{ground}\n{}</svg>\n",
            self.body
        )
    }
}

impl Drawing {
    /// Width and height in drawing units.
    pub(crate) fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// What it is made of, for a drawing that holds it.
    pub(crate) fn body(&self) -> &str {
        &self.body
    }
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The two strengths of text.
#[derive(Clone, Copy)]
pub(crate) enum Ink {
    Strong,
    Muted,
}

/// Collects elements.
#[derive(Default)]
pub(crate) struct Canvas {
    body: String,
}

impl Canvas {
    pub fn finish(self, title: &str, width: f64, height: f64) -> Drawing {
        Drawing {
            title: title.to_string(),
            width,
            height,
            body: self.body,
        }
    }

    /// Markup written by the caller, who has escaped it.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
        self.body.push('\n');
    }

    pub fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, ink: Ink, text: &str) {
        self.styled_text(at, size, anchor, ink, "", text);
    }

    /// Lines of bold text from the left edge; returns the height they took.
    pub fn heading(&mut self, x: f64, y: f64, width: f64, text: &str) -> f64 {
        let lines = wrap(text, TITLE * 1.2, width);
        for (i, line) in lines.iter().enumerate() {
            self.bold((x, y + TITLE * (1.0 + 1.25 * i as f64)), TITLE, line);
        }
        TITLE * 1.25 * lines.len() as f64
    }

    /// A line of bold text from `at` on.
    pub fn bold(&mut self, at: (f64, f64), size: f64, text: &str) {
        let bold = " font-weight=\"600\"";
        self.styled_text(at, size, Anchor::Start, Ink::Strong, bold, text);
    }

    /// Text that reads upwards, centred at (x, y).
    pub fn upward(&mut self, x: f64, y: f64, text: &str) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", num(x), num(y));
        self.styled_text((x, y), LABEL, Anchor::Middle, Ink::Strong, &turn, text);
    }

    fn styled_text(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        anchor: Anchor,
        ink: Ink,
        extra: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (class, fill) = match ink {
            Ink::Strong => ("ink", "#1c2024"),
            Ink::Muted => ("muted", "#57606a"),
        };
        let (x, y, size) = (num(x), num(y), num(size));
        let text = escape(text);
        self.raw(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" class=\"{class}\" fill=\"{fill}\"{extra}>{text}</text>"
        ));
    }

    /// A picture of `columns` pixels a row stretched over the area. Large pixels keep their edges; where they are small
    /// those that fall together are blended, not dropped.
    pub fn image(&mut self, area: &Area, columns: usize, uri: &str) {
        let rendering = if area.right - area.left >= 2.0 * columns as f64 {
            " style=\"image-rendering:pixelated\""
        } else {
            ""
        };
        self.raw(&format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\"{rendering} href=\"{uri}\"/>",
            num(area.left),
            num(area.top),
            num(area.right - area.left),
            num(area.bottom - area.top),
        ));
    }

    pub fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.rule(from, to, "grid", "#dfe4e9");
    }

    pub fn axis_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.rule(from, to, "axis", "#57606a");
    }

    fn rule(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str, stroke: &str) {
        self.raw(&format!(
            "<path d=\"M{} {}L{} {}\" class=\"{class}\" stroke=\"{stroke}\" stroke-width=\"1\"/>",
            num(x1),
            num(y1),
            num(x2),
            num(y2)
        ));
    }
}

/// Path data through the points.
pub(crate) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.into_iter().enumerate() {
        let verb = if i == 0 { 'M' } else { 'L' };
        // Writing to a String cannot fail.
        let _ = write!(d, "{verb}{} {}", num(x), num(y));
    }
    d
}

/// A coordinate to a hundredth of a unit.
pub(crate) fn num(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = crate::number::trim_zeros(&text);
    if text == "-0" { "0" } else { text }.to_string()
}

/// Text that is safe in XML content and in quoted attributes; control characters, which XML forbids, become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Estimated width of a line of sans-serif text; fonts differ, so layouts leave some air.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '('
        | ')' => 0.38,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.9,
        'A'..='Z' | '−' | '+' | '±' | '=' | '<' | '>' | '~' => 0.7,
        c if (c as u32) >= 0x2e80 => 1.05,
        _ => 0.62,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Breaks at spaces so that lines fit; a single word longer than the line stays whole.
pub(crate) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line)
                if text_width(line, size) + text_width(word, size) + size * 0.33 <= width =>
            {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Shortens text that is too wide, keeping both ends: layer names differ there.
pub(crate) fn shorten(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_string();
    }
    let chars: Vec<char> = text.chars().collect();
    for kept in (2..chars.len()).rev() {
        let head: String = chars[..kept.div_ceil(2)].iter().collect();
        let tail: String = chars[chars.len() - kept / 2..].iter().collect();
        let short = format!("{head}…{tail}");
        if text_width(&short, size) <= width {
            return short;
        }
    }
    "…".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_the_escape() {
        assert_eq!(
            escape("<script a=\"'\">&\u{1}"),
            "&lt;script a=&quot;&#39;&quot;&gt;&amp;\u{fffd}"
        );
    }

    #[test]
    fn coordinates() {
        assert_eq!(num(-0.001), "0");
        assert_eq!(num(12.50), "12.5");
        assert_eq!(path([(0.0, 1.0), (2.0, 3.125)]), "M0 1L2 3.12");
    }

    #[test]
    fn wrapping_keeps_every_word() {
        let text = "a line that is rather long and must break somewhere";
        let lines = wrap(text, 16.0, 120.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|l| text_width(l, 16.0) <= 120.0));
        assert_eq!(lines.join(" "), text);
        assert!(wrap("", 16.0, 100.0).is_empty());
    }

    #[test]
    fn shortened_names_keep_their_ends() {
        let name = "features.denseblock4.denselayer16.norm2";
        let short = shorten(name, 12.0, 100.0);
        assert!(text_width(&short, 12.0) <= 100.0);
        assert!(short.starts_with("fea") && short.ends_with('2'));
        assert_eq!(shorten("conv1", 12.0, 100.0), "conv1");
    }
}
