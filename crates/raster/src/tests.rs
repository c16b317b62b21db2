use polariscope_report::{
    Axis, ColourMap, Drawing, Extent, Field, Gallery, Picture, Plot, Series, Tile,
};
use resvg::tiny_skia::Pixmap;

use super::*;

const WIDTH: u32 = 800;

/// The picture, and pixels of it a unit of the drawing.
fn drawn(drawing: &Drawing) -> (Pixmap, f32) {
    let svg = drawing.standalone();
    let units: f32 = between(&svg, "width=\"", "\"").parse().unwrap();
    let png = png(&svg, WIDTH).unwrap();
    (Pixmap::decode_png(&png).unwrap(), WIDTH as f32 / units)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap().1;
    rest.split_once(after).unwrap().0
}

/// Every colour in a rectangle of the drawing.
fn colours((picture, scale): &(Pixmap, f32), [x, y, w, h]: [f32; 4]) -> Vec<[u8; 3]> {
    let (columns, rows) = (x * scale..(x + w) * scale, y * scale..(y + h) * scale);
    let columns = || columns.start as u32..columns.end as u32;
    let at = |(x, y)| picture.pixel(x, y).unwrap().demultiply();
    let places = (rows.start as u32..rows.end as u32).flat_map(|y| columns().map(move |x| (x, y)));
    let mut found: Vec<[u8; 3]> = places
        .map(at)
        .map(|c| [c.red(), c.green(), c.blue()])
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn is_ink(colours: &[[u8; 3]]) -> bool {
    colours.iter().flatten().any(|&c| c < 80)
}

fn field(title: &str) -> Field {
    Field {
        title: title.into(),
        x: Extent::new("column", 0.0, 3.0),
        y: Extent::new("row", 0.0, 3.0),
        value: Axis::linear("weight"),
        rows: vec![vec![0.0, 1.0, 2.0, 3.0]; 4],
        colours: ColourMap::Sequential,
        range: None,
        outline: None,
    }
}

/// The title stands from unit 4 to 23; the picture is where its element says.
#[test]
fn titles_and_pictures_are_there() {
    let with = field("Frequencies").draw();
    let picture = drawn(&with);
    let title = [2.0, 4.0, 44.0, 19.0];
    assert!(is_ink(&colours(&picture, title)));
    assert!(!is_ink(&colours(&drawn(&field("").draw()), title)));
    let svg = with.standalone();
    let image = between(&svg, "<image ", ">");
    let number = |name: &str| -> f32 {
        let value = between(image, &format!("{name}=\""), "\"");
        value.parse().unwrap()
    };
    let place = ["x", "y", "width", "height"].map(number);
    // Four columns of viridis: 0, 1/3, 2/3 and 1 are anchors of the map.
    let found = colours(&picture, place);
    for colour in [
        [0x44, 0x01, 0x54],
        [0x31, 0x68, 0x8e],
        [0x35, 0xb7, 0x79],
        [0xfd, 0xe7, 0x25],
    ] {
        assert!(found.contains(&colour), "{colour:?} of {}", found.len());
    }
}

/// A line of a series has the colour of the series, though its path says `currentColor`.
#[test]
fn series_have_their_colours() {
    let plot = Plot {
        title: "T".into(),
        x: Axis::linear("x"),
        y: Axis::linear("y"),
        series: vec![Series::line("", vec![(0.0, 0.0), (1.0, 1.0)])],
    };
    let found = colours(&drawn(&plot.draw()), [0.0, 0.0, 460.0, 280.0]);
    assert!(found.contains(&[0x00, 0x72, 0xb2]));
}

/// Glyph 0 is the box of letters that a font lacks.
#[test]
fn the_font_has_the_letters_of_the_figures() {
    for bold in [false, true] {
        for c in "∇‖²³⁻⁰⁹₀₁₉σδΘρλφβγεπθΣ⟨⟩±×−→←≈≤≥√∂∞ᵀ·“”„’–…éöüß".chars()
        {
            assert!(text::has(bold, c), "{c}");
        }
        assert!(!text::has(bold, '語'));
    }
}

/// The same text at another anchor: its ink moves by its width.
#[test]
fn anchors_hold_text() {
    let at = |anchor: &str| {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\"><text x=\"100\" y=\"30\" \
             font-size=\"20\" text-anchor=\"{anchor}\" fill=\"#000000\">HHHH</text></svg>"
        );
        let picture = Pixmap::decode_png(&png(&svg, 200).unwrap()).unwrap();
        let inked = |x: &u32| (0..40).any(|y| picture.pixel(*x, y).unwrap().alpha() > 128);
        let columns: Vec<u32> = (0..200).filter(inked).collect();
        (columns[0], columns[columns.len() - 1])
    };
    let (start, middle, end) = (at("start"), at("middle"), at("end"));
    assert!(start.0 > 99 && end.1 < 101, "{start:?} {end:?}");
    // An H of DejaVu Sans is 1540 of 2048 units wide: 60 pixels for four at size 20.
    assert!(start.0.abs_diff(end.0 + 60) <= 1, "{start:?} {end:?}");
    assert!(middle.0.abs_diff(end.0 + 30) <= 1, "{middle:?} {end:?}");
}

/// Every picture of a gallery is drawn, and the file is as wide as was asked.
#[test]
fn galleries_are_drawn() {
    let tile = |k: usize| Tile {
        label: format!("{k}"),
        pictures: vec![Picture::Map {
            words: String::new(),
            rows: vec![vec![1.0, -1.0]; 2],
            colours: ColourMap::Diverging,
        }],
    };
    let gallery = Gallery {
        title: "G".into(),
        tiles: (0..3).map(tile).collect(),
    };
    let picture = drawn(&gallery.draw());
    assert_eq!(picture.0.width(), WIDTH);
    for k in 0..3 {
        let found = colours(&picture, [112.0 * k as f32, 30.0, 98.0, 80.0]);
        assert!(
            found.contains(&[0x21, 0x66, 0xac]) && found.contains(&[0xb2, 0x18, 0x2b]),
            "{k}"
        );
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let svg = field("T").draw().standalone();
    assert!(matches!(
        png(&svg, 60_000),
        Err(RasterError::TooLarge { .. })
    ));
    for wrong in ["", "<svg", "<html/>", "plain"] {
        assert!(
            matches!(png(wrong, 100), Err(RasterError::NoSvg(_))),
            "{wrong}"
        );
    }
}
