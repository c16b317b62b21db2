//! Pages: decompression, definition levels, values.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::footer::{Chunk, Codec, Column, Kind};
use super::thrift::{Value, read_struct};
use super::{ByteColumn, Fault, rle};

/// A column may unpack to this much, plus [`RATIO`] times its size in the file. Images do not compress, and
/// labels are few: real files stay far below; what exceeds it was made to exhaust memory.
const ALLOWANCE: usize = 1 << 25;
const RATIO: usize = 64;
/// Largest window of a zstd frame.
const ZSTD_WINDOW: u64 = 1 << 25;

/// The values of one chunk.
pub(crate) enum Values {
    Integers(Vec<i64>),
    Bytes(ByteColumn),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Integers(v) => v.len(),
            Values::Bytes(v) => v.len(),
        }
    }

    fn empty(kind: Kind) -> Values {
        match kind {
            Kind::Int32 | Kind::Int64 => Values::Integers(Vec::new()),
            Kind::Bytes => Values::Bytes(ByteColumn::default()),
        }
    }
}

/// A page's header and its place.
struct Page<'a> {
    header: Value,
    body: &'a [u8],
    offset: usize,
    unpacked: usize,
}

/// Decodes all pages of a column chunk.
pub(crate) fn read_chunk(bytes: &[u8], column: &Column, chunk: &Chunk) -> Result<Values, Fault> {
    let fault = |offset, what: &str| Fault::new(offset, what);
    let kind = column.kind.filter(|_| !column.repeated);
    let kind = kind.ok_or_else(|| fault(chunk.start, "lists and this type are not read"))?;
    let mut budget = ALLOWANCE + RATIO * (chunk.end - chunk.start);
    let mut dictionary = Values::empty(kind);
    let mut values = Values::empty(kind);
    let mut at = chunk.start;
    while values.len() < chunk.values {
        let page = next_page(bytes, at, chunk.end)?;
        at = page.offset + page.body.len();
        let left = budget.checked_sub(page.unpacked);
        budget =
            left.ok_or_else(|| fault(page.offset, "pages unpack to more than is reasonable"))?;
        let room = chunk.values - values.len();
        match page.header.integer(1) {
            Some(0) => data_v1(
                &page,
                chunk.codec,
                column,
                kind,
                room,
                &dictionary,
                &mut values,
            )?,
            Some(3) => data_v2(
                &page,
                chunk.codec,
                column,
                kind,
                room,
                &dictionary,
                &mut values,
            )?,
            Some(2) => {
                let count = page.header.field(7).and_then(|h| h.size(1));
                let content = unpack(page.body, chunk.codec, page.unpacked);
                let content = content.map_err(|what| fault(page.offset, &what))?;
                let count = count.filter(|&n| n <= content.len());
                let count =
                    count.ok_or_else(|| fault(page.offset, "dictionary without a count"))?;
                dictionary = Values::empty(kind);
                let read = plain(content, kind, count, &mut dictionary);
                read.ok_or_else(|| fault(page.offset, "dictionary cut short"))?;
                share(&mut dictionary, &mut values);
            }
            // Index pages may be skipped.
            _ => {}
        }
    }
    Ok(values)
}

fn next_page(bytes: &[u8], at: usize, end: usize) -> Result<Page<'_>, Fault> {
    if at >= end {
        return Err(Fault::new(at, "pages end before all values were read"));
    }
    let (header, offset) = read_struct(&bytes[..end], at)?;
    let sizes = header.size(2).zip(header.size(3));
    let (unpacked, packed) = sizes.ok_or_else(|| Fault::new(at, "page without its sizes"))?;
    let body = offset
        .checked_add(packed)
        .and_then(|to| bytes[..end].get(offset..to));
    let body = body.ok_or_else(|| {
        Fault::new(
            at,
            format!(
                "page of {packed} bytes declared, {} left",
                end.saturating_sub(offset)
            ),
        )
    })?;
    Ok(Page {
        header,
        body,
        offset,
        unpacked,
    })
}

/// Version 1: levels and values are compressed together; levels carry their length.
fn data_v1(
    page: &Page<'_>,
    codec: Codec,
    column: &Column,
    kind: Kind,
    room: usize,
    dictionary: &Values,
    values: &mut Values,
) -> Result<(), Fault> {
    let fault = |what: &str| Fault::new(page.offset, what);
    let header = page
        .header
        .field(5)
        .ok_or_else(|| fault("data page without a header"))?;
    let count = header.size(1).filter(|&n| n <= room);
    let count = count.ok_or_else(|| fault("data page with a wrong value count"))?;
    let mut content = unpack(page.body, codec, page.unpacked).map_err(|what| fault(&what))?;
    if column.definition > 0 {
        let cut = || fault("definition levels cut short");
        let length = content.first_chunk::<4>().ok_or_else(cut)?;
        let length = u32::from_le_bytes(*length) as usize;
        let levels = content[4..].get(..length).ok_or_else(cut)?;
        refuse_nulls(levels, column.definition, count).map_err(|what| fault(&what))?;
        content.drain(..4 + length);
    }
    let encoding = header.integer(2);
    decode(content, encoding, kind, count, dictionary, values).map_err(|what| fault(&what))
}

/// Version 2: levels come first, uncompressed, with their length in the header.
fn data_v2(
    page: &Page<'_>,
    codec: Codec,
    column: &Column,
    kind: Kind,
    room: usize,
    dictionary: &Values,
    values: &mut Values,
) -> Result<(), Fault> {
    let fault = |what: &str| Fault::new(page.offset, what);
    let header = page
        .header
        .field(8)
        .ok_or_else(|| fault("data page without a header"))?;
    let count = header.size(1).filter(|&n| n <= room);
    let count = count.ok_or_else(|| fault("data page with a wrong value count"))?;
    let levels = header.size(5).zip(header.size(6));
    let (definitions, repetitions) =
        levels.ok_or_else(|| fault("data page without level sizes"))?;
    let cut = || fault("levels cut short");
    let (_, rest) = page.body.split_at_checked(repetitions).ok_or_else(cut)?;
    let (levels, packed) = rest.split_at_checked(definitions).ok_or_else(cut)?;
    if column.definition > 0 {
        refuse_nulls(levels, column.definition, count).map_err(|what| fault(&what))?;
    }
    let codec = match header.field(7) {
        Some(Value::Bool(false)) => Codec::Plain,
        _ => codec,
    };
    let unpacked = page.unpacked.saturating_sub(page.body.len() - packed.len());
    let content = unpack(packed, codec, unpacked).map_err(|what| fault(&what))?;
    let encoding = header.integer(4);
    decode(content, encoding, kind, count, dictionary, values).map_err(|what| fault(&what))
}

fn refuse_nulls(levels: &[u8], definition: u32, count: usize) -> Result<(), String> {
    let width = u32::BITS - definition.leading_zeros();
    let levels = rle::decode(levels, width, count).ok_or("definition levels are damaged")?;
    match levels.iter().position(|&level| level != definition) {
        None => Ok(()),
        Some(row) => Err(format!(
            "no value in row {row} of a page; every row needs one"
        )),
    }
}

/// Decompresses to exactly `size` bytes.
fn unpack(bytes: &[u8], codec: Codec, size: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let most = size as u64 + 1;
    match codec {
        Codec::Plain => out.extend_from_slice(bytes),
        Codec::Snappy => {
            if snap::raw::decompress_len(bytes).ok() == Some(size) {
                let unpacked = snap::raw::Decoder::new().decompress_vec(bytes);
                out = unpacked.map_err(|e| format!("damaged snappy page: {e}"))?;
            }
        }
        Codec::Gzip => {
            let read = MultiGzDecoder::new(bytes).take(most).read_to_end(&mut out);
            read.map_err(|e| format!("damaged gzip page: {e}"))?;
        }
        Codec::Zstd => {
            let decoder = StreamingDecoder::new_with_max_window_size(bytes, ZSTD_WINDOW);
            let decoder = decoder.map_err(|e| format!("damaged zstd page: {e}"))?;
            let read = decoder.take(most).read_to_end(&mut out);
            read.map_err(|e| format!("damaged zstd page: {e}"))?;
        }
    }
    if out.len() == size {
        Ok(out)
    } else {
        Err(format!("page does not unpack to its declared {size} bytes"))
    }
}

fn decode(
    content: Vec<u8>,
    encoding: Option<i64>,
    kind: Kind,
    count: usize,
    dictionary: &Values,
    values: &mut Values,
) -> Result<(), String> {
    match encoding {
        Some(0) => plain(content, kind, count, values).ok_or_else(|| "values cut short".into()),
        Some(2 | 8) => {
            let (width, indices) = content.split_first().ok_or("indices cut short")?;
            let indices = rle::decode(indices, u32::from(*width), count);
            look_up(&indices.ok_or("indices are damaged")?, dictionary, values)
                .ok_or_else(|| "an index exceeds the dictionary".into())
        }
        other => {
            let name = match other {
                Some(5) => "DELTA_BINARY_PACKED",
                Some(6) => "DELTA_LENGTH_BYTE_ARRAY",
                Some(7) => "DELTA_BYTE_ARRAY",
                Some(9) => "BYTE_STREAM_SPLIT",
                _ => "an unknown encoding",
            };
            Err(format!(
                "encoded as {name}; PLAIN and dictionary encodings are read"
            ))
        }
    }
}

/// Appends `count` PLAIN values; `None` if the bytes run out.
fn plain(content: Vec<u8>, kind: Kind, count: usize, values: &mut Values) -> Option<()> {
    match (kind, values) {
        (Kind::Int32, Values::Integers(out)) => {
            let (numbers, _) = content.as_chunks::<4>();
            out.extend(
                numbers
                    .get(..count)?
                    .iter()
                    .map(|&b| i64::from(i32::from_le_bytes(b))),
            );
        }
        (Kind::Int64, Values::Integers(out)) => {
            let (numbers, _) = content.as_chunks::<8>();
            out.extend(numbers.get(..count)?.iter().map(|&b| i64::from_le_bytes(b)));
        }
        (Kind::Bytes, Values::Bytes(out)) => {
            let mut at = 0;
            for _ in 0..count {
                let length = content.get(at..)?.first_chunk::<4>()?;
                let start = at + 4;
                at = start.checked_add(u32::from_le_bytes(*length) as usize)?;
                content.get(start..at)?;
                out.spans.push((out.buffers.len(), start, at));
            }
            out.buffers.push(content);
        }
        _ => return None,
    }
    Some(())
}

/// Moves the dictionary's bytes to the values, so that entries stand for spans there and are never copied.
fn share(dictionary: &mut Values, values: &mut Values) {
    if let (Values::Bytes(dictionary), Values::Bytes(values)) = (dictionary, values) {
        let base = values.buffers.len();
        values.buffers.append(&mut dictionary.buffers);
        for (buffer, _, _) in &mut dictionary.spans {
            *buffer += base;
        }
    }
}

/// Appends dictionary entries; `None` if an index is too large.
fn look_up(indices: &[u32], dictionary: &Values, values: &mut Values) -> Option<()> {
    match (dictionary, values) {
        (Values::Integers(entries), Values::Integers(out)) => {
            for &i in indices {
                out.push(*entries.get(i as usize)?);
            }
        }
        (Values::Bytes(entries), Values::Bytes(out)) => {
            for &i in indices {
                out.spans.push(*entries.spans.get(i as usize)?);
            }
        }
        _ => return None,
    }
    Some(())
}
