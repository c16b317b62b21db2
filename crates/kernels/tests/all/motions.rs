//! Motions of the positions. Catches windows that are taken to lie evenly where they do not, weights that are moved to the
//! wrong place, and words that say more than was found.

use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_kernels::symmetry::{
    Axis, Known, Motion, Place, Question, Summary, answer, follow,
};
use polariscope_lens::Quiet;
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;

const ALL: [Motion; 6] = [
    Motion::Shift {
        axis: Axis::Across,
        by: 1,
    },
    Motion::Shift {
        axis: Axis::Down,
        by: 1,
    },
    Motion::Flip(Axis::Across),
    Motion::Flip(Axis::Down),
    Motion::Transpose,
    Motion::Turn,
];

fn network(name: &str, input: &str) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn file(layers: &str) -> Graph {
    let text = format!("input = [2, 8, 8]\nlayers = [ {layers} ]");
    parse_file(&text, "net.toml", &ZooOptions::default()).unwrap()
}

fn summary(graph: &Graph) -> Summary {
    let question = Question {
        samples: 4,
        steps: 4,
        ..Question::default()
    };
    answer(graph, None, &question, &mut Quiet).unwrap().summary
}

fn place<'a>(found: &'a Summary, motion: &str) -> &'a Place {
    found.places.iter().find(|p| p.motion == motion).unwrap()
}

/// f(gx; θ_g) = f(x; θ), by running both networks: every op that a motion goes through, and the names of those it stays at.
#[test]
fn weights_that_follow_give_the_same_outputs() {
    let gated = file(
        r#"{ op = "conv", channels = 4, kernel = 3 }, { op = "layer-norm" },
           { op = "tokens" }, { op = "dense", features = 4 }, { op = "image", size = 6 }, { op = "layer-scale" },
           { op = "gate", branch = [ { op = "sigmoid" } ] }, { op = "group-norm", groups = 2 },
           { op = "local", channels = 3, kernel = 3 }, { op = "avg-pool", size = 2 }, { op = "batch-norm" },
           { op = "flatten" }, { op = "layer-norm" }, { op = "layer-scale" }, { op = "dense", features = 3 }"#,
    );
    // Read out element by element, which only weights can follow.
    let over = file(
        r#"{ op = "p4-conv", channels = 3, kernel = 3, padding = "circular" }, { op = "tanh" },
           { op = "p4-conv", channels = 2, kernel = 1 }, { op = "layer-norm" }, { op = "p4-conv", channels = 2, kernel = 3, padding = "circular" },
           { op = "flatten" }, { op = "dense", features = 3 }"#,
    );
    // (network, which of ALL its weights follow)
    let cases = [
        (network("fcn", "2x6x6"), [true; 6]),
        (network("lcn", "2x6x6"), [true; 6]),
        (network("cnn-vec", "2x6x6"), [true; 6]),
        (network("cnn-gap", "2x6x6"), [true; 6]),
        (
            network("lenet", "1x32x32"),
            [false, false, true, true, true, true],
        ),
        (
            network("lenet", "1x32x28"),
            [false, false, true, true, false, false],
        ),
        (
            network("vit", "3x32x32"),
            [false, false, true, true, true, true],
        ),
        (gated, [false, false, true, true, true, true]),
        (
            network("p4-cnn", "2x8x8"),
            [false, false, true, true, true, true],
        ),
        (
            network("p4m-cnn", "2x8x8"),
            [false, false, true, true, true, true],
        ),
        (over, [true; 6]),
    ];
    for (graph, wanted) in cases {
        let shape = graph.input();
        let mut x = vec![0.0_f32; 2 * shape.len()];
        Stream::new(5, 0, "x").normal(1.0, &mut x);
        let x: Vec<f64> = x.into_iter().map(f64::from).collect();
        let mut weights = Weights::<f64>::draw(&graph, 3, 0);
        // Norms and layer scales start with equal numbers, which could go anywhere.
        for (i, value) in weights.values.iter_mut().flatten().enumerate() {
            *value += 0.1 * ((i * i + 31 * i) % 1009) as f64 / 1009.0;
        }
        let net = Network::new(graph.clone());
        let f = net.output(&weights, &x).unwrap();
        let size = f.iter().fold(0.0_f64, |m, f| m.max(f.abs()));
        for (motion, wanted) in ALL.into_iter().zip(wanted) {
            let found = follow(&graph, motion);
            assert_eq!(found.is_ok(), wanted, "{} {motion:?}", graph.name);
            let Ok(followed) = found else { continue };
            let moved = motion.apply(shape, &x).unwrap();
            let g = net.output(&followed.apply(&weights), &moved).unwrap();
            let apart = f
                .iter()
                .zip(&g)
                .fold(0.0_f64, |m, (f, g)| m.max((f - g).abs()));
            assert!(
                apart < 1e-12 * size.max(1.0),
                "{} {motion:?}: {apart}",
                graph.name
            );
            // Unless nothing has to move, the same weights see another sample.
            let same = net.output(&weights, &moved).unwrap();
            let apart = f
                .iter()
                .zip(&same)
                .fold(0.0_f64, |m, (f, g)| m.max((f - g).abs()));
            assert_eq!(
                apart < 1e-9 * size,
                followed.by_every_network(),
                "{} {motion:?}",
                graph.name
            );
        }
    }
}

/// Even sizes, stride 2 and one zero on each side: the last window ends before the padding, so a flip moves the grid.
#[test]
fn strides_that_lie_unevenly_lose_flips_and_keep_the_transpose() {
    let resnet = network("resnet18", "3x32x32");
    let lost = follow(&resnet, Motion::Flip(Axis::Across)).unwrap_err();
    assert!(lost.layer.starts_with("layer2.0"), "{lost:?}");
    assert!(
        lost.why.contains("with stride 2x2 over 32x32 positions"),
        "{lost:?}"
    );
    assert!(follow(&resnet, Motion::Turn).is_err());
    assert!(follow(&resnet, Motion::Transpose).is_ok());
    assert_eq!(
        follow(
            &resnet,
            Motion::Shift {
                axis: Axis::Down,
                by: 16
            }
        )
        .unwrap_err()
        .layer,
        "conv1"
    );
    // Over an odd size the same windows lie evenly.
    let conv = |n: usize| {
        let text = format!(
            "input = [1, {n}, {n}]\nlayers = [ {{ op = \"conv\", channels = 2, kernel = 3, stride = 2, padding = 1 }}, {{ op = \
             \"flatten\" }}, {{ op = \"dense\", features = 2 }} ]"
        );
        parse_file(&text, "net.toml", &ZooOptions::default()).unwrap()
    };
    assert!(follow(&conv(9), Motion::Flip(Axis::Down)).is_ok());
    assert!(follow(&conv(8), Motion::Flip(Axis::Down)).is_err());
}

/// Kernels do not change under what is claimed, and visibly under what is denied; words say which.
#[test]
fn kernels_confirm_what_is_claimed_and_deny_what_is_refused() {
    for (name, every) in [("cnn-gap", true), ("cnn-vec", false), ("fcn", false)] {
        let found = summary(&network(name, "3x6x6"));
        assert_eq!(found.places.len(), 7, "{name}");
        for place in &found.places {
            let filled = place.motion.contains("zeros");
            let wanted = if filled { Known::HasNot } else { Known::Has };
            assert_eq!(place.answer, wanted, "{name} {}", place.motion);
            match filled {
                true => assert!(place.refused_kernel_change.unwrap() > 1e-3),
                false => {
                    let small = |x: Option<f64>| x.unwrap() < 1e-10;
                    assert!(
                        small(place.kernel_change) && small(place.output_change),
                        "{place:?}"
                    );
                    assert!(small(place.run_distance), "{place:?}");
                }
            }
            let shifts = place.motion.starts_with("cyclic");
            assert_eq!(
                place.every_network,
                every && shifts,
                "{name} {}",
                place.motion
            );
        }
        let single =
            "whatever its weights: every single network gives a moved sample the same output";
        assert_eq!(found.words.contains(single), every, "{}", found.words);
        assert!(
            found
                .words
                .contains("It has not: translations filled with zeros (kernels change by ")
        );
        assert!(!found.words.contains("Not known") && !found.words.contains("disagrees"));
    }
}

/// Circular windows with stride 2: shifts by even numbers, no others, and no flip, whose windows would start between.
#[test]
fn strides_leave_multiples() {
    let graph = file(
        r#"{ op = "conv", channels = 8, kernel = 3, stride = 2, padding = "circular" }, { op = "relu" },
           { op = "global-avg-pool" }, { op = "dense", features = 2 }"#,
    );
    let found = summary(&graph);
    let shifts = place(&found, "cyclic translations left-right");
    assert_eq!((shifts.answer, shifts.multiples), (Known::Has, Some(2)));
    assert_eq!(shifts.smaller, Some(Known::HasNot));
    assert!(shifts.every_network && shifts.kernel_change.unwrap() < 1e-10);
    assert!(shifts.refused_kernel_change.unwrap() > 1e-3);
    for (motion, answer) in [
        ("flips left-right", Known::HasNot),
        ("turns by 90°", Known::HasNot),
        ("transpositions", Known::Has),
    ] {
        assert_eq!(place(&found, motion).answer, answer, "{motion}");
    }
    assert!(
        found
            .words
            .contains("cyclic translations left-right by multiples of 2")
    );
    assert!(
        found
            .words
            .contains("It has no cyclic translations left-right by less than 2 (kernels change by")
    );
    assert!(found.words.contains("; flips left-right"));
}

/// Max pooling leaves no kernel: sampled networks decide, and where they cannot nothing is said.
#[test]
fn without_a_kernel_sampled_networks_deny() {
    let found = summary(&network("lenet", "1x32x32"));
    for place in &found.places {
        let shifted = place.motion.contains("translations");
        let wanted = if shifted { Known::HasNot } else { Known::Has };
        assert_eq!(place.answer, wanted, "{}", place.motion);
        assert_eq!(place.kernel_change, None);
        assert_eq!(
            place.refused_output_ratio.is_some(),
            place.motion.starts_with("cyclic")
        );
    }
    let said = "cyclic translations left-right (sampled networks answer ";
    assert!(found.words.contains(said), "{}", found.words);
    assert!(
        found
            .words
            .contains("translations filled with zeros (repeated, they blank every sample)")
    );
    let table = found.places_csv();
    assert_eq!(table.lines().count(), 1 + found.places.len());
}

/// Linear and circular, then the mean over positions: Σ_β w_β times the mean of x, which no flip changes. The taps change
/// places, and yet a single network answers alike, which the words must leave open.
#[test]
fn weights_may_move_without_need() {
    let graph = file(
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "circular" }, { op = "global-avg-pool" },
           { op = "dense", features = 3 }"#,
    );
    let flip = Motion::Flip(Axis::Across);
    assert!(!follow(&graph, flip).unwrap().by_every_network());
    let mut x = vec![0.0_f32; graph.input().len()];
    Stream::new(0, 0, "x").normal(1.0, &mut x);
    let x: Vec<f64> = x.into_iter().map(f64::from).collect();
    let moved = flip.apply(graph.input(), &x).unwrap();
    let weights = Weights::draw(&graph, 0, 0);
    let network = Network::<f64>::new(graph.clone());
    let [a, b] = [&x, &moved].map(|x| network.output(&weights, x).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-13));
    let words = summary(&graph).words;
    assert!(
        words.contains("a single network need not give a moved sample the same output"),
        "{words}"
    );
}

/// Every single network over a group gives its motions the same outputs; a stride that leaves a rest on one side ends that.
#[test]
fn motions_of_the_group_move_no_weight() {
    let built_in =
        |graph: &Graph, motion| follow(graph, motion).is_ok_and(|f| f.by_every_network());
    let p4 = network("p4-cnn", "1x28x28");
    let p4m = network("p4m-cnn", "1x28x28");
    assert!(built_in(&p4, Motion::Turn) && built_in(&p4m, Motion::Turn));
    for mirror in [
        Motion::Flip(Axis::Across),
        Motion::Flip(Axis::Down),
        Motion::Transpose,
    ] {
        assert!(
            built_in(&p4m, mirror) && !built_in(&p4, mirror),
            "{mirror:?}"
        );
    }
    assert!(!built_in(&network("cnn", "1x28x28"), Motion::Turn));
    let strided = |size: usize| {
        let text = format!(
            r#"input = [1, {size}, {size}]
            layers = [ {{ op = "p4-conv", channels = 2, kernel = 3, stride = 2, padding = 1 }}, {{ op = "group-pool" }},
                       {{ op = "global-avg-pool" }}, {{ op = "dense", features = 2 }} ]"#
        );
        parse_file(&text, "net.toml", &ZooOptions::default()).unwrap()
    };
    assert!(built_in(&strided(9), Motion::Turn));
    let lost = follow(&strided(8), Motion::Turn).unwrap_err();
    let why = "slides windows of 3x3 with stride 2 over maps of 8x8, and the motion does not carry them onto each other";
    assert_eq!((lost.layer.as_str(), lost.why.as_str()), ("0", why));
}
