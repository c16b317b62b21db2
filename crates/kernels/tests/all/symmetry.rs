//! Symmetries. Catches groups that are not groups, a geodesic that leaves the group or misses its end, wrong deductions,
//! and twins that drift apart in training; all exact, nothing sampled.

use polariscope_diff::Device;
use polariscope_graph::{
    Activation, BiasRule, Builder, ConvSpec, Graph, GraphError, Group as Turns, HasBias, NodeId,
    Padding, Parametrisation, Shape, ZooOptions, parse_file, zoo, zoo_list,
};
use polariscope_kernels::symmetry::{
    Cell, Element, Elements, Finding, Geodesic, Group, Run, Sharing, deduce, distance, gap_in_vec,
    lcn_in_vec, match_weights, train, vec_in_lcn,
};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{BatchSize, Config, Length, Loss, Optimiser, Schedule};

const SHAPE: Shape = Shape::Image {
    channels: 3,
    height: 6,
    width: 6,
};
const DIM: usize = 108;

fn network(name: &str, width: usize) -> Graph {
    let options = ZooOptions {
        input: Some(SHAPE),
        outputs: Some(3),
        width: Some(width),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn normal(name: &str, n: usize) -> Vec<f64> {
    let mut x = vec![0.0_f32; n];
    Stream::new(3, 0, name).normal(1.0, &mut x);
    x.into_iter().map(f64::from).collect()
}

/// τ as a matrix, column by column: the images of the unit vectors.
fn images(tau: &Element) -> Vec<f64> {
    let dim = tau.shape().len();
    let unit: Vec<f64> = (0..dim * dim)
        .map(|k| if k / dim == k % dim { 1.0 } else { 0.0 })
        .collect();
    tau.apply(&unit).unwrap()
}

fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// Orthogonal, undone by the inverse, and mixing what the group says: C numbers of a position, or all.
#[test]
fn elements_are_orthogonal_and_stay_in_their_cells() {
    let patches = [Sharing::Own, Sharing::Shared].map(|s| Group::rotations(Cell::Patch([2, 3]), s));
    for group in Group::SIX.into_iter().chain(patches) {
        let tau = Element::draw(group, SHAPE, 1, 2).unwrap();
        let a = images(&tau);
        for i in 0..DIM {
            for j in 0..=i {
                let inner: f64 = (0..DIM).map(|k| a[i * DIM + k] * a[j * DIM + k]).sum();
                assert!((inner - f64::from(u8::from(i == j))).abs() < 1e-13);
            }
        }
        let x = normal("x", 5 * DIM);
        let back = tau.inverse().apply(&tau.apply(&x).unwrap()).unwrap();
        assert!(furthest(&x, &back) < 1e-13);
        // Where a position's three channels go: C,H,W order, so they lie 36 apart.
        let mixed = (0..DIM)
            .filter(|&j| (0..DIM).any(|i| i % 36 != j % 36 && a[j * DIM + i].abs() > 1e-14))
            .count();
        match group.cell {
            Cell::Patch([1, 1]) => assert_eq!(mixed, 0),
            Cell::All | Cell::Patch(_) => assert!(mixed > DIM / 2),
        }
        let alike = (0..36).all(|p| {
            (0..9).all(|k| {
                let at = |p: usize| a[(k / 3 * 36 + p) * DIM + k % 3 * 36 + p];
                at(p) == at(0)
            })
        });
        if group.cell == Cell::Patch([1, 1]) {
            assert_eq!(alike, group.sharing == Sharing::Shared);
        }
        if group.elements == Elements::Permutation {
            assert!(a.iter().all(|&x| x == 0.0 || x == 1.0));
        }
    }
    assert!(
        Element::draw(
            Group::rotations(Cell::Patch([4, 4]), Sharing::Own),
            SHAPE,
            0,
            0
        )
        .is_err()
    );
    assert!(
        Element::identity(Group::ALL, SHAPE)
            .unwrap()
            .apply(&[1.0; 7])
            .is_err()
    );
}

/// Haar: E Q₁₁² = 1/3, E Q₁₁⁴ = 3/(3·5) over O(3), and both determinants equally often.
#[test]
fn rotations_are_uniform() {
    let tau = Element::draw(Group::EACH_POSITION, "3x60x60".parse().unwrap(), 5, 0).unwrap();
    let mut x = vec![0.0; 3 * 3600];
    x[..3600].fill(1.0);
    let y = tau.apply(&x).unwrap();
    let n = 3600.0_f64;
    let first = y[..3600].iter().sum::<f64>() / n;
    let square = y[..3600].iter().map(|y| y * y).sum::<f64>() / n;
    let fourth = y[..3600].iter().map(|y| y.powi(4)).sum::<f64>() / n;
    // Standard deviations of the terms: √(1/3), √(1/5 − 1/9), √(1/9 − 1/25).
    assert!(first.abs() < 4.5 * (1.0 / 3.0 / n).sqrt());
    assert!((square - 1.0 / 3.0).abs() < 4.5 * (0.0889 / n).sqrt());
    assert!((fourth - 0.2).abs() < 4.5 * (0.0711 / n).sqrt());
    let flipped = Geodesic::new(&tau).unwrap().flipped() as f64;
    assert!((flipped - n / 2.0).abs() < 4.5 * (n / 4.0).sqrt());
}

/// τ₀ = 1, τ₁ = τ, τ_s τ_t = τ_{s+t}, orthogonal: for rotations of 108 numbers, of every position, and for permutations,
/// which have the eigenvalues 1 and −1 many times over.
#[test]
fn geodesics() {
    for group in Group::SIX {
        for index in 0..3 {
            let tau = Element::draw(group, SHAPE, 8, index).unwrap();
            let path = Geodesic::new(&tau).unwrap();
            let identity = images(&Element::identity(group, SHAPE).unwrap());
            let end = images(path.end());
            assert!(furthest(&images(&path.at(0.0)), &identity) < 1e-12);
            assert!(
                furthest(&images(&path.at(1.0)), &end) < 1e-12,
                "{group:?} {index}"
            );
            if path.flipped() == 0 {
                assert!(furthest(&end, &images(&tau)) < 1e-15);
            }
            let x = normal("x", DIM);
            let (s, t) = (0.3, 0.55);
            let twice = path.at(s).apply(&path.at(t).apply(&x).unwrap()).unwrap();
            assert!(furthest(&twice, &path.at(s + t).apply(&x).unwrap()) < 1e-12);
            let back = path
                .at(t)
                .inverse()
                .apply(&path.at(t).apply(&x).unwrap())
                .unwrap();
            assert!(furthest(&back, &x) < 1e-12);
        }
    }
    // A quarter turn in a plane, halved: by hand cos 45°, and 180° has no preferred plane but a real root.
    let quarter = Element::draw(Group::ALL.permutations(), "2".parse().unwrap(), 0, 1).unwrap();
    let path = Geodesic::new(&quarter).unwrap();
    if path.flipped() == 1 {
        let y = path.at(0.5).apply(&[1.0, 0.0]).unwrap();
        assert!(
            (y[0] - 0.5_f64.sqrt()).abs() < 1e-14 && (y[1].abs() - 0.5_f64.sqrt()).abs() < 1e-14
        );
    }
}

fn config(steps: u64, optimiser: Optimiser) -> Config {
    Config {
        loss: Loss::CrossEntropy,
        optimiser,
        // Adam's steps do not shrink with the gradient.
        learning_rate: match optimiser {
            Optimiser::Sgd { .. } => 0.5,
            Optimiser::Adam { .. } => 0.03,
        },
        schedule: Schedule::Constant,
        batch_size: BatchSize::Of(5),
        length: Length::Steps(steps),
        ..Config::default()
    }
}

/// Momentum, mini-batches and L2 together.
const SGD: Optimiser = Optimiser::Sgd {
    momentum: 0.9,
    weight_decay: 1e-2,
};

/// Relative distance between the predictions of a run on x and of its twin on τx, how far training moved them, and
/// what the twin's first weights miss.
fn twins(graph: &Graph, group: Group, optimiser: Optimiser) -> (f64, f64, f64) {
    let tau = Element::draw(group, graph.input(), 11, 0).unwrap();
    let x = normal("train", 15 * DIM);
    let test = normal("test", 7 * DIM);
    let labels: Vec<u32> = (0..15).map(|i| i % 3).collect();
    let config = config(20, optimiser);
    let start = Weights::<f64>::draw(graph, 2, 0);
    let twin = match_weights(graph, &start, &tau).unwrap();
    let run = |x: &[f64], weights: Weights<f64>| {
        let run = Run {
            x,
            labels: &labels,
            config: &config,
            device: Device::Cpu,
        };
        train(graph, weights, run).unwrap()
    };
    let one = run(&x, start.clone());
    let other = run(&tau.apply(&x).unwrap(), twin.weights);
    let net = Network::new(graph.clone());
    let turned = tau.apply(&test).unwrap();
    let apart = distance(&net, (&one, &test), (&other, &turned)).unwrap();
    let moved = distance(&net, (&start, &test), (&one, &test)).unwrap();
    (apart, moved, twin.residual)
}

/// Thm 3.1 at finite width: whole SGD runs agree under the group of the system and not under the next larger one.
#[test]
fn twin_runs() {
    let cases = [
        ("fcn", 16, Group::ALL),
        ("lcn", 4, Group::EACH_POSITION),
        ("cnn-vec", 6, Group::CHANNELS),
        ("cnn-gap", 6, Group::CHANNELS),
    ];
    for (name, width, group) in cases {
        let graph = network(name, width);
        let found = deduce(&graph, SGD).finite;
        assert_eq!(found.group, Some(group), "{name}");
        let (apart, moved, residual) = twins(&graph, group, SGD);
        assert!(
            apart < 1e-11 && residual < 1e-14,
            "{name}: {apart} {residual}"
        );
        assert!(moved > 0.3, "{name} hardly trained: {moved}");
        // Every smaller group too.
        for smaller in Group::SIX.iter().filter(|g| group.contains(g)) {
            let (apart, ..) = twins(&graph, *smaller, SGD);
            assert!(apart < 1e-11, "{name} {smaller:?}: {apart}");
        }
        if let Some(larger) = found.larger {
            let (apart, _, residual) = twins(&graph, larger, SGD);
            assert!(
                apart > 1e-2 && residual > 1e-2,
                "{name}: {apart} {residual}"
            );
        }
    }
}

/// Adam divides number by number: rotations part the twins, permutations do not.
#[test]
fn adam_follows_permutations_alone() {
    let graph = network("cnn-gap", 6);
    let found = deduce(&graph, Optimiser::ADAM).finite;
    assert_eq!(found.group, Some(Group::CHANNELS.permutations()));
    let (apart, moved, _) = twins(&graph, Group::CHANNELS.permutations(), Optimiser::ADAM);
    assert!(apart < 1e-11 && moved > 0.3, "{apart} {moved}");
    let (apart, ..) = twins(&graph, Group::CHANNELS, Optimiser::ADAM);
    assert!(apart > 1e-3, "{apart}");
}

type Layer = fn(&mut Builder, NodeId, &str, ConvSpec) -> Result<NodeId, GraphError>;

/// Zero padding, strides, dilation and patches: the deduced group holds, the larger does not.
#[test]
fn twins_of_other_windows() {
    let spec = |kernel: usize, padding| ConvSpec::new(4, [kernel; 2]).padding(padding);
    let patch = |k: usize, sharing| Group::rotations(Cell::Patch([k; 2]), sharing);
    let p4m: Layer = |b, x, layer, spec| b.group_conv(x, layer, Turns::P4m, spec);
    let cases: [(Layer, ConvSpec, Group); 8] = [
        (p4m, spec(3, Padding::Zeros(1)), Group::CHANNELS),
        (
            Builder::conv,
            spec(3, Padding::Same).stride([2; 2]),
            Group::CHANNELS,
        ),
        (
            Builder::conv,
            spec(3, Padding::Zeros(1)).dilation([2; 2]),
            Group::CHANNELS,
        ),
        (Builder::conv, spec(5, Padding::Circular), Group::CHANNELS),
        (
            Builder::conv,
            spec(2, Padding::Valid).stride([2; 2]),
            patch(2, Sharing::Shared),
        ),
        (Builder::conv, spec(6, Padding::Valid), Group::ALL),
        (
            Builder::local,
            spec(3, Padding::Valid).stride([3; 2]),
            patch(3, Sharing::Own),
        ),
        (Builder::local, spec(3, Padding::Same), Group::EACH_POSITION),
    ];
    for (case, (layer, spec, group)) in cases.into_iter().enumerate() {
        let ntk = Parametrisation::Ntk {
            w_std: 1.5,
            b_std: 0.1,
        };
        let mut b = Builder::new("window", SHAPE, ntk, BiasRule::default()).unwrap();
        let x = layer(&mut b, Builder::INPUT, "first", spec).unwrap();
        let x = b.activation(x, "act", Activation::Relu).unwrap();
        let x = b.flatten(x, "flatten").unwrap();
        b.dense(x, "out", 3, HasBias::Yes).unwrap();
        let graph = b.finish();
        let found = deduce(&graph, SGD).finite;
        assert_eq!(found.group, Some(group), "{case}");
        let (apart, _, residual) = twins(&graph, group, SGD);
        assert!(
            apart < 1e-11 && residual < 1e-14,
            "{case}: {apart} {residual}"
        );
        if let Some(larger) = found.larger {
            assert!(twins(&graph, larger, SGD).0 > 1e-2, "{case}");
        }
    }
}

/// Every network of the zoo, with Gaussian first weights and with its own law.
#[test]
fn deductions_of_the_zoo() {
    let patch = |sharing| Group::rotations(Cell::Patch([8, 8]), sharing);
    // (name, finite, infinite): dense first layers mix all; a convolution shares its rotation; what is left of it at
    // infinite width depends on whether a pool or attention mixes positions; batch norm and max-pool have no kernel.
    let table = [
        ("logreg", Group::ALL, Some(Group::ALL)),
        ("mlp-2x100", Group::ALL, Some(Group::ALL)),
        ("lenet", Group::CHANNELS, None),
        ("lenet-avg", Group::CHANNELS, Some(Group::CHANNELS)),
        ("lenet-gap", Group::CHANNELS, Some(Group::CHANNELS)),
        ("lenet-nopool", Group::CHANNELS, Some(Group::EACH_POSITION)),
        ("fc-2", Group::ALL, Some(Group::ALL)),
        ("fc-4", Group::ALL, Some(Group::ALL)),
        ("fc-6", Group::ALL, Some(Group::ALL)),
        ("alexnet", Group::CHANNELS, None),
        ("vgg11", Group::CHANNELS, None),
        ("vgg11-bn", Group::CHANNELS, None),
        ("vgg13", Group::CHANNELS, None),
        ("vgg13-bn", Group::CHANNELS, None),
        ("vgg16", Group::CHANNELS, None),
        ("vgg16-bn", Group::CHANNELS, None),
        ("vgg19", Group::CHANNELS, None),
        ("vgg19-bn", Group::CHANNELS, None),
        ("mobilenet", Group::CHANNELS, None),
        ("efficientnet-b0", Group::CHANNELS, None),
        (
            "convnext-tiny",
            Group::rotations(Cell::Patch([4, 4]), Sharing::Shared),
            None,
        ),
        ("resnet9", Group::CHANNELS, None),
        ("resnet18", Group::CHANNELS, None),
        ("resnet18-nobn", Group::CHANNELS, Some(Group::CHANNELS)),
        ("resnet34", Group::CHANNELS, None),
        ("resnet50", Group::CHANNELS, None),
        ("densenet121", Group::CHANNELS, None),
        ("vit", patch(Sharing::Shared), Some(patch(Sharing::Shared))),
        (
            "vit-noln",
            patch(Sharing::Shared),
            Some(patch(Sharing::Shared)),
        ),
        ("cnn", Group::CHANNELS, None),
        ("p4-cnn", Group::CHANNELS, None),
        ("p4m-cnn", Group::CHANNELS, None),
        ("fcn", Group::ALL, Some(Group::ALL)),
        ("lcn", Group::EACH_POSITION, Some(Group::EACH_POSITION)),
        ("cnn-vec", Group::CHANNELS, Some(Group::EACH_POSITION)),
        ("cnn-gap", Group::CHANNELS, Some(Group::CHANNELS)),
        ("cnn-lap4", Group::CHANNELS, Some(Group::CHANNELS)),
        ("cnn-lap8", Group::CHANNELS, Some(Group::CHANNELS)),
    ];
    for entry in zoo_list() {
        let listed = table.iter().any(|(name, ..)| *name == entry.name);
        assert!(listed || entry.name == "mlp-LxN", "{} is new", entry.name);
    }
    let of = |name: &str, parametrisation| {
        let options = ZooOptions {
            parametrisation,
            ..ZooOptions::default()
        };
        deduce(&zoo(name, &options).unwrap(), SGD)
    };
    for (name, finite, infinite) in table {
        let gaussian = of(name, Some(Parametrisation::He));
        assert_eq!(gaussian.finite.group, Some(finite), "{name}");
        assert_eq!(gaussian.infinite.group, infinite, "{name}");
        assert_eq!(gaussian.finite.larger, finite.larger(), "{name}");
        assert!(gaussian.finite.proof.ends_with('.') && gaussian.infinite.proof.ends_with('.'));
        assert_eq!(
            of(name, Some(Parametrisation::Orthogonal)).finite.group,
            Some(finite)
        );
        // PyTorch's cube keeps permutations alone; some of its networks start Gaussian, as do the kernel networks.
        let Finding { group, .. } = of(name, None).finite;
        let own = [
            "vgg",
            "mobilenet",
            "efficientnet",
            "convnext",
            "fc",
            "lcn",
            "cnn-",
        ];
        let normal = own.iter().any(|s| name.starts_with(s));
        let wanted = if normal {
            finite
        } else {
            finite.permutations()
        };
        assert_eq!(group, Some(wanted), "{name}");
    }
}

/// What reads the input before any weights leaves no rotation.
#[test]
fn nonlinearities_before_the_first_weights() {
    let mut b = Builder::new("early", SHAPE, Parametrisation::He, BiasRule::default()).unwrap();
    let x = b
        .activation(Builder::INPUT, "early", Activation::Tanh)
        .unwrap();
    let x = b.flatten(x, "flatten").unwrap();
    b.dense(x, "out", 3, HasBias::No).unwrap();
    let graph = b.finish();
    let found = deduce(&graph, SGD);
    assert_eq!((found.finite.group, found.infinite.group), (None, None));
    assert!(
        found
            .finite
            .proof
            .contains("early applies tanh to the bare input"),
        "{}",
        found.finite.proof
    );
    let tau = Element::draw(Group::ALL, SHAPE, 0, 0).unwrap();
    let refused = match_weights(&graph, &Weights::draw(&graph, 0, 0), &tau).unwrap_err();
    assert!(refused.to_string().contains("early"));
}

/// Gates behind the first weights leave their rotations, and no kernel.
#[test]
fn gates_before_and_behind_the_first_weights() {
    let of = |layers: &str| {
        let text = format!(
            "input = [3, 6, 6]\nlayers = [ {layers}, {{ op = \"flatten\" }}, {{ op = \"dense\", features = 2 }} ]"
        );
        let options = ZooOptions {
            parametrisation: Some(Parametrisation::He),
            ..ZooOptions::default()
        };
        deduce(&parse_file(&text, "net.toml", &options).unwrap(), SGD)
    };
    let conv = r#"{ op = "conv", channels = 4, kernel = 3 }"#;
    let gate = r#"{ op = "gate", name = "gate", branch = [ { op = "sigmoid" } ] }"#;
    let plain = of(conv);
    let behind = of(&format!("{conv}, {gate}"));
    assert_eq!(behind.finite.group, plain.finite.group);
    assert!(behind.finite.group.is_some());
    assert_eq!(behind.infinite.group, None);
    assert!(
        behind.infinite.proof.contains("at gate, a product"),
        "{}",
        behind.infinite.proof
    );
    let before = of(&format!("{gate}, {conv}"));
    assert_eq!(before.finite.group, None);
}

/// Thm 2.1: GAP_n ⊆ VEC_n ⊆ LCN_n ⊆ VEC_{dn}, outputs equal to rounding, with biases and three hidden layers.
#[test]
fn inclusions() {
    let of = |name: &str, width: usize| {
        let options = ZooOptions {
            input: Some("3x4x5".parse().unwrap()),
            outputs: Some(4),
            width: Some(width),
            depth: Some(3),
            parametrisation: Some(Parametrisation::Ntk {
                w_std: 1.4,
                b_std: 0.3,
            }),
            ..ZooOptions::default()
        };
        zoo(name, &options).unwrap()
    };
    let (n, d) = (3, 20);
    let (gap, vec, lcn) = (of("cnn-gap", n), of("cnn-vec", n), of("lcn", n));
    let wide = of("cnn-vec", d * n);
    let x = normal("x", 6 * 60);
    let output = |graph: &Graph, weights: &Weights<f64>| {
        Network::new(graph.clone()).output(weights, &x).unwrap()
    };
    let w = Weights::<f64>::draw(&gap, 0, 0);
    let in_vec = gap_in_vec(&gap, &w, &vec).unwrap();
    assert!(furthest(&output(&gap, &w), &output(&vec, &in_vec)) < 1e-13);
    let w = Weights::<f64>::draw(&vec, 0, 1);
    let in_lcn = vec_in_lcn(&vec, &w, &lcn).unwrap();
    assert!(furthest(&output(&vec, &w), &output(&lcn, &in_lcn)) < 1e-13);
    let w = Weights::<f64>::draw(&lcn, 0, 2);
    let in_wide = lcn_in_vec(&lcn, &w, &wide).unwrap();
    let (small, large) = (output(&lcn, &w), output(&wide, &in_wide));
    assert!(furthest(&small, &large) < 1e-12);
    assert!(small.iter().any(|f| f.abs() > 0.1));
    assert!(gap_in_vec(&gap, &Weights::<f64>::draw(&gap, 0, 0), &wide).is_err());
    assert!(lcn_in_vec(&lcn, &w, &vec).is_err());
}
