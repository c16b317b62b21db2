//! How gains are shown.

use polariscope_experiment::{Answers, Claim, Grid, Outcome, Table, View, Wanted, level, shown};
use polariscope_report::{Axis, Mark, Plot, Section, Series, pretty};

use super::task::{Group, KERNELS, TARGETS};
use super::{SampleGain, at, error_at};

impl View for SampleGain {
    fn name(&self) -> &'static str {
        "sample-gain"
    }

    fn title(&self) -> String {
        "What a symmetry is worth in samples".into()
    }

    fn asked(&self) -> String {
        format!(
            "How many times fewer samples does a kernel need once it has the symmetry of the target? Ridge regression with the \
             Laplace kernel and with its average over the group, P up to {}.",
            self.sizes.last().copied().unwrap_or(0)
        )
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "About as many times fewer as the group has elements: 0.6 to 1.3 times |G| under cyclic shifts.",
            "Not as many times fewer as the group has elements: under cyclic shifts the gain is outside of 0.6 to 1.3 times |G|.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let of = |group: &Group| {
            let gains = TARGETS.iter().filter_map(|target| {
                let mean = table.mean(&at(group, target), "gain")?;
                Some(shown(Some(mean), 1.0))
            });
            let gains: Vec<String> = gains.collect();
            (!gains.is_empty()).then(|| format!("{} {}", group.name, gains.join(" and ")))
        };
        let all: Vec<String> = Group::ALL.iter().filter_map(of).collect();
        let targets = TARGETS.join(" and ");
        format!(
            "P_plain/P_inv at the same error, {targets} target: {}. {} of {} are below |G| by an interval of 95 %.",
            all.join(", "),
            below(table),
            Group::ALL.len() * TARGETS.len(),
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let columns = ["group", "|G|", "target", "gain", "gain/|G|"];
        let rows = Group::ALL.iter().flat_map(|group| {
            TARGETS.map(|target| {
                let mean = |measure| shown(table.mean(&at(group, target), measure), 1.0);
                vec![
                    group.name.to_string(),
                    group.permutations().order().to_string(),
                    target.to_string(),
                    mean("gain"),
                    mean("share"),
                ]
            })
        });
        Grid {
            columns: columns.map(String::from).into(),
            rows: rows.collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let curves = Group::ALL.iter().map(|group| {
            Section::new("").figure(group.name, self.curves_of(table, group).draw(), "")
        });
        vec![
            Section::new("Gain and size of the group")
                .prose(
                    "Regression with the averaged kernel on P samples is regression with the plain kernel on their |G| P images. The \
                     gain is |G| where these teach as much as |G| P samples, and less where images of one sample are near each other, \
                     as those of a nearly symmetric sample are. The rough target is a draw of the Gaussian process of the averaged \
                     kernel, the smooth one a sum of waves averaged over the group.",
                )
                .figure(
                    "gain",
                    gains(table).draw(),
                    "Dashed: one sample as good as |G|. Bands: a standard error over runs.",
                ),
            Section::new("Learning curves and their shift")
                .prose(
                    "Rough target. Dashed: the curve of the averaged kernel with P times the gain; it lies on that of the plain kernel \
                     where the symmetry is worth the same factor at every P. Test error: mean square over the variance of the target. \
                     Bands: a standard error over runs.",
                )
                .columns(curves),
        ]
    }
}

impl SampleGain {
    /// Both kernels, and the averaged one moved by the gain.
    fn curves_of(&self, table: &Table, group: &Group) -> Plot {
        let at = at(group, TARGETS[0]);
        let line = |kernel: &str, factor: f64| -> Series {
            let points = self.sizes.iter().filter_map(|&p| {
                let mean = table.mean(&at, &error_at(kernel, p))?;
                let error = mean.standard_error.unwrap_or(0.0);
                let point = (factor * p as f64, mean.value);
                Some((point, (mean.value - error, mean.value + error)))
            });
            let (points, band) = points.unzip();
            Series {
                mark: Mark::LinePoints,
                ..Series::line(format!("{kernel} kernel"), points)
            }
            .with_band(band)
        };
        let mut series: Vec<Series> = KERNELS.map(|kernel| line(kernel, 1.0)).into();
        if let Some(gain) = table.mean(&at, "gain") {
            let moved = line(KERNELS[1], gain.value).points;
            let label = format!("averaged, P × {}", pretty(gain.value));
            series.push(Series::reference(label, moved));
        }
        Plot {
            title: format!("{}, |G| = {}", group.name, group.permutations().order()),
            x: Axis::log("training samples P"),
            y: Axis::log("test error"),
            series,
        }
    }
}

/// How many gains are below |G| by the interval of 95 %.
fn below(table: &Table) -> usize {
    let test = |group: &Group, target| level("share", at(group, target), Wanted::AtMost(1.0));
    let all = Group::ALL
        .iter()
        .flat_map(|group| TARGETS.map(|target| test(group, target)));
    let verdicts = all.map(|test| Claim::new("", test).judge(table).outcome);
    verdicts.filter(|o| *o == Outcome::Holds).count()
}

/// P_plain/P_inv against |G|, a line for each kind of input and target.
fn gains(table: &Table) -> Plot {
    let line = |kind: &str, target: &str| -> Series {
        let groups = Group::ALL.iter().filter(|group| group.kind() == kind);
        let points = groups.filter_map(|group| {
            let mean = table.mean(&at(group, target), "gain")?;
            let (order, error) = (
                group.permutations().order(),
                mean.standard_error.unwrap_or(0.0),
            );
            Some((
                (order as f64, mean.value),
                (mean.value - error, mean.value + error),
            ))
        });
        let (points, band) = points.unzip();
        Series {
            mark: Mark::LinePoints,
            ..Series::line(format!("{kind}, {target}"), points)
        }
        .with_band(band)
    };
    let kinds = ["shifts", "3×3", "4×4"];
    let mut series: Vec<Series> = kinds
        .iter()
        .flat_map(|kind| TARGETS.map(|target| line(kind, target)))
        .collect();
    series.push(Series::reference("|G|", vec![(2.0, 2.0), (8.0, 8.0)]));
    Plot {
        title: "Samples that a symmetry saves".into(),
        x: Axis::linear("elements of the group |G|"),
        y: Axis::linear("P_plain/P_inv"),
        series,
    }
}
