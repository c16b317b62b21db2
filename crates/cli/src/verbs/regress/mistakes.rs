//! Which classes are taken for which, and the samples most surely put into the wrong one.

use polariscope_graph::Shape;
use polariscope_kernels::inference::argmax;
use polariscope_report::{Align, ColourMap, Gallery, HeatMap, Picture, Section, Table, Tile};

use super::page::View;

/// Pictures shown.
const SHOWN: usize = 24;
/// Red, green and blue in the brightness that eyes see.
const BRIGHTNESS: [f64; 3] = [0.299, 0.587, 0.114];

/// Counts for `confusion.csv`: a row a class, a column for what it was taken for.
pub fn table(confusion: &[Vec<u64>]) -> Table {
    let names: Vec<String> = (0..confusion.len()).map(|k| format!("as_{k}")).collect();
    let columns = names.iter().map(|name| (name.as_str(), Align::Right));
    let mut table = Table::new([("class", Align::Right)].into_iter().chain(columns));
    for (class, row) in confusion.iter().enumerate() {
        let counts = row.iter().map(|&n| n.into());
        table.push([class.into()].into_iter().chain(counts));
    }
    table
}

/// The confusion matrix; `None` for real targets.
pub fn confusion(view: &View) -> Option<Section> {
    let counts = view.targets.confusion(&view.learnt.predictions)?;
    let shares = |row: &Vec<u64>| -> Vec<f64> {
        let all: u64 = row.iter().sum();
        // A class without test samples is 0/0: grey.
        row.iter()
            .map(|&n| (1000.0 * n as f64 / all as f64).round() / 10.0)
            .collect()
    };
    let map = HeatMap {
        title: "Which class is taken for which".into(),
        x: "taken for class".into(),
        y: "class".into(),
        value: "% of the class".into(),
        rows: counts.iter().map(shares).collect(),
        row_names: Vec::new(),
        column_names: Vec::new(),
        colours: ColourMap::Sequential,
    };
    let worst = |(own, row): (usize, &Vec<u64>)| {
        let others = (0..row.len()).filter(move |&k| k != own);
        let most = others.max_by_key(|&k| row[k])?;
        Some((row[most], own, most))
    };
    let pairs = counts.iter().enumerate().filter_map(worst);
    let prose = match pairs.max() {
        Some((n, own, taken)) if n > 0 => format!(
            "The commonest mistake: class {own} taken for class {taken}, {n} of {} times.",
            counts[own].iter().sum::<u64>()
        ),
        _ => "No test sample is put into a wrong class.".to_string(),
    };
    Some(Section::new("Mistakes").prose(prose).figure(
        "confusion",
        map.draw(),
        "Each row adds up to 100 %: the share of a class's test samples that is taken for each class. confusion.csv has \
         the counts.",
    ))
}

/// The images most surely put into a wrong class; `None` where there are none.
pub fn gallery(view: &View) -> Option<Section> {
    let Shape::Image {
        channels,
        height,
        width,
    } = view.subject.problem.data.shape
    else {
        return None;
    };
    let classes = view.targets.classes.as_ref()?;
    let outputs = view.targets.width;
    let rows = view.learnt.predictions.chunks_exact(outputs);
    let taken = argmax(&view.learnt.predictions, outputs);
    let mut wrong: Vec<(f64, usize)> = rows
        .enumerate()
        .map(|(i, f)| {
            let margin = f[taken[i] as usize] - f[classes.test[i] as usize];
            (margin, i)
        })
        .filter(|&(_, i)| taken[i] != classes.test[i])
        .collect();
    if wrong.is_empty() || height * width < 2 {
        return None;
    }
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let pixels = height * width;
    let x = &view.subject.problem.data.test.x;
    let grey = |i: usize| -> Vec<Vec<f64>> {
        let image = &x[i * channels * pixels..][..channels * pixels];
        let value = |p: usize| -> f64 {
            let planes = image.chunks_exact(pixels).map(|plane| f64::from(plane[p]));
            match channels {
                3 => planes.zip(BRIGHTNESS).map(|(v, w)| v * w).sum(),
                _ => planes.sum(),
            }
        };
        let lines = (0..height).map(|y| (0..width).map(|x| value(y * width + x)).collect());
        lines.collect()
    };
    let tiles = wrong.iter().take(SHOWN).map(|&(_, i)| Tile {
        label: format!("{} as {}", classes.test[i], taken[i]),
        pictures: vec![Picture {
            words: format!(
                "test sample {i}, class {}, taken for class {}",
                classes.test[i], taken[i]
            ),
            rows: grey(i),
            colours: ColourMap::Sequential,
        }],
    });
    let gallery = Gallery {
        title: "Most confident mistakes".into(),
        tiles: tiles.collect(),
    };
    let caption = "Test samples whose wrong class has the largest lead over the right one: its class, and what it was taken \
                   for. Brightness only, dark to light.";
    Some(Section::new("Most confident mistakes").gallery("mistakes", gallery, caption))
}
