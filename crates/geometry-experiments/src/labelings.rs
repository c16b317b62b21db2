//! `labelings` (GIH Fig 4): images with labels that depend on xᵀu, u an eigenvector of GSG.

use std::f64::consts::PI;

use polariscope_data::{Labels, Split};
use polariscope_experiment::{Answers, Cell, Claim, Curves, Design, Experiment, Pivot, View};
use polariscope_geometry::Kron;
use polariscope_random::Stream;
use polariscope_report::Axis;

use crate::images::Images;
use crate::learn::{learn, plain};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab, Scale};
use polariscope_experiment::grid::{along, falls, grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "labelings",
    source: "GIH Fig 4",
    line: "images with labels along the eigenvectors of GSG: early ones generalise",
    architecture: "lenet-avg",
    images: true,
    minutes: 3.0,
    own: &[],
    make: |lab| {
        Ok(Box::new(Labelings {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

const KINDS: [&str; 3] = ["linear", "quadratic", "sinusoidal"];
/// Variance of the noise in the label, of pixels with variance 1: none, and as printed. Late eigenvectors have less
/// variance than the printed noise: their labels are coins, which no architecture learns.
const NOISE: [&str; 2] = ["0", "0.2"];

struct Labelings {
    lab: Lab,
    /// Eigenvectors of GSG over grey images.
    shared: Prepared<(Directions, Images)>,
}

impl Labelings {
    fn indices(&self) -> Vec<String> {
        self.lab.pick(
            text([0, 3, 10, 30, 100, 300]),
            text([
                0, 1, 3, 5, 10, 20, 30, 50, 100, 150, 200, 300, 500, 700, 1023,
            ]),
        )
    }
}

/// t = (x + noise)ᵀu for every sample.
fn component(x: &[f32], u: &[f64], (noise, stream): (f64, Stream)) -> Vec<f64> {
    let rows = x.chunks_exact(u.len());
    let mut added = vec![0.0; rows.len()];
    stream.normal(noise.sqrt() as f32, &mut added);
    rows.zip(added)
        .map(|(x, n)| x.iter().zip(u).map(|(&x, u)| f64::from(x) * u).sum::<f64>() + f64::from(n))
        .collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// Splits with labels sgn(t + b), sgn(t² + b), sgn(sin(πt/s) + b); s² is the mean of t² and b balances the classes, both of
/// the training set.
fn labelled(
    splits: [Split; 2],
    u: &[f64],
    (kind, noise): (&str, f64),
    (seed, run): (u64, u64),
) -> [Split; 2] {
    let [train, test] = splits;
    let parts = [("train", train), ("test", test)].map(|(part, split)| {
        let stream = Stream::new(seed, run, &format!("labels.{part}"));
        let t = component(&split.x, u, (noise, stream));
        (split, t)
    });
    let t = &parts[0].1;
    let scale = (t.iter().map(|t| t * t).sum::<f64>() / t.len().max(1) as f64).sqrt();
    let value = |t: f64| match kind {
        "linear" => t,
        "quadratic" => t * t,
        _ => (PI * t / scale).sin(),
    };
    let b = median(t.iter().map(|&t| value(t)));
    parts.map(|(split, t)| Split {
        x: split.x,
        y: Labels::Classes(t.iter().map(|&t| u32::from(value(t) > b)).collect()),
    })
}

impl Experiment for Labelings {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let indices = self.indices();
        let factors = [
            ("noise", &text(NOISE)[..]),
            ("label", &text(KINDS)),
            ("index", &indices),
        ];
        let all = grid(&factors, self.lab.runs(2, 5), &["accuracy", "train"]);
        let paper = self.lab.scale == Scale::Paper;
        all.retain(|c| paper || c.level("noise") == NOISE[0] || c.level("label") == KINDS[0])
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |kind: &str| {
            let fixed = [("noise", NOISE[0]), ("label", kind)];
            let conditions = along("index", &self.indices(), &fixed);
            Claim::new(
                format!("{kind} labels: accuracy falls along the eigenvectors of GSG"),
                falls("accuracy", conditions),
            )
        };
        KINDS.map(claim).into()
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let sizes = self.lab.pick([4000, 2000], [10_000, 10_000]);
        let images = Images::load(&self.lab, ENTRY.name, "cifar2", sizes, "&grey&standardise")?;
        let g = self.lab.directions(&self.lab.architecture)?.g;
        let s = Kron::dense(images.covariance(), images.dim);
        self.shared.set((
            Directions::on(self.lab.place.device, g.sandwich(&s)?)?,
            images,
        ));
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (directions, images) = self.shared.get()?;
        let (kind, key) = (cell.level("label"), (self.lab.seed, cell.run));
        let u = directions.vector(cell.number("index"));
        let rule = (kind, cell.real("noise"));
        let [train, test] = labelled(images.run(key.0, key.1), u, rule, key);
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let epochs = if kind == "sinusoidal" {
            self.lab.pick(30, 50)
        } else {
            20
        };
        match learn(&self.lab, &graph, plain(epochs), cell.run, &train)? {
            None => Ok(vec![f64::NAN; 2]),
            Some(learnt) => Ok(vec![learnt.accuracy(&test)?, learnt.accuracy(&train)?]),
        }
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Labelings {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Which labels of images {} learns", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "The label of an image is a function of one direction u. Does the network generalise for every u?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does not: accuracy on linear, quadratic and sinusoidal labels falls along the eigenvectors of GSG.",
            "Late ones are no harder: accuracy on linear, quadratic and sinusoidal labels rises along the eigenvectors of GSG.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let curves = |noise: &str| {
            Curves {
            pivot: Pivot {
                rows: "index",
                columns: "label",
                fixed: vec![("noise", noise.to_string())],
                measure: "accuracy",
                unit: 0.01,
            },
            title: format!("Accuracy along the eigenvectors of GSG, noise {noise}"),
            x: Axis::linear("index of the eigenvector"),
            y: Axis::linear("test accuracy in %"),
            caption: "Grey CIFAR-10 images with mean 0 and variance 1; labels sgn(t + b), sgn(t² + b) and sgn(sin(πt/s) + b) of \
                      t = (x + noise)ᵀu, s the size of t. 50 % is chance. The printed noise has a variance of 0.2 and drowns \
                      the late eigenvectors, so that their labels cannot be learnt by anyone."
                .into(),
        }
        };
        NOISE.map(curves).into()
    }
}
