//! `feature-drop` (GIH Fig 6): deleting the directions that G sees least and the data have most, against random ones of
//! equal explained variance.

use polariscope_data::Split;
use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Select, Test, View,
};
use polariscope_geometry::{Generalised, generalised};
use polariscope_linalg::apply;
use polariscope_random::Stream;
use polariscope_report::Axis;

use crate::images::Images;
use crate::learn::{learn, sgd};
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "feature-drop",
    source: "GIH Fig 6",
    line: "deleting what G does not see costs less than deleting as much at random",
    architecture: "lenet-avg",
    images: true,
    minutes: 2.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(FeatureDrop {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

struct FeatureDrop {
    lab: Lab,
    shared: Prepared<Shared>,
}

struct Shared {
    images: Images,
    unseen: Generalised,
    /// S.
    s: Vec<f64>,
}

impl FeatureDrop {
    fn counts(&self) -> Vec<String> {
        self.lab
            .pick(text([100, 300, 500, 700]), text((1..=10).map(|k| k * 100)))
    }
}

/// tr QSQᵀ of orthonormal rows, one by one.
fn variances(rows: &[f64], s: &[f64], dim: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let one = |q: &[f64]| {
        let parts = s.chunks_exact(dim).zip(q);
        parts.map(|(row, qi)| qi * dot(row, q)).sum()
    };
    rows.chunks_exact(dim).map(one).collect()
}

/// Random orthonormal rows that explain `variance` of S.
fn random(stream: &Stream, s: &[f64], dim: usize, variance: f64) -> Vec<f64> {
    let mut x = vec![0.0; dim * dim];
    stream.normal(1.0, &mut x);
    let vectors: Vec<f64> = x.into_iter().map(f64::from).collect();
    let rows = Generalised {
        dim,
        floor: 0.0,
        values: Vec::new(),
        vectors,
    }
    .span(dim);
    let mut sum = 0.0;
    let parts = variances(&rows, s, dim);
    let count = parts.iter().take_while(|v| {
        sum += **v;
        sum <= variance
    });
    let count = count.count();
    rows[..count * dim].to_vec()
}

/// x − Σ q qᵀx.
fn without(split: &Split, rows: &[f64], dim: usize) -> Split {
    let mut matrix = vec![0.0; dim * dim];
    matrix.iter_mut().step_by(dim + 1).for_each(|m| *m = 1.0);
    for q in rows.chunks_exact(dim) {
        for (row, a) in matrix.chunks_exact_mut(dim).zip(q) {
            row.iter_mut().zip(q).for_each(|(m, b)| *m -= a * b);
        }
    }
    Split {
        x: apply(&matrix, dim, &split.x),
        y: split.y.clone(),
    }
}

impl Experiment for FeatureDrop {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let ways = text(["unseen", "random"]);
        let factors = [("deleted", &ways[..]), ("k", &self.counts())];
        grid(&factors, self.lab.runs(3, 5), &["accuracy", "variance"])
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |k: String| {
            let at = |way| Select::of(&[("deleted", way), ("k", k.as_str())]);
            let test = Test::Above {
                measure: "accuracy",
                upper: at("unseen"),
                lower: at("random"),
            };
            Claim::new(
                format!("deleting the {k} least seen costs less than random"),
                test,
            )
        };
        self.counts().into_iter().map(claim).collect()
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([5000, 2000], [10_000, 10_000]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar2", sizes, "&grey&standardise")?;
        let s = images.covariance();
        let directions = self.lab.directions(&self.lab.architecture)?;
        let unseen = generalised(&directions.spectrum, &s)?;
        self.shared.set(Shared { images, unseen, s });
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let Shared { images, unseen, s } = self.shared.get()?;
        let (dim, key) = (images.dim, (self.lab.seed, cell.run));
        let mut rows = unseen.span(cell.number("k"));
        let total: f64 = s.iter().step_by(dim + 1).sum();
        let variance: f64 = variances(&rows, s, dim).iter().sum();
        if cell.level("deleted") == "random" {
            rows = random(&Stream::new(key.0, key.1, "trial.random"), s, dim, variance);
        }
        let [train, test] = images
            .run(key.0, key.1)
            .map(|split| without(&split, &rows, dim));
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let config = sgd(self.lab.pick(0.05, 0.1), 0.9, 0.0, self.lab.pick(15, 50));
        let learnt = learn(&self.lab, &graph, config, cell.run, &train)?;
        let accuracy = learnt.map_or(Ok(f64::NAN), |l| l.accuracy(&test))?;
        Ok(vec![accuracy, variance / total])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for FeatureDrop {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Features that {} does not miss", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Deleting directions that the data have and the architecture does not see: does it cost less than deleting as much \
         variance at random?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It costs less, however many are deleted.",
            "It costs more, however many are deleted.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let curves = |measure, y: &str, caption: &str| Curves {
            pivot: Pivot {
                rows: "k",
                columns: "deleted",
                fixed: Vec::new(),
                measure,
                unit: 0.01,
            },
            title: y.to_string(),
            x: Axis::linear("directions deleted"),
            y: Axis::linear(format!("{y} in %")),
            caption: caption.into(),
        };
        vec![
            curves(
                "accuracy",
                "Test accuracy",
                "Animals against the rest, grey images. Random directions are deleted until they have taken as much variance.",
            ),
            curves("variance", "Variance deleted", "Share of tr S."),
        ]
    }
}
