//! How distances and accuracies along a geodesic are shown.

use polariscope_experiment::{Answers, Grid, Pivot, Table, View, levels, shown};
use polariscope_report::{Axis, Plot, Section};

use super::{Precision, SymmetryBreaking};

/// Measures with their axis and their heading.
const MEASURES: [(&str, f64, &str, &str); 3] = [
    (
        "accuracy",
        0.01,
        "test accuracy in %",
        "Accuracy of E VEC_n",
    ),
    ("to_gap", 1.0, "distance", "Distance to E GAP_n"),
    ("to_infinite", 1.0, "distance", "Distance to VEC_∞"),
];

fn pivot(measure: &'static str, unit: f64) -> Pivot<'static> {
    Pivot {
        rows: "t",
        columns: "n",
        fixed: Vec::new(),
        measure,
        unit,
    }
}

impl<T: Precision> View for SymmetryBreaking<T> {
    fn name(&self) -> &'static str {
        "symmetry-breaking"
    }

    fn title(&self) -> String {
        "How VEC_n breaks the symmetry of VEC_∞".into()
    }

    fn asked(&self) -> String {
        format!(
            "Does a convolutional network of finite width use how positions belong together, and lose it along a rotation and \
             with its width? Data “{}”, predictions averaged over {} networks.",
            self.problem.name(),
            self.networks
        )
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does use how positions belong together, and loses it along a rotation and with its width: it moves from GAP \
             of its width to VEC of infinite width.",
            "It does not lose, along a rotation or with its width, what it knows of how positions belong together.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let widths = levels(table, "n");
        let ends = |measure, unit, width: &String| {
            let pivot = pivot(measure, unit);
            let at = |t: &str| shown(pivot.mean(table, t, width), unit);
            format!("{} at t = 0 and {} at t = 1", at("0"), at("1"))
        };
        let sentence = |width: &String| {
            format!(
                "VEC_{width}: accuracy in % {}, distance to VEC_∞ {}.",
                ends("accuracy", 0.01, width),
                ends("to_infinite", 1.0, width)
            )
        };
        let all: Vec<String> = widths.iter().map(sentence).collect();
        all.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let mut whole = Grid::default();
        for (measure, unit, _, title) in MEASURES {
            let mut grid = pivot(measure, unit).grid(table);
            for column in grid.columns.iter_mut().skip(1) {
                *column = format!("n = {column}");
            }
            grid.columns[0] = "measure".into();
            for row in &mut grid.rows {
                row[0] = format!(
                    "{title}{}, t = {}",
                    if unit < 1.0 { " in %" } else { "" },
                    row[0]
                );
            }
            whole.columns = grid.columns;
            whole.rows.extend(grid.rows);
        }
        whole
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let figure = |(measure, unit, axis, title): (&'static str, f64, &str, &str)| {
            let plot = Plot {
                title: title.into(),
                x: Axis::linear("t along the geodesic in O(C)^d"),
                y: Axis::linear(axis),
                series: pivot(measure, unit).series(table, |n| format!("n = {n}")),
            };
            Section::new("").figure(measure, plot.draw(), "")
        };
        vec![
            Section::new("Along the geodesic and with the width")
                .prose(
                    "The channels of every position are rotated in their own way, from not at all (t = 0) to a random rotation \
                     (t = 1). An infinitely wide VEC cannot tell; GAP can. Distances are root mean squares between average \
                     predictions on the test samples. Bands: a standard error over runs.",
                )
                .columns(MEASURES.map(figure)),
        ]
    }
}
