//! The geometry on one sheet, for slides: what the page says, at a glance.

use polariscope_report::{Drawing, Field, Gallery, Place, Plot, Sheet, Tone, grouped};

use super::figures::{self, Pictures, Ranges};
use super::reading::{Preference, Reading};
use super::{View, input, words};

/// Left and right edge of what is on the sheet.
const LEFT: f64 = 48.0;
const RIGHT: f64 = Sheet::WIDTH - LEFT;
/// From where figures stand, and to where.
const TOP: f64 = 206.0;
const BOTTOM: f64 = 650.0;
/// Directions that are drawn, and how many stand side by side; wide pictures, such as channels side by side, stand in
/// twos.
const DIRECTIONS: usize = 12;
const ACROSS: usize = 4;
const WIDE: usize = 2;
/// Between small pictures, and the height of the line under one.
const GAP: f64 = 14.0;
const LABEL: f64 = 20.0;
/// Headings of columns have this size.
const HEADING: f64 = 15.0;
/// Of the spectrum.
const SPECTRUM: &str = "Eigenvalues over the isotropic one";

/// The card of a geometry.
pub(super) fn card(view: &View, reading: &Reading, pictures: &Pictures) -> Drawing {
    let mut sheet = Sheet::new();
    let line = |top: f64, height: f64| Place {
        left: LEFT,
        top,
        width: RIGHT - LEFT,
        height,
    };
    sheet.text(line(28.0, 50.0), 38.0, Tone::Bold, &view.name);
    let parameters = grouped(view.parameters as u64);
    let under = format!("{parameters} parameters, input {}", input(&view.shape));
    sheet.text(line(80.0, 30.0), 18.0, Tone::Small, &under);
    let finding = words::finding(&view.name, reading);
    sheet.text(line(122.0, 80.0), 22.0, Tone::Plain, &finding);

    let spectrum = Plot {
        title: String::new(),
        ..figures::spectra(&[view])
    };
    let mut column = |left: f64, right: f64, title: &str| headed(&mut sheet, (left, right), title);
    match pictures.sight(Ranges::of([reading])) {
        None => {
            let place = column(LEFT, RIGHT, SPECTRUM);
            sheet.plot(place, &spectrum);
        }
        Some((frequencies, _)) => {
            let drawn = matches!(reading.preference, Preference::Mild | Preference::Strong);
            let gallery = pictures.first(DIRECTIONS).filter(|_| drawn);
            // Where there are no directions to draw the others move up.
            let edges = match gallery {
                Some(_) => [540.0, 892.0, 916.0],
                None => [LEFT, 400.0, 448.0],
            };
            let middle = column(edges[0], edges[1], "Weight of spatial frequencies");
            let right = column(edges[2], RIGHT, SPECTRUM);
            if let Some((gallery, _)) = gallery {
                let left = column(
                    LEFT,
                    504.0,
                    "First directions, with their shares of the trace",
                );
                directions(&mut sheet, left, &gallery);
            }
            let untitled = Field {
                title: String::new(),
                ..frequencies
            };
            sheet.drawing(middle, &untitled.draw());
            sheet.plot(right, &spectrum);
        }
    }
    sheet.rule(LEFT, RIGHT, 664.0);
    let method = format!("{}. {}", view.source.line(), view.method);
    sheet.text(line(670.0, 38.0), 13.0, Tone::Small, &method);
    sheet.draw(&format!("The geometry of {}", view.name))
}

/// What is left of a column under its heading.
fn headed(sheet: &mut Sheet, (left, right): (f64, f64), title: &str) -> Place {
    let place = Place {
        left,
        top: TOP,
        width: right - left,
        height: BOTTOM - TOP,
    };
    let top = sheet.text(place, HEADING, Tone::Bold, title) + 8.0;
    Place {
        top,
        height: BOTTOM - top,
        ..place
    }
}

/// The first directions in pixels, with their shares.
fn directions(sheet: &mut Sheet, place: Place, gallery: &Gallery) {
    let pictures = || gallery.tiles.iter().flat_map(|tile| tile.pictures.first());
    let across = match pictures().any(|picture| picture.aspect() > 1.5) {
        true => WIDE,
        false => ACROSS,
    };
    let down = DIRECTIONS.div_ceil(across);
    let pitch = (
        (place.width + GAP) / across as f64,
        place.height / down as f64,
    );
    for (k, (tile, picture)) in gallery.tiles.iter().zip(pictures()).enumerate() {
        let mut spot = Place {
            left: place.left + pitch.0 * (k % across) as f64,
            top: place.top + pitch.1 * (k / across) as f64,
            width: pitch.0 - GAP,
            height: pitch.1 - LABEL - 6.0,
        };
        let bottom = sheet.picture(spot, picture);
        spot.top = bottom + 3.0;
        sheet.label(spot, 12.0, &tile.label);
    }
}
