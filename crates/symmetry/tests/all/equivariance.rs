//! Catches maps that are moved by the wrong amount, borders taken for exact, and verdicts without a number.

use polariscope_data::Action;
use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::Quiet;
use polariscope_network::Weights;
use polariscope_symmetry::equivariance::{Cell, Question, Summary, Under, Verdict, answer};
use polariscope_symmetry::{Learnt, Subject, noise};
use polariscope_train::Problem;

use crate::images::blobs;

fn noise_problem(network: &str, input: &str) -> Problem {
    let input = input.parse().unwrap();
    let options = ZooOptions {
        width: matches!(network, "cnn-gap" | "cnn-vec").then_some(8),
        ..ZooOptions::with_input(input)
    };
    Problem {
        graph: zoo(network, &options).unwrap(),
        data: noise(input, 24, 0),
    }
}

fn under(actions: &[&str]) -> Question {
    Question {
        images: 24,
        under: actions.iter().map(|a| a.parse().unwrap()).collect(),
        ..Question::default()
    }
}

fn found(network: &str, input: &str, actions: &[&str]) -> Summary {
    let subject = Subject::<f64> {
        problem: noise_problem(network, input),
        learnt: Learnt::Nothing,
    };
    answer(&subject, &under(actions), &mut Quiet)
        .unwrap()
        .summary
}

fn layer(under: &Under, positions: usize) -> &Cell {
    let mut cells = under.layers.iter().flatten();
    cells.rfind(|c| c.positions == positions).unwrap()
}

/// Circular convolutions: all maps move along, outputs after a global pool do not change; after a flatten they do.
#[test]
fn cyclic_shifts_are_built_into_circular_convolutions() {
    let gap = found("cnn-gap", "3x8x8", &["cyclic:3:2"]);
    for cell in gap.networks[0].under[0].layers.iter().flatten() {
        assert!(
            cell.exact && cell.of_norm < 1e-13,
            "{}: {}",
            cell.layer,
            cell.of_norm
        );
    }
    let vec = found("cnn-vec", "3x8x8", &["cyclic:3:2"]);
    let under = &vec.networks[0].under[0];
    assert!(
        under
            .layers
            .iter()
            .flatten()
            .filter(|c| c.positions > 1)
            .all(|c| c.exact)
    );
    assert!(!under.output().exact && under.output().error.low > 0.3);
    assert_eq!(vec.verdicts.0[0].1, Verdict::NotBuiltIn);

    // In single precision.
    let subject = Subject::<f32> {
        problem: noise_problem("cnn-gap", "3x8x8"),
        learnt: Learnt::Nothing,
    };
    let single = answer(&subject, &under_one("cyclic:3:2"), &mut Quiet)
        .unwrap()
        .summary;
    let output = single.networks[0].under[0].output();
    assert!(output.exact && output.of_norm < 1e-6, "{}", output.of_norm);
}

fn under_one(action: &str) -> Question {
    under(&[action])
}

/// After the first pool shifts by 2 are followed, after the second by 4, where receptive fields stay inside; by 1 not; the outputs follow none.
#[test]
fn lenets_maps_follow_shifts_by_their_strides() {
    let summary = found("lenet", "3x32x32", &["shift:1", "shift:2", "shift:4"]);
    let [one, two, four] = &summary.networks[0].under[..] else {
        panic!("three transformations")
    };
    // First convolution 28×28, first pool 14×14, second 5×5.
    for (under, at_28, at_14, at_5) in [
        (one, true, false, false),
        (two, true, true, false),
        (four, true, true, true),
    ] {
        for (positions, exact) in [(28 * 28, at_28), (14 * 14, at_14), (5 * 5, at_5)] {
            let cell = layer(under, positions);
            assert_eq!(cell.interior_exact, exact, "{} {positions}", under.action);
            // What comes in at the border is an error everywhere.
            assert!(!cell.exact && cell.error.value > 0.05);
            match exact {
                true => assert!(cell.interior.unwrap() < 1e-12),
                false => assert!(cell.interior.unwrap() > 0.05),
            }
        }
        assert!(!under.output().exact && under.output().error.low > 0.05);
    }
    assert!(
        summary
            .words
            .contains("exactly where they see neither the border")
    );
    assert!(summary.words.starts_with("No transformation"));
}

/// Group convolutions: maps turn and their elements change places; the outputs stay the same. Flips are built into p4m alone.
#[test]
fn turns_are_built_into_group_convolutions() {
    for (network, flips) in [("p4-cnn", false), ("p4m-cnn", true)] {
        let summary = found(
            network,
            "1x12x12",
            &["turn:90", "turn:180", "flip", "turn:15"],
        );
        for (under, exact) in summary.networks[0]
            .under
            .iter()
            .zip([true, true, flips, false])
        {
            let name = under.action;
            for cell in under.layers.iter().flatten() {
                assert_eq!(
                    cell.exact, exact,
                    "{network} {name} {}: {}",
                    cell.layer, cell.of_norm
                );
                assert!(!exact || cell.of_norm < 1e-13);
            }
        }
    }
}

/// Weights that are the same mirrored: what was not built in is exact at the given weights, and said to be learnt.
#[test]
fn mirrored_weights_have_learnt_flips() {
    let data = blobs(40);
    let options = ZooOptions::with_input(data.shape);
    let graph = zoo("lenet-gap", &options).unwrap();
    let mut weights = Weights::<f64>::draw(&graph, 0, 0);
    for (values, param) in weights.values.iter_mut().zip(&graph.params) {
        if let [_, _, _, k] = param.shape[..] {
            for row in values.chunks_exact_mut(k) {
                let mirrored: Vec<f64> = row.iter().rev().copied().collect();
                row.iter_mut()
                    .zip(mirrored)
                    .for_each(|(a, b)| *a = (*a + b) / 2.0);
            }
        }
    }
    let subject = Subject {
        problem: Problem { graph, data },
        learnt: Learnt::Given(weights),
    };
    let question = Question {
        images: 40,
        ..under(&["flip", "pixels"])
    };
    let summary = answer(&subject, &question, &mut Quiet).unwrap().summary;
    let [(_, flip), (_, pixels)] = summary.verdicts.0[..] else {
        panic!("two transformations")
    };
    assert!(matches!(flip, Verdict::Learnt { factor } if factor.value < 1e-12));
    assert!(!matches!(pixels, Verdict::BuiltIn));
    assert!(summary.words.contains("Learnt: ") && summary.words.contains("flip (times"));
}

#[test]
fn a_transformation_that_does_not_act_is_refused() {
    let subject = Subject::<f32> {
        problem: noise_problem("lenet", "3x32x32"),
        learnt: Learnt::Nothing,
    };
    let refused = answer(&subject, &under(&["shift:40"]), &mut Quiet)
        .map(|_| ())
        .unwrap_err();
    assert!(refused.is_usage() && refused.to_string().contains("shift:40 does not act"));
    let _: Action = "shift:40".parse().unwrap();
}
