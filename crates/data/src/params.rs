//! The parameters of a specification: names checked against the table, values against their kinds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polariscope_graph::{Shape, nearest};

use crate::direction::Direction;
use crate::error::DataError;
use crate::generate::{Generator, Labeling};
use crate::table::{COMMON, PARAMETERS, SourceEntry};
use crate::transform::Transforms;

/// Rows and columns that images of a folder are brought to, and the most that may be asked for.
const DEFAULT_SIDE: usize = 32;
const MAX_SIDE: usize = 4096;
/// Median of χ² with one degree of freedom: t² exceeds it half of the time.
const CHI2_MEDIAN: f64 = 0.454_936_423_119_572_8;
/// The part after `?`, with names checked.
pub(crate) struct Params<'a> {
    text: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Params<'a> {
    pub fn parse(
        text: &'a str,
        entry: &SourceEntry,
        query: &'a str,
    ) -> Result<Params<'a>, DataError> {
        let known: Vec<&str> = entry.parameters.iter().chain(COMMON).copied().collect();
        let mut values = BTreeMap::new();
        for part in query.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .map_or((part, None), |(n, v)| (n, Some(v)));
            if !known.contains(&name) {
                let kind = format!("parameter of {}", entry.name);
                return Err(DataError::spec(text, unknown(&kind, name, &known)));
            }
            let form = PARAMETERS
                .iter()
                .find(|p| p.name == name)
                .map_or("", |p| p.value);
            if value.is_some() == form.is_empty() {
                let right = if form.is_empty() {
                    format!("{name} is a flag, without a value")
                } else {
                    format!("expected {name}={form}")
                };
                return Err(DataError::spec(text, right));
            }
            if values.insert(name, value.unwrap_or("")).is_some() {
                return Err(DataError::spec(text, format!("{name} is given twice")));
            }
        }
        Ok(Params { text, values })
    }

    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).copied()
    }

    fn flag(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub fn wrong(&self, name: &str, what: &str) -> DataError {
        let value: String = self.get(name).unwrap_or("").chars().take(40).collect();
        DataError::spec(
            self.text,
            format!("{name}={}: {what}", value.escape_debug()),
        )
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, DataError> {
        let parse = |v: &str| {
            v.parse()
                .map_err(|_| self.wrong(name, "expected a whole number"))
        };
        self.get(name).map(parse).transpose()
    }

    pub fn real(&self, name: &str, default: f64) -> Result<f64, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(default);
        };
        // Inputs are f32: a number beyond its range would become infinite.
        let value = text.parse().ok().filter(|x: &f64| x.abs() < 1e30);
        value.ok_or_else(|| self.wrong(name, "expected a number"))
    }

    pub fn non_negative(&self, name: &str, default: f64) -> Result<f64, DataError> {
        let value = self.real(name, default)?;
        if value < 0.0 {
            return Err(self.wrong(name, "must not be negative"));
        }
        Ok(value)
    }

    pub fn shape(&self, default: Shape) -> Result<Shape, DataError> {
        let parse = |text: &str| {
            text.parse()
                .map_err(|e| self.wrong("shape", &format!("{e}")))
        };
        self.get("shape").map_or(Ok(default), parse)
    }

    pub fn size(&self) -> Result<usize, DataError> {
        let size = self.number("size")?.unwrap_or(DEFAULT_SIDE);
        if (1..=MAX_SIDE).contains(&size) {
            Ok(size)
        } else {
            Err(self.wrong("size", &format!("expected 1 to {MAX_SIDE} pixels")))
        }
    }

    pub fn direction(&self, name: &str, default: usize) -> Result<Direction, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(Direction::Dft(default));
        };
        let wrong = || self.wrong(name, "expected a DFT index or FILE.npy:ROW");
        match text.rsplit_once(':') {
            None => text.parse().map(Direction::Dft).map_err(|_| wrong()),
            Some(("", _)) => Err(wrong()),
            Some((file, row)) => Ok(Direction::Row {
                file: PathBuf::from(file),
                row: row.parse().map_err(|_| wrong())?,
            }),
        }
    }

    pub fn isotropic(&self, sigma: f64) -> Result<Generator, DataError> {
        let (labeling, eps) = match self.get("labeling") {
            None | Some("linear") => (Labeling::Linear, 0.9),
            Some("quadratic") => (Labeling::Quadratic, 2.0),
            Some("sinusoidal") => (Labeling::Sinusoidal, 2.1),
            Some(_) => {
                return Err(self.wrong("labeling", "expected linear, quadratic or sinusoidal"));
            }
        };
        let eps = self.real("eps", eps)?;
        let median = match labeling {
            Labeling::Quadratic => -CHI2_MEDIAN * eps * eps,
            Labeling::Linear | Labeling::Sinusoidal => 0.0,
        };
        Ok(Generator::Isotropic {
            u: self.direction("u", 0)?,
            eps,
            sigma,
            labeling,
            b: self.real("b", median)?,
        })
    }

    pub fn transforms(&self) -> Result<Transforms, DataError> {
        let noise = self.real("noise", 0.0)?;
        if !(0.0..=1.0).contains(&noise) {
            return Err(self.wrong("noise", "a probability lies between 0 and 1"));
        }
        let random_labels = match self.get("labels") {
            None => false,
            Some("random") => true,
            Some(_) => return Err(self.wrong("labels", "expected labels=random")),
        };
        let pca: Option<usize> = self.number("pca")?;
        if pca == Some(0) {
            return Err(self.wrong("pca", "expected at least 1"));
        }
        if self.flag("whiten") && pca.is_none() {
            return Err(DataError::spec(self.text, "whiten needs pca=K"));
        }
        Ok(Transforms {
            classes: self.list("classes")?,
            group: self.list("group")?,
            balanced: self.flag("balanced"),
            pooled: self.flag("pooled"),
            grey: self.flag("grey"),
            pool: self.number("pool")?,
            deform: self.deform()?,
            standardise: self.flag("standardise"),
            remove: self.get("remove").map(PathBuf::from),
            project: self.get("project").map(PathBuf::from),
            pca,
            whiten: self.flag("whiten"),
            normalise: self.flag("normalise"),
            random_labels,
            noise,
        })
    }

    fn deform(&self) -> Result<Option<(f64, usize)>, DataError> {
        let Some(text) = self.get("deform") else {
            return Ok(None);
        };
        let pair = text.split_once(',').and_then(|(displacement, cutoff)| {
            let displacement: Option<f64> = displacement.parse().ok();
            Some((
                displacement.filter(|x| x.is_finite())?,
                cutoff.parse().ok()?,
            ))
        });
        let wrong = || {
            self.wrong(
                "deform",
                "expected a displacement in pixels and a cutoff, such as 1,3",
            )
        };
        pair.map(Some).ok_or_else(wrong)
    }

    fn list(&self, name: &str) -> Result<Vec<u32>, DataError> {
        let Some(text) = self.get(name) else {
            return Ok(Vec::new());
        };
        let mut out: Vec<u32> = Vec::new();
        for item in text.split(',') {
            let class = item.parse().ok().filter(|c| !out.contains(c));
            out.push(
                class
                    .ok_or_else(|| self.wrong(name, "expected different classes, such as 0,3,5"))?,
            );
        }
        Ok(out)
    }
}

/// Says that a name is unknown, and which one may have been meant.
pub(crate) fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(40).collect();
    let shown = shown.escape_debug();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown {kind} '{shown}'; did you mean '{near}'?"),
        None => format!("unknown {kind} '{shown}'; known: {}", known.join(", ")),
    }
}
