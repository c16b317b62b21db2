//! `report.html` of a comparison: the same figures of several geometries, side by side.

use polariscope_report::{Align, Cell, ColourMap, HeatMap, Page, Section, Table};

use super::figures::{self, Pictures, Ranges};
use super::reading::{Preference, Reading};
use super::weight::Weight;
use super::words::{of_all, times};
use super::{HEAD, View, head, input, is_uneven, pretty_weight, with_error, words};
use crate::Similarity;
use crate::lens::source::Voice;

/// Rows and columns of a matrix in a column.
const SMALL: usize = 256;
/// Directions drawn of each.
const DIRECTIONS: usize = 12;

/// Why there is no Corr.
pub const DROWNED: &str = "Noise: the samples are too small to tell how alike these are; take more networks (--samples, --error).";

/// The page of several geometries; `corr[i][j]` is Corr of geometries i and j, NaN where their inputs differ.
pub(super) fn page(
    views: &[View],
    corr: &[Vec<Similarity>],
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
            "Directions is the participation ratio, first tenth the share of the trace in a tenth of the directions. Low and \
             high are the weights of spatial frequencies up to an eighth and from three eighths of the side, in cycles an \
             image, over the isotropic one.",
        ),
    );
    let images = readings.iter().any(|r| r.sight.is_some());
    if images {
        page.push(sights(&all));
    }
    let in_words = |(view, reading): &(&View, &Reading)| {
        let said = words::paragraphs(&view.name, reading);
        let section = Section::new(view.name.as_str()).prose(format!("{}.", view.source.line()));
        said.split("\n\n")
            .fold(section, |section, part| section.prose(part))
    };
    page.push(Section::new("In words").columns(all.iter().map(in_words)));
    let views_by_ref: Vec<&View> = views.iter().collect();
    page.push(Section::new("Spectrum").figure(
        "spectrum",
        figures::spectra(&views_by_ref).draw(),
        figures::spectrum_caption(&views_by_ref),
    ));
    let profiles = all.iter().filter_map(|(view, reading)| {
        let rings = reading.sight.as_ref().map(|s| &s.rings[..])?;
        Some((view.name.as_str(), rings))
    });
    if let Some(profile) = figures::profile(&profiles.collect::<Vec<_>>()) {
        let uneven = all.iter().any(|(_, reading)| is_uneven(reading));
        let caption = figures::profile_caption(voice(&all), uneven, None);
        page.push(Section::new("Frequencies").figure("profile", profile.draw(), caption));
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
    page.push(Section::reproduce(command));
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
    let uneven = all.iter().any(|(_, reading)| is_uneven(reading));
    let caption = figures::frequencies_caption(voice(all), uneven);
    Section::new("Frequencies and pixels")
        .prose(format!("{caption} {}", figures::PIXELS))
        .columns(columns(all, fill))
}

/// The first directions of each.
fn directions(all: &[(&View, &Reading)]) -> Section {
    let fill = |pictures: Pictures, section: Section| match (
        pictures.preference(),
        pictures.first(DIRECTIONS),
    ) {
        (Preference::None, _) => section.prose("All directions count alike: none is drawn."),
        (Preference::Unknown, _) => section.prose("Noise decides the directions: none is drawn."),
        (_, Some((gallery, _))) => section.gallery("directions", gallery, ""),
        (_, None) => section.prose("The input is no image."),
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

/// How to speak of all of them: as coherent geometries only if all are.
fn voice(all: &[(&View, &Reading)]) -> Voice {
    let mut voices = all.iter().map(|(_, reading)| reading.source.voice());
    match voices.all(|v| v == Voice::Coherent) {
        true => Voice::Coherent,
        false => Voice::Sensitivity,
    }
}

/// What was compared, the extremes, and which come closest.
fn answer(all: &[(&View, &Reading)], corr: &[Vec<Similarity>]) -> String {
    let named: Vec<(&str, &Reading)> = all.iter().map(|(v, r)| (v.name.as_str(), *r)).collect();
    let parts = [
        Some(kinds(&named)),
        extremes(&named),
        closest(&named, corr),
        lowest(&named),
    ];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    said.join(" ")
}

/// Which geometry was compared, of each where they differ.
fn kinds(all: &[(&str, &Reading)]) -> String {
    let lines: Vec<String> = all.iter().map(|(_, r)| r.source.line()).collect();
    if lines.windows(2).all(|w| w[0] == w[1]) {
        return format!("{}.", lines[0]);
    }
    // Those that were found in one way are named together.
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for ((name, _), line) in all.iter().zip(&lines) {
        match ways.iter_mut().find(|(way, _)| way == line) {
            Some((_, names)) => names.push(name),
            None => ways.push((line, vec![name])),
        }
    }
    let each = ways
        .iter()
        .map(|(way, names)| format!("{}: {way}", names.join(", ")));
    let each: Vec<String> = each.collect();
    format!("They were not found in the same way. {}.", each.join("; "))
}

/// The strongest and the weakest preference, where errors separate them.
fn extremes(all: &[(&str, &Reading)]) -> Option<String> {
    let part = |r: &Reading| Weight {
        value: r.directions.0 / r.dim as f64,
        error: r.directions.1.unwrap_or(0.0) / r.dim as f64,
    };
    let known = || {
        all.iter()
            .filter(|(_, r)| r.preference != Preference::Unknown)
    };
    let by =
        |a: &&(&str, &Reading), b: &&(&str, &Reading)| part(a.1).value.total_cmp(&part(b.1).value);
    let (narrow, broad) = (known().min_by(by)?, known().max_by(by)?);
    if !part(broad.1).over(part(narrow.1)).above(1.0) {
        return None;
    }
    let takes = |r: &Reading| of_all(r.directions, ("", r.dim, ""));
    Some(format!(
        "{} has the strongest preference ({} directions take part), {} the weakest ({}).",
        narrow.0,
        takes(narrow.1),
        broad.0,
        takes(broad.1)
    ))
}

/// The pair of the largest Corr, of several, where it leads by more than the errors.
fn closest(all: &[(&str, &Reading)], corr: &[Vec<Similarity>]) -> Option<String> {
    let pairs = (0..all.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let known = pairs.filter_map(|(i, j)| {
        let c = *corr.get(i)?.get(j)?;
        c.is_known().then_some((c, i, j))
    });
    let mut known: Vec<(Similarity, usize, usize)> = known.collect();
    known.sort_by(|a, b| b.0.corr.total_cmp(&a.0.corr));
    let (&(c, i, j), &(next, ..)) = (known.first()?, known.get(1)?);
    let leads = c.corr - next.corr > 2.0 * c.error.hypot(next.error);
    leads.then(|| {
        let of = match c.error > 0.0 {
            true => c.words(),
            false => format!("{:.2}", c.corr),
        };
        format!("Closest are {} and {} (Corr {of}).", all[j].0, all[i].0)
    })
}

/// Which leans most to low frequencies, where it does and by more than its error.
fn lowest(all: &[(&str, &Reading)]) -> Option<String> {
    let waves = all
        .iter()
        .filter_map(|(name, r)| Some((name, r.sight.as_ref()?.low)));
    let mut waves: Vec<(&&str, Weight)> = waves.collect();
    waves.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let (name, low) = *waves.first()?;
    let leads = waves.get(1).is_none_or(|next| low.over(next.1).above(1.0));
    (low.above(1.5) && leads).then(|| {
        format!(
            "{name} leans most to low spatial frequencies, at {} the isotropic weight.",
            times(low)
        )
    })
}

fn numbers(all: &[(&View, &Reading)]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("architecture", Left),
        ("input", Left),
        ("directions", Right),
        ("effective rank", Right),
        (HEAD, Right),
        ("low", Right),
        ("high", Right),
    ]);
    for (view, reading) in all {
        let s = view.summary;
        let weight =
            |w: Option<Weight>| w.map_or(Cell::Empty, |w| format!("{} ×", pretty_weight(w)).into());
        table.push([
            view.name.as_str().into(),
            input(&view.shape).into(),
            with_error(s.participation_ratio, s.participation_ratio_error).into(),
            with_error(s.effective_rank, s.effective_rank_error).into(),
            head(s).into(),
            weight(reading.sight.as_ref().map(|s| s.low)),
            weight(reading.sight.as_ref().map(|s| s.high)),
        ]);
    }
    table
}

/// Corr of every pair.
fn alike(names: &[&str], corr: &[Vec<Similarity>]) -> Section {
    let map = HeatMap {
        title: "Corr of every two".into(),
        x: String::new(),
        y: String::new(),
        value: "Corr".into(),
        rows: corr
            .iter()
            .map(|row| row.iter().map(|c| c.corr).collect())
            .collect(),
        row_names: names.iter().map(ToString::to_string).collect(),
        column_names: names.iter().map(ToString::to_string).collect(),
        colours: ColourMap::Sequential,
    };
    let all = || corr.iter().flatten();
    let mut section = Section::new("How alike they are").figure(
        "corr",
        map.draw(),
        "The cosine between two geometries: 1 for the same up to scale.",
    );
    if all().any(|c| c.error > 0.0) {
        let columns = names.iter().map(|name| (*name, Align::Right));
        let mut table = Table::new([("Corr", Align::Left)].into_iter().chain(columns));
        for (name, row) in names.iter().zip(corr) {
            let cells = row.iter().map(|c| c.words().into());
            table.push([(*name).into()].into_iter().chain(cells));
        }
        section = section
            .prose("Where networks were sampled, Corr is free of their noise and has a standard error: it may exceed 1 by it.")
            .table(table);
    }
    match all().any(|c| !c.is_known()) {
        true => section.prose(DROWNED),
        false => section,
    }
}

fn methods(views: &[View]) -> Table {
    use Align::Left;
    let mut table = Table::new([
        ("architecture", Left),
        ("geometry", Left),
        ("method", Left),
        ("approximations", Left),
    ]);
    for view in views {
        table.push([
            view.name.as_str().into(),
            view.source.line().into(),
            view.method.as_str().into(),
            view.notes.join(" ").into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::reading::tests::{isotropic, reading};
    use super::super::weight::Weight;
    use super::*;
    use crate::lens::source::tests::sampled;

    fn with(directions: f64, error: Option<f64>, low: Weight) -> Reading {
        let mut reading = reading(|a, b| 1.0 / (1.0 + (a * a + b * b) as f64));
        reading.directions = (directions, error);
        if let Some(sight) = reading.sight.as_mut() {
            sight.low = low;
        }
        reading
    }

    /// In the order of the page.
    #[test]
    fn sentences_of_a_comparison_appear_and_do_not() {
        let (narrow, broad) = (
            with(10.0, None, Weight::exact(9.0)),
            with(100.0, None, Weight::exact(2.0)),
        );
        let both = [("a", &narrow), ("b", &broad)];
        // 1. Geometry and method, once or of each.
        assert!(
            kinds(&both).starts_with("Coherent geometry (what predicts learning), closed form")
        );
        let mut noisy = with(
            12.0,
            Some(5.0),
            Weight {
                value: 8.5,
                error: 1.0,
            },
        );
        noisy.source = sampled(500, Some(0.1));
        let differ = [("a", &narrow), ("b", &noisy)];
        assert!(kinds(&differ).starts_with("They were not found in the same way. a: Coherent"));
        let three = [("a", &narrow), ("b", &noisy), ("c", &broad)];
        assert!(kinds(&three).starts_with("They were not found in the same way. a, c: Coherent"));
        // 2. Extremes, where errors separate them.
        assert_eq!(
            extremes(&both).unwrap(),
            "a has the strongest preference (10 of 1,024 directions take part), b the weakest (100 of 1,024)."
        );
        assert_eq!(extremes(&differ), None);
        assert_eq!(extremes(&[("a", &narrow), ("b", &narrow)]), None);
        // 3. The closest of several pairs, with a word on noise.
        let table = |error: f64| -> Vec<Vec<Similarity>> {
            let rows = [[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]];
            let one = |corr| Similarity { corr, error };
            rows.iter().map(|row| row.map(one).to_vec()).collect()
        };
        let three = [("a", &narrow), ("b", &broad), ("c", &narrow)];
        assert_eq!(
            closest(&three, &table(0.0)).unwrap(),
            "Closest are a and c (Corr 0.90)."
        );
        assert_eq!(
            closest(&three, &table(0.02)).unwrap(),
            "Closest are a and c (Corr 0.90 ± 0.02)."
        );
        // 0.6 apart with errors of √2 · 0.25.
        assert_eq!(closest(&three, &table(0.25)), None);
        let mut drowned = table(0.02);
        drowned[2][0].corr = f64::NAN;
        assert_eq!(
            closest(&three, &drowned).unwrap(),
            "Closest are b and c (Corr 0.30 ± 0.02)."
        );
        assert_eq!(closest(&both, &table(0.0)), None);
        // 4. Low frequencies, where one leads.
        assert_eq!(
            lowest(&both).unwrap(),
            "a leans most to low spatial frequencies, at 9.0 times the isotropic weight."
        );
        assert_eq!(lowest(&differ), None);
        let flat = isotropic();
        assert_eq!(lowest(&[("a", &flat), ("b", &flat)]), None);
    }

    /// Figures claim learning only where all are coherent.
    #[test]
    fn one_local_geometry_silences_learning() {
        let mut local = isotropic();
        local.source.gradient = crate::Gradient::Local;
        assert_eq!(local.source.voice(), Voice::Sensitivity);
        assert_eq!(isotropic().source.voice(), Voice::Coherent);
    }
}
