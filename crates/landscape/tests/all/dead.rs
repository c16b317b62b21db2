//! Patterns and units that died, in networks whose weights are written by hand.

use polariscope_diff::Device;
use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_landscape::LandscapeError;
use polariscope_landscape::dead::Dead;
use polariscope_network::{Network, Scalar, Weights};

fn graph(layers: &str) -> Graph {
    let text = format!("input = [1]\nlayers = [{layers}]");
    parse_file(&text, "by-hand.toml", &ZooOptions::default()).unwrap()
}

fn weights(values: &[&[f64]]) -> Weights<f64> {
    Weights {
        values: values.iter().map(|v| v.to_vec()).collect(),
    }
}

const CHAIN: &str = r#"
    { op = "dense", features = 2, name = "first" }, { op = "relu", name = "below" },
    { op = "dense", features = 2, name = "second" }, { op = "relu", name = "above" },
    { op = "dense", features = 1, name = "last" }"#;

/// z₁ = (x, −1) and z₂ = (relu(x) − 1, −relu(x) − 1): unit 1 of `below` and of `above` never fire, and unit 0 of `above`
/// fires for x > 1 alone.
fn chain() -> Weights<f64> {
    weights(&[
        &[1.0, 0.0],
        &[0.0, -1.0],
        &[1.0, 0.0, -1.0, 0.0],
        &[-1.0, -1.0],
        &[1.0, 1.0],
        &[0.3],
    ])
}

#[test]
fn a_frozen_pattern_is_found_with_its_layer() {
    let (graph, w) = (graph(CHAIN), chain());
    let x = [2.0_f32, 0.5, -1.0, 3.0];
    let dead = Dead::of(Device::Cpu, &graph, &w, &x).unwrap();
    assert_eq!(dead.patterns, [1, 2]);
    let of = |name: &str| dead.layers.iter().find(|l| l.name == name).unwrap();
    assert_eq!(of("below").patterns, [2]);
    assert_eq!(of("above").patterns, [1, 2]);
    assert_eq!(
        (of("below").units.as_slice(), of("below").width),
        (&[1][..], 2)
    );
    assert_eq!(of("above").units, [1]);
    // What dead means: f moves with the last bias alone.
    let wide = x.map(f64::from);
    let rows = Network::new(graph)
        .sample_gradients(&w, &wide, Scalar::Logit(0))
        .unwrap();
    for (i, row) in rows.iter().enumerate() {
        let (bias, rest) = row.split_last().unwrap();
        let moves = rest.iter().any(|&g| g != 0.0);
        assert_eq!(
            (*bias, moves),
            (1.0, !dead.patterns.contains(&i)),
            "pattern {i}"
        );
    }
}

#[test]
fn a_skip_leads_around_a_layer() {
    let layers = r#"
        { op = "residual", branch = [ { op = "relu" }, { op = "dense", features = 1 } ] },
        { op = "dense", features = 1, name = "last" }"#;
    let graph = graph(layers);
    let w = weights(&[&[1.0], &[0.0], &[1.0], &[0.0]]);
    let dead = Dead::of(Device::Cpu, &graph, &w, &[-1.0, 1.0]).unwrap();
    assert_eq!(dead.layers[0].patterns, [0]);
    assert!(dead.patterns.is_empty());
}

#[test]
fn chunks_count_on() {
    // More patterns than are evaluated together: every third one is below 1.
    let x: Vec<f32> = (0..1000)
        .map(|i| if i % 3 == 0 { 0.5 } else { 2.0 })
        .collect();
    let dead = Dead::of(Device::Cpu, &graph(CHAIN), &chain(), &x).unwrap();
    let wanted: Vec<usize> = (0..1000).step_by(3).collect();
    assert_eq!(dead.patterns, wanted);
}

/// Units are named by layer; of images it is channels that are, where every position is off.
#[test]
fn dead_units_are_named() {
    let all = [2.0_f32, 0.5, -1.0, 3.0];
    let dead = Dead::of(Device::Cpu, &graph(CHAIN), &chain(), &all).unwrap();
    let named = dead.units(&graph(CHAIN));
    assert_eq!(
        named,
        [
            ("below".to_string(), vec![1]),
            ("above".to_string(), vec![1])
        ]
    );
    let text = r#"
        input = [1, 2, 2]
        layers = [
            { op = "conv", channels = 3, kernel = 1, name = "conv" }, { op = "relu", name = "act" },
            { op = "flatten" }, { op = "dense", features = 1 },
        ]"#;
    let graph = parse_file(text, "image.toml", &ZooOptions::default()).unwrap();
    // Channels x, −1 and x − 1: the second is off everywhere, the third at the first position alone.
    let mut w = Weights::<f64>::zeros(&graph);
    w.values[0] = vec![1.0, 0.0, 1.0];
    w.values[1] = vec![0.0, -1.0, -1.0];
    let dead = Dead::of(Device::Cpu, &graph, &w, &[0.5, 2.0, 2.0, 2.0]).unwrap();
    assert_eq!(dead.layers[0].units, [4, 5, 6, 7, 8]);
    assert_eq!(dead.units(&graph), [("act".to_string(), vec![1])]);
}

#[test]
fn smooth_networks_have_none() {
    let graph = graph(&CHAIN.replace("relu", "tanh"));
    let dead = Dead::of(Device::Cpu, &graph, &chain(), &[-1.0]).unwrap();
    assert_eq!(dead, Dead::default());
}

#[test]
fn what_does_not_fit_is_refused() {
    let (graph, x) = (graph(CHAIN), [0.0]);
    assert!(Dead::of(Device::Cpu, &graph, &chain(), &x).is_ok());
    let foreign = Dead::of(Device::Cpu, &graph, &weights(&[&[1.0]]), &x).unwrap_err();
    assert!(matches!(foreign, LandscapeError::Network(_)), "{foreign}");
}
