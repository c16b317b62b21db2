//! Axes: scales, ranges, ticks at round numbers, and the frame they form.

use polariscope_stats::superscript;

use crate::number::trim_zeros;
use crate::svg::{Anchor, Canvas, Ink, LABEL, TICK, text_width};

/// How values map to positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal distances.
    #[default]
    Linear,
    /// Equal ratios are equal distances; values that are not positive are left out.
    Log,
}

/// One axis of a figure; the range follows from the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Log,
        }
    }
}

/// Beyond this size differences of values would overflow.
const LARGEST: f64 = 1e300;

impl Scale {
    /// Whether a value has a place on the axis.
    pub(crate) fn shows(self, x: f64) -> bool {
        x.abs() < LARGEST && (self == Scale::Linear || x > 0.0)
    }

    /// Coordinate in which the axis is linear.
    fn coordinate(self, x: f64) -> f64 {
        match self {
            Scale::Linear => x,
            Scale::Log => x.log10(),
        }
    }

    /// Values and labels of about `wanted` ticks between two coordinates.
    fn ticks(self, low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
        match self {
            Scale::Linear => linear_ticks(low, high, wanted),
            Scale::Log => log_ticks(low, high, wanted),
        }
    }
}

/// An axis with its range settled.
#[derive(Clone, Debug)]
pub(crate) struct Ruler {
    scale: Scale,
    /// Ends, in the coordinate of the scale.
    low: f64,
    high: f64,
    /// Value and label of each tick.
    pub ticks: Vec<(f64, String)>,
}

impl Ruler {
    /// Covers the values that the scale can show, with about `wanted` ticks.
    pub fn over(scale: Scale, values: impl IntoIterator<Item = f64>, wanted: usize) -> Self {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for x in values.into_iter().filter(|&x| scale.shows(x)) {
            let c = scale.coordinate(x);
            low = low.min(c);
            high = high.max(c);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // Logarithms that agree to a millionth differ by less than a label can say.
        let same = match scale {
            Scale::Linear => 1e-12 * low.abs().max(high.abs()),
            Scale::Log => 1e-6,
        };
        if high - low <= same {
            // A single value: open a range around it.
            let room = match scale {
                Scale::Linear if low != 0.0 => low.abs() * 0.1,
                Scale::Linear | Scale::Log => 0.5,
            };
            (low, high) = (low - room, high + room);
        } else {
            let margin = 0.03 * (high - low);
            // A margin must not suggest negative values where there are none.
            let floor = if scale == Scale::Linear && low >= 0.0 {
                0.0
            } else {
                f64::NEG_INFINITY
            };
            (low, high) = ((low - margin).max(floor), high + margin);
        }
        Self {
            scale,
            low,
            high,
            ticks: scale.ticks(low, high, wanted),
        }
    }

    /// Covers exactly [low, high], two different values that the scale can show.
    pub fn exactly(scale: Scale, low: f64, high: f64, wanted: usize) -> Self {
        let (low, high) = (scale.coordinate(low), scale.coordinate(high));
        Self {
            scale,
            low,
            high,
            ticks: scale.ticks(low, high, wanted),
        }
    }

    /// Where a shown value lies: 0 at the low end, 1 at the high end.
    pub fn place(&self, x: f64) -> f64 {
        (self.scale.coordinate(x) - self.low) / (self.high - self.low)
    }

    /// Where bars start: zero, or the low end of a logarithmic axis.
    pub fn base(&self) -> f64 {
        match self.scale {
            Scale::Linear => self.place(0.0).clamp(0.0, 1.0),
            Scale::Log => 0.0,
        }
    }

    /// Width of the widest tick label.
    pub fn label_width(&self) -> f64 {
        let widths = self.ticks.iter().map(|(_, text)| text_width(text, TICK));
        widths.fold(0.0, f64::max)
    }
}

/// How far the number of ticks may exceed what was wanted, to keep it from halving.
const CROWD: f64 = 1.4;

/// Multiples of a round step inside [low, high].
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = rough.log10().floor();
    let unit = 10f64.powf(power);
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|m| m * unit)
        .into_iter()
        .find(|step| rough <= step * CROWD)
        .unwrap_or(10.0 * unit);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    if !(step > 0.0 && first.is_finite() && last.is_finite() && last - first < 100.0) {
        return Vec::new();
    }
    let size = (first * step).abs().max((last * step).abs());
    let count = (last - first) as usize;
    (0..=count)
        .map(|i| (first + i as f64) * step)
        .map(|x| (x, tick_label(x, step, size)))
        .collect()
}

/// Decades, thinned when there are many; 2 and 5 between them when there are few.
fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let decades = high - low;
    if decades < 0.7 {
        // Less than a factor of five: round values say more than powers of ten.
        let values = linear_ticks(10f64.powf(low), 10f64.powf(high), wanted);
        return values.into_iter().filter(|(x, _)| *x > 0.0).collect();
    }
    let mantissas: &[f64] = if decades < 2.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let every = (decades / (CROWD * wanted.max(1) as f64)).ceil().max(1.0) as i32;
    // Plain decimals for the sizes people read at a glance, powers of ten as soon as one tick needs it.
    let plain = low > -2.1 && high < 3.8;
    let mut ticks = Vec::new();
    for power in low.floor() as i32..=high.ceil() as i32 {
        for &m in mantissas {
            let c = f64::from(power) + m.log10();
            if c >= low - 1e-9 && c <= high + 1e-9 && power.rem_euclid(every) == 0 {
                let label = if plain {
                    let decimals = (-power).max(0) as usize;
                    format!("{:.decimals$}", m * 10f64.powi(power))
                } else if m == 1.0 {
                    format!("10{}", superscript(power))
                } else {
                    format!("{m}·10{}", superscript(power))
                };
                ticks.push((m * 10f64.powi(power), label));
            }
        }
    }
    ticks
}

/// Plain decimals where they are short, otherwise a mantissa and a power of ten.
fn tick_label(x: f64, step: f64, size: f64) -> String {
    let text = if x == 0.0 {
        "0".to_string()
    } else if (1e-4..1e5).contains(&size) && step >= 1e-6 {
        let decimals = (1.0 - (step * 1.0001).log10().floor()).clamp(0.0, 8.0) as usize;
        trim_to_step(&format!("{x:.decimals$}"), step)
    } else {
        let power = size.log10().floor() as i32;
        // Two factors, because 10^-power alone overflows near the smallest numbers.
        let mantissa = x / 10f64.powi(power / 2) / 10f64.powi(power - power / 2);
        let text = format!("{mantissa:.3}");
        format!("{}·10{}", trim_zeros(&text), superscript(power))
    };
    text.replace('-', "−")
}

/// Drops the last decimal of steps such as 0.1, which need one fewer than 0.25.
fn trim_to_step(text: &str, step: f64) -> String {
    let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as i32;
    let digits = step / 10f64.powi(-decimals);
    if (digits - digits.round()).abs() < 1e-6 && text.contains('.') {
        let shorter = &text[..text.len() - 1];
        shorter.trim_end_matches('.').to_string()
    } else {
        text.to_string()
    }
}

/// The rectangle data are drawn in.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn x(&self, t: f64) -> f64 {
        self.left + t * (self.right - self.left)
    }

    pub fn y(&self, t: f64) -> f64 {
        self.bottom - t * (self.bottom - self.top)
    }

    /// Grid lines, tick labels and the name of the horizontal axis; needs 42 units below.
    pub fn draw_bottom(&self, canvas: &mut Canvas, ruler: &Ruler, label: &str) {
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &ruler.ticks {
            let x = self.x(ruler.place(*value));
            canvas.grid_line((x, self.top), (x, self.bottom));
            let half = text_width(text, TICK) / 2.0;
            // A label that would run into its neighbour is left out; its grid line stays.
            if x - half > free_from {
                let at = (x, self.bottom + TICK + 5.0);
                canvas.text(at, TICK, Anchor::Middle, Ink::Muted, text);
                free_from = x + half + 6.0;
            }
        }
        let at = ((self.left + self.right) / 2.0, self.bottom + 38.0);
        canvas.text(at, LABEL, Anchor::Middle, Ink::Strong, label);
        canvas.axis_line((self.left, self.bottom), (self.right, self.bottom));
    }

    /// Grid lines and tick labels of the vertical axis, its name read upwards at `label_x`.
    pub fn draw_left(&self, canvas: &mut Canvas, ruler: &Ruler, label: &str, label_x: f64) {
        for (value, text) in &ruler.ticks {
            let y = self.y(ruler.place(*value));
            canvas.grid_line((self.left, y), (self.right, y));
            let at = (self.left - 7.0, y + TICK * 0.35);
            canvas.text(at, TICK, Anchor::End, Ink::Muted, text);
        }
        canvas.upward(label_x, (self.top + self.bottom) / 2.0, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ruler: &Ruler) -> Vec<&str> {
        ruler.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let ruler = Ruler::over(Scale::Linear, [0.0, 1.0], 5);
        assert_eq!(labels(&ruler), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let ruler = Ruler::over(Scale::Linear, [-10.0, 30.0], 4);
        assert_eq!(labels(&ruler), ["−10", "0", "10", "20", "30"]);
        let ruler = Ruler::over(Scale::Linear, [0.1, 0.52], 5);
        assert_eq!(labels(&ruler), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        let ruler = Ruler::over(Scale::Linear, [0.0, 4e7], 4);
        assert_eq!(labels(&ruler)[1], "1·10⁷");
    }

    #[test]
    fn log_ticks_are_powers() {
        let ruler = Ruler::over(Scale::Log, [1e-6, 1.0], 6);
        assert_eq!(labels(&ruler)[..3], ["10⁻⁶", "10⁻⁵", "10⁻⁴"]);
        let ruler = Ruler::over(Scale::Log, [1.0, 100.0, -3.0, 0.0], 6);
        assert_eq!(labels(&ruler), ["1", "2", "5", "10", "20", "50", "100"]);
        let ruler = Ruler::over(Scale::Log, [100.0, 130.0], 5);
        assert!(labels(&ruler).contains(&"110"), "{ruler:?}");
    }

    /// What rounding leaves of a flat line is no range.
    #[test]
    fn ticks_of_equal_values_differ() {
        let ruler = Ruler::over(Scale::Log, [1.0, 1.0 + 1e-9], 5);
        let labels = labels(&ruler);
        assert!(labels.contains(&"1") && labels.contains(&"2"), "{labels:?}");
        assert!((ruler.place(1.0) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn many_decades_are_thinned_to_what_was_wanted() {
        let ruler = Ruler::over(Scale::Log, [1e-150, 1e150], 6);
        assert!((3..=9).contains(&ruler.ticks.len()), "{ruler:?}");
    }

    #[test]
    fn places_are_affine_in_the_scale() {
        let ruler = Ruler::over(Scale::Log, [1.0, 100.0], 5);
        let middle = (ruler.place(1.0) + ruler.place(100.0)) / 2.0;
        assert!((ruler.place(10.0) - middle).abs() < 1e-12);
        assert!(ruler.place(1.0) > 0.0 && ruler.place(100.0) < 1.0);
    }

    #[test]
    fn odd_data_still_make_an_axis() {
        let nothing: [f64; 0] = [];
        for scale in [Scale::Linear, Scale::Log] {
            for values in [
                &nothing[..],
                &[f64::NAN, f64::INFINITY],
                &[5.0],
                &[0.0],
                &[-1.0],
                &[1e299, -1e299],
                &[5e-324, 1e-323],
            ] {
                let ruler = Ruler::over(scale, values.iter().copied(), 5);
                assert!(ruler.low < ruler.high, "{values:?}");
                assert!(ruler.ticks.len() < 20, "{values:?}");
            }
        }
        let one = Ruler::over(Scale::Linear, [5.0], 5);
        assert!((one.place(5.0) - 0.5).abs() < 1e-12);
    }
}
