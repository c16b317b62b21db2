//! What a geometry over images says of spatial frequencies.

use super::fourier::Frequencies;
use super::pixels::Pixels;
use super::plane::Plane;
use super::weight::{ALIKE, Evenness, Noise, Weight};

/// Weights below this, where 1 is isotropic, are all but invisible.
pub(super) const INVISIBLE: f64 = 0.05;
/// A wave and its opposite have the same weight.
const COPIES: f64 = 2.0;
/// A lattice of frequencies is the finding from this weight on.
const LATTICE: f64 = 2.0;
/// Waves of one length differ by this factor where it is worth a word.
const APART: f64 = 1.5;

/// Which waves weigh most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Band {
    /// All alike.
    Flat,
    /// Noise may hide what there is.
    Unclear,
    /// Long ones.
    Low,
    /// Short ones.
    High,
    /// Those of about this many cycles an image.
    Around(usize),
    /// Patterns that repeat every so many pixels, however fine they are: what strides fold onto each other.
    Comb(usize),
    /// They differ, but not by their length.
    Uneven,
}

/// Frequencies (aH/p, bW/p), zero left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    /// p.
    pub period: usize,
    /// Mean weight.
    pub weight: Weight,
    /// That over the weight of other waves of the same length.
    pub ratio: Weight,
}

/// What can be said of a geometry over images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sight {
    /// How its rows lie on the image.
    pub plane: Plane,
    /// Weight of every frequency.
    pub energy: Frequencies,
    /// Whether these are alike.
    pub evenness: Evenness,
    /// Mean weight by number of cycles.
    pub rings: Vec<f64>,
    /// Where low frequencies end, in cycles: an eighth of the longer side.
    pub low_edge: usize,
    /// Mean weight up to there, zero left out.
    pub low: Weight,
    /// Where high frequencies start: three eighths.
    pub high_edge: usize,
    /// Mean weight from there on.
    pub high: Weight,
    /// Which waves weigh most, and their mean weight.
    pub band: Band,
    pub best: Weight,
    /// Strides that fold frequencies onto each other, beside the band.
    pub lattice: Option<Lattice>,
    /// The 90 % quantile of the weights over the 10 % quantile, or over the noise where that is more.
    pub spread: f64,
    /// Part of the variance of the weights that the length of the wave explains.
    pub explained: f64,
    /// From this many cycles on every wave is all but invisible.
    pub limit: Option<usize>,
    /// Share of the frequencies that are all but invisible.
    pub dark: f64,
    /// Numbers of cycles across or down at which waves weigh far less than at the numbers beside.
    pub gaps: Vec<usize>,
    /// Share of the trace at frequency zero.
    pub mean_share: Weight,
    /// Weight of changes across the image over that of changes down it.
    pub across: Weight,
    /// Weight of horizontal and vertical waves over that of oblique ones of the same length.
    pub upright: Weight,
    /// How much the pixels count.
    pub pixels: Pixels,
}

impl Sight {
    pub fn of(factor: &[f64], plane: Plane, noise: Noise) -> Self {
        let energy = Frequencies::energy(factor, plane);
        let pixels = Pixels::of(plane.weights(factor), plane, noise);
        Self::read(energy, pixels, plane, noise)
    }

    /// From the weights of frequencies and pixels.
    pub fn read(energy: Frequencies, pixels: Pixels, plane: Plane, noise: Noise) -> Self {
        let rings = energy.rings();
        let side = plane.height.max(plane.width);
        let (low_edge, high_edge) = ((side / 8).max(1), (3 * side / 8).max(1));
        let mean = |wanted: &dyn Fn(isize, isize) -> bool| noise.mean(energy.of(wanted), COPIES);
        // The brightness of the whole image is no wave; where it is most of the trace it would hide the others.
        let low = mean(&|a, b| (a, b) != (0, 0) && energy.radius(a, b) <= low_edge as f64);
        let high = mean(&|a, b| energy.radius(a, b) >= high_edge as f64);
        let ring = |r: usize| mean(&|a, b| energy.radius(a, b).round() as usize == r);
        let is_dark = |e: f64| noise.one(e).below(INVISIBLE);
        let seen = energy.iter().filter(|&(.., e)| !is_dark(e));
        let seen = seen
            .map(|(a, b, _)| energy.radius(a, b))
            .fold(0.0, f64::max);
        // A limit in the corners of the plane alone says little.
        let limit = Some(seen.floor() as usize + 1).filter(|&r| r <= side / 2);
        let dark = energy.values.iter().filter(|&&e| is_dark(e)).count();
        let dark = dark as f64 / energy.values.len() as f64;
        let evenness = noise.evenness(&energy.values);
        let lattice = lattice(&energy, noise);
        let all: Vec<Weight> = (1..=side / 2).map(ring).collect();
        let (band, best) = match lattice {
            _ if evenness == Evenness::Alike => (Band::Flat, mean(&|_, _| true)),
            Some(l) if l.weight.above(LATTICE) => (Band::Comb(l.period), l.weight),
            _ => band(&all, (low_edge, low), high).unwrap_or((
                match evenness {
                    Evenness::Uneven => Band::Uneven,
                    Evenness::Alike | Evenness::Unclear => Band::Unclear,
                },
                mean(&|_, _| true),
            )),
        };
        let zero = noise.one(energy.of(|a, b| (a, b) == (0, 0)).sum());
        let part = energy.values.len() as f64;
        Self {
            plane,
            evenness,
            low_edge,
            low,
            high_edge,
            high,
            band,
            best,
            lattice: lattice
                .filter(|_| !matches!(band, Band::Comb(_) | Band::Flat | Band::Unclear)),
            spread: energy.quantile(0.9) / energy.quantile(0.1).max(noise.0).max(f64::MIN_POSITIVE),
            explained: explained(&energy, &rings),
            limit,
            dark,
            gaps: gaps(&energy, noise),
            mean_share: Weight {
                value: zero.value / part,
                error: zero.error / part,
            },
            across: mean(&|a, b| a == 0 && b != 0).over(mean(&|a, b| a != 0 && b == 0)),
            upright: upright(&energy, &rings, noise),
            pixels,
            energy,
            rings,
        }
    }

    /// Whether waves of one length differ more than the length explains.
    pub fn is_uneven_beside(&self) -> bool {
        self.evenness == Evenness::Uneven && self.explained < 0.5 && self.spread > APART
    }
}

/// The band that weighs most, among rings 1, 2, … that hold several waves each; `None` if the length of a wave does not
/// decide.
fn band(
    rings: &[Weight],
    (low_edge, low): (usize, Weight),
    high: Weight,
) -> Option<(Band, Weight)> {
    let known = || rings.iter().zip(1..).filter(|(w, _)| w.value.is_finite());
    if !known().any(|(w, _)| w.differs()) && !low.differs() && !high.differs() {
        return None;
    }
    let (best, ring) = known().max_by(|a, b| a.0.value.total_cmp(&b.0.value))?;
    // A ring that neither end of the frequencies shares.
    if ring > low_edge && best.above(APART * low.value.max(high.value)) {
        return Some((Band::Around(ring), *best));
    }
    if low.over(high).above(ALIKE) {
        Some((Band::Low, low))
    } else if high.over(low).above(ALIKE) {
        Some((Band::High, high))
    } else {
        None
    }
}

/// The longest period whose frequencies weigh more than other waves of the same length, nearly as much as for any other.
/// For a weight that changes slowly over frequencies the ratio is about 1.
fn lattice(energy: &Frequencies, noise: Noise) -> Option<Lattice> {
    let (h, w) = (energy.height, energy.width);
    let fits = |p: &usize| h.is_multiple_of(*p) && w.is_multiple_of(*p) && h.min(w) / p > 1;
    let found = [4, 8, 16].into_iter().filter(fits).map(|period| {
        let tooth = |k: isize, n: usize| k.unsigned_abs().is_multiple_of(n / period);
        let on = |a: isize, b: isize| (a, b) != (0, 0) && tooth(a, h) && tooth(b, w);
        // Waves along the axes may differ for other reasons.
        let oblique = |a: isize, b: isize| a != 0 && b != 0;
        // The others by length.
        let mut rings: Vec<(f64, f64)> = Vec::new();
        for (a, b, e) in energy
            .iter()
            .filter(|&(a, b, _)| !on(a, b) && oblique(a, b))
        {
            let ring = energy.radius(a, b).round() as usize;
            rings.resize(rings.len().max(ring + 1), (0.0, 0.0));
            rings[ring] = (rings[ring].0 + e, rings[ring].1 + 1.0);
        }
        let other = |a: isize, b: isize| {
            let (sum, count) = rings.get(energy.radius(a, b).round() as usize)?;
            (*count > 0.0).then(|| sum / count)
        };
        let beside: Vec<(f64, f64)> = energy
            .iter()
            .filter(|&(a, b, _)| on(a, b) && oblique(a, b))
            .filter_map(|(a, b, e)| Some((e, other(a, b)?)))
            .collect();
        let mean = |values: Vec<f64>| noise.mean(values.into_iter(), COPIES);
        let teeth = mean(beside.iter().map(|x| x.0).collect());
        let others = mean(beside.iter().map(|x| x.1).collect());
        Lattice {
            period,
            weight: noise.mean(energy.of(on), COPIES),
            ratio: teeth.over_noise(others),
        }
    });
    let found: Vec<Lattice> = found
        .filter(|l| l.ratio.above(APART) && l.weight.value > INVISIBLE)
        .collect();
    let most = found.iter().map(|l| l.weight.value).fold(0.0, f64::max);
    // A lattice contains those of the periods that divide its own: the longest of equals is the whole of it.
    found.into_iter().rfind(|l| l.weight.value >= 0.7 * most)
}

/// Numbers k of cycles such that waves with k cycles across or down weigh less than [`INVISIBLE`] of those beside.
fn gaps(energy: &Frequencies, noise: Noise) -> Vec<usize> {
    let half = energy.height.min(energy.width) / 2;
    let line = |k: usize| {
        let on = |a: isize, b: isize| a.unsigned_abs() == k || b.unsigned_abs() == k;
        noise.mean(energy.of(on), COPIES)
    };
    let lines: Vec<Weight> = (0..=half).map(line).collect();
    let is_gap = |k: &usize| {
        let before = lines[k - 1].value;
        let after = lines.get(k + 1).map_or(before, |l| l.value);
        lines[*k].below(INVISIBLE * before.min(after))
    };
    (1..=half).filter(is_gap).collect()
}

/// 1 − Σ (E − ring)² / Σ (E − mean)², zero left out.
fn explained(energy: &Frequencies, rings: &[f64]) -> f64 {
    let waves: Vec<(f64, f64)> = energy
        .iter()
        .filter(|&(a, b, _)| (a, b) != (0, 0))
        .map(|(a, b, e)| (e, rings[energy.radius(a, b).round() as usize]))
        .collect();
    let mean = waves.iter().map(|w| w.0).sum::<f64>() / waves.len() as f64;
    let square =
        |f: &dyn Fn(f64, f64) -> f64| waves.iter().map(|w| f(w.0, w.1).powi(2)).sum::<f64>();
    let total = square(&|e, _| e - mean);
    if total > 0.0 {
        1.0 - square(&|e, ring| e - ring) / total
    } else {
        1.0
    }
}

/// Mean of E over its ring's mean on the axes, over the same on the diagonals, up to the shortest wave of the axes.
fn upright(energy: &Frequencies, rings: &[f64], noise: Noise) -> Weight {
    let half = energy.height.max(energy.width) as f64 / 2.0;
    let relative = |wanted: fn(isize, isize) -> bool| {
        let picked = energy.iter().filter(|&(a, b, _)| wanted(a, b));
        let parts = picked.filter_map(|(a, b, e)| {
            let r = energy.radius(a, b);
            let ring = rings[r.round() as usize];
            (r > 0.0 && r < half && ring > INVISIBLE).then(|| e / ring)
        });
        noise.mean(parts, COPIES)
    };
    relative(|a, b| a == 0 || b == 0).over(relative(|a, b| a.abs() == b.abs()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A geometry over 32 × 32 pixels with these weights of frequencies (brought to mean 1) and all pixels alike.
    pub fn sight(noise: f64, weight: impl Fn(isize, isize) -> f64) -> Sight {
        over(noise, weight, |_, _| 1.0)
    }

    /// The same with weights of pixels.
    pub fn over(
        noise: f64,
        weight: impl Fn(isize, isize) -> f64,
        pixel: impl Fn(usize, usize) -> f64,
    ) -> Sight {
        let noise = Noise(noise);
        let plane = Plane {
            height: 32,
            width: 32,
            planes: 1,
        };
        let at = |k: usize| k as isize - 16;
        let values: Vec<f64> = (0..1024).map(|k| weight(at(k / 32), at(k % 32))).collect();
        let mean = values.iter().sum::<f64>() / 1024.0;
        let energy = Frequencies {
            height: 32,
            width: 32,
            values: values.iter().map(|e| e / mean).collect(),
        };
        let weights: Vec<f64> = (0..1024).map(|k| pixel(k / 32, k % 32)).collect();
        let mean = weights.iter().sum::<f64>() / 1024.0;
        let weights = weights.iter().map(|w| w / mean).collect();
        let pixels = Pixels::of(weights, plane, noise);
        Sight::read(energy, pixels, plane, noise)
    }

    /// Smooth over the square of the radius.
    pub fn hill(width: f64) -> impl Fn(isize, isize) -> f64 {
        move |a, b| 1e-3 + (-((a * a + b * b) as f64) / width).exp()
    }

    fn exact(values: &[f64]) -> Vec<Weight> {
        values.iter().map(|v| Weight::exact(*v)).collect()
    }

    #[test]
    fn bands() {
        let e = Weight::exact;
        let found = |rings: &[f64], edge, low, high| band(&exact(rings), (edge, e(low)), e(high));
        assert_eq!(found(&[1.1, 0.9], 1, 1.0, 0.9), None);
        assert_eq!(
            found(&[8.0, 1.0, 0.1], 1, 8.3, 0.1),
            Some((Band::Low, e(8.3)))
        );
        assert_eq!(
            found(&[0.5, 1.0, 2.0], 1, 0.3, 1.8),
            Some((Band::High, e(1.8)))
        );
        assert_eq!(
            found(&[0.2, 5.0, 0.1], 1, 0.2, 0.1),
            Some((Band::Around(2), e(5.0)))
        );
        // The longest waves alone.
        assert_eq!(
            found(&[57.0, 9.0, 0.1], 2, 20.0, 0.1),
            Some((Band::Low, e(20.0)))
        );
        // Neither end has more.
        assert_eq!(found(&[1.3, 1.0, 1.3], 1, 1.1, 1.0), None);
        // Noise that could have made it.
        let noisy: Vec<Weight> = [8.0, 1.0, 0.1].map(|v| Noise(2.0).one(v)).into();
        assert_eq!(
            band(&noisy, (1, Noise(2.0).one(8.3)), Noise(2.0).one(0.1)),
            None
        );
    }

    /// Every fourth of 32 frequencies either way weighs 16: patterns of 8 pixels. A smooth hill is no lattice.
    #[test]
    fn lattices() {
        let comb = |a: isize, b: isize| if a % 4 == 0 && b % 4 == 0 { 16.0 } else { 0.0 };
        let found = sight(0.0, comb);
        assert_eq!((found.band, found.best.value), (Band::Comb(8), 16.0));
        assert_eq!(sight(0.0, hill(26.0)).lattice, None);
        assert_eq!(sight(0.0, |_, _| 1.0).band, Band::Flat);
        // A weak one beside a hill.
        let both = |a: isize, b: isize| {
            hill(80.0)(a, b) * if a % 4 == 0 && b % 4 == 0 { 1.8 } else { 1.0 }
        };
        let found = sight(0.0, both);
        assert_eq!((found.band, found.lattice.unwrap().period), (Band::Low, 8));
    }

    /// Averages over rings hide a chessboard of frequencies; the map does not.
    #[test]
    fn rings_do_not_hide_structure() {
        let found = sight(0.0, |a, b| if (a + b) % 2 == 0 { 1.4 } else { 0.6 });
        assert!(found.rings[3..16].iter().all(|r| (0.8..1.25).contains(r)));
        assert_eq!(found.evenness, Evenness::Uneven);
        assert!(found.is_uneven_beside() && found.explained < 0.2);
        assert!(!sight(0.0, hill(60.0)).is_uneven_beside());
    }

    /// What pooling over 4 pixels averages out.
    #[test]
    fn gaps_between_waves() {
        let pooled = |a: isize, b: isize| {
            let gap = |k: isize| if k != 0 && k % 8 == 0 { 0.0 } else { 1.0 };
            gap(a) * gap(b) * hill(200.0)(a, b)
        };
        assert_eq!(sight(0.0, pooled).gaps, [8, 16]);
        assert!(sight(0.0, hill(200.0)).gaps.is_empty());
        assert!(sight(1.0, pooled).gaps.is_empty());
    }

    /// One wave in sight keeps its length in sight, however dark the others of it are.
    #[test]
    fn a_limit_holds_for_every_wave() {
        let cross = |a: isize, b: isize| if a == 0 || b == 0 { 1.0 } else { 1e-4 };
        assert_eq!(sight(0.0, cross).limit, None);
        assert!(sight(0.0, cross).dark > 0.9);
    }

    /// The mean brightness is most of the trace: what is left is no low band of its making.
    #[test]
    fn brightness_is_no_wave() {
        let found = sight(0.0, |a, b| if (a, b) == (0, 0) { 1e4 } else { 1.0 });
        assert!(found.mean_share.value > 0.9 && found.low.value < 0.1);
    }

    #[test]
    fn the_dark_needs_a_small_error() {
        let step = |a: isize, b: isize| if a * a + b * b < 100 { 1.0 } else { 0.0 };
        let sure = sight(0.0, step);
        assert!(sure.limit.is_some() && sure.dark > 0.5);
        let noisy = sight(0.1, step);
        assert_eq!(noisy.dark, 0.0);
    }
}
