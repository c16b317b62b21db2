//! Many small pictures with a line under each, to be taken in at a glance.
//!
//! A page lays them out as a grid that folds to its width; the `.svg` file is the same grid, eight to a row.

use crate::axis::Area;
use crate::palette::ColourMap;
use crate::png;
use crate::svg::{Anchor, Canvas, Drawing, Ink, TICK, escape, shorten};

/// Pictures are averaged down to at most this many rows.
const PIXELS: usize = 64;
/// Width of the `.svg` file, and tiles in one of its rows.
const WIDTH: f64 = 880.0;
const ACROSS: usize = 8;
const GAP: f64 = 12.0;

/// One small picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// Values, coloured from their own smallest to their own largest.
    Map {
        /// What it shows, for those who cannot see it.
        words: String,
        /// Rows of values.
        rows: Vec<Vec<f64>>,
        /// Colours; a diverging map is centred at zero.
        colours: ColourMap,
    },
    /// An image as it is.
    Photo {
        /// What it shows.
        words: String,
        /// Rows of red, green and blue in [0, 1].
        rows: Vec<Vec<[f64; 3]>>,
    },
}

impl Picture {
    fn words(&self) -> &str {
        match self {
            Picture::Map { words, .. } | Picture::Photo { words, .. } => words,
        }
    }

    /// Rows and columns.
    pub(crate) fn size(&self) -> (usize, usize) {
        match self {
            Picture::Map { rows, .. } => (rows.len(), rows.first().map_or(0, Vec::len)),
            Picture::Photo { rows, .. } => (rows.len(), rows.first().map_or(0, Vec::len)),
        }
    }

    /// Width over height.
    pub fn aspect(&self) -> f64 {
        let (rows, columns) = self.size();
        columns.max(1) as f64 / rows.max(1) as f64
    }

    /// Its `data:` address.
    pub(crate) fn uri(&self) -> String {
        match self {
            Picture::Map { rows, colours, .. } => map(rows, *colours),
            Picture::Photo { rows, .. } => photo(rows),
        }
    }
}

fn map(rows: &[Vec<f64>], colours: ColourMap) -> String {
    let (width, reduced) = reduced(rows);
    let cells = reduced.iter().flat_map(|row| &row[..width]);
    let finite = cells.clone().filter(|v| v.is_finite());
    let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
        (a.min(*v), b.max(*v))
    });
    let (low, high) = colours.range(ends.0, ends.1);
    let place = |v: &f64| {
        // A flat picture is the middle of the colours.
        if high > low {
            (v - low) / (high - low)
        } else if v.is_finite() {
            0.5
        } else {
            f64::NAN
        }
    };
    png::picture(width, cells.map(place), colours)
}

fn photo(rows: &[Vec<[f64; 3]>]) -> String {
    let plane = |c: usize| {
        let row = |row: &Vec<[f64; 3]>| row.iter().map(|pixel| pixel[c]).collect();
        reduced(&rows.iter().map(row).collect::<Vec<Vec<f64>>>())
    };
    let [(width, red), (_, green), (_, blue)] = [0, 1, 2].map(plane);
    let pixels = red
        .iter()
        .zip(&green)
        .zip(&blue)
        .flat_map(|((r, g), b)| (0..width).map(move |x| [r[x], g[x], b[x]]));
    png::photo(width, pixels)
}

/// Means over blocks, so that both sides fit, and the length of the shortest row.
fn reduced(rows: &[Vec<f64>]) -> (usize, Vec<Vec<f64>>) {
    let block = rows.len().div_ceil(PIXELS).max(1);
    let reduced: Vec<Vec<f64>> = rows.chunks(block).map(|r| mean(r, block)).collect();
    let width = reduced.iter().map(Vec::len).min().unwrap_or(0);
    (width, reduced)
}

/// Mean of blocks of `block` columns over the given rows.
fn mean(rows: &[Vec<f64>], block: usize) -> Vec<f64> {
    let width = rows.iter().map(Vec::len).min().unwrap_or(0);
    let cell = |from: usize| {
        let to = (from + block).min(width);
        let sum: f64 = rows.iter().flat_map(|row| &row[from..to]).sum();
        sum / (rows.len() * (to - from)) as f64
    };
    (0..width).step_by(block).map(cell).collect()
}

/// Pictures that belong together, one under the other, with their name.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The line under them.
    pub label: String,
    /// Top to bottom.
    pub pictures: Vec<Picture>,
}

/// A gallery of tiles in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gallery {
    /// Heading of the `.svg` file, and what a screen reader calls the grid.
    pub title: String,
    /// First tile first.
    pub tiles: Vec<Tile>,
}

impl Gallery {
    /// Draws it, for a file of its own.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let top = 10.0 + canvas.heading(2.0, 6.0, WIDTH - 4.0, &self.title) + 10.0;
        let side = (WIDTH - GAP * (ACROSS - 1) as f64) / ACROSS as f64;
        let tall = |tile: &Tile| {
            let heights = tile.pictures.iter().map(|p| side / p.aspect() + 5.0);
            heights.sum::<f64>() + TICK + 12.0
        };
        let pitch = self.tiles.iter().map(tall).fold(0.0, f64::max);
        for (k, tile) in self.tiles.iter().enumerate() {
            let left = (side + GAP) * (k % ACROSS) as f64;
            let mut y = top + pitch * (k / ACROSS) as f64;
            for picture in &tile.pictures {
                let area = Area {
                    left,
                    top: y,
                    right: left + side,
                    bottom: y + side / picture.aspect(),
                };
                canvas.image(&area, picture.size().1, &picture.uri());
                y = area.bottom + 5.0;
            }
            let label = shorten(&tile.label, TICK, side);
            let at = (left + side / 2.0, y + TICK);
            canvas.text(at, TICK, Anchor::Middle, Ink::Strong, &label);
        }
        let rows = self.tiles.len().div_ceil(ACROSS) as f64;
        canvas.finish(&self.title, WIDTH, top + pitch * rows)
    }

    /// A list of tiles that the style sheet lays out.
    pub(crate) fn html(&self) -> String {
        let mut out = format!(
            "<ul class=\"tiles\" aria-label=\"{}\">\n",
            escape(&self.title)
        );
        // Wide pictures, such as channels side by side, take wide tiles.
        let aspect = self.tiles.iter().flat_map(|t| &t.pictures);
        let aspect = aspect.map(Picture::aspect).fold(1.0, f64::max);
        for tile in &self.tiles {
            let class = if aspect > 1.5 { " class=\"broad\"" } else { "" };
            out += &format!("<li{class}>");
            for picture in &tile.pictures {
                let (uri, words) = (picture.uri(), escape(picture.words()));
                out += &format!("<img src=\"{uri}\" alt=\"{words}\">");
            }
            out += &format!("<span>{}</span></li>\n", escape(&tile.label));
        }
        out + "</ul>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(rows: Vec<Vec<f64>>) -> Picture {
        Picture::Map {
            words: "a <b>".into(),
            rows,
            colours: ColourMap::Diverging,
        }
    }

    #[test]
    fn both_faces_hold_every_picture() {
        let tile = |k: usize| Tile {
            label: format!("{k} & more"),
            pictures: vec![picture(vec![vec![1.0, -1.0]; 2]); 2],
        };
        let gallery = Gallery {
            title: "\"G\"".into(),
            tiles: (0..10).map(tile).collect(),
        };
        let html = gallery.html();
        assert_eq!(
            html.matches("<img src=\"data:image/png;base64,").count(),
            20
        );
        assert!(html.contains("alt=\"a &lt;b&gt;\"") && html.contains("9 &amp; more"));
        let svg = gallery.draw().standalone();
        assert_eq!(svg.matches("<image ").count(), 20);
    }

    /// 128 rows become 64, and blocks of four cells with mean 2.5 one cell.
    #[test]
    fn large_pictures_are_averaged() {
        let rows: Vec<Vec<f64>> = (0..128)
            .map(|i| [[1.0, 2.0], [3.0, 4.0]][i % 2].to_vec())
            .collect();
        assert_eq!(mean(&rows[..2], 2), [2.5]);
        let small = picture(vec![vec![2.5]; 64]).uri();
        assert_eq!(picture(rows).uri(), small);
    }

    /// An image of 128 rows becomes one of 64, channel by channel.
    #[test]
    fn large_photos_are_averaged() {
        let photo = |rows| Picture::Photo {
            words: String::new(),
            rows,
        };
        let pair = [[[0.0, 1.0, 0.2]; 2], [[1.0, 1.0, 0.4]; 2]];
        let rows = (0..128).map(|i| pair[i % 2].to_vec()).collect();
        let small = photo(vec![vec![[0.5, 1.0, (0.2 + 0.2 + 0.4 + 0.4) / 4.0]]; 64]);
        assert_eq!(photo(rows).uri(), small.uri());
        assert!(photo(vec![vec![]]).uri().starts_with("data:image/png"));
    }

    #[test]
    fn odd_pictures_still_draw() {
        for rows in [
            vec![],
            vec![vec![]],
            vec![vec![0.0; 3]; 2],
            vec![vec![f64::NAN; 2]; 2],
            vec![vec![1.0, 2.0], vec![3.0]],
        ] {
            let gallery = Gallery {
                title: String::new(),
                tiles: vec![Tile {
                    label: String::new(),
                    pictures: vec![picture(rows)],
                }],
            };
            assert!(!gallery.draw().standalone().contains("NaN"));
            assert!(gallery.html().contains("data:image/png"));
        }
    }
}
