//! Method `kernel` against what others compute: numbers of neural-tangents, differences of a kernel written as loops,
//! random networks, the closed form at x = 0, and networks solved by hand.
//!
//! Bug class: a pair of positions left out, a tap on the wrong side, a limit at coincident patches taken wrongly.

use polariscope_geometry::{
    Gradient, KernelRefusal, Kron, Output, Probe, exact, kernel, kernel_memory,
};
use polariscope_graph::{Activation, BiasRule, Graph, ZooOptions, parse_file, zoo};
use polariscope_meanfield::dual::{Pair, dual};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_stats::Estimate;

fn net(head: &str, layers: &str) -> Graph {
    let text = format!("{head}\nlayers = [ {layers} ]");
    parse_file(&text, "test.toml", &ZooOptions::default()).unwrap()
}

fn at(graph: &Graph, x: &[f64]) -> Kron {
    let probe = Probe::Points {
        source: "test".into(),
        x: x.into(),
    };
    kernel(
        graph,
        Gradient::Local,
        (&probe, 1),
        Output::Logit(0),
        0,
        |_, _| {},
    )
    .unwrap()
}

/// Fixed numbers of order 1.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + 0.4).sin() + 0.3).collect()
}

#[track_caller]
fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    let size = wanted.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        let off = (f - w).abs() / size;
        assert!(off < tolerance, "entry {i}: {f:e} instead of {w:e}");
    }
}

/// Two convolutions and a global pool on 6×6.
fn convolutions() -> Graph {
    net(
        "input = [1, 6, 6]\nparametrisation = \"ntk\"\nw_std = 1.4142135623730951\nb_std = 0.1",
        r#"{ op = "conv", channels = 4, kernel = 3, padding = "same" }, { op = "relu" },
        { op = "conv", channels = 4, kernel = 3, stride = 2, padding = "same" }, { op = "relu" },
        { op = "global-avg-pool" }, { op = "dense", features = 1 }"#,
    )
}

/// First rows of ∂x∂x'K by neural-tangents 0.6.5 in f64.
#[test]
fn neural_tangents_agree() {
    let convolutions = convolutions();
    #[rustfmt::skip]
    let (x, row) = (
        [-0.4748231903863986, -0.6146545605401031, 0.18086085564637638, 1.111422569547174, 1.143155251540731, -1.9687673826221197, 1.4369758432403286, -0.44492331532748713, 0.4911193451078479, -1.3237099452211405, -0.8821873183274738, 0.36632463970096735, -1.7843238208060725, 0.8078995240125201, -0.5387336062533548, 0.27684324038774055, 0.14820485634798714, -0.5541026144278584, 1.313419629657654, 2.341314740730217, 0.630756240051871, -1.7156620530434545, 0.12190565747851889, -0.22573968813209155, 0.9104216732004708, 0.061374255240985665, 2.143241172666491, 0.6931772263455075, 0.5984109901085153, -0.34300323305307256, -0.8894181287200384, -0.08485664885343716, 0.202979202847253, 0.4792227201392485, 0.20118957628493114, -0.2799065956763969],
        [0.0012193263222069813, 1.2012324455644648e-05, 0.00038908675972770465, -6.98893828456129e-05, 0.0002247802128366212, 3.448239079727695e-05, -1.2426613374657368e-05, 1.7220407528978914e-05, -8.171348776469125e-06, 0.00011711459262513312, 0.0001554301924858951, -4.727350169743929e-05, 0.0004408883224029267, 3.3048923141134823e-06, 0.00041707704012693185, -1.15448191457395e-05, 0.0002828012662457241, 4.965074448411658e-05, -0.00013944429791123042, -0.00012798710521354413, -9.30776281949389e-05, 0.00021723524628502046, -5.238369349526224e-06, 3.3708738620707304e-05, 0.00028136018765892657, -5.456256729580055e-05, 0.00015222006040952764, -0.00013609415174363308, 0.00025670819764592287, 1.2345854114675722e-05, 6.362606859999782e-05, -2.8486522310158396e-05, 0.0001111968143248627, -8.157091108751692e-05, 0.00010051337176901232, -4.130711269003071e-06],
    );
    assert_close(&at(&convolutions, &x).factor[..36], &row, 1e-13);
    let dense = net(
        "input = [10]\nparametrisation = \"ntk\"\nw_std = 1.5\nb_std = 0.3",
        r#"{ op = "dense", features = 4 }, { op = "erf" }, { op = "dense", features = 4 }, { op = "erf" },
        { op = "dense", features = 1 }"#,
    );
    #[rustfmt::skip]
    let (x, row) = (
        [1.137870374245525, 0.016021203599889625, 0.47359957205452774, -1.33518837362512, 0.6374177094326149, -0.03058346951326358, 0.48466831595083715, 1.6003561315936594, -2.280857756344364, 0.26094817905342854],
        [0.17979657335741311, -0.00028337544519486344, -0.008376804447823957, 0.02361617823754706, -0.011274341909418197, 0.0005409458930404145, -0.008572583136348094, -0.028306339684978907, 0.04034272943979655, -0.004615527538303282],
    );
    assert_close(&at(&dense, &x).factor[..10], &row, 1e-13);
}

/// A piecewise linear φ with slopes ±: every layer multiplies G by w_std² E[φ'²] and nothing else, so
/// G = w_std^{2(L+1)} E[φ'²]^L / D · I at every x, biases or not.
#[test]
fn dense_networks_with_kinks_are_isotropic() {
    for (activation, square) in [("relu", 0.5), ("leaky-relu:0.3", 0.545), ("abs", 1.0)] {
        for depth in [1, 2, 4] {
            let options = ZooOptions {
                input: Some("7".parse().unwrap()),
                depth: Some(depth),
                activation: Some(activation.parse().unwrap()),
                parametrisation: Some("ntk:1.2,0.4".parse().unwrap()),
                ..ZooOptions::default()
            };
            let g = at(&zoo("fcn", &options).unwrap(), &numbers(7));
            let size = 1.44f64.powi(depth as i32 + 1) * f64::powi(square, depth as i32) / 7.0;
            let wanted: Vec<f64> = (0..49)
                .map(|i| if i % 8 == 0 { size } else { 0.0 })
                .collect();
            assert_close(&g.factor, &wanted, 1e-14);
        }
    }
}

/// One tap on one channel: u_α = w x_α, so all patches are multiples of each other and
/// G[α,α'] = E[w²φ'(wx_α)φ'(wx_α')]/P² is E[φ'²] for equal signs, φ'(1)φ'(−1) for opposite ones.
#[test]
fn multiples_of_one_patch_by_hand() {
    let x = [0.3, -1.0, 0.3, 2.0, -0.3, -0.7];
    for (op, equal, opposite) in [
        (r#"op = "relu""#, 0.5, 0.0),
        (r#"op = "leaky-relu", slope = 0.2"#, 0.52, 0.2),
        (r#"op = "abs""#, 1.0, -1.0),
    ] {
        let graph = net(
            "input = [1, 6]\nparametrisation = \"ntk\"",
            &format!(
                r#"{{ op = "conv", channels = 3, kernel = 1 }}, {{ {op} }}, {{ op = "global-avg-pool" }}, {{ op = "dense", features = 1 }}"#
            ),
        );
        let pair = |i: usize| match x[i / 6] * x[i % 6] > 0.0 {
            true => equal / 36.0,
            false => opposite / 36.0,
        };
        let wanted: Vec<f64> = (0..36).map(pair).collect();
        assert_close(&at(&graph, &x).factor, &wanted, 1e-14);
    }
}

/// A layer of the loops below; convolutions have 3×3 taps.
enum Layer {
    Circular,
    Same { stride: usize },
    Activation,
    Pool(usize),
    Residual(Vec<Layer>),
}

const W2: f64 = 1.7;
const B2: f64 = 0.3;

/// E[h(x)h(x')], E[h(x)h(x)], E[h(x')h(x')] over n × n positions.
#[derive(Clone)]
struct Loops {
    n: usize,
    fields: [Vec<f64>; 3],
}

impl Loops {
    /// The input, averaged over channels.
    fn new(n: usize, x: &[f64], y: &[f64]) -> Self {
        let (p, channels) = (n * n, x.len() / (n * n));
        let product = |a: &[f64], b: &[f64]| {
            let pair = |i: usize| (0..channels).map(move |c| a[c * p + i / p] * b[c * p + i % p]);
            (0..p * p)
                .map(|i| pair(i).sum::<f64>() / channels as f64)
                .collect()
        };
        Loops {
            n,
            fields: [product(x, y), product(x, x), product(y, y)],
        }
    }

    /// Σ over pairs of sources of every pair of m × m destinations.
    fn gather(&self, m: usize, sources: impl Fn(usize, usize) -> Vec<(usize, usize)>) -> Self {
        let (p, q) = (self.n * self.n, m * m);
        let fields = self.fields.each_ref().map(|f| {
            let sum = |i: usize| {
                sources(i / q, i % q)
                    .iter()
                    .map(|(a, b)| f[a * p + b])
                    .sum()
            };
            (0..q * q).map(sum).collect()
        });
        Loops { n: m, fields }
    }

    fn scaled(mut self, by: f64, plus: f64) -> Self {
        self.fields
            .iter_mut()
            .flatten()
            .for_each(|f| *f = by * *f + plus);
        self
    }

    fn convolved(&self, stride: usize, circular: bool) -> Self {
        let n = self.n as isize;
        let m = self.n.div_ceil(stride);
        let before = ((m as isize - 1) * stride as isize + 3 - n) / 2;
        let tap = |o: usize, beta: isize| {
            let place = |o: usize, beta: isize| {
                let i = (o * stride) as isize + beta - before;
                match circular {
                    true => Some(i.rem_euclid(n)),
                    false => Some(i).filter(|i| (0..n).contains(i)),
                }
            };
            let (y, x) = (place(o / m, beta / 3)?, place(o % m, beta % 3)?);
            Some((y * n + x) as usize)
        };
        self.gather(m, |a, b| {
            (0..9)
                .filter_map(|beta| Some((tap(a, beta)?, tap(b, beta)?)))
                .collect()
        })
        .scaled(W2 / 9.0, B2)
    }

    fn pooled(&self, w: usize) -> Self {
        let (n, m) = (self.n, self.n / w);
        let inside =
            move |o: usize| (0..w * w).map(move |i| (o / m * w + i / w) * n + o % m * w + i % w);
        let pairs = |a: usize, b: usize| {
            inside(a)
                .flat_map(|s| inside(b).map(move |t| (s, t)))
                .collect()
        };
        self.gather(m, pairs).scaled((w as f64).powi(-4), 0.0)
    }

    fn activated(&self, activation: Activation) -> Self {
        let p = self.n * self.n;
        let diagonal = |f: &[f64]| -> Vec<f64> { (0..p).map(|i| f[i * p + i]).collect() };
        let (x, y) = (diagonal(&self.fields[1]), diagonal(&self.fields[2]));
        let sides = [(&x, &y), (&x, &x), (&y, &y)];
        let mut made = self.clone();
        for (field, (a, b)) in made.fields.iter_mut().zip(sides) {
            for (i, q12) in field.iter_mut().enumerate() {
                let (q11, q22) = (a[i / p], b[i % p]);
                *q12 = dual(
                    activation,
                    Pair {
                        q11,
                        q12: *q12,
                        q22,
                    },
                )
                .value;
            }
        }
        made
    }

    fn through(self, layers: &[Layer], activation: Activation) -> Self {
        layers.iter().fold(self, |s, layer| match layer {
            Layer::Circular => s.convolved(1, true),
            Layer::Same { stride } => s.convolved(*stride, false),
            Layer::Activation => s.activated(activation),
            Layer::Pool(w) => s.pooled(*w),
            Layer::Residual(branch) => {
                let mut sum = s.clone().through(branch, activation);
                for (a, b) in sum
                    .fields
                    .iter_mut()
                    .flatten()
                    .zip(s.fields.iter().flatten())
                {
                    *a += b;
                }
                sum
            }
        })
    }
}

fn text(layers: &[Layer], activation: Activation) -> String {
    let texts = layers.iter().map(|layer| match layer {
        Layer::Circular => {
            r#"{ op = "conv", channels = 4, kernel = 3, padding = "circular" }"#.into()
        }
        Layer::Same { stride } => format!(
            r#"{{ op = "conv", channels = 4, kernel = 3, padding = "same", stride = {stride} }}"#
        ),
        Layer::Activation => format!(r#"{{ op = "{}" }}"#, activation.name()),
        Layer::Pool(w) => format!(r#"{{ op = "avg-pool", size = {w} }}"#),
        Layer::Residual(branch) => format!(
            r#"{{ op = "residual", branch = [ {} ] }}"#,
            text(branch, activation)
        ),
    });
    texts.collect::<Vec<String>>().join(", ")
}

/// Mixed differences of K, by steps h and 2h so that errors are of order h⁴: 1e-9 here, like rounding/h².
fn differences(k: impl Fn(&[f64], &[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    let h = 6e-3;
    let moved = |i: usize, by: f64| {
        let mut x = x.to_vec();
        x[i] += by;
        x
    };
    let mixed = |i: usize, j: usize, h: f64| {
        let corner = |a: f64, b: f64| k(&moved(i, a * h), &moved(j, b * h));
        (corner(1.0, 1.0) - corner(1.0, -1.0) - corner(-1.0, 1.0) + corner(-1.0, -1.0))
            / (4.0 * h * h)
    };
    let entry = |n: usize| {
        let (i, j) = (n / x.len(), n % x.len());
        (4.0 * mixed(i, j, h) - mixed(i, j, 2.0 * h)) / 3.0
    };
    (0..x.len() * 2).map(entry).collect()
}

/// Two rows of G against differences of the kernel as loops; `flat` reads positions one by one, otherwise their mean.
fn check(layers: &[Layer], activation: &str, n: usize, channels: usize, flat: bool) {
    let activation: Activation = activation.parse().unwrap();
    let end = if flat { "flatten" } else { "global-avg-pool" };
    let graph = net(
        &format!(
            "input = [{channels}, {n}, {n}]\nparametrisation = \"ntk\"\nw_std = {}\nb_std = {}",
            W2.sqrt(),
            B2.sqrt()
        ),
        &format!(
            r#"{}, {{ op = "{end}" }}, {{ op = "dense", features = 1 }}"#,
            text(layers, activation)
        ),
    );
    let x = numbers(channels * n * n);
    let k = |x: &[f64], y: &[f64]| {
        let made = Loops::new(n, x, y).through(layers, activation);
        let p = made.n * made.n;
        match flat {
            true => (0..p).map(|i| made.fields[0][i * (p + 1)]).sum::<f64>() * W2 / p as f64,
            false => made.fields[0].iter().sum::<f64>() * W2 / (p * p) as f64,
        }
    };
    let g = at(&graph, &x);
    assert_close(&g.factor[..2 * x.len()], &differences(k, &x), 3e-8);
}

#[test]
fn convolutions_and_global_pool_by_differences() {
    use Layer::*;
    let layers = [Circular, Activation, Circular, Activation];
    check(&layers, "gelu", 3, 2, false);
    check(&layers, "erf", 3, 2, true);
}

#[test]
fn strides_and_borders_by_differences() {
    use Layer::*;
    let layers = [
        Same { stride: 2 },
        Activation,
        Same { stride: 2 },
        Activation,
    ];
    check(&layers, "erf", 5, 1, false);
    let layers = [
        Same { stride: 1 },
        Activation,
        Same { stride: 2 },
        Activation,
    ];
    check(&layers, "sin", 4, 1, false);
}

#[test]
fn pools_between_layers_by_differences() {
    use Layer::*;
    let layers = [Circular, Activation, Pool(2), Circular, Activation, Pool(2)];
    check(&layers, "gelu", 4, 1, true);
}

#[test]
fn residual_sums_by_differences() {
    use Layer::*;
    let branch = vec![Activation, Same { stride: 1 }];
    let layers = [Same { stride: 1 }, Residual(branch), Activation];
    check(&layers, "erf", 3, 1, false);
}

/// At x = 0 a network without biases whose activations are smooth is linear: method exact holds at any width. A
/// network with every op that has a rule.
#[test]
fn exact_agrees_at_zero() {
    let graph = net(
        "input = [2, 6, 6]\nparametrisation = \"lecun\"",
        r#"{ op = "conv", channels = 4, kernel = 3, padding = 1, dilation = 2, stride = 2 }, { op = "gelu" },
        { op = "concat", branches = [ [], [ { op = "conv", channels = 3, kernel = 3, padding = "same" }, { op = "gelu" } ] ] },
        { op = "scale", by = 1.3 }, { op = "dropout" }, { op = "avg-pool", size = 2, stride = 1 },
        { op = "local", channels = 4, kernel = 2, padding = "same" }, { op = "bias" },
        { op = "residual", branch = [ { op = "gelu" }, { op = "conv", channels = 4, kernel = [1, 3], padding = "circular" } ] },
        { op = "gelu" }, { op = "global-avg-pool" }, { op = "dense", features = 3 }, { op = "gelu" }, { op = "dense", features = 3 }"#,
    );
    for output in [Output::Logit(1), Output::Mean, Output::All] {
        let found = kernel(
            &graph,
            Gradient::Local,
            (&Probe::Zero, 1),
            output,
            0,
            |_, _| {},
        )
        .unwrap();
        let wanted = exact(&graph, &Probe::Zero, output).unwrap();
        assert_close(&found.to_dense(), &wanted.to_dense(), 1e-13);
    }
}

/// Flattened at infinite width shared weights are as good as separate ones.
#[test]
fn locally_connected_layers_equal_convolutions() {
    let [a, b] = ["lcn", "cnn-vec"].map(|name| {
        let options = ZooOptions {
            input: Some("2x4x4".parse().unwrap()),
            activation: Some("erf".parse().unwrap()),
            ..ZooOptions::default()
        };
        zoo(name, &options).unwrap()
    });
    let x = numbers(32);
    assert!(at(&b, &x).factor[1].abs() > 1e-6, "positions mix");
    assert_close(&at(&a, &x).factor, &at(&b, &x).factor, 1e-13);
}

/// relu, two convolutions, global pool: traces of wide random networks. Width n is about 2/n off; the mean field,
/// which takes slopes as independent of weights, a third.
#[test]
fn wide_networks_agree() {
    let options = ZooOptions {
        input: Some("1x4x4".parse().unwrap()),
        outputs: Some(1),
        width: Some(96),
        bias: BiasRule::Zero,
        ..ZooOptions::default()
    };
    let graph = zoo("cnn-gap", &options).unwrap();
    let x = numbers(16);
    let g = at(&graph, &x);
    let network = Network::<f32>::new(graph.clone());
    let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let squares = (0..1000).map(|index| {
        let weights = Weights::draw(&graph, 5, index);
        let gradient = network
            .input_gradient(&weights, &single, Scalar::Logit(0))
            .unwrap();
        gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>() / g.trace()
    });
    let ratio = Estimate::mean(&squares.collect::<Vec<f64>>()).unwrap();
    let z = (ratio.value - 1.0) / ratio.standard_error;
    assert!(ratio.standard_error < 0.06, "{ratio:?}");
    assert!(z.abs() < 3.5, "{ratio:?}");
}

#[test]
fn what_has_no_kernel_is_refused_with_a_way_out() {
    let head = "input = [2, 4, 4]";
    let conv = r#"{ op = "conv", channels = 2, kernel = 3, padding = "same" }"#;
    let refuse = |layers: &str, word: &str| {
        let graph = net(
            head,
            &format!("{layers}, {{ op = \"flatten\" }}, {{ op = \"dense\", features = 2 }}"),
        );
        let refusal = kernel_memory(&graph, Output::Logit(0))
            .unwrap_err()
            .to_string();
        assert!(
            refusal.contains(word) && refusal.contains("‹method"),
            "{refusal}"
        );
    };
    refuse(r#"{ op = "batch-norm" }"#, "batch-norm");
    refuse(
        &format!(r#"{conv}, {{ op = "max-pool", size = 2 }}"#),
        "max-pool",
    );
    refuse(&format!(r#"{conv}, {{ op = "layer-norm" }}"#), "layer-norm");
    refuse(
        r#"{ op = "conv", channels = 2, kernel = 3, groups = 2 }"#,
        "grouped conv",
    );
    refuse(
        &format!(r#"{conv}, {{ op = "gate", branch = [ {conv} ] }}"#),
        "product of two random numbers is not Gaussian",
    );
    refuse(r#"{ op = "relu" }"#, "no random weight between");
    refuse(&format!(r#"{conv}, {{ op = "tanh" }}"#), "tanh");
    refuse(
        &format!(r#"{conv}, {{ op = "residual", branch = [ {{ op = "erf" }} ] }}"#),
        "correlated",
    );
    refuse(
        &format!(
            r#"{conv}, {{ op = "relu" }}, {{ op = "residual", branch = [ {conv} ] }}, {{ op = "relu" }}"#
        ),
        "not Gaussian",
    );
    refuse(
        &format!(
            r#"{conv}, {{ op = "relu" }}, {{ op = "residual", branch = [ {conv}, {{ op = "relu" }} ] }}"#
        ),
        "a mean",
    );
    let vit = zoo("vit", &ZooOptions::default()).unwrap();
    let refusal = kernel_memory(&vit, Output::Logit(0))
        .unwrap_err()
        .to_string();
    assert!(refusal.contains("tokens"), "{refusal}");
    let graph = zoo("cnn-gap", &ZooOptions::default()).unwrap();
    assert_eq!(
        kernel_memory(&graph, Output::Logit(10)),
        Err(KernelRefusal::Logit { k: 10, outputs: 10 })
    );
    // The kink of relu at x = 0.
    let small = ZooOptions {
        input: Some("1x4x4".parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo("cnn-gap", &small).unwrap();
    let flat = kernel(
        &graph,
        Gradient::Local,
        (&Probe::Zero, 1),
        Output::Logit(0),
        0,
        |_, _| {},
    );
    let refusal = flat.unwrap_err().to_string();
    assert!(refusal.contains("‹probe gauss:1›"), "{refusal}");
}

/// The mean of ∂x∂x'K over the ring of three inputs by neural-tangents 0.6.5 in f64: its first row and its trace
/// (`bench/coherent_fixture`).
#[test]
fn neural_tangents_agree_between_inputs() {
    let convolutions = convolutions();
    #[rustfmt::skip]
    let (x, row) = (
        [0.0, 0.3125, -0.28125, -0.875, -0.46875, -1.0, 0.0625, 1.34375, -0.5, -0.625, 0.5, 0.34375, 0.09375, -0.9375, -0.03125, 0.6875, -1.34375, -0.46875, -1.90625, -1.28125, -1.84375, -0.25, -1.28125, 0.28125, 0.15625, -0.1875, -2.53125, -0.53125, -0.0625, 0.125, -1.53125, -0.46875, -0.96875, -0.8125, 1.0625, -0.8125, -0.03125, 0.875, -0.59375, -0.125, 0.125, 0.0625, -1.21875, 0.0625, 1.34375, -1.5625, 0.875, 0.125, -0.65625, 2.0, 0.75, -1.1875, 0.0625, 0.5625, -0.1875, 0.6875, -0.0625, 0.65625, 1.4375, -0.6875, 0.21875, -0.46875, 0.125, -1.1875, -0.59375, -0.1875, 0.90625, 1.15625, -1.3125, -0.78125, 0.65625, -2.0, -0.46875, -0.09375, 1.25, 0.6875, -0.3125, -0.375, -0.25, 1.53125, -0.4375, -0.3125, 0.34375, -0.125, -0.1875, -1.125, -0.0, -0.4375, 1.15625, 0.65625, -0.03125, 0.65625, -0.34375, 1.0625, -0.0, 0.59375, -1.28125, 0.34375, -1.6875, -2.03125, -0.3125, -0.90625, 0.15625, 2.25, -0.84375, -0.625, 0.21875, 0.5],
        [0.0004234291848395499, -2.9130698941976738e-05, 0.0003502917701876741, 2.8436283438257914e-05, 0.0003239701335266139, 1.490410681007503e-06, 9.977350559726907e-06, -3.8504115768796435e-05, -2.674869026137637e-05, 5.6697799715934075e-05, -1.0972398161292014e-05, -2.4465766606892164e-05, 0.0004061120890895902, -1.5500765210453135e-05, 0.00040528347044628977, 3.1339061183818665e-05, 0.0004040604300871199, -1.0593743838627727e-05, 2.5337228158772682e-05, -1.4986357869768613e-05, 3.178505008808389e-05, 8.753117040963815e-06, -1.2405348465978667e-05, 5.142442168902109e-06, 0.00045048403928683005, 1.278556577230367e-05, 0.0003555855720778658, 7.862211654583178e-06, 0.00028065297014531445, -5.775119699002071e-06, 6.409521762354871e-06, -1.3444585057455103e-05, 6.257337035476118e-05, -2.0340074425552345e-05, -4.074912299971168e-05, 1.1275295965765787e-05],
    );
    let probe = Probe::Points {
        source: "test".into(),
        x: x.into(),
    };
    let found = kernel(
        &convolutions,
        Gradient::Coherent,
        (&probe, 3),
        Output::Logit(0),
        0,
        |_, _| {},
    )
    .unwrap();
    assert_close(&found.factor[..36], &row, 1e-12);
    assert!((found.trace() - 0.05244636686976313).abs() < 1e-13);
}
