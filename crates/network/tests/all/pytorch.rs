//! Networks of the zoo against PyTorch in f64: output, input gradient of logit 0, and its tangent along other
//! weights. `bench/fixtures` made the numbers from reference networks written in PyTorch.
//!
//! Bug class: a layer, its parameters' layout or one of its derivatives that is self-consistent but is not what
//! the reference computes (padding, pooling, order of concatenation, ε of a norm, heads of an attention).

use std::path::PathBuf;

use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_network::{Network, Scalar, Weights};
use serde_json::Value;

/// Relative to the norm of the vector.
const TOLERANCE: f64 = 1e-9;

/// As `perturb` in bench/fixtures: mean_i = 0.3 sin(i + 1), variance_i = 1 + 0.5 cos(i), layer scales as variances.
fn perturb(graph: &Graph, weights: &mut Weights<f64>) {
    for (param, values) in graph.params.iter().zip(&mut weights.values) {
        for (i, value) in values.iter_mut().enumerate() {
            if param.name.ends_with("running_mean") {
                *value = 0.3 * (i as f64 + 1.0).sin();
            } else if param.name.ends_with("running_var") || param.name.ends_with("layer_scale") {
                *value = 1.0 + 0.5 * (i as f64).cos();
            }
        }
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A few entries and the norm of a whole array.
fn compare(what: &str, expected: &Value, found: &[f64]) {
    let size = expected["norm"].as_f64().unwrap();
    assert!(size > 0.0);
    let error = (norm(found) - size).abs();
    assert!(
        error <= TOLERANCE * size,
        "{what}: norm off by {:e}",
        error / size
    );
    let indices = expected["indices"].as_array().unwrap();
    let values = expected["values"].as_array().unwrap();
    assert_eq!((indices.len(), values.len()), (12, 12));
    for (i, value) in indices.iter().zip(values) {
        let error = (found[i.as_u64().unwrap() as usize] - value.as_f64().unwrap()).abs();
        assert!(
            error <= TOLERANCE * size,
            "{what}[{i}]: off by {:e} of the norm",
            error / size
        );
    }
}

fn agrees(name: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let fixture: Value = serde_json::from_str(&text).unwrap();
    let options = ZooOptions {
        activation: fixture["activation"].as_str().map(|a| a.parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo(fixture["architecture"].as_str().unwrap(), &options).unwrap();
    let seed = fixture["seed"].as_u64().unwrap();
    let mut weights = Weights::<f64>::draw(&graph, seed, 0);
    if fixture["perturbed_statistics"].as_bool().unwrap() {
        perturb(&graph, &mut weights);
    }
    let v = Weights::draw(&graph, seed, 1);
    let sample = graph.input().len();
    let samples = fixture["samples"].as_u64().unwrap() as usize;
    let x: Vec<f64> = (0..samples * sample)
        .map(|i| (0.37 * (i % sample) as f64 + 1.3 * (i / sample) as f64).sin())
        .collect();

    let network = Network::new(graph);
    let logit = Scalar::Logit(0);
    let output = network.output(&weights, &x).unwrap();
    let expected: Vec<f64> = fixture["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    assert_eq!(output.len(), expected.len());
    let difference: Vec<f64> = output.iter().zip(&expected).map(|(a, b)| a - b).collect();
    let error = norm(&difference) / norm(&expected);
    assert!(error <= TOLERANCE, "{name}: outputs off by {error:e}");
    let gradient = network.input_gradient(&weights, &x, logit).unwrap();
    compare(
        &format!("{name}: gradient"),
        &fixture["gradient"],
        &gradient,
    );
    let tangent = network
        .input_gradient_tangent(&weights, &v, &x, logit)
        .unwrap();
    compare(&format!("{name}: tangent"), &fixture["tangent"], &tangent);
}

macro_rules! networks {
    ($($test:ident $name:literal),* $(,)?) => {
        $(#[test] fn $test() { agrees($name); })*

        /// A fixture that nobody compares with would be dead weight.
        #[test]
        fn every_fixture_is_used() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                // Folders: of ops.rs and of group.rs.
                let Some(stem) = name.strip_suffix(".json") else {
                    assert!(name == "ops" || name == "escnn", "{name}");
                    continue;
                };
                assert!([$($name),*].contains(&stem), "{name}");
            }
        }
    };
}

networks! {
    mlp "mlp",
    lenet "lenet",
    lenet_avg_gelu "lenet-avg-gelu",
    fc_2 "fc-2",
    fc_4 "fc-4",
    fc_6 "fc-6",
    alexnet "alexnet",
    vgg11 "vgg11",
    vgg11_bn "vgg11-bn",
    vgg13 "vgg13",
    vgg13_bn "vgg13-bn",
    vgg16 "vgg16",
    vgg16_bn "vgg16-bn",
    vgg19 "vgg19",
    vgg19_bn "vgg19-bn",
    mobilenet "mobilenet",
    efficientnet_b0 "efficientnet-b0",
    convnext_tiny "convnext-tiny",
    resnet9 "resnet9",
    resnet18 "resnet18",
    resnet18_silu_statistics "resnet18-silu-statistics",
    resnet50 "resnet50",
    densenet121 "densenet121",
    vit "vit",
}
