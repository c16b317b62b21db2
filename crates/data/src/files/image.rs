//! An encoded image to pixels: PNG of every kind, JPEG. The first bytes tell which it is.

use std::io::Cursor;

use png::{ColorType, Decoder, Transformations};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// What a PNG begins with.
const PNG: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// What a JPEG begins with.
const JPEG: &[u8; 3] = &[0xff, 0xd8, 0xff];
/// Most columns and rows.
const MAX_SIDE: usize = 1 << 14;
/// Bytes of pixels that a byte of a file can stand for: deflate's limit, which JPEG comes near to on a flat image.
const MAX_RATIO: usize = 1032;

/// Whether these are the first bytes of an image that [`Image::decode`] reads.
pub(crate) fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(PNG) || bytes.starts_with(JPEG)
}

/// A decoded image.
pub(crate) struct Image {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Numbers of a pixel: grey, grey and alpha, colour, colour and alpha.
    channels: usize,
    depth: Depth,
    /// Pixel by pixel.
    bytes: Vec<u8>,
}

/// Bits of a number.
#[derive(Clone, Copy)]
enum Depth {
    Eight,
    /// Big-endian.
    Sixteen,
}

impl Image {
    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Image, String> {
        if bytes.starts_with(PNG) {
            decode_png(bytes)
        } else if bytes.starts_with(JPEG) {
            decode_jpeg(bytes)
        } else {
            Err("neither JPEG nor PNG".into())
        }
    }

    /// Red, green and blue of a pixel in 0…1; what is transparent lies on white.
    pub fn rgb(&self, column: usize, row: usize) -> [f64; 3] {
        let first = (row * self.width + column) * self.channels;
        let number = |k: usize| match self.depth {
            Depth::Eight => f64::from(self.bytes[first + k]) / 255.0,
            Depth::Sixteen => {
                let at = 2 * (first + k);
                f64::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])) / 65535.0
            }
        };
        let colour = |c: usize| number(if self.channels < 3 { 0 } else { c });
        let rgb = [0, 1, 2].map(colour);
        match self.channels {
            2 | 4 => {
                let alpha = number(self.channels - 1);
                rgb.map(|v| alpha * v + (1.0 - alpha))
            }
            _ => rgb,
        }
    }
}

/// Refuses sides beyond reason and more pixels than the file can hold, before any memory is taken.
fn check_size(width: usize, height: usize, pixels: usize, file: usize) -> Result<(), String> {
    if width.max(height) > MAX_SIDE {
        return Err(format!(
            "{width}x{height} pixels; at most {MAX_SIDE} a side are read"
        ));
    }
    if pixels > MAX_RATIO.saturating_mul(file) {
        return Err(format!(
            "{width}x{height} pixels are more than its {file} bytes can hold"
        ));
    }
    Ok(())
}

fn decode_png(bytes: &[u8]) -> Result<Image, String> {
    let fault = |e: png::DecodingError| format!("damaged PNG: {e}").replace('\n', " ");
    let mut decoder = Decoder::new(Cursor::new(bytes));
    // Palettes become colours, fewer than 8 bits become 8.
    decoder.set_transformations(Transformations::EXPAND);
    let info = decoder.read_header_info().map_err(fault)?;
    let (width, height) = (info.width as usize, info.height as usize);
    check_size(width, height, info.raw_bytes(), bytes.len())?;
    let mut reader = decoder.read_info().map_err(fault)?;
    let size = reader.output_buffer_size().ok_or("PNG too large")?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(fault)?;
    // A file cut short after its pixels is damage as well.
    reader.finish().map_err(fault)?;
    let channels = match frame.color_type {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => return Err("PNG without its palette".into()),
    };
    let depth = match frame.bit_depth {
        png::BitDepth::Sixteen => Depth::Sixteen,
        _ => Depth::Eight,
    };
    let bytes_each = match depth {
        Depth::Eight => 1,
        Depth::Sixteen => 2,
    };
    if pixels.len() != width * height * channels * bytes_each {
        return Err("PNG that does not decode to its own size".into());
    }
    Ok(Image {
        width,
        height,
        channels,
        depth,
        bytes: pixels,
    })
}

fn decode_jpeg(bytes: &[u8]) -> Result<Image, String> {
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE)
        // A picture cut short is damage, not a grey lower half.
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let fault = |e| format!("damaged JPEG: {e:?}").replace('\n', " ");
    decoder.decode_headers().map_err(fault)?;
    let info = decoder.info().ok_or("JPEG without a frame")?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    check_size(width, height, 3 * width * height, bytes.len())?;
    let pixels = decoder.decode().map_err(fault)?;
    if pixels.len() != 3 * width * height {
        return Err("JPEG that does not decode to three channels".into());
    }
    Ok(Image {
        width,
        height,
        channels: 3,
        depth: Depth::Eight,
        bytes: pixels,
    })
}
