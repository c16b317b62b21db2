//! The checks: kernels of transformed samples, and training runs on them from matched weights.

use polariscope_data::{Dataset, Labels};
use polariscope_diff::Device;
use polariscope_graph::{Graph, Law};
use polariscope_lens::{Observer, Work};
use polariscope_network::{Network, NetworkError, Weights, multiplications};
use polariscope_nngp::{Kernel, NngpError};
use polariscope_random::Stream;
use polariscope_report::counted;
use polariscope_train::{BatchSize, Config, Length, Optimiser, Schedule, TrainError};

use super::places::{Checked as CheckedPlace, check};
use super::{
    Cell, Deduction, Deviation, Element, Elements, Followed, Group, Motion, Question, Run, Sharing,
    SymmetryError, deduce, distance, kernel_deviation, match_weights, train,
};
use crate::KernelsError;

/// Samples a batch of the runs.
const BATCH: usize = 4;
/// Multiplications that all runs together may take, beyond those that the answer needs.
const RUNS: f64 = 1e11;
/// Multiplications that one transformation of the first weights may take.
const MATCH: f64 = 3e10;
/// Arithmetic that the kernels under one group may take.
const KERNEL: f64 = 1e12;
/// What a thread does of either in a second, about.
const KERNEL_RATE: f64 = 2e9;
const RUN_RATE: f64 = 1e10;
/// Learning rates of the runs: the first at which training does not diverge. Batch norm over a batch of four needs small
/// ones: at 0.05 its activations grow faster than the running statistics that predictions are made with.
const RATES: [f64; 3] = [0.05, 0.005, 0.0005];
/// Loss over what it was at first, or over 1, from which on a run has diverged.
const DIVERGED: f64 = 2.0;
/// Largest sample that is rotated as a whole.
const WHOLE: usize = 4096;
/// Momentum, mini-batches and L2 together.
pub const SGD: Optimiser = Optimiser::Sgd {
    momentum: 0.9,
    weight_decay: 1e-3,
};

/// Samples with labels.
pub struct Material {
    /// Inputs.
    pub x: Vec<f64>,
    /// Classes.
    pub labels: Vec<u32>,
}

impl Material {
    /// Normal numbers with classes in turn.
    pub fn drawn(graph: &Graph, samples: usize, seed: u64) -> Self {
        let mut x = vec![0.0; samples * graph.input().len()];
        Stream::new(seed, 0, "symmetry.x").normal(1.0, &mut x);
        Material {
            x: x.into_iter().map(f64::from).collect(),
            labels: in_turn(graph, samples),
        }
    }

    /// The first training samples.
    pub fn of(data: &Dataset, graph: &Graph, samples: usize) -> Result<Self, KernelsError> {
        if data.shape != graph.input() {
            return Err(KernelsError::Data(format!(
                "data '{}' has samples of {}, but {} reads {}",
                data.name,
                data.shape,
                graph.name,
                graph.input()
            )));
        }
        let n = samples.min(data.train.len());
        let x = &data.train.x[..n * graph.input().len()];
        let labels = match &data.train.y {
            Labels::Classes(y) => y[..n].to_vec(),
            Labels::Targets { .. } => in_turn(graph, n),
        };
        Ok(Material {
            x: x.iter().map(|&x| f64::from(x)).collect(),
            labels,
        })
    }
}

fn in_turn(graph: &Graph, samples: usize) -> Vec<u32> {
    let classes = graph.output().len().max(2) as u32;
    (0..samples as u32).map(|i| i % classes).collect()
}

/// Runs on x and on τx.
#[derive(Clone, Copy, Debug)]
pub struct Twins {
    /// Relative distance of the predictions at the end.
    pub apart: f64,
    /// What the first weights of the twin miss.
    pub missed: f64,
}

/// What was measured under one group.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The group.
    pub group: Group,
    /// Change of the kernels.
    pub kernel: Option<Deviation>,
    /// Change of the runs.
    pub twins: Option<Twins>,
}

/// Everything that was found.
pub struct Measured {
    /// By proof.
    pub deduction: Deduction,
    /// By proof, whatever the law of the first weights: what matched weights can follow.
    pub followed: Option<Group>,
    /// By measurement.
    pub checked: Vec<Checked>,
    /// Motions of the positions.
    pub places: Vec<CheckedPlace>,
    /// Why there are no kernels.
    pub no_kernel: Option<String>,
    /// What is approximate about them.
    pub approximations: Vec<String>,
    /// Why there are no runs.
    pub no_runs: Option<String>,
    /// How far training moved the predictions.
    pub moved: Option<f64>,
    /// Learning rate of the runs.
    pub rate: Option<f64>,
    /// Samples used.
    pub samples: usize,
    /// Updates.
    pub steps: usize,
}

/// Deduces the groups and checks the six, and those over patches where the network has them.
pub fn measure(
    graph: &Graph,
    material: &Material,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Measured, KernelsError> {
    let (setup, steps) = (&question.setup, question.steps);
    let deduction = deduce(graph, SGD);
    let followed = deduce(&gaussian(graph), SGD).finite.group;
    let (kernel, no_kernel) = match Kernel::on(graph, setup.device) {
        Ok(kernel) => (Some(kernel), None),
        Err(e @ NngpError::Cuda(_)) => return Err(e.into()),
        Err(refusal) => (None, Some(refusal.to_string())),
    };
    observer.foretell(seconds(
        graph,
        kernel.as_ref(),
        (material.labels.len(), steps),
    ));
    let groups = groups(
        graph,
        [followed, deduction.infinite.group, deduction.finite.group],
    );
    let runs = Runs::new(graph, material, question);
    let (mut runs, no_runs) = match (followed, runs) {
        (None, _) => (None, Some(deduction.finite.proof.clone())),
        (
            Some(_),
            Err(
                e @ (SymmetryError::Train(TrainError::Device(_))
                | SymmetryError::Network(NetworkError::Device(_))),
            ),
        ) => return Err(e.into()),
        (Some(_), Err(e)) => (None, Some(e.to_string())),
        (Some(_), Ok(runs)) => (Some(runs), None),
    };
    let mut measured = Measured {
        approximations: kernel
            .as_ref()
            .map_or(Vec::new(), |k| k.approximations().to_vec()),
        deduction,
        followed,
        checked: Vec::new(),
        places: Vec::new(),
        no_kernel,
        no_runs,
        moved: runs.as_ref().map(|r| r.moved),
        rate: runs.as_ref().map(|r| r.config.learning_rate),
        samples: material.labels.len(),
        steps,
    };
    observer.begin(Work {
        unit: "groups".into(),
        first: 0,
        total: groups.len() as u64,
        words: format!("checking {}", counted(groups.len() as u64, "group")),
        bytes: 0.0,
    });
    for (done, group) in groups.into_iter().enumerate() {
        observer.advance(done as u64, &|| None)?;
        observer.note(&format!("checking {}", group.name(graph.input())));
        let dim = graph.input().len();
        let whole = group.cell == Cell::All && group.elements == Elements::Orthogonal;
        if whole && dim > WHOLE {
            measured.checked.push(Checked {
                group,
                kernel: None,
                twins: None,
            });
            continue;
        }
        let tau = Element::draw(group, graph.input(), setup.seed, 0)?;
        let kernel = match &kernel {
            Some(kernel) if affordable(kernel, measured.samples) => {
                Some(kernel_deviation(kernel, &material.x, &tau)?)
            }
            _ => None,
        };
        // The group itself and its neighbour are the answer; others are run where that is cheap.
        let needed = Some(group) == followed || Some(group) == followed.and_then(|g| g.larger());
        let twins = match &mut runs {
            Some(runs) if runs.can_match(group) && (needed || runs.can_spend()) => {
                runs.twins(&tau)?
            }
            _ => None,
        };
        measured.checked.push(Checked {
            group,
            kernel,
            twins,
        });
    }
    observer.note("checking motions of the positions");
    measured.places = check(graph, material, kernel.as_ref(), runs.as_mut(), question)?;
    Ok(measured)
}

/// Seconds that kernels and runs under all groups take, about.
fn seconds(graph: &Graph, kernel: Option<&Kernel>, (samples, steps): (usize, usize)) -> f64 {
    let groups = Group::SIX.len() as f64;
    let kernels = kernel.filter(|k| affordable(k, samples)).map_or(0.0, |k| {
        k.operations() * (samples * (samples + 1)) as f64 * groups
    });
    let run = 3.0 * multiplications(graph) as f64 * (steps * BATCH) as f64;
    // That on the samples as they are, two that the answer needs, and others while they are cheap.
    let runs = (3.0 + RUNS / run).min(groups) * run;
    (kernels / KERNEL_RATE + runs / RUN_RATE) / rayon::current_num_threads() as f64
}

fn affordable(kernel: &Kernel, samples: usize) -> bool {
    kernel.operations() * (samples * (samples + 1)) as f64 <= KERNEL
}

/// The same network with every weight starting Gaussian.
fn gaussian(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for param in &mut graph.params {
        param.law = Law::Normal { std: 1.0 };
    }
    graph
}

fn has_diverged(before: f64, after: f64) -> bool {
    !after.is_finite() || after > DIVERGED * before.max(1.0)
}

/// The six groups, with those over patches that were deduced; each once, the largest first.
fn groups(graph: &Graph, found: [Option<Group>; 3]) -> Vec<Group> {
    let patches = found
        .into_iter()
        .flatten()
        .filter(|g| !matches!(g.cell, Cell::All | Cell::Patch([1, 1])));
    let patches =
        patches.flat_map(|g| [Sharing::Own, Sharing::Shared].map(|s| Group { sharing: s, ..g }));
    let mut all: Vec<Group> = Vec::new();
    let [whole, rest @ ..] = Group::SIX;
    for group in std::iter::once(whole).chain(patches).chain(rest) {
        let name = group.name(graph.input());
        if all.iter().all(|g| g.name(graph.input()) != name) {
            all.push(group);
        }
    }
    all
}

/// The run on x, to compare others with.
pub struct Runs<'a> {
    graph: &'a Graph,
    network: Network<f64>,
    material: &'a Material,
    config: Config,
    device: Device,
    start: Weights<f64>,
    end: Weights<f64>,
    moved: f64,
    /// Multiplications of a run, and of all so far.
    cost: f64,
    spent: f64,
}

impl<'a> Runs<'a> {
    fn new(
        graph: &'a Graph,
        material: &'a Material,
        question: &Question,
    ) -> Result<Self, SymmetryError> {
        let (seed, device) = (question.setup.seed, question.setup.device);
        let steps = question.steps;
        let config = Config {
            optimiser: SGD,
            schedule: Schedule::Constant,
            batch_size: BatchSize::Of(BATCH),
            length: Length::Steps(steps as u64),
            init_seed: seed,
            batch_seed: seed,
            ..Config::default()
        };
        let start = Weights::<f64>::draw(graph, seed, 0);
        let mut runs = Runs {
            graph,
            network: Network::on(graph.clone(), device),
            material,
            config,
            device,
            end: start.clone(),
            start,
            moved: 0.0,
            cost: 3.0 * multiplications(graph) as f64 * (steps * BATCH) as f64,
            spent: 0.0,
        };
        let x = material.x.as_slice();
        let before = runs.loss(&runs.start, x)?;
        let mut after = f64::NAN;
        for rate in RATES {
            runs.config.learning_rate = rate;
            runs.end = runs.run(x, runs.start.clone())?;
            after = runs.loss(&runs.end, x)?;
            if !has_diverged(before, after) {
                runs.moved = distance(&runs.network, (&runs.start, x), (&runs.end, x))?;
                return Ok(runs);
            }
        }
        Err(SymmetryError::Diverged {
            rate: runs.config.learning_rate,
            before,
            after,
        })
    }

    /// Mean cross-entropy of the predictions.
    fn loss(&self, weights: &Weights<f64>, x: &[f64]) -> Result<f64, SymmetryError> {
        let outputs = self.graph.output().len();
        let f = self.network.output(weights, x)?;
        let of = |(f, &label): (&[f64], &u32)| match f {
            // One output: its sign tells the class.
            [f] => (if label == 1 { -f } else { *f }).exp().ln_1p(),
            _ => {
                let most = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = f.iter().map(|f| (f - most).exp()).sum();
                most + sum.ln() - f.get(label as usize).copied().unwrap_or(most)
            }
        };
        let each = f.chunks_exact(outputs).zip(&self.material.labels).map(of);
        Ok(each.sum::<f64>() / self.material.labels.len() as f64)
    }

    fn run(&self, x: &[f64], weights: Weights<f64>) -> Result<Weights<f64>, SymmetryError> {
        let run = Run {
            x,
            labels: &self.material.labels,
            config: &self.config,
            device: self.device,
        };
        train(self.graph, weights, run)
    }

    /// Whether the first weights can be transformed in good time: only rotations of whole samples are work.
    fn can_match(&self, group: Group) -> bool {
        let whole = group.cell == Cell::All && group.elements == Elements::Orthogonal;
        let dim = self.graph.input().len() as f64;
        !whole || self.first_rows() * dim * dim <= MATCH
    }

    /// Whether there is time for another run.
    pub fn can_spend(&self) -> bool {
        self.spent + self.cost <= RUNS
    }

    /// Relative distance of the predictions of the twin on moved samples, from weights that follow; nothing where samples
    /// have no such motion.
    pub fn moved(
        &mut self,
        motion: Motion,
        followed: &Followed,
    ) -> Result<Option<f64>, SymmetryError> {
        let Some(moved) = motion.apply(self.graph.input(), &self.material.x) else {
            return Ok(None);
        };
        self.spent += self.cost;
        let end = self.run(&moved, followed.apply(&self.start))?;
        let x = self.material.x.as_slice();
        distance(&self.network, (&self.end, x), (&end, &moved)).map(Some)
    }

    /// The twin on τx; nothing where the first weights meet a pooled input, or where the twin diverges: that is no evidence.
    fn twins(&mut self, tau: &Element) -> Result<Option<Twins>, SymmetryError> {
        self.spent += self.cost;
        let twins = || -> Result<Option<Twins>, SymmetryError> {
            let twin = match_weights(self.graph, &self.start, tau)?;
            let turned = tau.apply(&self.material.x)?;
            let end = self.run(&turned, twin.weights)?;
            let x = self.material.x.as_slice();
            if has_diverged(self.loss(&self.start, x)?, self.loss(&end, &turned)?) {
                return Ok(None);
            }
            Ok(Some(Twins {
                apart: distance(&self.network, (&self.end, x), (&end, &turned))?,
                missed: twin.residual,
            }))
        };
        match twins() {
            Ok(twins) => Ok(twins),
            Err(SymmetryError::FirstLayer { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Rows of the first layers over the sample: outputs times positions.
    fn first_rows(&self) -> f64 {
        let layer = self.graph.nodes.iter().find(|n| {
            use polariscope_graph::Op::{Conv, Dense, Local};
            matches!(n.op, Dense { .. } | Conv { .. } | Local { .. })
        });
        layer.map_or(0.0, |n| n.shape.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    fn runs_of(name: &str, options: ZooOptions) -> (Graph, Material) {
        let input = Some("3x8x8".parse().unwrap());
        let graph = zoo(name, &ZooOptions { input, ..options }).unwrap();
        let material = Material::drawn(&graph, 8, 0);
        (graph, material)
    }

    /// Batch norm diverges at 0.05 here: predictions move 10⁵ times their size. At the rate that is chosen they do not.
    #[test]
    fn a_rate_is_chosen_at_which_training_does_not_diverge() {
        let (graph, material) = runs_of("resnet18", ZooOptions::default());
        let runs = Runs::new(&graph, &material, &Question::default()).unwrap();
        assert!(runs.config.learning_rate < RATES[0]);
        assert!(runs.moved > 1e-3 && runs.moved < 100.0, "{}", runs.moved);
        let (graph, material) = runs_of("cnn-gap", ZooOptions::default());
        let runs = Runs::new(&graph, &material, &Question::default()).unwrap();
        assert_eq!(runs.config.learning_rate, RATES[0]);
    }

    /// Four layers of numbers times 100: no rate of the three is small enough, and nothing is said of runs.
    #[test]
    fn a_diverged_run_is_no_evidence() {
        let options = ZooOptions {
            parametrisation: Some("ntk:100,0".parse().unwrap()),
            activation: Some("identity".parse().unwrap()),
            depth: Some(3),
            width: Some(16),
            ..ZooOptions::default()
        };
        let (graph, material) = runs_of("fcn", options);
        let refused = Runs::new(&graph, &material, &Question::default())
            .err()
            .unwrap();
        assert!(
            refused.to_string().starts_with("training diverged"),
            "{refused}"
        );
        let question = Question::default();
        let found = super::super::answer(&graph, None, &question, &mut polariscope_lens::Quiet);
        let found = found.unwrap().summary;
        assert!(
            found
                .words
                .contains("No training runs were compared: training diverged")
        );
        assert!(!found.words.contains("moved them by") && found.moved.is_none());
        assert!(found.groups.iter().all(|row| row.run_distance.is_none()));
    }
}
