//! Which classes are taken for which, and the samples most surely put into the wrong one.

use polariscope_data::Dataset;
use polariscope_report::{Align, ColourMap, Gallery, HeatMap, Picture, Section, Table, Tile};
use serde::{Deserialize, Serialize};

use super::Targets;
use crate::inference::argmax;

/// Pictures shown.
const SHOWN: usize = 24;

/// A test image put into a wrong class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Which test sample.
    pub sample: usize,
    /// Its class.
    pub class: u32,
    /// What it was taken for.
    pub taken: u32,
    /// What it looks like: rows of red, green and blue.
    pub picture: Vec<Vec<[f64; 3]>>,
}

/// Counts for `confusion.csv`: a row a class, a column for what it was taken for.
pub fn table(confusion: &[Vec<u64>], names: &[String]) -> Table {
    let columns: Vec<String> = names.iter().map(|name| format!("as_{name}")).collect();
    let columns = columns.iter().map(|name| (name.as_str(), Align::Right));
    let mut table = Table::new([("class", Align::Right)].into_iter().chain(columns));
    for (name, row) in names.iter().zip(confusion) {
        let counts = row.iter().map(|&n| n.into());
        table.push([name.as_str().into()].into_iter().chain(counts));
    }
    table
}

/// The confusion matrix.
pub fn confusion(counts: &[Vec<u64>], names: &[String]) -> Section {
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
        row_names: names.to_vec(),
        column_names: names.to_vec(),
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
            "The commonest mistake: class {} taken for class {}, {n} of {} times.",
            names[own],
            names[taken],
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
    let (Some(viewer), Some(classes)) = (data.viewer(), &targets.classes) else {
        return Vec::new();
    };
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
    let dim = data.shape.len();
    let mistake = |&(_, sample): &(f64, usize)| Mistake {
        sample,
        class: classes.test[sample],
        taken: taken[sample],
        picture: viewer.picture(&data.test.x[sample * dim..][..dim]),
    };
    wrong.iter().take(SHOWN).map(mistake).collect()
}

/// Pictures of them; `None` where there are none.
pub fn gallery(mistakes: &[Mistake], names: &[String]) -> Option<Section> {
    if mistakes.is_empty() {
        return None;
    }
    let tile = |m: &Mistake| {
        let [class, taken] = [m.class, m.taken].map(|class| &names[class as usize]);
        Tile {
            label: format!("{class} as {taken}"),
            pictures: vec![Picture::Photo {
                words: format!(
                    "test sample {}, class {class}, taken for class {taken}",
                    m.sample
                ),
                rows: m.picture.clone(),
            }],
        }
    };
    let gallery = Gallery {
        title: "Most confident mistakes".into(),
        tiles: mistakes.iter().map(tile).collect(),
    };
    let caption = "Test samples whose wrong class has the largest lead over the right one: its class, and what it was taken \
                   for. Black and white are the smallest and the largest number of the training set.";
    Some(Section::new("Most confident mistakes").gallery("mistakes", gallery, caption))
}

#[cfg(test)]
mod tests {
    use polariscope_data::{Labels, Split};
    use polariscope_report::Page;

    use super::*;

    /// Two test images of two colour pixels, the first put into the wrong class.
    #[test]
    fn mistakes_have_names_and_colours() {
        let split = |x: [[f32; 6]; 2]| Split {
            x: x.concat(),
            y: Labels::Classes(vec![0, 1]),
        };
        let data = Dataset {
            name: "by hand".into(),
            shape: "3x1x2".parse().unwrap(),
            classes: 2,
            class_names: ["cat", "dog"].map(String::from).into(),
            // Black is −1, white is 3.
            train: split([[-1.0, 3.0, 0.0, 0.0, 0.0, 0.0]; 2]),
            test: split([[-1.0, 3.0, 0.0, 1.0, 3.0, 9.0], [0.0; 6]]),
        };
        let targets = Targets::new(&data).unwrap();
        let html = |predictions: &[f64]| {
            let mistakes = surest(&data, &targets, predictions);
            let names = &data.class_names;
            let counts = targets.confusion(predictions).unwrap();
            let mut page = Page::new("", "", "");
            page.push(confusion(&counts, names));
            gallery(&mistakes, names)
                .into_iter()
                .for_each(|s| page.push(s));
            (mistakes, page.html())
        };
        let (mistakes, page) = html(&[0.1, 0.2, 0.0, 0.5]);
        assert_eq!(
            mistakes[0].picture,
            [[[0.0, 0.25, 1.0], [1.0, 0.5, 1.0]].to_vec()]
        );
        assert!(page.contains("class cat taken for class dog, 1 of 1 times."));
        assert!(page.contains("cat as dog") && page.contains("Most confident mistakes"));
        let (mistakes, page) = html(&[0.2, 0.1, 0.0, 0.5]);
        assert!(mistakes.is_empty() && !page.contains("Most confident mistakes"));
        assert!(page.contains("No test sample is put into a wrong class."));
        assert!(!page.contains("class cat taken"));
    }
}
