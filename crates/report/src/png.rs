//! PNG images: indexed ones for matrices too large to draw cell by cell, and true colours.
//!
//! The chunks are written here: four of them, of a fixed kind, do not earn a PNG library. Nor does base64.

use std::io::Write;

use flate2::{Compression, Crc, write::ZlibEncoder};

use crate::palette::{ColourMap, MISSING, Rgb};

/// A `data:` address of an image `width` pixels wide; a place is where in [0, 1] of the colour map a pixel lies,
/// NaN where its value is missing.
pub(crate) fn picture(
    width: usize,
    places: impl IntoIterator<Item = f64>,
    colours: ColourMap,
) -> String {
    // Index 255 is kept for missing entries.
    let mut palette = [MISSING; 256];
    for (i, c) in palette.iter_mut().take(255).enumerate() {
        *c = colours.at(i as f64 / 254.0);
    }
    let index = |t: f64| {
        if t.is_nan() {
            255
        } else {
            (t * 254.0).round().clamp(0.0, 254.0) as u8
        }
    };
    let pixels: Vec<u8> = places.into_iter().map(index).collect();
    data_uri(width as u32, &pixels, Some(&palette))
}

/// A `data:` address of an image `width` pixels wide; a pixel is red, green and blue in [0, 1], NaN where missing.
pub(crate) fn photo(width: usize, pixels: impl IntoIterator<Item = [f64; 3]>) -> String {
    let colour = |pixel: [f64; 3]| match pixel.iter().any(|v| v.is_nan()) {
        true => MISSING,
        false => pixel.map(|v| (v * 255.0).round().clamp(0.0, 255.0) as u8),
    };
    let pixels: Vec<Rgb> = pixels.into_iter().map(colour).collect();
    data_uri(width as u32, pixels.as_flattened(), None)
}

/// A `data:` address of an image; `pixels` are rows of palette indices, or of three colours a pixel without one.
fn data_uri(width: u32, pixels: &[u8], palette: Option<&[Rgb; 256]>) -> String {
    format!(
        "data:image/png;base64,{}",
        base64(&encode(width, pixels, palette))
    )
}

fn encode(width: u32, pixels: &[u8], palette: Option<&[Rgb; 256]>) -> Vec<u8> {
    let (kind, bytes) = match palette {
        Some(_) => (3, 1),
        None => (2, 3),
    };
    let stride = bytes * width.max(1) as usize;
    let height = (pixels.len() / stride) as u32;
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits, indexed or true colour, the only compression, filter set and order without interlace.
    header.extend([8, kind, 0, 0, 0]);
    let mut rows = Vec::with_capacity(pixels.len() + height as usize);
    for row in pixels.chunks(stride) {
        rows.push(0);
        rows.extend(row);
    }
    let mut out = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    chunk(&mut out, b"IHDR", &header);
    if let Some(palette) = palette {
        chunk(&mut out, b"PLTE", palette.as_flattened());
    }
    chunk(&mut out, b"IDAT", &compressed(&rows));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend(data);
    let mut sum = Crc::new();
    sum.update(&out[start..]);
    out.extend(sum.sum().to_be_bytes());
}

fn compressed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(data).and_then(|()| encoder.finish());
    written.expect("a vector takes any bytes")
}

fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            if i <= group.len() {
                let digit = bits >> (18 - 6 * i) & 63;
                out.push(char::from(DIGITS[digit as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn published_check_values() {
        // RFC 4648 section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        // The check value of CRC-32/ISO-HDLC.
        let mut out = Vec::new();
        chunk(&mut out, b"1234", b"56789");
        assert_eq!(out[13..], 0xcbf4_3926_u32.to_be_bytes());
    }

    #[test]
    fn pixels_come_back() {
        let pixels: Vec<u8> = (0..300 * 241_u64)
            .map(|i| (i * i / 7 % 256) as u8)
            .collect();
        let png = encode(300, &pixels, Some(&[MISSING; 256]));
        // Signature, header and palette, then length and kind of the data.
        let at = 8 + (12 + 13) + (12 + 768);
        let length = u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&png[at + 4..at + 8], b"IDAT");
        let mut rows = Vec::new();
        let mut decoder = ZlibDecoder::new(&png[at + 8..at + 8 + length]);
        decoder.read_to_end(&mut rows).unwrap();
        assert_eq!(rows.len(), 301 * 241);
        for (row, want) in rows.chunks(301).zip(pixels.chunks(300)) {
            assert_eq!((row[0], &row[1..]), (0, want));
        }
    }

    /// Two rows of one pixel: colour type 2, three bytes a pixel, no palette.
    #[test]
    fn true_colours() {
        let png = encode(1, &[1, 2, 3, 4, 5, 6], None);
        assert_eq!(png[16..26], [0, 0, 0, 1, 0, 0, 0, 2, 8, 2]);
        let mut rows = Vec::new();
        let mut decoder = ZlibDecoder::new(&png[8 + 12 + 13 + 8..]);
        decoder.read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [0, 1, 2, 3, 0, 4, 5, 6]);
        assert_eq!(
            photo(2, [[0.0, 0.2, 1.0], [f64::NAN, 0.0, 0.0]]),
            data_uri(2, [[0, 51, 255], MISSING].as_flattened(), None)
        );
    }
}
