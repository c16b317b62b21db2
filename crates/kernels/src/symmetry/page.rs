//! `report.html`: the group, its proof, the check.

use polariscope_report::{Axis, BarChart, Bars, Page, Section, grouped};

use super::answer::{Row, number};
use super::{Answer, Summary};

/// Where bars of exact equality are drawn: below every rounding error.
const FLOOR: f64 = 1e-17;

/// The page; `command` gives the same again, and `beside` is what other lenses saw.
pub fn page(
    answer: &Answer,
    beside: Vec<Section>,
    command: &str,
    settings: Vec<(String, String)>,
) -> Page {
    let (name, found) = (&answer.network, &answer.summary);
    let mut page = Page::new(
        format!("Symmetries of {name}"),
        format!(
            "Which transformations of {} inputs can {name} not tell apart?",
            answer.input
        ),
        found.words.as_str(),
    );
    page.facts(facts(found));
    page.push(chart(found));
    page.push(table(found));
    if !found.places.is_empty() {
        page.push(motions(found));
    }
    beside.into_iter().for_each(|section| page.push(section));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(found: &Summary) -> Vec<(String, String)> {
    let mut facts = vec![(found.finite.group.clone(), "at this width".to_owned())];
    facts.push((found.infinite.group.clone(), "at infinite width".to_owned()));
    let dimension = found.infinite.dimension.max(found.finite.dimension);
    facts.push((
        grouped(dimension as u64),
        "dimensions of the larger of the two".to_owned(),
    ));
    let worst = found.groups.iter().filter(|r| r.infinite == Some(true));
    let worst = worst
        .filter_map(|r| r.kernel_change)
        .fold(None, |m: Option<f64>, x| Some(m.map_or(x, |m| m.max(x))));
    if let Some(worst) = worst {
        facts.push((
            number(Some(worst)),
            "largest change of the kernels under symmetries".to_owned(),
        ));
    }
    facts
}

fn chart(found: &Summary) -> Section {
    let bars = |label: &str, value: &dyn Fn(&Row) -> Option<f64>| Bars {
        label: label.into(),
        values: found
            .groups
            .iter()
            .map(|r| value(r).map_or(f64::NAN, |v| v.max(FLOOR)))
            .collect(),
        errors: Vec::new(),
    };
    let mut series = Vec::new();
    if found.groups.iter().any(|r| r.kernel_change.is_some()) {
        series.push(bars("kernels of the infinitely wide network", &|r| {
            r.kernel_change
        }));
    }
    if found.groups.iter().any(|r| r.run_distance.is_some()) {
        series.push(bars(
            "predictions of trained networks of this width",
            &|r| r.run_distance,
        ));
    }
    let section = Section::new("How far from invariant?");
    if series.is_empty() {
        return section.prose("Nothing could be measured: the words above say why.");
    }
    let chart = BarChart {
        title: "Change under an element drawn from each group".into(),
        value: Axis::log("relative change"),
        categories: found.groups.iter().map(|r| r.group.clone()).collect(),
        series,
    };
    section.figure(
        "groups",
        chart.draw(),
        format!(
            "Short bars are rounding: the group is a symmetry. Long ones are not. Kernels are compared among {} samples before \
             and after the transformation. Runs of {} steps of gradient descent (momentum, mini-batches, L2) start from first \
             weights that follow the transformation, or come as near as weights can.",
            found.samples, found.steps
        ),
    )
}

fn table(found: &Summary) -> Section {
    let acts = found
        .groups
        .iter()
        .map(|r| format!("{} {}.", r.group, r.acts));
    Section::new("The groups")
        .prose(
            "O stands for rotations and reflections, P for reorderings; a power acts on every place in its own way, ⊗I on all \
             alike. Invariant means: training on transformed data and testing on transformed data gives the same distribution \
             of predictions.",
        )
        .table(found.table())
        .list(acts)
}

fn motions(found: &Summary) -> Section {
    let proofs = found.places.iter().map(|p| match p.proof.as_str() {
        "" => format!("{}.", p.name()),
        proof => format!("{}: {proof}", p.name()),
    });
    Section::new("Motions of the positions")
        .prose(
            "The learning system has a motion g if the distribution of its initial weights does not tell gx from x and \
             training keeps that: the kernels of the infinitely wide network then satisfy K(gx, gx′) = K(x, x′). “Has” is \
             proved layer by layer and checked, “has not” is shown by a measurement that such a network could not give, and \
             “not known” is neither. Changes under a motion that it has are rounding; under one that it has not, the \
             least change among the motions of its kind is shown.",
        )
        .table(super::places::table(&found.places))
        .list(proofs)
}
