//! Indexed PNG images, for matrices too large to draw cell by cell.
//!
//! The pixel data are stored, not compressed: a deflate stream of stored blocks of at most 65 535 bytes.

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
    data_uri(width as u32, &pixels, &palette)
}

/// A `data:` address of an image with one byte a pixel; `pixels` are rows of palette indices.
fn data_uri(width: u32, pixels: &[u8], palette: &[Rgb; 256]) -> String {
    format!(
        "data:image/png;base64,{}",
        base64(&encode(width, pixels, palette))
    )
}

fn encode(width: u32, pixels: &[u8], palette: &[Rgb; 256]) -> Vec<u8> {
    let height = pixels.len() as u32 / width.max(1);
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits, indexed colour, the only compression, filter set and order without interlace.
    header.extend([8, 3, 0, 0, 0]);
    let mut rows = Vec::with_capacity(pixels.len() + height as usize);
    for row in pixels.chunks(width.max(1) as usize) {
        rows.push(0);
        rows.extend(row);
    }
    let mut out = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
    chunk(&mut out, b"IHDR", &header);
    chunk(&mut out, b"PLTE", palette.as_flattened());
    chunk(&mut out, b"IDAT", &zlib_stored(&rows));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend(data);
    let sum = crc32(&out[start..]);
    out.extend(sum.to_be_bytes());
}

fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(65_535);
    let last = blocks.len().saturating_sub(1);
    for (i, block) in blocks.enumerate() {
        let size = block.len() as u16;
        out.push(u8::from(i == last));
        out.extend(size.to_le_bytes());
        out.extend((!size).to_le_bytes());
        out.extend(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn crc32(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    !crc
}

fn adler32(data: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in data {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
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
    use super::*;

    #[test]
    fn published_check_values() {
        // The check values of CRC-32/ISO-HDLC and RFC 1950's Adler-32, and RFC 4648 section 10.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn stored_blocks_cover_the_data() {
        let data = vec![7u8; 70_000];
        let z = zlib_stored(&data);
        assert_eq!(z.len(), 2 + 5 + 65_535 + 5 + (70_000 - 65_535) + 4);
        assert_eq!(z[2], 0, "the first of two blocks is not the last");
        assert_eq!(z[2 + 5 + 65_535], 1);
    }
}
