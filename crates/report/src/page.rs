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
        size: Size,
        caption: String,
    },
    File {
        name: String,
        drawing: Drawing,
        words: String,
    },
    List(Vec<String>),
    Command(String),
    Columns(Vec<Section>),
}

/// How large a page draws small pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Small,
    Hero,
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

    /// The page, its figures not named after anything.
    pub fn html(&self) -> String {
        self.html_with(&self.named(""))
    }

    /// The page, with links to the files that `named` lists.
    fn html_with(&self, named: &[(String, Drawing)]) -> String {
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
        let mut paths = named.iter().map(|(path, _)| path.as_str());
        for section in &self.sections {
            out.push_str(&format!(
                "<section>\n<h2>{}</h2>\n",
                escape(&section.heading)
            ));
            section.write(&mut out, &mut paths);
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

    /// Everything to write into a run directory, as path and content: `report.html` and `figures/SUBJECT-*.svg`, whose
    /// names say of what they are, so that those of several runs can lie in one folder.
    pub fn files(&self, subject: &str) -> Vec<(String, String)> {
        let figures = self.named(subject);
        let page = ("report.html".to_string(), self.html_with(&figures));
        let figures = figures.into_iter();
        let figures = figures.map(|(path, drawing)| (path, drawing.standalone()));
        [page].into_iter().chain(figures).collect()
    }

    /// Every figure with its path, in the order of the page.
    fn named(&self, subject: &str) -> Vec<(String, Drawing)> {
        let mut named: Vec<(String, Drawing)> = Vec::new();
        for (name, drawing) in self.sections.iter().flat_map(Section::drawings) {
            let stem = match subject {
                "" => file_stem(name),
                subject => format!("{}-{}", file_stem(subject), file_stem(name)),
            };
            let taken = |path: &String| named.iter().any(|(p, _)| p == path);
            let numbered = (2..).map(|i| format!("figures/{stem}-{i}.svg"));
            let mut candidates = std::iter::once(format!("figures/{stem}.svg")).chain(numbered);
            if let Some(path) = candidates.find(|p| !taken(p)) {
                named.push((path, drawing));
            }
        }
        named
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
        self,
        name: impl Into<String>,
        gallery: Gallery,
        caption: impl Into<String>,
    ) -> Self {
        self.pictures(name.into(), gallery, Size::Small, caption.into())
    }

    /// The same, as large as the window allows: what the page is remembered by.
    pub fn hero(
        self,
        name: impl Into<String>,
        gallery: Gallery,
        caption: impl Into<String>,
    ) -> Self {
        self.pictures(name.into(), gallery, Size::Hero, caption.into())
    }

    fn pictures(mut self, name: String, gallery: Gallery, size: Size, caption: String) -> Self {
        self.blocks.push(Block::Gallery {
            name,
            gallery,
            size,
            caption,
        });
        self
    }

    /// A figure that is a file alone, for other places than the page; `words` link to it.
    pub fn file(
        mut self,
        name: impl Into<String>,
        drawing: Drawing,
        words: impl Into<String>,
    ) -> Self {
        self.blocks.push(Block::File {
            name: name.into(),
            drawing,
            words: words.into(),
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
            Block::Figure { name, drawing, .. } | Block::File { name, drawing, .. } => {
                vec![(name.as_str(), drawing.clone())]
            }
            Block::Gallery { name, gallery, .. } => vec![(name.as_str(), gallery.draw())],
            Block::Columns(columns) => columns.iter().flat_map(Section::drawings).collect(),
            Block::Prose(_) | Block::Table(_) | Block::List(_) | Block::Command(_) => Vec::new(),
        });
        drawings.collect()
    }

    /// What is under the heading; `paths` are those of the figures from here on.
    fn write<'a>(&self, out: &mut String, paths: &mut impl Iterator<Item = &'a str>) {
        for block in &self.blocks {
            match block {
                Block::Prose(text) => out.push_str(&paragraphs(text)),
                Block::Table(table) => out.push_str(&table.to_html()),
                Block::Figure {
                    drawing, caption, ..
                } => {
                    paths.next();
                    out.push_str(&figure("", &drawing.inline(), caption));
                }
                Block::Gallery {
                    gallery,
                    size,
                    caption,
                    ..
                } => {
                    paths.next();
                    let class = match size {
                        Size::Small => "",
                        Size::Hero => " class=\"hero\"",
                    };
                    out.push_str(&figure(class, &gallery.html(), caption));
                }
                Block::File { words, .. } => {
                    let (path, words) = (paths.next().unwrap_or_default(), escape(words));
                    out.push_str(&format!("<p><a href=\"{path}\">{words}</a></p>\n"));
                }
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
                        column.write(out, paths);
                        out.push_str("</div>\n");
                    }
                    out.push_str("</div>\n");
                }
            }
        }
    }
}

fn figure(class: &str, content: &str, caption: &str) -> String {
    let caption = match escape(caption) {
        empty if empty.is_empty() => empty,
        caption => format!("<figcaption>{caption}</figcaption>\n"),
    };
    format!("<figure{class}>\n{content}{caption}</figure>\n")
}

fn paragraphs(text: &str) -> String {
    let parts = text.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
    parts.map(|p| format!("<p>{}</p>\n", code(p))).collect()
}

/// What stands between two backticks, as code.
fn code(text: &str) -> String {
    let pieces: Vec<String> = text.split('`').map(escape).collect();
    match pieces.len() % 2 {
        // A backtick without another one is itself.
        0 => pieces.join("`"),
        _ => {
            let marked = |(i, piece): (usize, &String)| match i % 2 {
                0 => piece.clone(),
                _ => format!("<code>{piece}</code>"),
            };
            pieces.iter().enumerate().map(marked).collect()
        }
    }
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
    fn backticks_are_code() {
        assert_eq!(
            paragraphs("type `a < b` or `c`\n\none ` alone"),
            "<p>type <code>a &lt; b</code> or <code>c</code></p>\n<p>one ` alone</p>\n"
        );
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
        let paths: Vec<String> = page().files("Net v1").into_iter().map(|f| f.0).collect();
        assert_eq!(
            paths,
            [
                "report.html",
                "figures/net-v1-loss-time.svg",
                "figures/net-v1-loss-time-2.svg",
                "figures/net-v1-inner.svg",
                "figures/net-v1-pictures.svg"
            ]
        );
        assert_eq!(file_stem("../.."), "figure");
    }

    /// A link leads to the file of its own figure, whatever comes before it and however deep.
    #[test]
    fn links_lead_to_their_files() {
        let drawing = Plot::default().draw();
        let card = || Section::new("").file("card", drawing.clone(), "<A card>");
        let mut page = Page::new("T", "", "");
        page.push(Section::new("").figure("card", drawing.clone(), ""));
        page.push(Section::new("").columns([card(), card()]));
        let files = page.files("net");
        let html = &files[0].1;
        for path in ["figures/net-card-2.svg", "figures/net-card-3.svg"] {
            let link = format!("<a href=\"{path}\">&lt;A card&gt;</a>");
            assert!(html.contains(&link), "{path}");
            assert!(files.iter().any(|(name, _)| name == path));
        }
        assert_eq!(html.matches("<a ").count(), 2);
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
