//! One self-contained HTML page a run: what was asked, the answer in plain words, the evidence, the
//! configuration. No script, no network, light and dark, screen and paper.

use crate::gallery::Gallery;
use crate::svg::{Drawing, escape};
use crate::table::Table;

const STYLE: &str = include_str!("page.css");

/// What a browser may load for the page: its own style and the pictures inside it, nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    title: String,
    asked: String,
    answer: String,
    facts: Vec<(String, String)>,
    sections: Vec<Section>,
    configuration: Vec<(String, String)>,
}

/// A part of the page under its own heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
enum Block {
    Prose(String),
    Table(Table),
    Figure {
        name: String,
        drawing: Drawing,
        caption: String,
    },
    Gallery {
        name: String,
        gallery: Gallery,
        caption: String,
    },
    List(Vec<String>),
    Command(String),
    Columns(Vec<Section>),
}

impl Page {
    /// Opens with what was asked and the answer, both in plain words.
    pub fn new(
        title: impl Into<String>,
        asked: impl Into<String>,
        answer: impl Into<String>,
    ) -> Self {
        Self {
            title: title.into(),
            asked: asked.into(),
            answer: answer.into(),
            facts: Vec::new(),
            sections: Vec::new(),
            configuration: Vec::new(),
        }
    }

    /// Sets the few numbers that matter most, shown large under the answer: each a value and what it is.
    pub fn facts(&mut self, pairs: impl IntoIterator<Item = (String, String)>) {
        self.facts = pairs.into_iter().collect();
    }

    /// Appends a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Sets the names and values that reproduce the run, shown at the end.
    pub fn configure(&mut self, pairs: impl IntoIterator<Item = (String, String)>) {
        self.configuration = pairs.into_iter().collect();
    }

    /// The page.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        out.push_str(&format!(
            "<div class=\"asked\"><span class=\"label\">Asked</span>{}</div>\n",
            paragraphs(&self.asked)
        ));
        out.push_str(&format!(
            "<div class=\"answer\"><span class=\"label\">Answer</span>{}</div>\n",
            paragraphs(&self.answer)
        ));
        if !self.facts.is_empty() {
            out.push_str("<ul class=\"facts\">\n");
            for (value, what) in &self.facts {
                let (value, what) = (escape(value), escape(what));
                out.push_str(&format!("<li><strong>{value}</strong> {what}</li>\n"));
            }
            out.push_str("</ul>\n");
        }
        for section in &self.sections {
            out.push_str(&format!(
                "<section>\n<h2>{}</h2>\n",
                escape(&section.heading)
            ));
            section.write(&mut out);
            out.push_str("</section>\n");
        }
        if !self.configuration.is_empty() {
            out.push_str("<section>\n<h2>Configuration</h2>\n<dl>\n");
            for (name, value) in &self.configuration {
                out.push_str(&format!(
                    "<dt>{}</dt><dd>{}</dd>\n",
                    escape(name),
                    escape(value)
                ));
            }
            out.push_str("</dl>\n</section>\n");
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    /// Everything to write into a run directory: `report.html` and `figures/*.svg`, as path and content.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("report.html".to_string(), self.html())];
        for (name, drawing) in self.sections.iter().flat_map(Section::drawings) {
            let stem = file_stem(name);
            let taken = |path: &String| files.iter().any(|(p, _)| p == path);
            let numbered = (2..).map(|i| format!("figures/{stem}-{i}.svg"));
            let mut candidates = std::iter::once(format!("figures/{stem}.svg")).chain(numbered);
            if let Some(path) = candidates.find(|p| !taken(p)) {
                files.push((path, drawing.standalone()));
            }
        }
        files
    }
}

impl Section {
    /// How to get the same page again.
    pub fn reproduce(command: impl Into<String>) -> Self {
        Section::new("Reproduce")
            .prose("The same command gives the same bits, on any number of threads:")
            .command(command)
    }

    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self {
            heading: heading.into(),
            blocks: Vec::new(),
        }
    }

    /// Plain text; a blank line starts a new paragraph.
    pub fn prose(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Prose(text.into()));
        self
    }

    /// A table.
    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// A figure; `name` becomes its file under `figures/`.
    pub fn figure(
        mut self,
        name: impl Into<String>,
        drawing: Drawing,
        caption: impl Into<String>,
    ) -> Self {
        self.blocks.push(Block::Figure {
            name: name.into(),
            drawing,
            caption: caption.into(),
        });
        self
    }

    /// Small pictures; `name` becomes their file under `figures/`.
    pub fn gallery(
        mut self,
        name: impl Into<String>,
        gallery: Gallery,
        caption: impl Into<String>,
    ) -> Self {
        self.blocks.push(Block::Gallery {
            name: name.into(),
            gallery,
            caption: caption.into(),
        });
        self
    }

    /// A list of short statements.
    pub fn list(mut self, items: impl IntoIterator<Item = String>) -> Self {
        self.blocks.push(Block::List(items.into_iter().collect()));
        self
    }

    /// A command to be copied.
    pub fn command(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Command(text.into()));
        self
    }

    /// Things to be compared: side by side where there is room, else one under the other.
    pub fn columns(mut self, columns: impl IntoIterator<Item = Section>) -> Self {
        let columns = columns.into_iter().collect();
        self.blocks.push(Block::Columns(columns));
        self
    }

    /// Every figure with its name, those in columns included.
    fn drawings(&self) -> Vec<(&str, Drawing)> {
        let blocks = self.blocks.iter();
        let drawings = blocks.flat_map(|block| match block {
            Block::Figure { name, drawing, .. } => vec![(name.as_str(), drawing.clone())],
            Block::Gallery { name, gallery, .. } => vec![(name.as_str(), gallery.draw())],
            Block::Columns(columns) => columns.iter().flat_map(Section::drawings).collect(),
            Block::Prose(_) | Block::Table(_) | Block::List(_) | Block::Command(_) => Vec::new(),
        });
        drawings.collect()
    }

    /// What is under the heading.
    fn write(&self, out: &mut String) {
        for block in &self.blocks {
            match block {
                Block::Prose(text) => out.push_str(&paragraphs(text)),
                Block::Table(table) => out.push_str(&table.to_html()),
                Block::Figure {
                    drawing, caption, ..
                } => out.push_str(&figure(&drawing.inline(), caption)),
                Block::Gallery {
                    gallery, caption, ..
                } => out.push_str(&figure(&gallery.html(), caption)),
                Block::List(items) => {
                    let items = items.iter().map(|i| format!("<li>{}</li>\n", escape(i)));
                    out.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
                }
                Block::Command(text) => {
                    // Lines may break between words, not at the hyphens inside them.
                    let words = text
                        .split(' ')
                        .map(|w| format!("<span>{}</span>", escape(w)));
                    let words: Vec<String> = words.collect();
                    out.push_str(&format!("<pre><code>{}</code></pre>\n", words.join(" ")));
                }
                Block::Columns(columns) => {
                    let class = if columns.len() > 2 { " many" } else { "" };
                    out.push_str(&format!("<div class=\"columns{class}\">\n"));
                    for column in columns {
                        out.push_str("<div>\n");
                        if !column.heading.is_empty() {
                            out.push_str(&format!("<h3>{}</h3>\n", escape(&column.heading)));
                        }
                        column.write(out);
                        out.push_str("</div>\n");
                    }
                    out.push_str("</div>\n");
                }
            }
        }
    }
}

fn figure(content: &str, caption: &str) -> String {
    let caption = match escape(caption) {
        empty if empty.is_empty() => empty,
        caption => format!("<figcaption>{caption}</figcaption>\n"),
    };
    format!("<figure>\n{content}{caption}</figure>\n")
}

fn paragraphs(text: &str) -> String {
    let parts = text.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
    parts.map(|p| format!("<p>{}</p>\n", escape(p))).collect()
}

/// A file name of lower-case letters, digits and hyphens, whatever the figure was called.
fn file_stem(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            ' '
        }
    };
    let words: String = name.chars().take(80).map(plain).collect();
    let stem = words.split_whitespace().collect::<Vec<_>>().join("-");
    if stem.is_empty() {
        "figure".to_string()
    } else {
        stem
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Align, Axis, Plot, Series};

    fn page() -> Page {
        let plot = Plot {
            title: "Loss & time".into(),
            x: Axis::linear("t"),
            y: Axis::log("loss"),
            series: vec![Series::line("<i>", vec![(0.0, 1.0), (1.0, 0.1)])],
        };
        let mut table = Table::new([("<th>", Align::Left)]);
        table.push(["<td>".into()]);
        let mut page = Page::new("<title>", "<q>", "<a>\n\nmore");
        let section = Section::new("<h2x>").prose("<p1>").table(table);
        page.push(
            section
                .figure("../Loss & time", plot.draw(), "<cap>")
                .figure("loss-time", plot.draw(), ""),
        );
        let inner = Section::new("<h3x>").figure("inner", plot.draw(), "");
        let gallery = Gallery {
            title: "<g>".into(),
            tiles: vec![],
        };
        page.push(
            Section::new("")
                .columns([inner])
                .list(["<item>".to_string()])
                .command("<run>")
                .gallery("pictures", gallery, "<c2>"),
        );
        page.facts([("<f>".to_string(), "<what>".to_string())]);
        page.configure([("<k>".to_string(), "<v>".to_string())]);
        page
    }

    #[test]
    fn everything_given_is_escaped() {
        let html = page().html();
        for given in [
            "title>", "q", "a", "h2x", "h3x", "p1", "th>", "td>", "cap", "k", "v", "i", "item",
            "run", "g", "c2", "f", "what",
        ] {
            let given = given.trim_end_matches('>');
            assert!(html.contains(&format!("&lt;{given}&gt;")), "{given}");
        }
        for raw in [
            "<q>", "<h2x>", "<h3x>", "<p1>", "<cap>", "<k>", "<v>", "<i>", "<item>", "<run>", "<f>",
        ] {
            assert!(!html.contains(raw), "{raw}");
        }
    }

    #[test]
    fn the_page_asks_the_network_for_nothing() {
        let html = page().html();
        assert!(!html.contains("<script") && !html.contains("<link") && !html.contains("url("));
        // The only address is the SVG namespace.
        let addresses = html.matches("://").count();
        assert_eq!(
            addresses,
            html.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(
            html.contains(
                "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""
            )
        );
    }

    #[test]
    fn figures_stay_inside_their_folder_and_apart() {
        let paths: Vec<String> = page().files().into_iter().map(|f| f.0).collect();
        assert_eq!(
            paths,
            [
                "report.html",
                "figures/loss-time.svg",
                "figures/loss-time-2.svg",
                "figures/inner.svg",
                "figures/pictures.svg"
            ]
        );
        assert_eq!(file_stem("../.."), "figure");
    }

    #[test]
    fn answer_comes_before_evidence_before_configuration() {
        let html = page().html();
        let at = |s: &str| html.find(s).unwrap();
        assert!(at("class=\"asked\"") < at("class=\"answer\""));
        assert!(at("class=\"answer\"") < at("<figure>"));
        assert!(at("<figure>") < at("<dl>"));
    }
}
