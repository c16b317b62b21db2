//! The computation: images are changed, shown, and averaged over.

use polariscope_data::deform::Deformations;
use polariscope_diff::Number;
use polariscope_lens::{Observer, afford};
use polariscope_stats::Estimate;

use super::Question;
use super::answer::{Answer, Change, Depth, Network, Point, Shown, Summary};
use super::averages::{Changes, Distances, ratio};
use super::changes::{Changed, Seen, look};
use crate::layers::{Layer, layers};
use crate::subject::{Images, need_images};
use crate::{Origin, Subject, SymmetryError, Value};

/// The ends of the sweep lie this far within the limits.
const WITHIN: f64 = 1.02;
/// Images of a picture.
const PICTURES: usize = 6;

/// How much a network minds deformations.
pub fn answer<T: Number>(
    subject: &Subject<T>,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, SymmetryError> {
    Job::new(subject, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a, T> {
    subject: &'a Subject<T>,
    question: &'a Question,
    images: Images<'a>,
    deformations: Deformations,
    /// Displacements with their temperatures, growing.
    sweep: Vec<(f64, f64)>,
    /// The one asked for.
    asked: usize,
}

impl<'a, T: Number> Job<'a, T> {
    /// Checks the question.
    pub fn new(subject: &'a Subject<T>, question: &'a Question) -> Result<Self, SymmetryError> {
        question.check()?;
        need_images(&subject.problem.graph)?;
        let images = Images::of(&subject.problem.data, question.images)?;
        let rules = &question.rules;
        let deformations = Deformations::of(images.shape, question.cutoff, rules.modes)?;
        let convention = rules.displacement_is;
        let temperature = deformations.temperature(question.displacement, convention)?;
        deformations.check(temperature, convention)?;
        let (sweep, asked) = sweep(
            (question.displacement, temperature),
            deformations.range(),
            question.others,
        );
        // Every image once as it is, and twice for each displacement.
        let numbers = images.x.len() * (1 + 2 * sweep.len());
        afford(4.0 * numbers as f64, "give fewer ‹images›")?;
        Ok(Job {
            subject,
            question,
            images,
            deformations,
            sweep,
            asked,
        })
    }

    /// Measures.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, SymmetryError> {
        let problem = &self.subject.problem;
        let graph = &problem.graph;
        let known = self
            .subject
            .known(&self.images, &self.question.setup, observer)?;
        let layers = layers(graph);
        let temperatures: Vec<f64> = self.sweep.iter().map(|s| s.1).collect();
        let changed = Changed::new(
            &self.images,
            &self.deformations,
            &temperatures,
            self.question,
        );
        let mut networks = Vec::new();
        let mut all = Vec::new();
        for known in &known {
            let seen = look(known, graph, &layers, &changed, self.question, observer)?;
            networks.push(self.network(known.origin, &layers, &changed, &seen));
            all.push(seen);
        }
        let change = match &all[..] {
            [before, after] => Some(self.change(before, after)),
            _ => None,
        };
        let (low, high) = self.deformations.range();
        let summary = Summary::new(Summary {
            words: String::new(),
            network: graph.name.clone(),
            data: problem.data.title().to_string(),
            images: self.images.len(),
            displacement: self.question.displacement,
            cutoff: self.question.cutoff,
            modes: self.deformations.modes(),
            valid: [low, high],
            rules: self.question.rules,
            networks,
            change,
        });
        Ok(Answer {
            summary,
            pictures: self.pictures(&changed),
        })
    }

    fn network(&self, origin: Origin, layers: &[Layer], changed: &Changed, seen: &Seen) -> Network {
        let how = self.question.rules.average;
        let n = self.images.len();
        let seed = self.question.setup.seed;
        let distances = self.distances(seen);
        let (last, all) = (layers.len() - 1, distances.average());
        let whole: Vec<usize> = (0..n).collect();
        let point = |k: usize| {
            let (moved, noisy) = (&seen.deformed[last][k], &seen.noisy[last][k]);
            let normed = |changes: &Changes| {
                let mut value = Value::over_images(n, seed, |at| {
                    Some(changes.average(how, at) / distances.resampled(at))
                });
                value.value = changes.average(how, &whole) / all;
                value
            };
            let (displacement, temperature) = self.sweep[k];
            Point {
                displacement,
                temperature,
                exact: self.deformations.displacement(temperature),
                radius: changed.radii[k],
                deformation: normed(moved),
                noise: normed(noisy),
                relative: Value::over_images(n, seed, |at| ratio(how, moved, noisy, at)),
            }
        };
        let depth = |(k, layer): (usize, &Layer)| {
            let (moved, noisy) = (&seen.deformed[k][self.asked], &seen.noisy[k][self.asked]);
            Depth {
                layer: layer.name.clone(),
                depth: layer.depth,
                relative: Value::over_images(n, seed, |at| ratio(how, moved, noisy, at)),
            }
        };
        Network {
            weights: origin,
            error: self.error(&seen.outputs),
            asked: self.asked,
            sweep: (0..self.sweep.len()).map(point).collect(),
            layers: layers.iter().enumerate().map(depth).collect(),
        }
    }

    /// What became of R, D and G, with the same images drawn again for both networks.
    fn change(&self, before: &Seen, after: &Seen) -> Change {
        let how = self.question.rules.average;
        let seed = self.question.setup.seed;
        let n = self.images.len();
        let last = before.deformed.len() - 1;
        let whole: Vec<usize> = (0..n).collect();
        let pairs = [before, after].map(|seen| self.distances(seen));
        let of = |sets: [&Vec<Vec<Changes>>; 2]| {
            let [a, b] = sets.map(|s| &s[last][self.asked]);
            let quotient = |at: &[usize], norms: [f64; 2]| {
                let (a, b) = (a.average(how, at) / norms[0], b.average(how, at) / norms[1]);
                (a > 0.0).then(|| b / a)
            };
            let mut value = Value::over_images(n, seed, |at| {
                quotient(at, [0, 1].map(|i| pairs[i].resampled(at)))
            });
            value.value = quotient(&whole, [0, 1].map(|i| pairs[i].average())).unwrap_or(f64::NAN);
            value
        };
        let relative = Value::over_images(n, seed, |at| {
            let of = |seen: &Seen| {
                ratio(
                    how,
                    &seen.deformed[last][self.asked],
                    &seen.noisy[last][self.asked],
                    at,
                )
            };
            Some(of(after)? / of(before)?).filter(|x| x.is_finite())
        });
        Change {
            relative,
            deformation: of([&before.deformed, &after.deformed]),
            noise: of([&before.noisy, &after.noisy]),
        }
    }

    fn distances(&self, seen: &Seen) -> Distances {
        let rules = &self.question.rules;
        let width = seen.outputs.len() / self.images.len();
        Distances::new(&seen.outputs, width, (rules.average, rules.pairs))
    }

    /// Part of the images in a wrong class.
    fn error(&self, outputs: &[f64]) -> Option<Estimate> {
        let classes = self.images.classes?;
        let width = outputs.len() / classes.len();
        let wrong = |(f, &class): (&[f64], &u32)| {
            let found = match f {
                [f] => u32::from(*f > 0.0),
                _ => {
                    let largest = f.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                    largest.map_or(0, |(k, _)| k as u32)
                }
            };
            f64::from(found != class)
        };
        let wrong: Vec<f64> = outputs
            .chunks_exact(width)
            .zip(classes)
            .map(wrong)
            .collect();
        Estimate::mean(&wrong)
    }

    fn pictures(&self, changed: &Changed) -> Vec<Shown> {
        let Some(viewer) = self.subject.problem.data.viewer() else {
            return Vec::new();
        };
        let own = |set: &[f32], i: usize| {
            viewer.picture(&set[i * changed.pixels..(i + 1) * changed.pixels])
        };
        let shown = |i: usize| Shown {
            image: i,
            clean: own(&changed.clean, i),
            deformed: own(&changed.deformed[self.asked], i),
            noisy: {
                let x: Vec<f32> = changed.noisy(i, self.asked).map(|x| x as f32).collect();
                viewer.picture(&x)
            },
        };
        (0..self.images.len().min(PICTURES)).map(shown).collect()
    }
}

/// (δ, T) from limit to limit, with the asked one among them, and where it stands. δ² grows as T by either convention.
fn sweep(
    (displacement, temperature): (f64, f64),
    (low, high): (f64, f64),
    others: usize,
) -> (Vec<(f64, f64)>, usize) {
    let [low, high] = [low, high].map(|t| displacement * (t / temperature).sqrt());
    let (low, high) = (low * WITHIN, high / WITHIN);
    let step = (high / low).ln() / others.saturating_sub(1).max(1) as f64;
    let place = |k: usize| low * (k as f64 * step).exp();
    // A place that is nearly the asked one would say the same again.
    let near = |d: f64| (d / displacement).ln().abs() < step / 2.0;
    let mut places: Vec<f64> = (0..others).map(place).filter(|&d| !near(d)).collect();
    places.push(displacement);
    places.sort_unstable_by(f64::total_cmp);
    let asked = places.iter().position(|&d| d == displacement).unwrap_or(0);
    let all = places
        .into_iter()
        .map(|d| (d, temperature * (d / displacement).powi(2)));
    (all.collect(), asked)
}
