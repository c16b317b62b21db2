//! `report.html` of an equivariance.

use polariscope_report::{ColourMap, Gallery, HeatMap, Page, Picture, Section, Tile};

use super::{Answer, Network, Summary, Verdict};

/// Colours end here: some errors are so large that all others would look alike.
const LARGEST: f64 = 1.5;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let summary = &answer.summary;
    let mut page = Page::new(
        format!("The equivariance of {}", summary.network),
        format!(
            "Which transformations of its images does {} follow or ignore?",
            summary.network
        ),
        summary.words.as_str(),
    );
    let count = |is: fn(&Verdict) -> bool| summary.verdicts.which(is).len().to_string();
    let mut facts = vec![(
        count(|v| *v == Verdict::BuiltIn),
        format!(
            "of {} transformations are built in",
            summary.verdicts.0.len()
        ),
    )];
    if summary.networks.len() > 1 {
        facts.push((
            count(|v| matches!(v, Verdict::Learnt { .. })),
            "were learnt".into(),
        ));
        facts.push((
            count(|v| matches!(v, Verdict::Lost { .. })),
            "were lost".into(),
        ));
    }
    page.facts(facts);
    for section in sections(answer) {
        page.push(section);
    }
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

/// What the page shows between its head and its end.
pub fn sections(answer: &Answer) -> Vec<Section> {
    let summary = &answer.summary;
    let mut sections = vec![
        Section::new("The outputs").table(summary.table()),
        Section::new("Layer by layer")
            .prose(
                "The error of a layer Φ under a transformation g: √(⟨‖Φ(gx) − L_g Φ(x)‖²⟩ / ⟨‖Φ(x) − Φ(z)‖²⟩). L_g moves the positions of its map as g \
                 moves the pixels, by parts of positions where the map is coarser; values without positions, and all values under changes of colours and \
                 reorderings of pixels, are to stay as they are. 0: exact. 1: as far as the values of another image.",
            )
            .columns(summary.networks.iter().map(|n| matrix(summary, n))),
    ];
    if !answer.pictures.is_empty() {
        sections.push(pictures(answer));
    }
    sections
}

/// Transformations × layers.
fn matrix(summary: &Summary, network: &Network) -> Section {
    let count = network.under.first().map_or(0, |u| u.layers.len());
    let name = |k: usize| {
        let cells = network.under.iter().filter_map(|u| u.layers[k].as_ref());
        cells.map(|c| c.layer.clone()).next().unwrap_or_default()
    };
    let names = (0..count).map(name).collect();
    let row = |under: &super::Under| {
        let error = |cell: &Option<super::Cell>| match cell {
            Some(cell) if cell.exact => 0.0,
            Some(cell) => cell.error.value.min(LARGEST),
            None => f64::NAN,
        };
        under.layers.iter().map(error).collect()
    };
    let map = HeatMap {
        title: format!("{}, {} weights", summary.network, network.weights.words()),
        x: "layer".into(),
        y: "transformation".into(),
        value: "error".into(),
        rows: network.under.iter().map(row).collect(),
        row_names: network.under.iter().map(|u| u.action.to_string()).collect(),
        column_names: names,
        colours: ColourMap::Sequential,
    };
    Section::new("").figure(
        format!("equivariance {}", network.weights.words()),
        map.draw(),
        format!(
            "Activations, pools and sums in order; the outputs on the right. Errors above {LARGEST} are shown as {LARGEST}."
        ),
    )
}

fn pictures(answer: &Answer) -> Section {
    let tile = |(label, images): &(String, Vec<super::answer::Rows>)| Tile {
        label: label.clone(),
        pictures: images
            .iter()
            .map(|rows| Picture::Photo {
                words: label.clone(),
                rows: rows.clone(),
            })
            .collect(),
    };
    Section::new("The transformations").gallery(
        "transformations",
        Gallery {
            title: "Images under each transformation".into(),
            tiles: answer.pictures.iter().map(tile).collect(),
        },
        "What comes in from outside is zero.",
    )
}
