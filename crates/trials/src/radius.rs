//! `radius`: which geometry predicts learning best? For every direction u of `nad-accuracy` and every way to find G, uᵀGu
//! beside the accuracy on D(u).

use polariscope_experiment::{
    Cell, Claim, Design, Experiment, Grid, Table, Test, Verdict, View, shown,
};
use polariscope_geometry::Kron;
use polariscope_report::{Axis, Plot, Section, Series};

use crate::grid::{along, grid, text};
use crate::lens::{Directions, Lens};
use crate::linear::{SIGMA, Sizes, accuracy};
use crate::nad_accuracy::indices;
use crate::prepared::Prepared;
use crate::{Entry, Lab, TrialError};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "radius",
    source: "ours",
    line: "which geometry predicts learning best: gradients, differences or closed forms",
    architecture: "lenet",
    images: false,
    minutes: 1.0,
    make: |lab| {
        Ok(Box::new(Radius {
            lab: lab.clone(),
            shared: Prepared::default(),
        }))
    },
};

/// Names of the geometries, as columns; from milliseconds to minutes.
const LENSES: [&str; 8] = [
    "gelu",
    "meanfield",
    "local",
    "dipole:0.1",
    "dipole:1",
    "dipole:3",
    "dipole:10",
    "dipole:100",
];

/// Differences of ρ that do not matter.
const NEAR: f64 = 0.05;

struct Radius {
    lab: Lab,
    shared: Prepared<(Directions, Vec<Kron>)>,
}

impl Radius {
    fn lens(&self, name: &str) -> Lens {
        let networks = self.lab.pick(1000, 10_000);
        match name.strip_prefix("dipole:").map(str::parse) {
            Some(Ok(h)) => Lens::Dipole { h, networks },
            _ => match name {
                "gelu" => Lens::Gelu { networks },
                "meanfield" => Lens::MeanField {
                    points: self.lab.pick(16, 64),
                },
                _ => Lens::Local { networks },
            },
        }
    }

    fn verdicts(&self, table: &Table) -> Vec<(&'static str, Verdict)> {
        let claims = self.claims();
        LENSES
            .into_iter()
            .zip(claims.iter().map(|c| c.judge(table)))
            .collect()
    }
}

impl Experiment for Radius {
    type Error = TrialError;

    fn design(&self) -> Design {
        let measures = [&["accuracy"][..], &LENSES].concat();
        let indices = text(indices(self.lab.scale));
        grid(&[("index", &indices)], self.lab.runs(2, 2), &measures)
    }

    fn claims(&self) -> Vec<Claim> {
        let claim = |x: &'static str| {
            let test = Test::Together {
                x,
                y: "accuracy",
                along: along("index", &text(indices(self.lab.scale)), &[]),
                least: 0.0,
            };
            Claim::new(format!("uᵀGu by {x} goes with the accuracy"), test)
        };
        LENSES.map(claim).into()
    }

    fn prepare(&self) -> Result<(), TrialError> {
        let (name, seed) = (&self.lab.architecture, self.lab.seed);
        let geometries = LENSES.map(|lens| self.lens(lens).geometry(name, seed, self.lab.place));
        let geometries = geometries.into_iter().collect::<Result<_, _>>()?;
        self.shared.set((self.lab.nads()?, geometries));
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, TrialError> {
        let ((nads, geometries), index) = (self.shared.get()?, cell.number("index"));
        let accuracy = match self.lab.known(index, cell.run) {
            Some(known) => known,
            None => {
                let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
                let problem = (nads.direction(index), SIGMA);
                accuracy(&self.lab, &graph, problem, Sizes::of(&self.lab), cell.run)?
            }
        };
        let u = nads.vector(index);
        Ok([accuracy]
            .into_iter()
            .chain(geometries.iter().map(|g| g.quadratic(u)))
            .collect())
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Radius {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!(
            "Which geometry predicts what {} learns",
            self.lab.architecture
        )
    }

    fn asked(&self) -> String {
        "Gradients, differences over a radius, closed forms: whose order of directions is that of learning?".into()
    }

    fn words(&self, table: &Table) -> String {
        let verdicts = self.verdicts(table);
        let rho = |v: &Verdict| v.statistic.map_or(f64::NEG_INFINITY, |s| s.value);
        let best = verdicts
            .iter()
            .map(|(_, v)| rho(v))
            .fold(f64::NEG_INFINITY, f64::max);
        let list = verdicts
            .iter()
            .map(|(lens, v)| format!("{lens} {}", shown(v.statistic, 1.0)));
        let list: Vec<String> = list.collect();
        let good = |lens: &&&str| {
            verdicts
                .iter()
                .any(|(l, v)| *l == **lens && rho(v) >= best - NEAR)
        };
        let cheapest = LENSES.iter().find(good).unwrap_or(&"");
        format!(
            "Spearman's ρ between uᵀGu and the accuracy on D(u), over directions: {}. Of those within {NEAR} of the best, \
             {cheapest} costs least: trust it.",
            list.join(", ")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |(lens, v): (&str, Verdict)| vec![lens.to_string(), shown(v.statistic, 1.0)];
        Grid {
            columns: text(["geometry", "Spearman's ρ"]),
            rows: self.verdicts(table).into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let conditions = along("index", &text(indices(self.lab.scale)), &[]);
        let series = LENSES.map(|lens| {
            let mean = |select, measure| table.mean(select, measure).map(|m| m.value);
            let points: Vec<(f64, f64)> = conditions
                .iter()
                .filter_map(|s| Some((mean(s, lens)?, 100.0 * mean(s, "accuracy")?)))
                .collect();
            let most = points.iter().map(|p| p.0).fold(0.0, f64::max);
            Series::scatter(
                lens,
                points.into_iter().map(|(x, y)| (x / most, y)).collect(),
            )
        });
        let plot = Plot {
            title: "Accuracy against uᵀGu".into(),
            x: Axis::log("uᵀGu, the largest as 1"),
            y: Axis::linear("test accuracy in %"),
            series: series.into(),
        };
        vec![Section::new("Predictions").figure(
            "predictions",
            plot.draw(),
            "A point is a direction u, the NADs of nad-accuracy. A geometry that predicts learning has its points on a rising \
             curve.",
        )]
    }
}
