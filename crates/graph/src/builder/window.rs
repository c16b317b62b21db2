//! Arithmetic of sliding windows.
//!
//! A window of k taps at distance d covers e = (k−1)d+1 positions. With padding p on both sides an axis of n
//! positions has ⌊(n+2p−e)/s⌋+1 outputs; SAME and circular have ⌈n/s⌉.

use super::{is_a, setting_error, shape_error};
use crate::{GraphError, Padding, Shape, Window};

/// Largest kernel, stride, dilation or padding: far beyond use, small enough that no sum overflows.
pub const MAX_WINDOW: usize = 1 << 20;

/// Channels of the input and output positions (height, width; a signal has height 1).
pub(super) struct Slide {
    pub channels: usize,
    pub positions: [usize; 2],
}

/// Slides a window over an image or a signal.
pub(super) fn slide(
    layer: &str,
    op: &'static str,
    input: Shape,
    window: &Window,
) -> Result<Slide, GraphError> {
    let (channels, sizes) = match input {
        Shape::Image {
            channels,
            height,
            width,
        } => (channels, [height, width]),
        Shape::Signal { channels, length } => (channels, [1, length]),
        Shape::Vector { .. } | Shape::Tokens { .. } => {
            let wanted = "an image CxHxW or a signal CxL";
            return Err(shape_error(layer, op, input, is_a(input), wanted));
        }
    };
    check_settings(layer, op, window)?;
    // A signal's first axis is not there to slide along.
    let first = match input {
        Shape::Signal { .. } => 1,
        _ => 0,
    };
    if first == 1 && [window.kernel[0], window.stride[0], window.dilation[0]] != [1, 1, 1] {
        let problem = "is a signal, the window has two axes";
        let wanted = "one number for kernel, stride and dilation";
        return Err(shape_error(layer, op, input, problem, wanted));
    }
    let mut positions = [1, 1];
    for axis in first..2 {
        let (n, stride) = (sizes[axis], window.stride[axis]);
        let extent = extent(window, axis);
        positions[axis] = match window.padding {
            Padding::Same => n.div_ceil(stride),
            Padding::Circular => {
                let (before, after) = window.padding.amounts(n, extent, stride);
                if before.max(after) > n {
                    let problem = format!(
                        "is wrapped more than once by the {} kernel with circular padding",
                        sizes_of(window.kernel, first)
                    );
                    let wanted = format!("at least {} positions on each axis", before.max(after));
                    return Err(shape_error(layer, op, input, problem, wanted));
                }
                n.div_ceil(stride)
            }
            Padding::Valid | Padding::Zeros(_) => {
                let padding = amount(window.padding);
                if n + 2 * padding < extent {
                    return Err(too_small(layer, op, input, window, first));
                }
                (n + 2 * padding - extent) / stride + 1
            }
        };
    }
    Ok(Slide {
        channels,
        positions,
    })
}

/// (k−1)d+1.
fn extent(window: &Window, axis: usize) -> usize {
    (window.kernel[axis] - 1) * window.dilation[axis] + 1
}

/// Explicit padding.
fn amount(padding: Padding) -> usize {
    match padding {
        Padding::Zeros(p) => p,
        Padding::Valid | Padding::Same | Padding::Circular => 0,
    }
}

/// `5x5`, or `5` on signals.
fn sizes_of(sizes: [usize; 2], first: usize) -> String {
    let sizes: Vec<String> = sizes[first..].iter().map(usize::to_string).collect();
    sizes.join("x")
}

fn too_small(
    layer: &str,
    op: &'static str,
    input: Shape,
    window: &Window,
    first: usize,
) -> GraphError {
    let padding = amount(window.padding);
    let kernel = sizes_of(window.kernel, first);
    let dilated = match window.dilation[first..].iter().any(|&d| d > 1) {
        true => format!(" (dilation {})", sizes_of(window.dilation, first)),
        false => String::new(),
    };
    let problem = format!("is smaller than the {kernel} kernel{dilated} with padding {padding}");
    let least = [0, 1].map(|axis| extent(window, axis).saturating_sub(2 * padding).max(1));
    let wanted = format!("at least {}", sizes_of(least, first));
    shape_error(layer, op, input, problem, wanted)
}

fn check_settings(layer: &str, op: &'static str, window: &Window) -> Result<(), GraphError> {
    let groups = [
        ("kernel", window.kernel),
        ("stride", window.stride),
        ("dilation", window.dilation),
    ];
    for (setting, values) in groups {
        for value in values {
            if !(1..=MAX_WINDOW).contains(&value) {
                let wanted = format!("between 1 and {MAX_WINDOW}");
                return Err(setting_error(layer, op, setting, value, wanted));
            }
        }
    }
    let padding = amount(window.padding);
    if padding > MAX_WINDOW {
        let wanted = format!("at most {MAX_WINDOW}");
        return Err(setting_error(layer, op, "padding", padding, wanted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(n: usize, kernel: usize, stride: usize, dilation: usize, padding: Padding) -> usize {
        let window = Window {
            kernel: [1, kernel],
            stride: [1, stride],
            dilation: [1, dilation],
            padding,
        };
        let signal = Shape::Signal {
            channels: 2,
            length: n,
        };
        slide("w", "conv", signal, &window).unwrap().positions[1]
    }

    #[test]
    fn same_padding_worked_by_hand() {
        // n=5, k=3, s=2: out 3, total (3−1)·2+3−5 = 2, one on each side.
        assert_eq!(Padding::Same.amounts(5, 3, 2), (1, 1));
        assert_eq!(out(5, 3, 2, 1, Padding::Same), 3);
        // n=6, k=3, s=2: out 3, total 1, none before and one after.
        assert_eq!(Padding::Same.amounts(6, 3, 2), (0, 1));
        assert_eq!(out(6, 3, 2, 1, Padding::Same), 3);
        // n=4, k=2, s=1: out 4, total 1, none before and one after.
        assert_eq!(Padding::Same.amounts(4, 2, 1), (0, 1));
        // n=7, k=1, s=3: out 3, (3−1)·3+1−7 = 0, nothing.
        assert_eq!(Padding::Same.amounts(7, 1, 3), (0, 0));
        assert_eq!(out(7, 1, 3, 1, Padding::Same), 3);
        // n=8, k=2, s=4: out 2, total max(4+2−8, 0) = 0.
        assert_eq!(Padding::Same.amounts(8, 2, 4), (0, 0));
        // Dilation 2 makes 3 taps cover 5: n=8, s=1, total 4.
        assert_eq!(Padding::Same.amounts(8, 5, 1), (2, 2));
        assert_eq!(Padding::Circular.amounts(8, 5, 1), (2, 2));
    }

    #[test]
    fn outputs_worked_by_hand() {
        assert_eq!(out(32, 5, 1, 1, Padding::Valid), 28);
        assert_eq!(out(32, 3, 2, 1, Padding::Zeros(1)), 16);
        assert_eq!(out(33, 3, 2, 1, Padding::Zeros(1)), 17);
        assert_eq!(out(7, 3, 1, 3, Padding::Valid), 1);
        assert_eq!(out(7, 3, 2, 2, Padding::Zeros(1)), 3);
        assert_eq!(out(9, 3, 4, 1, Padding::Circular), 3);
        assert_eq!(out(1, 3, 1, 1, Padding::Circular), 1);
    }

    /// Padded sizes put through the plain formula give the outputs of SAME, for every small case.
    #[test]
    fn same_amounts_agree_with_the_plain_formula() {
        for n in 1..20usize {
            for k in 1..8usize {
                for s in 1..6usize {
                    let (before, after) = Padding::Same.amounts(n, k, s);
                    assert!(after == before || after == before + 1);
                    let plain = (n + before + after - k) / s + 1;
                    assert_eq!(plain, out(n, k, s, 1, Padding::Same), "n={n} k={k} s={s}");
                }
            }
        }
    }
}
