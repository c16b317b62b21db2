//! `report.html` of a stability.

use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_report::{Axis, Gallery, Mark, Page, Picture, Plot, Section, Series, Tile, pretty};

use super::{Answer, Average, Network, Pairs, Point, Radius, Rules, Summary};
use crate::Value;
use crate::value::short;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let summary = &answer.summary;
    let mut page = Page::new(
        format!("The stability of {}", summary.network),
        format!(
            "Does {} mind small deformations of its images less than noise?",
            summary.network
        ),
        summary.words.as_str(),
    );
    page.facts(summary.networks.iter().map(|network| {
        (
            short(network.asked().relative.value),
            format!(
                "R at {} weights; 1: as much as noise",
                network.weights.words()
            ),
        )
    }));
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
    let mut sections = Vec::new();
    if !answer.pictures.is_empty() {
        sections.push(pictures(answer));
    }
    sections.push(
        Section::new("In numbers")
            .prose(
                "D is the change of the outputs by deformations, G that by noise of the same size, both over the distance of the outputs of two \
                 different images (squares of norms). R = D/G can be small because deformations change little, or because noise changes much: \
                 look at both.",
            )
            .table(summary.table()),
    );
    sections.push(
        Section::new("Over displacements")
            .columns([over_displacements(summary), over_noise(summary)]),
    );
    sections.push(over_depth(summary));
    sections.push(
        Section::new("How it is measured")
            .prose(rules(summary))
            .table(summary.deformations()),
    );
    sections
}

fn pictures(answer: &Answer) -> Section {
    let photo = |words: String, rows: &Vec<Vec<[f64; 3]>>| Picture::Photo {
        words,
        rows: rows.clone(),
    };
    let tile = |shown: &super::Shown| Tile {
        label: format!("image {}", shown.image),
        pictures: vec![
            photo(format!("image {}", shown.image), &shown.clean),
            photo("the same, deformed".into(), &shown.deformed),
            photo("the same with noise".into(), &shown.noisy),
        ],
    };
    Section::new("What it is shown").gallery(
        "images",
        Gallery {
            title: "As they are, deformed, with noise of the same size".into(),
            tiles: answer.pictures.iter().map(tile).collect(),
        },
        "From top to bottom: as it is, deformed, and with noise as far from it as deformed images are.",
    )
}

/// A line with its interval.
fn line(label: String, points: impl Iterator<Item = (f64, Value)>) -> Series {
    let (points, band) = points.map(|(x, v)| ((x, v.value), (v.low, v.high))).unzip();
    Series {
        mark: Mark::LinePoints,
        ..Series::line(label, points)
    }
    .with_band(band)
}

fn label(network: &Network) -> String {
    format!("{} weights", network.weights.words())
}

fn over_displacements(summary: &Summary) -> Section {
    let series = |network: &Network| {
        line(
            label(network),
            network.sweep.iter().map(|p| (p.displacement, p.relative)),
        )
    };
    let plot = Plot {
        title: "Deformations against noise".into(),
        x: Axis::log("displacement δ, pixels"),
        y: Axis::log("R"),
        series: summary
            .networks
            .iter()
            .map(series)
            .chain([one(summary.networks.first().map_or(&[], |n| &n.sweep))])
            .collect(),
    };
    Section::new("").figure(
        "stability displacement",
        plot.draw(),
        "At 1 the outputs mind deformations as much as noise. Bands: 95 % over images.",
    )
}

/// R = 1.
fn one(sweep: &[Point]) -> Series {
    let ends = [sweep.first(), sweep.last()].into_iter().flatten();
    Series::reference("R = 1", ends.map(|p| (p.displacement, 1.0)).collect())
}

fn over_noise(summary: &Summary) -> Section {
    let mut series: Vec<Series> = summary
        .networks
        .iter()
        .flat_map(|network| {
            let of = |what: &str, value: fn(&Point) -> Value| {
                line(
                    format!("{what}, {}", label(network)),
                    network.sweep.iter().map(move |p| (p.radius, value(p))),
                )
            };
            [of("D", |p| p.deformation), of("G", |p| p.noise)]
        })
        .collect();
    if let Some([first, .., last]) = summary.networks.first().map(|n| &n.sweep[..]) {
        let square = |p: &Point| first.noise.value * (p.radius / first.radius).powi(2);
        series.push(Series::reference(
            "slope 2",
            vec![(first.radius, square(first)), (last.radius, square(last))],
        ));
    }
    let plot = Plot {
        title: "Both parts".into(),
        x: Axis::log("‖η‖"),
        y: Axis::log("D, G"),
        series,
    };
    Section::new("").figure(
        "stability parts",
        plot.draw(),
        "Over the size of the change of the images. A linear network has slope 2 in G.",
    )
}

fn over_depth(summary: &Summary) -> Section {
    let series = |network: &Network| {
        line(
            label(network),
            network.layers.iter().map(|l| (l.depth, l.relative)),
        )
    };
    let plot = Plot {
        title: "Layer by layer".into(),
        x: Axis::linear("relative depth"),
        y: Axis::log("R of a layer's values"),
        series: summary
            .networks
            .iter()
            .map(series)
            .chain([Series::reference("R = 1", vec![(0.0, 1.0), (1.0, 1.0)])])
            .collect(),
    };
    Section::new("Over depth").figure(
        "stability depth",
        plot.draw(),
        format!(
            "R of the values of each activation, pool and sum, and of the outputs at 1, at δ = {}. Relative depth: the part of the weighted layers \
             that lie before.",
            pretty(summary.displacement)
        ),
    )
}

/// How deformations and averages are understood.
fn rules(summary: &Summary) -> String {
    let Rules {
        modes,
        displacement_is,
        interpolation,
        average,
        radius,
        pairs,
    } = summary.rules;
    let mut text = format!(
        "Deformations are sums of {} modes sin(iπu) sin(jπv) with {} for c = {}, their coefficients normal with variance T/(i² + j²). δ is {}. T lies \
         between {} (half a pixel) and {} (above it most deformations fold the image somewhere).",
        summary.modes,
        match modes {
            ModeRule::Strict => "i² + j² ≤ c²",
            ModeRule::Code => "√(i² + j²) < c + ½",
        },
        summary.cutoff,
        match displacement_is {
            Convention::Exact => "the root mean square of the displacements",
            Convention::Nominal =>
                "nominal: its square is (π/4) n² T ln c, what the mean square tends to for large c",
        },
        pretty(summary.valid[0]),
        pretty(summary.valid[1]),
    );
    text += match interpolation {
        Interpolation::Bilinear => " Between pixels images are interpolated linearly.",
        Interpolation::Gaussian => {
            " Between pixels images are averaged with a Gaussian of 0.4715 pixels; x is blurred alike."
        }
    };
    text += match average {
        Average::Median => " Averages over images are medians.",
        Average::Mean => " Averages over images are means.",
        Average::Coordinates => {
            " Averages over images are medians of the square of each output by itself, summed over outputs; of hidden layers, of norms."
        }
    };
    text += match radius {
        Radius::Common => " The noise of all images has the same size, the average of ‖τx − x‖.",
        Radius::Own => " The noise of each image is as large as its own ‖τx − x‖.",
    };
    text += match pairs {
        Pairs::Distinct => " Distances are those of all pairs of different images.",
        Pairs::All => " Distances are the median of all pairs, those of an image with itself too.",
    };
    text + " At initial weights batch norm has the statistics of the first images that are shown (at most 256). Every image has one deformation and one \
            direction of noise, the same at all displacements and weights."
}
