//! `report.html`: the verdict, then the evidence.

use polariscope_graph::Shape;
use polariscope_report::{
    Align, Axis, BarChart, Bars, ColourMap, Gallery, Mark, Page, Picture, Plot, Section, Series,
    Table, Tile, grouped, pretty,
};

use polariscope_data::{Dataset, Viewer};

use super::answer::{Aligned, Measure, UNSEEN, Unseen};
use super::words::{self, Hidden, LOW_SCORES, NOISE};
use crate::page::{Plane, percent};

/// Samples shown at either end, and directions.
const SHOWN: usize = 16;
const DIRECTIONS: usize = 24;

/// The page of an alignment with `data`.
pub fn align_page(
    outcome: &Aligned,
    data: &Dataset,
    command: &str,
    settings: Vec<(String, String)>,
) -> Page {
    let name = &outcome.name;
    let mut page = Page::new(
        format!("{name} and {}", outcome.data),
        format!("Does {name} suit the data “{}”?", data.name),
        outcome.result.words.as_str(),
    );
    page.facts(facts(outcome));
    page.push(energy(outcome));
    page.push(between(outcome));
    page.push(samples(outcome, data));
    page.push(unseen(outcome));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(outcome: &Aligned) -> Vec<(String, String)> {
    let result = &outcome.result;
    let mut facts = vec![
        (
            result.verdict.words().to_string(),
            "from what varies between samples".to_string(),
        ),
        (
            format!("{:+.2}", result.centred.share),
            "of the way from chance to best (to worst below 0)".to_string(),
        ),
    ];
    if let Some(head) = words::head(&outcome.finding()) {
        facts.push((
            percent(head.share),
            match head.count {
                1 => "of the variance lies in the first direction".to_string(),
                k => format!("of the variance lies in the first {k} directions"),
            },
        ));
    }
    let hidden = outcome.hidden();
    if hidden != Hidden::Noise {
        facts.push((
            hidden.count(),
            format!(
                "directions of the data with less than {} of the isotropic weight",
                percent(UNSEEN)
            ),
        ));
    }
    facts
}

/// Cumulative variance over the directions.
fn energy(outcome: &Aligned) -> Section {
    let dim = outcome.dim() as f64;
    let curve = |value: &dyn Fn(f64, f64, f64) -> f64| -> Vec<(f64, f64)> {
        let points = outcome.energy.iter().map(|e| {
            let count = e.count as f64;
            (count, 100.0 * value(e.share, e.best, count / dim))
        });
        points.collect()
    };
    let marked = |label: String, points| Series {
        mark: Mark::LinePoints,
        ..Series::line(label, points)
    };
    let plot = Plot {
        title: "What varies in the data, along the directions of the architecture".into(),
        x: Axis::log("first directions"),
        y: Axis::linear("% of the variance"),
        series: vec![
            marked(
                format!("directions of {}", outcome.name),
                curve(&|share, _, _| share),
            ),
            marked(
                "the data's own axes (best possible)".into(),
                curve(&|_, best, _| best),
            ),
            Series::reference("isotropic", curve(&|_, _, isotropic| isotropic)),
        ],
    };
    Section::new("Do the data vary where it looks?").figure(
        "energy",
        plot.draw(),
        "Share of the variance of the data that lies in the first k directions of the architecture, those it sees best \
         first. No other directions hold more than the principal axes of the data; the dashed line is what directions \
         chosen at random would hold. The closer the first curve is to the second, the better the architecture suits the \
         data; below the dashed line it works against them.",
    )
}

/// Corr between what it could be.
fn between(outcome: &Aligned) -> Section {
    let result = &outcome.result;
    let bars = |label: &str, m: &Measure| {
        let found = &m.found;
        Bars {
            label: label.into(),
            values: vec![found.worst, found.chance, found.corr, found.best],
            errors: Vec::new(),
        }
    };
    let chart = BarChart {
        title: "Corr of the geometry with the data".into(),
        value: Axis::linear("Corr(G, S)"),
        categories: ["worst rotation", "chance", "these data", "best rotation"]
            .map(str::to_string)
            .into(),
        series: vec![
            bars("what varies between samples", &result.centred),
            bars("raw samples, their mean included", &result.uncentred),
        ],
    };
    Section::new("Between the worst and the best")
        .figure(
            "corr",
            chart.draw(),
            "Corr is the cosine between the geometry G and the covariance S of the data. If the data were rotated at random \
             it would be “chance” on average, and never beyond worst and best. The mean \
             of the samples is the same for all of them and tells none from another, so the verdict is taken from what \
             varies: it is “suits” from a quarter of the way to best on, “works against” from a quarter of the \
             way to worst on, else “neutral”.",
        )
        .table(result.table())
}

/// The samples at either end.
fn samples(outcome: &Aligned, data: &Dataset) -> Section {
    let count = SHOWN.min(outcome.order.len() / 2).max(1);
    let lowest = &outcome.order[..count];
    let highest: Vec<usize> = outcome.order.iter().rev().take(count).copied().collect();
    let section = Section::new("Samples").prose(
        format!(
            "Score(x) is the weight of the sample's direction over that of an average one: 1 is what an isotropic architecture \
             gives. scores.csv holds it for every sample. {LOW_SCORES}"
        ),
    );
    let ends = [
        ("highest scores", "The highest Scores.", &highest[..]),
        ("lowest scores", "The lowest Scores.", lowest),
    ];
    let Some(viewer) = data.viewer() else {
        return ends
            .into_iter()
            .fold(section, |section, (_, said, chosen)| {
                section.prose(said).table(table(outcome, chosen))
            });
    };
    ends.into_iter().fold(section, |section, (name, said, chosen)| {
        let gallery = Gallery {
            title: said.trim_end_matches('.').into(),
            tiles: chosen.iter().map(|&i| thumbnail(outcome, data, viewer, i)).collect(),
        };
        let caption = format!(
            "{said} Under each its index, its label and its Score. Black and white are the smallest and the largest number \
             of the training set."
        );
        section.gallery(name, gallery, caption)
    })
}

fn table(outcome: &Aligned, chosen: &[usize]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([("sample", Right), ("label", Left), ("Score", Right)]);
    for &i in chosen {
        table.push([
            i.into(),
            outcome.labels[i].as_str().into(),
            outcome.scores[i].into(),
        ]);
    }
    table
}

fn thumbnail(outcome: &Aligned, data: &Dataset, viewer: Viewer, sample: usize) -> Tile {
    let dim = outcome.dim();
    let x = &data.train.x[sample * dim..][..dim];
    let (index, label) = (grouped(sample as u64), &outcome.labels[sample]);
    Tile {
        label: format!("{index} · {label} · {:.2}", outcome.scores[sample]),
        pictures: vec![Picture::Photo {
            words: format!("sample {index} with label {label}"),
            rows: viewer.picture(x),
        }],
    }
}

/// What the data have and the architecture does not see.
fn unseen(outcome: &Aligned) -> Section {
    let section = Section::new("Directions with little weight");
    if outcome.hidden() == Hidden::Noise {
        return section.prose(NOISE);
    }
    if outcome.unseen.is_empty() {
        return section.prose(format!(
            "None: every direction that the data vary in has at least {} of the weight that an isotropic architecture would \
             give it. unseen.npy has no rows.",
            percent(UNSEEN)
        ));
    }
    let section = section.prose(
        "Generalised eigenvectors of the data and the geometry, most of the data for least of the geometry first. \
         unseen.npy holds them, one a row; --data '…?remove=unseen.npy' projects them out.",
    );
    let Shape::Image {
        channels,
        height,
        width,
    } = outcome.shape
    else {
        let mut table = Table::new([
            ("direction", Align::Right),
            ("share of the variance", Align::Right),
            ("weight (isotropic: 1)", Align::Right),
        ]);
        for (i, u) in outcome.unseen.iter().take(DIRECTIONS).enumerate() {
            table.push([
                (i + 1).into(),
                percent(u.share).into(),
                pretty(u.weight).into(),
            ]);
        }
        return section.table(table);
    };
    let plane = Plane {
        height,
        width,
        planes: channels,
    };
    let tile = |(i, u): (usize, &Unseen)| Tile {
        label: format!(
            "{} · {}",
            i + 1,
            percent(u.share).replace("less than ", "< ")
        ),
        pictures: vec![Picture::Map {
            words: format!("unseen direction {} in pixels", i + 1),
            rows: plane.picture(&u.direction),
            colours: ColourMap::Diverging,
        }],
    };
    let shown = outcome.unseen.iter().take(DIRECTIONS).enumerate();
    let gallery = Gallery {
        title: "Unseen directions".into(),
        tiles: shown.map(tile).collect(),
    };
    let planes = if channels > 1 {
        " Channels lie side by side."
    } else {
        ""
    };
    section.gallery(
        "unseen",
        gallery,
        format!(
            "Directions in pixels, white at zero, red and blue of opposite sign, with their share of the variance of the \
             data.{planes}"
        ),
    )
}
