//! The experiments on problems small enough to know the answer: exact symmetries, nested samples, bends by hand.

use std::marker::PhantomData;

use polariscope_data::{Dataset, Labels, Split};
use polariscope_diff::Place;
use polariscope_experiment::{Cell, Design, Experiment, Outcome, Table, Test};
use polariscope_graph::Shape;
use polariscope_kernels::experiments::{
    Dide, Finite, Flips, Kept, Problem, Rotations, Spectra, SpectraSizes, SymmetryBreaking, System,
    Training,
};
use polariscope_kernels::spheres::Profile;
use polariscope_kernels::symmetry::Group;
use polariscope_random::Stream;

const SHAPE: Shape = Shape::Image {
    channels: 3,
    height: 4,
    width: 4,
};

/// Normal images; the class is the sign of the product of the first channel at two neighbouring positions.
fn split(name: &str, count: usize) -> Split {
    let mut x = vec![0.0_f32; count * SHAPE.len()];
    Stream::new(3, 0, name).normal(1.0, &mut x);
    let class = |x: &[f32]| u32::from(x[0] * x[1] > 0.0);
    let y = x.chunks_exact(SHAPE.len()).map(class).collect();
    Split {
        x,
        y: Labels::Classes(y),
    }
}

fn data() -> Dataset {
    Dataset {
        name: "planted".into(),
        shape: SHAPE,
        classes: 2,
        class_names: ["0", "1"].map(String::from).into(),
        train: split("train", 120),
        test: split("test", 80),
    }
}

fn problem(train: usize, test: usize) -> Problem {
    Problem::new(data(), (train, test), 5).unwrap()
}

/// Fills the table of an experiment.
fn filled<E: Experiment + Sync>(experiment: &E) -> Table
where
    E::Error: std::fmt::Debug + Send,
{
    let design = experiment.design();
    let mut table = Table::new(&design);
    let done = design.fill(
        &mut table,
        1,
        |cell| experiment.measure(cell),
        |_| {},
        |_| Ok(()),
    );
    done.unwrap();
    table
}

#[test]
fn samples_are_nested_in_a_run_and_differ_between_runs() {
    let problem = problem(100, 60);
    let (few, many) = (
        problem.train(0, 20).unwrap(),
        problem.train(0, 100).unwrap(),
    );
    assert_eq!(few.x, many.x[..20 * SHAPE.len()]);
    assert_eq!(few.labels, many.labels[..20]);
    assert_ne!(problem.train(1, 20).unwrap().x, few.x);
    // Centred targets of two classes are ±½.
    let class = many.labels[0] as usize;
    assert_eq!(many.targets[class], 0.5);
    assert_eq!(many.targets[1 - class], -0.5);
    // More test samples begin with the few.
    assert_eq!(problem.more_tests(10), 80);
    let (few, many) = (problem.test(0).unwrap(), problem.test_first(0, 80).unwrap());
    assert_eq!(few.labels, many.labels[..60]);
    let too_many = Problem::new(data(), (121, 60), 5).unwrap_err().to_string();
    assert!(
        too_many.contains("121") && too_many.contains("120"),
        "{too_many}"
    );
}

#[test]
fn mirror_images_reverse_rows() {
    let part = problem(2, 2).train(0, 2).unwrap();
    let both = part.with_flips(SHAPE);
    assert_eq!(both.len(), 4);
    let dim = SHAPE.len();
    let (first, mirror) = (&both.x[..dim], &both.x[2 * dim..3 * dim]);
    for row in 0..dim / 4 {
        for column in 0..4 {
            assert_eq!(first[row * 4 + column], mirror[row * 4 + 3 - column]);
        }
    }
    assert_eq!(both.labels[..2], both.labels[2..]);
}

fn rotations() -> Rotations<f64> {
    Rotations {
        problem: problem(60, 50),
        systems: System::ALL.to_vec(),
        groups: Group::SIX.to_vec(),
        trainings: vec![Training::Ntk],
        depth: 1,
        width: 8,
        steps: 1,
        runs: 2,
        place: Place::default(),
        precision: PhantomData,
    }
}

/// Kernels are invariant under their groups (Thm 3.1), so predictions agree to rounding and no test sample changes class:
/// accuracies are equal, not only close. 4×4 images leave no room for LAP.
#[test]
fn kernels_keep_their_accuracy_under_their_groups() {
    let experiment = rotations();
    assert_eq!(
        experiment.allowed(),
        [System::Fcn, System::Lcn, System::Vec, System::Gap]
    );
    let table = filled(&experiment);
    assert_eq!(table.rows.len(), 4 * 7 * 2);
    let mut judged = 0;
    for claim in experiment.claims() {
        if matches!(claim.test, Test::Equal { .. }) {
            let verdict = claim.judge(&table);
            assert_eq!(verdict.outcome, Outcome::Holds, "{}", verdict.words);
            assert_eq!(verdict.statistic.unwrap().value, 0.0, "{}", verdict.words);
            judged += 1;
        }
    }
    assert_eq!(judged, 5);
}

/// The mean square error of GAP under O(C)^d is another one: the claim above can fail.
#[test]
fn a_larger_group_is_noticed() {
    let experiment = rotations();
    let design = experiment.design();
    let cell = |group: &str| {
        let wanted =
            |c: &&Cell| c.run == 0 && c.level("system") == "gap" && c.level("group") == group;
        design.cells.iter().find(wanted).unwrap().clone()
    };
    let plain = experiment.measure(&cell("none")).unwrap()[1];
    let shared = experiment.measure(&cell("O(3)⊗I_16")).unwrap()[1];
    let own = experiment.measure(&cell("O(3)^16")).unwrap()[1];
    assert!((plain - shared).abs() < 1e-9, "{plain} {shared}");
    assert!((plain - own).abs() > 1e-3, "{plain} {own}");
}

/// A wide network of few samples is trained to the end: at the training inputs it gives the targets back (½² = 0.25 is what
/// it starts from).
#[test]
fn finite_networks_learn_their_samples() {
    let train = problem(16, 2).train(0, 16).unwrap();
    let graph = System::Fcn.graph(SHAPE, 2, (1, 64)).unwrap();
    for training in [Training::Nn, Training::NnPlus] {
        let finite = Finite {
            place: Place::default(),
            training,
            steps: 400,
            seed: 1,
            index: 0,
        };
        let found = finite.learn::<f32>(&graph, &train, &train.x).unwrap();
        let pairs = found.iter().zip(&train.targets);
        let square = pairs.map(|(f, y)| (f - y).powi(2)).sum::<f64>() / 32.0;
        assert!(square < 0.01, "{} {square}", training.name());
    }
    assert!("nn+++".parse::<Training>().is_err());
}

/// MixUp trains on averages of samples: something else is learnt, and it is not the samples.
#[test]
fn mixup_changes_what_is_learnt() {
    let train = problem(16, 2).train(0, 16).unwrap();
    let graph = System::Fcn.graph(SHAPE, 2, (1, 16)).unwrap();
    let learn = |training| {
        let finite = Finite {
            place: Place::default(),
            training,
            steps: 30,
            seed: 1,
            index: 0,
        };
        finite.learn::<f32>(&graph, &train, &train.x).unwrap()
    };
    assert_ne!(learn(Training::NnPlus), learn(Training::NnPlusPlus));
    assert_eq!(learn(Training::NnPlusPlus), learn(Training::NnPlusPlus));
}

/// error = m^{−0.2} up to 128 and m^{−0.5} beyond bends by 0.3 for VEC_n; the others are straight lines.
#[test]
fn bends_are_differences_of_exponents() {
    let experiment = Dide::<f32> {
        problem: problem(120, 2),
        sizes: vec![32, 64, 128, 256, 512],
        flips: Flips::None,
        depth: 1,
        width: 4,
        steps: 1,
        runs: 2,
        place: Place::default(),
        precision: PhantomData,
    };
    let design: Design = experiment.design();
    let mut table = Table::new(&design);
    let error = |cell: &Cell| {
        let m: f64 = cell.level("m").parse().unwrap();
        let straight = m.powf(-0.2);
        let bent = straight * (m / 128.0).max(1.0).powf(-0.3);
        let error = match cell.level("learner") {
            "vec-n" => bent,
            _ => straight,
        };
        // A factor for each run changes no exponent.
        Ok::<_, ()>(vec![error * (1.0 + cell.run as f64), 0.0])
    };
    let filled = design.fill(&mut table, 1, error, |_| {}, |_| Ok(()));
    filled.unwrap();
    for claim in experiment.claims() {
        let statistic = claim.judge(&table).statistic.unwrap();
        assert!(
            (statistic.value - 0.3).abs() < 1e-12,
            "{}: {statistic:?}",
            claim.words
        );
    }
}

#[test]
fn mirror_images_are_one_more_size() {
    let experiment = Dide::<f32> {
        problem: problem(40, 20),
        sizes: vec![10, 20, 40],
        flips: Flips::Last,
        depth: 1,
        width: 2,
        steps: 2,
        runs: 1,
        place: Place::default(),
        precision: PhantomData,
    };
    assert_eq!(experiment.all_sizes(), [10, 20, 40, 80]);
    let table = filled(&experiment);
    assert_eq!(table.rows.len(), 5 * 4);
    let sound = |x: &f64| (0.0..=1.0).contains(x);
    assert!(table.rows.iter().all(|r| sound(&r.values[0])));
}

fn breaking() -> SymmetryBreaking<f64> {
    SymmetryBreaking {
        problem: problem(24, 20),
        times: vec![0.0, 1.0],
        widths: vec![2, 4],
        networks: 2,
        depth: 1,
        steps: 5,
        runs: 2,
        place: Place::default(),
        kept: Kept::default(),
    }
}

/// A cell is the same whether it is measured first or last: what cells share is no state.
#[test]
fn cells_do_not_depend_on_their_order() {
    let experiment = breaking();
    let table = filled(&experiment);
    let last = experiment.design().cells.last().unwrap().clone();
    let alone = breaking().measure(&last).unwrap();
    assert_eq!(alone, table.rows.last().unwrap().values);
    assert_eq!(experiment.claims().len(), 6);
}

/// k = exp on three spheres: what is estimated is the exact spectrum up to its error, with the multiplicities of
/// Thm 4.1: 3p functions of degree 1 for VEC and FCN, 3 for GAP.
#[test]
fn spectra_are_estimated_around_the_exact_ones() {
    let sizes = SpectraSizes {
        patches: vec![3, 4],
        d0: 3,
        s: 2,
        points: 80,
        runs: 2,
        seed: 2,
    };
    let experiment = Spectra::new(sizes, Profile::exp()).unwrap();
    let table = filled(&experiment);
    for claim in &experiment.claims()[..3] {
        let verdict = claim.judge(&table);
        assert_eq!(verdict.outcome, Outcome::Holds, "{verdict:?}");
    }
    let multiplicity = |system: &str, p: &str| {
        let at =
            polariscope_experiment::Select::of(&[("system", system), ("p", p), ("class", "1")]);
        table.mean(&at, "multiplicity").unwrap().value
    };
    assert_eq!(multiplicity("FCN", "4"), 12.0);
    assert_eq!(multiplicity("VEC", "4"), 12.0);
    assert_eq!(multiplicity("GAP", "4"), 3.0);
    assert_eq!(multiplicity("VEC", "3"), 9.0);
}
