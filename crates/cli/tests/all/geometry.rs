//! `geometry`, `merge`, `compare` and `plan` through the real program: files, numbers that theory knows, pieces that
//! add to the same bits, and refusals that say what would be right.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{directory, program, refused, succeed};
use polariscope_data::npy;

fn array(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let npy::Array { shape, numbers } = npy::read(path).unwrap();
    (shape, numbers.to_f64())
}

fn result(path: &Path) -> toml::Table {
    let text = std::fs::read_to_string(path.join("run.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table["result"].as_table().unwrap().clone()
}

/// A network with an exact closed form: every file, and arrays that belong together.
#[test]
fn exact_geometry_of_a_residual_network() {
    let dir = directory("geometry-exact");
    let text = succeed(
        &dir,
        &[
            "geometry",
            "resnet18",
            "--activation",
            "gelu",
            "--input",
            "1x16x16",
            "--method",
            "exact",
            "--out",
            "a",
        ],
    );
    assert!(
        text.contains("participation ratio") && text.contains('█'),
        "{text}"
    );
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("resnet18, input 1×16×16"));
    assert_eq!(
        lines.next(),
        Some("Geometry at one point, exact closed form, at the input 0")
    );
    // One point concludes nothing about others.
    assert!(
        !text.contains("blind") && !text.contains("invisible"),
        "{text}"
    );
    let a = dir.join("a");
    let found = result(&a);
    assert_eq!(found["method"].as_str(), Some("exact"));
    let (shape, g) = array(&a.join("geometry.npy"));
    assert_eq!(shape, [256, 256]);
    let (_, values) = array(&a.join("eigenvalues.npy"));
    let (_, directions) = array(&a.join("directions.npy"));
    assert!(values.is_sorted_by(|a, b| a >= b));
    let trace: f64 = (0..256).map(|i| g[i * 257]).sum();
    assert!((found["trace"].as_float().unwrap() / trace - 1.0).abs() < 1e-12);
    // G u = λ u for the first direction.
    let u = &directions[..256];
    for (row, ui) in g.chunks(256).zip(u) {
        let image: f64 = row.iter().zip(u).map(|(g, u)| g * u).sum();
        assert!((image - values[0] * ui).abs() < 1e-12 * values[0]);
    }
    let csv = std::fs::read_to_string(a.join("spectrum.csv")).unwrap();
    assert_eq!(csv.lines().count(), 257);
    assert!(
        found["seconds"]
            .as_table()
            .unwrap()
            .contains_key("closed form")
    );
    let html = std::fs::read_to_string(a.join("report.html")).unwrap();
    assert!(
        html.contains("<span>--seed</span> <span>0</span>"),
        "the command to reproduce names the seed"
    );
    // Shown again, not computed again.
    assert_eq!(
        succeed(
            &dir,
            &[
                "geometry",
                "resnet18",
                "--activation",
                "gelu",
                "--input",
                "1x16x16",
                "--method",
                "exact",
                "--out",
                "a"
            ]
        ),
        text
    );
}

/// Three colours: G = I₃ ⊗ B, so every eigenvalue comes three times and channels do not mix.
#[test]
fn colours_are_alike() {
    let dir = directory("geometry-colours");
    succeed(
        &dir,
        &[
            "geometry",
            "resnet18",
            "--activation",
            "gelu",
            "--input",
            "3x8x8",
            "--out",
            "a",
        ],
    );
    let (shape, g) = array(&dir.join("a/geometry.npy"));
    assert_eq!(shape, [192, 192]);
    assert_eq!(g[3 * 192 + 5], g[(64 + 3) * 192 + 64 + 5]);
    assert_eq!(g[3 * 192 + 64 + 5], 0.0);
    let (_, values) = array(&dir.join("a/eigenvalues.npy"));
    assert!(values[0] == values[2] && values[2] > values[3]);
}

/// Above 4096 inputs one channel's block is written, and run.toml says so.
#[test]
fn large_colour_images_are_written_as_a_factor() {
    let dir = directory("geometry-factor");
    let args = [
        "geometry",
        "cnn-gap",
        "--width",
        "4",
        "--activation",
        "identity",
        "--input",
        "70x8x8",
        "--out",
        "a",
    ];
    succeed(&dir, &args);
    let found = result(&dir.join("a"));
    assert_eq!(found["matrix"].as_str(), Some("geometry_factor.npy"));
    assert_eq!(found["channels"].as_integer(), Some(70));
    assert_eq!(array(&dir.join("a/geometry_factor.npy")).0, [64, 64]);
    assert_eq!(array(&dir.join("a/eigenvalues.npy")).0, [4480]);
    assert!(!dir.join("a/geometry.npy").exists());
}

/// A ReLU MLP is isotropic with tr G = 3⁻³2⁻²/C for the mean of C outputs; the sample says so within its errors.
#[test]
fn sampled_mlp() {
    let dir = directory("geometry-mlp");
    let args = [
        "geometry",
        "mlp-2x100",
        "--input",
        "1x8x8",
        "--outputs",
        "2",
        "--logit",
        "mean",
        "--gradient",
        "local",
        "--samples",
        "600",
        "--out",
        "a",
    ];
    succeed(&dir, &args);
    let found = result(&dir.join("a"));
    let number = |key: &str| found[key].as_float().unwrap();
    let z = (number("trace") - 1.0 / 216.0) / number("trace_error");
    assert!(z.abs() < 4.0, "{z}");
    let z = (number("participation_ratio") - 64.0) / number("participation_ratio_error");
    assert!(z.abs() < 4.0, "{z}");
    assert_eq!(found["networks"].as_integer(), Some(600));
    // The closed form is exact here: agreement is 1 within its error.
    let agreement = found["agreement"].as_array().unwrap()[0]
        .as_table()
        .unwrap();
    let z =
        (agreement["corr"].as_float().unwrap() - 1.0) / agreement["corr_error"].as_float().unwrap();
    assert!(z.abs() < 4.0, "{z}");
}

/// The conventions of the NAD code on a linear model: the covariance of its weights, inside the Marchenko–Pastur edges
/// σ²(1 ± √(D/T))², σ² = 1/(3D), within the width D^(−2/3) of the edges' fluctuations.
#[test]
fn nad_conventions_of_a_linear_model() {
    let dir = directory("geometry-nad");
    let args = [
        "geometry",
        "logreg",
        "--input",
        "1x16x16",
        "--compat",
        "nad",
        "--samples",
        "2000",
        "--out",
        "a",
    ];
    succeed(&dir, &args);
    let (_, values) = array(&dir.join("a/eigenvalues.npy"));
    let (d, t) = (256.0_f64, 2000.0_f64);
    let sigma2 = 1.0 / (3.0 * d);
    let edges = [1.0 + (d / t).sqrt(), 1.0 - (d / t).sqrt()].map(|r| sigma2 * r * r);
    assert!(
        (values[0] / edges[0] - 1.0).abs() < 0.05,
        "{}",
        values[0] / edges[0]
    );
    assert!(
        (values[255] / edges[1] - 1.0).abs() < 0.08,
        "{}",
        values[255] / edges[1]
    );
}

/// The conventions of the GIH code: 1/128 of the geometry of the mean output.
#[test]
fn gih_conventions_scale() {
    let dir = directory("geometry-gih");
    let args = [
        "geometry",
        "mlp-2x100",
        "--input",
        "1x4x4",
        "--outputs",
        "2",
        "--compat",
        "gih",
        "--samples",
        "400",
        "--out",
        "a",
    ];
    succeed(&dir, &args);
    let found = result(&dir.join("a"));
    let z = (found["trace"].as_float().unwrap() - 1.0 / 216.0 / 128.0)
        / found["trace_error"].as_float().unwrap();
    assert!(z.abs() < 4.0, "{z}");
}

/// Killed and started again, and cut into shards: the same bits as one run.
#[test]
fn pieces_add_to_the_same_bits() {
    let dir = directory("geometry-pieces");
    let run = [
        "geometry",
        "lenet",
        "--input",
        "1x16x16",
        "--samples",
        "6000",
        "--probes",
        "4",
        "--threads",
        "1",
        "--quiet",
    ];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    succeed(&dir, &with(&["--out", "whole"]));

    let mut child = program(&dir, &with(&["--out", "killed"])).spawn().unwrap();
    let started = Instant::now();
    while !dir.join("killed/partial/state").exists() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !dir.join("killed/geometry.npy").exists(),
        "killed too late to test anything"
    );
    succeed(&dir, &with(&["--out", "killed"]));

    for i in ["1/2", "2/2"] {
        let out = if i == "1/2" { "one" } else { "two" };
        let text = succeed(&dir, &with(&["--shard", i, "--out", out]));
        assert!(text.contains("merge"), "{text}");
    }
    let merged = succeed(&dir, &["merge", "one", "two", "--out", "merged", "--quiet"]);
    assert!(merged.contains("geometry.npy"), "{merged}");
    let bytes = |run: &str| std::fs::read(dir.join(run).join("geometry.npy")).unwrap();
    assert!(bytes("whole") == bytes("killed"));
    assert!(bytes("whole") == bytes("merged"));

    let missing = refused(&dir, &["merge", "one", "--out", "x"]);
    assert!(missing.contains("2/2 is missing"), "{missing}");
    let twice = refused(&dir, &["merge", "one", "one", "--out", "x"]);
    assert!(twice.contains("twice"), "{twice}");
    let whole = refused(&dir, &["merge", "whole", "--out", "x"]);
    assert!(whole.contains("no shard"), "{whole}");
}

/// Trained weights in place of random ones: for f = w·x, G = w wᵀ has one direction, w.
#[test]
fn geometry_of_given_weights() {
    let dir = directory("geometry-weights");
    succeed(
        &dir,
        &[
            "init",
            "logreg",
            "--input",
            "1x4x4",
            "--outputs",
            "1",
            "--out",
            "w.safetensors",
        ],
    );
    succeed(
        &dir,
        &[
            "geometry",
            "logreg",
            "--input",
            "1x4x4",
            "--weights",
            "w.safetensors",
            "--out",
            "a",
        ],
    );
    let (_, values) = array(&dir.join("a/eigenvalues.npy"));
    assert!(values[1].abs() < 1e-6 * values[0]);
    assert_eq!(result(&dir.join("a"))["networks"].as_integer(), Some(1));
    let page = std::fs::read_to_string(dir.join("a/report.html")).unwrap();
    assert!(page.contains("Local geometry of given weights, from 1 network"));
    assert!(page.contains("With the given weights, the sensitivity of logreg lies along about"));
    for word in ["before it has learnt", "should be learnt", "blind", "alike"] {
        assert!(!page.contains(word), "{word}");
    }
}

/// What users see first: the coherent geometry, named, with its prediction and the local one beside it.
#[test]
fn the_default_is_named_and_predicts() {
    let dir = directory("geometry-default");
    let shape = ["--input", "1x16x16", "--out", "a"];
    let text = succeed(&dir, &[&["geometry", "lenet"], &shape[..]].concat());
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for sentence in [
        "Coherent geometry (what predicts learning), closed form at infinite width, inputs N(0, 1)",
        "Before training, the gradient that all inputs share in lenet lies in about",
        "So linear rules should be learnt from fewer samples along slow waves",
        "of the gradient's variance is shared by all inputs",
    ] {
        assert!(words.contains(sentence), "{sentence}: {words}");
    }
    let page = |run: &str| std::fs::read_to_string(dir.join(run).join("report.html")).unwrap();
    assert!(page("a").contains("No network and no input was drawn for it."));
    let profile = std::fs::read_to_string(dir.join("a/figures/lenet-profile.svg")).unwrap();
    assert!(profile.contains("local: the same input"));
    let local = [
        "geometry",
        "lenet",
        "--gradient",
        "local",
        "--samples",
        "64",
    ];
    let text = succeed(&dir, &[&local[..], &shape[..3], &["b"]].concat());
    assert!(
        text.contains("Local geometry (sensitivity at single inputs)"),
        "{text}"
    );
    assert!(!text.contains("So linear rules"), "{text}");
    let pairs = "Only gradients at different inputs are multiplied.";
    assert!(
        page("b").contains("Sampled: 64 networks, 16 probes each.") && !page("b").contains(pairs)
    );
    let sampled = ["geometry", "lenet", "--samples", "64"];
    succeed(&dir, &[&sampled[..], &shape[..3], &["c"]].concat());
    assert!(page("c").contains(pairs));
}

/// The first directions alone, for inputs that no matrix would fit.
#[test]
fn top_directions_of_a_large_input() {
    let dir = directory("geometry-top");
    let args = [
        "geometry",
        "lenet-gap",
        "--input",
        "3x128x128",
        "--top",
        "3",
        "--samples",
        "16",
        "--gradient",
        "local",
        "--probes",
        "1",
        "--out",
        "a",
    ];
    succeed(&dir, &args);
    let (shape, directions) = array(&dir.join("a/directions.npy"));
    assert_eq!(shape, [3, 3 * 128 * 128]);
    let length: f64 = directions[..shape[1]].iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-10);
}

#[test]
fn comparison_of_three() {
    let dir = directory("geometry-compare");
    let args = [
        "compare",
        "mlp-1x10",
        "lenet-gap",
        "logreg",
        "--input",
        "1x16x16",
        "--samples",
        "64",
        "--probes",
        "2",
        "--out",
        "c",
    ];
    let text = succeed(&dir, &args);
    assert!(
        text.contains("lenet-gap") && text.contains("Corr"),
        "{text}"
    );
    for name in ["01-mlp-1x10", "02-lenet-gap", "03-logreg"] {
        assert!(
            dir.join("c").join(name).join("report.html").exists(),
            "{name}"
        );
    }
    let html = std::fs::read_to_string(dir.join("c/report.html")).unwrap();
    assert!(html.contains("lenet-gap") && html.contains("mlp-1x10"));
    assert!(html.contains("Coherent geometry (what predicts learning), sampled from 64 networks"));
    assert!(text.contains("coherent") && text.contains('±'), "{text}");
    // Corr of samples is free of their noise and has an error, or noise is said; samples do not stay.
    let corr = text.lines().skip_while(|l| !l.starts_with("Corr"));
    let rows: Vec<&str> = corr.filter(|l| l.starts_with("mlp-1x10")).collect();
    let known = rows
        .iter()
        .any(|l| l.contains("1.000") && (l.contains('±') || l.contains("noise")));
    assert!(rows.len() == 1 && known, "{text}");
    assert!(!dir.join("c/01-mlp-1x10/sample.bin").exists());
    assert_eq!(succeed(&dir, &args), text);
}

#[test]
fn plan_before_spending() {
    let dir = directory("geometry-plan");
    let text = succeed(
        &dir,
        &[
            "plan", "mlp-1x10", "--input", "1x8x8", "--error", "0.05", "--json",
        ],
    );
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sigma = plan["network_error"].as_f64().unwrap();
    let price = plan["prices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["error"] == 0.05)
        .unwrap();
    // T = (σ/e)².
    let networks = price["networks"].as_f64().unwrap();
    assert!(
        (networks - (sigma / 0.05).powi(2)).abs() <= 1.0,
        "{networks} {sigma}"
    );
    // Only what was asked for is marked, 0.1 too.
    let marked = |extra: &[&str]| {
        let args = [&["plan", "mlp-1x10", "--input", "1x8x8"], extra].concat();
        let text = succeed(&dir, &args);
        let lines = text.lines().filter(|l| l.contains("asked for"));
        lines
            .map(|l| l.trim().split(' ').next().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert!(marked(&[]).is_empty());
    assert_eq!(marked(&["--error", "0.1"]), ["0.1"]);
}

#[test]
fn refusals() {
    let dir = directory("geometry-refusals");
    let says = |args: &[&str], word: &str| {
        let line = refused(&dir, args);
        assert!(line.contains(word), "{args:?}: {line}");
    };
    says(&["geometry", "resnet18", "--method", "exact"], "gelu");
    says(&["geometry", "vit", "--method", "exact"], "sample");
    says(&["geometry", "vit", "--method", "meanfield"], "sample");
    says(
        &[
            "geometry",
            "lenet",
            "--method",
            "exact",
            "--activation",
            "gelu",
            "--bias",
            "zero",
        ],
        "max-pool",
    );
    says(
        &[
            "geometry",
            "mlp-2x8",
            "--method",
            "exact",
            "--activation",
            "tanh",
            "--samples",
            "3",
        ],
        "--samples",
    );
    says(&["geometry", "mlp-2x8", "--method", "guess"], "meanfield");
    says(
        &[
            "geometry",
            "resnet18",
            "--input",
            "3x512x512",
            "--method",
            "sample",
        ],
        "--top",
    );
    says(
        &[
            "geometry",
            "lenet",
            "--compat",
            "nad",
            "--gradient",
            "local",
        ],
        "--compat",
    );
    says(
        &["geometry", "lenet", "--compat", "nad", "--method", "mixed"],
        "E[MᵀM]",
    );
    says(&["geometry", "lenet", "--probe", "gauss:-1"], "above 0");
    says(
        &["geometry", "lenet", "--probe", "file:none.npy"],
        "none.npy",
    );
    says(&["geometry", "lenet", "--shard", "3/2"], "i/n");
    says(
        &["geometry", "lenet", "--shard", "1/2", "--error", "0.1"],
        "--samples",
    );
    says(
        &["geometry", "lenet", "--logit", "10", "--samples", "2"],
        "10 outputs",
    );
    says(&["geometry", "lenet", "--error", "0"], "above 0");
    says(&["compare", "lenet"], "ARCH");
    says(&["compare", "lenet", "lennet"], "lenet");
    says(&["merge", "nowhere", "--out", "x"], "run.toml");
    says(&["merge", "nowhere"], "--out");
    says(&["plan", "lenet", "--out", "x"], "--out");
    assert!(
        !dir.join("runs").exists(),
        "a refusal leaves nothing behind"
    );
}

/// One tap on one channel, relu, global pool: all patches are multiples of each other, so G[α,α'] = ½/P² where the
/// signs agree and 0 elsewhere. The numbers of the probe are read in f64.
#[test]
fn the_kernel_gives_a_geometry_at_infinite_width() {
    let dir = directory("geometry-kernel");
    let x = [0.3, -1.0, 0.1, 2.0];
    std::fs::write(dir.join("x.npy"), npy::encode(&[1, 1, 2, 2], &x)).unwrap();
    std::fs::write(
        dir.join("net.toml"),
        r#"input = [1, 2, 2]
parametrisation = "ntk"
layers = [ { op = "conv", channels = 3, kernel = 1 }, { op = "relu" }, { op = "global-avg-pool" }, { op = "dense", features = 2 } ]
"#,
    )
    .unwrap();
    let run = |output: &str, extra: &[&str]| {
        let mut words = vec!["geometry", "net.toml", "--method", "kernel"];
        words.extend(["--gradient", "local", "--probe"]);
        words.extend(["file:x.npy", "--out", output]);
        words.extend(extra);
        succeed(&dir, &words)
    };
    run("a", &[]);
    let page = std::fs::read_to_string(dir.join("a/report.html")).unwrap();
    assert!(page.contains("infinitely wide network, exact there, averaged over 1 probe"));
    assert_eq!(result(&dir.join("a"))["method"].as_str(), Some("kernel"));
    let wanted = |i: usize| match x[i / 4] * x[i % 4] > 0.0 {
        true => 0.5 / 16.0,
        false => 0.0,
    };
    // Two outputs alike: their mean has half of it, their sum twice.
    for (output, extra, factor) in [
        ("a", &[][..], 1.0),
        ("mean", &["--logit", "mean"], 0.5),
        ("all", &["--logit", "all"], 2.0),
    ] {
        run(output, extra);
        let (shape, g) = array(&dir.join(output).join("geometry.npy"));
        assert_eq!(shape, [4, 4]);
        for (i, g) in g.into_iter().enumerate() {
            assert!((g - factor * wanted(i)).abs() < 1e-15, "{output} {i}: {g}");
        }
    }
}

#[test]
fn the_kernel_refuses_with_a_way_out() {
    let dir = directory("geometry-kernel-refused");
    for (words, said) in [
        (&["lenet"][..], "max-pool"),
        (&["resnet18"], "batch-norm"),
        (&["cnn-gap", "--probe", "zero"], "--probe gauss:1"),
        (&["cnn-gap", "--activation", "tanh"], "erf"),
        (&["cnn-gap", "--samples", "5"], "--method sample"),
    ] {
        let mut all = vec!["geometry", "--method", "kernel", "--input", "1x16x16"];
        all.extend(words);
        let text = refused(&dir, &all);
        assert!(text.contains(said), "{words:?}: {text}");
    }
}
