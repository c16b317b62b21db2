//! Closed forms against sums written out by hand or as plain loop nests: catches wrong taps, borders,
//! strides, groups and channel bookkeeping.

use crate::common::net;
use polariscope_graph::{Graph, Op, Padding, Shape, Window, ZooOptions, zoo};
use polariscope_meanfield::{Covariance, ExactProbe, Readout, exact};

fn linear(graph: &Graph) -> Covariance {
    exact(graph, ExactProbe::Anywhere, Readout::Logit(0)).unwrap()
}

fn assert_close(found: &Covariance, wanted: impl Fn(usize, usize) -> f64, case: &str) {
    let n = found.dimension();
    let scale = (0..n).map(|i| wanted(i, i).abs()).fold(0.0, f64::max);
    assert!(scale > 0.0, "{case}: nothing to compare");
    for i in 0..n {
        for j in 0..n {
            let (a, b) = (found.get(i, j), wanted(i, j));
            // Sums of at most a few hundred terms: a few hundred roundings.
            assert!(
                (a - b).abs() < 1e-13 * scale,
                "{case}: G[{i},{j}] = {a:e}, by hand {b:e}"
            );
        }
    }
}

/// σ² of the entries is 1/fan_in under ntk with w_std = 1.
const NTK: &str = "parametrisation = \"ntk\"";

/// Average geometry paper, appendix A.10, with the constant corrected: (σ²/4)[[1,1,0],[1,2,1],[0,1,1]].
#[test]
fn three_inputs_kernel_two_average_pool_two() {
    let want = [1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0];
    let sigma2 = 0.5;
    let cases = [
        (
            "[1, 3]",
            "{ op = 'conv', channels = 1, kernel = 2, bias = false }, { op = 'avg-pool', size = 2 }",
        ),
        (
            "[1, 1, 3]",
            "{ op = 'conv', channels = 1, kernel = [1, 2] }, { op = 'avg-pool', size = [1, 2] }, { op = 'flatten' }",
        ),
    ];
    for (input, layers) in cases {
        let graph = net(
            &format!("input = {input}\n{NTK}"),
            &layers.replace('\'', "\""),
        );
        let g = linear(&graph);
        assert_eq!((g.channels, g.positions), (1, 3));
        assert_close(&g, |i, j| sigma2 / 4.0 * want[3 * i + j], input);
    }
}

/// One dense layer G = σ²I; a hidden layer of n features multiplies by n σ'².
#[test]
fn dense_layers() {
    let one = net("input = [7]", r#"{ op = "dense", features = 3 }"#);
    let g = linear(&one);
    assert_eq!((g.channels, g.positions), (7, 1));
    assert_close(
        &g,
        |i, j| f64::from(u8::from(i == j)) / (3.0 * 7.0),
        "dense",
    );

    let two = net(
        "input = [2, 3, 3]",
        r#"{ op = "flatten" }, { op = "dense", features = 5 }, { op = "scale", by = 3 }, { op = "dense", features = 2 }"#,
    );
    // 5 · 9 · 1/(3·18) · 1/(3·5)
    let value = 5.0 * 9.0 / (54.0 * 15.0);
    let g = linear(&two);
    assert_eq!((g.channels, g.positions), (2, 9));
    assert_close(&g, |i, j| value * f64::from(u8::from(i == j)), "two dense");
    // The mean of two independent outputs has half the covariance, all of them twice.
    for (readout, factor) in [(Readout::Mean, 0.5), (Readout::All, 2.0)] {
        let g = exact(&two, ExactProbe::Zero, readout).unwrap();
        assert_close(
            &g,
            |i, j| factor * value * f64::from(u8::from(i == j)),
            "readout",
        );
    }
}

/// Theorem A.2, corrected: a flattened read-out gives the number of taps that see a pixel.
#[test]
fn flattened_read_out_counts_the_taps() {
    let count = |padding: &str, ends: [f64; 3]| {
        let layers = format!(
            r#"{{ op = "conv", channels = 4, kernel = 3, padding = {padding} }}, {{ op = "flatten" }}, {{ op = "dense", features = 1 }}"#
        );
        let graph = net(&format!("input = [1, 6, 6]\n{NTK}"), &layers);
        // Along an axis: 1, 2, 3, 3, 2, 1 (valid), 2, 3, 3, 3, 3, 2 (same), 3 everywhere (circular).
        let along = |i: usize| ends[i.min(5 - i)];
        let outputs = graph.nodes[1].shape.len() as f64;
        assert_close(
            &linear(&graph),
            |i, j| match i == j {
                true => along(i / 6) * along(i % 6) * 4.0 / 9.0 / outputs,
                false => 0.0,
            },
            padding,
        );
    };
    count("\"valid\"", [1.0, 2.0, 3.0]);
    count("\"same\"", [2.0, 3.0, 3.0]);
    count("\"circular\"", [3.0, 3.0, 3.0]);
}

/// Positions that a window reads along an axis: for every output the input of each tap.
fn reads(window: &Window, axis: usize, n: usize, m: usize) -> Vec<Vec<Option<usize>>> {
    let (k, s, d) = (
        window.kernel[axis],
        window.stride[axis],
        window.dilation[axis],
    );
    let extent = (k - 1) * d + 1;
    let before = match window.padding {
        Padding::Valid => 0,
        Padding::Zeros(p) => p,
        Padding::Same | Padding::Circular => {
            let total = ((m - 1) * s + extent) as i64 - n as i64;
            total.max(0) as usize / 2
        }
    } as i64;
    let input = |o: usize, beta: usize| {
        let i = (s * o + d * beta) as i64 - before;
        match window.padding {
            Padding::Circular => Some(i.rem_euclid(n as i64) as usize),
            _ => usize::try_from(i).ok().filter(|&i| i < n),
        }
    };
    (0..m)
        .map(|o| (0..k).map(|beta| input(o, beta)).collect())
        .collect()
}

fn image(shape: Shape) -> [usize; 3] {
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => [channels, height, width],
        _ => panic!("not an image"),
    }
}

/// count[β][γ]: how often tap β of a window (both axes together) reads γ, weighted by `out` over outputs.
fn tap_counts(window: &Window, input: Shape, output: Shape, out: &[f64]) -> Vec<Vec<f64>> {
    let ([_, h, w], [_, oh, ow]) = (image(input), image(output));
    let (rows, columns) = (reads(window, 0, h, oh), reads(window, 1, w, ow));
    let taps = |(by, bx): (usize, usize)| {
        let mut count = vec![0.0; h * w];
        for oy in 0..oh {
            for ox in 0..ow {
                if let (Some(y), Some(x)) = (rows[oy][by], columns[ox][bx]) {
                    count[y * w + x] += out[oy * ow + ox];
                }
            }
        }
        count
    };
    let [kh, kw] = window.kernel;
    (0..kh * kw).map(|b| taps((b / kw, b % kw))).collect()
}

/// Linear convolutions and a global average pool, one channel everywhere, σ² = 1: f = Σ_{β₁…β_L} Π w · N_β(x),
/// so G = Σ_β N_β N_βᵀ with N_β the number of ways that the taps β lead from outputs to each input.
fn gap_by_hand(graph: &Graph) -> Vec<Vec<f64>> {
    let pooled = graph
        .nodes
        .iter()
        .position(|n| n.op == Op::GlobalAvgPool)
        .unwrap();
    let last = graph.nodes[pooled - 1].shape.len();
    let mut ways = vec![vec![1.0 / last as f64; last]];
    for node in graph.nodes[1..pooled].iter().rev() {
        let Op::Conv { window, .. } = &node.op else {
            panic!("only convolutions")
        };
        let input = graph.nodes[node.inputs[0].0].shape;
        let step = |out: &Vec<f64>| tap_counts(window, input, node.shape, out);
        ways = ways.iter().flat_map(step).collect();
    }
    ways
}

#[test]
fn convolutions_of_every_geometry_with_global_average_pool() {
    let geometries = [
        r#"kernel = 3, padding = "same""#,
        r#"kernel = 3, padding = "valid""#,
        r#"kernel = 3, padding = "circular""#,
        r#"kernel = [2, 3], padding = 2"#,
        r#"kernel = 3, stride = 2, padding = 1"#,
        r#"kernel = 3, stride = [2, 1], padding = "same""#,
        r#"kernel = 2, stride = 3, padding = "circular""#,
        r#"kernel = 3, dilation = 2, padding = "circular""#,
        r#"kernel = [3, 2], dilation = [1, 3], padding = "same""#,
        r#"kernel = 1, stride = 2"#,
    ];
    let mut compared = 0;
    for first in geometries {
        for second in geometries {
            let layers = format!(
                r#"{{ op = "conv", channels = 1, bias = false, {first} }}, {{ op = "conv", channels = 1, bias = false, {second} }}, {{ op = "global-avg-pool" }}"#
            );
            // w_std = √fan_in cannot be set by layer: divide it out below.
            let text = format!("input = [1, 7, 8]\n{NTK}\nlayers = [ {layers} ]");
            let Ok(graph) = polariscope_graph::parse_file(&text, "n", &ZooOptions::default())
            else {
                continue; // the second window is larger than what the first leaves
            };
            let fan_in: f64 = graph.params.iter().map(|p| p.len() as f64).product();
            let ways = gap_by_hand(&graph);
            let want = |i: usize, j: usize| ways.iter().map(|n| n[i] * n[j]).sum::<f64>() / fan_in;
            assert_close(&linear(&graph), want, &format!("{first}; {second}"));
            compared += 1;
        }
    }
    assert!(compared > 90, "{compared} of 100");
}

/// An average pool carries one number on all taps: G = Σ over kernel taps of the pooled counts, zeros counted.
#[test]
fn average_pools_of_every_geometry() {
    for pool in [
        "size = 2",
        "size = 3, stride = 2",
        "size = 3, stride = 1, padding = 1",
        "size = [2, 3], padding = 1",
    ] {
        let layers = format!(
            r#"{{ op = "conv", channels = 3, kernel = 3, padding = "same" }}, {{ op = "avg-pool", {pool} }}, {{ op = "flatten" }}, {{ op = "dense", features = 1 }}"#
        );
        let graph = net(&format!("input = [1, 7, 8]\n{NTK}"), &layers);
        let (conv, pooled) = (
            &graph.nodes[1],
            graph
                .nodes
                .iter()
                .find(|n| matches!(n.op, Op::AvgPool(_)))
                .unwrap(),
        );
        let (Op::Conv { window, .. }, Op::AvgPool(pool_window)) = (&conv.op, &pooled.op) else {
            panic!()
        };
        let taps = (pool_window.kernel[0] * pool_window.kernel[1]) as f64;
        let [_, oh, ow] = image(pooled.shape);
        let mut want = vec![0.0; 56 * 56];
        for o in 0..oh * ow {
            // One read-out weight a pooled position: its window, then the kernel's taps.
            let mut out = vec![0.0; oh * ow];
            out[o] = 1.0 / taps;
            let mut spread = vec![0.0; 56];
            for part in tap_counts(pool_window, conv.shape, pooled.shape, &out) {
                spread.iter_mut().zip(part).for_each(|(s, p)| *s += p);
            }
            for count in tap_counts(window, graph.input(), conv.shape, &spread) {
                for i in 0..56 {
                    for j in 0..56 {
                        // 3 channels; Var(w) = 1/9, Var(read-out) = 1/fan_in.
                        want[56 * i + j] += 3.0 * count[i] * count[j] / 9.0 / (3 * oh * ow) as f64;
                    }
                }
            }
        }
        assert_close(&linear(&graph), |i, j| want[56 * i + j], pool);
    }
}

/// Locally connected: no two positions share a weight, so G is diagonal whatever pools them.
#[test]
fn locally_connected_layers_are_diagonal() {
    for read_out in [
        r#"{ op = "global-avg-pool" }"#,
        r#"{ op = "flatten" }, { op = "dense", features = 1 }"#,
    ] {
        let layers = format!(
            r#"{{ op = "local", channels = 1, kernel = 3, stride = 2, padding = 1, bias = false }}, {read_out}"#
        );
        let graph = net(&format!("input = [1, 6, 5]\n{NTK}"), &layers);
        let Op::Local { window, .. } = &graph.nodes[1].op else {
            panic!()
        };
        let outputs = graph.nodes[1].shape.len();
        let counts = tap_counts(
            window,
            graph.input(),
            graph.nodes[1].shape,
            &vec![1.0; outputs],
        );
        let pooled = if read_out.contains("global") {
            (outputs * outputs) as f64
        } else {
            outputs as f64
        };
        let want = |i: usize, j: usize| match i == j {
            true => counts.iter().map(|c| c[i]).sum::<f64>() / 9.0 / pooled,
            false => 0.0,
        };
        assert_close(&linear(&graph), want, read_out);
    }
}

/// K input channels: G = I_K ⊗ G of one channel, up to the fan-in.
#[test]
fn input_channels_are_copies() {
    let resnet = |input: &str| {
        let options = ZooOptions {
            input: Some(input.parse().unwrap()),
            activation: Some("gelu".parse().unwrap()),
            ..ZooOptions::default()
        };
        exact(
            &zoo("resnet18", &options).unwrap(),
            ExactProbe::Zero,
            Readout::Mean,
        )
        .unwrap()
    };
    let (one, three) = (resnet("1x8x8"), resnet("3x8x8"));
    assert_eq!((three.channels, three.positions), (3, 64));
    // Only the first convolution's Var(w) = 1/(3·9·channels) knows the channels.
    assert_close(
        &three,
        |i, j| match i / 64 == j / 64 {
            true => one.get(i % 64, j % 64) / 3.0,
            false => 0.0,
        },
        "three channels",
    );
}

/// A grouped first convolution: a logit that reads one group leaves the other's inputs at 0.
#[test]
fn groups_keep_their_inputs_apart() {
    let graph = net(
        &format!("input = [4, 3]\n{NTK}"),
        r#"{ op = "conv", channels = 2, kernel = 2, groups = 2, bias = false }, { op = "global-avg-pool" }"#,
    );
    let g = linear(&graph);
    assert_eq!((g.channels, g.positions), (1, 12));
    // Var(w) = 1/4; output 0 reads channels 0 and 1: (1/4)(1/4)[[1,1,0],[1,2,1],[0,1,1]] each.
    let bracket = [1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0];
    assert_close(
        &g,
        |i, j| match i / 3 == j / 3 && i < 6 {
            true => bracket[i % 3 * 3 + j % 3] / 16.0,
            false => 0.0,
        },
        "groups",
    );
    // Both outputs together treat all channels alike.
    let all = exact(&graph, ExactProbe::Anywhere, Readout::All).unwrap();
    assert_eq!((all.channels, all.positions), (4, 3));
}

/// An output that is an image: one pixel of one channel, and the mean over all.
#[test]
fn image_outputs() {
    let graph = net(
        &format!("input = [1, 4]\n{NTK}"),
        r#"{ op = "conv", channels = 2, kernel = 2, bias = false }, { op = "flatten" }"#,
    );
    // Output 4 is channel 1, position 1: inputs 1 and 2, Var(w) = ½.
    let g = exact(&graph, ExactProbe::Anywhere, Readout::Logit(4)).unwrap();
    assert_close(
        &g,
        |i, j| 0.5 * f64::from(u8::from(i == j && (1..3).contains(&i))),
        "one output",
    );
    // Mean of 6: both channels add ½ (1/36) Σ_β n nᵀ.
    let g = exact(&graph, ExactProbe::Anywhere, Readout::Mean).unwrap();
    let n = [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]];
    let want = |i: usize, j: usize| n.iter().map(|n| n[i] * n[j]).sum::<f64>() / 36.0;
    assert_close(&g, want, "mean");
}

/// Every law by its variance; an orthogonal matrix of 3 × 12 has entries of variance 1/12.
#[test]
fn variances_of_laws() {
    for (rule, variance) in [
        ("pytorch", 1.0 / 36.0),
        ("he", 2.0 / 12.0),
        ("lecun", 1.0 / 12.0),
        ("xavier", 2.0 / 15.0),
        ("orthogonal", 1.0 / 12.0),
    ] {
        let head = format!("input = [12]\nparametrisation = \"{rule}\"");
        let graph = net(&head, r#"{ op = "dense", features = 3 }"#);
        assert_close(
            &linear(&graph),
            |i, j| variance * f64::from(u8::from(i == j)),
            rule,
        );
    }
}

/// φ'(0)² for every smooth activation, batch norm's 1/(1+ε).
#[test]
fn slopes_at_zero() {
    let pi = std::f64::consts::PI;
    for (activation, slope) in [
        ("identity", 1.0),
        ("gelu", 0.5),
        ("tanh", 1.0),
        ("erf", 2.0 / pi.sqrt()),
        ("sin", 1.0),
        ("sigmoid", 0.25),
        ("silu", 0.5),
        ("softplus", 0.5),
        ("leaky-relu\", slope = 1.0, name = \"a", 1.0),
    ] {
        let layers = format!(
            r#"{{ op = "dense", features = 2, bias = false }}, {{ op = "batch-norm", eps = 0.5 }}, {{ op = "{activation}" }}, {{ op = "dense", features = 1 }}"#
        );
        let graph = net(&format!("input = [3]\n{NTK}"), &layers);
        let g = exact(&graph, ExactProbe::Zero, Readout::Logit(0)).unwrap();
        let want = slope * slope / 3.0 / 1.5;
        assert_close(&g, |i, j| want * f64::from(u8::from(i == j)), activation);
    }
}
