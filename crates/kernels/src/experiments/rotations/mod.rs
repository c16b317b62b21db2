//! Performance against symmetry (Fig 1): every system under every group, on data that a random element of the group has
//! transformed, training and test samples alike.

mod settings;
mod view;

use std::marker::PhantomData;

use polariscope_diff::Place;
use polariscope_experiment::{Cell, Claim, Design, Experiment, Scale, Select, Test, Wanted};
use polariscope_random::Stream;

use super::infinite::{operations, regression};
use super::{ExperimentError, Finite, Precision, Problem, System, Training, accuracy, mean_square};
use crate::symmetry::{Element, Group};
pub(super) use settings::ENTRY;

/// The data as they are.
pub(super) const NONE: &str = "none";
/// Test samples by which accuracies that are equal in exact arithmetic may differ.
const ROUNDING: f64 = 3.0;
/// Systems without pooling are judged on this many times the test samples, where the data have them: they cost little, and
/// VEC and FCN lie close together.
const MORE: usize = 10;

/// The experiment.
pub struct Rotations<T> {
    /// Data of the runs.
    pub problem: Problem,
    /// What is compared; systems that the images do not allow are left out.
    pub systems: Vec<System>,
    /// Groups beside the data as they are.
    pub groups: Vec<Group>,
    /// How the systems learn.
    pub trainings: Vec<Training>,
    /// Hidden layers.
    pub depth: usize,
    /// Width of finite networks.
    pub width: usize,
    /// Updates of finite networks.
    pub steps: u64,
    /// Runs.
    pub runs: u64,
    /// Where kernels and networks are computed.
    pub place: Place,
    /// Precision of kernels and networks.
    pub precision: PhantomData<T>,
}

impl<T: Precision> Rotations<T> {
    /// The systems that are asked for and that the images allow.
    pub fn allowed(&self) -> Vec<System> {
        let shape = self.problem.shape();
        let all = self.systems.iter().copied();
        all.filter(|s| s.suits(shape)).collect()
    }

    /// Test samples that a system is judged on.
    fn tests(&self, system: System, training: Training) -> usize {
        match training {
            Training::Ntk if system.pools() => self.problem.test_count(),
            _ => self.problem.more_tests(MORE),
        }
    }

    fn name(&self, group: Group) -> String {
        group.name(self.problem.shape())
    }

    /// The element of a group that a run uses.
    fn element(&self, group: &str, run: u64) -> Result<Option<Element>, ExperimentError> {
        let shape = self.problem.shape();
        let mut groups = self.groups.iter().copied();
        let Some(group) = groups.find(|g| g.name(shape) == group) else {
            return Ok(None);
        };
        let name = format!("experiment.{}", self.name(group));
        let index = Stream::new(self.problem.seed(), run, &name)
            .cursor()
            .next_u64();
        Ok(Some(Element::draw(
            group,
            shape,
            self.problem.seed(),
            index,
        )?))
    }

    fn claims_of(&self, training: Training) -> Vec<Claim> {
        let at = |system: System, group: &str| {
            Select::of(&[
                ("training", training.name()),
                ("system", system.name()),
                ("group", group),
            ])
        };
        let title = |system: System| system.name().to_uppercase();
        let systems = self.allowed();
        let has = |system: System| systems.contains(&system);
        let own = training.name().to_uppercase();
        let mut claims = Vec::new();
        let mut above = |words: String, upper: Select, lower: Select| {
            let test = Test::Above {
                measure: "accuracy",
                upper,
                lower,
            };
            claims.push(Claim::new(format!("{own}: {words}"), test));
        };
        let orders = [
            (System::Vec, System::Fcn),
            (System::Gap, System::Vec),
            (System::Lap4, System::Vec),
            (System::Lap8, System::Vec),
        ];
        for (upper, lower) in orders.into_iter().filter(|(a, b)| has(*a) && has(*b)) {
            above(
                format!(
                    "{} beats {} on the data as they are",
                    title(upper),
                    title(lower)
                ),
                at(upper, NONE),
                at(lower, NONE),
            );
        }
        let (all, each) = (self.name(Group::ALL), self.name(Group::EACH_POSITION));
        for system in systems.iter().filter(|s| s.group() != Group::ALL) {
            above(
                format!("{} loses under {all}", title(*system)),
                at(*system, NONE),
                at(*system, &all),
            );
        }
        for system in systems.iter().filter(|s| s.group() == Group::CHANNELS) {
            above(
                format!("{} loses under {each}", title(*system)),
                at(*system, NONE),
                at(*system, &each),
            );
        }
        let mut falls = |system: System, to: System, group: &str| {
            if !(has(system) && has(to)) {
                return;
            }
            // ½ (lead without) − (lead with) > 0.
            let terms = vec![
                (0.5, at(system, NONE)),
                (-0.5, at(to, NONE)),
                (-1.0, at(system, group)),
                (1.0, at(to, group)),
            ];
            let test = Test::Contrast {
                measure: "accuracy",
                scale: Scale::Linear,
                terms,
                wanted: Wanted::Positive,
            };
            let words = format!(
                "{own}: {group} takes at least half of {}'s lead over {}",
                title(system),
                title(to)
            );
            claims.push(Claim::new(words, test));
        };
        falls(System::Vec, System::Fcn, &all);
        falls(System::Gap, System::Fcn, &all);
        falls(System::Gap, System::Vec, &each);
        if training == Training::Ntk {
            claims.extend(self.exact(&at));
        }
        claims
    }

    /// Equalities of kernels; finite networks have them in distribution alone.
    fn exact(&self, at: &dyn Fn(System, &str) -> Select) -> Vec<Claim> {
        let equal = |system: System, conditions: Vec<Select>| Test::Equal {
            measure: "accuracy",
            conditions,
            tolerance: ROUNDING / self.tests(system, Training::Ntk).max(1) as f64,
        };
        let systems = self.allowed();
        let mut claims: Vec<Claim> = systems
            .iter()
            .map(|&system| {
                let own = system.group();
                let groups = self.groups.iter().filter(|g| own.contains(g));
                let names: Vec<String> = groups.map(|g| self.name(*g)).collect();
                let all = [NONE].into_iter().chain(names.iter().map(String::as_str));
                Claim::new(
                    format!(
                        "NTK: {} is the same under {} and its subgroups",
                        system.name().to_uppercase(),
                        self.name(own)
                    ),
                    equal(system, all.map(|group| at(system, group)).collect()),
                )
            })
            .collect();
        if systems.contains(&System::Lcn) && systems.contains(&System::Vec) {
            let conditions = vec![at(System::Lcn, NONE), at(System::Vec, NONE)];
            let test = equal(System::Vec, conditions);
            claims.push(Claim::new("NTK: LCN and VEC are the same", test));
        }
        claims
    }
}

impl<T: Precision> Experiment for Rotations<T> {
    type Error = ExperimentError;

    fn design(&self) -> Design {
        let trainings: Vec<&str> = self.trainings.iter().map(|t| t.name()).collect();
        let systems: Vec<&str> = self.allowed().into_iter().map(System::name).collect();
        let groups: Vec<String> = self.groups.iter().map(|g| self.name(*g)).collect();
        let groups: Vec<&str> = [NONE]
            .into_iter()
            .chain(groups.iter().map(String::as_str))
            .collect();
        let factors: [(&str, &[&str]); 3] = [
            ("training", &trainings),
            ("system", &systems),
            ("group", &groups),
        ];
        Design::product(&factors, self.runs, &["accuracy", "mse"])
    }

    fn claims(&self) -> Vec<Claim> {
        let trainings = self.trainings.iter();
        trainings.flat_map(|t| self.claims_of(*t)).collect()
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, ExperimentError> {
        let training: Training = cell.level("training").parse()?;
        let system: System = cell.level("system").parse()?;
        let problem = &self.problem;
        let mut train = problem.train(cell.run, problem.train_count())?;
        let mut test = problem.test_first(cell.run, self.tests(system, training))?;
        if let Some(tau) = self.element(cell.level("group"), cell.run)? {
            (train, test) = (train.moved(&tau)?, test.moved(&tau)?);
        }
        let sizes = (self.depth, self.width);
        let graph = system.graph(problem.shape(), problem.classes(), sizes)?;
        let outputs = match training {
            Training::Ntk => regression::<T>(self.place.device, &graph, &train, &test.x)?,
            Training::Nn | Training::NnPlus | Training::NnPlusPlus => self
                .finite(training, cell.run)
                .learn::<T>(&graph, &train, &test.x)?,
        };
        Ok(vec![
            accuracy(&outputs, problem.classes(), &test.labels),
            mean_square(&outputs, &test.targets),
        ])
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let problem = &self.problem;
        let names = (
            cell.level("system").parse::<System>(),
            cell.level("training").parse(),
        );
        let (Ok(system), Ok(training)) = names else {
            return 1.0;
        };
        let sizes = (self.depth, self.width);
        let Ok(graph) = system.graph(problem.shape(), problem.classes(), sizes) else {
            return 1.0;
        };
        match training {
            Training::Ntk => {
                let tests = self.tests(system, training);
                operations(&graph, problem.train_count(), tests)
            }
            Training::Nn | Training::NnPlus | Training::NnPlusPlus => {
                self.finite(training, cell.run).operations(&graph)
            }
        }
    }
}

impl<T> Rotations<T> {
    fn finite(&self, training: Training, run: u64) -> Finite {
        Finite {
            place: self.place,
            training,
            steps: self.steps,
            seed: self.problem.seed(),
            index: run,
        }
    }
}
