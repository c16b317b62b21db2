//! Gradient flow against the closed form of linear models.

use polariscope_diff::Device;
use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_network::Weights;
use polariscope_train::{
    Control, Flow, FlowConfig, FlowState, Labels, Loss, Origin, Samples, StopReason, TrainError,
    flow_csv,
};

const X: [f32; 4] = [1.0, 0.5, -0.5, 2.0];
const Y: [f32; 2] = [1.0, -2.0];

fn linear() -> (Graph, Weights<f64>) {
    let text = "input = [2]\nlayers = [{ op = \"dense\", features = 1, bias = false }]";
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    (
        graph,
        Weights {
            values: vec![vec![0.3, -0.7]],
        },
    )
}

fn samples() -> Samples<'static> {
    Samples {
        x: &X,
        y: Labels::Targets {
            values: &Y,
            width: 1,
        },
    }
}

/// f(t) − y = e^{−tK} (f(0) − y), K = X Xᵀ, by the spectral projectors of a symmetric 2 × 2 matrix.
fn residual(t: f64, start: [f64; 2]) -> [f64; 2] {
    let [a, b, c, d] = X.map(f64::from);
    let [p, q, r] = [a * a + b * b, a * c + b * d, c * c + d * d];
    let (mean, half) = ((p + r) / 2.0, (((p - r) / 2.0).powi(2) + q * q).sqrt());
    let (l1, l2) = (mean + half, mean - half);
    let (e1, e2) = ((-t * l1).exp(), (-t * l2).exp());
    // e^{−tK} = [e1 (K − l2) − e2 (K − l1)]/(l1 − l2)
    let entry = |k: f64, unit: f64| (e1 * (k - l2 * unit) - e2 * (k - l1 * unit)) / (l1 - l2);
    let [u, v] = start;
    [
        entry(p, 1.0) * u + entry(q, 0.0) * v,
        entry(q, 0.0) * u + entry(r, 1.0) * v,
    ]
}

fn config(time: f64) -> FlowConfig {
    FlowConfig {
        loss: Loss::Sse,
        margin: f64::INFINITY,
        max_time: time,
        ..FlowConfig::default()
    }
}

/// Largest error of f at time t, and the number of steps.
fn error(config: &FlowConfig) -> (f64, u64) {
    let (graph, weights) = linear();
    let mut flow = Flow::new(Device::Cpu, &graph, config, samples(), None, weights).unwrap();
    let start = [0, 1].map(|i| flow.outputs()[i] - f64::from(Y[i]));
    assert_eq!(flow.run(|_| Control::Continue).unwrap(), StopReason::Time);
    let time = config.max_time;
    assert_eq!(flow.state().time, time);
    let want = residual(time, start);
    let errors = [0, 1].map(|i| (flow.outputs()[i] - f64::from(Y[i]) - want[i]).abs());
    (errors[0].max(errors[1]), flow.state().accepted)
}

/// The bound on the gradient lets λ dt reach √1e-4 = 0.01 on the leading direction, so Euler is off by about
/// (λ dt) λt e^{−λt}/2 ≤ 0.2 % of the residual (here of size 3): first order, a tenth for a hundredth of the bound.
#[test]
fn follows_the_exponential() {
    for time in [0.1, 0.5, 2.0] {
        let (coarse, steps) = error(&config(time));
        assert!(coarse < 0.01, "t = {time}: {coarse}");
        let (fine, more) = error(&FlowConfig {
            max_gradient_change: 1e-6,
            ..config(time)
        });
        assert!(fine < 0.15 * coarse, "t = {time}: {fine} {coarse}");
        assert!(more > 5 * steps);
    }
}

/// α-model: F(0) = 0 and dF/dt = −K (F − y) whatever α is.
#[test]
fn lazy_time_does_not_depend_on_alpha() {
    let (graph, weights) = linear();
    let want = residual(0.5, Y.map(|y| -f64::from(y)));
    for alpha in [0.1, 1.0, 100.0] {
        let config = FlowConfig {
            alpha,
            origin: Origin::Initial,
            ..config(0.5)
        };
        let mut flow = Flow::new(
            Device::Cpu,
            &graph,
            &config,
            samples(),
            None,
            weights.clone(),
        )
        .unwrap();
        let start = flow.outputs().to_vec();
        flow.run(|_| Control::Continue).unwrap();
        for i in 0..2 {
            let predictor = alpha * (flow.outputs()[i] - start[i]);
            let exact = want[i] + f64::from(Y[i]);
            assert!(
                (predictor - exact).abs() < 0.01,
                "α = {alpha}: {predictor} {exact}"
            );
        }
    }
}

#[test]
fn stops_at_the_margin_or_at_rest() {
    let (graph, weights) = linear();
    let classes = Samples {
        x: &X,
        y: Labels::Classes(&[1, 0]),
    };
    // The default: soft hinge until every y F is above 1.
    let soft = FlowConfig::default();
    let mut flow = Flow::new(Device::Cpu, &graph, &soft, classes, None, weights.clone()).unwrap();
    assert_eq!(flow.run(|_| Control::Continue).unwrap(), StopReason::Margin);
    assert!(flow.outputs()[0] > 1.0 && flow.outputs()[1] < -1.0);
    assert_eq!(
        flow.state().history.last().unwrap().train_accuracy,
        Some(1.0)
    );
    // A quadratic hinge has zero gradient beyond its margin.
    let hinge = Loss::Hinge {
        power: 1.0,
        margin: 0.5,
    };
    let rest = FlowConfig {
        loss: hinge,
        margin: f64::INFINITY,
        ..FlowConfig::default()
    };
    let mut flow = Flow::new(Device::Cpu, &graph, &rest, classes, None, weights.clone()).unwrap();
    assert_eq!(
        flow.run(|_| Control::Continue).unwrap(),
        StopReason::Stationary
    );
    assert_eq!(flow.loss(), 0.0);
    // A budget of steps, and an observer.
    let budget = FlowConfig {
        max_steps: 3,
        ..soft
    };
    let mut flow = Flow::new(Device::Cpu, &graph, &budget, classes, None, weights).unwrap();
    assert_eq!(flow.run(|_| Control::Continue).unwrap(), StopReason::Steps);
    let (_, weights) = linear();
    let mut flow = Flow::new(Device::Cpu, &graph, &budget, classes, None, weights).unwrap();
    assert_eq!(flow.run(|_| Control::Stop).unwrap(), StopReason::Observer);
}

#[test]
fn resumes_bit_for_bit() {
    let (graph, weights) = linear();
    let config = FlowConfig {
        alpha: 2.0,
        origin: Origin::Initial,
        ..config(0.3)
    };
    let mut whole = Flow::new(
        Device::Cpu,
        &graph,
        &config,
        samples(),
        None,
        weights.clone(),
    )
    .unwrap();
    whole.run(|_| Control::Continue).unwrap();
    let mut first = Flow::new(Device::Cpu, &graph, &config, samples(), None, weights).unwrap();
    first
        .run(|flow| {
            if flow.state().accepted == 4 {
                Control::Stop
            } else {
                Control::Continue
            }
        })
        .unwrap();
    let bytes = first.into_state().to_bytes();
    let state = FlowState::<f64>::from_bytes(&bytes).unwrap();
    let mut second = Flow::resume(Device::Cpu, &graph, &config, samples(), None, state).unwrap();
    second.run(|_| Control::Continue).unwrap();
    assert_eq!(
        second.into_state().to_bytes(),
        whole.into_state().to_bytes()
    );
    for cut in 0..bytes.len() {
        assert!(FlowState::<f64>::from_bytes(&bytes[..cut]).is_err());
    }
}

/// Tested on its own training set, a flow says everything twice; rows stand at 0, at every third step and at the end.
#[test]
fn history_holds_both_sets() {
    let (graph, weights) = linear();
    let classes = Samples {
        x: &X,
        y: Labels::Classes(&[1, 0]),
    };
    let config = FlowConfig {
        alpha: 3.0,
        origin: Origin::Initial,
        row_every: 3,
        ..FlowConfig::default()
    };
    let mut flow = Flow::new(
        Device::Cpu,
        &graph,
        &config,
        classes,
        Some(classes),
        weights,
    )
    .unwrap();
    assert_eq!(flow.run(|_| Control::Continue).unwrap(), StopReason::Margin);
    let state = flow.state();
    let (first, last) = (state.history[0], state.history[state.history.len() - 1]);
    assert_eq!((first.step, first.time), (0, 0.0));
    // F = 0: softplus(20)/20 a sample, over α²; neither sign is that of class 1.
    let want = (20.0_f64.exp() + 1.0).ln() / 20.0 / 9.0;
    assert!((first.train_loss - want).abs() < 1e-14);
    assert_eq!(first.train_accuracy, Some(0.5));
    assert_eq!((last.step, last.time), (state.accepted, state.time));
    assert_eq!(last.train_accuracy, Some(1.0));
    for (row, next) in state.history.iter().zip(&state.history[1..]) {
        assert!(row.step % 3 == 0 && next.step - row.step <= 3 && next.time > row.time);
        assert!(next.train_loss < row.train_loss);
    }
    for row in &state.history {
        assert!((row.test_loss.unwrap() - row.train_loss).abs() < 1e-14);
        assert_eq!(row.test_accuracy, row.train_accuracy);
    }
    let text = flow_csv(&state.history);
    let last_time = text.lines().last().unwrap().split(',').nth(2).unwrap();
    assert_eq!(last_time.parse(), Ok(state.time));
}

/// f = relu(w x + b); the first sample is pulled through the kink at w + b = 0, where its part of the gradient goes
/// out and that of the second stays. A smooth activation passes.
#[test]
fn a_jump_of_the_gradient_stalls() {
    let flow = |activation: &str| {
        let text = format!(
            "input = [1]\nlayers = [{{ op = \"dense\", features = 1 }}, {{ op = \"{activation}\" }}]"
        );
        let graph = parse_file(&text, "test.toml", &ZooOptions::default()).unwrap();
        let train = Samples {
            x: &[1.0, 2.0],
            y: Labels::Targets {
                values: &[-1.0, 1.0],
                width: 1,
            },
        };
        let weights = Weights {
            values: vec![vec![1.0_f64], vec![-0.5]],
        };
        let config = config(3.0);
        let mut flow = Flow::new(Device::Cpu, &graph, &config, train, None, weights).unwrap();
        let end = flow.run(|_| Control::Continue);
        let weights = &flow.state().weights.values;
        (end, flow.state().accepted, weights[0][0] + weights[1][0])
    };
    let (end, steps, kink) = flow("relu");
    assert!(matches!(end, Err(TrainError::Stalled { .. })), "{end:?}");
    assert!(
        steps < 1000 && (0.0..1e-9).contains(&kink),
        "{steps} {kink}"
    );
    let (end, _, passed) = flow("softplus");
    assert_eq!(end.unwrap(), StopReason::Time);
    assert!(passed < -0.1, "{passed}");
}

#[test]
fn refuses_chance_and_nonsense() {
    let text = "input = [2]\nlayers = [{ op = \"dropout\" }, { op = \"dense\", features = 1 }]";
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let config = FlowConfig::default();
    let flow = Flow::<f64>::new(
        Device::Cpu,
        &graph,
        &config,
        samples(),
        None,
        Weights::draw(&graph, 0, 0),
    );
    assert!(matches!(flow.err(), Some(TrainError::Unfit { .. })));
    let text = "input = [2]\nlayers = [{ op = \"batch-norm\" }, { op = \"dense\", features = 1 }]";
    let norm = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let lazy = FlowConfig {
        origin: Origin::Initial,
        ..FlowConfig::default()
    };
    let flow = Flow::<f64>::new(
        Device::Cpu,
        &norm,
        &lazy,
        samples(),
        None,
        Weights::draw(&norm, 0, 0),
    );
    assert!(matches!(flow.err(), Some(TrainError::Unfit { .. })));
    let (graph, _) = linear();
    let huge = Weights {
        values: vec![vec![f64::MAX, f64::MAX]],
    };
    let flow = Flow::new(Device::Cpu, &graph, &config, samples(), None, huge);
    assert!(matches!(flow.err(), Some(TrainError::Unfit { .. })));
    assert!(
        FlowConfig {
            alpha: 0.0,
            ..FlowConfig::default()
        }
        .check()
        .is_err()
    );
    assert!(
        FlowConfig {
            max_time: f64::NAN,
            ..FlowConfig::default()
        }
        .check()
        .is_err()
    );
}

/// Batch-norm of the input: its mean never changes, so the running mean is (1 − 0.9ᵏ) of it after k steps.
#[test]
fn running_statistics_follow_accepted_steps() {
    let text = "input = [2]\nlayers = [{ op = \"batch-norm\" }, { op = \"dense\", features = 1 }]";
    let graph = parse_file(text, "test.toml", &ZooOptions::default()).unwrap();
    let config = FlowConfig {
        max_steps: 5,
        ..config(100.0)
    };
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    let mut flow = Flow::new(Device::Cpu, &graph, &config, samples(), None, weights).unwrap();
    assert_eq!(flow.run(|_| Control::Continue).unwrap(), StopReason::Steps);
    assert!(flow.state().rejected > 0, "a first step of 1 is too long");
    let at = graph
        .params
        .iter()
        .position(|p| p.name == "0.running_mean")
        .unwrap();
    // Means of X: 0.25 and 1.25.
    for (mean, want) in flow.state().weights.values[at].iter().zip([0.25, 1.25]) {
        assert!(
            (mean - want * (1.0 - 0.9_f64.powi(5))).abs() < 1e-14,
            "{mean}"
        );
    }
}
