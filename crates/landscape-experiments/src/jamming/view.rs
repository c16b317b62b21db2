//! The page of `jamming`.

use polariscope_experiment::{Answers, Grid, Pivot, Table, View, levels};
use polariscope_graph::Activation;
use polariscope_report::{Axis, Plot, Section, Series, counted};

use super::{ENTRY, Jamming, Kind, at, kinds};

/// What happened to the runs of an activation at a ratio, as `2 fit, 1 jammed`.
fn tally(kinds: &[Kind]) -> String {
    let named = [
        (Kind::Fits, "fit"),
        (Kind::Frozen, "fit but for dead patterns"),
        (Kind::Falling, "still falling"),
        (Kind::Jammed, "jammed"),
    ];
    let count = |kind: Kind| kinds.iter().filter(|k| **k == kind).count();
    let words = named
        .into_iter()
        .filter_map(|(kind, word)| match count(kind) {
            0 => None,
            n => Some(format!("{n} {word}")),
        });
    words.collect::<Vec<_>>().join(", ")
}

fn fitted(kind: &Kind) -> bool {
    matches!(kind, Kind::Fits | Kind::Frozen)
}

/// The smallest and the largest.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, x| match ends {
        None => Some((x, x)),
        Some((low, high)) => Some((x.min(low), x.max(high))),
    })
}

impl Jamming {
    /// An activation in a sentence or two.
    fn sentence(&self, table: &Table, activation: Activation) -> Option<String> {
        let of = |ratio: &String| kinds(table, &at(activation, Some(ratio)));
        let ratios = levels(table, "ratio");
        let measured: Vec<(String, Vec<Kind>)> = ratios
            .into_iter()
            .map(|ratio| (ratio.clone(), of(&ratio)))
            .filter(|(_, kinds)| !kinds.is_empty())
            .collect();
        let whole = measured.iter().take_while(|(_, k)| k.iter().all(fitted));
        let none = measured.iter().rev();
        let none = none.take_while(|(_, k)| !k.iter().any(fitted));
        let fits = match (whole.last(), none.last()) {
            (Some((a, _)), Some((b, _))) => {
                format!("all runs fit up to {a} patterns a weight, none from {b} on")
            }
            (Some((a, _)), None) => format!("all runs fit up to {a} patterns a weight"),
            (None, Some((b, _))) => format!("no run fits from {b} patterns a weight on"),
            (None, None) => return None,
        };
        let jumps = table.values(&at(activation, None), "jump");
        let jump = match ends(jumps.iter().map(|(_, y)| *y)) {
            Some((low, high)) => format!(
                " Where the loss settles above 0, N_Δ/N lies between {low:.2} and {high:.2} ({}).",
                counted(jumps.len() as u64, "run")
            ),
            None => String::new(),
        };
        let all = kinds(table, &at(activation, None));
        let apart = |kind: Kind| all.iter().filter(|k| **k == kind).count() as u64;
        let frozen = match apart(Kind::Frozen) {
            0 => String::new(),
            n => format!(
                " In {} the only patterns not learnt are dead: every unit of some layer is off for them.",
                counted(n, "run")
            ),
        };
        let falling = match apart(Kind::Falling) {
            0 => String::new(),
            n => format!(
                " In {} the loss was still falling at the end.",
                counted(n, "run")
            ),
        };
        Some(format!("With {activation} {fits}.{jump}{frozen}{falling}"))
    }

    /// A cloud of runs for each activation.
    fn clouds(&self, table: &Table, x: &str, y: &str) -> Vec<Series> {
        let cloud = |activation: Activation| {
            let of = |measure| table.values(&at(activation, None), measure);
            let points = of(x).into_iter().zip(of(y));
            let points = points.map(|((_, x), (_, y))| (x, y)).collect();
            Series::scatter(activation.to_string(), points)
        };
        self.activations().map(cloud).collect()
    }

    fn activations(&self) -> impl Iterator<Item = Activation> {
        self.scans().iter().map(|scan| scan.activation)
    }

    fn figure(
        &self,
        table: &Table,
        (title, caption): (&str, &str),
        (x, x_axis): (&str, Axis),
        (y, y_axis): (&str, Axis),
    ) -> Section {
        let plot = Plot {
            title: title.into(),
            x: x_axis,
            y: y_axis,
            series: self.clouds(table, x, y),
        };
        Section::new(title).figure(title.to_lowercase(), plot.draw(), caption)
    }
}

impl View for Jamming {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "The jump of the patterns that are not learnt".into()
    }

    fn asked(&self) -> String {
        "How many random patterns does a network fit, and how many are left where it stops fitting all?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "All are fitted up to a number that is proportional to the weights; beyond it at least half a pattern a weight is left at once, \
             while few of those are misclassified. tanh fits more than relu.",
            "There is no jump: networks that do not fit leave few patterns, most of them misclassified, and tanh fits no more than relu.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let words = self.activations().filter_map(|a| self.sentence(table, a));
        words.collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let mut rows = Vec::new();
        for activation in self.activations() {
            for ratio in levels(table, "ratio") {
                let select = at(activation, Some(&ratio));
                let kinds = kinds(table, &select);
                if kinds.is_empty() {
                    continue;
                }
                let mean =
                    |measure| polariscope_experiment::shown(table.mean(&select, measure), 1.0);
                rows.push(vec![
                    activation.to_string(),
                    ratio.clone(),
                    tally(&kinds),
                    mean("height"),
                    mean("wrong"),
                    mean("dead"),
                    mean("loss"),
                ]);
            }
        }
        let columns = [
            "activation",
            "P/N",
            "runs",
            "N_Δ/N",
            "misclassified/N",
            "dead patterns",
            "loss",
        ];
        Grid {
            columns: columns.map(str::to_string).into(),
            rows,
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let height = || Axis::linear("patterns not learnt a weight, N_Δ/N");
        let mut sections = Vec::new();
        let lines = self.activations().flat_map(|activation| {
            let pivot = Pivot {
                rows: "ratio",
                columns: "",
                fixed: vec![("activation", activation.to_string())],
                measure: "height",
                unit: 1.0,
            };
            pivot.series(table, move |_| activation.to_string())
        });
        let title = "The number of patterns not learnt";
        let plot = Plot {
            title: title.into(),
            x: Axis::linear("patterns a weight, P/N"),
            y: height(),
            series: lines.collect(),
        };
        sections.push(Section::new(title).figure(
            title.to_lowercase(),
            plot.draw(),
            "N counts weights, not biases. Patterns whose signal died are left out. Bands: a standard error over runs.",
        ));
        sections.push(self.figure(
            table,
            (
                "Against the loss",
                "A point a run. What scatters along P/N falls on a line along the loss: as it goes to 0, N_Δ/N does not. Runs that fit \
                 end with every pattern within 10⁻⁴ of the margin, at a loss of about 10⁻¹⁰.",
            ),
            ("loss", Axis::log("loss at the end")),
            ("height", height()),
        ));
        sections.push(self.figure(
            table,
            (
                "Misclassified patterns",
                "On the wrong side of 0, not only inside the margin: their number grows from 0, without a jump.",
            ),
            ("loss", Axis::log("loss at the end")),
            ("wrong", Axis::linear("misclassified patterns a weight")),
        ));
        sections
    }
}
