//! From a question to its answer.

use polariscope_diff::Device;
use polariscope_graph::Op;
use polariscope_lens::{Observer, Work, afford};
use polariscope_network::{Contents, Weights};
use polariscope_report::counted;
use polariscope_train::{Labels, Origin, Problem, Samples, TrainError};

use super::network::Task;
use super::plan::Plan;
use super::{Answer, Dynamics, Network, Question, Statistics, Summary, words};
use crate::effective::Parameters;
use crate::spread::{Distance, Ensemble};
use crate::tangent::Tangent;
use crate::{LandscapeError, POINTS};

/// A question about a problem, checked.
pub struct Job<'a> {
    problem: &'a Problem,
    question: &'a Question,
    classes: [&'a [u32]; 2],
    test: Samples<'a>,
    /// Bytes that it needs.
    bytes: f64,
}

/// Networks with their weights.
type Trained = Vec<(Network, Weights<f64>)>;

impl<'a> Job<'a> {
    /// Checks that the question, the network and the data go together.
    pub fn new(problem: &'a Problem, question: &'a Question) -> Result<Self, LandscapeError> {
        question.check()?;
        let refuse = |message: String| Err(LandscapeError::Question(message));
        let (graph, train) = (&problem.graph, problem.train());
        if graph.parameter_count() == 0 {
            return refuse(format!("{} has nothing to train", graph.name));
        }
        let dropout = |op: &Op| matches!(op, Op::Dropout { rate } if *rate > 0.0);
        if let Some(node) = graph.nodes.iter().find(|n| dropout(&n.op)) {
            return refuse(format!(
                "{} ({}) drops numbers by chance, and networks are to differ in their initial weights alone: set its rate to 0",
                node.layer, graph.name
            ));
        }
        let Some(test) = problem.test() else {
            return refuse(format!(
                "data '{}' have no test samples, which errors are told on; give some",
                problem.data.name
            ));
        };
        let (Labels::Classes(y), Labels::Classes(unseen)) = (train.y, test.y) else {
            return refuse(format!(
                "data '{}' have real targets; margins need classes",
                problem.data.name
            ));
        };
        train.check(graph, "training")?;
        test.check(graph, "test")?;
        let first = &y[..POINTS.min(y.len())];
        if first.iter().all(|class| Some(class) == first.first()) {
            return refuse(format!(
                "the first {} of '{}' are all of one class, and nothing is to be told apart; give more of them, in random order",
                counted(first.len() as u64, "training sample"),
                problem.data.name
            ));
        }
        // Weights, gradient, moments, the ones to try.
        let run = problem.memory(size_of::<f64>(), 6, train.len());
        let all = 8.0 * (question.networks * graph.parameter_count()) as f64;
        let plan = Plan::new(
            problem,
            question,
            (train.len(), test.len()),
            &mut Vec::new(),
        );
        let layers = |n, m| Tangent::cost(graph, n, m).1;
        let kernels = match question.setup.device {
            Device::Cpu => {
                let few = plan.points.map_or(0.0, |n| layers(n.min(train.len()), 0));
                let frozen = match plan.frozen {
                    0 => 0.0,
                    _ => layers(train.len(), test.len()),
                };
                few.max(frozen)
            }
            Device::Cuda(_) => 8.0 * (train.len() * (train.len() + test.len())) as f64,
        };
        let bytes = run + all + kernels;
        afford(bytes, "give fewer samples or a smaller network")?;
        Ok(Self {
            problem,
            question,
            classes: [y, unseen],
            test,
            bytes,
        })
    }

    /// Trains and measures.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, LandscapeError> {
        let mut missing = Vec::new();
        let sizes = (self.problem.data.train.len(), self.test.len());
        let plan = Plan::new(self.problem, self.question, sizes, &mut missing);
        let dynamics = Dynamics::of(&self.problem.graph);
        let (dynamics, trained) = match self.train(&dynamics, plan, observer) {
            // Elsewhere the flow may stall too.
            Err(LandscapeError::Train(TrainError::Stalled { time, .. }))
                if dynamics == Dynamics::Flow =>
            {
                let reason = format!("it stalled at time {}", polariscope_report::pretty(time));
                let adam = Dynamics::Adam { reason };
                let trained = self.train(&adam, plan, observer)?;
                (adam, trained)
            }
            trained => (dynamics, trained?),
        };
        let task = self.task(&dynamics, plan);
        let outputs = trained
            .iter()
            .map(|(n, weights)| task.outputs(weights, &self.first(n.index)))
            .collect::<Result<Vec<Vec<f64>>, _>>()?;
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: self.classes[1],
        };
        let curve = ensemble.curve(self.question.setup.seed);
        let distance = self.distance(&task, &trained, &ensemble)?;
        let mut networks: Vec<Network> = trained.into_iter().map(|(n, _)| n).collect();
        let statistics = Statistics::new(&networks, self.test.len(), (&curve, &ensemble), distance);
        if curve.fit.is_none() {
            missing.push(format!(
                "What the noise of the initial weights adds: its error needs four networks, and there are {}.",
                networks.len()
            ));
        }
        let histories = networks
            .iter_mut()
            .map(|n| {
                if let Some(pair) = &mut n.frozen {
                    pair.start.wrong.clear();
                    pair.end.wrong.clear();
                }
                std::mem::take(&mut n.history)
            })
            .collect();
        let mut summary = Summary {
            network: self.problem.graph.name.clone(),
            data: self.problem.data_name().to_string(),
            words: Vec::new(),
            missing,
            train_samples: self.problem.data.train.len(),
            test_samples: self.test.len(),
            outputs: self.problem.graph.output().len(),
            training: dynamics,
            parameters: Parameters::of(&self.problem.graph),
            fitted: networks.iter().filter(|n| n.fitted).count(),
            statistics,
            curve,
            networks,
        };
        summary.words = words::findings(&summary, self.question, self.classes);
        Ok(Answer {
            summary,
            histories,
            outputs,
        })
    }

    fn task<'b>(&'b self, dynamics: &'b Dynamics, plan: Plan) -> Task<'b> {
        Task {
            problem: self.problem,
            question: self.question,
            dynamics,
            train: self.problem.train(),
            test: self.test,
            classes: self.classes,
            plan,
        }
    }

    fn first(&self, index: u64) -> Weights<f64> {
        Weights::draw(&self.problem.graph, self.question.setup.seed, index)
    }

    /// All networks, those that an earlier process trained as it kept them.
    fn train(
        &self,
        dynamics: &Dynamics,
        plan: Plan,
        observer: &mut dyn Observer,
    ) -> Result<Trained, LandscapeError> {
        let (task, graph) = (self.task(dynamics, plan), &self.problem.graph);
        let total = self.question.networks as u64;
        let names = |i: u64| {
            let name = dynamics.name().replace(' ', "-");
            [
                format!("{name}-{i}.toml"),
                format!("{name}-{i}.safetensors"),
            ]
        };
        let mut trained = Trained::new();
        for i in 0..total {
            let [about, file] = names(i);
            let (Some(about), Some(numbers)) = (observer.kept(&about)?, observer.kept(&file)?)
            else {
                break;
            };
            let Ok(network) = toml::from_str(&String::from_utf8_lossy(&about)) else {
                break;
            };
            let weights = Weights::parse(graph, &numbers, Contents::Weights, &file)?;
            trained.push((network, weights));
        }
        observer.begin(Work {
            unit: "networks".into(),
            first: trained.len() as u64,
            total,
            words: format!("{} by {}", counted(total, "network"), dynamics.name()),
            bytes: self.bytes,
        });
        for i in trained.len() as u64..total {
            let (network, weights) = task.network(i, observer)?;
            let [about, numbers] = names(i);
            // What cannot be written is trained again.
            if let Ok(text) = toml::to_string(&network) {
                observer.keep(&numbers, &weights.to_bytes(graph))?;
                observer.keep(&about, text.as_bytes())?;
            }
            trained.push((network, weights));
            observer.advance(i + 1, &|| None)?;
        }
        observer.end();
        Ok(trained)
    }

    /// How far boundaries lie apart.
    fn distance(
        &self,
        task: &Task,
        trained: &Trained,
        ensemble: &Ensemble,
    ) -> Result<Option<Distance>, LandscapeError> {
        let (graph, device) = (&self.problem.graph, self.question.setup.device);
        let objective = task.objective();
        let network = polariscope_network::Network::<f64>::on(graph.clone(), device);
        let x: Vec<f64> = self.test.x.iter().map(|&x| f64::from(x)).collect();
        let mean = ensemble.mean(0..trained.len());
        let norms = |(i, (n, weights)): (usize, &(Network, Weights<f64>))| {
            let u = ensemble.deciders(i, &mean);
            let mut gradient = network.input_vjp(weights, &x, &u)?;
            if objective.origin == Origin::Initial {
                let first = network.input_vjp(&self.first(n.index), &x, &u)?;
                let pairs = gradient.iter_mut().zip(first);
                pairs.for_each(|(g, first)| *g -= first);
            }
            let rows = gradient.chunks_exact(graph.input().len());
            let norm = |row: &[f64]| row.iter().map(|g| g * g).sum::<f64>().sqrt();
            Ok(rows.map(|row| objective.alpha * norm(row)).collect())
        };
        let norms = trained.iter().enumerate().map(norms);
        let norms: Result<Vec<Vec<f64>>, LandscapeError> = norms.collect();
        Ok(ensemble.distance(&norms?))
    }
}
