//! Convolutions over groups: outputs stand still and maps move by the regular representation where the input is turned or
//! mirrored, in every network; layers agree with escnn.
//!
//! Bug class: an element taken for its inverse, taps turned the wrong way round, a parameter that tells elements apart.

use polariscope_diff::{Number, Program};
use polariscope_graph::{Graph, Group, NodeId, Shape, ZooOptions, parse_file, zoo};
use polariscope_network::{Mode, Network, Weights, lower};
use serde_json::Value;

/// Numbers in ±1, the same at every call.
fn noise(length: usize, draw: usize) -> Vec<f64> {
    let number = |i: usize| (((i * i + 31 * i + 101 * draw) % 1009) as f64).sin();
    (0..length).map(number).collect()
}

/// The initial weights but for the norms: noise in γ, β and means, positive variances.
fn trained(graph: &Graph) -> Weights<f64> {
    let mut weights = Weights::<f64>::draw(graph, 3, 0);
    for (k, (param, values)) in graph.params.iter().zip(&mut weights.values).enumerate() {
        if param.name.starts_with("bn") {
            *values = noise(param.len(), 7 * k);
        }
        if param.name.ends_with("running_var") {
            values.iter_mut().for_each(|v| *v += 1.5);
        }
    }
    weights
}

/// The maps of a node over the elements of `group` (1 where there is none), with element g applied: the number at (h, p)
/// goes to (gh, gp).
fn acted(shape: Shape, group: Option<Group>, g: usize, x: &[f64]) -> Vec<f64> {
    let Shape::Image {
        channels,
        height,
        width,
    } = shape
    else {
        return x.to_vec();
    };
    let elements = group.map_or(1, Group::order);
    assert_eq!(height, elements * width);
    let mut y = vec![f64::NAN; x.len()];
    for c in 0..channels {
        for h in 0..elements {
            let to = if elements == 1 {
                0
            } else {
                Group::product(g, h)
            };
            for p in 0..width * width {
                let [row, column] = Group::place(g, width, [p / width, p % width]);
                y[((c * elements + to) * width + row) * width + column] =
                    x[(c * elements + h) * width * width + p];
            }
        }
    }
    y
}

/// Largest difference relative to the largest number.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    assert!(size > 0.0);
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    worst.fold(0.0, |m: f64, d| if d <= m { m } else { d }) / size
}

fn over(name: &str, input: &str) -> Graph {
    let options = ZooOptions::with_input(input.parse().unwrap());
    zoo(name, &options).unwrap()
}

/// The largest error of the logits over the elements of the group.
fn error<T: Number>(graph: &Graph, weights: &Weights<f64>, elements: usize) -> f64 {
    let x = noise(graph.input().len(), 1);
    let network = Network::<T>::new(graph.clone());
    let weights = weights.convert();
    let logits = |x: &[f64]| -> Vec<f64> {
        let x: Vec<T> = x.iter().map(|&x| T::from_f64(x)).collect();
        let y = network.output(&weights, &x).unwrap();
        y.iter().map(|y| y.to_f64()).collect()
    };
    let still = logits(&x);
    let errors = (1..elements).map(|g| apart(&still, &logits(&acted(graph.input(), None, g, &x))));
    errors.fold(0.0, f64::max)
}

#[test]
fn logits_stand_still_under_the_group() {
    for (name, elements) in [("p4-cnn", 4), ("p4m-cnn", 8)] {
        for input in ["1x28x28", "3x32x32"] {
            let graph = over(name, input);
            let initial = Weights::<f64>::draw(&graph, 3, 0);
            for weights in [initial, trained(&graph)] {
                let exact = error::<f64>(&graph, &weights, elements);
                assert!(exact < 1e-13, "{name} on {input}: {exact:e}");
                let single = error::<f32>(&graph, &weights, elements);
                assert!(single < 1e-6, "{name} on {input}: {single:e}");
            }
        }
    }
}

/// What the group has no part in is not forgotten: p4 tells mirror images apart, a plain network turns.
#[test]
fn logits_move_under_what_is_not_in_the_group() {
    let p4 = over("p4-cnn", "1x28x28");
    assert!(error::<f64>(&p4, &trained(&p4), 8) > 1e-4);
    let plain = over("cnn", "1x28x28");
    assert!(error::<f64>(&plain, &trained(&plain), 4) > 1e-4);
}

/// Every map of the network: (h, p) goes to (gh, gp).
#[test]
fn maps_move_by_the_regular_representation() {
    for (name, elements) in [("p4-cnn", 4), ("p4m-cnn", 8)] {
        let graph = over(name, "1x12x12");
        let weights = trained(&graph);
        let lowered = lower(&graph, 1, Mode::Evaluate);
        let program = Program::new(&lowered.trace, &lowered.nodes);
        let maps = |x: &[f64]| {
            let leaves = std::iter::once(x).chain(weights.values.iter().map(Vec::as_slice));
            program.evaluate::<f64>(&leaves.collect::<Vec<_>>())
        };
        let x = noise(graph.input().len(), 1);
        let still = maps(&x);
        for g in 1..elements {
            let moved = maps(&acted(graph.input(), None, g, &x));
            for (i, node) in graph.nodes.iter().enumerate() {
                let expected = acted(node.shape, graph.group(NodeId(i)), g, &still[i]);
                let error = apart(&expected, &moved[i]);
                assert!(
                    error < 1e-13,
                    "{name}, element {g}, {}: {error:e}",
                    node.layer
                );
            }
        }
        // Norms and pools are over the group too; the projection is the first that is not.
        let first = (graph.nodes.iter()).position(|node| node.layer == "project");
        let over: Vec<bool> = (0..graph.nodes.len())
            .map(|i| graph.group(NodeId(i)).is_some())
            .collect();
        assert_eq!(over.iter().filter(|is| **is).count() + 1, first.unwrap());
        assert!(over[1..first.unwrap()].iter().all(|is| *is));
    }
}

/// The layers of p4-cnn by escnn, `bench/group_fixtures`, whose filters are those of f32: every map to 1e-6.
#[test]
fn layers_agree_with_escnn() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/escnn");
    let text = std::fs::read(folder.join("layers.json")).unwrap();
    let fixture: Value = serde_json::from_slice(&text).unwrap();
    let list = |value: &Value| -> Vec<f64> {
        let numbers = value.as_array().unwrap().iter();
        numbers.map(|v| v.as_f64().unwrap()).collect()
    };
    for name in ["p4", "p4m"] {
        let file = format!(
            r#"input = [2, 6, 6]
            layers = [
              {{ op = "{name}-conv", channels = 2, kernel = 3, padding = 1, bias = false }}, {{ op = "batch-norm" }},
              {{ op = "relu" }}, {{ op = "max-pool", size = 2 }},
              {{ op = "{name}-conv", channels = 2, kernel = 3, padding = 1, bias = false }}, {{ op = "group-pool" }},
            ]"#
        );
        let graph = parse_file(&file, name, &ZooOptions::default()).unwrap();
        let own = &fixture[name];
        let [norm, weights] = ["norm", "weights"].map(|key| own[key].as_array().unwrap());
        // The file's order: lifting weight, γ, β, mean, variance, second weight.
        let values = [
            &weights[0],
            &norm[0],
            &norm[1],
            &norm[2],
            &norm[3],
            &weights[1],
        ]
        .map(list);
        let x: Vec<f64> = (0..72)
            .map(|k| (0.37 * (k * k) as f64 + 0.2).sin())
            .collect();
        let lowered = lower(&graph, 1, Mode::Evaluate);
        let program = Program::new(&lowered.trace, &lowered.nodes[1..]);
        let leaves: Vec<&[f64]> = std::iter::once(&x)
            .chain(&values)
            .map(Vec::as_slice)
            .collect();
        let maps = program.evaluate::<f64>(&leaves);
        let expected = own["maps"].as_array().unwrap();
        assert_eq!(maps.len(), expected.len());
        for (node, (map, expected)) in graph.nodes[1..].iter().zip(maps.iter().zip(expected)) {
            let error = apart(&list(expected), map);
            assert!(error < 1e-6, "{name}, layer {}: {error:e}", node.layer);
        }
    }
}
