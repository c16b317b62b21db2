//! Training on a GPU against training on the CPU (`cargo xtask test-cuda`).
//!
//! Both make the same steps from the same numbers. Each rounds sums in its own order, and training multiplies such
//! differences from step to step: in f64, and for few steps, they stay near the rounding.

use polariscope_diff::{Device, Number, Place};
use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{
    Augment, BatchSize, Config, Control, Flow, FlowConfig, FlowState, Labels, Length, Loss,
    Optimiser, Origin, Quiet, Samples, Schedule, State, StopReason, TrainError, Trainer, ensemble,
    flows,
};

const GPU: Place = Place {
    device: Device::Cuda(0),
    precision: polariscope_diff::Precision::Full,
};

struct Problem {
    graph: Graph,
    x: Vec<f32>,
    y: Vec<u32>,
}

impl Problem {
    fn new(graph: Graph, samples: usize) -> Self {
        let mut x = vec![0.0; samples * graph.input().len()];
        Stream::new(1, 0, "x").normal(1.0, &mut x);
        let outputs = graph.output().len().max(2) as u32;
        let y = (0..samples as u32).map(|i| i * 7 % outputs).collect();
        Problem { graph, x, y }
    }

    fn zoo(name: &str, input: &str, samples: usize) -> Self {
        let input = Some(input.parse().unwrap());
        let options = ZooOptions {
            input,
            ..ZooOptions::default()
        };
        Problem::new(zoo(name, &options).unwrap(), samples)
    }

    fn samples(&self) -> Samples<'_> {
        Samples {
            x: &self.x,
            y: Labels::Classes(&self.y),
        }
    }

    fn run<T: Number>(&self, place: Place, config: &Config) -> State<T> {
        let state = State::new(&self.graph, config, 3);
        let sets = (self.samples(), Some(self.samples()));
        let mut trainer = Trainer::on(place, &self.graph, config, sets, state).unwrap();
        trainer.run(&mut Quiet).unwrap();
        trainer.into_state()
    }
}

/// Largest difference of tensors over their largest number.
fn error<T: Number>(a: &[Vec<T>], b: &[Vec<T>]) -> f64 {
    let tensors = a.iter().zip(b);
    let errors = tensors.map(|(a, b)| {
        assert_eq!(a.len(), b.len());
        let largest = b.iter().fold(1e-30, |m: f64, x| m.max(x.to_f64().abs()));
        let pairs = a.iter().zip(b);
        pairs.fold(0.0, |m: f64, (a, b)| m.max((a.to_f64() - b.to_f64()).abs())) / largest
    });
    errors.fold(0.0, f64::max)
}

#[track_caller]
fn agree<T: Number>(problem: &Problem, config: &Config, tolerance: f64) {
    let cpu = problem.run::<T>(Place::default(), config);
    let gpu = problem.run::<T>(GPU, config);
    let start = State::<T>::new(&problem.graph, config, 3);
    assert!(error(&start.weights.values, &cpu.weights.values) > 1e-3);
    let found = error(&gpu.weights.values, &cpu.weights.values);
    assert!(found <= tolerance, "weights differ by {found:e}");
    let moments = error(&gpu.moments.first, &cpu.moments.first);
    assert!(moments <= 10.0 * tolerance, "moments differ by {moments:e}");
    assert_eq!((gpu.step, gpu.running), (cpu.step, cpu.running));
    assert_eq!(gpu.history.len(), cpu.history.len());
    for (a, b) in gpu.history.iter().zip(&cpu.history) {
        assert_eq!(a.epoch, b.epoch);
        assert!((a.train_loss - b.train_loss).abs() <= tolerance * b.train_loss.abs());
        let (a_test, b_test) = (a.test_loss.unwrap(), b.test_loss.unwrap());
        assert!((a_test - b_test).abs() <= tolerance * b_test.abs());
        let n = problem.y.len() as f64;
        for (a, b) in [
            (a.train_accuracy, b.train_accuracy),
            (a.test_accuracy, b.test_accuracy),
        ] {
            // A sample on the border between two classes may fall on either side of it.
            assert!((a.unwrap() - b.unwrap()).abs() <= 1.0 / n + 1e-12);
        }
    }
}

fn sgd(momentum: f64, steps: u64) -> Config {
    Config {
        optimiser: Optimiser::Sgd {
            momentum,
            weight_decay: 1e-3,
        },
        learning_rate: 0.05,
        batch_size: BatchSize::Of(16),
        length: Length::Steps(steps),
        ..Config::default()
    }
}

/// Whole batches and a smaller last one, momentum, decay, a falling rate, clipping, two rows of history.
#[test]
#[ignore = "needs a GPU"]
fn lenet() {
    let problem = Problem::zoo("lenet", "1x32x32", 40);
    agree::<f64>(&problem, &sgd(0.9, 6), 1e-12);
    agree::<f32>(&problem, &sgd(0.9, 6), 2e-5);
    let clipped = Config {
        clip: Some(0.1),
        schedule: Schedule::LinearDecay,
        ..sgd(0.0, 6)
    };
    agree::<f64>(&problem, &clipped, 1e-12);
}

/// Batch statistics and their running means.
#[test]
#[ignore = "needs a GPU"]
fn resnet() {
    let problem = Problem::zoo("resnet18", "3x16x16", 32);
    agree::<f64>(&problem, &sgd(0.9, 3), 1e-11);
}

/// Weights that are turned and put together before they are used.
#[test]
#[ignore = "needs a GPU"]
fn convolutions_over_groups() {
    let problem = Problem::zoo("p4m-cnn", "1x12x12", 40);
    agree::<f64>(&problem, &sgd(0.9, 6), 1e-11);
    let problem = Problem::zoo("p4-cnn", "3x16x16", 32);
    agree::<f64>(&problem, &sgd(0.9, 3), 1e-11);
}

#[test]
#[ignore = "needs a GPU"]
fn adam_on_the_whole_set() {
    let problem = Problem::zoo("mlp-2x32", "1x6x6", 24);
    let config = Config {
        optimiser: Optimiser::ADAM,
        learning_rate: 0.01,
        batch_size: BatchSize::Full,
        loss: Loss::Hinge {
            power: 2.0,
            margin: 1.0,
        },
        ..sgd(0.0, 20)
    };
    agree::<f64>(&problem, &config, 1e-10);
}

/// Masks are those of the CPU, step by step.
#[test]
#[ignore = "needs a GPU"]
fn dropout() {
    let text = "input = [12]\nlayers = [{ op = \"dense\", features = 100 }, { op = \"tanh\" }, \
                { op = \"dropout\", rate = 0.3 }, { op = \"dense\", features = 3 }]";
    let problem = Problem::new(
        parse_file(text, "net.toml", &ZooOptions::default()).unwrap(),
        40,
    );
    agree::<f64>(&problem, &sgd(0.9, 8), 1e-12);
}

/// Views are those of the CPU in every epoch, of batches with a smaller last one and of the whole set; resumed as well.
#[test]
#[ignore = "needs a GPU"]
fn crops_and_flips() {
    let problem = Problem::zoo("lenet", "2x20x24", 40);
    for batch_size in [BatchSize::Of(16), BatchSize::Full] {
        let config = Config {
            augment: Augment {
                crop: 3,
                flip: true,
            },
            schedule: Schedule::Cosine,
            batch_size,
            ..sgd(0.9, 7)
        };
        agree::<f64>(&problem, &config, 1e-12);
        let state = State::<f32>::new(&problem.graph, &config, 3);
        let sets = (problem.samples(), Some(problem.samples()));
        let mut trainer = Trainer::on(GPU, &problem.graph, &config, sets, state).unwrap();
        (0..4).for_each(|_| trainer.step().unwrap());
        let bytes = trainer.into_state().to_bytes();
        let state = State::<f32>::from_bytes(&problem.graph, &config, &bytes).unwrap();
        let mut trainer = Trainer::on(GPU, &problem.graph, &config, sets, state).unwrap();
        trainer.run(&mut Quiet).unwrap();
        let whole = problem.run::<f32>(GPU, &config);
        assert_eq!(trainer.state().weights, whole.weights);
    }
}

/// Networks that train together end where they end alone.
#[test]
#[ignore = "needs a GPU"]
fn together() {
    let problem = Problem::zoo("lenet", "1x32x32", 40);
    let config = sgd(0.9, 6);
    let sets = (problem.samples(), Some(problem.samples()));
    let states = ensemble::<f64, _>(GPU, &problem.graph, &config, sets, 0..5, |_, s| s);
    let alone = problem.run::<f64>(Place::default(), &config);
    let third = states.into_iter().nth(3).unwrap().unwrap();
    assert!(error(&third.weights.values, &alone.weights.values) <= 1e-12);
    let losses = [&third, &alone].map(|s| s.history[1].test_loss.unwrap());
    assert!((losses[0] - losses[1]).abs() <= 1e-12 * losses[1]);
}

/// A run that diverges says where, and leaves the last good state; the same as on the CPU.
#[test]
#[ignore = "needs a GPU"]
fn divergence() {
    let problem = Problem::zoo("mlp-2x32", "1x6x6", 24);
    let config = Config {
        learning_rate: 1e30,
        loss: Loss::Mse,
        ..sgd(0.0, 30)
    };
    let ends = [Place::default(), GPU].map(|place| {
        let state = State::<f32>::new(&problem.graph, &config, 3);
        let sets = (problem.samples(), None);
        let mut trainer = Trainer::on(place, &problem.graph, &config, sets, state).unwrap();
        let Err(TrainError::Diverged(why)) = trainer.run(&mut Quiet) else {
            panic!("it should diverge");
        };
        (
            why.step,
            why.epoch,
            why.parameter,
            trainer.into_state().step,
        )
    });
    assert_eq!(ends[0], ends[1]);
}

/// A run that stops and goes on ends with the bits of one that does not stop.
#[test]
#[ignore = "needs a GPU"]
fn resumed() {
    let problem = Problem::zoo("lenet", "1x32x32", 40);
    let config = Config {
        schedule: Schedule::Constant,
        ..sgd(0.9, 8)
    };
    let whole = problem.run::<f32>(GPU, &config);
    let short = Config {
        length: Length::Steps(5),
        ..config.clone()
    };
    let mut state = problem.run::<f32>(GPU, &short);
    // The last step closed a row that the longer run does not close there.
    state.history.truncate(1);
    let sets = (problem.samples(), Some(problem.samples()));
    let mut trainer = Trainer::on(GPU, &problem.graph, &config, sets, state).unwrap();
    trainer.run(&mut Quiet).unwrap();
    assert_eq!(trainer.state().weights, whole.weights);
    assert_eq!(trainer.state().moments, whole.moments);
}

fn flow(problem: &Problem, config: &FlowConfig, device: Device) -> FlowState<f64> {
    let weights = Weights::draw(&problem.graph, 3, 0);
    let (train, test) = (problem.samples(), Some(problem.samples()));
    let mut flow = Flow::new(device, &problem.graph, config, train, test, weights).unwrap();
    let end = flow.run(|_| Control::Continue).unwrap();
    assert_eq!(end, StopReason::Steps);
    flow.into_state()
}

/// Gradient flow accepts the same steps: convolutions in one chunk, outputs measured from the start over several chunks
/// of samples, batch statistics.
#[test]
#[ignore = "needs a GPU"]
fn gradient_flow() {
    let norm = "input = [2, 6, 6]\nlayers = [{ op = \"conv\", channels = 5, kernel = 3 }, { op = \"batch-norm\" }, \
                { op = \"tanh\" }, { op = \"flatten\" }, { op = \"dense\", features = 3 }]";
    let smooth = |name: &str, input: &str| {
        let options = ZooOptions {
            input: Some(input.parse().unwrap()),
            activation: Some("softplus:5".parse().unwrap()),
            ..ZooOptions::default()
        };
        zoo(name, &options).unwrap()
    };
    let norm = parse_file(norm, "net.toml", &ZooOptions::default()).unwrap();
    for (graph, samples, origin, steps) in [
        (smooth("lenet", "1x32x32"), 24, Origin::Zero, 20),
        (smooth("mlp-2x32", "1x6x6"), 1500, Origin::Initial, 60),
        (norm, 20, Origin::Zero, 40),
    ] {
        let problem = Problem::new(graph, samples);
        let config = FlowConfig {
            origin,
            max_steps: steps,
            ..FlowConfig::default()
        };
        let [cpu, gpu] = [Device::Cpu, GPU.device].map(|device| flow(&problem, &config, device));
        assert_eq!((gpu.accepted, gpu.rejected), (cpu.accepted, cpu.rejected));
        assert_eq!((gpu.time, gpu.dt), (cpu.time, cpu.dt));
        let start = Weights::<f64>::draw(&problem.graph, 3, 0);
        assert!(error(&start.values, &cpu.weights.values) > 1e-6);
        let found = error(&gpu.weights.values, &cpu.weights.values);
        assert!(
            found <= 1e-9,
            "{}: weights differ by {found:e}",
            problem.graph.name
        );
        for (a, b) in gpu.history.iter().zip(&cpu.history) {
            let (a, b) = (a.test_loss.unwrap(), b.test_loss.unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs());
        }
    }
}

/// Flows of several networks take the steps that each takes alone on the processor, end for the same reason, and those that
/// end first stay where they are: outputs measured from the start, two sets of batch statistics, and a time that is met.
#[test]
#[ignore = "needs a GPU"]
fn several_flows() {
    let options = ZooOptions {
        input: Some("1x6x6".parse().unwrap()),
        activation: Some("softplus:5".parse().unwrap()),
        ..ZooOptions::default()
    };
    let smooth = zoo("mlp-2x32", &options).unwrap();
    let norm = "input = [2, 6, 6]\nlayers = [{ op = \"conv\", channels = 5, kernel = 3 }, { op = \"batch-norm\" }, \
                { op = \"tanh\" }, { op = \"flatten\" }, { op = \"dense\", features = 3 }]";
    let norm = parse_file(norm, "net.toml", &ZooOptions::default()).unwrap();
    let lazy = FlowConfig {
        alpha: 0.5,
        origin: Origin::Initial,
        max_gradient_change: 1e-3,
        ..FlowConfig::default()
    };
    let rest = FlowConfig {
        max_steps: 40,
        ..FlowConfig::default()
    };
    let timed = FlowConfig {
        max_time: 0.05,
        ..lazy.clone()
    };
    for (graph, config, networks) in [
        (&smooth, &lazy, 5),
        (&smooth, &lazy, 1),
        (&smooth, &timed, 3),
        (&norm, &rest, 3),
    ] {
        let problem = Problem::new(graph.clone(), 24);
        let [cpu, gpu] = [Device::Cpu, GPU.device].map(|device| {
            let start = |i: u64| Weights::<f64>::draw(graph, 7, i);
            let (train, all) = (problem.samples(), 2..2 + networks);
            flows(device, graph, config, train, start, all, |i, end| (i, end))
        });
        assert_eq!(cpu.len(), gpu.len());
        for (a, b) in gpu.into_iter().zip(cpu) {
            let ((i, a), (j, b)) = (a.unwrap(), b.unwrap());
            println!(
                "{}, network {i}: {} accepted, {} refused, time {}, {:?}; weights differ by {:.1e}",
                graph.name,
                a.accepted,
                a.rejected,
                a.time,
                a.stop,
                error(&a.weights.values, &b.weights.values)
            );
            assert_eq!((i, a.stop), (j, b.stop));
            assert_eq!((a.accepted, a.rejected), (b.accepted, b.rejected));
            assert!((a.time - b.time).abs() <= 1e-9 * b.time);
            assert!((a.loss - b.loss).abs() <= 1e-8 * b.loss);
            assert_eq!(a.half.is_some(), b.half.is_some());
            let (half, wanted) = (a.half.unwrap_or(0.0), b.half.unwrap_or(0.0));
            assert!((half - wanted).abs() <= 1e-8 * wanted);
            assert!(error(&a.weights.values, &b.weights.values) <= 1e-8);
            assert!(error(&[a.outputs], &[b.outputs]) <= 1e-8);
            assert!(error(&[a.origin], &[b.origin]) <= 1e-12);
        }
    }
}

/// A start that is no number, and a gradient that jumps, are told as on the processor; the others go on.
#[test]
#[ignore = "needs a GPU"]
fn flows_that_cannot_go_on() {
    let text = "input = [1]\nlayers = [{ op = \"dense\", features = 1 }, { op = \"relu\" }]";
    let graph = parse_file(text, "net.toml", &ZooOptions::default()).unwrap();
    let train = Samples {
        x: &[1.0, 2.0],
        y: Labels::Targets {
            values: &[-1.0, 1.0],
            width: 1,
        },
    };
    let config = FlowConfig {
        loss: Loss::Sse,
        margin: f64::INFINITY,
        max_time: 3.0,
        ..FlowConfig::default()
    };
    let starts = [[1.0, -0.5], [f64::MAX, f64::MAX], [0.5, 0.5]];
    let start = |i: u64| Weights {
        values: starts[i as usize].map(|w| vec![w]).to_vec(),
    };
    let ends = flows::<f64, _>(GPU.device, &graph, &config, train, start, 0..3, |_, end| {
        end
    });
    println!("{ends:?}");
    assert!(matches!(ends[0], Err(TrainError::Stalled { .. })));
    assert!(matches!(ends[1], Err(TrainError::Unfit { .. })));
    let alone = flows::<f64, _>(
        Device::Cpu,
        &graph,
        &config,
        train,
        start,
        2..3,
        |_, end| end,
    );
    assert_eq!(ends[2].is_ok(), alone[0].is_ok());
}
