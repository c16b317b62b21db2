//! Pixels in words.

use super::super::pixels::{Border, Pixels};
use super::super::weight::Evenness;
use super::numbers::as_much;

/// Which pixels count.
pub(super) fn sentences(pixels: &Pixels) -> Vec<String> {
    let mut said = Vec::new();
    if pixels.evenness == Evenness::Alike {
        said.push("All pixels count the same within 25\u{a0}%.".to_string());
    }
    if let Some(border) = pixels.border {
        said.push(format!(
            "{} count less than 10\u{a0}% of the middle.",
            lines(border)
        ));
    } else if pixels.centre.differs() {
        said.push(if pixels.centre.value > 1.0 {
            format!(
                "A pixel in the middle of the image counts {} one at its edge.",
                as_much(pixels.centre)
            )
        } else {
            format!(
                "A pixel at the edge of the image counts {} one in its middle.",
                as_much(pixels.centre.inverse())
            )
        });
    }
    if let Some(grid) = pixels.grid {
        let p = grid.period;
        said.push(format!(
            "Strides leave a grid: {} of every {p} × {p} pixels {} {} the others.",
            grid.counting,
            if grid.counting == 1 {
                "counts"
            } else {
                "count"
            },
            as_much(grid.ratio)
        ));
    }
    said
}

/// `The outermost 2 lines of pixels`, or by side where the sides differ.
fn lines(border: Border) -> String {
    let Border {
        top,
        bottom,
        left,
        right,
    } = border;
    if top == bottom && left == right && top == left {
        return match top {
            1 => "The outermost pixels".to_string(),
            n => format!("The outermost {n} lines of pixels"),
        };
    }
    let side = |n: usize, name: &str| (n > 0).then(|| format!("{n} at the {name}"));
    let sides = [
        (top, "top"),
        (bottom, "bottom"),
        (left, "left"),
        (right, "right"),
    ];
    let sides: Vec<String> = sides
        .iter()
        .filter_map(|(n, name)| side(*n, name))
        .collect();
    format!("Lines of pixels at the border ({})", sides.join(", "))
}
