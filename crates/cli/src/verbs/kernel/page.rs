//! `report.html` of kernels.

use polariscope_report::{
    Align, Axis, ColourMap, HeatMap, Page, Plot, Section, Series, Table, grouped, pretty,
};

use super::answer::{Answer, Summary};
use super::survey::Survey;
use super::tiles::Symmetry;
use crate::run::Request;

/// The page.
pub fn page(answer: &Answer, surveys: &[Survey], symmetry: Symmetry, request: &Request) -> Page {
    let name = &request.architecture;
    let words: Vec<String> = answer.kernels.iter().map(sentence).collect();
    let mut page = Page::new(
        format!("Kernels of {name}"),
        format!("How similar does an infinitely wide {name} find these samples?"),
        words.join(" "),
    );
    page.facts([(
        format!(
            "{} × {}",
            grouped(answer.rows as u64),
            grouped(answer.columns as u64)
        ),
        "samples".to_string(),
    )]);
    for survey in surveys {
        page.push(section(survey, symmetry));
    }
    if !answer.approximations.is_empty() {
        page.push(Section::new("Approximations").list(answer.approximations.clone()));
    }
    page.configure(request.settings());
    page
}

/// The kind as people write it.
fn title(summary: &Summary) -> String {
    summary.kind.to_uppercase()
}

fn sentence(summary: &Summary) -> String {
    let own = match summary.diagonal {
        None => String::new(),
        Some(own) => format!(
            " A sample has {} with itself on average, so two samples share {} of it.",
            pretty(own),
            share(summary.mean / own)
        ),
    };
    format!(
        "The {} of two samples is {} on average, from {} to {}.{own}",
        title(summary),
        pretty(summary.mean),
        pretty(summary.min),
        pretty(summary.max)
    )
}

fn share(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

fn section(survey: &Survey, symmetry: Symmetry) -> Section {
    use Align::{Left, Right};
    let summary = &survey.summary;
    let mut table = Table::new([("quantity", Left), ("value", Right)]);
    let rows = [
        ("mean of k(x, x)", summary.diagonal),
        ("mean of k(x, x'), x ≠ x'", Some(summary.mean)),
        ("smallest", Some(summary.min)),
        ("largest", Some(summary.max)),
        ("condition number", summary.condition),
    ];
    for (quantity, value) in rows {
        if value.is_some() {
            table.push([quantity.into(), value.into()]);
        }
    }
    let kind = title(summary);
    let map = HeatMap {
        title: format!("{kind} of the samples"),
        x: "sample".into(),
        y: "sample".into(),
        value: "kernel".into(),
        rows: survey.picture.clone(),
        row_names: Vec::new(),
        column_names: Vec::new(),
        colours: ColourMap::Sequential,
    };
    let caption = "Rows and columns in the order of the files; means over squares of entries where there are many.";
    let mut section = Section::new(&kind).table(table).figure(
        format!("{} map", summary.kind),
        map.draw(),
        caption,
    );
    let positive = survey.eigenvalues.iter().take_while(|&&x| x > 0.0);
    let points: Vec<(f64, f64)> = positive
        .enumerate()
        .map(|(i, &x)| ((i + 1) as f64, x))
        .collect();
    if symmetry == Symmetry::Symmetric && points.len() > 2 {
        let plot = Plot {
            title: format!("Eigenvalues of the {kind}"),
            x: Axis::log("index"),
            y: Axis::log("eigenvalue of K/n"),
            series: vec![Series::line("", points)],
        };
        section = section.figure(
            format!("{} eigenvalues", summary.kind),
            plot.draw(),
            "What lies along the first ones is learnt first.",
        );
    }
    section
}
