//! The page of `jamming-hessian`.

use polariscope_experiment::{Answers, Grid, Table, View, levels, shown};
use polariscope_report::{Axis, Plot, Section, Series, counted, pretty};

use super::{ENTRY, GAMMA, JammingHessian, at};

/// Measures of the table, with their names.
const COLUMNS: [(&str, &str); 10] = [
    ("dead", "dead patterns"),
    ("height", "N_Δ/N"),
    ("further", "further zero modes"),
    ("negative", "N₋(H)/N"),
    ("downward", "N₋(H_p)/N"),
    ("cusps-near", "cusps/N"),
    ("gap", "gap of H₀"),
    ("collapse", "H_p/√L"),
    ("theta", "θ"),
    (GAMMA, "−γ"),
];

impl JammingHessian {
    /// An activation in a sentence; none where nothing was measured.
    fn sentence(&self, table: &Table, activation: &str) -> Option<String> {
        let kind = self
            .kinds()
            .iter()
            .find(|k| k.activation.to_string() == activation)?;
        let select = at(kind.activation);
        let mean = |measure: &str| table.mean(&select, measure);
        let part = |measure: &str| shown(mean(measure), 1.0);
        let dead = table.values(&select, "dead");
        let apart = dead.iter().filter(|(_, n)| *n > 0.0).count();
        let mut text = match mean("negative") {
            None => format!("With {activation} there is no run without dead patterns."),
            Some(negative) => format!(
                "With {activation} ({}) {} % of the modes of H are negative, and {} % of those of H_p.",
                counted(negative.runs as u64, "run"),
                shown(mean("negative"), 0.01),
                shown(mean("downward"), 0.01)
            ),
        };
        if let (Some(_), Some(_)) = (mean("theta"), mean(GAMMA)) {
            text += &format!(
                " Gaps near the margin go as D^{} inside and |D|^{} outside of it, which no claim rests on.",
                part("theta"),
                part(GAMMA)
            );
        }
        if apart > 0 && apart < dead.len() {
            text += &format!(
                " {} with dead patterns left out.",
                counted(apart as u64, "run")
            );
        }
        Some(text)
    }
}

impl View for JammingHessian {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "The Hessian of networks that do not fit".into()
    }

    fn asked(&self) -> String {
        "Where random patterns do not fit any more, how does the loss curve?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "As it must: the patterns that are not learnt span H₀, and all other modes of it are 0. With relu H_p points down as often as up, \
             and cusps hold the network where H points down; with tanh fewer modes of H_p point down than up.",
            "Not as expected: zero modes of H₀ are not those beyond the patterns that are not learnt, or modes of H_p with relu do not point \
             down as often as up.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let words = levels(table, "activation");
        let words = words.iter().filter_map(|a| self.sentence(table, a));
        words.collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |name: &String| {
            let kind = self
                .kinds()
                .iter()
                .find(|k| k.activation.to_string() == *name)?;
            let select = at(kind.activation);
            let mean = |(measure, _): (&str, &str)| shown(table.mean(&select, measure), 1.0);
            Some(
                [name.clone()]
                    .into_iter()
                    .chain(COLUMNS.map(mean))
                    .collect(),
            )
        };
        Grid {
            columns: std::iter::once("activation")
                .chain(COLUMNS.map(|(_, name)| name))
                .map(str::to_string)
                .collect(),
            rows: levels(table, "activation").iter().filter_map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let cloud = |kind: &super::Kind| {
            let of = |measure| table.values(&at(kind.activation), measure);
            let points = of("height").into_iter().zip(of("negative"));
            let points = points.map(|((_, x), (_, y))| (x, 100.0 * y)).collect();
            Series::scatter(kind.activation.to_string(), points)
        };
        let title = "Negative modes";
        let plot = Plot {
            title: title.into(),
            x: Axis::linear("patterns not learnt a weight, N_Δ/N"),
            y: Axis::linear("negative modes of H in %"),
            series: self.kinds().iter().map(cloud).collect(),
        };
        let sizes: Vec<String> = self
            .kinds()
            .iter()
            .map(|k| {
                format!(
                    "{}: 2 layers of {}, {} patterns a weight",
                    k.activation,
                    k.width,
                    pretty(k.ratio)
                )
            })
            .collect();
        let caption = format!(
            "A point a run. Modes are counted among all parameters. {}. At a minimum of a smooth network none would be negative; relu \
             networks rest on cusps, and rates that fall for too short a time leave some.",
            sizes.join("; ")
        );
        vec![Section::new(title).figure(title.to_lowercase(), plot.draw(), caption)]
    }
}
