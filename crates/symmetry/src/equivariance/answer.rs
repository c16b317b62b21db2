//! What comes of it: errors by transformation and layer, and what is built in, learnt or lost.

use polariscope_data::Action;
use polariscope_report::{Align, Table, fill};
use serde::{Deserialize, Serialize};

use super::words;
use crate::{Origin, Value};

/// Rows of red, green and blue.
pub type Rows = Vec<Vec<[f64; 3]>>;

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// In numbers and words.
    pub summary: Summary,
    /// Some of the images, as they are and under every transformation.
    pub pictures: Vec<(String, Vec<Rows>)>,
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
    /// What becomes of the outputs under each transformation.
    pub verdicts: Verdicts,
    /// At the initial weights, then at those that were learnt.
    pub networks: Vec<Network>,
}

/// A network at some weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Where they come from.
    pub weights: Origin,
    /// By transformation.
    pub under: Vec<Under>,
}

/// A transformation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Under {
    /// Which one.
    pub action: Action,
    /// By layer, the outputs last; nothing where nothing can be expected of a layer.
    #[serde(with = "sparse")]
    pub layers: Vec<Option<Cell>>,
}

/// A layer under a transformation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The layer.
    pub layer: String,
    /// Part of the weighted layers up to it.
    pub depth: f64,
    /// Positions of its map.
    pub positions: usize,
    /// The error: 1 is the distance to another image's values.
    pub error: Value,
    /// Whether it is nothing but rounding.
    pub exact: bool,
    /// The error at positions that saw neither a border nor what came in from outside; of translations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interior: Option<f64>,
    /// Whether that is nothing but rounding.
    pub interior_exact: bool,
    /// The difference over the norm of the values.
    pub of_norm: f64,
    /// Δ: the mean over images of std(L_g Φ(x) − Φ(gx))/std Φ(x).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}

/// Layers as a file has them, which knows no holes in a list.
mod sparse {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Cell;

    #[derive(Serialize, Deserialize)]
    struct Layers {
        count: usize,
        known: Vec<Known>,
    }

    #[derive(Serialize, Deserialize)]
    struct Known {
        at: usize,
        #[serde(flatten)]
        cell: Cell,
    }

    pub fn serialize<S: Serializer>(layers: &[Option<Cell>], to: S) -> Result<S::Ok, S::Error> {
        let known = layers.iter().enumerate().filter_map(|(at, cell)| {
            let cell = cell.clone()?;
            Some(Known { at, cell })
        });
        let layers = Layers {
            count: layers.len(),
            known: known.collect(),
        };
        layers.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Option<Cell>>, D::Error> {
        let Layers { count, known } = Layers::deserialize(from)?;
        let mut layers = vec![None; count];
        for Known { at, cell } in known {
            if let Some(place) = layers.get_mut(at) {
                *place = Some(cell);
            }
        }
        Ok(layers)
    }
}

/// What becomes of the outputs, transformation by transformation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Verdicts(pub Vec<(Action, Verdict)>);

/// What becomes of the outputs under a transformation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Verdict {
    /// They stay the same at the initial weights, and at those that were learnt.
    BuiltIn,
    /// They change at the initial weights.
    NotBuiltIn,
    /// They stayed the same at the initial weights and do not at those that were learnt.
    Broken,
    /// They change less than at the initial weights, by this factor.
    Learnt {
        /// Error over the initial one.
        factor: Value,
    },
    /// They change more than at the initial weights, by this factor.
    Lost {
        /// Error over the initial one.
        factor: Value,
    },
    /// The interval of the factor holds 1.
    Open {
        /// Error over the initial one.
        factor: Value,
    },
}

impl Under {
    /// The outputs.
    pub fn output(&self) -> &Cell {
        self.layers
            .last()
            .and_then(Option::as_ref)
            .unwrap_or(&NOTHING)
    }

    /// The last of the first hidden maps that all move along, and whether only away from borders.
    pub fn followed(&self) -> Option<(&str, bool)> {
        let hidden = &self.layers[..self.layers.len().saturating_sub(1)];
        let maps = hidden.iter().flatten().filter(|c| c.positions > 1);
        let mut last = None;
        let mut inside = false;
        for cell in maps {
            if !cell.exact && !cell.interior_exact {
                break;
            }
            inside |= !cell.exact;
            last = Some(cell.layer.as_str());
        }
        last.filter(|_| self.action.moves()).map(|l| (l, inside))
    }
}

static NOTHING: Cell = Cell {
    layer: String::new(),
    depth: 1.0,
    positions: 1,
    error: Value {
        value: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
    },
    exact: false,
    interior: None,
    interior_exact: false,
    of_norm: f64::NAN,
    delta: None,
};

impl Verdict {
    fn of(before: &Cell, after: Option<(&Cell, Value)>) -> Verdict {
        match (before.exact, after) {
            (true, None) => Verdict::BuiltIn,
            (false, None) => Verdict::NotBuiltIn,
            (true, Some((after, _))) if after.exact => Verdict::BuiltIn,
            (true, Some(_)) => Verdict::Broken,
            (false, Some((_, factor))) if factor.high < 1.0 => Verdict::Learnt { factor },
            (false, Some((_, factor))) if factor.low > 1.0 => Verdict::Lost { factor },
            (false, Some((_, factor))) => Verdict::Open { factor },
        }
    }

    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::BuiltIn => "built in",
            Verdict::NotBuiltIn => "not built in",
            Verdict::Broken => "broken",
            Verdict::Learnt { .. } => "learnt",
            Verdict::Lost { .. } => "lost",
            Verdict::Open { .. } => "not decided",
        }
    }
}

impl Verdicts {
    pub(super) fn of(
        actions: &[Action],
        networks: &[Network],
        factors: Option<&[Value]>,
    ) -> Verdicts {
        let verdict = |(i, action): (usize, &Action)| {
            let output = |network: usize| networks.get(network).map(|n| n.under[i].output());
            let after = output(1).zip(factors.map(|f| f[i]));
            let before = output(0).unwrap_or(&NOTHING);
            (*action, Verdict::of(before, after))
        };
        Verdicts(actions.iter().enumerate().map(verdict).collect())
    }

    /// The transformations with a verdict of a kind.
    pub(super) fn which(&self, is: impl Fn(&Verdict) -> bool) -> Vec<(Action, Verdict)> {
        self.0.iter().filter(|(_, v)| is(v)).copied().collect()
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

    /// The outputs under each transformation, and how far maps move along.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let heads: Vec<String> = self
            .networks
            .iter()
            .map(|n| format!("error of outputs, {}", n.weights.words()))
            .collect();
        let columns = std::iter::once(("under", Left))
            .chain(heads.iter().map(|h| (h.as_str(), Right)))
            .chain([
                ("symmetry of the outputs", Left),
                ("maps move along up to", Left),
            ]);
        let mut table = Table::new(columns);
        for (i, (action, verdict)) in self.verdicts.0.iter().enumerate() {
            let error = |n: &Network| {
                let cell = n.under[i].output();
                match cell.exact {
                    true => "0 (rounding)".to_string(),
                    false => cell.error.words(),
                }
            };
            let followed = self.networks.last().and_then(|n| n.under[i].followed());
            let followed = match followed {
                Some((layer, false)) => layer.to_string(),
                Some((layer, true)) => format!("{layer}, away from the border"),
                None => "–".to_string(),
            };
            let row = std::iter::once(action.to_string())
                .chain(self.networks.iter().map(error))
                .chain([verdict.word().to_string(), followed]);
            table.push(row.map(Into::into));
        }
        table
    }

    /// Every transformation and layer, to the last bit.
    pub fn csv(&self) -> String {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("weights", Left),
            ("under", Left),
            ("layer", Left),
            ("depth", Right),
            ("positions", Right),
            ("error", Right),
            ("error_low", Right),
            ("error_high", Right),
            ("interior", Right),
            ("of_norm", Right),
            ("delta", Right),
        ]);
        let maybe = |x: Option<f64>| x.map_or(polariscope_report::Cell::Empty, Into::into);
        for network in &self.networks {
            for under in &network.under {
                for cell in under.layers.iter().flatten() {
                    table.push([
                        network.weights.words().into(),
                        under.action.to_string().into(),
                        cell.layer.as_str().into(),
                        cell.depth.into(),
                        cell.positions.into(),
                        cell.error.value.into(),
                        cell.error.low.into(),
                        cell.error.high.into(),
                        maybe(cell.interior),
                        cell.of_norm.into(),
                        maybe(cell.delta),
                    ]);
                }
            }
        }
        table.to_csv()
    }

    /// A border's error, for words: that of the first map that moves along exactly away from it, under the first transformation with such a map.
    pub(super) fn border(&self) -> Option<(Action, &Cell)> {
        let network = self.networks.last()?;
        network.under.iter().find_map(|under| {
            let cells = under.layers.iter().flatten();
            let mut bordered = cells.filter(|c| c.positions > 1 && !c.exact && c.interior_exact);
            bordered.next().map(|cell| (under.action, cell))
        })
    }
}
