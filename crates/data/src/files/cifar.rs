//! CIFAR-10's original binary format: records of one label byte and 3 × 32 × 32 pixels, red, green, blue.

use rayon::prelude::*;

use super::Images;
use super::image::Image;
use crate::error::DataError;
use crate::parquet;

/// Classes of CIFAR-10.
pub(crate) const CLASSES: u32 = 10;
/// What they are called.
pub(crate) const NAMES: [&str; 10] = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
];
/// What the two classes of CIFAR-2 are called.
pub(crate) const KINDS: [&str; 2] = ["vehicle", "animal"];
/// Rows and columns.
const SIDE: usize = 32;
/// Bytes of an image.
const PIXELS: usize = 3 * SIDE * SIDE;
/// Bytes of a record.
const RECORD: usize = 1 + PIXELS;

/// Whether the content can be a file of records. There is no magic number: the length and the first
/// label must fit.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.len().is_multiple_of(RECORD) && u32::from(bytes[0]) < CLASSES
}

/// Reads the bytes of a binary file; `file` names it in errors.
pub fn parse(bytes: &[u8], file: &str) -> Result<Images, DataError> {
    let (records, rest) = bytes.as_chunks::<RECORD>();
    if !rest.is_empty() || records.is_empty() {
        let what = format!(
            "{} bytes are no whole number of {RECORD}-byte records",
            bytes.len()
        );
        return Err(DataError::malformed(file, records.len() * RECORD, what));
    }
    let mut images = Images::default();
    images.pixels.reserve_exact(records.len() * PIXELS);
    for (row, record) in records.iter().enumerate() {
        images.labels.push(class(i64::from(record[0]), row, file)?);
        images.pixels.extend_from_slice(&record[1..]);
    }
    Ok(images)
}

/// Reads the bytes of a Parquet file with columns `img.bytes` (or `image.bytes`; JPEG or PNG) and `label`.
pub fn parse_parquet(bytes: &[u8], file: &str) -> Result<Images, DataError> {
    let table = parquet::Table::open(bytes, file)?;
    let encoded = table.bytes(&["img.bytes", "image.bytes"])?;
    let labels = table.integers(&["label"])?;
    if encoded.len() != labels.len() {
        return Err(DataError::Counts {
            x: format!("{file}, image column"),
            inputs: encoded.len(),
            y: "its label column".into(),
            labels: labels.len(),
        });
    }
    let labels = labels
        .iter()
        .enumerate()
        .map(|(row, &y)| class(y, row, file));
    let labels = labels.collect::<Result<Vec<u32>, _>>()?;
    let decoded: Vec<Vec<u8>> = (0..encoded.len())
        .into_par_iter()
        .map(|row| {
            let image = decode(encoded.get(row));
            image.map_err(|what| DataError::Shape {
                file: file.into(),
                what: format!("image of row {row}: {what}"),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Images {
        pixels: decoded.concat(),
        labels,
    })
}

/// Red, green and blue planes of an encoded image.
fn decode(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let image = Image::decode(bytes)?;
    let (width, height) = (image.width, image.height);
    if (width, height) != (SIDE, SIDE) {
        return Err(format!("{width}x{height} pixels, expected {SIDE}x{SIDE}"));
    }
    let mut planes = vec![0; PIXELS];
    for i in 0..SIDE * SIDE {
        for (c, value) in image.rgb(i % SIDE, i / SIDE).into_iter().enumerate() {
            planes[c * SIDE * SIDE + i] = (255.0 * value).round() as u8;
        }
    }
    Ok(planes)
}

fn class(label: i64, row: usize, file: &str) -> Result<u32, DataError> {
    match u32::try_from(label) {
        Ok(class) if class < CLASSES => Ok(class),
        _ => Err(DataError::Label {
            file: file.into(),
            label,
            row,
            last: CLASSES - 1,
        }),
    }
}
