//! Reading columns of flat Parquet tables (and structs of them): what image data sets use.
//!
//! A file is `PAR1`, pages, a footer (Thrift's compact protocol) that says where each column's pages are,
//! the footer's length, `PAR1`. Values are PLAIN or dictionary indices; pages are of version 1 or 2, plain or
//! compressed by snappy, gzip or zstd. Lists, encryption and other encodings are refused by name.
//!
//! Sizes that a file declares are compared with its length before anything is allocated.

mod footer;
mod page;
mod rle;
mod thrift;

use crate::error::DataError;
use footer::{Column, Footer};
use page::Values;

pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// Whether this is the start of a Parquet file.
pub(crate) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A fault without the file's name: where and what.
pub(crate) struct Fault {
    pub offset: usize,
    pub what: String,
}

impl Fault {
    pub fn new(offset: usize, what: impl Into<String>) -> Fault {
        Fault {
            offset,
            what: what.into(),
        }
    }
}

/// A column of byte strings; equal dictionary entries share their bytes.
#[derive(Default)]
pub struct ByteColumn {
    buffers: Vec<Vec<u8>>,
    /// Buffer, start, end.
    spans: Vec<(usize, usize, usize)>,
}

impl ByteColumn {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// A value.
    pub fn get(&self, row: usize) -> &[u8] {
        let (buffer, start, end) = self.spans[row];
        &self.buffers[buffer][start..end]
    }
}

/// An open table.
pub struct Table<'a> {
    bytes: &'a [u8],
    file: &'a str,
    footer: Footer,
}

impl<'a> Table<'a> {
    /// Reads the footer; `file` names the file in errors.
    pub fn open(bytes: &'a [u8], file: &'a str) -> Result<Table<'a>, DataError> {
        let footer =
            footer::read(bytes).map_err(|f| DataError::malformed(file, f.offset, f.what))?;
        Ok(Table {
            bytes,
            file,
            footer,
        })
    }

    /// The first column of byte strings with one of these paths.
    pub fn bytes(&self, names: &[&str]) -> Result<ByteColumn, DataError> {
        let mut column = ByteColumn::default();
        self.each_chunk(names, |values| match values {
            Values::Bytes(chunk) => {
                let base = column.buffers.len();
                column.buffers.extend(chunk.buffers);
                let moved = chunk.spans.into_iter().map(|(b, s, e)| (b + base, s, e));
                column.spans.extend(moved);
                Ok(())
            }
            Values::Integers(_) => Err("holds integers, expected byte strings"),
        })?;
        Ok(column)
    }

    /// The first column of integers with one of these paths.
    pub fn integers(&self, names: &[&str]) -> Result<Vec<i64>, DataError> {
        let mut column = Vec::new();
        self.each_chunk(names, |values| match values {
            Values::Integers(chunk) => {
                column.extend(chunk);
                Ok(())
            }
            Values::Bytes(_) => Err("holds byte strings, expected integers"),
        })?;
        Ok(column)
    }

    fn each_chunk(
        &self,
        names: &[&str],
        mut take: impl FnMut(Values) -> Result<(), &'static str>,
    ) -> Result<(), DataError> {
        let found = |c: &&Column| names.contains(&c.path.as_str());
        let Some(column) = self.footer.columns.iter().find(found) else {
            let present: Vec<&str> = self
                .footer
                .columns
                .iter()
                .map(|c| c.path.as_str())
                .take(12)
                .collect();
            return Err(DataError::Shape {
                file: self.file.into(),
                what: format!(
                    "no column {}; the file has {}",
                    names.join(" or "),
                    present.join(", ")
                ),
            });
        };
        let malformed = |f: Fault| {
            DataError::malformed(
                self.file,
                f.offset,
                format!("column {}: {}", column.path, f.what),
            )
        };
        for chunk in &column.chunks {
            let values = page::read_chunk(self.bytes, column, chunk).map_err(malformed)?;
            take(values).map_err(|what| malformed(Fault::new(chunk.start, what)))?;
        }
        Ok(())
    }
}
