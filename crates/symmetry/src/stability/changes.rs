//! What deformations and noise change: in every layer, for every displacement.

use polariscope_data::deform::Deformations;
use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_lens::{Observer, Work};
use polariscope_random::Stream;
use polariscope_report::counted;

use super::averages::{Changes, median};
use super::{Average, Question, Radius};
use crate::SymmetryError;
use crate::layers::Layer;
use crate::maps::Maps;
use crate::subject::{Images, Known};

/// Tasks between two looks at the progress. Fixed, so that no result depends on it.
const TASKS: usize = 16;

/// Images, deformed and with noise: of noise its directions and lengths, so that sums are made in the precision of the network.
pub(super) struct Changed {
    /// Numbers in an image.
    pub pixels: usize,
    /// x, image after image.
    pub clean: Vec<f32>,
    /// τx, by displacement.
    pub deformed: Vec<Vec<f32>>,
    /// η/‖η‖, image after image.
    directions: Vec<f64>,
    /// ‖η‖ by displacement, image after image.
    lengths: Vec<Vec<f64>>,
    /// ⟨‖τx − x‖⟩, by displacement.
    pub radii: Vec<f64>,
}

impl Changed {
    /// Draws a deformation and a direction of noise for each image, the same for every temperature.
    pub fn new(
        images: &Images<'_>,
        deformations: &Deformations,
        temperatures: &[f64],
        question: &Question,
    ) -> Self {
        let pixels = images.shape.len();
        let seed = question.setup.seed;
        let between = question.rules.interpolation;
        let stream = |i: usize| Stream::new(seed, i as u64, "stability.deformation");
        let each = |temperature: f64| {
            let mut out = images.x.to_vec();
            let channels = pixels / deformations.n().pow(2);
            deformations.apply_all(temperature, stream, between, channels, images.x, &mut out);
            out
        };
        // Interpolation blurs even where nothing moves.
        let clean = each(0.0);
        let mut changed = Changed {
            pixels,
            clean,
            deformed: Vec::new(),
            directions: directions(images.len(), pixels, seed),
            lengths: Vec::new(),
            radii: Vec::new(),
        };
        for &temperature in temperatures {
            let deformed = each(temperature);
            let own = distances(&deformed, &changed.clean, pixels);
            let radius = match question.rules.average {
                Average::Mean => own.iter().sum::<f64>() / own.len() as f64,
                Average::Median | Average::Coordinates => median(&mut own.clone()),
            };
            changed.lengths.push(match question.rules.radius {
                Radius::Common => vec![radius; own.len()],
                Radius::Own => own,
            });
            changed.deformed.push(deformed);
            changed.radii.push(radius);
        }
        changed
    }

    /// x + η of an image, at a displacement.
    pub fn noisy(&self, i: usize, displacement: usize) -> impl Iterator<Item = f64> {
        let length = self.lengths[displacement][i];
        let own = i * self.pixels..(i + 1) * self.pixels;
        let moved = self.clean[own.clone()].iter().zip(&self.directions[own]);
        moved.map(move |(x, d)| f64::from(*x) + length * d)
    }

    /// x, then every τx, then every x + η of some images, one image after the other.
    fn group<T: Number>(&self, images: std::ops::Range<usize>) -> Vec<T> {
        let displacements = self.deformed.len();
        let mut all = Vec::with_capacity(images.len() * (1 + 2 * displacements) * self.pixels);
        for i in images {
            for set in std::iter::once(&self.clean).chain(&self.deformed) {
                let own = &set[i * self.pixels..(i + 1) * self.pixels];
                all.extend(own.iter().map(|&x| T::from_f64(f64::from(x))));
            }
            for k in 0..displacements {
                all.extend(self.noisy(i, k).map(T::from_f64));
            }
        }
        all
    }
}

/// Directions uniform on the sphere.
fn directions(images: usize, pixels: usize, seed: u64) -> Vec<f64> {
    let one = |i: usize| {
        let mut draws = vec![0.0f32; pixels];
        Stream::new(seed, i as u64, "stability.noise").normal(1.0, &mut draws);
        let square = |x: &f32| f64::from(*x).powi(2);
        let norm = draws.iter().map(square).sum::<f64>().sqrt();
        draws.into_iter().map(move |x| f64::from(x) / norm)
    };
    (0..images).flat_map(one).collect()
}

fn distances(a: &[f32], b: &[f32], pixels: usize) -> Vec<f64> {
    let rows = a.chunks_exact(pixels).zip(b.chunks_exact(pixels));
    rows.map(|(a, b)| {
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        a.iter().zip(b).map(square).sum::<f64>().sqrt()
    })
    .collect()
}

/// What one network made of it.
pub(super) struct Seen {
    /// f(x), image after image.
    pub outputs: Vec<f64>,
    /// ‖Φ(τx) − Φ(x)‖² by layer and displacement; of the output, which is last, coordinate by coordinate.
    pub deformed: Vec<Vec<Changes>>,
    /// ‖Φ(x + η) − Φ(x)‖², likewise.
    pub noisy: Vec<Vec<Changes>>,
}

/// Shows everything to a network.
pub(super) fn look<T: Number>(
    known: &Known<T>,
    graph: &Graph,
    layers: &[Layer],
    changed: &Changed,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Seen, SymmetryError> {
    let nodes: Vec<usize> = layers.iter().map(|l| l.node).collect();
    let maps = Maps::new(question.setup.device, graph, &known.weights, &nodes);
    let images = changed.clean.len() / changed.pixels;
    let displacements = changed.deformed.len();
    let group = 1 + 2 * displacements;
    let at_once = maps.groups_at_once(group);
    let tasks: Vec<(usize, usize)> = (0..images)
        .step_by(at_once)
        .map(|first| (first, (first + at_once).min(images)))
        .collect();
    let outputs = graph.output().len();
    let widths: Vec<usize> = (0..layers.len())
        .map(|k| if k + 1 == layers.len() { outputs } else { 1 })
        .collect();
    let mut seen = Seen {
        outputs: Vec::with_capacity(images * outputs),
        deformed: Vec::new(),
        noisy: Vec::new(),
    };
    observer.begin(Work {
        unit: "images".into(),
        first: 0,
        total: images as u64,
        words: format!(
            "{} at {}, {} weights",
            counted(images as u64, "image"),
            counted(displacements as u64, "displacement"),
            known.origin.words()
        ),
        bytes: 0.0,
    });
    // squares[layer][set] with the deformed sets first.
    let mut squares = vec![vec![Vec::new(); 2 * displacements]; layers.len()];
    for wave in tasks.chunks(TASKS) {
        let make = |(first, last): (usize, usize)| changed.group::<T>(first..last);
        let read = |(first, last): (usize, usize), rows: &[&[T]]| {
            let each = rows.iter().zip(&widths).map(|(rows, &width)| {
                let row = rows.len() / ((last - first) * group);
                measured(rows, row, group, width)
            });
            let output = rows[rows.len() - 1];
            let plain = output.chunks_exact(group * outputs);
            let plain = plain.flat_map(|g| g[..outputs].iter().map(|x| x.to_f64()));
            (plain.collect::<Vec<f64>>(), each.collect::<Vec<_>>())
        };
        for (plain, found) in maps.see_each(wave, make, read)? {
            seen.outputs.extend(plain);
            for (all, one) in squares.iter_mut().zip(found) {
                all.iter_mut()
                    .zip(one)
                    .for_each(|(all, one)| all.extend(one));
            }
        }
        let done = wave.last().map_or(0, |&(_, last)| last);
        observer.advance(done as u64, &|| None)?;
    }
    observer.end();
    if let Some(i) = seen.outputs.iter().position(|x| !x.is_finite()) {
        return Err(SymmetryError::NotFinite {
            network: graph.name.clone(),
            what: format!("output {} of image {}", i % outputs, i / outputs),
        });
    }
    for (sets, width) in squares.into_iter().zip(widths) {
        let mut sets = sets.into_iter().map(|s| Changes::new(width, s));
        seen.deformed
            .push(sets.by_ref().take(displacements).collect());
        seen.noisy.push(sets.collect());
    }
    Ok(seen)
}

/// Squared changes of every set against the first row of each group: coordinate by coordinate where `width` is the length of a row, else
/// their sum.
fn measured<T: Number>(rows: &[T], row: usize, group: usize, width: usize) -> Vec<Vec<f64>> {
    let mut found = vec![Vec::new(); group - 1];
    for rows in rows.chunks_exact(group * row) {
        let (clean, rest) = rows.split_at(row);
        for (found, other) in found.iter_mut().zip(rest.chunks_exact(row)) {
            let squares = clean
                .iter()
                .zip(other)
                .map(|(a, b)| (b.to_f64() - a.to_f64()).powi(2));
            match width {
                1 => found.push(squares.sum()),
                _ => found.extend(squares),
            }
        }
    }
    found
}
