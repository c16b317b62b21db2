//! One encoded 32 × 32 image to pixels: JPEG by a library; PNG (8 bits, grey or colour, not interlaced) here,
//! since public CIFAR files use either.

use std::io::Read;

use flate2::read::ZlibDecoder;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// Rows and columns.
const SIDE: usize = 32;
/// Bytes of a colour image.
pub(crate) const PIXELS: usize = 3 * SIDE * SIDE;
const PNG: &[u8; 8] = b"\x89PNG\r\n\x1a\n";

/// Decodes to C,H,W order.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let interleaved = if bytes.starts_with(PNG) {
        png(&bytes[PNG.len()..])?
    } else if bytes.starts_with(&[0xff, 0xd8]) {
        jpeg(bytes)?
    } else {
        return Err("neither JPEG nor PNG".into());
    };
    let mut planes = vec![0; PIXELS];
    for (i, pixel) in interleaved.chunks_exact(3).enumerate().take(SIDE * SIDE) {
        for (c, &value) in pixel.iter().enumerate() {
            planes[c * SIDE * SIDE + i] = value;
        }
    }
    Ok(planes)
}

fn jpeg(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let options = DecoderOptions::default()
        .set_max_width(SIDE)
        .set_max_height(SIDE)
        // A picture cut short is damage, not a grey lower half.
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let fault = |e| format!("damaged JPEG: {e:?}").replace('\n', " ");
    decoder.decode_headers().map_err(fault)?;
    let info = decoder.info().ok_or("JPEG without a frame")?;
    size(usize::from(info.width), usize::from(info.height))?;
    let pixels = decoder.decode().map_err(fault)?;
    if pixels.len() != PIXELS {
        return Err("JPEG that does not decode to three channels".into());
    }
    Ok(pixels)
}

fn size(width: usize, height: usize) -> Result<(), String> {
    if (width, height) == (SIDE, SIDE) {
        Ok(())
    } else {
        Err(format!("{width}x{height} pixels, expected {SIDE}x{SIDE}"))
    }
}

/// Chunks are length, kind, content, checksum; IHDR holds the format, IDAT the deflated rows.
fn png(mut rest: &[u8]) -> Result<Vec<u8>, String> {
    let cut = "PNG cut short";
    let mut channels = 0;
    let mut deflated = Vec::new();
    loop {
        let (head, after) = rest.split_first_chunk::<8>().ok_or(cut)?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (content, after) = after.split_at_checked(length).ok_or(cut)?;
        rest = after.get(4..).ok_or(cut)?;
        match &head[4..] {
            b"IHDR" => channels = png_channels(content)?,
            b"IDAT" => deflated.extend_from_slice(content),
            b"IEND" => break,
            _ => {}
        }
    }
    if channels == 0 {
        return Err("PNG without a header".into());
    }
    let stride = SIDE * channels;
    let mut rows = Vec::new();
    let wanted = SIDE * (stride + 1);
    let inflated = ZlibDecoder::new(&deflated[..])
        .take(wanted as u64)
        .read_to_end(&mut rows);
    inflated.map_err(|e| format!("damaged PNG: {e}"))?;
    if rows.len() != wanted {
        return Err(cut.into());
    }
    let pixels = unfilter(&rows, stride, channels)?;
    let colour = |p: &[u8]| {
        if channels < 3 {
            [p[0]; 3]
        } else {
            [p[0], p[1], p[2]]
        }
    };
    Ok(pixels.chunks_exact(channels).flat_map(colour).collect())
}

fn png_channels(header: &[u8]) -> Result<usize, String> {
    let &[a, b, c, d, e, f, g, h, depth, colour, _, _, interlace] = header else {
        return Err("PNG header of a wrong length".into());
    };
    let [width, height] = [[a, b, c, d], [e, f, g, h]].map(|n| u32::from_be_bytes(n) as usize);
    size(width, height)?;
    match (depth, colour, interlace) {
        (8, 0, 0) => Ok(1),
        (8, 4, 0) => Ok(2),
        (8, 2, 0) => Ok(3),
        (8, 6, 0) => Ok(4),
        _ => Err("PNG must be 8-bit grey or colour, without palette or interlacing".into()),
    }
}

/// Each row begins with its filter: what was subtracted from every byte (nothing, left, above, their
/// mean, or whichever of left, above and above-left is nearest to left + above − above-left).
fn unfilter(rows: &[u8], stride: usize, channels: usize) -> Result<Vec<u8>, String> {
    let mut out: Vec<u8> = Vec::with_capacity(SIDE * stride);
    for (y, row) in rows.chunks_exact(stride + 1).enumerate() {
        for (x, &byte) in row[1..].iter().enumerate() {
            let at = y * stride + x;
            let left = if x >= channels { out[at - channels] } else { 0 };
            let above = if y > 0 { out[at - stride] } else { 0 };
            let corner = if x >= channels && y > 0 {
                out[at - stride - channels]
            } else {
                0
            };
            let predicted = match row[0] {
                0 => 0,
                1 => left,
                2 => above,
                3 => ((u16::from(left) + u16::from(above)) / 2) as u8,
                4 => paeth(left, above, corner),
                filter => return Err(format!("PNG row filter {filter} is unknown")),
            };
            out.push(byte.wrapping_add(predicted));
        }
    }
    Ok(out)
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let p = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |v: u8| (p - i16::from(v)).abs();
    if distance(left) <= distance(above) && distance(left) <= distance(corner) {
        left
    } else if distance(above) <= distance(corner) {
        above
    } else {
        corner
    }
}
