//! The footer: which columns there are, and where their pages lie.

use super::thrift::{Value, read_struct};
use super::{Fault, MAGIC};

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain,
    Snappy,
    Gzip,
    Zstd,
}

/// Physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int32,
    Int64,
    Bytes,
}

/// One column's pages in one row group.
pub(crate) struct Chunk {
    pub codec: Codec,
    pub values: usize,
    pub start: usize,
    pub end: usize,
}

/// A column of the table.
pub(crate) struct Column {
    /// Names from the root, joined by dots.
    pub path: String,
    /// `None`: one that this reader does not decode.
    pub kind: Option<Kind>,
    /// Number of optional fields on the path: the definition level of a value that is there.
    pub definition: u32,
    /// Whether a field on the path repeats.
    pub repeated: bool,
    pub chunks: Vec<Chunk>,
}

pub(crate) struct Footer {
    pub columns: Vec<Column>,
}

/// Reads the footer of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Footer, Fault> {
    let length = bytes.len();
    let tail = bytes.last_chunk::<8>();
    let Some(tail) =
        tail.filter(|t| length >= 12 && bytes.starts_with(MAGIC) && t.ends_with(MAGIC))
    else {
        return Err(Fault::new(
            length.saturating_sub(4),
            "not a Parquet file, or cut short (no PAR1 at both ends)",
        ));
    };
    let declared = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
    let Some(start) = (length - 8).checked_sub(declared).filter(|&s| s >= 4) else {
        let what = format!("footer of {declared} bytes declared in a file of {length}");
        return Err(Fault::new(length - 8, what));
    };
    let source = &bytes[..length - 8];
    let (root, _) = read_struct(source, start)?;
    let rows = root
        .size(3)
        .ok_or_else(|| Fault::new(start, "footer without a row count"))?;
    // Every row of the tables read here takes at least a byte; more would only be a way to exhaust memory.
    if rows > length {
        let what = format!("{rows} rows declared in a file of {length} bytes");
        return Err(Fault::new(start, what));
    }
    let mut columns = schema(&root, source, start)?;
    for group in root.list(4) {
        let chunks = group.list(1);
        if chunks.len() != columns.len() {
            let what = format!(
                "row group of {} columns, the schema has {}",
                chunks.len(),
                columns.len()
            );
            return Err(Fault::new(start, what));
        }
        for (column, chunk) in columns.iter_mut().zip(chunks) {
            if column.kind.is_some() {
                column.chunks.push(place(chunk, source, start)?);
            }
        }
    }
    for column in &columns {
        let values: usize = column.chunks.iter().map(|c| c.values).sum();
        if column.kind.is_some() && !column.repeated && values != rows {
            let what = format!(
                "column {} has {values} values, the table {rows} rows",
                column.path
            );
            return Err(Fault::new(start, what));
        }
    }
    Ok(Footer { columns })
}

/// The schema lists a tree in depth-first order, each group followed by its children.
fn schema(root: &Value, source: &[u8], offset: usize) -> Result<Vec<Column>, Fault> {
    struct Group<'a> {
        names: Vec<&'a str>,
        left: usize,
        definition: u32,
        repeated: bool,
    }
    let fault = || Fault::new(offset, "schema is damaged");
    let mut columns = Vec::new();
    let mut elements = root.list(2).iter();
    let first = elements.next().ok_or_else(fault)?;
    let mut stack = vec![Group {
        names: Vec::new(),
        left: first.size(5).unwrap_or(0),
        definition: 0,
        repeated: false,
    }];
    for element in elements {
        while stack.last().is_some_and(|g| g.left == 0) {
            stack.pop();
        }
        let parent = stack.last_mut().ok_or_else(fault)?;
        parent.left -= 1;
        let mut names = parent.names.clone();
        names.push(element.text(4, source).ok_or_else(fault)?);
        // 0 required, 1 optional, 2 repeated
        let repetition = element.integer(3).unwrap_or(0);
        let definition = parent.definition + u32::from(repetition != 0);
        let repeated = parent.repeated || repetition == 2;
        match element.size(5).unwrap_or(0) {
            0 => columns.push(Column {
                path: names.join(".").escape_debug().to_string(),
                kind: match element.integer(1) {
                    Some(1) => Some(Kind::Int32),
                    Some(2) => Some(Kind::Int64),
                    Some(6) => Some(Kind::Bytes),
                    _ => None,
                },
                definition,
                repeated,
                chunks: Vec::new(),
            }),
            left if names.len() < 16 => stack.push(Group {
                names,
                left,
                definition,
                repeated,
            }),
            _ => return Err(fault()),
        }
    }
    Ok(columns)
}

/// Where a column chunk lies.
fn place(chunk: &Value, source: &[u8], offset: usize) -> Result<Chunk, Fault> {
    let fault = |what: &str| Fault::new(offset, what);
    let meta = chunk
        .field(3)
        .ok_or_else(|| fault("column without metadata (encrypted?)"))?;
    if chunk
        .field(1)
        .is_some_and(|path| path.as_text(source) != Some(""))
    {
        return Err(fault("column stored in another file"));
    }
    let codec = match meta.integer(4) {
        Some(0) => Codec::Plain,
        Some(1) => Codec::Snappy,
        Some(2) => Codec::Gzip,
        Some(6) => Codec::Zstd,
        other => {
            let name = match other {
                Some(3) => "LZO",
                Some(4) => "Brotli",
                Some(5 | 7) => "LZ4",
                _ => "an unknown codec",
            };
            return Err(fault(&format!(
                "compressed by {name}; snappy, gzip, zstd or none are read"
            )));
        }
    };
    let values = meta
        .size(5)
        .ok_or_else(|| fault("column without a value count"))?;
    let data = meta
        .size(9)
        .ok_or_else(|| fault("column without a page offset"))?;
    // Some writers leave 0 where there is no dictionary.
    let start = match meta.size(11) {
        Some(dictionary) if dictionary > 0 => dictionary.min(data),
        _ => data,
    };
    let size = meta.size(7).ok_or_else(|| fault("column without a size"))?;
    let end = start
        .checked_add(size)
        .filter(|&e| e <= source.len() && start >= 4);
    let end = end.ok_or_else(|| fault("column pages lie outside the file"))?;
    if values > source.len() {
        return Err(fault("column declares more values than the file has bytes"));
    }
    Ok(Chunk {
        codec,
        values,
        start,
        end,
    })
}
