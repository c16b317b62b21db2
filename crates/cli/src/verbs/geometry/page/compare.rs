//! `report.html` of a comparison: the same figures of several geometries, side by side.

use polariscope_report::{Align, Cell, ColourMap, HeatMap, Page, Section, Table, grouped};

use super::figures::{self, Pictures, Ranges};
use super::reading::{Preference, Reading};
use super::words::{about, percent};
use super::{View, input, reproduce, with_error, words};

/// Rows and columns of a matrix in a column.
const SMALL: usize = 256;
/// Directions drawn of each.
const DIRECTIONS: usize = 12;

/// The page of several geometries; `corr[i][j]` is Corr of geometries i and j, NaN where their inputs differ.
pub fn compare_page(
    views: &[View],
    corr: &[Vec<f64>],
    command: &str,
    settings: Vec<(String, String)>,
) -> Page {
    let readings: Vec<Reading> = views.iter().map(Reading::of).collect();
    let all: Vec<(&View, &Reading)> = views.iter().zip(&readings).collect();
    let names: Vec<&str> = views.iter().map(|v| v.name.as_str()).collect();
    let title = format!("Geometries compared: {}", names.join(", "));
    let asked = "Which directions of the input does each of these architectures see before it has learnt anything, and \
                 how do they differ?";
    let mut page = Page::new(title, asked, answer(&all, corr));
    page.push(
        Section::new("In numbers").table(numbers(&all)).prose(
            "Directions is the participation ratio. Low and high are the weights of spatial frequencies up to an eighth and \
             from three eighths of the side, in cycles an image, over the isotropic one.",
        ),
    );
    let images = readings.iter().any(|r| r.sight.is_some());
    if images {
        page.push(sights(&all));
    }
    let in_words = |(view, reading): &(&View, &Reading)| {
        let said = words::paragraph(&view.name, reading);
        Section::new(view.name.as_str()).prose(said)
    };
    page.push(Section::new("In words").columns(all.iter().map(in_words)));
    let views_by_ref: Vec<&View> = views.iter().collect();
    page.push(Section::new("Spectrum").figure(
        "spectrum",
        figures::spectra(&views_by_ref).draw(),
        figures::spectrum_caption(&views_by_ref),
    ));
    let named: Vec<(&str, &Reading)> = names.iter().copied().zip(&readings).collect();
    if let Some(profile) = figures::profile(&named) {
        page.push(Section::new("Frequencies").figure("profile", profile.draw(), figures::PROFILE));
    }
    if images {
        page.push(directions(&all));
    }
    page.push(
        Section::new("The geometries as images")
            .prose(figures::MATRIX)
            .columns(columns(&all, |pictures, section| {
                section.figure("geometry", pictures.matrix(SMALL).draw(), "")
            })),
    );
    if views.len() > 1 {
        page.push(alike(&names, corr));
    }
    page.push(Section::new("How they were found").table(methods(views)));
    page.push(reproduce(command));
    page.configure(settings);
    page
}

/// Weights over frequencies and pixels, on the same colours for all.
fn sights(all: &[(&View, &Reading)]) -> Section {
    let ranges = Ranges::of(all.iter().map(|(_, reading)| *reading));
    let fill = |pictures: Pictures, section: Section| match pictures.sight(ranges) {
        Some((frequencies, pixels)) => section
            .figure("frequencies", frequencies.draw(), "")
            .figure("pixels", pixels.draw(), ""),
        None => section.prose("The input is no image."),
    };
    Section::new("What is easy, what is invisible")
        .prose(format!("{} {}", figures::FREQUENCIES, figures::PIXELS))
        .columns(columns(all, fill))
}

/// The first directions of each.
fn directions(all: &[(&View, &Reading)]) -> Section {
    let fill = |pictures: Pictures, section: Section| {
        if pictures.preference() == Preference::None {
            return section.prose("All directions count alike: none is drawn.");
        }
        match pictures.first(DIRECTIONS) {
            Some((gallery, _)) => section.gallery("directions", gallery, ""),
            None => section.prose("The input is no image."),
        }
    };
    Section::new("First directions")
        .prose(figures::DIRECTIONS)
        .columns(columns(all, fill))
}

/// A column a geometry under its name.
fn columns(all: &[(&View, &Reading)], fill: impl Fn(Pictures, Section) -> Section) -> Vec<Section> {
    let one = |(view, reading): &(&View, &Reading)| {
        let section = Section::new(view.name.as_str());
        fill(Pictures::new(view, reading), section)
    };
    all.iter().map(one).collect()
}

/// The extremes, and what is most alike.
fn answer(all: &[(&View, &Reading)], corr: &[Vec<f64>]) -> String {
    let part = |r: &Reading| r.directions / r.dim as f64;
    let by = |a: &&(&View, &Reading), b: &&(&View, &Reading)| part(a.1).total_cmp(&part(b.1));
    let mut said = String::new();
    if let (Some(narrow), Some(broad)) = (all.iter().min_by(by), all.iter().max_by(by))
        && narrow.0.name != broad.0.name
    {
        let takes = |(_, r): &(&View, &Reading)| {
            let dim = grouped(r.dim as u64);
            format!("{} of {dim}", about(r.directions))
        };
        said += &format!(
            "{} has the strongest preference ({} directions take part), {} the weakest ({}).",
            narrow.0.name,
            takes(narrow),
            broad.0.name,
            takes(broad)
        );
    }
    let pairs = (0..all.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let known = pairs.filter_map(|(i, j)| {
        let c = *corr.get(i)?.get(j)?;
        c.is_finite().then_some((c, i, j))
    });
    let known: Vec<(f64, usize, usize)> = known.collect();
    let closest = known.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some(&(c, i, j)) = closest.filter(|_| known.len() > 1) {
        let (a, b) = (&all[j].0.name, &all[i].0.name);
        said += &if c >= 0.5 {
            format!(" The most alike are {a} and {b} (Corr {c:.2}).")
        } else {
            format!(" No two are alike: {a} and {b} come closest (Corr {c:.2}).")
        };
    }
    let waves = all.iter().filter_map(|(v, r)| Some((v, r.sight.as_ref()?)));
    let lowest = waves.max_by(|a, b| a.1.low.total_cmp(&b.1.low));
    if let Some((view, sight)) = lowest.filter(|(_, s)| s.low > 1.5) {
        said += &format!(
            " {} leans most to low spatial frequencies, at {} the isotropic weight.",
            view.name,
            words::times(sight.low)
        );
    }
    said.trim_start().to_string()
}

fn numbers(all: &[(&View, &Reading)]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("architecture", Left),
        ("input", Left),
        ("directions", Right),
        ("effective rank", Right),
        ("first 10", Right),
        ("low", Right),
        ("high", Right),
    ]);
    for (view, reading) in all {
        let s = view.summary;
        let weight = |x: Option<f64>| x.map_or(Cell::Empty, |x| format!("{:.2} ×", x).into());
        table.push([
            view.name.as_str().into(),
            input(&view.shape).into(),
            with_error(s.participation_ratio, s.participation_ratio_error).into(),
            with_error(s.effective_rank, s.effective_rank_error).into(),
            percent(reading.head.1).into(),
            weight(reading.sight.as_ref().map(|s| s.low)),
            weight(reading.sight.as_ref().map(|s| s.high)),
        ]);
    }
    table
}

/// Corr of every pair.
fn alike(names: &[&str], corr: &[Vec<f64>]) -> Section {
    let map = HeatMap {
        title: "Corr of every two".into(),
        x: String::new(),
        y: String::new(),
        value: "Corr".into(),
        rows: corr.to_vec(),
        row_names: names.iter().map(ToString::to_string).collect(),
        column_names: names.iter().map(ToString::to_string).collect(),
        colours: ColourMap::Sequential,
    };
    Section::new("How alike they are").figure(
        "corr",
        map.draw(),
        "The cosine between two geometries: 1 for the same up to scale.",
    )
}

fn methods(views: &[View]) -> Table {
    use Align::Left;
    let mut table = Table::new([
        ("architecture", Left),
        ("method", Left),
        ("approximations", Left),
    ]);
    for view in views {
        table.push([
            view.name.as_str().into(),
            view.method.as_str().into(),
            view.notes.join(" ").into(),
        ]);
    }
    table
}
