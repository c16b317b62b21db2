//! Writes a page with every kind of figure, to look at: `cargo run -p polariscope-report --example gallery -- DIR`.

use std::path::PathBuf;

use polariscope_report::{
    Align, Axis, BarChart, Bars, ColourMap, Extent, Field, Gallery, HeatMap, Mark, Page, Picture,
    Plot, Section, Series, Table, Tile,
};
use polariscope_stats::Estimate;

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".into()));
    std::fs::create_dir_all(dir.join("figures"))?;
    for (path, content) in page().files("example") {
        std::fs::write(dir.join(path), content)?;
    }
    Ok(())
}

fn page() -> Page {
    let mut page = Page::new(
        "Gallery of figures",
        "How does every kind of figure look, with short and long names, on a phone and on paper?",
        "Legible, if this page can be read without zooming.\n\nA second paragraph of the answer names the number that matters: 0.153 ± 0.004 (n = 20).",
    );
    let facts = [
        ("17", "of 1,024 directions take part"),
        ("71 %", "of the sensitivity"),
    ];
    page.facts(facts.map(|(value, what)| (value.to_string(), what.to_string())));
    page.push(lines());
    page.push(bars());
    page.push(matrices());
    page.push(pictures());
    page.push(Section::new("Reproduce").command("polariscope geometry resnet18 --seed 0"));
    let pairs = [
        ("architecture", "resnet18"),
        ("seed", "0"),
        (
            "parametrisation",
            "ntk { w_std = 1.4142135623730951, b_std = 0 }",
        ),
    ];
    page.configure(pairs.map(|(k, v)| (k.to_string(), v.to_string())));
    page
}

fn lines() -> Section {
    let curve = |k: f64| (0..60).map(move |i| (f64::from(i), (-f64::from(i) * k).exp() + 1e-4));
    let decay = |k: f64| {
        let band = curve(k).map(|(_, y)| (y * 0.7, y * 1.4)).collect();
        Series::line(format!("rate {k}"), curve(k).collect()).with_band(band)
    };
    let loss = Plot {
        title: "Loss falls exponentially, then meets the floor set by the noise in the labels"
            .into(),
        x: Axis::linear("epoch"),
        y: Axis::log("training loss"),
        series: vec![decay(0.05), decay(0.1), decay(0.3)],
    };
    let many = Plot {
        title: "Nine curves".into(),
        x: Axis::linear("x"),
        y: Axis::linear("sin(x + phase)"),
        series: (0..9)
            .map(|k| {
                let wave = |i: i32| {
                    (
                        f64::from(i) / 10.0,
                        (f64::from(i) / 10.0 + f64::from(k) * 0.4).sin(),
                    )
                };
                Series::line(
                    format!("phase {:.1}", f64::from(k) * 0.4),
                    (0..100).map(wave).collect(),
                )
            })
            .collect(),
    };
    let cloud = |shift: f64| {
        let at = |i: u32| {
            let (a, r) = (f64::from(i) * 2.399_963, f64::from(i).sqrt());
            (
                10f64.powf(shift + 0.2 * r * a.cos()),
                10f64.powf(0.2 * r * a.sin() - shift),
            )
        };
        (0..80).map(at).collect::<Vec<_>>()
    };
    let power = Series {
        mark: Mark::LinePoints,
        ..Series::line(
            "a law",
            (0..8)
                .map(|i| (10f64.powi(i - 3), 10f64.powf(1.5 - 0.5 * f64::from(i))))
                .collect(),
        )
    };
    let scatter = Plot {
        title: "Clouds on logarithmic axes".into(),
        x: Axis::log("eigenvalue"),
        y: Axis::log("alignment"),
        series: vec![
            Series::reference("one to one", vec![(0.01, 0.01), (100.0, 100.0)]),
            Series::scatter("below", cloud(-1.0)),
            Series::scatter("above", cloud(1.0)),
            power,
        ],
    };
    Section::new("Lines and points")
        .prose("A band is one standard error on either side of the mean over the runs named in the caption.")
        .figure("loss", loss.draw(), "Training loss by epoch, mean of 20 runs; the band is one standard error.")
        .figure("many", many.draw(), "More curves than colours: the dash pattern takes over.")
        .figure("scatter", scatter.draw(), "Form and colour both tell the series.")
}

fn bars() -> Section {
    let names = [
        "conv1",
        "layer1.0.conv1",
        "layer4.1.conv2",
        "features.denseblock4.denselayer16.norm2",
        "linear",
    ];
    let chart = BarChart {
        title: "Parameters by layer".into(),
        value: Axis::linear("parameters"),
        categories: names.map(String::from).to_vec(),
        series: vec![
            Bars {
                label: "ours".into(),
                values: vec![1728.0, 36_864.0, 2_359_296.0, 1024.0, 5130.0],
                errors: vec![],
            },
            Bars {
                label: "theirs".into(),
                values: vec![20_000.0, 536_864.0, 1_359_296.0, 900_024.0, -400_000.0],
                errors: [10_000.0, 100_000.0, 300_000.0, 20_000.0, 100_000.0]
                    .map(|e| [e, 0.5 * e])
                    .to_vec(),
            },
        ],
    };
    let mut table = Table::new([
        ("layer", Align::Left),
        ("parameters", Align::Right),
        ("susceptibility", Align::Right),
    ]);
    for (i, name) in names.iter().enumerate() {
        let e = Estimate {
            value: 0.9 + 0.037 * i as f64,
            standard_error: 0.004,
            samples: 20,
        };
        table.push([(*name).into(), (1728 * (i + 1) * 31).into(), e.into()]);
    }
    Section::new("Bars and tables")
        .figure(
            "parameters",
            chart.draw(),
            "Whiskers are one standard error.",
        )
        .table(table)
}

fn matrices() -> Section {
    let map = |n: usize, colours, f: fn(f64, f64) -> f64| HeatMap {
        title: format!("A matrix of {n} × {n}"),
        x: "column".into(),
        y: "row".into(),
        value: "value".into(),
        rows: (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| f(i as f64 / n as f64, j as f64 / n as f64))
                    .collect()
            })
            .collect(),
        row_names: vec![],
        column_names: vec![],
        colours,
    };
    let mut named = map(6, ColourMap::Sequential, |x, y| x * 1000.0 * y + x);
    named.title = "Confusion between classes".into();
    let classes = ["aeroplane", "automobile", "bird", "cat", "deer", "dog"];
    named.row_names = classes.map(String::from).to_vec();
    named.column_names = named.row_names.clone();
    named.rows[2][3] = f64::NAN;
    Section::new("Matrices")
        .figure(
            "confusion",
            named.draw(),
            "Small matrices show their values; grey is missing.",
        )
        .figure(
            "middle",
            map(24, ColourMap::Diverging, |x, y| {
                (6.0 * x).sin() - 0.7 * (9.0 * y).cos()
            })
            .draw(),
            "Sign matters: white is zero.",
        )
        .figure(
            "kernel",
            map(300, ColourMap::Sequential, |x, y| {
                (-40.0 * (x - y) * (x - y)).exp() * 2e-5
            })
            .draw(),
            "Large matrices are an image.",
        )
}

fn pictures() -> Section {
    let wave = |a: f64, b: f64| -> Vec<Vec<f64>> {
        let at = |i: u32, j: u32| {
            let (y, x) = (f64::from(i) / 32.0 - 0.5, f64::from(j) / 32.0 - 0.5);
            (-6.0 * (x * x + y * y)).exp() * (std::f64::consts::TAU * (a * y + b * x)).cos()
        };
        (0..32)
            .map(|i| (0..32).map(|j| at(i, j)).collect())
            .collect()
    };
    let tile = |k: u32| Tile {
        label: format!("{} · {:.1} %", k + 1, 20.0 / f64::from(k + 1)),
        pictures: vec![Picture::Map {
            words: format!("wave {k}"),
            rows: wave(f64::from(k / 4), f64::from(k % 4)),
            colours: ColourMap::Diverging,
        }],
    };
    let gallery = Gallery {
        title: "Waves".into(),
        tiles: (0..16).map(tile).collect(),
    };
    let field = |title: &str, value: Axis, colours| Field {
        title: title.into(),
        x: Extent::new("cycles across", -16.0, 15.0),
        y: Extent::new("cycles down", -16.0, 15.0),
        outline: (value == Axis::log("weight")).then_some(0.3),
        value,
        rows: wave(0.0, 1.0),
        colours,
        range: None,
    };
    let log = field("Logarithmic", Axis::log("weight"), ColourMap::Sequential);
    let linear = field("Linear", Axis::linear("sign"), ColourMap::Diverging);
    Section::new("Pictures")
        .gallery("waves", gallery, "As many to a row as fit.")
        .columns([
            Section::new("One").figure("log field", log.draw(), "A line around what is large."),
            Section::new("Two").figure("linear field", linear.draw(), "Sign matters."),
        ])
        .list(["A short statement.".to_string(), "Another.".to_string()])
}
