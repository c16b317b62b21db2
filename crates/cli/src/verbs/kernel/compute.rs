//! The tiles, one after the other; a run that was killed goes on with the next.

use std::path::PathBuf;

use polariscope_diff::Real;
use polariscope_geometry::Shard;
use polariscope_infinite::Kernel;
use polariscope_report::grouped;

use super::answer::{Answer, Part};
use super::engine::{Engine, Number};
use super::store::{MatrixFile, Stored};
use super::survey::Survey;
use super::tiles::{Symmetry, Tile, tiles};
use super::{Kind, Kinds, page};
use crate::args::{ArchitectureArgs, Common};
use crate::error::CliError;
use crate::run::{self, Opened, Record, Request, RunDirectory};
use crate::watch::{STATE, Watch, Work};

/// What is computed.
pub struct Job<'a, T> {
    /// Whose kernels.
    pub engine: &'a Engine<T>,
    /// Which of them.
    pub kinds: &'a Kinds,
    /// Samples of the rows.
    pub x1: &'a [T],
    /// Samples of the columns.
    pub x2: &'a [T],
    /// Whether both are the same list.
    pub symmetry: Symmetry,
}

impl<T: Number + Stored> Job<'_, T> {
    fn sizes(&self) -> (usize, usize) {
        let inputs = self.engine.inputs();
        (self.x1.len() / inputs, self.x2.len() / inputs)
    }

    fn tiles(&self, shard: Shard) -> Vec<Tile> {
        let (rows, columns) = self.sizes();
        part(
            tiles(rows, columns, self.symmetry, self.engine.operations()),
            shard,
        )
    }

    /// Entries that a shard computes.
    pub fn entries(&self, shard: Shard) -> usize {
        self.tiles(shard).iter().map(Tile::len).sum()
    }

    /// Computes every tile of the shard into growing files.
    pub fn run(
        &self,
        shard: Shard,
        directory: &mut RunDirectory,
        common: &Common,
    ) -> Result<(), CliError> {
        let (rows, columns) = self.sizes();
        let tiles = self.tiles(shard);
        let each = self.engine.rows();
        let files = open::<T>(directory, self.kinds, rows * each, columns * each)?;
        let done = directory.restore(STATE)?.unwrap_or_default();
        let done = String::from_utf8_lossy(&done);
        let mut done = done.parse::<usize>().unwrap_or(0).min(tiles.len());
        let entries = |tiles: &[Tile]| tiles.iter().map(|t| t.len() as u64).sum::<u64>();
        let (first, total) = (entries(&tiles[..done]), entries(&tiles));
        let samples = size_of_val(self.x1) + size_of_val(self.x2);
        let largest = tiles.iter().map(Tile::len).max().unwrap_or(0);
        let work = Work {
            unit: "entries",
            first,
            total,
            words: format!("{} entries", grouped(total)),
            bytes: samples as f64 + (largest * 2 * size_of::<T>()) as f64 + self.engine.bytes(),
        };
        let mut saved = done;
        let mut trouble = None;
        let mut watch = Watch::new(directory, work, common);
        let mut seen = first;
        while done < tiles.len() {
            self.tile(&tiles[done], &files)?;
            seen += tiles[done].len() as u64;
            watch.progress.advance(tiles[done].len() as u64);
            done += 1;
            watch.tick(seen, || {
                // A checkpoint may only count what is on the disk.
                match files.iter().try_for_each(|(_, file)| file.sync()) {
                    Ok(()) => saved = done,
                    Err(e) => trouble = Some(e),
                }
                saved.to_string().into_bytes()
            });
            if let Some(e) = trouble.take() {
                return Err(e);
            }
        }
        files.iter().try_for_each(|(_, file)| file.sync())?;
        // From here on every tile is known to be there, whatever happens before the end.
        watch.save(done.to_string().as_bytes());
        watch.finish()?;
        for (kind, _) in &files {
            directory.adopt(kind.file())?;
        }
        Ok(())
    }

    fn tile(&self, tile: &Tile, files: &[(Kind, MatrixFile)]) -> Result<(), CliError> {
        let inputs = self.engine.inputs();
        let wanted = self.kinds.wanted();
        let rows = &self.x1[tile.rows.start * inputs..tile.rows.end * inputs];
        let symmetric = self.symmetry == Symmetry::Symmetric;
        let values = if symmetric && tile.on_diagonal() {
            self.engine.among(wanted, rows)?
        } else {
            let columns = &self.x2[tile.columns.start * inputs..tile.columns.end * inputs];
            self.engine.between(wanted, rows, columns)?
        };
        let place = tile.times(self.engine.rows());
        for (kind, file) in files {
            if let Some(numbers) = values.of(*kind) {
                file.write(&place, numbers)?;
                if symmetric && !tile.on_diagonal() {
                    file.write_mirrored(&place, numbers)?;
                }
            }
        }
        Ok(())
    }
}

/// The tiles of one shard: a contiguous share of them.
fn part(tiles: Vec<Tile>, shard: Shard) -> Vec<Tile> {
    let n = tiles.len() as u128;
    let edge = |i: u64| (n * u128::from(i) / u128::from(shard.count)) as usize;
    tiles[edge(shard.index)..edge(shard.index + 1)].to_vec()
}

fn open<T: Stored>(
    directory: &RunDirectory,
    kinds: &Kinds,
    rows: usize,
    columns: usize,
) -> Result<Vec<(Kind, MatrixFile)>, CliError> {
    let open = |kind: &Kind| {
        let file = MatrixFile::open::<T>(&directory.growing(kind.file()), rows, columns)?;
        Ok((*kind, file))
    };
    kinds.0.iter().map(open).collect()
}

/// Looks at the finished matrices and ends the run.
pub fn conclude<T: Stored + Real>(
    mut directory: RunDirectory,
    kinds: &Kinds,
    approximations: &[String],
    (rows, columns, symmetry): (usize, usize, Symmetry),
    request: &Request,
    common: &Common,
) -> Result<(), CliError> {
    let mut surveys = Vec::new();
    for (kind, file) in open::<T>(&directory, kinds, rows, columns)? {
        surveys.push(Survey::of::<T>(&file, kind, rows, columns, symmetry)?);
    }
    let answer = Answer {
        rows,
        columns,
        approximations: approximations.to_vec(),
        kernels: surveys.iter().map(|s| s.summary.clone()).collect(),
    };
    directory.write_page(&page::page(&answer, &surveys, symmetry, request))?;
    run::finish(directory, &answer, common)
}

/// Joins the matrices of shards; `configuration` is that of the whole run.
pub fn merge(
    shards: &[PathBuf],
    records: &[Record],
    configuration: toml::Table,
    common: &Common,
) -> Result<(), CliError> {
    match configuration.get("dtype").and_then(toml::Value::as_str) {
        Some("f32") => join::<f32>(shards, records, configuration, common),
        _ => join::<f64>(shards, records, configuration, common),
    }
}

fn join<T: Stored + Real>(
    shards: &[PathBuf],
    records: &[Record],
    configuration: toml::Table,
    common: &Common,
) -> Result<(), CliError> {
    let wrong = |what: String| CliError::Usage(format!("{}: {what}", shards[0].display()));
    let text = |key: &str| configuration.get(key).and_then(toml::Value::as_str);
    let kinds: Kinds = text("kind").unwrap_or_default().parse().map_err(wrong)?;
    let symmetry = match text("x2") {
        None => Symmetry::Symmetric,
        Some(_) => Symmetry::Rectangular,
    };
    let graph = ArchitectureArgs::restore(&configuration)?;
    let engine = Kernel::new(&graph)?;
    let part_of = |record: &Record| -> Result<Part, CliError> {
        let table = toml::Value::Table(record.result.clone());
        table.try_into().map_err(|e: toml::de::Error| {
            wrong(format!("its [result] cannot be read ({})", e.message()))
        })
    };
    let Part {
        rows,
        columns,
        operations,
        ..
    } = part_of(&records[0])?;
    let request = Request {
        verb: "kernel",
        architecture: graph.name.clone(),
        configuration: configuration.clone(),
    };
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Answer>(&path, &record, common),
    };
    let all = tiles(rows, columns, symmetry, operations);
    for (kind, whole) in open::<T>(&directory, &kinds, rows, columns)? {
        for (path, record) in shards.iter().zip(records) {
            let shard = record.configuration.get("shard");
            let shard = shard.and_then(toml::Value::as_str).unwrap_or_default();
            let shard = super::shard(shard).map_err(wrong)?;
            let from = MatrixFile::existing::<T>(&path.join(kind.file()), rows, columns)?;
            for tile in part(all.clone(), shard) {
                let numbers = from.read::<T>(&tile)?;
                whole.write(&tile, &numbers)?;
                if symmetry == Symmetry::Symmetric && !tile.on_diagonal() {
                    whole.write_mirrored(&tile, &numbers)?;
                }
            }
        }
        whole.sync()?;
        directory.adopt(kind.file())?;
    }
    conclude::<T>(
        directory,
        &kinds,
        engine.approximations(),
        (rows, columns, symmetry),
        &request,
        common,
    )
}
