//! What can be wrong with a deformation.

use polariscope_graph::Shape;

/// A deformation that cannot be made: one line that says what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DeformError {
    /// Samples that are no square images.
    #[error("deformations need square images, these are {shape}")]
    NotSquare {
        /// What they are.
        shape: Shape,
    },
    /// An image on which the fastest mode is zero at every pixel.
    #[error("images of {n}x{n} pixels are smaller than a mode of cutoff {cutoff}; {}", largest(*most))]
    TooSmall {
        /// Pixels a side.
        n: usize,
        /// The cutoff.
        cutoff: usize,
        /// The largest that the images have room for.
        most: usize,
    },
    /// No mode below the cutoff.
    #[error("a cutoff of {cutoff} leaves no mode; take at least {least}")]
    NoMode {
        /// The cutoff.
        cutoff: usize,
        /// The smallest with a mode.
        least: usize,
    },
    /// ln c = 0 in the limits.
    #[error(
        "with a cutoff of 1 the limits of T do not exist, as ln 1 = 0; take a cutoff of at least 2"
    )]
    NoLogarithm,
    /// A displacement that is none.
    #[error("a displacement is a number of pixels from 0, not {value}")]
    Displacement {
        /// What was given.
        value: f64,
    },
    /// A temperature that is none.
    #[error("a temperature is a number from 0, not {value}")]
    Temperature {
        /// What was given.
        value: f64,
    },
    /// Below the lower limit (eq. 8).
    #[error(
        "T = {t:.3e} is below its lower limit {limit:.3e}, half a pixel by the formula for many modes; \
         with a cutoff of {cutoff} take a displacement of at least {least} pixels"
    )]
    TooCold {
        /// Temperature.
        t: f64,
        /// The limit.
        limit: f64,
        /// The cutoff.
        cutoff: usize,
        /// Exact displacement at the limit, rounded up.
        least: f64,
    },
    /// Above the upper limit (eq. 14).
    #[error(
        "T = {t:.3e} is above its upper limit {limit:.3e}, where deformations begin to fold images; \
         with a cutoff of {cutoff} take a displacement of at most {most} pixels{}", slower(*smaller)
    )]
    TooHot {
        /// Temperature.
        t: f64,
        /// The limit.
        limit: f64,
        /// The cutoff.
        cutoff: usize,
        /// Exact displacement at the limit, rounded down.
        most: f64,
        /// The largest cutoff at which the same displacement is in range.
        smaller: Option<usize>,
    },
    /// The limits leave nothing between them.
    #[error(
        "on images of {n}x{n} pixels no deformation of cutoff {cutoff} moves them by half a pixel without folding them; \
         {}", largest(*most)
    )]
    NoRange {
        /// Pixels a side.
        n: usize,
        /// The cutoff.
        cutoff: usize,
        /// The largest cutoff that leaves a range.
        most: usize,
    },
}

fn largest(most: usize) -> String {
    match most {
        0 | 1 => "no cutoff fits them".into(),
        _ => format!("take a cutoff of at most {most}"),
    }
}

fn slower(smaller: Option<usize>) -> String {
    smaller.map_or(String::new(), |c| {
        format!(", or for as many pixels a cutoff of at most {c}")
    })
}
