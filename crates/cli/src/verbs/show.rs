//! `show`: an architecture, layer by layer.

use polariscope_graph::{Graph, Outline, Summary};
use polariscope_report::{
    Align, Axis, BarChart, Bars, Diagram, Frame, Page, Section, Step, Table, grouped,
};
use serde::Serialize;

use crate::args::{ArchitectureArgs, Common};
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Request};

/// Most layers that the bar chart of the report names.
const CHARTED: usize = 20;

/// The `[result]` of `run.toml`.
#[derive(Debug, Serialize)]
struct Totals {
    parameters: usize,
    buffers: usize,
    multiply_adds: usize,
    layers: usize,
}

/// Prints the layer table and the totals; with `--out`, writes them and a report.
pub fn run(args: &ArchitectureArgs, common: &Common) -> Result<(), CliError> {
    let graph = args.graph()?;
    let summary = Summary::of(&graph);
    if common.out.is_none() && common.png().is_some() {
        return Err(CliError::Usage(
            "--figures png: show draws figures into --out DIR; add it".into(),
        ));
    }
    if common.out.is_some() {
        write(args, common, &graph, &summary)?;
    }
    if common.json {
        return output::print_json(&summary);
    }
    output::print(&format!(
        "{}\n{}\n",
        terminal_table(&summary).to_text(output::WIDTH),
        sentence(&summary)
    ))
}

/// Headings of the whole table, for programs and for people.
const CSV: [&str; 7] = [
    "layer",
    "op",
    "output",
    "parameters",
    "multiply_adds",
    "receptive_field",
    "init_law",
];
const PAGE: [&str; 7] = [
    "layer",
    "op",
    "output",
    "parameters",
    "multiply-adds",
    "sees",
    "starts as",
];

/// Every layer with everything known about it.
fn whole_table(summary: &Summary, headings: [&str; 7]) -> Table {
    use Align::{Left, Right};
    let aligned = [Left, Left, Right, Right, Right, Right, Left];
    let mut table = Table::new(headings.into_iter().zip(aligned));
    for layer in &summary.layers {
        table.push([
            layer.name.as_str().into(),
            layer.op.as_str().into(),
            sizes(&layer.output.dims()).into(),
            layer.parameters.into(),
            layer.multiply_adds.into(),
            sizes(&layer.receptive_field).into(),
            layer.law.as_str().into(),
        ]);
    }
    table
}

/// The same, in words short enough for a terminal.
fn terminal_table(summary: &Summary) -> Table {
    let mut short = summary.clone();
    for layer in &mut short.layers {
        layer.op = layer.op.replace(" + bias", "");
        if let Some((before, _)) = layer.op.split_once(", padding") {
            layer.op = before.to_string();
        }
        if let Some(law) = same_law(&layer.law) {
            layer.law = law;
        }
    }
    whole_table(&short, PAGE)
}

/// `weight L, bias L` in half the room.
fn same_law(law: &str) -> Option<String> {
    let rest = law.strip_prefix("weight ")?;
    let each = rest.len().checked_sub(", bias ".len())? / 2;
    let one = rest.get(..each)?;
    (rest == format!("{one}, bias {one}")).then(|| format!("both {one}"))
}

/// `64x32x32`.
fn sizes(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    dims.join("x")
}

/// The totals in words.
fn sentence(summary: &Summary) -> String {
    let buffers = match summary.buffers {
        0 => String::new(),
        n => format!(", {} running statistics", grouped(n as u64)),
    };
    format!(
        "{}: {} → {}, {} layers, {} parameters{buffers}\n{} multiply-adds per sample\nInitial values: {}",
        summary.name,
        summary.input,
        summary.output,
        summary.layers.len(),
        grouped(summary.parameters as u64),
        grouped(summary.multiply_adds as u64),
        summary.initialisation
    )
}

/// Writes `layers.csv`, `report.html` and its figures, unless an earlier run did.
fn write(
    args: &ArchitectureArgs,
    common: &Common,
    graph: &Graph,
    summary: &Summary,
) -> Result<(), CliError> {
    let request = run::request("show", &graph.name, args.configuration(graph)?, common);
    let Opened::Work(mut directory) = run::open(&request, common)? else {
        return Ok(());
    };
    directory.write("layers.csv", whole_table(summary, CSV).to_csv().as_bytes())?;
    directory.write_page(&report(graph, summary, &request))?;
    directory.finish(&Totals {
        parameters: summary.parameters,
        buffers: summary.buffers,
        multiply_adds: summary.multiply_adds,
        layers: summary.layers.len(),
    })?;
    Ok(())
}

/// What the diagram shows.
const DIAGRAM: &str = "Every box is a layer with what works number by number behind it, and the shape that comes out; arcs are what skips. \
                       A frame is computed as often as it says, one after the other.";

/// The network as boxes.
fn diagram(graph: &Graph) -> Diagram {
    let outline = Outline::of(graph);
    let steps = outline.steps.into_iter().map(|step| Step {
        text: step.words,
        note: step.shape,
        reads: step.reads,
    });
    let frames = outline.repeats.into_iter().map(|repeat| Frame {
        first: repeat.first,
        last: repeat.last,
        label: match repeat.from {
            Some(name) => format!("{} times, from {name} on", repeat.times),
            None => format!("{} times", repeat.times),
        },
    });
    Diagram {
        title: graph.name.clone(),
        steps: steps.collect(),
        frames: frames.collect(),
    }
}

fn report(graph: &Graph, summary: &Summary, request: &Request) -> Page {
    let mut largest: Vec<_> = summary.layers.iter().filter(|l| l.parameters > 0).collect();
    // Stable, so layers of equal size stay in the order of computation.
    largest.sort_by_key(|l| std::cmp::Reverse(l.parameters));
    let weighty = largest.len();
    largest.truncate(CHARTED);
    let mut page = Page::new(
        summary.name.clone(),
        format!("What is {} made of?", summary.name),
        format!(
            "It maps {} to {} through {} layers, {weighty} of them with parameters: {} numbers to train. \
             A forward pass takes {} multiply-adds per sample.",
            summary.input,
            summary.output,
            summary.layers.len(),
            grouped(summary.parameters as u64),
            grouped(summary.multiply_adds as u64)
        ),
    );
    page.push(Section::new("What follows what").figure("diagram", diagram(graph).draw(), DIAGRAM));
    if !largest.is_empty() {
        let chart = BarChart {
            title: "Parameters by layer".into(),
            value: Axis::linear("parameters"),
            categories: largest.iter().map(|l| l.name.clone()).collect(),
            series: vec![Bars {
                label: String::new(),
                values: largest.iter().map(|l| l.parameters as f64).collect(),
                errors: Vec::new(),
            }],
        };
        let caption = if weighty > CHARTED {
            format!("The {CHARTED} largest of {weighty} layers with parameters.")
        } else {
            format!("All {weighty} layers with parameters, largest first.")
        };
        page.push(Section::new("Where the parameters are").figure(
            "parameters",
            chart.draw(),
            caption,
        ));
    }
    let layers = Section::new("Layers").prose(
        "“Sees” is the receptive field: how many input positions one number of the output depends on, along each axis. \
         Multiply-adds are those of one sample with weights, and between tokens.",
    );
    page.push(layers.table(whole_table(summary, PAGE)));
    page.configure(request.settings());
    page
}

#[cfg(test)]
mod tests {
    use super::same_law;

    #[test]
    fn equal_laws_are_said_once() {
        assert_eq!(
            same_law("weight N(0, 1²), bias N(0, 1²)").unwrap(),
            "both N(0, 1²)"
        );
        for law in [
            "weight 1, bias 0",
            "weight U(±0.1)",
            "value 0",
            "",
            "weight ±, bias",
        ] {
            assert_eq!(same_law(law), None);
        }
    }
}
