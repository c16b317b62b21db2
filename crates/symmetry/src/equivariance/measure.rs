//! Differences between the maps of transformed images and the transformed maps of images.

use polariscope_data::Action;
use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_lens::{Observer, Work};
use polariscope_report::counted;

use super::Question;
use super::places::{Along, Grid};
use crate::SymmetryError;
use crate::layers::Layer;
use crate::maps::Maps;
use crate::subject::{Images, Known};

/// Tasks between two looks at the progress. Fixed, so that no result depends on it.
const TASKS: usize = 16;

/// What a layer's values are over all images.
#[derive(Clone, Default)]
pub(super) struct Own {
    /// Σ Φ, number by number.
    sums: Vec<f64>,
    /// Σ Φ² over channels, position by position.
    squares: Vec<f64>,
    /// Φ, image after image; of the outputs alone.
    rows: Vec<f64>,
}

impl Own {
    fn add(&mut self, other: &Own) {
        add(&mut self.sums, &other.sums);
        add(&mut self.squares, &other.squares);
        self.rows.extend(&other.rows);
    }

    /// The sum of [`Own::pairs`] over positions, of chosen images; of the outputs alone.
    pub fn pairs_of(&self, at: &[usize]) -> f64 {
        let (n, size) = (at.len() as f64, self.sums.len());
        let mut sums = vec![0.0; size];
        let mut squares = 0.0;
        for &i in at {
            for (sum, x) in sums.iter_mut().zip(&self.rows[i * size..(i + 1) * size]) {
                *sum += x;
                squares += x * x;
            }
        }
        let mean: f64 = sums.iter().map(|s| s * s / n).sum();
        2.0 * (squares - mean).max(0.0) / (n - 1.0)
    }

    /// ⟨‖Φ(x) − Φ(z)‖²⟩ over pairs of different images, position by position: twice the variance.
    pub fn pairs(&self, images: usize) -> Vec<f64> {
        let n = images as f64;
        let positions = self.squares.len();
        let mean = |p: usize| {
            let channel = self.sums.iter().skip(p).step_by(positions);
            channel.map(|s| s * s / n).sum::<f64>()
        };
        let pair = |(p, square): (usize, &f64)| 2.0 * (square - mean(p)).max(0.0) / (n - 1.0);
        self.squares.iter().enumerate().map(pair).collect()
    }

    /// ⟨‖Φ(x)‖²⟩, position by position.
    pub fn norms(&self, images: usize) -> Vec<f64> {
        self.squares.iter().map(|s| s / images as f64).collect()
    }
}

/// What a transformation does to a layer.
#[derive(Clone, Default)]
pub(super) struct Moved {
    /// Σ over images and channels of (Φ(gx) − L_g Φ(x))², position by position.
    pub places: Vec<f64>,
    /// ‖Φ(gx) − L_g Φ(x)‖², image after image.
    pub images: Vec<f64>,
    /// std(L_g Φ(x) − Φ(gx))/std Φ(x), image after image.
    pub deltas: Vec<f64>,
}

/// What was measured: of every layer, and of every layer under every transformation.
pub(super) struct Measured {
    pub own: Vec<Own>,
    /// By transformation, then by layer; nothing where nothing can be expected.
    pub moved: Vec<Vec<Option<Moved>>>,
}

/// Shows images and their transforms to a network.
pub(super) fn measure<T: Number>(
    known: &Known<T>,
    graph: &Graph,
    (layers, grids): (&[Layer], &[Grid]),
    (images, transformed): (&Images<'_>, &[(Action, Vec<f32>)]),
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Measured, SymmetryError> {
    let nodes: Vec<usize> = layers.iter().map(|l| l.node).collect();
    let maps = Maps::new(question.setup.device, graph, &known.weights, &nodes);
    let (count, pixels) = (images.len(), images.shape.len());
    let group = 1 + transformed.len();
    let at_once = maps.groups_at_once(group);
    let tasks: Vec<(usize, usize)> = (0..count)
        .step_by(at_once)
        .map(|first| (first, (first + at_once).min(count)))
        .collect();
    let along: Vec<Vec<Along>> = transformed
        .iter()
        .map(|(action, _)| grids.iter().map(|grid| grid.along(action)).collect())
        .collect();
    observer.begin(Work {
        unit: "images".into(),
        first: 0,
        total: count as u64,
        words: format!(
            "{} under {}, {} weights",
            counted(count as u64, "image"),
            counted(transformed.len() as u64, "transformation"),
            known.origin.words()
        ),
        bytes: 0.0,
    });
    let mut measured = Measured {
        own: vec![Own::default(); layers.len()],
        moved: vec![vec![None; layers.len()]; transformed.len()],
    };
    for wave in tasks.chunks(TASKS) {
        let make = |(first, last): (usize, usize)| {
            let sets = || std::iter::once(images.x).chain(transformed.iter().map(|(_, x)| &x[..]));
            let rows = (first..last)
                .flat_map(|i| sets().flat_map(move |set| set[i * pixels..(i + 1) * pixels].iter()));
            rows.map(|&x| T::from_f64(f64::from(x))).collect::<Vec<T>>()
        };
        let read = |_, rows: &[&[T]]| {
            let mut part = Measured {
                own: Vec::new(),
                moved: vec![Vec::new(); transformed.len()],
            };
            for (k, (rows, grid)) in rows.iter().zip(grids).enumerate() {
                let (mut own, moved) = layer(rows, grid, along.iter().map(|a| &a[k]));
                if k + 1 == grids.len() {
                    let size = own.sums.len();
                    let plain = rows.chunks_exact(group * size).flat_map(|g| &g[..size]);
                    own.rows = plain.map(|x| x.to_f64()).collect();
                }
                part.own.push(own);
                part.moved
                    .iter_mut()
                    .zip(moved)
                    .for_each(|(all, one)| all.push(one));
            }
            part
        };
        for part in maps.see_each(wave, make, read)? {
            measured
                .own
                .iter_mut()
                .zip(&part.own)
                .for_each(|(a, b)| a.add(b));
            for (all, part) in measured.moved.iter_mut().zip(part.moved) {
                for (all, part) in all.iter_mut().zip(part) {
                    if let Some(part) = part {
                        let all = all.get_or_insert_default();
                        add(&mut all.places, &part.places);
                        all.images.extend(part.images);
                        all.deltas.extend(part.deltas);
                    }
                }
            }
        }
        let done = wave.last().map_or(0, |&(_, last)| last);
        observer.advance(done as u64, &|| None)?;
    }
    observer.end();
    for (layer, own) in layers.iter().zip(&measured.own) {
        if own.squares.iter().any(|s| !s.is_finite()) {
            return Err(SymmetryError::NotFinite {
                network: graph.name.clone(),
                what: format!("a value of {}", layer.name),
            });
        }
    }
    Ok(measured)
}

/// One layer of some groups of images: each group an image, then its transforms.
fn layer<'a, T: Number>(
    rows: &[T],
    grid: &Grid,
    along: impl Iterator<Item = &'a Along>,
) -> (Own, Vec<Option<Moved>>) {
    let positions = grid.positions();
    let size = grid.channels * positions;
    let along: Vec<&Along> = along.collect();
    let mut own = Own {
        sums: vec![0.0; size],
        squares: vec![0.0; positions],
        rows: Vec::new(),
    };
    let mut all: Vec<Option<Moved>> = along
        .iter()
        .map(|along| match along {
            Along::Unknown => None,
            Along::Moves(_) | Along::Stays => Some(Moved {
                places: vec![0.0; positions],
                ..Moved::default()
            }),
        })
        .collect();
    let mut expected = vec![0.0; size];
    for group in rows.chunks_exact((1 + along.len()) * size) {
        let (plain, transforms) = group.split_at(size);
        let plain: Vec<f64> = plain.iter().map(|x| x.to_f64()).collect();
        for (i, x) in plain.iter().enumerate() {
            own.sums[i] += x;
            own.squares[i % positions] += x * x;
        }
        let spread = deviation(plain.iter().copied());
        let transforms = transforms.chunks_exact(size);
        for ((values, along), moved) in transforms.zip(&along).zip(&mut all) {
            let Some(moved) = moved else { continue };
            match along {
                Along::Moves(resample) => {
                    let planes = expected.chunks_exact_mut(positions);
                    for (out, x) in planes.zip(plain.chunks_exact(positions)) {
                        for (out, taps) in out.iter_mut().zip(resample.rows()) {
                            *out = taps.iter().map(|t| t.weight * x[t.at]).sum();
                        }
                    }
                }
                Along::Stays | Along::Unknown => expected.copy_from_slice(&plain),
            }
            let differences = || values.iter().zip(&expected).map(|(a, b)| a.to_f64() - b);
            let mut sum = 0.0;
            for (i, difference) in differences().enumerate() {
                let square = difference * difference;
                moved.places[i % positions] += square;
                sum += square;
            }
            moved.images.push(sum);
            moved.deltas.push(deviation(differences()) / spread);
        }
    }
    (own, all)
}

fn add(all: &mut Vec<f64>, part: &[f64]) {
    all.resize(part.len(), 0.0);
    all.iter_mut().zip(part).for_each(|(a, b)| *a += b);
}

fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (values.map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}
