//! What the numbers of a geometry say: the statements that the words and the figures draw on.

use super::View;
use super::fourier::Frequencies;
use super::plane::Plane;

/// Weights below this, where 1 is isotropic, are all but invisible.
pub(super) const INVISIBLE: f64 = 0.05;
/// Eigenvalues below this part of the isotropic one are zero to the digits of the arithmetic.
pub(super) const ZERO: f64 = 1e-7;
/// Weights that differ by less than this factor count as alike.
const ALIKE: f64 = 1.25;

/// How unequal the directions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    /// None that can be told from zero.
    None,
    /// At least half of the directions take part.
    Mild,
    /// Few directions take part.
    Strong,
}

/// What can be said of any geometry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// D.
    pub dim: usize,
    /// Participation ratio.
    pub directions: f64,
    /// How unequal they are.
    pub preference: Preference,
    /// A small number of first directions, and their share of the trace.
    pub head: (usize, f64),
    /// Directions with eigenvalue zero; 0 where the geometry was sampled, because few networks leave such directions
    /// in any geometry.
    pub blind: usize,
    /// What can be said of an image.
    pub sight: Option<Sight>,
}

/// Which waves are seen best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Band {
    /// All alike.
    Flat,
    /// Long ones.
    Low,
    /// Short ones.
    High,
    /// Those of about this many cycles an image.
    Around(usize),
    /// Patterns that repeat every so many pixels, however fine they are: what strides fold onto each other.
    Comb(usize),
}

/// What can be said of a geometry over images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sight {
    /// How its rows lie on the image.
    pub plane: Plane,
    /// Weight of every frequency.
    pub energy: Frequencies,
    /// Mean weight by number of cycles.
    pub rings: Vec<f64>,
    /// Where low frequencies end, in cycles: an eighth of the longer side.
    pub low_edge: usize,
    /// Mean weight up to there.
    pub low: f64,
    /// Where high frequencies start: three eighths.
    pub high_edge: usize,
    /// Mean weight from there on.
    pub high: f64,
    /// Which waves are seen best, and their mean weight.
    pub band: Band,
    pub best: f64,
    /// From this many cycles on every ring is all but invisible.
    pub limit: Option<usize>,
    /// Share of the frequencies that are all but invisible.
    pub dark: f64,
    /// Share of the trace at frequency zero.
    pub mean_share: f64,
    /// Weight of changes across the image over that of changes down it.
    pub across: f64,
    /// Weight of horizontal and vertical waves over that of oblique ones of the same length.
    pub upright: f64,
    /// How much each pixel counts, 1 on average.
    pub pixels: Vec<f64>,
    /// Weight of a pixel in the middle over one at the edge.
    pub centre: f64,
    /// Mean difference between neighbours in the middle, as a part of their weight: large where strides leave a grid.
    pub grid: f64,
}

impl Reading {
    pub fn of(view: &View) -> Self {
        let values = &view.spectrum.values;
        let dim = values.len();
        let isotropic = values.iter().sum::<f64>() / dim.max(1) as f64;
        let count = if dim < 100 { dim.div_ceil(10) } else { 10 };
        let first: f64 = values.iter().take(count).sum();
        let directions = view.summary.participation_ratio;
        let blind = values.iter().filter(|&&v| v < ZERO * isotropic).count();
        let plane = Plane::of(&view.shape, view.matrix);
        let preference = preference(
            directions,
            view.summary.participation_ratio_error,
            dim as f64,
        );
        Self {
            dim,
            directions,
            preference,
            head: (count, first / (isotropic * dim as f64)),
            blind: if view.sampled() { 0 } else { blind },
            sight: plane.map(|plane| Sight::of(&view.matrix.factor, plane)),
        }
    }
}

fn preference(directions: f64, error: Option<f64>, dim: f64) -> Preference {
    // A well measured participation ratio that D itself would explain, or one as good as D.
    let explained = error.is_some_and(|e| e < 0.1 * dim && dim - directions <= 2.0 * e);
    if explained || directions >= 0.99 * dim {
        Preference::None
    } else if directions >= 0.5 * dim {
        Preference::Mild
    } else {
        Preference::Strong
    }
}

impl Sight {
    pub fn of(factor: &[f64], plane: Plane) -> Self {
        let energy = Frequencies::energy(factor, plane);
        let rings = energy.rings();
        let side = plane.height.max(plane.width);
        let (low_edge, high_edge) = ((side / 8).max(1), (3 * side / 8).max(1));
        let low = energy.mean(|a, b| energy.radius(a, b) <= low_edge as f64);
        let high = energy.mean(|a, b| energy.radius(a, b) >= high_edge as f64);
        let seen = rings.iter().rposition(|&e| e >= INVISIBLE);
        // A limit in the corners of the plane alone says little.
        let limit = seen.map(|r| r + 1).filter(|&r| r <= side / 2);
        let dark = energy.values.iter().filter(|&&e| e < INVISIBLE).count();
        let (band, best) = match comb(&energy) {
            Some((period, weight)) => (Band::Comb(period), weight),
            None => band(&rings[..=side / 2], (low_edge, low), high),
        };
        let pixels = plane.weights(factor);
        let (centre, grid) = middle(&pixels, plane);
        Self {
            plane,
            low_edge,
            low,
            high_edge,
            high,
            band,
            best,
            limit,
            dark: dark as f64 / energy.values.len() as f64,
            mean_share: energy.mean(|a, b| (a, b) == (0, 0)) / energy.values.len() as f64,
            across: energy.mean(|a, b| a == 0 && b != 0) / energy.mean(|a, b| a != 0 && b == 0),
            upright: upright(&energy, &rings),
            pixels,
            centre,
            grid,
            energy,
            rings,
        }
    }

    /// Whether two weights differ enough to be worth a word.
    pub fn differ(ratio: f64) -> bool {
        ratio.is_finite() && !(1.0 / ALIKE..=ALIKE).contains(&ratio)
    }
}

/// The best band among rings that hold several waves each, and its weight.
fn band(rings: &[f64], (low_edge, low): (usize, f64), high: f64) -> (Band, f64) {
    let finite = rings.iter().enumerate().skip(1);
    let finite = finite.filter(|(_, e)| e.is_finite());
    if finite.clone().all(|(_, &e)| !Sight::differ(e)) && !Sight::differ(low) {
        return (Band::Flat, 1.0);
    }
    let best = finite.max_by(|a, b| a.1.total_cmp(b.1));
    match best {
        // A ring that neither end of the frequencies shares.
        Some((ring, &weight)) if ring > low_edge && weight > 1.5 * low.max(high) => {
            (Band::Around(ring), weight)
        }
        _ if low >= high => (Band::Low, low),
        _ => (Band::High, high),
    }
}

/// The period p for which the frequencies (aH/p, bW/p), zero left out, weigh at least twice the isotropic
/// weight and nearly as much as for any other p, with their mean weight. For a weight that changes slowly over
/// frequencies such a lattice has about the mean of all, which is 1.
fn comb(energy: &Frequencies) -> Option<(usize, f64)> {
    let (h, w) = (energy.height, energy.width);
    let fits = |p: &usize| h.is_multiple_of(*p) && w.is_multiple_of(*p) && h.min(w) / p > 1;
    let teeth = [2, 4, 8, 16].into_iter().filter(fits).map(|p| {
        let on = |k: isize, n: usize| k.unsigned_abs().is_multiple_of(n / p);
        let mean = energy.mean(|a, b| (a, b) != (0, 0) && on(a, h) && on(b, w));
        (p, mean)
    });
    let teeth: Vec<(usize, f64)> = teeth.filter(|(_, e)| *e >= 2.0).collect();
    let most = teeth.iter().map(|t| t.1).fold(0.0, f64::max);
    // A lattice contains those of the periods that divide its own: the longest of equals is the whole of it.
    teeth.into_iter().rfind(|(_, e)| *e >= 0.7 * most)
}

/// Mean of E over its ring's mean on the axes, over the same on the diagonals, up to the shortest wave of the axes.
fn upright(energy: &Frequencies, rings: &[f64]) -> f64 {
    let half = energy.height.max(energy.width) as f64 / 2.0;
    let relative = |wanted: fn(isize, isize) -> bool| {
        let picked = energy.iter().filter(|&(a, b, _)| wanted(a, b));
        let parts = picked.filter_map(|(a, b, e)| {
            let r = energy.radius(a, b);
            let ring = rings[r.round() as usize];
            (r > 0.0 && r < half && ring > INVISIBLE).then(|| e / ring)
        });
        let (sum, count) = parts.fold((0.0, 0.0), |(s, n), e| (s + e, n + 1.0));
        sum / count
    };
    relative(|a, b| a == 0 || b == 0) / relative(|a, b| a.abs() == b.abs())
}

/// Weight of the middle half over that of the outermost pixels, and the unevenness of the middle.
fn middle(pixels: &[f64], plane: Plane) -> (f64, f64) {
    let Plane { height, width, .. } = plane;
    let margin = (height.min(width) / 16).max(1);
    let mean = |wanted: &dyn Fn(usize, usize) -> bool| {
        let all = (0..height).flat_map(|y| (0..width).map(move |x| (y, x)));
        let picked = all.filter(|&(y, x)| wanted(y, x));
        let (sum, count) = picked.fold((0.0, 0.0), |(s, n), (y, x)| {
            (s + pixels[y * width + x], n + 1.0)
        });
        sum / count
    };
    let within = |k: usize, n: usize, m: usize| k >= m && k < n - m;
    let inner = |y, x| within(y, height, height / 4) && within(x, width, width / 4);
    let outer = |y, x| !(within(y, height, margin) && within(x, width, margin));
    let centre = mean(&inner);
    let mut steps = (0.0, 0.0);
    for y in height / 4..height - height / 4 - 1 {
        for x in width / 4..width - width / 4 - 1 {
            let at = pixels[y * width + x];
            for next in [pixels[y * width + x + 1], pixels[(y + 1) * width + x]] {
                steps = (steps.0 + (next - at).abs(), steps.1 + 1.0);
            }
        }
    }
    (centre / mean(&outer), steps.0 / steps.1 / centre)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotropy_is_told_from_the_participation_ratio() {
        assert_eq!(preference(1020.0, None, 1024.0), Preference::None);
        assert_eq!(preference(900.0, None, 1024.0), Preference::Mild);
        assert_eq!(preference(900.0, Some(70.0), 1024.0), Preference::None);
        // An error so large that it would explain anything explains nothing.
        assert_eq!(preference(300.0, Some(500.0), 1024.0), Preference::Strong);
    }

    #[test]
    fn bands() {
        assert_eq!(band(&[1.0, 1.1, 0.9], (1, 1.0), 0.9), (Band::Flat, 1.0));
        assert_eq!(band(&[9.0, 8.0, 1.0, 0.1], (1, 8.3), 0.1), (Band::Low, 8.3));
        assert_eq!(
            band(&[0.1, 0.5, 1.0, 2.0], (1, 0.3), 1.8),
            (Band::High, 1.8)
        );
        let around = band(&[0.1, 0.2, 5.0, 0.1], (1, 0.2), 0.1);
        assert_eq!(around, (Band::Around(2), 5.0));
        // Frequency zero, or the longest waves, alone.
        assert_eq!(band(&[500.0, 0.2, 0.2], (1, 20.0), 0.1), (Band::Low, 20.0));
        assert_eq!(
            band(&[1.0, 57.0, 9.0, 0.1], (2, 20.0), 0.1),
            (Band::Low, 20.0)
        );
    }

    /// Every fourth of 32 frequencies either way weighs 16: patterns of 8 pixels. A smooth hill is no comb.
    #[test]
    fn combs() {
        let over = |weight: fn(isize, isize) -> f64| {
            let at = |k: usize| (k / 32) as isize - 16;
            let values = (0..1024).map(|k| weight(at(k), (k % 32) as isize - 16));
            let values = values.collect();
            comb(&Frequencies {
                height: 32,
                width: 32,
                values,
            })
        };
        let lattice = |a: isize, b: isize| if a % 4 == 0 && b % 4 == 0 { 16.0 } else { 0.0 };
        assert_eq!(over(lattice), Some((8, 16.0)));
        assert_eq!(
            over(|a, b| 12.0 * (-((a * a + b * b) as f64) / 26.0).exp()),
            None
        );
        assert_eq!(over(|_, _| 1.0), None);
    }

    /// diag with 4 in the middle half of an 8 × 8 image and 1 around it: ratio 4, no grid; a chequered one has one.
    #[test]
    fn the_middle_and_its_grid() {
        let plane = Plane {
            height: 8,
            width: 8,
            planes: 1,
        };
        let inner = |k: usize| (2..6).contains(&(k / 8)) && (2..6).contains(&(k % 8));
        let centre: Vec<f64> = (0..64).map(|k| if inner(k) { 4.0 } else { 1.0 }).collect();
        assert_eq!(middle(&centre, plane), (4.0, 0.0));
        let board: Vec<f64> = (0..64).map(|k| [0.5, 1.5][(k / 8 + k) % 2]).collect();
        assert_eq!(middle(&board, plane), (1.0, 1.0));
    }
}
