//! The Gram matrices, tile by tile: train × train, then test × train. A run that was killed goes on with the next tile.

use polariscope_diff::Real;
use polariscope_infinite::{Float, Kernel, Values};
use polariscope_report::grouped;

use super::options::Kind;
use crate::args::Common;
use crate::error::CliError;
use crate::run::RunDirectory;
use crate::verbs::kernel::store::{MatrixFile, Stored};
use crate::verbs::kernel::tiles::{Symmetry, Tile, tiles};
use crate::verbs::subject::Subject;
use crate::watch::{STATE, Watch, Work};

/// Matrices of train × train numbers alive at the same time in the solve: itself, its eigenvectors, what the solver
/// works with.
const SQUARES: f64 = 6.0;
/// Those of test × train.
const RECTANGLES: f64 = 2.0;

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
pub fn bytes<T: Float>(engine: &Kernel, (train, test): (usize, usize)) -> f64 {
    let (n, m) = (train as f64, test as f64);
    let samples = (n + m) * engine.inputs() as f64 * (4 + size_of::<T>()) as f64;
    let scratch = engine.bytes::<T>() * rayon::current_num_threads();
    8.0 * n * (SQUARES * n + RECTANGLES * m) + samples + scratch as f64
}

/// A matrix of the job.
struct Part<'a, T> {
    rows: &'a [T],
    columns: &'a [T],
    symmetry: Symmetry,
    file: MatrixFile,
    sides: (usize, usize),
}

impl Grams {
    /// Computes what is missing in the directory, then reads all.
    pub fn compute<T: Float + Real + Stored>(
        engine: &Kernel,
        subject: &Subject,
        kind: Kind,
        directory: &mut RunDirectory,
        common: &Common,
    ) -> Result<Self, CliError> {
        let widen = |x: &[f32]| -> Vec<T> { x.iter().map(|&x| T::from_f64(x.into())).collect() };
        let data = &subject.problem.data;
        let (train, test) = (widen(&data.train.x), widen(&data.test.x));
        let (n, m) = (data.train.len(), data.test.len());
        let open = |name: &str, rows, columns, symmetry, sides: (usize, usize)| {
            let file = MatrixFile::open::<T>(&directory.growing(name), sides.0, sides.1)?;
            Ok::<_, CliError>(Part {
                rows,
                columns,
                symmetry,
                file,
                sides,
            })
        };
        let parts = [
            open("train.npy", &train, &train, Symmetry::Symmetric, (n, n))?,
            open("cross.npy", &test, &train, Symmetry::Rectangular, (m, n))?,
        ];
        run(&parts, engine, kind, directory, common)?;
        let diagonal = match kind {
            Kind::Ntk => None,
            Kind::Nngp => {
                let values = engine.diagonal(kind.wanted(), &test)?;
                Some(values.nngp.iter().map(|k| k.to_f64()).collect())
            }
        };
        let [train, cross] = &parts;
        Ok(Self {
            train: train.read()?,
            cross: cross.read()?,
            diagonal,
        })
    }
}

impl<T: Float + Real + Stored> Part<'_, T> {
    /// The whole matrix.
    fn read(&self) -> Result<Vec<f64>, CliError> {
        let all = Tile {
            rows: 0..self.sides.0,
            columns: 0..self.sides.1,
        };
        let numbers = self.file.read::<T>(&all)?;
        Ok(numbers.iter().map(|k| k.to_f64()).collect())
    }

    fn tile(&self, tile: &Tile, engine: &Kernel, kind: Kind) -> Result<(), CliError> {
        let inputs = engine.inputs();
        let rows = &self.rows[tile.rows.start * inputs..tile.rows.end * inputs];
        let columns = &self.columns[tile.columns.start * inputs..tile.columns.end * inputs];
        let symmetric = self.symmetry == Symmetry::Symmetric;
        let Values { nngp, ntk } = match symmetric && tile.on_diagonal() {
            true => engine.among(kind.wanted(), rows)?,
            false => engine.between(kind.wanted(), rows, columns)?,
        };
        let numbers = match kind {
            Kind::Nngp => nngp,
            Kind::Ntk => ntk.unwrap_or(nngp),
        };
        self.file.write(tile, &numbers)?;
        if symmetric && !tile.on_diagonal() {
            self.file.write_mirrored(tile, &numbers)?;
        }
        Ok(())
    }
}

/// Computes the tiles of all parts that an earlier process has not.
fn run<T: Float + Real + Stored>(
    parts: &[Part<'_, T>],
    engine: &Kernel,
    kind: Kind,
    directory: &mut RunDirectory,
    common: &Common,
) -> Result<(), CliError> {
    let tiles_of = |part: &Part<'_, T>| {
        tiles(
            part.sides.0,
            part.sides.1,
            part.symmetry,
            engine.operations(),
        )
    };
    let all: Vec<(&Part<'_, T>, Tile)> = parts
        .iter()
        .flat_map(|part| tiles_of(part).into_iter().map(move |tile| (part, tile)))
        .collect();
    let entries = |tiles: &[(&Part<'_, T>, Tile)]| -> u64 {
        tiles.iter().map(|(_, tile)| tile.len() as u64).sum()
    };
    let done = directory.restore(STATE)?.unwrap_or_default();
    let done = String::from_utf8_lossy(&done).parse::<usize>();
    let first = done.unwrap_or(0).min(all.len());
    let total = entries(&all);
    let sides: Vec<(usize, usize)> = parts.iter().map(|p| p.sides).collect();
    let (n, m) = (sides[0].0, sides[1].0);
    let work = Work {
        unit: "entries",
        first: entries(&all[..first]),
        total,
        words: format!("{} kernel entries", grouped(total)),
        bytes: bytes::<T>(engine, (n, m)),
    };
    let sync = || parts.iter().try_for_each(|part| part.file.sync());
    let mut seen = work.first;
    let mut watch = Watch::new(directory, work, common);
    for (i, (part, tile)) in all.iter().enumerate().skip(first) {
        part.tile(tile, engine, kind)?;
        seen += tile.len() as u64;
        watch.progress.advance(tile.len() as u64);
        // A checkpoint may only count what is on the disk.
        let mut synced = Ok(());
        let mut state = || {
            synced = sync();
            let safe = if synced.is_ok() { i + 1 } else { first };
            safe.to_string().into_bytes()
        };
        // The first tile and the last are always kept: from then on an interruption costs little.
        if i == first || i + 1 == all.len() {
            watch.save(&state());
        } else {
            watch.tick(seen, &mut state);
        }
        synced?;
    }
    watch.finish()
}
