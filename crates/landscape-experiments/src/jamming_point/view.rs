//! The page of `jamming-point`.

use polariscope_experiment::{Answers, Grid, Pivot, Select, Table, View, levels, shown};
use polariscope_report::{Axis, Plot, Section, Series};

use super::{ENTRY, JammingPoint, RANDOM, SPHERE, TRUE};

/// What a condition is called.
fn named(labels: &str) -> &str {
    match labels {
        SPHERE => "random labels, random points",
        RANDOM => "random labels",
        _ => "true labels",
    }
}

/// (labels, network, activation) in the order of the table.
fn conditions(table: &Table) -> Vec<[String; 3]> {
    let mut all = Vec::new();
    for labels in levels(table, "labels") {
        for network in levels(table, "network") {
            for activation in levels(table, "activation") {
                all.push([labels.clone(), network.clone(), activation]);
            }
        }
    }
    all
}

fn select([labels, network, activation]: &[String; 3], patterns: &str) -> Select {
    Select::of(&[
        ("labels", labels),
        ("network", network),
        ("activation", activation),
        ("P", patterns),
    ])
}

impl JammingPoint {
    /// P/N* where the most patterns were fitted.
    fn capacities(&self, table: &Table) -> Vec<String> {
        let capacity = |condition: &[String; 3]| {
            let there = |p: &String| table.mean(&select(condition, p), "ratio").is_some();
            let last = levels(table, "P").into_iter().rfind(there)?;
            let [labels, network, activation] = condition;
            let ratio = table.mean(&select(condition, &last), "ratio");
            Some(format!(
                "{network} with {activation}, {}, P = {last}: {}",
                named(labels),
                shown(ratio, 1.0)
            ))
        };
        conditions(table).iter().filter_map(capacity).collect()
    }

    /// N*_true/N*_random along P.
    fn shares(&self, table: &Table) -> Vec<(String, String)> {
        let of = |p: String| {
            let at = [("P", p.as_str())];
            let at = Select::of(&[&self.at(TRUE, &self.first())[..], &at].concat());
            let share = table.mean(&at, "share")?;
            Some((p.clone(), shown(Some(share), 1.0)))
        };
        levels(table, "P").into_iter().filter_map(of).collect()
    }
}

impl View for JammingPoint {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("How many weights patterns need: {}", self.first())
    }

    fn asked(&self) -> String {
        "How many weights does a network need to fit P patterns, and how many fewer where the labels have a rule?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "In proportion to P for random labels, whatever the depth, and fewer with tanh; for true labels fewer at every P, and the more \
             patterns the smaller the share.",
            "Not in proportion to P for random labels; depth matters, tanh needs no fewer, and true labels need no fewer than random ones.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let mut words = Vec::new();
        let capacities = self.capacities(table);
        if !capacities.is_empty() {
            words.push(format!(
                "Patterns a weight where they start to fit, P/N*: {}.",
                capacities.join("; ")
            ));
        }
        let shares = self.shares(table);
        if !shares.is_empty() {
            let shares = shares
                .iter()
                .map(|(p, share)| format!("{share} at P = {p}"));
            words.push(format!(
                "Weights for true labels over those for random ones, N*_true/N*_random, of {}: {}.",
                self.first(),
                shares.collect::<Vec<_>>().join(", ")
            ));
        }
        words.join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let columns = [
            "labels",
            "network",
            "activation",
            "P",
            "N*",
            "P/N*",
            "fits",
            "fails",
            "width",
            "true/random",
        ];
        let mut rows = Vec::new();
        for condition in conditions(table) {
            for p in levels(table, "P") {
                let at = select(&condition, &p);
                if table.mean(&at, "star").is_none() {
                    continue;
                }
                let mean = |measure: &str| match table.mean(&at, measure) {
                    None => String::new(),
                    mean => shown(mean, 1.0),
                };
                let head = condition.iter().cloned().chain([p]);
                let cells = ["star", "ratio", "fits", "fails", "width", "share"].map(mean);
                rows.push(head.chain(cells).collect());
            }
        }
        Grid {
            columns: columns.map(str::to_string).into(),
            rows,
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let patterns = || Axis::log("patterns, P");
        let lines = |measure: &'static str| -> Vec<Series> {
            let of = |condition: &[String; 3]| {
                let [labels, network, activation] = condition;
                let pivot = Pivot {
                    rows: "P",
                    columns: "",
                    fixed: vec![
                        ("labels", labels.clone()),
                        ("network", network.clone()),
                        ("activation", activation.clone()),
                    ],
                    measure,
                    unit: 1.0,
                };
                let label = format!("{}, {network}, {activation}", named(labels));
                pivot.series(table, move |_| label.clone())
            };
            let all = conditions(table);
            let series = all.iter().flat_map(of);
            series.filter(|s| !s.points.is_empty()).collect()
        };
        let ends: Vec<f64> = levels(table, "P")
            .iter()
            .filter_map(|p| p.parse().ok())
            .collect();
        let reference = |label: &str, per: f64| {
            Series::reference(label, ends.iter().map(|&p| (p, p / per)).collect())
        };
        let mut stars = lines("star");
        stars.push(reference("P/2.85, published at N = 8,000", 2.85));
        let star = Plot {
            title: "Weights that P patterns need".into(),
            x: patterns(),
            y: Axis::log("weights, N*"),
            series: stars,
        };
        let share = Plot {
            title: "True labels beside random ones".into(),
            x: patterns(),
            y: Axis::linear("N*, true over random labels"),
            series: lines("share"),
        };
        vec![
            Section::new("The jamming point").figure(
                "jamming point",
                star.draw(),
                "N* lies between the widest network that fails, with more than N/10 patterns not learnt at the end, and the next one, \
                 which fits; widths are 8 % apart, or one unit. N counts weights, not biases. Bands: a standard error over runs.",
            ),
            Section::new("What a rule saves").figure(
                "true over random",
                share.draw(),
                "The same inputs with the labels of the data and with random ones: below 1 the architecture finds the rule easier \
                 than chance. Bands: a standard error over runs.",
            ),
        ]
    }
}
