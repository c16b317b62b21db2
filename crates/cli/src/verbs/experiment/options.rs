//! Sizes by scale, and what each experiment takes.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_kernels::experiments::{Problem, Training};
use polariscope_lens::afford;

use super::{ExperimentArgs, Name, Scale};
use crate::args::{Common, Dtype};
use crate::error::CliError;
use crate::run::fingerprint;

/// Refuses what an experiment does not take.
pub fn refuse(args: &ExperimentArgs, common: &Common) -> Result<(), CliError> {
    let spectra = args.name == Name::Spectra;
    let trial = matches!(args.name, Name::Trial(_));
    let list = args.name == Name::List;
    let which = args.name.text() == "which-geometry";
    // What the experiments on kernels take.
    let kernel = !(trial || list || args.name == Name::All);
    if trial && common.dtype == Dtype::F64 {
        return Err(CliError::Usage(
            "--dtype: the experiments on geometry train in f32; leave it out".into(),
        ));
    }
    let given = [
        ("ARCH", args.architecture.is_some(), trial),
        ("--data", args.data.is_some(), !spectra && !list),
        ("--runs", args.runs.is_some(), !list),
        ("--only", !args.only.is_empty(), trial || kernel),
        ("--train", args.train.is_some(), kernel),
        ("--test", args.test.is_some(), kernel && !spectra),
        ("--depth", args.depth.is_some(), kernel && !spectra),
        ("--width", !args.width.is_empty(), kernel && !spectra),
        ("--steps", args.steps.is_some(), kernel && !spectra),
        (
            "--training",
            !args.training.is_empty(),
            args.name == Name::Rotations,
        ),
        (
            "--systems",
            !args.systems.is_empty(),
            args.name == Name::Rotations,
        ),
        (
            "--no-permutations",
            args.no_permutations,
            args.name == Name::Rotations,
        ),
        ("--sigma", args.sigma.is_some(), which),
        ("--accuracies", !args.accuracies.is_empty(), which),
        ("--flips", args.flips, args.name == Name::Dide),
    ];
    let name = args.name.text();
    if let Some((option, ..)) = given.iter().find(|(_, given, taken)| *given && !taken) {
        return Err(CliError::Usage(format!(
            "{option} is not an option of {name}; leave it out"
        )));
    }
    if which && !args.only.is_empty() && args.sigma.is_none() {
        return Err(CliError::Usage(
            "--only: a part of which-geometry needs its σ; give --sigma too".into(),
        ));
    }
    if args.width.len() > 1 && args.name != Name::SymmetryBreaking {
        return Err(CliError::Usage(format!(
            "--width: {name} takes one width; only symmetry-breaking takes a list"
        )));
    }
    Ok(())
}

/// Sizes, resolved.
pub struct Sizes {
    /// Runs.
    pub runs: u64,
    /// Training samples a run.
    pub train: usize,
    /// Test samples a run.
    pub test: usize,
    /// Hidden layers.
    pub depth: usize,
    /// Widths of finite networks, smallest first.
    pub widths: Vec<usize>,
    /// Updates of finite networks.
    pub steps: u64,
    /// How rotations trains.
    pub trainings: Vec<Training>,
    /// Networks that symmetry-breaking averages over.
    pub networks: u64,
}

impl Sizes {
    /// What was asked for, over what the scale says.
    pub fn new(args: &ExperimentArgs) -> Self {
        // (runs, train, test, depth, widths, steps, networks)
        let (runs, train, test, depth, widths, steps, networks): (_, _, _, _, &[usize], _, _) =
            match (args.name, args.scale) {
                (Name::Rotations, Scale::Small) => (3, 400, 400, 2, &[32], 400, 1),
                (Name::SymmetryBreaking, Scale::Small) => (3, 256, 500, 2, &[8, 16, 32], 300, 3),
                (Name::Dide, Scale::Small) => (3, 1024, 1000, 2, &[32], 600, 1),
                (Name::Spectra | Name::Trial(_) | Name::List | Name::All, Scale::Small) => {
                    (4, 400, 1, 1, &[1], 1, 1)
                }
                (Name::Rotations, Scale::Paper) => (3, 50_000, 10_000, 5, &[512], 20_000, 1),
                (Name::SymmetryBreaking, Scale::Paper) => {
                    (3, 50_000, 10_000, 5, &[64, 128, 256, 512, 1024], 20_000, 10)
                }
                (Name::Dide, Scale::Paper) => (3, 50_000, 10_000, 5, &[512], 20_000, 1),
                (_, Scale::Paper) => (4, 15_000, 1, 1, &[1], 1, 1),
            };
        let mut widths = match args.width.is_empty() {
            true => widths.to_vec(),
            false => args.width.clone(),
        };
        widths.sort_unstable();
        widths.dedup();
        Sizes {
            runs: args.runs.map_or(runs, |r| r as u64),
            train: args.train.unwrap_or(train),
            test: args.test.unwrap_or(test),
            depth: args.depth.unwrap_or(depth),
            widths,
            steps: args.steps.map_or(steps, |s| s as u64),
            trainings: match args.training.is_empty() {
                true => vec![Training::Ntk],
                false => distinct(&args.training),
            },
            networks,
        }
    }

    /// The one width of an experiment that takes one.
    pub fn width(&self) -> usize {
        self.widths.first().copied().unwrap_or(1)
    }

    /// The data of an experiment, with what names them for `run.toml`.
    pub fn problem(
        &self,
        args: &ExperimentArgs,
        common: &Common,
    ) -> Result<(Problem, toml::Table), CliError> {
        let Some(spec) = &args.data else {
            return Err(CliError::Usage(format!(
                "{} needs images with classes, for example --data 'cifar10:DIR?pool=4&standardise'",
                args.name.text()
            )));
        };
        let data = Dataset::load(spec)?;
        let mut configuration = self.configuration();
        configuration.insert("data".into(), spec.as_str().into());
        configuration.insert("data_fingerprint".into(), name_of(&data).into());
        let counts = (self.train, self.test);
        let problem = Problem::new(data, counts, common.seed)?;
        // Gram matrix, its factor, what is between, in f64 and in the engine's type.
        let (m, n) = (self.train as f64, self.test as f64);
        afford(
            8.0 * (3.0 * m * m + 2.0 * m * n),
            "give smaller --train and --test",
        )?;
        Ok((problem, configuration))
    }

    fn configuration(&self) -> toml::Table {
        let number = |n: usize| toml::Value::Integer(n as i64);
        let widths = self.widths.iter().map(|&n| number(n)).collect();
        let trainings = self.trainings.iter().map(|t| t.name().into()).collect();
        let pairs = [
            ("runs", number(self.runs as usize)),
            ("train", number(self.train)),
            ("test", number(self.test)),
            ("depth", number(self.depth)),
            ("widths", toml::Value::Array(widths)),
            ("steps", number(self.steps as usize)),
            ("training", toml::Value::Array(trainings)),
            ("networks", number(self.networks as usize)),
        ];
        pairs
            .map(|(key, value)| (key.to_string(), value))
            .into_iter()
            .collect()
    }
}

fn distinct(trainings: &[Training]) -> Vec<Training> {
    let all = Training::ALL.into_iter();
    all.filter(|t| trainings.contains(t)).collect()
}

/// Names the numbers of a data set.
fn name_of(data: &Dataset) -> String {
    let split = |split: &Split| -> Vec<u64> {
        let labels: Vec<u64> = match &split.y {
            Labels::Classes(y) => y.iter().map(|&y| u64::from(y)).collect(),
            Labels::Targets { values, .. } => {
                values.iter().map(|y| u64::from(y.to_bits())).collect()
            }
        };
        let x = split.x.iter().map(|x| u64::from(x.to_bits()));
        [split.len() as u64]
            .into_iter()
            .chain(labels)
            .chain(x)
            .collect()
    };
    fingerprint(split(&data.train).into_iter().chain(split(&data.test)))
}
