//! MNIST's IDX format, gzipped or not: two zero bytes, the number type (8: unsigned bytes), the number of
//! dimensions, each dimension as a big-endian u32, then the bytes.

use std::io::{self, Read};

use flate2::read::GzDecoder;

use crate::error::DataError;

/// The most that deflate can compress.
const GZIP_RATIO: usize = 1032;

/// An array of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Idx {
    /// Dimensions.
    pub shape: Vec<usize>,
    /// Last index fastest.
    pub bytes: Vec<u8>,
}

/// Whether this is the start of a gzip stream.
pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The number of dimensions, if the content is an IDX file of bytes (gzipped or not).
pub(crate) fn dimensions(bytes: &[u8]) -> Option<u8> {
    let mut magic = [0; 4];
    if is_gzip(bytes) {
        GzDecoder::new(bytes).read_exact(&mut magic).ok()?;
    } else {
        magic = *bytes.first_chunk()?;
    }
    match magic {
        [0, 0, 8, n @ 1..=4] => Some(n),
        _ => None,
    }
}

/// Reads the bytes of a file; `file` names it in errors.
pub fn parse(bytes: &[u8], file: &str) -> Result<Idx, DataError> {
    if is_gzip(bytes) {
        let most = bytes.len().saturating_mul(GZIP_RATIO);
        parse_stream(GzDecoder::new(bytes), most, file)
    } else {
        parse_stream(bytes, bytes.len(), file)
    }
}

/// `most` bounds what the stream can hold, so that nothing larger is ever allocated.
fn parse_stream(mut stream: impl Read, most: usize, file: &str) -> Result<Idx, DataError> {
    let cut = |offset: usize| {
        move |e: io::Error| DataError::malformed(file, offset, format!("cut short or damaged: {e}"))
    };
    let mut word = [0; 4];
    stream.read_exact(&mut word).map_err(cut(0))?;
    let [0, 0, 8, dimensions @ 1..=4] = word else {
        return Err(DataError::malformed(
            file,
            0,
            "not an IDX file of bytes (0 0 8 n at the start)",
        ));
    };
    let mut shape = Vec::new();
    let mut offset = 4;
    for _ in 0..dimensions {
        stream.read_exact(&mut word).map_err(cut(offset))?;
        shape.push(u32::from_be_bytes(word) as usize);
        offset += 4;
    }
    let size = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    let size = size.filter(|&n| n <= most).ok_or_else(|| {
        let shape = super::npy::show(&shape);
        DataError::malformed(
            file,
            4,
            format!("dimensions {shape} exceed what the file can hold"),
        )
    })?;
    let mut content = Vec::new();
    stream
        .take(size as u64 + 1)
        .read_to_end(&mut content)
        .map_err(cut(offset))?;
    if content.len() != size {
        let found = if content.len() > size {
            "more".into()
        } else {
            content.len().to_string()
        };
        let what = format!("{size} bytes declared, {found} found");
        return Err(DataError::malformed(
            file,
            offset + content.len().min(size),
            what,
        ));
    }
    Ok(Idx {
        shape,
        bytes: content,
    })
}
