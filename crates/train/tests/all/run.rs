//! Whole runs: reproducibility, resume, history, divergence, label noise, errors.

use polariscope_diff::{Number, Place};
use polariscope_graph::{Graph, Group, ZooOptions, parse_file, zoo};
use polariscope_network::Network;
use polariscope_random::Stream;
use polariscope_train::{
    BatchSize, Config, Control, Labels, Length, Loss, Observer, Optimiser, Outcome, Quiet, Row,
    Samples, Schedule, State, TrainError, Trainer, csv, ensemble, label_noise,
};

struct Problem {
    graph: Graph,
    x: Vec<f32>,
    y: Vec<u32>,
}

impl Problem {
    /// Normal inputs; the class is the sign of the first number, so that there is something to learn.
    fn new(graph: Graph, n: usize) -> Problem {
        let sample = graph.input().len();
        let mut x = vec![0.0; n * sample];
        Stream::new(1, 0, "x").normal(1.0, &mut x);
        let y = x.chunks(sample).map(|x| u32::from(x[0] > 0.0)).collect();
        Problem { graph, x, y }
    }

    fn samples(&self) -> Samples<'_> {
        Samples {
            x: &self.x,
            y: Labels::Classes(&self.y),
        }
    }

    fn run<T: Number>(&self, config: &Config) -> State<T> {
        let (samples, state) = (self.samples(), State::new(&self.graph, config, 0));
        let mut trainer = Trainer::new(&self.graph, config, samples, Some(samples), state).unwrap();
        assert_eq!(trainer.run(&mut Quiet).unwrap(), Outcome::Finished);
        trainer.into_state()
    }
}

/// Convolution, batch-norm and dropout on 6×6 images.
fn small_net() -> Graph {
    let text = r#"
        input = [2, 6, 6]
        layers = [
            { op = "conv", channels = 8, kernel = 3, padding = 1 }, { op = "batch-norm" }, { op = "relu" },
            { op = "max-pool", size = 2 }, { op = "flatten" }, { op = "dropout", rate = 0.2 },
            { op = "dense", features = 2 },
        ]"#;
    parse_file(text, "test.toml", &ZooOptions::default()).unwrap()
}

fn mlp() -> Graph {
    let options = ZooOptions {
        input: Some("5".parse().unwrap()),
        outputs: Some(1),
        ..ZooOptions::default()
    };
    zoo("mlp-2x16", &options).unwrap()
}

/// Four epochs of four batches, the last of three samples.
fn config() -> Config {
    Config {
        batch_size: BatchSize::Of(20),
        length: Length::Epochs(4),
        label_noise: 0.1,
        ..Config::default()
    }
}

/// Stops once `at` steps are done.
struct StopAt(u64);

impl<T> Observer<T> for StopAt {
    fn on_step(&mut self, state: &State<T>, _: u64) -> Control {
        if state.step == self.0 {
            Control::Stop
        } else {
            Control::Continue
        }
    }
}

/// Interrupted inside an epoch and at its end, by SGD with momentum and by Adam, in f32 and f64.
#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    fn check<T: Number>(problem: &Problem, config: &Config) {
        let whole = problem.run::<T>(config).to_bytes();
        for at in [1, 4, 6] {
            let fresh = State::<T>::new(&problem.graph, config, 0);
            let data = problem.samples();
            let mut first = Trainer::new(&problem.graph, config, data, Some(data), fresh).unwrap();
            assert_eq!(first.run(&mut StopAt(at)).unwrap(), Outcome::Stopped);
            assert_eq!(first.state().step, at);
            let bytes = first.into_state().to_bytes();
            let state = State::<T>::from_bytes(&problem.graph, config, &bytes).unwrap();
            let mut second = Trainer::new(&problem.graph, config, data, Some(data), state).unwrap();
            assert_eq!(second.run(&mut Quiet).unwrap(), Outcome::Finished);
            assert!(second.into_state().to_bytes() == whole, "stopped at {at}");
        }
    }
    let problem = Problem::new(small_net(), 63);
    check::<f32>(&problem, &config());
    check::<f64>(
        &problem,
        &Config {
            optimiser: Optimiser::ADAM,
            learning_rate: 1e-3,
            ..config()
        },
    );
}

/// LeNet's batches are cut into tasks, the batch-norm net's ops into blocks.
#[test]
fn threads_leave_no_trace() {
    let options = ZooOptions {
        input: Some("1x32x32".parse().unwrap()),
        outputs: Some(2),
        ..ZooOptions::default()
    };
    let wide = r#"
        input = [3, 32, 32]
        layers = [
            { op = "conv", channels = 32, kernel = 3, padding = 1 }, { op = "batch-norm" }, { op = "relu" },
            { op = "global-avg-pool" }, { op = "dense", features = 2 },
        ]"#;
    let graphs = [
        zoo("lenet", &options).unwrap(),
        parse_file(wide, "test.toml", &ZooOptions::default()).unwrap(),
    ];
    for graph in graphs {
        let problem = Problem::new(graph, 70);
        let config = Config {
            batch_size: BatchSize::Of(64),
            length: Length::Epochs(2),
            clip: Some(1.0),
            ..Config::default()
        };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| problem.run::<f32>(&config).to_bytes())
        };
        assert!(on(1) == on(2), "{}", problem.graph.name);
    }
}

#[test]
fn learns_and_keeps_a_history() {
    let problem = Problem::new(mlp(), 200);
    let config = Config {
        learning_rate: 0.1,
        batch_size: BatchSize::Of(30),
        length: Length::Epochs(30),
        ..Config::default()
    };
    let state = problem.run::<f32>(&config);
    assert_eq!(state.step, 30 * 7);
    let epochs: Vec<u64> = state.history.iter().map(|row| row.epoch).collect();
    assert_eq!(epochs, (1..=30).collect::<Vec<_>>());
    let (first, last) = (state.history[0], state.history[29]);
    assert!(last.train_loss < 0.5 * first.train_loss);
    // Linearly separable: a network of width 16 gets nearly all of it.
    assert!(last.test_accuracy.unwrap() >= 0.97, "{last:?}");
    assert!(last.train_accuracy.unwrap() >= 0.95, "{last:?}");
    let text = csv(&state.history);
    assert_eq!(
        text.lines().next(),
        Some("epoch,train_loss,train_accuracy,test_loss,test_accuracy")
    );
    assert_eq!(text.lines().count(), 31);
    let cells: Vec<f64> = text
        .lines()
        .nth(30)
        .unwrap()
        .split(',')
        .map(|c| c.parse().unwrap())
        .collect();
    assert_eq!(cells[1..3], [last.train_loss, last.train_accuracy.unwrap()]);
}

/// 10 samples in batches of 4: an epoch is 3 steps, the run ends inside its third epoch.
#[test]
fn steps_cut_the_last_epoch_short() {
    let problem = Problem::new(mlp(), 10);
    let config = Config {
        batch_size: BatchSize::Of(4),
        length: Length::Steps(7),
        schedule: Schedule::Constant,
        ..Config::default()
    };
    let rows = |config: &Config| -> Vec<u64> {
        problem
            .run::<f64>(config)
            .history
            .iter()
            .map(|r| r.epoch)
            .collect()
    };
    assert_eq!(rows(&config), [1, 2, 3]);
    assert_eq!(
        rows(&Config {
            row_every: 2,
            ..config.clone()
        }),
        [2, 3]
    );
    // Under a constant schedule a longer run starts as a shorter one.
    let long = problem.run::<f64>(&Config {
        length: Length::Epochs(5),
        ..config.clone()
    });
    assert_eq!(long.history[..2], problem.run::<f64>(&config).history[..2]);
}

/// A full batch's history holds the loss and accuracy of the weights before each step.
#[test]
fn history_by_hand() {
    let text = "input = [1]\nlayers = [{ op = \"dense\", features = 1, bias = false }]";
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let config = Config {
        loss: Loss::Mse,
        optimiser: Optimiser::GRADIENT_DESCENT,
        learning_rate: 0.25,
        schedule: Schedule::Constant,
        batch_size: BatchSize::Full,
        length: Length::Steps(2),
        ..Config::default()
    };
    // x = 1 and −2 with y = +1 and −1: f = w x; from w = −1 the squares are 4 and 9.
    let train = Samples {
        x: &[1.0, -2.0],
        y: Labels::Classes(&[1, 0]),
    };
    let weights = polariscope_network::Weights {
        values: vec![vec![-1.0]],
    };
    let state = State::from_weights(&graph, &config, weights);
    let mut trainer = Trainer::<f64>::new(&graph, &config, train, Some(train), state).unwrap();
    trainer.run(&mut Quiet).unwrap();
    // dL/dw = mean 2 x (w x − y): x = 1: 2·(−2) = −4; x = −2: −4·(2 + 1) = −12; mean −8. So w = −1 + 2 = 1.
    let first = trainer.state().history[0];
    let want = Row {
        epoch: 1,
        train_loss: 6.5,
        train_accuracy: Some(0.0),
        // w = 1: f = 1 and −2, errors 0 and −1.
        test_loss: Some(0.5),
        test_accuracy: Some(1.0),
    };
    assert_eq!(first, want);
    assert_eq!(trainer.state().history[1].train_loss, 0.5);
}

#[test]
fn divergence_is_diagnosed_and_leaves_the_last_good_state() {
    let problem = Problem::new(mlp(), 50);
    let config = Config {
        loss: Loss::Mse,
        learning_rate: 1e6,
        batch_size: BatchSize::Of(10),
        ..Config::default()
    };
    let state = State::<f32>::new(&problem.graph, &config, 0);
    let mut trainer =
        Trainer::new(&problem.graph, &config, problem.samples(), None, state).unwrap();
    let Err(TrainError::Diverged(diverged)) = trainer.run(&mut Quiet) else {
        panic!("a learning rate of a million converged")
    };
    assert_eq!(diverged.step, trainer.state().step + 1);
    assert_eq!(diverged.epoch, (diverged.step - 1) / 5 + 1);
    assert!(!diverged.loss.is_finite() || !diverged.gradient.is_finite());
    assert!(
        problem
            .graph
            .params
            .iter()
            .any(|p| p.name == diverged.parameter)
    );
    assert!(
        trainer
            .state()
            .weights
            .values
            .iter()
            .flatten()
            .all(|w| w.is_finite())
    );
    let line = diverged.to_string();
    assert!(
        line.contains("try a learning rate of") && !line.contains('\n'),
        "{line}"
    );
}

#[test]
fn label_noise_changes_the_fraction_asked_for() {
    let y: Vec<u32> = (0..1000).map(|i| i % 10).collect();
    let noisy = label_noise(&y, 10, 0.25, 3);
    let shifts: Vec<u32> = y
        .iter()
        .zip(&noisy)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (10 + b - a) % 10)
        .collect();
    assert_eq!(shifts.len(), 250);
    assert!(noisy.iter().all(|&y| y < 10));
    // Each of the nine other classes 250/9 ± 5 times.
    for shift in 1..10 {
        let count = shifts.iter().filter(|&&s| s == shift).count() as f64;
        assert!((count - 250.0 / 9.0).abs() < 4.5 * 5.0, "{shift}: {count}");
    }
    assert_eq!(noisy, label_noise(&y, 10, 0.25, 3));
    assert_ne!(noisy, label_noise(&y, 10, 0.25, 4));
    assert_eq!(label_noise(&y, 10, 0.0, 3), y);
    // One output: two classes, so every label flips.
    assert_eq!(label_noise(&[0, 1, 1, 0], 1, 1.0, 3), [1, 0, 0, 1]);
}

#[test]
fn an_ensemble_is_its_members() {
    let problem = Problem::new(mlp(), 40);
    let config = Config {
        length: Length::Epochs(2),
        ..Config::default()
    };
    let states = ensemble(
        Place::default(),
        &problem.graph,
        &config,
        (problem.samples(), None),
        3..6,
        |_, s: State<f32>| s,
    );
    for (index, state) in (3..6).zip(states) {
        let fresh = State::new(&problem.graph, &config, index);
        let mut trainer =
            Trainer::new(&problem.graph, &config, problem.samples(), None, fresh).unwrap();
        trainer.run(&mut Quiet).unwrap();
        assert_eq!(trainer.into_state(), state.unwrap());
    }
}

/// Every truncation and every flipped byte is an error, never a panic and never another state.
#[test]
fn damaged_checkpoints_are_refused() {
    let problem = Problem::new(mlp(), 20);
    let config = Config {
        length: Length::Epochs(1),
        ..Config::default()
    };
    let bytes = problem.run::<f32>(&config).to_bytes();
    let read = |bytes: &[u8]| State::<f32>::from_bytes(&problem.graph, &config, bytes);
    assert_eq!(read(&bytes).unwrap().to_bytes(), bytes);
    for at in 0..bytes.len() {
        assert!(matches!(
            read(&bytes[..at]),
            Err(TrainError::Checkpoint { .. })
        ));
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert!(
            matches!(read(&flipped), Err(TrainError::Checkpoint { .. })),
            "byte {at}"
        );
    }
    let double = State::<f64>::from_bytes(&problem.graph, &config, &bytes)
        .unwrap_err()
        .to_string();
    assert!(double.contains("f32 numbers instead of f64"), "{double}");
    let other = State::<f32>::from_bytes(&small_net(), &config, &bytes);
    assert!(matches!(other, Err(TrainError::Foreign { .. })));
    let adam = Config {
        optimiser: Optimiser::ADAM,
        ..config
    };
    let other = State::<f32>::from_bytes(&problem.graph, &adam, &bytes);
    assert!(other.unwrap_err().to_string().contains("another optimiser"));
}

#[test]
fn samples_that_do_not_fit_are_refused() {
    let graph = mlp();
    let config = Config::default();
    let wrong = |x: &[f32], y: Labels| {
        let state = State::<f32>::new(&graph, &config, 0);
        Trainer::new(&graph, &config, Samples { x, y }, None, state)
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        wrong(&[], Labels::Classes(&[])),
        "the training set is empty; it needs at least one sample"
    );
    assert_eq!(
        wrong(&[0.0; 9], Labels::Classes(&[0, 1])),
        "the training set has 9 input numbers for 2 labels; 5 numbers a sample would be 10"
    );
    assert_eq!(
        wrong(&[0.0; 10], Labels::Classes(&[0, 2])),
        "sample 1 of the training set has class 2; 1 output(s) tell classes 0 to 1 apart"
    );
    assert_eq!(
        wrong(
            &[0.0; 5],
            Labels::Targets {
                values: &[0.0, 1.0],
                width: 2
            }
        ),
        "the training set has 2 target(s) a sample, the network 1 output(s); make them equal"
    );
}

#[test]
fn configurations_are_checked_and_read_back() {
    let config = Config {
        loss: Loss::Hinge {
            power: 2.0,
            margin: 0.5,
        },
        optimiser: Optimiser::ADAM,
        clip: Some(2.0),
        batch_size: BatchSize::Full,
        length: Length::Steps(12),
        ..Config::default()
    };
    let text = toml::to_string(&config).unwrap();
    assert!(
        text.contains("loss = \"hinge:2,0.5\"") && text.contains("kind = \"adam\""),
        "{text}"
    );
    assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
    let short: Config =
        toml::from_str("optimiser = { kind = \"sgd\" }\nlength = { epochs = 3 }").unwrap();
    assert_eq!(short.optimiser, Optimiser::GRADIENT_DESCENT);
    assert_eq!(short.length, Length::Epochs(3));
    assert!(toml::from_str::<Config>("learning-rat = 1").is_err());
    assert!(toml::from_str::<Config>("loss = \"hinge:0\"").is_err());
    let wrong = |config: Config| config.check().unwrap_err().to_string();
    let zero = wrong(Config {
        learning_rate: 0.0,
        ..Config::default()
    });
    assert_eq!(
        zero,
        "learning rate 0 is out of range; it must be a finite number above 0"
    );
    assert!(
        wrong(Config {
            batch_size: BatchSize::Of(0),
            ..Config::default()
        })
        .contains("batch size")
    );
    assert!(
        wrong(Config {
            label_noise: 1.5,
            ..Config::default()
        })
        .contains("label noise")
    );
    assert!(
        wrong(Config {
            clip: Some(-1.0),
            ..Config::default()
        })
        .contains("gradient clip")
    );
    assert!(
        wrong(Config {
            length: Length::Epochs(0),
            ..Config::default()
        })
        .contains("epochs")
    );
    let sgd = Optimiser::Sgd {
        momentum: 1.0,
        weight_decay: 0.0,
    };
    assert!(
        wrong(Config {
            optimiser: sgd,
            ..Config::default()
        })
        .contains("momentum")
    );
}

/// Biases and norms have one number a field: whatever a step does to them and to the weights, outputs do not turn with the
/// input.
#[test]
fn training_keeps_what_a_group_leaves_alone() {
    let text = r#"
        input = [2, 8, 8]
        layers = [
            { op = "p4m-conv", channels = 3, kernel = 3, padding = 1, bias = false }, { op = "batch-norm" },
            { op = "relu" }, { op = "max-pool", size = 2 },
            { op = "p4m-conv", channels = 3, kernel = 3, padding = 1 }, { op = "tanh" }, { op = "group-pool" }, { op = "global-avg-pool" },
            { op = "dense", features = 2 },
        ]"#;
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let problem = Problem::new(graph, 63);
    let config = Config {
        optimiser: Optimiser::GRADIENT_DESCENT,
        learning_rate: 0.1,
        ..config()
    };
    let before = State::<f64>::new(&problem.graph, &config, 0).weights;
    let after = problem.run::<f64>(&config).weights;
    // Every tensor has moved, running statistics too.
    for ((a, b), param) in (before.values.iter().zip(&after.values)).zip(&problem.graph.params) {
        let moved = a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1e-3);
        assert!(moved, "{}", param.name);
    }
    let network = Network::<f64>::new(problem.graph.clone());
    let x: Vec<f64> = problem.x[..128].iter().map(|&x| f64::from(x)).collect();
    let still = network.output(&after, &x).unwrap();
    let size = still.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    for g in 1..8 {
        let mut turned = vec![0.0; x.len()];
        for (i, &value) in x.iter().enumerate() {
            let [row, column] = Group::place(g, 8, [i % 64 / 8, i % 8]);
            turned[i / 64 * 64 + row * 8 + column] = value;
        }
        let moved = network.output(&after, &turned).unwrap();
        for (a, b) in still.iter().zip(&moved) {
            assert!((a - b).abs() < 1e-13 * size, "element {g}: {a} and {b}");
        }
    }
}
