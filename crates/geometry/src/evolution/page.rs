//! `report.html`: the finding, then the matrices, then the check.

use polariscope_data::Dataset;
use polariscope_graph::Shape;
use polariscope_linalg::covariance;
use polariscope_report::{
    Axis, ColourMap, Gallery, Mark, Page, Picture, Plot, Section, Series, Tile, pretty,
};

use super::answer::{Moved, SHORT};
use super::lens::Movement;
use super::picture::Blocks;
use crate::page::{Plane, percent};

/// Directions drawn.
const DIRECTIONS: usize = 16;

/// The page of an evolution under `data`.
pub fn evolution_page(
    found: &Movement,
    data: &Dataset,
    command: &str,
    settings: Vec<(String, String)>,
) -> Page {
    let name = &found.name;
    let mut page = Page::new(
        format!("How the geometry of {name} begins to move"),
        format!(
            "When {name} starts to learn the data “{}”, in which directions does what it sees change first?",
            data.name
        ),
        found.result.words.as_str(),
    );
    page.facts(facts(&found.result));
    page.push(matrices(found, data));
    page.push(directions(found));
    page.push(check(&found.result));
    page.push(
        Section::new("In numbers")
            .prose(
                "Δ is the derivative by time of the average geometry under gradient flow, by the exact tangent of every \
                 network's input gradient. Errors are of the jackknife over sixteen groups of networks.",
            )
            .table(found.result.table()),
    );
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(moved: &Moved) -> Vec<(String, String)> {
    let shown = |corr: Option<polariscope_stats::Estimate>| {
        corr.map_or("lost in noise".to_string(), |c| c.pair())
    };
    vec![
        (
            shown(moved.corr_gsg),
            "Corr(−Δ, GSG): along the data as the architecture sees them".to_string(),
        ),
        (
            shown(moved.corr_s),
            "Corr(−Δ, S): along the data themselves".to_string(),
        ),
        (
            pretty(moved.delta_error),
            "relative standard error of Δ".to_string(),
        ),
    ]
}

/// −Δ, S and GSG side by side.
fn matrices(found: &Movement, data: &Dataset) -> Section {
    let shape = data.shape;
    let (line, axis) = match shape {
        Shape::Image { width, .. } => (width, "pixel, row by row"),
        Shape::Signal { .. } | Shape::Vector { .. } | Shape::Tokens { .. } => (1, "input"),
    };
    let blocks = Blocks::new(shape.len(), line);
    let s = covariance(&data.train.x, shape.len());
    let all = [
        ("−Δ", "how the geometry moves", blocks.of(&found.minus())),
        ("S", "the data", blocks.of(&s)),
        (
            "GSG",
            "the data as the architecture sees them",
            blocks.of_product(&found.known, &s),
        ),
    ];
    let columns = all.map(|(name, what, rows)| {
        let drawing = blocks.field(name, axis, rows).draw();
        Section::new("").figure(
            name.replace('−', "minus "),
            drawing,
            format!("{name}: {what}."),
        )
    });
    let mean = match blocks.size() {
        1 => String::new(),
        n => format!(" Each dot is the mean of {n} × {n} entries."),
    };
    Section::new("The three matrices")
        .prose(format!(
            "White is zero, red positive, blue negative; each on its own scale, whose end the strongest hundredth of the \
             entries takes.{mean} The sign of Δ is turned so that the three can be compared by eye."
        ))
        .columns(columns)
}

/// The first eigenvectors of −Δ.
fn directions(found: &Movement) -> Section {
    let section = Section::new("Directions that move first");
    let Shape::Image {
        channels,
        height,
        width,
    } = found.shape
    else {
        return section.prose(
            "The input is no image, so the directions are not drawn; they are the eigenvectors of the matrix in delta.npy.",
        );
    };
    let plane = Plane {
        height,
        width,
        planes: channels,
    };
    let dim = plane.len();
    let size: f64 = found.values.iter().map(|v| v.abs()).sum();
    let tile = |i: usize| Tile {
        label: format!("{} · {}", i + 1, percent(found.values[i] / size)),
        pictures: vec![Picture::Map {
            words: format!("direction {} of −Δ in pixels", i + 1),
            rows: plane.picture(&found.vectors[i * dim..][..dim]),
            colours: ColourMap::Diverging,
        }],
    };
    let gallery = Gallery {
        title: "First directions of −Δ".into(),
        tiles: (0..DIRECTIONS.min(dim)).map(tile).collect(),
    };
    let planes = if channels > 1 {
        " Channels lie side by side."
    } else {
        ""
    };
    section.gallery(
        "directions",
        gallery,
        format!(
            "Eigenvectors of −Δ, largest eigenvalue first, with their share of the sum of all sizes: along them the \
             geometry shrinks fastest when training begins. White is zero, red and blue of opposite sign.{planes} \
             Where the error of Δ is large, only the first ones mean something."
        ),
    )
}

/// Δ against finite time.
fn check(moved: &Moved) -> Section {
    let points: Vec<(f64, f64)> = moved.finite.iter().map(|f| (f.step, f.error)).collect();
    let section = Section::new("Δ against steps of finite time").prose(
        "The weights of a few networks are moved by a step δt of gradient flow, in units of the time in which they would \
         move by their own size, and (G after − G before)/δt is compared with Δ, in double precision. For a smooth \
         network the difference falls in proportion to the step (order 1) until rounding stops it; where activations have \
         kinks the gradient jumps as a kink passes, and the formula is the derivative between jumps: steps short enough \
         for no kink to pass fall on the line.",
    );
    let Some(&(from, first)) = points.last() else {
        return section.prose("The weights of these networks do not move.");
    };
    let line = points.iter().map(|&(x, _)| (x, first * x / from));
    let plot = Plot {
        title: "Difference from Δ".into(),
        x: Axis::log("step δt, in units of ‖θ‖/‖θ̇‖"),
        y: Axis::log("‖(G(δt) − G)/δt − Δ‖ / ‖Δ‖"),
        series: vec![
            Series::reference("order 1", line.collect()),
            Series {
                mark: Mark::LinePoints,
                ..Series::line("measured", points)
            },
        ],
    };
    let order = moved.order.as_ref().map_or(String::new(), |o| {
        format!(
            " Fitted order {:.3} ± {:.3} over steps from {} to {}, those whose difference is below {SHORT}.",
            o.exponent,
            o.error,
            pretty(o.range.0),
            pretty(o.range.1)
        )
    });
    section
        .figure(
            "finite steps",
            plot.draw(),
            format!("Mean over a few networks, at one point each.{order}"),
        )
        .table(moved.steps())
}
