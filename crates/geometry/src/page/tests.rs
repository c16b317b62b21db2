//! What a view turns into: zeros that mean something, and the sentences of the page outside of the answer.

use crate::{Gradient, Kron, Method, Spectrum, Summary};
use polariscope_graph::Shape;

use super::reading::{Preference, Reading, Zeros};
use super::{View, compare, show};
use crate::Agreement;
use crate::lens::source::tests::{closed, sampled};
use crate::lens::source::{Inputs, Origin, Provenance};

/// A geometry with its numbers, to be seen.
struct Held {
    matrix: Kron,
    spectrum: Spectrum,
    summary: Summary,
    local: Option<Kron>,
    source: Provenance,
    shape: Shape,
}

fn diagonal(values: &[f64]) -> Kron {
    let n = values.len();
    let mut factor = vec![0.0; n * n];
    (0..n).for_each(|i| factor[i * (n + 1)] = values[i]);
    Kron::dense(factor, n)
}

fn held(source: Provenance, matrix: Kron, local: Option<Kron>) -> Held {
    let spectrum = Spectrum::of(&matrix).unwrap();
    Held {
        summary: Summary::of(&spectrum),
        shape: Shape::Vector {
            features: matrix.dim(),
        },
        matrix,
        spectrum,
        local,
        source,
    }
}

impl Held {
    fn view(&self) -> View<'_> {
        View {
            name: "net".into(),
            parameters: 12_345,
            shape: self.shape,
            matrix: &self.matrix,
            spectrum: &self.spectrum,
            summary: &self.summary,
            source: self.source.clone(),
            local: self.local.as_ref(),
            mean_gradient: None,
            method: "By hand.".into(),
            conventions: Vec::new(),
            notes: Vec::new(),
            agreement: Vec::new(),
            command: "polariscope".into(),
            seconds: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn html(&self) -> String {
        show(&self.view()).html()
    }
}

/// One direction of eight without weight, by what is known of it.
#[test]
fn zeros_mean_what_the_method_carries() {
    let (seven, eight) = ([2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0], [1.0; 8]);
    let zeros = |source: &Provenance, local: Option<&[f64]>| {
        let local = local.map(diagonal);
        let held = held(source.clone(), diagonal(&seven), local);
        Reading::of(&held.view()).zeros
    };
    let one = Zeros::Blind(1);
    assert_eq!(zeros(&closed(), Some(&seven)), one);
    assert_eq!(zeros(&closed(), Some(&eight)), Zeros::Unshared(1));
    assert_eq!(zeros(&closed(), None), Zeros::Unshared(1));
    let linear = Provenance {
        method: Method::Exact,
        inputs: Inputs::Any,
        ..closed()
    };
    assert_eq!(zeros(&linear, None), one);
    let at_zero = Provenance {
        method: Method::Exact,
        inputs: Inputs::Zero,
        ..closed()
    };
    assert_eq!(zeros(&at_zero, None), Zeros::Here(1));
    let local = |networks| Provenance {
        gradient: Gradient::Local,
        probes: 1,
        ..sampled(networks, Some(0.1))
    };
    assert_eq!(zeros(&local(8), None), Zeros::None);
    assert_eq!(zeros(&local(9), None), one);
    assert_eq!(zeros(&sampled(9, Some(0.1)), None), Zeros::Unshared(1));
    // A zero among negative eigenvalues is noise.
    let unsettled = held(
        sampled(9, Some(0.1)),
        diagonal(&[2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, -0.5]),
        None,
    );
    let reading = Reading::of(&unsettled.view());
    assert_eq!(reading.zeros, Zeros::None);
    let (count, lowest) = reading.negative.unwrap();
    assert!(count == 1 && (lowest + 0.5 / 0.8125).abs() < 1e-12);
    // Rounding of a sum of squares.
    let rounded = [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1e-6];
    let rounded = held(local(9), diagonal(&rounded), None);
    assert_eq!(Reading::of(&rounded.view()).negative, None);
    let settled = held(closed(), diagonal(&seven), None);
    assert_eq!(Reading::of(&settled.view()).negative, None);
}

/// Rounding leaves ±10⁻¹⁰ of zeros; 10⁻⁸ in a closed form without negative eigenvalues is a number.
#[test]
fn small_is_not_zero() {
    let zeros = |last: &[f64]| {
        let values = [&[2.0, 1.0, 1.0, 1.0, 1.0, 1.0][..], last].concat();
        Reading::of(&held(closed(), diagonal(&values), None).view()).zeros
    };
    assert_eq!(zeros(&[1e-8, 1e-8]), Zeros::None);
    assert_eq!(zeros(&[1e-10, -1e-10]), Zeros::Unshared(2));
}

/// Noise that drowns G says nothing, unless the weights were given.
#[test]
fn drowned_samples_are_unknown() {
    let preference = |source: Provenance| {
        let held = held(source, diagonal(&[5.0, 1.0, 1.0, 1.0]), None);
        Reading::of(&held.view()).preference
    };
    assert_eq!(preference(sampled(2, None)), Preference::Unknown);
    let given = Provenance {
        weights: Origin::Given,
        ..sampled(2, None)
    };
    assert_eq!(preference(given), Preference::Mild);
    assert_eq!(preference(closed()), Preference::Mild);
}

fn given() -> Provenance {
    Provenance {
        weights: Origin::Given,
        gradient: Gradient::Local,
        ..sampled(1, None)
    }
}

/// Sentences of the page outside of the answer, in its order: each there and not there.
#[test]
fn sentences_of_the_page_appear_and_do_not() {
    let values = [5.0, 1.0, 1.0, 1.0];
    let plain = held(closed(), diagonal(&values), None);
    let drawn = plain.html();
    let trained = held(given(), diagonal(&values), None).html();
    let flat = held(closed(), diagonal(&[1.0; 4]), None).html();
    let drowned = held(sampled(2, None), diagonal(&values), None).html();
    let both = |sentence: &str, there: &str, elsewhere: &[&str]| {
        assert!(there.contains(sentence), "missing: {sentence}");
        assert!(
            elsewhere.iter().all(|page| !page.contains(sentence)),
            "unexpected: {sentence}"
        );
    };
    // 1. The question.
    both("before it has learnt anything", &drawn, &[&trained]);
    both("sensitive with these weights?", &trained, &[&drawn]);
    // 2. The geometry is named first.
    both(
        "<p>Coherent geometry (what predicts learning), closed form at infinite width, inputs N(0, 1).</p>",
        &drawn,
        &[&trained],
    );
    // 3. Captions of the spectrum.
    both(
        "The band is one standard error.",
        &noisy().html(),
        &[&drawn],
    );
    let zero = held(closed(), diagonal(&[5.0, 1.0, 1.0, 0.0]), None).html();
    let below = held(
        sampled(9, Some(0.1)),
        diagonal(&[5.0, 1.0, 1.0, -0.5]),
        None,
    )
    .html();
    both("1 eigenvalues are below 10⁻⁷", &zero, &[&drawn, &below]);
    both(
        "1 eigenvalues are below zero, from noise",
        &below,
        &[&drawn, &zero],
    );
    both(
        "of the trace lies in the first tenth of the directions",
        &drawn,
        &[&below],
    );
    // 4. Directions, or why there are none.
    both(
        "All directions count alike, so any basis",
        &flat,
        &[&drawn, &drowned],
    );
    both(
        "Noise decides the directions of so small a sample",
        &drowned,
        &[&drawn, &flat],
    );
    both(
        "The input is no image, so the directions are not drawn",
        &drawn,
        &[&flat, &drowned],
    );
    // 5. The matrix: one block, or one for each channel.
    let mut blocks = held(closed(), diagonal(&values), None);
    blocks.matrix.channels = 3;
    blocks.spectrum = Spectrum::of(&blocks.matrix).unwrap();
    let blocks = blocks.html();
    both("derivatives by inputs i and j", &drawn, &[&blocks]);
    both(
        "The 3 input channels are treated alike and independently",
        &blocks,
        &[&drawn],
    );
    // 6. How close another method comes.
    let agreeing = |corr: f64| {
        let mut view = plain.view();
        view.agreement.push(Agreement {
            with: "another".into(),
            corr,
            corr_error: Some(0.01),
            overlaps: Vec::new(),
            trace_ratio: 1.0,
            trace_ratio_error: None,
        });
        show(&view).html()
    };
    let verdicts = [
        (0.995, "agrees closely"),
        (0.95, "agrees in the main"),
        (0.7, "agrees in part"),
        (0.1, "disagrees"),
    ];
    for (corr, sentence) in verdicts {
        let others = verdicts.iter().filter(|v| v.0 != corr);
        let others: Vec<String> = others.map(|v| agreeing(v.0)).collect();
        let mut others: Vec<&str> = others.iter().map(String::as_str).collect();
        others.push(&drawn);
        both(sentence, &agreeing(corr), &others);
    }
    // 7. Approximations.
    let mut view = plain.view();
    view.notes.push("Masks are independent.".into());
    both("Approximations made:", &show(&view).html(), &[&drawn]);
}

/// The card says what the page says, in its words, and draws what there is to draw.
#[test]
fn the_card_follows_the_page() {
    let card = |held: &Held| {
        let files = show(&held.view()).files("net");
        let card = files.into_iter().find(|f| f.0 == "figures/net-card.svg");
        card.unwrap().1
    };
    let texts = |svg: &str| {
        let texts = svg.split("<text ").skip(1);
        let inner = texts.filter_map(|t| t.split_once('>')?.1.split_once('<').map(|x| x.0));
        inner.collect::<Vec<_>>().join(" ")
    };
    let values: Vec<f64> = (0..256).map(|i| 1.0 + f64::from(i % 16).powi(2)).collect();
    let mut image = held(closed(), diagonal(&values), None);
    image.shape = Shape::Image {
        channels: 1,
        height: 16,
        width: 16,
    };
    let svg = card(&image);
    let said = texts(&svg);
    for words in [
        "net",
        "12,345 parameters, input 1×16×16",
        "closed form",
        "By hand.",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    let finding = super::words::finding("net", &Reading::of(&image.view()));
    let start: String = finding.chars().take(60).collect();
    assert!(image.html().contains(&start) && said.contains(&start));
    // Twelve directions, a map of frequencies and its bar of colours.
    assert_eq!(svg.matches("<image ").count(), 14);
    assert!(image.html().contains("class=\"hero\""));

    let mut flat = held(closed(), diagonal(&[1.0; 256]), None);
    flat.shape = image.shape;
    let (svg, html) = (card(&flat), flat.html());
    assert_eq!(svg.matches("<image ").count(), 2);
    assert!(texts(&svg).contains("no preferred direction") && !texts(&svg).contains("First"));
    assert!(said.contains("First directions") && !said.contains("no preferred direction"));
    assert!(!html.contains("class=\"hero\""));
    let vector = held(closed(), diagonal(&[5.0, 1.0, 1.0, 1.0]), None);
    assert_eq!(card(&vector).matches("<image ").count(), 0);
}

fn noisy() -> Held {
    let mut held = held(sampled(9, Some(0.1)), diagonal(&[5.0, 1.0, 1.0, 1.0]), None);
    held.spectrum.errors = vec![(0, 0.5), (3, 0.1)];
    held.summary.trace_error = Some(0.2);
    held.summary.participation_ratio_error = Some(0.3);
    held.summary.top10_share_error = Some(0.03);
    held.summary.effective_rank_error = Some(0.2);
    held
}

/// Facts and table carry the errors that there are.
#[test]
fn errors_are_shown() {
    let html = noisy().html();
    for number in ["2.3 ± 0.3", "62 ± 3", "8.0 ± 0.2"] {
        assert!(html.contains(number), "{number}");
    }
    let closed = held(closed(), diagonal(&[5.0, 1.0, 1.0, 1.0]), None);
    assert!(!closed.html().contains('±'));
}

/// Images: the local geometry is drawn beside the coherent one where it is known; a grid of averages is named.
#[test]
fn the_local_geometry_is_beside() {
    let image = |local: Option<Kron>| {
        let values: Vec<f64> = (0..256).map(|i| 1.0 + f64::from(i % 16)).collect();
        let mut held = held(closed(), diagonal(&values), local);
        held.shape = Shape::Image {
            channels: 1,
            height: 16,
            width: 16,
        };
        held
    };
    let beside = image(Some(diagonal(&[20.0; 256])));
    let alone = image(None);
    for sentence in [
        "local: the same input",
        "of the gradient&#39;s variance is shared",
    ] {
        let sentence = sentence.replace("&#39;", "'");
        let there = beside.html().replace("&#39;", "'");
        assert!(there.contains(&sentence), "{sentence}");
        assert!(!alone.html().replace("&#39;", "'").contains(&sentence));
    }
    // Several at once: a column without preference, one that noise decides, one that is no image.
    let flat = {
        let mut held = image(None);
        held.matrix = diagonal(&[1.0; 256]);
        held.spectrum = Spectrum::of(&held.matrix).unwrap();
        held.summary = Summary::of(&held.spectrum);
        held
    };
    let mut drowned = image(None);
    drowned.source = sampled(2, None);
    let corr = vec![vec![crate::Similarity::SAME; 2]; 2];
    let compared = |other: &Held| {
        let views = [alone.view(), other.view()];
        compare::page(&views, &corr, "polariscope", Vec::new()).html()
    };
    let vector = held(closed(), diagonal(&[5.0, 1.0, 1.0, 1.0]), None);
    let pages = [compared(&flat), compared(&drowned), compared(&vector)];
    let sentences = [
        "All directions count alike: none is drawn.",
        "Noise decides the directions: none is drawn.",
        "The input is no image.",
    ];
    for (i, page) in pages.iter().enumerate() {
        for (j, sentence) in sentences.iter().enumerate() {
            assert_eq!(page.contains(sentence), i == j, "{i} {sentence}");
        }
    }
}
