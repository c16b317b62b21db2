//! How accuracies under groups are shown.

use polariscope_experiment::{
    Answers, Claim, Experiment, Grid, Pivot, Table, Test, View, levels, shown,
};
use polariscope_report::{Axis, BarChart, Bars, Section};

use super::{Precision, Rotations};

fn pivot(training: String) -> Pivot<'static> {
    Pivot {
        rows: "group",
        columns: "system",
        fixed: vec![("training", training)],
        measure: "accuracy",
        unit: 0.01,
    }
}

/// `ntk` in words.
fn trained(training: &str) -> String {
    match training {
        "ntk" => "infinitely wide networks (NTK)".to_string(),
        other => format!("finite networks ({})", other.to_uppercase()),
    }
}

impl<T: Precision> View for Rotations<T> {
    fn name(&self) -> &'static str {
        "rotations"
    }

    fn title(&self) -> String {
        "Performance against symmetry".into()
    }

    fn asked(&self) -> String {
        format!(
            "What happens to an architecture when its data are given a symmetry beyond its own? Data “{}”, {} training and {} \
             test samples a run.",
            self.problem.name(),
            self.problem.train_count(),
            self.problem.test_count()
        )
    }

    fn answers(&self) -> Answers {
        let claims = self.claims();
        let exact = |c: &Claim| matches!(c.test, Test::Equal { .. });
        let (keeps, falls) = (claims.iter().any(exact), !claims.iter().all(exact));
        let own = [
            "An infinitely wide network keeps its accuracy under its own group, exactly.",
            "An infinitely wide network does not keep its accuracy under its own group.",
        ];
        let larger = [
            "Under a larger group than its own an architecture loses, and falls towards the one that has that group.",
            "Under a larger group than its own an architecture gains, and does not fall towards the one that has that group.",
        ];
        let [yes, no] = [0, 1].map(|i| {
            let parts = [keeps.then_some(own[i]), falls.then_some(larger[i])];
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            parts.join(" ")
        });
        Answers::new(yes, no)
    }

    fn words(&self, table: &Table) -> String {
        let sentence = |training: String| {
            let pivot = pivot(training.clone());
            let systems = levels(table, "system");
            let at = |system: &String, group: &str| {
                let text = shown(pivot.mean(table, group, system), pivot.unit);
                format!("{} {text} %", system.to_uppercase())
            };
            let plain: Vec<String> = systems.iter().map(|s| at(s, "none")).collect();
            let all = levels(table, "group").get(1).cloned().unwrap_or_default();
            let mixed: Vec<String> = systems.iter().map(|s| at(s, &all)).collect();
            format!(
                "Of {}, on the data as they are: {}. Under {all}: {}.",
                trained(&training),
                plain.join(", "),
                mixed.join(", ")
            )
        };
        let all: Vec<String> = levels(table, "training")
            .into_iter()
            .map(sentence)
            .collect();
        all.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let mut whole = Grid::default();
        for training in levels(table, "training") {
            let mut grid = pivot(training.clone()).grid(table);
            grid.columns[0] = "accuracy in %".into();
            grid.rows
                .iter_mut()
                .for_each(|row| row[0] = format!("{} {}", training.to_uppercase(), row[0]));
            whole.columns = grid.columns;
            whole.rows.extend(grid.rows);
        }
        whole
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let chart = |training: String| {
            let pivot = pivot(training.clone());
            let groups = levels(table, "group");
            let bars = |system: String| {
                let means: Vec<_> = groups
                    .iter()
                    .map(|g| pivot.mean(table, g, &system))
                    .collect();
                Bars {
                    label: system.to_uppercase(),
                    values: means
                        .iter()
                        .map(|m| m.map_or(f64::NAN, |m| m.value / pivot.unit))
                        .collect(),
                    errors: means
                        .iter()
                        .map(|m| m.and_then(|m| m.standard_error).unwrap_or(0.0) / pivot.unit)
                        .map(|error| [error; 2])
                        .collect(),
                }
            };
            let chart = BarChart {
                title: format!("Accuracy of {}", trained(&training)),
                value: Axis::linear("test accuracy in %"),
                categories: groups.clone(),
                series: levels(table, "system").into_iter().map(bars).collect(),
            };
            Section::new("Under the groups").figure(
                format!("accuracy {training}"),
                chart.draw(),
                "Training and test samples are transformed by one random element of the group, drawn anew in every run. O: \
                 rotations, P: permutations; of all numbers of an image together, of the channels of every position in its \
                 own way (^d), or of the channels in the same way everywhere (⊗ I). A system does not notice a group that it \
                 is invariant under: FCN any, LCN and VEC those of channels, LAP and GAP those that are the same everywhere. \
                 Beyond its own group it falls towards the system that has the larger one. Kernels have a ridge of 0.001 of \
                 their mean diagonal, picked by test accuracies on CIFAR-10 and not fixed beforehand: it favours GAP. \
                 Whiskers: a standard error over runs.",
            )
        };
        levels(table, "training").into_iter().map(chart).collect()
    }
}
