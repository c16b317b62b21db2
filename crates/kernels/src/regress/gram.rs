//! The Gram matrices, tile by tile: train × train, then test × train.

use polariscope_data::Dataset;
use polariscope_lens::Observer;
use polariscope_nngp::{Kernel, Values};
use polariscope_report::grouped;

use super::Question;
use crate::kernel::Kind;
use crate::matrix::{FillPlan, Matrix, Symmetry, Tile, Tiled, fill, tiles};
use crate::{KernelsError, Number, Store, StoreError};

/// Matrices of train × train numbers alive at the same time in the solve: itself, its eigenvectors, what the solver
/// works with.
const SQUARES: f64 = 6.0;
/// Those of test × train.
const RECTANGLES: f64 = 2.0;
/// What a store holds meanwhile.
pub const FILES: [&str; 2] = ["train.npy", "cross.npy"];

/// Kernels of the samples, widened to f64.
pub struct Grams {
    /// Train × train.
    pub train: Vec<f64>,
    /// Test × train.
    pub cross: Vec<f64>,
    /// Of every test sample with itself, for a posterior.
    pub diagonal: Option<Vec<f64>>,
}

/// Bytes that `(train, test)` samples need.
pub fn bytes<T: Number>(engine: &Kernel, (train, test): (usize, usize)) -> f64 {
    let (n, m) = (train as f64, test as f64);
    let samples = (n + m) * engine.inputs() as f64 * (4 + size_of::<T>()) as f64;
    let scratch = engine.bytes::<T>() * rayon::current_num_threads();
    8.0 * n * (SQUARES * n + RECTANGLES * m) + samples + scratch as f64
}

impl Grams {
    /// Computes what is missing in the store, then reads all.
    pub fn compute<T: Number>(
        engine: &Kernel,
        data: &Dataset,
        question: &Question,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Self, KernelsError> {
        let widen = |x: &[f32]| -> Vec<T> { x.iter().map(|&x| T::from_f64(x.into())).collect() };
        let (train, test) = (widen(&data.train.x), widen(&data.test.x));
        let (n, m) = (data.train.len(), data.test.len());
        let [square, rectangle] = FILES;
        let parts = [
            Part {
                rows: &train,
                columns: &train,
                symmetry: Symmetry::Symmetric,
                matrix: Matrix::open(store, square, (n, n))?,
                sides: (n, n),
            },
            Part {
                rows: &test,
                columns: &train,
                symmetry: Symmetry::Rectangular,
                matrix: Matrix::open(store, rectangle, (m, n))?,
                sides: (m, n),
            },
        ];
        let mut filling = Filling::new(engine, question, parts);
        let entries: Vec<u64> = filling.tiles.iter().map(|(_, t)| t.len() as u64).collect();
        let plan = FillPlan {
            entries: &entries,
            words: format!("{} kernel entries", grouped(entries.iter().sum())),
            bytes: bytes::<T>(engine, (n, m)),
        };
        fill(&mut filling, plan, store, observer)?;
        let diagonal = match question.kind {
            Kind::Ntk => None,
            Kind::Nngp => {
                let values = engine.diagonal(question.wanted(), &test)?;
                Some(values.nngp.iter().map(|k| k.to_f64()).collect())
            }
        };
        let [mut train, mut cross] = filling.parts;
        Ok(Self {
            train: train.read()?,
            cross: cross.read()?,
            diagonal,
        })
    }
}

/// A matrix of the job.
struct Part<'a, T> {
    rows: &'a [T],
    columns: &'a [T],
    symmetry: Symmetry,
    matrix: Matrix<T>,
    sides: (usize, usize),
}

impl<T: Number> Part<'_, T> {
    /// The whole matrix.
    fn read(&mut self) -> Result<Vec<f64>, StoreError> {
        let all = Tile {
            rows: 0..self.sides.0,
            columns: 0..self.sides.1,
        };
        let numbers = self.matrix.read(&all)?;
        Ok(numbers.iter().map(|k| k.to_f64()).collect())
    }
}

/// Tiles of all parts, one after the other.
struct Filling<'a, T> {
    engine: &'a Kernel,
    question: &'a Question,
    parts: [Part<'a, T>; 2],
    /// The part that each tile belongs to, and the tile.
    tiles: Vec<(usize, Tile)>,
}

impl<'a, T: Number> Filling<'a, T> {
    fn new(engine: &'a Kernel, question: &'a Question, parts: [Part<'a, T>; 2]) -> Self {
        let of = |part: &Part<'_, T>| {
            let (rows, columns) = part.sides;
            tiles(rows, columns, part.symmetry, engine.operations())
        };
        let all = parts.iter().enumerate();
        let tiles = all.flat_map(|(i, part)| of(part).into_iter().map(move |tile| (i, tile)));
        Self {
            engine,
            question,
            tiles: tiles.collect(),
            parts,
        }
    }
}

impl<T: Number> Tiled for Filling<'_, T> {
    fn compute(&mut self, i: usize) -> Result<(), KernelsError> {
        let (part, tile) = &self.tiles[i];
        let part = &mut self.parts[*part];
        let inputs = self.engine.inputs();
        let wanted = self.question.wanted();
        let rows = &part.rows[tile.rows.start * inputs..tile.rows.end * inputs];
        let columns = &part.columns[tile.columns.start * inputs..tile.columns.end * inputs];
        let symmetric = part.symmetry == Symmetry::Symmetric;
        let Values { nngp, ntk } = match symmetric && tile.on_diagonal() {
            true => self.engine.among(wanted, rows)?,
            false => self.engine.between(wanted, rows, columns)?,
        };
        let numbers = match self.question.kind {
            Kind::Nngp => nngp,
            Kind::Ntk => ntk.unwrap_or(nngp),
        };
        part.matrix.write(tile, &numbers)?;
        if symmetric && !tile.on_diagonal() {
            part.matrix.write_mirrored(tile, &numbers)?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.parts.iter().try_for_each(|part| part.matrix.sync())
    }
}
