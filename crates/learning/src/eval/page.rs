//! `report.html` of an evaluation.

use polariscope_graph::Shape;
use polariscope_report::{
    Align, Axis, ColourMap, HeatMap, Page, Plot, Section, Series, Table, counted, pretty,
};

use super::job::norms;
use super::{Answer, Number, Spread};

/// Fewer numbers than this are no histogram.
const FEW: usize = 8;
/// Outputs that get a row of their own.
const ROWS: usize = 20;

/// The page.
pub fn page<T: Number>(answer: &Answer<T>, settings: Vec<(String, String)>) -> Page {
    let Answer {
        network,
        summary: evaluation,
        ..
    } = answer;
    let output = evaluation.output;
    let mut words = format!(
        "Over {} of {} and {}, its values lie between {} and {} (mean {}, standard deviation {}).",
        counted(evaluation.samples as u64, "sample"),
        answer.shape,
        counted(evaluation.outputs as u64, "output"),
        pretty(output.min),
        pretty(output.max),
        pretty(output.mean),
        pretty(output.std)
    );
    let derivatives = [
        (
            evaluation.gradient_norm,
            "The gradient of logit 0 in the input",
        ),
        (
            evaluation.gradient_tangent_norm,
            "The change of that gradient along the given weights",
        ),
    ];
    for (norm, what) in derivatives {
        if let Some(norm) = norm {
            words += &format!(
                " {what} has norm {} on average, from {} to {}.",
                pretty(norm.mean),
                pretty(norm.min),
                pretty(norm.max)
            );
        }
    }
    let asked = match evaluation
        .gradient_norm
        .or(evaluation.gradient_tangent_norm)
    {
        None => format!("What does {network} answer to these samples?"),
        Some(_) => format!(
            "What does {network} answer to these samples, and what in them moves its first output?"
        ),
    };
    let mut page = Page::new(format!("{network} evaluated"), asked, words);
    page.push(outputs(answer, evaluation.outputs));
    let derivatives = [
        ("Gradient of logit 0", "gradient", &answer.gradient),
        (
            "Tangent of the gradient",
            "gradient tangent",
            &answer.tangent,
        ),
    ];
    for (heading, name, values) in derivatives {
        if let Some(values) = values {
            page.push(derivative(heading, name, values, answer.shape));
        }
    }
    page.configure(settings);
    page
}

fn outputs<T: Number>(answer: &Answer<T>, outputs: usize) -> Section {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("output", Left),
        ("mean", Right),
        ("std", Right),
        ("min", Right),
        ("max", Right),
    ]);
    for k in 0..outputs.min(ROWS) {
        let column = answer.output.iter().skip(k).step_by(outputs);
        let s = Spread::of(&column.map(|x| x.to_f64()).collect::<Vec<_>>());
        table.push([
            k.to_string().into(),
            s.mean.into(),
            s.std.into(),
            s.min.into(),
            s.max.into(),
        ]);
    }
    let mut section = Section::new("Outputs").table(table);
    if outputs > ROWS {
        section = section.prose(format!(
            "The first {ROWS} of {outputs} outputs; output.npy has all."
        ));
    }
    let all: Vec<f64> = answer.output.iter().map(|x| x.to_f64()).collect();
    histogram(section, "output", &all, "All outputs of all samples")
}

fn derivative<T: Number>(heading: &str, name: &str, values: &[T], shape: Shape) -> Section {
    let norms = norms(values, shape.len());
    let mut section = Section::new(heading);
    if let Shape::Image { height, width, .. } = shape {
        let map = HeatMap {
            title: format!("Where the {name} is large"),
            x: "column".into(),
            y: "row".into(),
            value: "root mean square".into(),
            rows: root_mean_square(values, height, width),
            row_names: Vec::new(),
            column_names: Vec::new(),
            colours: ColourMap::Sequential,
        };
        let caption = "Root mean square over samples and channels, pixel by pixel.";
        section = section.figure(format!("{name} map"), map.draw(), caption);
    }
    if norms.len() < FEW {
        let text: Vec<String> = norms.iter().map(|&n| pretty(n)).collect();
        return section.prose(format!("Norm by sample: {}.", text.join(", ")));
    }
    histogram(
        section,
        &format!("norm of the {name}"),
        &norms,
        "Euclidean norm of each sample",
    )
}

/// √(mean over samples and channels of v²) for every pixel.
fn root_mean_square<T: Number>(values: &[T], height: usize, width: usize) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; width]; height];
    let planes = values.chunks(height * width);
    let count = planes.len().max(1) as f64;
    for plane in planes {
        for (row, line) in rows.iter_mut().zip(plane.chunks(width)) {
            row.iter_mut()
                .zip(line)
                .for_each(|(sum, v)| *sum += v.to_f64().powi(2));
        }
    }
    for sum in rows.iter_mut().flatten() {
        *sum = (*sum / count).sqrt();
    }
    rows
}

/// Adds a histogram of ⌈√n⌉ bins, at most 40, if there is something to see.
fn histogram(section: Section, what: &str, numbers: &[f64], caption: &str) -> Section {
    let Spread { min, max, .. } = Spread::of(numbers);
    if numbers.len() < FEW || max <= min {
        return section;
    }
    let bins = ((numbers.len() as f64).sqrt().ceil() as usize).min(40);
    let mut counts = vec![0usize; bins];
    for x in numbers {
        // The largest number belongs to the last bin.
        let bin = ((x - min) / (max - min) * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    let edge = |i: usize| min + (max - min) * i as f64 / bins as f64;
    let steps = counts
        .iter()
        .enumerate()
        .flat_map(|(i, &n)| [(edge(i), n as f64), (edge(i + 1), n as f64)]);
    let line: Vec<(f64, f64)> = [(min, 0.0)]
        .into_iter()
        .chain(steps)
        .chain([(max, 0.0)])
        .collect();
    let plot = Plot {
        title: format!("Histogram: {what}"),
        x: Axis::linear(what),
        y: Axis::linear("count"),
        series: vec![Series::line("", line)],
    };
    section.figure(
        format!("histogram {what}"),
        plot.draw(),
        format!("{caption}; n = {}.", numbers.len()),
    )
}
