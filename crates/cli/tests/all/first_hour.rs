//! `docs/first-hour.md` is what happens: every command of the program that it shows runs, and prints what it shows.
//!
//! Bug class: a page for new users that has fallen behind the program.

use std::fs::{self, File};
use std::path::Path;

use crate::common::{directory, succeed};

const PAGE: &str = include_str!("../../../../docs/first-hour.md");
/// Drawings of each class, and their size.
const DRAWINGS: usize = 60;
const SIDE: usize = 32;

/// The two folders of drawings that the page speaks of: rings and crosses somewhere on grey.
fn draw(photos: &Path) {
    // Any generator does: Knuth's linear congruential one.
    let mut state = 1u64;
    let mut next = |below: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        below * (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for class in ["cross", "ring"] {
        let folder = photos.join(class);
        fs::create_dir_all(&folder).unwrap();
        for i in 0..DRAWINGS {
            let centre = [10.0 + next(12.0), 10.0 + next(12.0)];
            let colour = [next(120.0), next(120.0), next(120.0)];
            let pixel = |at: usize| {
                let (y, x) = (
                    (at / SIDE) as f64 - centre[0],
                    (at % SIDE) as f64 - centre[1],
                );
                let inside = match class {
                    "ring" => (4.5..7.5).contains(&x.hypot(y)),
                    _ => x.abs().min(y.abs()) < 1.5 && x.abs().max(y.abs()) < 7.5,
                };
                colour.map(|c| if inside { c as u8 } else { 200 })
            };
            let bytes: Vec<u8> = (0..SIDE * SIDE).flat_map(pixel).collect();
            let file = File::create(folder.join(format!("{i:02}.png"))).unwrap();
            let mut encoder = png::Encoder::new(file, SIDE as u32, SIDE as u32);
            encoder.set_color(png::ColorType::Rgb);
            encoder
                .write_header()
                .unwrap()
                .write_image_data(&bytes)
                .unwrap();
        }
    }
}

/// Commands of the page with what it says they print; a command without output has none.
fn steps() -> Vec<(Vec<&'static str>, Option<&'static str>)> {
    let mut steps: Vec<(Vec<&str>, Option<&str>)> = Vec::new();
    for block in PAGE.split("\n```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "sh" => {
                // What follows a # is for people.
                let lines = text
                    .lines()
                    .map(|l| l.split(" #").next().unwrap_or(l).trim());
                let ours = lines.filter_map(|line| line.strip_prefix("polariscope "));
                steps.extend(ours.map(|line| (line.split_whitespace().collect(), None)));
            }
            "text" => steps.last_mut().unwrap().1 = Some(text),
            "" => {}
            other => panic!("what is a block of {other}?"),
        }
    }
    steps
}

/// Words, with durations left out: they are another machine's.
fn words(text: &str) -> Vec<&str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let timed = |i: usize| {
        let unit = |word: &str| {
            ["ms", "s", "min", "µs"].contains(&word.trim_end_matches([',', '.', ';', ')']))
        };
        unit(words[i]) || words.get(i + 1).is_some_and(|w| unit(w))
    };
    (0..words.len())
        .filter(|&i| !timed(i))
        .map(|i| words[i])
        .collect()
}

/// The same words, or numbers within a tenth: training amplifies the rounding of another instruction set.
fn alike(a: &str, b: &str) -> bool {
    let number = |word: &str| {
        let digits = word.trim_matches(|c: char| !c.is_ascii_digit() && c != '-');
        digits.replace(',', "").parse::<f64>().ok()
    };
    let close = |a: f64, b: f64| (a - b).abs() <= 0.1 * a.abs().max(b.abs());
    a == b || number(a).zip(number(b)).is_some_and(|(a, b)| close(a, b))
}

#[test]
fn every_command_prints_what_the_page_shows() {
    let dir = directory("first-hour");
    draw(&dir.join("photos"));
    let steps = steps();
    assert!(steps.len() >= 6, "{steps:?}");
    for (command, shown) in steps {
        let printed = succeed(&dir, &command);
        fs::write(dir.join("last"), &printed).unwrap();
        if let Some(shown) = shown {
            // The page may leave the end of a long table out.
            let (expected, whole) = match shown.trim_end().strip_suffix('…') {
                Some(start) => (words(start), false),
                None => (words(shown), true),
            };
            let found = words(&printed);
            let found = if whole {
                &found[..]
            } else {
                &found[..expected.len().min(found.len())]
            };
            let pairs = found.iter().zip(&expected);
            let differ = pairs.into_iter().find(|(a, b)| !alike(a, b));
            assert_eq!(differ, None, "{command:?}: {printed}");
            assert_eq!(found.len(), expected.len(), "{command:?}: {printed}");
        }
    }
    let card = fs::read(dir.join("resnet18/figures/resnet18-card.png")).unwrap();
    assert!(card.starts_with(b"\x89PNG"));
}
