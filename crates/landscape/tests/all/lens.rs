//! The `landscape` lens on small problems: every number again by another way, interruptions, refusals.

use std::collections::HashMap;

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_graph::{Activation, ZooOptions, parse_file, zoo};
use polariscope_landscape::lens::{Answer, Dynamics, Job, Question, page};
use polariscope_landscape::{Kernels, LandscapeError, flow};
use polariscope_lens::{Observer, Quiet, Stopped};
use polariscope_linalg::{singular_values, symmetric_eigenvalues};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_train::{
    Control, FlowConfig, Labels, LossHessian, Objective, Origin, Problem, Samples, StopReason,
};

const STRIPE: &str = "stripe?shape=3&train=20&test=60&seed=1";

fn problem(network: &str, activation: Activation, spec: &str) -> Problem {
    let data = Dataset::load(spec).unwrap();
    let options = ZooOptions {
        outputs: Some(1),
        activation: Some(activation.into()),
        ..ZooOptions::with_input(data.shape)
    };
    let graph = zoo(network, &options).unwrap();
    Problem { graph, data }
}

fn smooth() -> Problem {
    problem("mlp-1x6", Activation::Softplus { beta: 5.0 }, STRIPE)
}

fn ask(problem: &Problem, question: &Question) -> Answer {
    Job::new(problem, question)
        .unwrap()
        .answer(&mut Quiet)
        .unwrap()
}

fn classes(samples: Samples<'_>) -> Vec<u32> {
    match samples.y {
        Labels::Classes(y) => y.to_vec(),
        Labels::Targets { .. } => panic!("classes"),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// Share of signs that are wrong.
fn error(outputs: &[f64], classes: &[u32]) -> f64 {
    let pairs = outputs.iter().zip(classes);
    pairs.filter(|(f, y)| (**f > 0.0) != (**y == 1)).count() as f64 / outputs.len() as f64
}

fn mean(all: &[Vec<f64>], of: &[usize]) -> Vec<f64> {
    let sum = |k: usize| of.iter().map(|&i| all[i][k]).sum::<f64>();
    (0..all[0].len())
        .map(|k| sum(k) / of.len() as f64)
        .collect()
}

/// Errors, ensembles and their statistics from the outputs that are kept.
#[test]
fn statistics_are_those_of_the_outputs() {
    let problem = smooth();
    let question = Question {
        networks: 4,
        ..Question::default()
    };
    let answer = ask(&problem, &question);
    let (summary, outputs) = (&answer.summary, &answer.outputs);
    let y = classes(problem.test().unwrap());
    let s = &summary.statistics;

    let errors: Vec<f64> = outputs.iter().map(|f| error(f, &y)).collect();
    for (n, error) in summary.networks.iter().zip(&errors) {
        assert_eq!(n.test_error, *error);
    }
    let average = errors.iter().sum::<f64>() / 4.0;
    let squares: f64 = errors.iter().map(|e| (e - average).powi(2)).sum();
    let (found, standard) = (s.error.unwrap(), (squares / 12.0).sqrt());
    assert!(close(found.value(), average) && close(found.estimate.standard_error, standard));
    // Student's t with three degrees of freedom: 3.182446 at 97.5 %.
    assert!((found.high - average - 3.182_446 * standard).abs() < 1e-6);

    let all = mean(outputs, &[0, 1, 2, 3]);
    assert!(close(s.ensemble.unwrap().value(), error(&all, &y)));
    let squares = |f: &Vec<f64>| -> f64 { f.iter().zip(&all).map(|(f, m)| (f - m).powi(2)).sum() };
    let variance = outputs.iter().map(squares).sum::<f64>() / 3.0 / y.len() as f64;
    assert!(close(s.variance.unwrap().value(), variance));

    // ε(m) over all subsets, and the line through it over 1/m for m = 2, 3, 4.
    let subsets = |m: u32| (0..16usize).filter(move |set| set.count_ones() == m);
    let curve: Vec<f64> = (1..=4)
        .map(|m| {
            let errors = subsets(m).map(|set| {
                let of: Vec<usize> = (0..4).filter(|i| set >> i & 1 == 1).collect();
                error(&mean(outputs, &of), &y)
            });
            let errors: Vec<f64> = errors.collect();
            errors.iter().sum::<f64>() / errors.len() as f64
        })
        .collect();
    for ((m, found), wanted) in summary.curve.points.iter().zip(&curve) {
        assert!(close(found.value, *wanted), "m = {m}");
    }
    let x = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0];
    let (mx, me) = (
        x.iter().sum::<f64>() / 3.0,
        curve[1..].iter().sum::<f64>() / 3.0,
    );
    let top: f64 = x
        .iter()
        .zip(&curve[1..])
        .map(|(x, e)| (x - mx) * (e - me))
        .sum();
    let slope = top / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>();
    let limit = me - slope * mx;
    assert!(close(s.limit.unwrap().value(), limit));
    assert!(close(s.noise.unwrap().value(), curve[0] - limit));
}

/// Training again by hand: the same outputs, margins that are met, how far weights and kernel moved, the Hessian, and the
/// frozen kernels, which an equation of its own is solved for.
#[test]
fn a_network_is_what_its_flow_leads_to() {
    let problem = smooth();
    let question = Question {
        networks: 2,
        ..Question::default()
    };
    let answer = ask(&problem, &question);
    assert_eq!(answer.summary.training, Dynamics::Flow);
    assert!(answer.summary.words[0].contains("by gradient flow"));
    let (graph, sets) = (&problem.graph, (problem.train(), problem.test().unwrap()));
    let n = &answer.summary.networks[1];

    let config = FlowConfig {
        loss: question.loss(),
        origin: Origin::Initial,
        ..FlowConfig::default()
    };
    let first = Weights::<f64>::draw(graph, question.setup.seed, 1);
    let go_on = |_: &polariscope_train::Flow<f64>| Control::Continue;
    let flowed = flow(Device::Cpu, graph, &config, sets, first.clone(), go_on).unwrap();
    assert_eq!(flowed.stop, StopReason::Margin);
    assert_eq!(
        (n.steps, n.fitted, n.gaps.unsatisfied),
        (flowed.steps, true, 0)
    );
    let pairs = answer.outputs[1].iter().zip(&flowed.test);
    assert!(pairs.clone().all(|(a, b)| close(*a, *b)));
    let signs: Vec<f64> = classes(sets.0)
        .iter()
        .map(|&y| 2.0 * f64::from(y) - 1.0)
        .collect();
    assert!(flowed.train.iter().zip(&signs).all(|(f, y)| f * y > 1.0));

    // ‖Δw‖/‖w₀‖: every parameter of this network is trained.
    let all = |w: &Weights<f64>| w.values.concat();
    let (start, end) = (all(&first), all(&flowed.weights));
    let squares = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
    let change: Vec<f64> = end.iter().zip(&start).map(|(a, b)| a - b).collect();
    assert!(close(n.moved, (squares(&change) / squares(&start)).sqrt()));
    assert_eq!(n.layers.len(), 2);

    // ‖ΔΘ‖/‖Θ₀‖ on all 60 test samples, and the alignment on all 20 training samples.
    let kernel = |w, samples| {
        Kernels::of(Device::Cpu, graph, w, (samples, samples))
            .unwrap()
            .train
    };
    let (before, after) = (kernel(&first, sets.1), kernel(&flowed.weights, sets.1));
    let change: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let moved = n.kernel.unwrap();
    assert!(close(
        moved.change,
        (squares(&change) / squares(&before)).sqrt()
    ));
    let average = signs.iter().sum::<f64>() / 20.0;
    let centred: Vec<f64> = signs.iter().map(|y| y - average).collect();
    let cosine = |k: &[f64]| {
        let entry = |i: usize| centred[i / 20] * centred[i % 20];
        let product: f64 = k.iter().enumerate().map(|(i, k)| k * entry(i)).sum();
        product / squares(k).sqrt() / squares(&centred)
    };
    assert!(close(moved.alignment[0], cosine(&kernel(&first, sets.0))));
    assert!(close(
        moved.alignment[1],
        cosine(&kernel(&flowed.weights, sets.0))
    ));

    // The Hessian of L at the end, a column a product.
    let objective = Objective {
        loss: config.loss,
        alpha: 1.0,
        origin: Origin::Initial,
    };
    let x: Vec<f64> = sets.0.x.iter().map(|&x| f64::from(x)).collect();
    let origin = Network::new(graph.clone()).output(&first, &x).unwrap();
    let hessian = LossHessian::of(Device::Cpu, graph, objective, sets.0, &origin).unwrap();
    let parameters = end.len();
    let mut matrix = Vec::new();
    for k in 0..parameters {
        let mut unit = Weights::zeros(graph);
        let mut place = k;
        let own = unit.values.iter_mut().find(|v| {
            let here = place < v.len();
            place -= if here { 0 } else { v.len() };
            here
        });
        own.unwrap()[place] = 1.0;
        matrix.extend(all(&hessian.product(&flowed.weights, &unit).unwrap()));
    }
    let values = symmetric_eigenvalues(&matrix, parameters).unwrap();
    let found = n.curvature.as_ref().unwrap();
    assert!(close(found.largest, values[0]) && close(found.smallest, values[parameters - 1]));
    let negative = values.iter().filter(|l| **l < -1e-9).count();
    let counts = found.parts.unwrap().hessian;
    assert!(counts.negative >= negative && counts.all() == parameters);

    // dF/dt = −Θ ∂ℓ/∂F in small steps until every y F > 1.
    let frozen = n.frozen.as_ref().unwrap();
    for (weights, end) in [(&first, &frozen.start), (&flowed.weights, &frozen.end)] {
        assert!(end.fitted);
        let test = direct(graph, weights, sets, &signs);
        // Where the end falls within a step decides samples that lie on the boundary.
        let near = test.iter().filter(|f| f.abs() < 0.1).count() as f64 / 60.0;
        let wanted = error(&test, &classes(sets.1));
        assert!(
            (end.test_error - wanted).abs() <= near,
            "{} {wanted} {near}",
            end.test_error
        );
    }
}

/// F on the test samples of a network that is linear around its weights.
fn direct(
    graph: &polariscope_graph::Graph,
    weights: &Weights<f64>,
    (train, test): (Samples<'_>, Samples<'_>),
    y: &[f64],
) -> Vec<f64> {
    let kernels = Kernels::of(Device::Cpu, graph, weights, (train, test)).unwrap();
    let n = y.len();
    let largest = symmetric_eigenvalues(&kernels.train, n).unwrap()[0];
    // ℓ″ ≤ β/4n = 5/n: a twentieth of what is stable.
    let dt = 0.02 * n as f64 / largest;
    let (mut f, mut c) = (vec![0.0; n], vec![0.0; n]);
    while f.iter().zip(y).any(|(f, y)| f * y <= 1.0) {
        let pull = |(f, y): (&f64, &f64)| y / (1.0 + (20.0 * (y * f - 1.0)).exp()) / n as f64;
        let r: Vec<f64> = f.iter().zip(y).map(pull).collect();
        for i in 0..n {
            let row = &kernels.train[i * n..(i + 1) * n];
            f[i] += dt * row.iter().zip(&r).map(|(k, r)| k * r).sum::<f64>();
            c[i] += dt * r[i];
        }
    }
    let rows = kernels.test.chunks(n);
    rows.map(|row| row.iter().zip(&c).map(|(k, c)| k * c).sum())
        .collect()
}

/// N_eff of every network: the rank of gradients at all samples and of their differences along every coordinate.
#[test]
fn effective_parameters_are_a_rank() {
    let spec = "stripe?shape=3&train=31&test=31&seed=1";
    let problem = problem("mlp-1x6", Activation::Relu, spec);
    let question = Question {
        networks: 2,
        steps: Some(40),
        ..Question::default()
    };
    let mut kept = Kept::default();
    let job = Job::new(&problem, &question).unwrap();
    let summary = job.answer(&mut kept).unwrap().summary;
    assert!(matches!(&summary.training, Dynamics::Adam { reason } if reason.contains("relu")));
    // 4·6 + 7 parameters, 6 of whose scales are free.
    assert_eq!(
        (summary.parameters.all, summary.parameters.weights),
        (31, 24)
    );
    let graph = &problem.graph;
    let network = Network::new(graph.clone());
    for n in &summary.networks {
        let file = &kept.files[&format!("full-batch-Adam-{}.safetensors", n.index)];
        let contents = polariscope_network::Contents::Weights;
        let weights = Weights::<f64>::parse(graph, file, contents, "kept").unwrap();
        let x = problem.train().x.iter().chain(problem.test().unwrap().x);
        let x: Vec<f64> = x.map(|&x| f64::from(x)).collect();
        let gradients = |x: &[f64]| {
            network
                .sample_gradients(&weights, x, Scalar::Logit(0))
                .unwrap()
        };
        let here = gradients(&x);
        let mut rows = here.concat();
        let step = 1e-6;
        for coordinate in 0..3 {
            let mut moved = x.clone();
            moved
                .iter_mut()
                .skip(coordinate)
                .step_by(3)
                .for_each(|x| *x += step);
            for (there, here) in gradients(&moved).iter().zip(&here) {
                rows.extend(there.iter().zip(here).map(|(a, b)| (a - b) / step));
            }
        }
        let values = singular_values(&rows, 31).unwrap();
        let rank = values.iter().filter(|v| **v > 1e-7 * values[0]).count();
        let found = n.effective.as_ref().unwrap();
        assert_eq!(found.rank, rank, "network {}", n.index);
        assert!(found.rank <= 31 - 6);
        // A unit is dead where w·x + b ≤ 0 on every training sample.
        let (w, b) = (&weights.values[0], &weights.values[1]);
        let fires = |k: usize| {
            let mut samples = x[..31 * 3].chunks(3);
            samples.any(|x| x.iter().zip(&w[3 * k..]).map(|(x, w)| x * w).sum::<f64>() + b[k] > 0.0)
        };
        let dead: Vec<usize> = (0..6).filter(|&k| !fires(k)).collect();
        let named = n.dead_units.iter().flat_map(|(_, units)| units.clone());
        assert_eq!(named.collect::<Vec<usize>>(), dead);
    }
    let ranks = summary
        .networks
        .iter()
        .map(|n| n.effective.as_ref().unwrap().rank as f64);
    assert!(close(
        summary.statistics.effective.unwrap().value(),
        ranks.sum::<f64>() / 2.0
    ));
}

/// Too few steps: every number is there, and the words say that training stopped.
#[test]
fn training_may_stop_short() {
    let problem = problem("mlp-2x8", Activation::Relu, STRIPE);
    let question = Question {
        networks: 3,
        steps: Some(3),
        ..Question::default()
    };
    let answer = ask(&problem, &question);
    let summary = &answer.summary;
    assert_eq!((summary.fitted, summary.networks[0].steps), (0, 3));
    assert!(
        summary.words[1].contains("training stopped after 3 steps"),
        "{:?}",
        summary.words
    );
    assert!(
        answer
            .histories
            .iter()
            .all(|rows| rows.last().unwrap().0 == 3)
    );
    let s = &summary.statistics;
    let numbers = [
        s.kernel,
        s.weights,
        s.alignment_after,
        s.frozen_end,
        s.variance,
        s.largest,
        s.negative,
    ];
    assert!(numbers.iter().all(Option::is_some));
    // Three networks have no error of the line over 1/m.
    assert!(
        s.limit.is_none()
            && summary
                .missing
                .iter()
                .any(|m| m.contains("needs four networks"))
    );
    let html = page(&answer, "polariscope landscape", Vec::new()).html();
    assert!(html.matches("<svg").count() >= 4, "figures");
    assert!(!html.contains("takes the noise") && !html.contains("falls like"));
}

/// Batch norm: by Adam from f₀ = 0; what is asked of single samples is told too.
#[test]
fn batch_norm_has_every_number() {
    let text = r#"
        input = [3]
        layers = [
            { op = "dense", features = 8 }, { op = "batch-norm" }, { op = "tanh" },
            { op = "dense", features = 1 },
        ]"#;
    let graph = parse_file(text, "norm.toml", &ZooOptions::default()).unwrap();
    let data = Dataset::load(STRIPE).unwrap();
    let problem = Problem { graph, data };
    let question = Question {
        networks: 3,
        rate: 0.01,
        ..Question::default()
    };
    let summary = ask(&problem, &question).summary;
    assert!(
        summary.words[0].contains("batch-norm"),
        "{}",
        summary.words[0]
    );
    assert_eq!(summary.fitted, 3);
    let s = &summary.statistics;
    let numbers = [
        s.kernel,
        s.weights,
        s.alignment_before,
        s.frozen_start,
        s.variance,
        s.largest,
        s.distance_overall,
    ];
    assert!(numbers.iter().all(Option::is_some), "{:?}", summary.missing);
}

/// Keeps pieces, and has the work stopped when so many are kept.
#[derive(Default)]
struct Kept {
    files: HashMap<String, Vec<u8>>,
    stop_at: Option<usize>,
}

impl Observer for Kept {
    fn advance(&mut self, _: u64, _: &dyn Fn() -> Option<Vec<u8>>) -> Result<(), Stopped> {
        match self.stop_at {
            Some(most) if self.files.len() >= most => Err(Stopped),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, name: &str, content: &[u8]) -> Result<(), Stopped> {
        self.files.insert(name.into(), content.to_vec());
        Ok(())
    }

    fn kept(&mut self, name: &str) -> Result<Option<Vec<u8>>, Stopped> {
        Ok(self.files.get(name).cloned())
    }
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let problem = smooth();
    let question = Question {
        networks: 3,
        ..Question::default()
    };
    let whole = ask(&problem, &question);
    let job = Job::new(&problem, &question).unwrap();
    let mut kept = Kept {
        stop_at: Some(2),
        ..Kept::default()
    };
    // After the first network, two files of which are kept.
    let stopped = job.answer(&mut kept).unwrap_err();
    assert!(matches!(stopped, LandscapeError::Stopped(_)) && kept.files.len() == 2);
    kept.stop_at = None;
    let resumed = job.answer(&mut kept).unwrap();
    assert_eq!(kept.files.len(), 6);
    assert_eq!(resumed.summary, whole.summary);
    assert_eq!(resumed.histories, whole.histories);
    assert_eq!(resumed.files(), whole.files());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let of = |problem: &Problem, question: &Question| {
        let error = Job::new(problem, question).err().expect("refused");
        assert!(error.is_usage());
        let line = error.to_string();
        assert!(!line.contains('\n'), "{line}");
        line
    };
    let one = Question {
        networks: 1,
        ..Question::default()
    };
    assert!(of(&smooth(), &one).contains("‹networks 1›"));
    let asked = Question::default();
    let on = |spec: &str| of(&problem("mlp-1x6", Activation::Tanh, spec), &asked);
    let line = on("stripe?shape=3&train=20&test=0");
    assert!(line.contains("no test samples"), "{line}");
    let line = on("stripe?shape=3&train=1&test=20");
    assert!(line.contains("all of one class"), "{line}");
    let with = |layers: &str| {
        let text = format!("input = [3]\nlayers = [{layers}]");
        let graph = parse_file(&text, "file.toml", &ZooOptions::default()).unwrap();
        let data = Dataset::load(STRIPE).unwrap();
        of(&Problem { graph, data }, &asked)
    };
    let line = with("{ op = \"dropout\" }, { op = \"dense\", features = 1 }");
    assert!(line.contains("drops numbers by chance"), "{line}");
    let line = with("{ op = \"tanh\" }");
    assert!(line.contains("nothing to train"), "{line}");
    let targets = with_targets();
    let line = of(&targets, &asked);
    assert!(line.contains("real targets"), "{line}");
}

/// Samples with real targets.
fn with_targets() -> Problem {
    let mut problem = smooth();
    for split in [&mut problem.data.train, &mut problem.data.test] {
        split.y = polariscope_data::Labels::Targets {
            values: vec![0.5; split.len()],
            width: 1,
        };
    }
    problem
}
