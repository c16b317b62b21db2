//! An image of any size to a square one: its largest square in the middle, resized by a triangle filter that
//! widens with the reduction, as Pillow's and torchvision's `BILINEAR` with antialiasing.
//!
//! With s old pixels to a new one, new pixel i is the mean of old pixels x, weighted by
//! max(0, 1 − |x + ½ − (i + ½)s| / max(s, 1)): columns first, then rows. At s = 1 nothing changes.

use super::image::Image;

/// Old pixels that a new one is made of: the first, and their weights, which add up to 1.
struct Taps {
    first: usize,
    weights: Vec<f64>,
}

fn taps(side: usize, size: usize) -> Vec<Taps> {
    let scale = side as f64 / size as f64;
    let reach = scale.max(1.0);
    let pixel = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        let first = (centre - reach).max(0.0) as usize;
        let end = ((centre + reach).ceil() as usize).min(side);
        let weight = |x: usize| (1.0 - (x as f64 + 0.5 - centre).abs() / reach).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        Taps {
            first,
            weights: weights.into_iter().map(|w| w / sum).collect(),
        }
    };
    (0..size).map(pixel).collect()
}

/// The weighted sum of pixels.
fn mix(pixels: &[[f64; 3]], taps: &Taps) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for (pixel, w) in pixels[taps.first..].iter().zip(&taps.weights) {
        sum.iter_mut().zip(pixel).for_each(|(s, v)| *s += w * v);
    }
    sum
}

/// Fills `out` with `size` × `size` pixels: red, green and blue planes in 0…1.
pub(crate) fn square(image: &Image, size: usize, out: &mut [f32]) {
    let side = image.width.min(image.height);
    let (left, top) = ((image.width - side) / 2, (image.height - side) / 2);
    let taps = taps(side, size);
    // Column by column, so that the second pass runs along memory as well.
    let mut narrow = vec![[0.0; 3]; size * side];
    let mut line = vec![[0.0; 3]; side];
    for row in 0..side {
        for (column, pixel) in line.iter_mut().enumerate() {
            *pixel = image.rgb(left + column, top + row);
        }
        for (j, taps) in taps.iter().enumerate() {
            narrow[j * side + row] = mix(&line, taps);
        }
    }
    for (j, column) in narrow.chunks_exact(side).enumerate() {
        for (i, taps) in taps.iter().enumerate() {
            for (c, v) in mix(column, taps).into_iter().enumerate() {
                out[(c * size + i) * size + j] = v as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(side: usize, size: usize) -> Vec<(usize, Vec<f64>)> {
        let list = taps(side, size).into_iter();
        list.map(|t| (t.first, t.weights)).collect()
    }

    /// Four to two: distances ½, ½, 3⁄2 of a reach of 2 weigh ¾, ¾, ¼, over their sum 7⁄4.
    #[test]
    fn weights_by_hand() {
        assert_eq!(weights(2, 2), [(0, vec![1.0, 0.0]), (0, vec![0.0, 1.0])]);
        let half = weights(4, 2);
        let want = [3.0 / 7.0, 3.0 / 7.0, 1.0 / 7.0];
        assert_eq!(half[0].0, 0);
        for (found, want) in half[0].1.iter().zip(want) {
            assert!((found - want).abs() < 1e-15);
        }
        // Two to four: interpolation at ¼, ¾, and the edge held.
        let double = weights(2, 4);
        assert_eq!(double[1], (0, vec![0.75, 0.25]));
        assert_eq!(double[0].1[0], 1.0);
    }

    /// Weights of every size add up to 1 and are mirror images.
    #[test]
    fn weights_are_symmetric() {
        for (side, size) in [(3, 2), (7, 3), (5, 8), (100, 32), (1, 4), (9, 1)] {
            let all = taps(side, size);
            for (taps, mirror) in all.iter().zip(all.iter().rev()) {
                assert!((taps.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for x in 0..side {
                    let of = |t: &Taps, x: usize| {
                        let k = x.checked_sub(t.first);
                        k.and_then(|k| t.weights.get(k)).copied().unwrap_or(0.0)
                    };
                    assert!((of(taps, x) - of(mirror, side - 1 - x)).abs() < 1e-12);
                }
            }
        }
    }
}
