//! Every sentence appears where its numbers carry it, and does not where they do not. In the order of the text.

use crate::{Gradient, Method};

use super::super::figures::{frequencies_caption, profile_caption};
use super::super::reading::tests::{isotropic, reading};
use super::super::reading::{Preference, Reading, Zeros};
use super::super::scatter::{Rest, Scatter};
use super::super::sight::tests::{hill, over, sight};
use super::paragraphs;
use crate::lens::source::tests::sampled;
use crate::lens::source::{Inputs, Origin, Voice};

fn said(reading: &Reading) -> String {
    paragraphs("net", reading)
}

/// A reading that was changed.
fn with(mut reading: Reading, change: impl FnOnce(&mut Reading)) -> Reading {
    change(&mut reading);
    reading
}

/// Asserts that the words of the first hold a sentence and those of the others do not.
fn only(sentence: &str, there: &Reading, elsewhere: &[&Reading]) {
    let text = said(there);
    assert!(text.contains(sentence), "missing “{sentence}”: {text}");
    for other in elsewhere {
        let text = said(other);
        assert!(!text.contains(sentence), "unexpected “{sentence}”: {text}");
    }
}

fn local(reading: Reading) -> Reading {
    with(reading, |r| r.source.gradient = Gradient::Local)
}

fn given(reading: Reading) -> Reading {
    with(reading, |r| {
        r.source = sampled(1, None);
        r.source.weights = Origin::Given;
        r.source.gradient = Gradient::Local;
    })
}

/// 1 to 4: how many directions take part.
#[test]
fn preferences() {
    let strong = reading(hill(40.0));
    let mild = with(reading(hill(40.0)), |r| r.preference = Preference::Mild);
    let unknown = with(reading(hill(40.0)), |r| r.preference = Preference::Unknown);
    let none = isotropic();
    only(
        "The sample is too small to say which of its 1,024 input directions net prefers",
        &unknown,
        &[&strong, &mild, &none],
    );
    let few = given(unknown.clone());
    only(
        "Take more networks (--samples, --error).",
        &unknown,
        &[&few],
    );
    only("Take more inputs (--probes).", &few, &[&unknown]);
    only(
        "net has no preferred direction: the gradient that all inputs share is spread evenly over all 1,024 input \
         directions. All pixels and all spatial frequencies count alike, and no linear rule is easier",
        &none,
        &[&strong, &mild, &unknown],
    );
    // Without pictures, without learning.
    let vector = with(isotropic(), |r| r.sight = None);
    only("All inputs count alike", &vector, &[&none]);
    only(
        "All pixels and all spatial frequencies count alike.",
        &local(isotropic()),
        &[&none],
    );
    only(
        "net prefers some directions, but mildly: the gradient that all inputs share is spread over about 50 of",
        &mild,
        &[&strong, &none, &unknown],
    );
    // Strong, by what is spoken of.
    let single = local(reading(hill(40.0)));
    let trained = given(reading(hill(40.0)));
    let coherent = "Before training, the gradient that all inputs share in net lies in about 50 of its 1,024 input directions: \
                    the first tenth of them carries 80\u{a0}% of it.";
    only(coherent, &strong, &[&single, &trained, &mild, &none]);
    only(
        "Before training, the sensitivity of net lies along about 50 of",
        &single,
        &[&strong, &trained],
    );
    only(
        "With the given weights, the sensitivity of net lies along about 50 of",
        &trained,
        &[&strong, &single],
    );
    // Errors are shown where there are some.
    let noisy = with(reading(hill(40.0)), |r| {
        r.directions.1 = Some(3.0);
        r.head.1 = Some(0.02);
    });
    only("about 50 ± 3 of its", &noisy, &[&strong]);
    only("carries 80 ± 2\u{a0}% of it", &noisy, &[&strong]);
    // No share of directions that noise has not left yet.
    let unsettled = with(reading(hill(40.0)), |r| r.negative = Some((9, -0.5)));
    only("the first tenth of them carries", &strong, &[&unsettled]);
}

/// 5: few gradients.
#[test]
fn few_gradients() {
    let few = with(reading(hill(40.0)), |r| r.source = sampled(16, Some(0.1)));
    let many = with(reading(hill(40.0)), |r| r.source = sampled(5000, Some(0.1)));
    let sentence =
        "It was seen through 16 gradients: no more than 16 of its 1,024 directions can show.";
    only(sentence, &few, &[&many, &reading(hill(40.0))]);
}

/// 6 to 12: which waves weigh most. Each appears for its own map alone.
#[test]
fn bands() {
    let comb = |a: isize, b: isize| if a % 4 == 0 && b % 4 == 0 { 16.0 } else { 0.1 };
    let ring = |a: isize, b: isize| {
        let r = ((a * a + b * b) as f64).sqrt();
        0.1 + (-(r - 8.0).powi(2) / 2.0).exp()
    };
    let board = |a: isize, b: isize| if (a + b) % 2 == 0 { 1.4 } else { 0.6 };
    let fine = |a: isize, b: isize| 0.1 + ((a * a + b * b) as f64) / 256.0;
    let all = [
        (
            "All spatial frequencies weigh the same within 25\u{a0}%",
            reading(|_, _| 1.0),
        ),
        (
            "The sample is too small to tell spatial frequencies apart",
            with(reading(|_, _| 1.0), |r| {
                r.sight = Some(sight(0.2, |a, _| 1.0 + 0.1 * (a % 2) as f64));
            }),
        ),
        (
            "Low spatial frequencies (up to 4 cycles an image) have ",
            reading(hill(40.0)),
        ),
        (
            "Fine detail (from 12 cycles an image on) has ",
            reading(fine),
        ),
        (
            "Waves of about 8 cycles an image weigh most, ",
            reading(ring),
        ),
        (
            "Strides fold frequencies onto each other: patterns that repeat every 8 pixels, however fine, have ",
            reading(comb),
        ),
        (
            "Weights of spatial frequencies differ by a factor of 2.3 over four fifths of them, and the number of cycles \
             explains ",
            reading(board),
        ),
    ];
    for (i, (sentence, there)) in all.iter().enumerate() {
        let others = all.iter().enumerate().filter(|(j, _)| *j != i);
        let others: Vec<&Reading> = others.map(|(_, (_, r))| r).collect();
        only(sentence, there, &others);
    }
}

/// 13 and 14: the dark. `invisible` needs a closed form over all inputs or more gradients than directions, and small errors.
#[test]
fn dark() {
    let step = |a: isize, b: isize| if a * a + b * b < 64 { 1.0 } else { 0.001 };
    let half = |a: isize, b: isize| if a.abs() < 4 { hill(200.0)(a, b) } else { 0.0 };
    let bright = reading(|a, b| 0.5 + hill(40.0)(a, b));
    let (limited, part) = (reading(step), reading(half));
    only(
        "and what lies at 8 cycles an image or above is all but invisible (below 5\u{a0}% of it).",
        &limited,
        &[&bright, &part],
    );
    only(
        "of all frequencies are all but invisible",
        &part,
        &[&bright, &limited],
    );
    let at_zero = with(reading(step), |r| {
        (r.source.method, r.source.inputs) = (Method::Exact, Inputs::Zero);
    });
    only(
        "or above has less than 5\u{a0}% of it.",
        &at_zero,
        &[&limited, &bright, &part],
    );
    let few = with(reading(half), |r| r.source = sampled(100, Some(0.1)));
    only(
        "of all frequencies have less than 5\u{a0}% of it.",
        &few,
        &[&part],
    );
    let noisy = with(reading(step), |r| {
        r.source = sampled(5000, Some(0.5));
        r.sight = Some(sight(0.1, step));
    });
    assert!(!said(&noisy).contains("invisible"), "{}", said(&noisy));
    assert!(!said(&at_zero).contains("invisible"));
}

/// 15 to 19: what else shows in the map of frequencies.
#[test]
fn further_structure() {
    let plain = reading(hill(80.0));
    let tooth = |a: isize, b: isize| if a % 4 == 0 && b % 4 == 0 { 1.8 } else { 1.0 };
    only(
        "Strides show on top: patterns that repeat every 8 pixels weigh 1.8 times other waves of the same length.",
        &reading(|a, b| hill(80.0)(a, b) * tooth(a, b)),
        &[&plain],
    );
    let quadrant = |a: isize, b: isize| if a * b > 0 { 1.5 } else { 0.5 };
    only(
        "The number of cycles explains only ",
        &reading(|a, b| (1.0 + 1.5 * hill(200.0)(a, b)) * quadrant(a, b)),
        &[&plain],
    );
    let gap = |k: isize| if k != 0 && k % 8 == 0 { 0.0 } else { 1.0 };
    only(
        "Waves with exactly 8 or 16 cycles across or down weigh less than 5\u{a0}% of those beside them.",
        &reading(|a, b| gap(a) * gap(b) * hill(200.0)(a, b)),
        &[&plain],
    );
    let bright = |a: isize, b: isize| {
        if (a, b) == (0, 0) {
            900.0
        } else {
            hill(80.0)(a, b)
        }
    };
    only(
        "The mean brightness alone takes ",
        &reading(bright),
        &[&plain],
    );
    let across = |a: isize, b: isize| (-((4 * a * a + b * b) as f64) / 80.0).exp() + 1e-3;
    only(
        "Changes across the image weigh ",
        &reading(across),
        &[&plain],
    );
    only(
        "Changes down the image weigh ",
        &reading(move |a, b| across(b, a)),
        &[&plain, &reading(across)],
    );
    let cross = |a: isize, b: isize| if a == 0 || b == 0 { 4.0 } else { 1.0 } * hill(80.0)(a, b);
    let diagonal =
        |a: isize, b: isize| if a.abs() == b.abs() { 4.0 } else { 1.0 } * hill(80.0)(a, b);
    only(
        "Horizontal and vertical waves weigh ",
        &reading(cross),
        &[&plain, &reading(diagonal)],
    );
    only(
        "Oblique waves weigh ",
        &reading(diagonal),
        &[&plain, &reading(cross)],
    );
}

/// 20 to 24: pixels.
#[test]
fn pixels() {
    let pixel = |weight: fn(usize, usize) -> f64| {
        with(reading(hill(80.0)), |r| {
            r.sight = Some(over(0.0, hill(80.0), weight));
        })
    };
    let even = pixel(|_, _| 1.0);
    let middle = pixel(|y, x| {
        if (4..28).contains(&y) && (4..28).contains(&x) {
            2.0
        } else {
            1.0
        }
    });
    let edge = pixel(|y, x| {
        if (4..28).contains(&y) && (4..28).contains(&x) {
            1.0
        } else {
            2.0
        }
    });
    let frame = pixel(|y, x| {
        if (2..30).contains(&y) && (2..30).contains(&x) {
            1.0
        } else {
            0.01
        }
    });
    let thin = pixel(|y, x| {
        if (1..31).contains(&y) && (1..31).contains(&x) {
            1.0
        } else {
            0.01
        }
    });
    let corner = pixel(|y, x| if y < 29 && x < 30 { 1.0 } else { 0.0 });
    let grid = pixel(|y, x| if y % 4 == 1 && x % 4 == 1 { 3.0 } else { 1.0 });
    let board = pixel(|y, x| [0.5, 1.5][(y + x) % 2]);
    let all = [
        ("All pixels count the same within 25\u{a0}%.", &even),
        (
            "A pixel in the middle of the image counts 2.0 times as much as one at its edge.",
            &middle,
        ),
        (
            "A pixel at the edge of the image counts 2.0 times as much as one in its middle.",
            &edge,
        ),
        (
            "The outermost 2 lines of pixels count less than 10\u{a0}% of the middle.",
            &frame,
        ),
        (
            "The outermost pixels count less than 10\u{a0}% of the middle.",
            &thin,
        ),
        (
            "Lines of pixels at the border (3 at the bottom, 2 at the right) count less than 10\u{a0}% of the middle.",
            &corner,
        ),
        (
            "Strides leave a grid: 1 of every 4 × 4 pixels counts 3.0 times as much as the others.",
            &grid,
        ),
        (
            "Strides leave a grid: 2 of every 2 × 2 pixels count 3.0 times as much as the others.",
            &board,
        ),
    ];
    for (i, (sentence, there)) in all.iter().enumerate() {
        let others = all.iter().enumerate().filter(|(j, _)| *j != i);
        let others: Vec<&Reading> = others.map(|(_, (_, r))| *r).collect();
        only(sentence, there, &others);
    }
}

/// 25: what should be learnt first; only of coherent geometries of drawn weights, and only where weights are far apart.
#[test]
fn learning() {
    let start = "So linear rules should be learnt from fewer samples along ";
    let low = reading(hill(40.0));
    let mild = reading(|a, b| 2.0 + hill(40.0)(a, b));
    let slow = format!(
        "{start}slow waves (up to 4 cycles an image) than along fine waves (from 12 cycles an image on)"
    );
    let others = [
        mild,
        local(reading(hill(40.0))),
        given(reading(hill(40.0))),
        isotropic(),
    ];
    for other in &others {
        assert!(!said(other).contains(start), "{}", said(other));
    }
    let fine = reading(|a, b| 0.1 + ((a * a + b * b) as f64) / 256.0);
    only(&slow, &low, &[&fine]);
    only(
        &format!("{start}fine waves (from 12 cycles an image on) than along slow waves"),
        &fine,
        &[&low],
    );
    let ring = reading(|a, b| {
        let r = ((a * a + b * b) as f64).sqrt();
        0.1 + (-(r - 8.0).powi(2) / 2.0).exp()
    });
    only(
        &format!("{start}waves of about 8 cycles an image"),
        &ring,
        &[&low, &fine],
    );
    let comb = reading(|a, b| if a % 4 == 0 && b % 4 == 0 { 16.0 } else { 0.1 });
    let repeat = format!("{start}waves that repeat every 8 pixels than along the others");
    only(&repeat, &comb, &[&low, &ring]);
    // Several at once.
    let cross = |a: isize, b: isize| if a == 0 || b == 0 { 4.0 } else { 1.0 } * hill(80.0)(a, b);
    let cross = reading(cross);
    only(
        ", along horizontal and vertical waves than along oblique ones",
        &cross,
        &[&low, &ring],
    );
    let diagonal =
        |a: isize, b: isize| if a.abs() == b.abs() { 4.0 } else { 1.0 } * hill(80.0)(a, b);
    only(
        ", along oblique waves than along horizontal and vertical ones",
        &reading(diagonal),
        &[&low, &cross],
    );
    let bright = reading(|a, b| {
        if (a, b) == (0, 0) {
            900.0
        } else {
            hill(80.0)(a, b)
        }
    });
    only(
        &format!("{start}the mean brightness than along waves, along slow waves"),
        &bright,
        &[&low, &cross],
    );
    // The dark, where a zero is one.
    let dark = reading(|a, b| if a * a + b * b < 64 { 1.0 } else { 0.001 });
    only(
        "; along invisible ones last, if at all.",
        &dark,
        &[&fine, &ring],
    );
}

/// 26 to 29: how the local geometry differs.
#[test]
fn scatters() {
    let beside = |share: f64, rest: Option<(f64, f64)>| {
        with(reading(hill(40.0)), |r| {
            let rest = rest.map(|(white, spread)| Rest {
                white,
                spread,
                rings: vec![1.0; 23],
            });
            r.scatter = Some(Scatter { share, rest });
        })
    };
    let all = [
        (
            "The local geometry is the same: 100\u{a0}% of the gradient's variance is shared by all inputs.",
            beside(1.0, None),
        ),
        ("the rest scatters from input to input.", beside(0.04, None)),
        (
            "4.0\u{a0}% of the gradient's variance is shared by all inputs; the rest scatters from input to input and is nearly \
             white: 95\u{a0}% of the frequencies have the same weight in it within 25\u{a0}%.",
            beside(0.04, Some((0.95, 1.1))),
        ),
        (
            "with weights that differ by a factor of 2.4 over four fifths of the frequencies.",
            beside(0.04, Some((0.8, 2.4))),
        ),
    ];
    for (i, (sentence, there)) in all.iter().enumerate() {
        let others = all.iter().enumerate().filter(|(j, _)| *j != i);
        let mut others: Vec<&Reading> = others.map(|(_, (_, r))| r).collect();
        let alone = reading(hill(40.0));
        others.push(&alone);
        only(sentence, there, &others);
    }
}

/// 30 to 34: where the geometry vanishes, has not converged, or says nothing about learning.
#[test]
fn caveats() {
    let zeros = |zeros| with(reading(hill(40.0)), |r| r.zeros = zeros);
    let all = [
        ("To 9 directions it is blind", zeros(Zeros::Blind(9))),
        ("To one direction it is blind", zeros(Zeros::Blind(1))),
        (
            "Along 9 directions the gradient vanishes on average over inputs, though not at each of them",
            zeros(Zeros::Unshared(9)),
        ),
        (
            "Along 9 directions the gradient is zero at the inputs that were taken; elsewhere it need not be.",
            zeros(Zeros::Here(9)),
        ),
        (
            "7 of 1,024 eigenvalues are below zero (the lowest is -0.25 of the isotropic one): the sample has not converged.",
            with(reading(hill(40.0)), |r| r.negative = Some((7, -0.25))),
        ),
        (
            "This is sensitivity, not what is learnt",
            local(reading(hill(40.0))),
        ),
        ("Before training, the gradient", zeros(Zeros::None)),
    ];
    for (i, (sentence, there)) in all.iter().enumerate().take(all.len() - 1) {
        let others = all.iter().enumerate().filter(|(j, _)| *j != i);
        let others: Vec<&Reading> = others.map(|(_, (_, r))| r).collect();
        only(sentence, there, &others);
    }
    assert!(!said(&given(reading(hill(40.0)))).contains("This is sensitivity"));
}

/// Where no geometry was found to order directions as training does, nothing is promised.
#[test]
fn networks_without_evidence() {
    let doubt = "Whether this predicts what is learnt is not known";
    let mut vit = reading(hill(40.0));
    assert!(!said(&vit).contains(doubt));
    assert!(said(&vit).contains("earn"), "{}", said(&vit));
    vit.source.predicts = false;
    let words = said(&vit);
    assert!(words.contains(doubt), "{words}");
    assert!(
        words.contains("the gradient that all inputs share"),
        "{words}"
    );
    assert!(!words.contains("should be learnt"), "{words}");
    assert!(!said(&given(vit.clone())).contains(doubt));
    // Nor where the gradient vanishes on average.
    vit.zeros = Zeros::Unshared(3);
    let (vanishes, last) = (
        "Along 3 directions the gradient vanishes on average",
        "learnt last",
    );
    assert!(said(&vit).contains(vanishes) && !said(&vit).contains(last));
    vit.source.predicts = true;
    assert!(said(&vit).contains(vanishes) && said(&vit).contains(last));
}

/// 35 to 38: captions that depend on the geometry.
#[test]
fn captions() {
    let line = " On the line it is 1, the isotropic one.";
    let evidence = "larger weights went with higher test accuracy";
    for (voice, uneven) in [
        (Voice::Coherent, true),
        (Voice::Coherent, false),
        (Voice::Shared, true),
        (Voice::Sensitivity, true),
        (Voice::Given, true),
    ] {
        let caption = frequencies_caption(voice, uneven);
        assert_eq!(caption.contains(line), uneven);
        assert_eq!(
            caption.contains(evidence),
            uneven && voice == Voice::Coherent
        );
        let claim = "should be learnt from fewer samples";
        let profile = profile_caption(voice, uneven, None);
        assert_eq!(profile.contains(claim), uneven && voice == Voice::Coherent);
        assert!(!profile.contains("shared by all inputs"));
    }
    let beside = Scatter {
        share: 0.04,
        rest: None,
    };
    let profile = profile_caption(Voice::Coherent, true, Some(&beside));
    assert!(profile.contains("4.0\u{a0}% of the gradient's variance is shared by all inputs"));
}
