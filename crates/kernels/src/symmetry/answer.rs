//! What comes of it: groups with their proofs and measurements, in numbers and words.

use polariscope_data::Dataset;
use polariscope_graph::{Graph, Shape};
use polariscope_lens::Observer;
use polariscope_report::{Align, Table, fill, grouped};
use serde::{Deserialize, Serialize};

use super::measure::{Checked, Material, Measured, measure};
use super::places::{self, Place};
use super::{Finding, Group, Question, words};
use crate::KernelsError;

/// Kernels closer than this are equal.
pub const SAME_KERNEL: f64 = 1e-10;
/// Predictions closer than this are equal.
pub const SAME_RUN: f64 = 1e-6;

/// The group of a network, checked on the first training samples of some data, or on normal numbers without.
pub fn answer(
    graph: &Graph,
    data: Option<&Dataset>,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, KernelsError> {
    if question.samples == 0 {
        return Err(KernelsError::Question(
            "‹samples 0› leaves nothing to transform; give at least 1".into(),
        ));
    }
    let material = match data {
        None => Material::drawn(graph, question.samples, question.setup.seed),
        Some(data) => Material::of(data, graph, question.samples)?,
    };
    let measured = measure(graph, &material, question, observer)?;
    Ok(Answer {
        network: graph.name.clone(),
        input: graph.input().to_string(),
        summary: Summary::new(graph, measured),
    })
}

/// A group that was proved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proved {
    /// `O(3)^1024`, or `none`.
    pub group: String,
    /// As a manifold.
    pub dimension: usize,
    /// The next larger group, no symmetry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub larger: Option<String>,
    /// Why.
    pub proof: String,
}

impl Proved {
    fn new(finding: &Finding, shape: Shape) -> Self {
        Proved {
            group: finding.group.map_or("none".into(), |g| g.name(shape)),
            dimension: finding.group.map_or(0, |g| g.dimension(shape)),
            larger: finding.larger.map(|g| g.name(shape)),
            proof: finding.proof.clone(),
        }
    }
}

/// One group: expectation and measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `O(3)^1024`.
    pub group: String,
    /// What it does.
    pub acts: String,
    /// As a manifold.
    pub dimension: usize,
    /// Whether the network of this width has it, by proof.
    pub finite: bool,
    /// Whether the infinitely wide one has it, by proof; nothing where it has no kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infinite: Option<bool>,
    /// Relative change of the kernels (the larger of NNGP and NTK).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_change: Option<f64>,
    /// Relative distance of the predictions of trained twins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_distance: Option<f64>,
    /// What the twin's first weights miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights_missed: Option<f64>,
}

impl Row {
    fn new(checked: &Checked, measured: &Measured, shape: Shape) -> Self {
        let Checked {
            group,
            kernel,
            twins,
        } = checked;
        let has = |own: Option<Group>| {
            own.is_some_and(|own| same(own, *group, shape) || own.contains(group))
        };
        let infinite = measured.deduction.infinite.group;
        Row {
            group: group.name(shape),
            acts: group.words(),
            dimension: group.dimension(shape),
            finite: has(measured.deduction.finite.group),
            infinite: infinite.map(|_| has(infinite)),
            kernel_change: kernel.map(|k| k.largest()),
            run_distance: twins.map(|t| t.apart),
            weights_missed: twins.map(|t| t.missed),
        }
    }
}

fn same(a: Group, b: Group, shape: Shape) -> bool {
    a.name(shape) == b.name(shape)
}

/// What was found, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The network.
    pub network: String,
    /// Shape of its inputs.
    pub input: String,
    /// The groups.
    pub summary: Summary,
}

/// What was found, in numbers and words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The finding.
    pub words: String,
    /// Samples transformed.
    pub samples: usize,
    /// Updates of the runs.
    pub steps: usize,
    /// How far training moved the predictions, relative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<f64>,
    /// Learning rate of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Why there is no kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_kernel: Option<String>,
    /// Why there are no runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_runs: Option<String>,
    /// What is approximate about the kernels.
    pub approximations: Vec<String>,
    /// At the width given.
    pub finite: Proved,
    /// At infinite width.
    pub infinite: Proved,
    /// Every group.
    pub groups: Vec<Row>,
    /// Every kind of motion of the positions.
    #[serde(default)]
    pub places: Vec<Place>,
}

impl Summary {
    /// Puts the findings into words.
    fn new(graph: &Graph, measured: Measured) -> Self {
        let shape = graph.input();
        let row = |checked| Row::new(checked, &measured, shape);
        let exact = measured.approximations.is_empty();
        let place = |checked| Place::new(checked, shape, exact);
        let mut result = Summary {
            words: String::new(),
            samples: measured.samples,
            steps: measured.steps,
            moved: measured.moved,
            rate: measured.rate,
            finite: Proved::new(&measured.deduction.finite, shape),
            infinite: Proved::new(&measured.deduction.infinite, shape),
            groups: measured.checked.iter().map(row).collect(),
            places: measured.places.iter().map(place).collect(),
            no_kernel: measured.no_kernel.clone(),
            no_runs: measured.no_runs.clone(),
            approximations: measured.approximations.clone(),
        };
        let followed = measured.followed.map(|g| words::Followed {
            group: g.name(shape),
            larger: g.larger().map(|g| g.name(shape)),
        });
        result.words = words::words(&graph.name, &result, followed.as_ref());
        result
    }

    /// The row of a group.
    pub fn row(&self, group: &str) -> Option<&Row> {
        self.groups.iter().find(|r| r.group == group)
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for paragraph in self.words.split("\n\n") {
            text += &fill(paragraph);
            text.push('\n');
        }
        text += &self.table().to_text(width);
        if !self.places.is_empty() {
            text += &format!("\n{}", places::table(&self.places).to_text(width));
        }
        text
    }

    /// Every kind of motion, to the last bit.
    pub fn places_csv(&self) -> String {
        places::table_for_files(&self.places).to_csv()
    }

    /// Every group, to the last bit.
    pub fn csv(&self) -> String {
        self.table_for_files().to_csv()
    }

    /// For people.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("group", Left),
            ("dimension", Right),
            ("this width", Left),
            ("infinite width", Left),
            ("kernels change by", Right),
            ("trained twins differ by", Right),
        ]);
        for row in &self.groups {
            table.push([
                row.group.as_str().into(),
                grouped(row.dimension as u64).into(),
                yes(Some(row.finite)).into(),
                yes(row.infinite).into(),
                number(row.kernel_change).into(),
                number(row.run_distance).into(),
            ]);
        }
        table
    }

    /// For programs.
    fn table_for_files(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("group", Left),
            ("dimension", Right),
            ("finite", Left),
            ("infinite", Left),
            ("kernel_change", Right),
            ("run_distance", Right),
            ("weights_missed", Right),
        ]);
        let plain = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for row in &self.groups {
            table.push([
                row.group.as_str().into(),
                row.dimension.into(),
                row.finite.to_string().into(),
                row.infinite.map_or(String::new(), |i| i.to_string()).into(),
                plain(row.kernel_change).into(),
                plain(row.run_distance).into(),
                plain(row.weights_missed).into(),
            ]);
        }
        table
    }
}

fn yes(known: Option<bool>) -> &'static str {
    match known {
        Some(true) => "invariant",
        Some(false) => "no",
        None => "–",
    }
}

/// `2e-15`, `0.0042`, `0.31`, `–` where it was not measured.
pub fn number(x: Option<f64>) -> String {
    match x {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(x) if x < 1e-3 => format!("{x:.0e}"),
        Some(x) if x < 0.01 => format!("{x:.4}"),
        Some(x) if x < 0.1 => format!("{x:.3}"),
        Some(x) => format!("{x:.2}"),
    }
}
