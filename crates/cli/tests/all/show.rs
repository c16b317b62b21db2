//! `list` and `show`: totals that are known from elsewhere, tables that fit a terminal, JSON that parses.

use crate::common::{directory, refused, succeed};
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    let dir = directory(&format!("show-{}", args.join("-").replace('/', "_")));
    serde_json::from_str(&succeed(&dir, args)).unwrap()
}

#[test]
fn totals_of_the_reference_implementations() {
    // PyTorch's own counts of these networks for 3x32x32 → 10.
    let totals = [
        ("lenet", 62_006),
        ("resnet18", 11_173_962),
        ("vgg11", 9_750_922),
        ("densenet121", 6_956_298),
    ];
    for (name, parameters) in totals {
        let shown = json(&["show", name, "--json"]);
        assert_eq!(shown["parameters"], parameters, "{name}");
        let layers = shown["layers"].as_array().unwrap();
        let sum: u64 = layers
            .iter()
            .map(|l| l["parameters"].as_u64().unwrap())
            .sum();
        assert_eq!(
            sum, parameters,
            "{name}: the layers must add up to the total"
        );
    }
}

/// 6·75·28² + 16·150·10² + 400·120 + 120·84 + 84·10.
#[test]
fn multiply_adds_are_shown() {
    let shown = json(&["show", "lenet", "--json"]);
    assert_eq!(shown["multiply_adds"], 651_720);
    let layers = shown["layers"].as_array().unwrap();
    let counts = layers.iter().map(|l| l["multiply_adds"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 651_720);
    let dir = directory("show-multiply-adds");
    let text = succeed(&dir, &["show", "lenet"]);
    for words in ["multiply-adds", "240,000", "651,720 multiply-adds"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    succeed(&dir, &["show", "lenet", "--out", "run"]);
    let csv = std::fs::read_to_string(dir.join("run/layers.csv")).unwrap();
    assert!(
        csv.contains("multiply_adds") && csv.contains(",240000,"),
        "{csv}"
    );
    let diagram = std::fs::read_to_string(dir.join("run/figures/lenet-diagram.svg")).unwrap();
    assert!(diagram.contains("conv 16, 5x5 · relu"));
}

#[test]
fn options_reach_the_network() {
    // conv1 6·(25+1), conv2 16·(150+1), fc1 120·401, fc2 84·121, fc3 85.
    let shown = json(&[
        "show",
        "lenet",
        "--input",
        "1x32x32",
        "--outputs",
        "1",
        "--json",
    ]);
    assert_eq!(shown["parameters"], 156 + 2416 + 48_120 + 10_164 + 85);
    assert_eq!(shown["input"], serde_json::json!([1, 32, 32]));
    assert_eq!(shown["output"], serde_json::json!([1]));
    // 48·100 + 100, 100·100 + 100, 100·3 + 3.
    let shown = json(&[
        "show",
        "mlp-2x100",
        "--input",
        "48",
        "--outputs",
        "3",
        "--json",
    ]);
    assert_eq!(shown["parameters"], 4900 + 10_100 + 303);
    let shown = json(&["show", "fcn", "--w-std", "1.5", "--b-std", "0.25", "--json"]);
    assert_eq!(shown["parametrisation"], "ntk:1.5,0.25");
}

#[test]
fn tables_fit_a_terminal() {
    let dir = directory("tables");
    let list = succeed(&dir, &["list"]);
    assert!(list.contains("resnet18") && list.contains("cnn-lap8"));
    for name in ["resnet18", "densenet121", "vit", "lenet"] {
        let text = succeed(&dir, &["show", name]);
        for line in text.lines().chain(list.lines()) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
    assert!(succeed(&dir, &["show", "resnet18"]).contains("11,173,962"));
}

#[test]
fn every_listed_name_can_be_shown() {
    let dir = directory("listed");
    let list: Value = serde_json::from_str(&succeed(&dir, &["list", "--json"])).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.len() >= 21);
    for entry in list {
        let name = entry["name"].as_str().unwrap();
        assert!(!entry["description"].as_str().unwrap().is_empty(), "{name}");
        // `mlp-LxN` stands for a family.
        let name = name.replace("LxN", "2x16");
        succeed(&dir, &["show", &name, "--json"]);
    }
}

#[test]
fn data_sets_are_listed() {
    let dir = directory("listed-data");
    let text = succeed(&dir, &["list", "data"]);
    let list: Value = serde_json::from_str(&succeed(&dir, &["list", "data", "--json"])).unwrap();
    let names = list
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    for name in ["mnist", "cifar10", "npy", "linear", "stripe"] {
        assert!(names.contains(&name) && text.contains(name), "{name}");
    }
    assert!(refused(&dir, &["list", "dta"]).contains("data"));
}

#[test]
fn an_architecture_file_works_like_a_name() {
    let dir = directory("file");
    let text = "input = [10]\nlayers = [ { op = \"dense\", features = 3, name = \"head\" } ]\n";
    std::fs::write(dir.join("net.toml"), text).unwrap();
    let shown: Value =
        serde_json::from_str(&succeed(&dir, &["show", "net.toml", "--json"])).unwrap();
    assert_eq!(shown["parameters"], 33);
    assert_eq!(shown["layers"][0]["name"], "head");
    refused(&dir, &["show", "net.toml", "--outputs", "4"]);
}
