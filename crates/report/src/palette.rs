//! Colours that survive colour blindness, greyscale printing and a dark page.
//!
//! Series take the Okabe–Ito set (yellow left out: it vanishes on white). Matrices take viridis, or a
//! blue–white–red map centred at zero where the sign matters.

/// Series colours on a light page; the page's style sheet overrides `.s0` … `.s6` in the dark.
const SERIES: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444b54",
];

/// Dash patterns; the pattern moves on when the colours have run out.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// How series `i` is drawn: class, light colour, dash pattern.
pub(crate) fn series(i: usize) -> (usize, &'static str, &'static str) {
    let colour = i % SERIES.len();
    let dash = i / SERIES.len() % DASHES.len();
    (colour, SERIES[colour], DASHES[dash])
}

/// How a matrix entry becomes a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourMap {
    /// From the smallest to the largest value (viridis).
    Sequential,
    /// Blue below zero, white at zero, red above; symmetric range.
    Diverging,
}

/// A colour, 8 bits a channel.
pub(crate) type Rgb = [u8; 3];

/// Drawn for entries that are not finite.
pub(crate) const MISSING: Rgb = [0xb0, 0xb6, 0xbd];

const VIRIDIS: [Rgb; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x49, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6e, 0xce, 0x58],
    [0xb5, 0xde, 0x2b],
    [0xfd, 0xe7, 0x25],
];

const BLUE_RED: [Rgb; 9] = [
    [0x21, 0x66, 0xac],
    [0x43, 0x93, 0xc3],
    [0x92, 0xc5, 0xde],
    [0xd1, 0xe5, 0xf0],
    [0xf7, 0xf7, 0xf7],
    [0xfd, 0xdb, 0xc7],
    [0xf4, 0xa5, 0x82],
    [0xd6, 0x60, 0x4d],
    [0xb2, 0x18, 0x2b],
];

impl ColourMap {
    /// The colour at `t` in [0, 1], linear between anchors.
    pub(crate) fn at(self, t: f64) -> Rgb {
        let anchors: &[Rgb] = match self {
            ColourMap::Sequential => &VIRIDIS,
            ColourMap::Diverging => &BLUE_RED,
        };
        if t.is_nan() {
            return MISSING;
        }
        let last = anchors.len() - 1;
        let place = t.clamp(0.0, 1.0) * last as f64;
        let low = (place.floor() as usize).min(last - 1);
        let part = place - low as f64;
        let (a, b) = (anchors[low], anchors[low + 1]);
        let mix = |c: usize| f64::from(a[c]) + part * (f64::from(b[c]) - f64::from(a[c]));
        [0, 1, 2].map(|c| mix(c).round() as u8)
    }

    /// The range of values that [0, 1] stands for.
    pub(crate) fn range(self, low: f64, high: f64) -> (f64, f64) {
        match self {
            ColourMap::Sequential => (low, high),
            ColourMap::Diverging => {
                let size = low.abs().max(high.abs());
                (-size, size)
            }
        }
    }
}

/// `#rrggbb`.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Black or white, whichever reads better on `background` (relative luminance of sRGB).
pub(crate) fn ink_on(background: Rgb) -> &'static str {
    let linear = |c: u8| (f64::from(c) / 255.0).powf(2.2);
    let [r, g, b] = background.map(linear);
    // At this luminance black and white contrast equally: (L+.05)² = 1.05·.05.
    if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 {
        "#000000"
    } else {
        "#ffffff"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_hit_their_anchors() {
        assert_eq!(hex(ColourMap::Sequential.at(0.0)), "#440154");
        assert_eq!(hex(ColourMap::Sequential.at(1.0)), "#fde725");
        assert_eq!(hex(ColourMap::Diverging.at(0.5)), "#f7f7f7");
        assert_eq!(ColourMap::Sequential.at(f64::NAN), MISSING);
        assert_eq!(ColourMap::Diverging.range(-1.0, 3.0), (-3.0, 3.0));
    }

    #[test]
    fn viridis_rises_in_lightness() {
        // The map must survive a greyscale print.
        let grey = |t| {
            let [r, g, b] = ColourMap::Sequential.at(t).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        for i in 0..50 {
            assert!(grey(f64::from(i) / 50.0) < grey(f64::from(i + 1) / 50.0));
        }
    }

    #[test]
    fn ink_contrasts() {
        assert_eq!(ink_on([0xfd, 0xe7, 0x25]), "#000000");
        assert_eq!(ink_on([0x44, 0x01, 0x54]), "#ffffff");
    }

    #[test]
    fn colours_then_dashes() {
        assert_eq!(series(0), (0, "#0072b2", ""));
        assert_eq!(series(7), (0, "#0072b2", "7 4"));
        assert_eq!(series(7 * 4), series(0));
    }
}
