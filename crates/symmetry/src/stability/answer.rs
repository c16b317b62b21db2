//! What comes of it: D, G and R with intervals, over displacements and depth.

use polariscope_report::{Align, Cell, Table, fill};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{Rules, words};
use crate::value::short;
use crate::{Origin, Value};

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// In numbers and words.
    pub summary: Summary,
    /// Some of the images.
    pub pictures: Vec<Shown>,
}

/// An image as the networks saw it: rows of red, green and blue.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Which one.
    pub image: usize,
    /// x.
    pub clean: Vec<Vec<[f64; 3]>>,
    /// τx.
    pub deformed: Vec<Vec<[f64; 3]>>,
    /// x + η.
    pub noisy: Vec<Vec<[f64; 3]>>,
}

/// The finding in words and numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The finding.
    pub words: String,
    /// The architecture.
    pub network: String,
    /// Whose images.
    pub data: String,
    /// How many.
    pub images: usize,
    /// δ that was asked for, in pixels.
    pub displacement: f64,
    /// c.
    pub cutoff: usize,
    /// Modes below it.
    pub modes: usize,
    /// The range of T.
    pub valid: [f64; 2],
    /// How deformations and averages are understood.
    pub rules: Rules,
    /// At the initial weights, then at those that were learnt.
    pub networks: Vec<Network>,
    /// What learning changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// A network at some weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Where they come from.
    pub weights: Origin,
    /// Part of the images in a wrong class, where they have classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Estimate>,
    /// Which of the displacements was asked for.
    pub asked: usize,
    /// Every displacement.
    pub sweep: Vec<Point>,
    /// Every layer, at the displacement asked for.
    pub layers: Vec<Depth>,
}

/// At one displacement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// δ, as the question understands it.
    pub displacement: f64,
    /// T.
    pub temperature: f64,
    /// The root mean square of the displacements.
    pub exact: f64,
    /// ⟨‖τx − x‖⟩.
    pub radius: f64,
    /// D_f.
    pub deformation: Value,
    /// G_f.
    pub noise: Value,
    /// R_f.
    pub relative: Value,
}

/// R of a layer's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// The layer.
    pub layer: String,
    /// Part of the weighted layers up to it.
    pub depth: f64,
    /// R.
    pub relative: Value,
}

/// What learning multiplied R, D and G by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// R.
    pub relative: Value,
    /// D.
    pub deformation: Value,
    /// G.
    pub noise: Value,
}

impl Network {
    /// At the displacement asked for.
    pub fn asked(&self) -> &Point {
        &self.sweep[self.asked]
    }
}

impl Summary {
    /// With its words.
    pub(super) fn new(mut summary: Summary) -> Self {
        summary.words = words::words(&summary);
        summary
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let paragraphs: Vec<String> = self.words.split("\n\n").map(fill).collect();
        format!("{}\n{}", self.table().to_text(width), paragraphs.join("\n"))
    }

    /// D, G and R at the displacement asked for.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("weights", Left),
            ("wrong, %", Right),
            ("D", Right),
            ("G", Right),
            ("R = D/G", Right),
        ]);
        for network in &self.networks {
            let point = network.asked();
            let percent = |e: Estimate| Estimate {
                value: 100.0 * e.value,
                standard_error: 100.0 * e.standard_error,
                ..e
            };
            table.push([
                network.weights.words().into(),
                network
                    .error
                    .map_or(Cell::Empty, |e| percent(e).pair().into()),
                point.deformation.words().into(),
                point.noise.words().into(),
                point.relative.words().into(),
            ]);
        }
        table
    }

    /// T, ‖η‖ and the range of every displacement.
    pub(super) fn deformations(&self) -> Table {
        use Align::Right;
        let columns = ["δ, pixels", "root mean square", "T", "‖η‖"];
        let mut table = Table::new(columns.map(|c| (c, Right)));
        for point in self.networks.first().map_or(&[][..], |n| &n.sweep) {
            table.push([
                short(point.displacement).into(),
                short(point.exact).into(),
                short(point.temperature).into(),
                short(point.radius).into(),
            ]);
        }
        table
    }

    /// Tables to the last bit: over displacements, and over layers.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        use Align::{Left, Right};
        let value = |v: Value| [v.value, v.low, v.high].map(Cell::from);
        let three = |name: &str| {
            [
                name.to_string(),
                format!("{name}_low"),
                format!("{name}_high"),
            ]
        };
        let columns = |first: &[&str], names: &[&str]| {
            let first = first.iter().map(|s| s.to_string());
            let names: Vec<String> = first.chain(names.iter().flat_map(|n| three(n))).collect();
            Table::new(
                names
                    .iter()
                    .enumerate()
                    .map(|(i, name)| (name.as_str(), if i == 0 { Left } else { Right })),
            )
        };
        let mut sweep = columns(
            &["weights", "displacement", "temperature", "radius"],
            &["D", "G", "R"],
        );
        let mut layers = columns(&["weights", "layer", "depth"], &["R"]);
        for network in &self.networks {
            let weights = network.weights.words();
            for p in &network.sweep {
                let first = [
                    weights.into(),
                    p.displacement.into(),
                    p.temperature.into(),
                    p.radius.into(),
                ];
                let values = [p.deformation, p.noise, p.relative].map(value);
                sweep.push(first.into_iter().chain(values.into_iter().flatten()));
            }
            for l in &network.layers {
                let first = [weights.into(), l.layer.as_str().into(), l.depth.into()];
                layers.push(first.into_iter().chain(value(l.relative)));
            }
        }
        vec![
            ("stability.csv", sweep.to_csv().into_bytes()),
            ("layers.csv", layers.to_csv().into_bytes()),
        ]
    }
}
