//! Which classes are taken for which, and the samples most surely put into the wrong one.

use polariscope_data::Dataset;
use polariscope_graph::Shape;
use polariscope_report::{Align, ColourMap, Gallery, HeatMap, Picture, Section, Table, Tile};
use serde::{Deserialize, Serialize};

use super::Targets;
use crate::inference::argmax;

/// Pictures shown.
const SHOWN: usize = 24;
/// Red, green and blue in the brightness that eyes see.
const BRIGHTNESS: [f64; 3] = [0.299, 0.587, 0.114];

/// A test image put into a wrong class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Which test sample.
    pub sample: usize,
    /// Its class.
    pub class: u32,
    /// What it was taken for.
    pub taken: u32,
    /// Its brightness, row by row.
    pub picture: Vec<Vec<f64>>,
}

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

/// The confusion matrix.
pub fn confusion(counts: &[Vec<u64>]) -> Section {
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
    Section::new("Mistakes").prose(prose).figure(
        "confusion",
        map.draw(),
        "Each row adds up to 100 %: the share of a class's test samples that is taken for each class. confusion.csv has \
         the counts.",
    )
}

/// The images most surely put into a wrong class.
pub fn surest(data: &Dataset, targets: &Targets, predictions: &[f64]) -> Vec<Mistake> {
    let Shape::Image {
        channels,
        height,
        width,
    } = data.shape
    else {
        return Vec::new();
    };
    let Some(classes) = &targets.classes else {
        return Vec::new();
    };
    if height * width < 2 {
        return Vec::new();
    }
    let rows = predictions.chunks_exact(targets.width);
    let taken = argmax(predictions, targets.width);
    let mut wrong: Vec<(f64, usize)> = rows
        .enumerate()
        .map(|(i, f)| {
            let margin = f[taken[i] as usize] - f[classes.test[i] as usize];
            (margin, i)
        })
        .filter(|&(_, i)| taken[i] != classes.test[i])
        .collect();
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let pixels = height * width;
    let x = &data.test.x;
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
    let mistake = |&(_, sample): &(f64, usize)| Mistake {
        sample,
        class: classes.test[sample],
        taken: taken[sample],
        picture: grey(sample),
    };
    wrong.iter().take(SHOWN).map(mistake).collect()
}

/// Pictures of them; `None` where there are none.
pub fn gallery(mistakes: &[Mistake]) -> Option<Section> {
    if mistakes.is_empty() {
        return None;
    }
    let tile = |m: &Mistake| Tile {
        label: format!("{} as {}", m.class, m.taken),
        pictures: vec![Picture {
            words: format!(
                "test sample {}, class {}, taken for class {}",
                m.sample, m.class, m.taken
            ),
            rows: m.picture.clone(),
            colours: ColourMap::Sequential,
        }],
    };
    let gallery = Gallery {
        title: "Most confident mistakes".into(),
        tiles: mistakes.iter().map(tile).collect(),
    };
    let caption = "Test samples whose wrong class has the largest lead over the right one: its class, and what it was taken \
                   for. Brightness only, dark to light.";
    Some(Section::new("Most confident mistakes").gallery("mistakes", gallery, caption))
}
