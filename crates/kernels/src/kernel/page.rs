//! `report.html` of kernels.

use polariscope_report::{
    Align, Axis, ColourMap, HeatMap, Page, Plot, Section, Series, Table, grouped, pretty,
};

use super::{Answer, Numbers, Survey};

/// The page.
pub fn page(answer: &Answer, settings: Vec<(String, String)>) -> Page {
    let (name, summary) = (&answer.network, &answer.summary);
    let words: Vec<String> = summary.kernels.iter().map(sentence).collect();
    let mut page = Page::new(
        format!("Kernels of {name}"),
        format!("How similar does an infinitely wide {name} find these samples?"),
        words.join(" "),
    );
    page.facts([(
        format!(
            "{} × {}",
            grouped(summary.rows as u64),
            grouped(summary.columns as u64)
        ),
        "samples".to_string(),
    )]);
    for survey in &answer.surveys {
        page.push(section(survey));
    }
    if !summary.approximations.is_empty() {
        page.push(Section::new("Approximations").list(summary.approximations.clone()));
    }
    page.configure(settings);
    page
}

/// The kind as people write it.
fn title(summary: &Numbers) -> String {
    summary.kind.to_uppercase()
}

fn sentence(summary: &Numbers) -> String {
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

fn section(survey: &Survey) -> Section {
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
    if points.len() > 2 {
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
