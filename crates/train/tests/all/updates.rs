//! Sequences of updates against arithmetic by hand and against PyTorch 2.15 in f64.

use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_network::Weights;
use polariscope_train::{
    BatchSize, Config, Evaluator, Labels, Length, Loss, Optimiser, Quiet, Samples, Schedule, State,
    Trainer,
};

fn graph(text: &str) -> Graph {
    parse_file(text, "test.toml", &ZooOptions::default()).unwrap()
}

fn full_batch(loss: Loss, optimiser: Optimiser, learning_rate: f64, steps: u64) -> Config {
    Config {
        loss,
        optimiser,
        learning_rate,
        schedule: Schedule::Constant,
        batch_size: BatchSize::Full,
        length: Length::Steps(steps),
        ..Config::default()
    }
}

/// Runs on ½ (w₁² + 4 w₂²) from (1, −2): the loss of w on x = (1, 0), (0, 2) with targets 0.
fn quadratic(config: &Config) -> Vec<f64> {
    let graph = graph("input = [2]\nlayers = [{ op = \"dense\", features = 1, bias = false }]");
    let y = Labels::Targets {
        values: &[0.0, 0.0],
        width: 1,
    };
    let train = Samples {
        x: &[1.0, 0.0, 0.0, 2.0],
        y,
    };
    let state = State::from_weights(
        &graph,
        config,
        Weights {
            values: vec![vec![1.0, -2.0]],
        },
    );
    let mut trainer = Trainer::new(&graph, config, train, None, state).unwrap();
    trainer.run(&mut Quiet).unwrap();
    trainer.into_state().weights.values.remove(0)
}

/// Makes a step that is an epoch; its loss.
fn loss_of_step(trainer: &mut Trainer<f64>) -> f64 {
    trainer.step().unwrap();
    trainer.state().history.last().unwrap().train_loss
}

fn assert_close(have: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(have.len(), want.len());
    for (a, b) in have.iter().zip(want) {
        assert!(
            (a - b).abs() <= tolerance * b.abs().max(1.0),
            "{have:?} instead of {want:?}"
        );
    }
}

#[test]
fn gradient_descent_by_hand() {
    // w ← (1 − η c) w: factors 0.9 and 0.6.
    let config = full_batch(Loss::Sse, Optimiser::GRADIENT_DESCENT, 0.1, 3);
    assert_close(
        &quadratic(&config),
        &[0.9_f64.powi(3), -2.0 * 0.6_f64.powi(3)],
        1e-15,
    );
    // η = 0.1 and 0.05 over two steps: 0.9 · 0.95 and 0.6 · 0.8.
    let config = Config {
        schedule: Schedule::LinearDecay,
        length: Length::Steps(2),
        ..config
    };
    assert_close(&quadratic(&config), &[0.9 * 0.95, -2.0 * 0.6 * 0.8], 1e-15);
    // η/2 (1 + cos(π t/3)) = 0.1, 0.075 and 0.025.
    let config = Config {
        schedule: Schedule::Cosine,
        length: Length::Steps(3),
        ..config
    };
    assert_close(
        &quadratic(&config),
        &[0.9 * 0.925 * 0.975, -2.0 * 0.6 * 0.7 * 0.9],
        1e-15,
    );
}

#[test]
fn momentum_by_hand() {
    // First coordinate: b = 1, w = 0.9; b = 0.9 + 0.9, w = 0.72; b = 1.62 + 0.72, w = 0.486.
    let config = full_batch(
        Loss::Sse,
        Optimiser::Sgd {
            momentum: 0.9,
            weight_decay: 0.0,
        },
        0.1,
        3,
    );
    assert!((quadratic(&config)[0] - 0.486).abs() < 1e-15);
}

#[test]
fn updates_match_pytorch() {
    // loss = 0.5*(c*w*w).sum(), c = [1, 4]; five steps of
    // torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.25)
    let sgd = Optimiser::Sgd {
        momentum: 0.9,
        weight_decay: 0.25,
    };
    let config = full_batch(Loss::Sse, sgd, 0.1, 5);
    assert_close(
        &quadratic(&config),
        &[-0.20659184570312505, 1.3777542382812498],
        1e-13,
    );
    // torch.optim.Adam([w], lr=0.1, weight_decay=0.25)
    let adam = Optimiser::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.25,
    };
    let config = full_batch(Loss::Sse, adam, 0.1, 5);
    assert_close(
        &quadratic(&config),
        &[0.5079636608620691, -1.5029557806078497],
        1e-12,
    );
    // torch.nn.utils.clip_grad_norm_([w], 0.5); torch.optim.SGD([w], lr=0.1, momentum=0.9)
    let sgd = Optimiser::Sgd {
        momentum: 0.9,
        weight_decay: 0.0,
    };
    let config = Config {
        clip: Some(0.5),
        ..full_batch(Loss::Sse, sgd, 0.1, 5)
    };
    assert_close(
        &quadratic(&config),
        &[0.9144262731757118, -1.348409202465897],
        1e-12,
    );
}

/// Trainable tensor k is sin(i + k/2); buffers keep their law.
fn sines(graph: &Graph) -> Weights<f64> {
    let mut weights = Weights::draw(graph, 0, 0);
    let trainable = weights.values.iter_mut().zip(&graph.params);
    let trainable = trainable.filter(|(_, p)| !p.name.contains("running"));
    for (k, (values, _)) in trainable.enumerate() {
        values
            .iter_mut()
            .enumerate()
            .for_each(|(i, w)| *w = (i as f64 + 0.5 * k as f64).sin());
    }
    weights
}

#[test]
fn batch_norm_on_vectors_matches_pytorch() {
    // m = Sequential(Linear(3,4), BatchNorm1d(4), Tanh(), Linear(4,3)), parameter k set to sin(i + k/2);
    // x = [((i*5)%17-8)/8 for i in range(18)]; y = [0,1,2,2,1,0]; three steps of
    // torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) on cross_entropy(m(x), y)
    let graph = graph(
        "input = [3]\nlayers = [{ op = \"dense\", features = 4 }, { op = \"batch-norm\" }, { op = \"tanh\" }, { op = \"dense\", features = 3 }]",
    );
    let x: Vec<f32> = (0..18).map(|i| ((i * 5 % 17) as f32 - 8.0) / 8.0).collect();
    let train = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 2, 2, 1, 0]),
    };
    let sgd = Optimiser::Sgd {
        momentum: 0.9,
        weight_decay: 0.0,
    };
    let config = full_batch(Loss::CrossEntropy, sgd, 0.1, 3);
    let state = State::from_weights(&graph, &config, sines(&graph));
    let mut trainer = Trainer::new(&graph, &config, train, None, state).unwrap();
    let losses = [0; 3].map(|_| loss_of_step(&mut trainer));
    assert_close(
        &losses,
        &[2.309903334118078, 2.1167782358921468, 1.7950954472481104],
        1e-13,
    );
    let weights = trainer.into_state().weights;
    let value = |name: &str| {
        let at = graph.params.iter().position(|p| p.name == name).unwrap();
        weights.values[at].clone()
    };
    let want = [
        (
            "1.weight",
            [
                1.0273399460050827,
                0.976770388951902,
                0.07243767570019889,
                -0.7551457312748714,
            ],
        ),
        (
            "1.bias",
            [
                0.8058636895906971,
                0.5898989776487205,
                -0.10289071965393512,
                -0.8261030335270635,
            ],
        ),
        (
            "1.running_mean",
            [
                0.05182824605306074,
                0.3595053650963212,
                0.06213583264634533,
                0.01037902159660583,
            ],
        ),
        (
            "1.running_var",
            [
                0.7937569198794573,
                0.7863069799166996,
                0.7909957876234407,
                0.7998178395569335,
            ],
        ),
    ];
    for (name, want) in want {
        assert_close(&value(name), &want, 1e-13);
    }
    let want = [
        0.28887136931177787,
        -0.2064759572230834,
        -0.8122366133394547,
    ];
    assert_close(&value("3.bias"), &want, 1e-13);
    // m.eval(); cross_entropy(m(x), y)
    let metrics = Evaluator::new(&graph, Loss::CrossEntropy)
        .evaluate(&weights, &train, &[])
        .unwrap();
    assert_close(&[metrics.loss], &[1.7981702857129582], 1e-13);
}

#[test]
fn batch_norm_on_images_matches_pytorch() {
    // m = Sequential(Conv2d(1,2,3,padding=1), BatchNorm2d(2), ReLU(), Flatten(), Linear(32,1)); convolution weight
    // sin(i), its bias sin(i + 1/2), read-out sin(i + 1) and sin(3/2); x = [((i*7)%23-11)/8 for i in range(48)];
    // y = [1,-1,1]; two steps of torch.optim.Adam(m.parameters(), lr=0.01) on softplus(-y*m(x)[:,0]).mean()
    let graph = graph(
        "input = [1, 4, 4]\nlayers = [{ op = \"conv\", channels = 2, kernel = 3, padding = 1 }, { op = \"batch-norm\" }, { op = \"relu\" }, { op = \"flatten\" }, { op = \"dense\", features = 1 }]",
    );
    let x: Vec<f32> = (0..48)
        .map(|i| ((i * 7 % 23) as f32 - 11.0) / 8.0)
        .collect();
    let train = Samples {
        x: &x,
        y: Labels::Classes(&[1, 0, 1]),
    };
    let config = full_batch(Loss::CrossEntropy, Optimiser::ADAM, 0.01, 2);
    let mut weights = Weights::<f64>::draw(&graph, 0, 0);
    let sines = [
        ("0.weight", 0.0),
        ("0.bias", 0.5),
        ("4.weight", 1.0),
        ("4.bias", 1.5),
    ];
    for (values, param) in weights.values.iter_mut().zip(&graph.params) {
        if let Some((_, phase)) = sines.iter().find(|(name, _)| *name == param.name) {
            values
                .iter_mut()
                .enumerate()
                .for_each(|(i, w)| *w = (i as f64 + phase).sin());
        }
    }
    let state = State::from_weights(&graph, &config, weights);
    let mut trainer = Trainer::new(&graph, &config, train, None, state).unwrap();
    let losses = [0; 2].map(|_| loss_of_step(&mut trainer));
    assert_close(&losses, &[2.6016561403672247, 2.474830010255418], 1e-12);
    let want: [(&str, &[f64]); 4] = [
        (
            "1.running_mean",
            &[0.08090295538704526, 0.19805527330832462],
        ),
        ("1.running_var", &[1.1376165847130386, 1.1441233453720907]),
        ("1.weight", &[0.9800131774245716, 0.9800120771898811]),
        ("4.bias", &[0.9774952576150682]),
    ];
    for (name, want) in want {
        let at = graph.params.iter().position(|p| p.name == name).unwrap();
        // Adam divides by √v: what is left of the convolution bias's zero gradient moves it at random.
        assert_close(&trainer.state().weights.values[at], want, 1e-7);
    }
}
