//! Lines over a heat map.

use crate::axis::Area;
use crate::svg::{Anchor, Canvas, Ink, TICK, num, path};

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// One of several.
    Thin,
    /// The one that matters.
    Bold,
    /// What others are compared with.
    Dashed,
    /// An edge that the cells show, too.
    Dotted,
}

/// A line over a heat map, with its name below.
#[derive(Clone, Debug, PartialEq)]
pub struct Contour {
    /// Name in the legend; an empty one stays out of it.
    pub label: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// (column, row); (0, 0) is the middle of the first cell, and a line ends at the edge of the map.
    pub points: Vec<(f64, f64)>,
}

/// Height of a row of the legend.
const ROW: f64 = TICK * 1.5;

impl Contour {
    fn pen(&self, d: &str) -> String {
        let (width, dash) = match self.stroke {
            Stroke::Thin => (1.4, ""),
            Stroke::Bold => (3.4, ""),
            Stroke::Dashed => (1.8, " stroke-dasharray=\"6 4\""),
            Stroke::Dotted => (2.2, " stroke-dasharray=\"2 3\""),
        };
        // A white edge keeps the line apart from any colour.
        let line = |colour: &str, width: f64, dash: &str| {
            let width = num(width);
            format!(
                "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>"
            )
        };
        line("#ffffff", width + 2.2, "") + &line("#1f2328", width, dash)
    }

    /// Draws it over cells of one size.
    pub(crate) fn draw(&self, canvas: &mut Canvas, area: &Area, cell: f64) {
        let place = |&(column, row): &(f64, f64)| {
            let x = area.left + cell * (column + 0.5);
            let y = area.top + cell * (row + 0.5);
            (
                x.clamp(area.left, area.right),
                y.clamp(area.top, area.bottom),
            )
        };
        let points: Vec<(f64, f64)> = self.points.iter().map(place).collect();
        if points.len() > 1 {
            canvas.raw(&self.pen(&path(points)));
        }
    }
}

/// Names with samples, one below the other; returns their height.
pub(crate) fn legend(canvas: &mut Canvas, (left, top): (f64, f64), contours: &[Contour]) -> f64 {
    let named = contours.iter().filter(|c| !c.label.is_empty());
    let mut y = top;
    for contour in named {
        y += ROW;
        let middle = y - TICK * 0.35;
        canvas.raw(&contour.pen(&path(vec![(left, middle), (left + 30.0, middle)])));
        let at = (left + 38.0, y);
        canvas.text(at, TICK, Anchor::Start, Ink::Strong, &contour.label);
    }
    y - top
}
