//! The computation: images are transformed, shown, and compared.

use polariscope_data::Action;
use polariscope_diff::{Dtype, Number};
use polariscope_lens::{Observer, afford};

use super::Question;
use super::answer::{Answer, Cell, Network, Summary, Under, Verdicts};
use super::measure::{Measured, Moved, measure};
use super::places::Grid;
use crate::layers::{Layer, layers};
use crate::subject::{Images, Known, need_images};
use crate::{Subject, SymmetryError, Value};

/// A part of a layer's norm that is rounding, in units of the machine's.
const ROUNDING: f64 = 256.0;
/// Images of a picture.
const PICTURES: usize = 3;

/// Whether layers move along.
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
    actions: Vec<Action>,
}

impl<'a, T: Number> Job<'a, T> {
    /// Checks the question.
    pub fn new(subject: &'a Subject<T>, question: &'a Question) -> Result<Self, SymmetryError> {
        question.check()?;
        need_images(&subject.problem.graph)?;
        let images = Images::of(&subject.problem.data, question.images)?;
        let actions = question.actions(images.shape)?;
        let numbers = images.x.len() * (1 + actions.len());
        afford(4.0 * numbers as f64, "give fewer ‹images›")?;
        Ok(Job {
            subject,
            question,
            images,
            actions,
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
        let grids = Grid::of(graph, &layers);
        let seed = self.question.setup.seed;
        let mut transformed = Vec::new();
        for action in &self.actions {
            let moved = action.apply(self.images.shape, self.images.x, seed)?;
            transformed.push((*action, moved));
        }
        let mut networks = Vec::new();
        let mut changes = Vec::new();
        for known in &known {
            let measured = measure(
                known,
                graph,
                (&layers, &grids),
                (&self.images, &transformed),
                self.question,
                observer,
            )?;
            networks.push(self.network(known, (&layers, &grids), &measured));
            changes.push(measured);
        }
        let verdicts = match &changes[..] {
            [before, after] => Some(self.changes(before, after)),
            _ => None,
        };
        let summary = Summary::new(Summary {
            words: String::new(),
            network: graph.name.clone(),
            data: problem.data.title().to_string(),
            images: self.images.len(),
            verdicts: Verdicts::of(&self.actions, &networks, verdicts.as_deref()),
            networks,
        });
        Ok(Answer {
            summary,
            pictures: self.pictures(&transformed),
        })
    }

    fn network(
        &self,
        known: &Known<T>,
        (layers, grids): (&[Layer], &[Grid]),
        measured: &Measured,
    ) -> Network {
        let n = self.images.len();
        let seed = self.question.setup.seed;
        let last = layers.len() - 1;
        let rounding = ROUNDING
            * match T::DTYPE {
                Dtype::F32 => f64::from(f32::EPSILON),
                Dtype::F64 => f64::EPSILON,
            };
        let cell = |k: usize, action: &Action, moved: &Moved| {
            let (pairs, norms) = (measured.own[k].pairs(n), measured.own[k].norms(n));
            let (all, norm) = (pairs.iter().sum::<f64>(), norms.iter().sum::<f64>());
            let of_norm = |part: f64, norm: f64| match norm > 0.0 {
                true => (part / n as f64 / norm).sqrt(),
                false => 0.0,
            };
            let inside = grids[k].interior(action).filter(|i| i.contains(&true));
            let chosen = |values: &[f64]| {
                let inside = inside.iter().flatten();
                let chosen = values.iter().zip(inside).filter(|(_, inside)| **inside);
                chosen.map(|(v, _)| v).sum::<f64>()
            };
            let [part, pair, own] = [&moved.places, &pairs, &norms].map(|v| chosen(v));
            let finite = moved.deltas.iter().filter(|d| d.is_finite());
            let count = finite.clone().count();
            Cell {
                layer: layers[k].name.clone(),
                depth: layers[k].depth,
                positions: grids[k].positions(),
                error: Value::over_images(n, seed, |at| {
                    let sum: f64 = at.iter().map(|&i| moved.images[i]).sum();
                    let all = if k == last {
                        measured.own[k].pairs_of(at)
                    } else {
                        all
                    };
                    (all > 0.0).then(|| (sum / n as f64 / all).sqrt())
                }),
                exact: norm > 0.0 && of_norm(moved.images.iter().sum(), norm) <= rounding,
                interior: inside
                    .is_some()
                    .then(|| (part / n as f64 / pair).sqrt())
                    .filter(|x| x.is_finite()),
                interior_exact: inside.is_some() && of_norm(part, own) <= rounding,
                of_norm: of_norm(moved.images.iter().sum(), norm),
                delta: (count > 0).then(|| finite.sum::<f64>() / count as f64),
            }
        };
        let under = |(action, moved): (&Action, &Vec<Option<Moved>>)| Under {
            action: *action,
            layers: moved
                .iter()
                .enumerate()
                .map(|(k, moved)| moved.as_ref().map(|moved| cell(k, action, moved)))
                .collect(),
        };
        Network {
            weights: known.origin,
            under: self
                .actions
                .iter()
                .zip(&measured.moved)
                .map(under)
                .collect(),
        }
    }

    /// What learning multiplied the error of the outputs by, with the same images drawn again for both networks.
    fn changes(&self, before: &Measured, after: &Measured) -> Vec<Value> {
        let n = self.images.len();
        let last = before.own.len() - 1;
        let owns = [before, after].map(|m| &m.own[last]);
        let change = |(before, after): (&Vec<Option<Moved>>, &Vec<Option<Moved>>)| {
            let squares = [before, after].map(|m| m[last].as_ref().map(|m| &m.images[..]));
            let [Some(before), Some(after)] = squares else {
                return Value::new(f64::NAN, None);
            };
            Value::over_images(n, self.question.setup.seed, |at| {
                let sum = |of: &[f64]| at.iter().map(|&i| of[i]).sum::<f64>();
                let [own, learnt] = owns.map(|own| own.pairs_of(at));
                let [a, b] = [sum(before) / own, sum(after) / learnt];
                Some((b / a).sqrt()).filter(|x| x.is_finite())
            })
        };
        before.moved.iter().zip(&after.moved).map(change).collect()
    }

    /// The first images, as they are and transformed.
    fn pictures(
        &self,
        transformed: &[(Action, Vec<f32>)],
    ) -> Vec<(String, Vec<super::answer::Rows>)> {
        let Some(viewer) = self.subject.problem.data.viewer() else {
            return Vec::new();
        };
        let pixels = self.images.shape.len();
        let shown = |set: &[f32]| {
            let images = set.chunks_exact(pixels).take(PICTURES);
            images.map(|x| viewer.picture(x)).collect()
        };
        let plain = std::iter::once(("as it is".to_string(), shown(self.images.x)));
        let moved = transformed
            .iter()
            .map(|(action, x)| (action.to_string(), shown(x)));
        plain.chain(moved).collect()
    }
}
