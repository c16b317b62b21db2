//! A matrix in memory or on disk, written tile by tile.
//!
//! A file has its final form from the start, a `.npy` header and room for every number; what is not yet written is 0.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use polariscope_data::npy;
use thiserror::Error;

use super::Tile;
use crate::Number;

/// Numbers mirrored at a time: a strip of them is transposed in cache.
const STRIP: usize = 64;

/// Where matrices are while they grow.
#[derive(Clone, Debug)]
pub enum Store {
    /// In memory; they are gone with the process.
    Memory,
    /// In `.npy` files, by the name of the result. Work goes on in files that an earlier process left.
    Files(BTreeMap<String, PathBuf>),
}

impl Store {
    /// Whether what is stored outlives the process.
    pub fn lasts(&self) -> bool {
        matches!(self, Store::Files(_))
    }
}

/// A file that cannot be had.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A part that cannot be opened.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It holds something else.
    #[error("{}: not a {rows} x {columns} matrix of this run", path.display())]
    Another {
        /// The file.
        path: PathBuf,
        /// Rows wanted.
        rows: usize,
        /// Columns wanted.
        columns: usize,
    },
    /// A store of files without a place for a result.
    #[error("there is no file for {name}")]
    Nowhere {
        /// The result.
        name: String,
    },
}

/// A matrix open for reading and writing.
pub struct Matrix<T> {
    columns: usize,
    place: Place<T>,
}

enum Place<T> {
    Memory(Vec<T>),
    File {
        path: PathBuf,
        file: File,
        header: u64,
    },
}

impl<T: Number> Matrix<T> {
    /// Opens a matrix of a store, making it if it is not there.
    pub fn open(
        store: &Store,
        name: &str,
        (rows, columns): (usize, usize),
    ) -> Result<Self, StoreError> {
        let place = match store {
            Store::Memory => Place::Memory(vec![T::default(); rows * columns]),
            Store::Files(files) => match files.get(name) {
                Some(path) => make(path, (rows, columns))?,
                None => return Err(StoreError::Nowhere { name: name.into() }),
            },
        };
        Ok(Self { columns, place })
    }

    /// Opens a finished file to read from.
    pub fn existing(path: &Path, (rows, columns): (usize, usize)) -> Result<Self, StoreError> {
        let header = npy::encode::<T>(&[rows, columns], &[]);
        let failed = |source| StoreError::Open {
            path: path.into(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut begins = vec![0; header.len()];
        let whole = length == (header.len() + rows * columns * size_of::<T>()) as u64;
        if !whole || file.read_exact(&mut begins).is_err() || begins != header {
            return Err(StoreError::Another {
                path: path.into(),
                rows,
                columns,
            });
        }
        Ok(Self {
            columns,
            place: Place::File {
                path: path.into(),
                file,
                header: header.len() as u64,
            },
        })
    }

    /// Writes the numbers of a tile, row by row.
    pub fn write(&mut self, tile: &Tile, numbers: &[T]) -> Result<(), StoreError> {
        let rows = numbers.chunks_exact(tile.columns.len());
        for (i, row) in tile.rows.clone().zip(rows) {
            self.put(i, tile.columns.start, row)?;
        }
        Ok(())
    }

    /// Writes the transpose of a tile at its mirror image.
    pub fn write_mirrored(&mut self, tile: &Tile, numbers: &[T]) -> Result<(), StoreError> {
        let (rows, columns) = (tile.rows.len(), tile.columns.len());
        let mut strip = vec![T::default(); STRIP * rows];
        for first in (0..columns).step_by(STRIP) {
            let width = STRIP.min(columns - first);
            for i in 0..rows {
                for j in 0..width {
                    strip[j * rows + i] = numbers[i * columns + first + j];
                }
            }
            for j in 0..width {
                let row = tile.columns.start + first + j;
                self.put(row, tile.rows.start, &strip[j * rows..][..rows])?;
            }
        }
        Ok(())
    }

    fn put(&mut self, row: usize, column: usize, numbers: &[T]) -> Result<(), StoreError> {
        let at = row * self.columns + column;
        match &mut self.place {
            Place::Memory(all) => all[at..at + numbers.len()].copy_from_slice(numbers),
            Place::File { path, file, header } => {
                let mut bytes = Vec::with_capacity(size_of_val(numbers));
                numbers.iter().for_each(|x| x.append(&mut bytes));
                let written = file.seek(SeekFrom::Start(*header + (at * size_of::<T>()) as u64));
                let written = written.and_then(|_| file.write_all(&bytes));
                written.map_err(|e| failed(path, e))?;
            }
        }
        Ok(())
    }

    /// The numbers of a tile.
    pub fn read(&mut self, tile: &Tile) -> Result<Vec<T>, StoreError> {
        let mut numbers = Vec::with_capacity(tile.len());
        let mut bytes = vec![0; tile.columns.len() * size_of::<T>()];
        for i in tile.rows.clone() {
            let at = i * self.columns + tile.columns.start;
            match &mut self.place {
                Place::Memory(all) => numbers.extend(&all[at..at + tile.columns.len()]),
                Place::File { path, file, header } => {
                    let read = file.seek(SeekFrom::Start(*header + (at * size_of::<T>()) as u64));
                    let read = read.and_then(|_| file.read_exact(&mut bytes));
                    read.map_err(|e| failed(path, e))?;
                    numbers.extend(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes));
                }
            }
        }
        Ok(numbers)
    }

    /// Waits until everything written is on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        match &self.place {
            Place::Memory(_) => Ok(()),
            Place::File { path, file, .. } => file.sync_data().map_err(|e| failed(path, e)),
        }
    }

    /// Every number, where they are in memory.
    pub fn in_memory(self) -> Option<Vec<T>> {
        match self.place {
            Place::Memory(all) => Some(all),
            Place::File { .. } => None,
        }
    }
}

fn make<T: Number>(path: &Path, (rows, columns): (usize, usize)) -> Result<Place<T>, StoreError> {
    let header = npy::encode::<T>(&[rows, columns], &[]);
    let made = || -> io::Result<File> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path)?;
        file.write_all(&header)?;
        file.set_len((header.len() + rows * columns * size_of::<T>()) as u64)?;
        Ok(file)
    };
    Ok(Place::File {
        path: path.into(),
        file: made().map_err(|e| failed(path, e))?,
        header: header.len() as u64,
    })
}

fn failed(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Symmetry, tiles};

    /// The numbers 0, 1, 2, … of a symmetric matrix, tile by tile, wherever it is kept.
    #[test]
    fn memory_and_files_hold_the_same() {
        let n = 130;
        let path = std::env::temp_dir().join(format!("polariscope-store-{}", std::process::id()));
        let files = Store::Files([("k".to_string(), path.clone())].into());
        let all = Tile {
            rows: 0..n,
            columns: 0..n,
        };
        let entry = |i: usize, j: usize| (i.min(j) * n + i.max(j)) as f64;
        let mut matrices = [&Store::Memory, &files].map(|s| Matrix::<f64>::open(s, "k", (n, n)));
        for matrix in matrices.iter_mut() {
            let matrix = matrix.as_mut().unwrap();
            // Costly pairs: tiles of 16.
            for tile in tiles(n, n, Symmetry::Symmetric, 1e9) {
                let pairs = tile
                    .rows
                    .clone()
                    .flat_map(|i| tile.columns.clone().map(move |j| (i, j)));
                let numbers: Vec<f64> = pairs.map(|(i, j)| entry(i, j)).collect();
                matrix.write(&tile, &numbers).unwrap();
                if !tile.on_diagonal() {
                    matrix.write_mirrored(&tile, &numbers).unwrap();
                }
            }
            let numbers = matrix.read(&all).unwrap();
            assert!(
                numbers
                    .iter()
                    .enumerate()
                    .all(|(at, &k)| k == entry(at / n, at % n))
            );
        }
        let again = Matrix::<f64>::existing(&path, (n, n)).and_then(|mut m| m.read(&all));
        assert_eq!(again.unwrap()[n], 1.0);
        let other = Matrix::<f64>::existing(&path, (n, 1))
            .map(|_| ())
            .unwrap_err();
        assert!(
            other.to_string().contains("not a 130 x 1 matrix"),
            "{other}"
        );
        let nowhere = Matrix::<f64>::open(&files, "other", (1, 1)).map(|_| ());
        assert!(nowhere.is_err());
        std::fs::remove_file(path).unwrap();
    }
}
