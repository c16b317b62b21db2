//! How matrices of poses are shown.

use polariscope_experiment::{Answers, Grid, Mean, Table, View, shown};
use polariscope_report::{ColourMap, HeatMap, Section, grouped};

use super::{Learner, Pose, Poses, at};

impl View for Poses {
    fn name(&self) -> &'static str {
        super::ENTRY.about.name
    }

    fn title(&self) -> String {
        "Poses that were learnt and poses that were not".into()
    }

    fn asked(&self) -> String {
        format!(
            "Does a network that has seen images in one pose know them in another? Data “{}”, {} training and {} test images a run.",
            self.data.title(),
            grouped(self.sizes.train as u64),
            grouped(self.sizes.test as u64)
        )
    }

    fn answers(&self) -> Answers {
        let all = || self.networks.iter().flat_map(|n| self.others(n));
        let sentence = |built_in: &str, learnt: &str| {
            let parts = [
                all().any(|(_, b)| b).then_some(built_in),
                all().any(|(_, b)| !b).then_some(learnt),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        Answers::new(
            sentence(
                "Where the symmetry is built in it does: accuracy on poses that were never seen is that on upright images.",
                "Where it is not built in it does not: accuracy falls on poses that were never seen, and is higher where they were.",
            ),
            sentence(
                "Where the symmetry is built in it does not: accuracy is another one on poses that were never seen.",
                "Where it is not built in it does: accuracy is no lower on poses that were never seen, and having seen them does \
                 not help.",
            ),
        )
    }

    fn words(&self, table: &Table) -> String {
        let of = |learner: &Learner| {
            let upright = &Pose::Upright.to_string();
            let found = self.names().into_iter().filter_map(|test| {
                let mean = accuracy(table, &learner.name, upright, &test)?;
                Some(format!("{} % on {test}", shown(Some(mean), 0.01)))
            });
            let found: Vec<String> = found.collect();
            let own = self.others(learner).filter(|(_, built_in)| *built_in);
            let own: Vec<String> = own.map(|(pose, _)| pose).collect();
            let built_in = match own.is_empty() {
                true => String::new(),
                false => format!(" ({} built in)", own.join(", ")),
            };
            let found = (!found.is_empty()).then(|| found.join(", "))?;
            let name = &learner.name;
            Some(format!("{name}{built_in}: trained {upright} {found}."))
        };
        let all: Vec<String> = self.networks.iter().filter_map(of).collect();
        all.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let poses = self.names();
        let row = |learner: &Learner, train: &String| {
            let means = poses
                .iter()
                .map(|test| shown(accuracy(table, &learner.name, train, test), 0.01));
            let own = [
                learner.name.clone(),
                grouped(learner.graph.parameter_count() as u64),
                train.clone(),
            ];
            own.into_iter().chain(means).collect()
        };
        let rows = self
            .networks
            .iter()
            .flat_map(|learner| poses.iter().map(move |train| (learner, train)));
        let columns = ["architecture", "parameters", "trained"].map(String::from);
        let asked = poses.iter().map(|test| format!("% on {test}"));
        Grid {
            columns: columns.into_iter().chain(asked).collect(),
            rows: rows.map(|(learner, train)| row(learner, train)).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let poses = &self.names();
        let rows: Vec<(&String, &String)> = self
            .networks
            .iter()
            .flat_map(|learner| poses.iter().map(move |train| (&learner.name, train)))
            .collect();
        let row = |(architecture, train): &(&String, &String)| -> Vec<f64> {
            let value = |test: &String| {
                let mean = accuracy(table, architecture, train, test);
                mean.map_or(f64::NAN, |m| 100.0 * m.value)
            };
            poses.iter().map(value).collect()
        };
        let map = HeatMap {
            title: "Accuracy by train pose and test pose".into(),
            x: "test pose".into(),
            y: "architecture, train pose".into(),
            value: "test accuracy in %".into(),
            rows: rows.iter().map(row).collect(),
            row_names: rows
                .iter()
                .map(|(a, train)| format!("{a}, {train}"))
                .collect(),
            column_names: poses.clone(),
            colours: ColourMap::Sequential,
        };
        vec![Section::new("Train pose and test pose").figure(
            "poses",
            map.draw(),
            "In a pose other than upright every image is moved by a random element of the group: of all quarter turns for turn:90, of \
             turns by any whole number of degrees for turn:1.",
        )]
    }
}

fn accuracy(table: &Table, architecture: &str, train: &str, test: &str) -> Option<Mean> {
    table.mean(&at(architecture, train, test), "accuracy")
}
