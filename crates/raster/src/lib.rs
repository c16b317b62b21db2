//! Figures as pixels, the same ones on every machine.
//!
//! An SVG file that `polariscope-report` wrote becomes a PNG. No font of the system is looked at: before the renderer
//! sees it, text is turned into outlines of DejaVu Sans, which is in the binary (its licence, that of Bitstream Vera,
//! allows that). Pictures inside of a figure are PNG data; nothing is fetched.
#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;
mod text;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree, roxmltree};
use thiserror::Error;

/// Most pixels of a picture: 400 MB of memory.
const MOST: u64 = 100_000_000;

/// Why a figure was not drawn.
#[derive(Debug, Error)]
pub enum RasterError {
    /// It is no SVG file.
    #[error("this is no SVG file: {0}")]
    NoSvg(String),
    /// The picture would be too large.
    #[error("a picture of {width} by {height} pixels is too large; give a smaller ‹size›")]
    TooLarge {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
}

/// The figure as a PNG file, `width` pixels wide and as high as its proportions ask.
pub fn png(svg: &str, width: u32) -> Result<Vec<u8>, RasterError> {
    let no_svg = |e: &dyn std::fmt::Display| RasterError::NoSvg(e.to_string());
    let document = roxmltree::Document::parse(svg).map_err(|e| no_svg(&e))?;
    let outlined = text::outlined(&document);
    let tree = Tree::from_str(&outlined, &options()).map_err(|e| no_svg(&e))?;
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).round().max(1.0) as u32;
    let too_large = RasterError::TooLarge { width, height };
    if u64::from(width) * u64::from(height) > MOST {
        return Err(too_large);
    }
    let Some(mut picture) = Pixmap::new(width, height) else {
        return Err(too_large);
    };
    let to_pixels = Transform::from_scale(scale, scale);
    resvg::render(&tree, to_pixels, &mut picture.as_mut());
    picture.encode_png().map_err(|_| too_large)
}

/// Addresses of files are not followed.
fn options() -> Options<'static> {
    Options {
        image_href_resolver: ImageHrefResolver {
            resolve_string: Box::new(|_, _| None),
            ..ImageHrefResolver::default()
        },
        ..Options::default()
    }
}
