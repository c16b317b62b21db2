//! The computation: tiles into matrices, then a look at the whole.

use std::borrow::Cow;

use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Observer, Shard};
use polariscope_report::grouped;

use super::engine::Engine;
use super::{Answer, Data, Entries, Kind, Kinds, Part, Question, Summary, Survey};
use crate::matrix::{FillPlan, Matrix, Symmetry, Tile, Tiled, fill, tiles};
use crate::{KernelsError, Number, Store, StoreError};

/// The kernels of samples, computed into memory.
pub fn answer(
    graph: &Graph,
    data: Data<'_>,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, KernelsError> {
    match question.setup.dtype {
        Dtype::F32 => Job::<f32>::new(graph, data, question)?.answer(&Store::Memory, observer),
        Dtype::F64 => Job::<f64>::new(graph, data, question)?.answer(&Store::Memory, observer),
    }
}

/// A question whose every refusal is behind it.
pub struct Job<'a, T: Number> {
    name: String,
    engine: Engine<T>,
    kinds: Kinds,
    x1: Cow<'a, [T]>,
    /// Where it is another list.
    x2: Option<Cow<'a, [T]>>,
}

impl<'a, T: Number> Job<'a, T> {
    /// Checks the question and plans its computation, in the precision T.
    pub fn new(graph: &Graph, data: Data<'a>, question: &Question) -> Result<Self, KernelsError> {
        let engine = Engine::new(graph, &data, question)?;
        let kinds = match &engine {
            Engine::Infinite(_) => question.kind.clone(),
            Engine::Finite { .. } => Kind::Ntk.into(),
        };
        data.x1.count("x1", engine.inputs())?;
        if let Some(x2) = data.x2 {
            x2.count("x2", engine.inputs())?;
        }
        Ok(Self {
            name: graph.name.clone(),
            engine,
            kinds,
            x1: T::samples(data.x1),
            x2: data.x2.map(T::samples),
        })
    }

    /// The kernels that will be computed.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Computes the part of a shard.
    pub fn part(
        &self,
        shard: Shard,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Part, KernelsError> {
        self.fill(shard, store, observer)?;
        let (rows, columns) = self.sizes();
        Ok(Part {
            rows,
            columns,
            entries: self.tiles(shard).iter().map(Tile::len).sum(),
            operations: self.engine.operations(),
        })
    }

    /// Computes all.
    pub fn answer(
        &self,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Answer, KernelsError> {
        let matrices = self.fill(Shard::WHOLE, store, observer)?;
        let (rows, columns) = self.sizes();
        let each = self.engine.rows();
        conclude(
            &self.name,
            matrices,
            (rows * each, columns * each),
            self.symmetry(),
            self.engine.approximations(),
        )
    }

    fn sizes(&self) -> (usize, usize) {
        let inputs = self.engine.inputs();
        let columns = self.x2.as_ref().unwrap_or(&self.x1);
        (self.x1.len() / inputs, columns.len() / inputs)
    }

    fn symmetry(&self) -> Symmetry {
        match self.x2 {
            None => Symmetry::Symmetric,
            Some(_) => Symmetry::Rectangular,
        }
    }

    fn tiles(&self, shard: Shard) -> Vec<Tile> {
        let (rows, columns) = self.sizes();
        let all = tiles(rows, columns, self.symmetry(), self.engine.operations());
        all[shard.range(all.len())].to_vec()
    }

    fn fill(
        &self,
        shard: Shard,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Vec<(Kind, Matrix<T>)>, KernelsError> {
        let (rows, columns) = self.sizes();
        let each = self.engine.rows();
        let matrices = open(store, &self.kinds, (rows * each, columns * each))?;
        let tiles = self.tiles(shard);
        let entries: Vec<u64> = tiles.iter().map(|t| t.len() as u64).collect();
        let x2 = self.x2.as_ref().unwrap_or(&self.x1);
        let samples = size_of_val(self.x1.as_ref()) + size_of_val(x2.as_ref());
        let largest = tiles.iter().map(Tile::len).max().unwrap_or(0);
        let plan = FillPlan {
            entries: &entries,
            words: format!("{} entries", grouped(entries.iter().sum())),
            bytes: samples as f64 + (largest * 2 * size_of::<T>()) as f64 + self.engine.bytes(),
        };
        let mut filling = Filling {
            job: self,
            tiles: &tiles,
            matrices,
        };
        fill(&mut filling, plan, store, observer)?;
        Ok(filling.matrices)
    }

    fn tile(&self, tile: &Tile, matrices: &mut [(Kind, Matrix<T>)]) -> Result<(), KernelsError> {
        let inputs = self.engine.inputs();
        let wanted = self.kinds.wanted();
        let x2 = self.x2.as_ref().unwrap_or(&self.x1);
        let rows = &self.x1[tile.rows.start * inputs..tile.rows.end * inputs];
        let symmetric = self.symmetry() == Symmetry::Symmetric;
        let values = if symmetric && tile.on_diagonal() {
            self.engine.among(wanted, rows)?
        } else {
            let columns = &x2[tile.columns.start * inputs..tile.columns.end * inputs];
            self.engine.between(wanted, rows, columns)?
        };
        let place = tile.times(self.engine.rows());
        for (kind, matrix) in matrices {
            if let Some(numbers) = values.of(*kind) {
                matrix.write(&place, numbers)?;
                if symmetric && !tile.on_diagonal() {
                    matrix.write_mirrored(&place, numbers)?;
                }
            }
        }
        Ok(())
    }
}

/// Tiles on their way into matrices.
struct Filling<'a, T: Number> {
    job: &'a Job<'a, T>,
    tiles: &'a [Tile],
    matrices: Vec<(Kind, Matrix<T>)>,
}

impl<T: Number> Tiled for Filling<'_, T> {
    fn compute(&mut self, i: usize) -> Result<(), KernelsError> {
        self.job.tile(&self.tiles[i], &mut self.matrices)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.matrices.iter().try_for_each(|(_, m)| m.sync())
    }
}

/// The matrices of a store.
pub fn open<T: Number>(
    store: &Store,
    kinds: &Kinds,
    size: (usize, usize),
) -> Result<Vec<(Kind, Matrix<T>)>, StoreError> {
    let open = |kind: Kind| Ok((kind, Matrix::open(store, kind.file(), size)?));
    kinds.iter().map(open).collect()
}

/// Looks at finished matrices.
pub fn conclude<T: Number>(
    name: &str,
    matrices: Vec<(Kind, Matrix<T>)>,
    (rows, columns): (usize, usize),
    symmetry: Symmetry,
    approximations: &[String],
) -> Result<Answer, KernelsError> {
    let (mut surveys, mut entries) = (Vec::new(), Vec::new());
    for (kind, mut matrix) in matrices {
        surveys.push(Survey::of(&mut matrix, kind, (rows, columns), symmetry)?);
        if let Some(numbers) = matrix.in_memory() {
            entries.push(Entries {
                kind,
                rows,
                columns,
                numbers: numbers.iter().map(|k| k.to_f64()).collect(),
            });
        }
    }
    Ok(Answer {
        network: name.to_string(),
        summary: Summary {
            rows,
            columns,
            approximations: approximations.to_vec(),
            kernels: surveys.iter().map(|s| s.summary.clone()).collect(),
        },
        surveys,
        matrices: entries,
    })
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};
    use polariscope_lens::{Quiet, Setup};

    use super::*;
    use crate::Samples;
    use polariscope_empirical::Outputs;

    fn graph() -> Graph {
        let options = ZooOptions {
            input: Some("3".parse().unwrap()),
            width: Some(4),
            outputs: Some(2),
            ..ZooOptions::default()
        };
        zoo("fcn", &options).unwrap()
    }

    const X: [f64; 9] = [0.5, -1.0, 2.0, 1.5, 0.0, -0.5, 1.0, 1.0, 1.0];

    /// Samples in either precision are computed in that of the question, and answers go through serde.
    #[test]
    fn the_question_has_the_precision() {
        let narrow = X.map(|x| x as f32);
        for dtype in [Dtype::F32, Dtype::F64] {
            let question = Question {
                setup: Setup {
                    dtype,
                    ..Setup::default()
                },
                ..Question::default()
            };
            let of = |x: Samples<'_>| answer(&graph(), Data::of(x), &question, &mut Quiet).unwrap();
            let found = of(X.as_slice().into());
            assert_eq!(found.matrices, of(narrow.as_slice().into()).matrices);
            let widths = found.matrices.iter().map(|m| m.numbers.len());
            assert!(widths.eq([9, 9]));
            let exact = found.matrices[1]
                .numbers
                .iter()
                .all(|&k| f64::from(k as f32) == k);
            assert_eq!(exact, dtype == Dtype::F32);
            let text = toml::to_string(&found).unwrap();
            let again: Answer = toml::from_str(&text).unwrap();
            assert_eq!(again.summary, found.summary);
            assert_eq!(again.matrices, found.matrices);
        }
    }

    /// Weights of one's own are those that the seed draws, if they are drawn so.
    #[test]
    fn given_weights_and_drawn_ones_agree() {
        let graph = graph();
        let question = Question {
            finite: Some(3),
            outputs: Outputs::All,
            ..Question::default()
        };
        let drawn = answer(&graph, Data::of(&X), &question, &mut Quiet).unwrap();
        assert_eq!(drawn.matrices[0].rows, 6);
        let weights = polariscope_network::Weights::<f64>::draw(&graph, 0, 3);
        let data = Data {
            weights: Some(crate::Given::F64(&weights)),
            ..Data::of(&X)
        };
        let own = Question {
            finite: None,
            ..question
        };
        let given = answer(&graph, data, &own, &mut Quiet).unwrap();
        assert_eq!(given.matrices, drawn.matrices);
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        let refused = |x: &[f64], question: Question| {
            let e = answer(&graph(), Data::of(x), &question, &mut Quiet).unwrap_err();
            assert!(e.is_usage(), "{e}");
            e.to_string()
        };
        let full = Question {
            outputs: Outputs::All,
            ..Question::default()
        };
        assert!(refused(&X, full).contains("give ‹finite I›"));
        assert!(refused(&X[..4], Question::default()).contains("multiple of the 3"));
        assert!(refused(&[], Question::default()).contains("no samples"));
        let infinite = [f64::INFINITY; 3];
        assert!(refused(&infinite, Question::default()).contains("finite"));
    }
}
