//! A matrix on disk, written tile by tile.
//!
//! The file has its final form from the start, a `.npy` header and room for every number; what is not yet written is 0.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use polariscope_data::npy;

use super::tiles::Tile;
use crate::error::CliError;

/// Numbers mirrored at a time: a strip of them is transposed in cache.
const STRIP: usize = 64;

/// A number that files hold.
pub trait Stored: npy::Element + Default + Send + Sync {
    /// From the bytes that [`npy::Element::append`] makes.
    fn read(bytes: &[u8]) -> Self;
}

impl Stored for f32 {
    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0.0, f32::from_le_bytes)
    }
}

impl Stored for f64 {
    fn read(bytes: &[u8]) -> Self {
        bytes.try_into().map_or(0.0, f64::from_le_bytes)
    }
}

/// A matrix file open for reading and writing.
pub struct MatrixFile {
    path: PathBuf,
    file: File,
    header: u64,
    columns: usize,
}

impl MatrixFile {
    /// Opens the file, making it if it is not there with the length it will have.
    pub fn open<T: Stored>(path: &Path, rows: usize, columns: usize) -> Result<Self, CliError> {
        let header = npy::encode::<T>(&[rows, columns], &[]);
        let made = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(path)?;
            file.write_all(&header)?;
            file.set_len((header.len() + rows * columns * size_of::<T>()) as u64)?;
            Ok(file)
        };
        Ok(Self {
            path: path.to_path_buf(),
            file: made().map_err(|e| failed(path, &e))?,
            header: header.len() as u64,
            columns,
        })
    }

    /// Opens a finished file to read from.
    pub fn existing<T: Stored>(path: &Path, rows: usize, columns: usize) -> Result<Self, CliError> {
        let header = npy::encode::<T>(&[rows, columns], &[]);
        let wrong = |what: String| CliError::Usage(format!("{}: {what}", path.display()));
        let mut file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let length = file.metadata().map_err(|e| wrong(e.to_string()))?.len();
        let mut begins = vec![0; header.len()];
        let whole = length == (header.len() + rows * columns * size_of::<T>()) as u64;
        if !whole || file.read_exact(&mut begins).is_err() || begins != header {
            return Err(wrong(format!(
                "not a {rows} x {columns} matrix of this run"
            )));
        }
        Ok(Self {
            path: path.to_path_buf(),
            file,
            header: header.len() as u64,
            columns,
        })
    }

    fn place<T>(&self, row: usize, column: usize) -> u64 {
        self.header + ((row * self.columns + column) * size_of::<T>()) as u64
    }

    /// Writes the numbers of a tile, row by row.
    pub fn write<T: Stored>(&self, tile: &Tile, numbers: &[T]) -> Result<(), CliError> {
        let rows = numbers.chunks_exact(tile.columns.len());
        for (i, row) in tile.rows.clone().zip(rows) {
            self.put(self.place::<T>(i, tile.columns.start), row)?;
        }
        Ok(())
    }

    /// Writes the transpose of a tile at its mirror image.
    pub fn write_mirrored<T: Stored>(&self, tile: &Tile, numbers: &[T]) -> Result<(), CliError> {
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
                let at = self.place::<T>(row, tile.rows.start);
                self.put(at, &strip[j * rows..][..rows])?;
            }
        }
        Ok(())
    }

    fn put<T: Stored>(&self, at: u64, numbers: &[T]) -> Result<(), CliError> {
        let mut bytes = Vec::with_capacity(size_of_val(numbers));
        numbers.iter().for_each(|x| x.append(&mut bytes));
        let mut file = &self.file;
        let written = file.seek(SeekFrom::Start(at));
        let written = written.and_then(|_| file.write_all(&bytes));
        written.map_err(|e| failed(&self.path, &e))
    }

    /// The numbers of a tile.
    pub fn read<T: Stored>(&self, tile: &Tile) -> Result<Vec<T>, CliError> {
        let mut numbers = Vec::with_capacity(tile.len());
        let mut bytes = vec![0; tile.columns.len() * size_of::<T>()];
        for i in tile.rows.clone() {
            let at = self.place::<T>(i, tile.columns.start);
            let mut file = &self.file;
            let read = file.seek(SeekFrom::Start(at));
            let read = read.and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|e| failed(&self.path, &e))?;
            numbers.extend(bytes.chunks_exact(size_of::<T>()).map(T::read));
        }
        Ok(numbers)
    }

    /// Waits until everything written is on the disk.
    pub fn sync(&self) -> Result<(), CliError> {
        self.file.sync_data().map_err(|e| failed(&self.path, &e))
    }
}

fn failed(path: &Path, e: &io::Error) -> CliError {
    CliError::Failed(format!("{}: {e}", path.display()))
}
