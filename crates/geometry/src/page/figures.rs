//! The figures of a geometry.

use polariscope_report::{
    Axis, ColourMap, Extent, Field, Gallery, Picture, Plot, Series, Tile, grouped,
};

use super::View;
use super::fourier::Frequencies;
use super::plane::Plane;
use super::reading::{Preference, Reading, ZERO, Zeros};
use super::scatter::Scatter;
use super::sight::Sight;
use super::weight::Evenness;
use super::words::{percent, scatter};
use crate::lens::source::Voice;

/// Weights below this take the darkest colour.
const DARKEST: f64 = 1e-4;

/// What the profile shows; the local geometry is beside a coherent one where both are known.
pub(super) fn profile_caption(voice: Voice, uneven: bool, beside: Option<&Scatter>) -> String {
    let mut said = "Mean weight of waves by their number of cycles across the image, whatever their orientation; 1, the dashed \
                    line, is isotropic."
        .to_string();
    if uneven && voice == Voice::Coherent {
        said +=
            " Linear rules along waves above it should be learnt from fewer samples than below it.";
    }
    if let Some(beside) = beside {
        said += " ";
        said += &scatter(beside);
    }
    said
}

/// The pictures of one geometry.
pub(super) struct Pictures<'a> {
    view: &'a View<'a>,
    reading: &'a Reading,
}

/// What the map of frequencies shows; the line is drawn where weights are uneven.
pub(super) fn frequencies_caption(voice: Voice, uneven: bool) -> String {
    let mut said =
        "Weight of every plane wave, zero frequency in the middle, dark is low.".to_string();
    if uneven {
        said += " On the line it is 1, the isotropic one.";
    }
    if uneven && voice == Voice::Coherent {
        said += " In networks trained on linear rules along such waves, larger weights went with higher test accuracy (rank \
                 correlations of 0.90 to 0.96 for LeNet, with max or average pools, and ResNet-18; 0.6 for VGG-11 and 0.3 for LeNet \
                 with a global pool, which learn few directions at all).";
    }
    said
}

/// What a gallery of directions shows.
pub(super) const DIRECTIONS: &str = "The first directions, largest eigenvalue first, with their share of the trace. Above: pixels, white at zero, \
     red and blue of opposite sign, each on its own scale. Below: power over frequencies, zero in the middle. Directions \
     with nearly equal eigenvalues may be mixed among themselves.";

/// What the picture of the mean gradient shows.
pub(super) const MEAN_GRADIENT: &str = "The gradient averaged over the inputs: what moves the output at all of them. White is zero; red raises it, blue lowers it. \
     mean_gradient.npy holds it.";

/// How a matrix is coloured.
pub(super) const MATRIX: &str = "White is zero, red positive, blue negative; the strongest hundredth of the entries takes the end of the colours.";

/// What the map of pixels shows.
pub(super) const PIXELS: &str = "How much each pixel counts: the diagonal of G over its mean.";

/// The colours that several geometries share: ranges of the weights of frequencies and of pixels.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    frequencies: (f64, f64),
    pixels: (f64, f64),
}

impl Ranges {
    pub fn of<'a>(readings: impl IntoIterator<Item = &'a Reading>) -> Self {
        // At least a factor of two either way, so that an isotropic geometry looks flat.
        let (mut low, mut high, mut pixel) = (0.5_f64, 2.0_f64, 1.5_f64);
        for sight in readings.into_iter().filter_map(|r| r.sight.as_ref()) {
            for &e in &sight.energy.values {
                (low, high) = (low.min(e), high.max(e));
            }
            pixel = sight.pixels.weights.iter().copied().fold(pixel, f64::max);
        }
        Self {
            frequencies: (low.max(DARKEST), high),
            pixels: (0.0, pixel),
        }
    }
}

impl<'a> Pictures<'a> {
    pub fn new(view: &'a View<'a>, reading: &'a Reading) -> Self {
        Self { view, reading }
    }

    /// How unequal the directions are.
    pub fn preference(&self) -> Preference {
        self.reading.preference
    }

    /// Weight over frequencies and over pixels; `None` for inputs that are no image.
    pub fn sight(&self, ranges: Ranges) -> Option<(Field, Field)> {
        let sight = self.reading.sight.as_ref()?;
        Some((
            frequencies(sight, ranges.frequencies),
            pixels(sight, ranges.pixels),
        ))
    }

    /// The first directions in pixels and over frequencies.
    pub fn first(&self, count: usize) -> Option<(Gallery, String)> {
        let copies = match self.view.spectrum.channels {
            1 => String::new(),
            c => format!(" Each counts {c} times, once a channel."),
        };
        let planes = match self.reading.sight.as_ref()?.plane.planes {
            1 => "",
            _ => " Channels lie side by side.",
        };
        let caption = format!("{DIRECTIONS}{planes}{copies}");
        let n = self.view.spectrum.n;
        let shares = |i: usize, share: f64| format!("{} · {}", i + 1, short_percent(share));
        let gallery = self.gallery("First directions", 0..count.min(n), shares)?;
        Some((gallery, caption))
    }

    /// The last directions; `None` where sampling noise decides them, or they are any basis of a blind space.
    pub fn last(&self, count: usize) -> Option<(Gallery, String)> {
        let n = self.view.spectrum.n;
        let empty = !matches!(self.reading.zeros, Zeros::None);
        if self.reading.source.sampled() || empty || n < 6 * count {
            return None;
        }
        let caption = "The last directions, drawn the same way: those of least weight.".to_string();
        let numbers = |i: usize, _| grouped(i as u64 + 1);
        let gallery = self.gallery("Last directions", n - count..n, numbers)?;
        Some((gallery, caption))
    }

    /// Directions in pixels and over frequencies, each labelled by its index and its share of the trace.
    fn gallery(
        &self,
        title: &str,
        indices: std::ops::Range<usize>,
        label: impl Fn(usize, f64) -> String,
    ) -> Option<Gallery> {
        let plane = self.reading.sight.as_ref()?.plane;
        let spectrum = self.view.spectrum;
        let (n, channels) = (spectrum.n, spectrum.channels);
        let trace: f64 = spectrum.values.iter().sum();
        let tile = |i: usize| {
            let vector = &spectrum.vectors[i * n..][..n];
            let share = channels as f64 * spectrum.values[i * channels] / trace;
            let images = vector.chunks_exact(plane.height * plane.width);
            let powers = images.map(|u| Frequencies::power(u, plane.height, plane.width).values);
            let power: Vec<f64> = powers.flatten().collect();
            let order = grouped(i as u64 + 1);
            Tile {
                label: label(i, share),
                pictures: vec![
                    Picture::Map {
                        words: format!("direction {order} in pixels"),
                        rows: plane.picture(vector),
                        colours: ColourMap::Diverging,
                    },
                    Picture::Map {
                        words: format!("direction {order} over frequencies"),
                        rows: plane.picture(&power),
                        colours: ColourMap::Sequential,
                    },
                ],
            }
        };
        Some(Gallery {
            title: title.into(),
            tiles: indices.map(tile).collect(),
        })
    }

    /// The mean gradient as an image, its channels side by side.
    pub fn mean_gradient(&self, gradient: &[f64]) -> Option<Field> {
        let Plane { height, width, .. } = self.reading.sight.as_ref()?.plane;
        let plane = Plane {
            height,
            width,
            planes: gradient.len() / (height * width),
        };
        let rows = plane.picture(gradient);
        let end = gradient.iter().fold(0f64, |m, g| m.max(g.abs()));
        let columns = rows.first().map_or(1, Vec::len);
        Some(Field {
            title: "Mean gradient".into(),
            x: Extent::new("column", 0.0, (columns - 1) as f64),
            y: Extent::new("row", 0.0, (height - 1) as f64),
            value: Axis::linear("derivative by the pixel"),
            rows,
            colours: ColourMap::Diverging,
            range: Some((-end, end)),
            outline: None,
        })
    }

    /// The block, at most `most` entries to a side.
    pub fn matrix(&self, most: usize) -> Field {
        let n = self.view.matrix.n;
        let rows = self.reduced(most);
        let block = self.block(most);
        let centre = (block - 1) as f64 / 2.0;
        let end = |cells: usize| (cells.saturating_sub(1) * block) as f64 + centre;
        let what = match &self.reading.sight {
            Some(_) => "pixel, row by row",
            None => "input",
        };
        let extent = Extent::new(what, centre, end(rows.len()));
        let mut sizes: Vec<f64> = rows.iter().flatten().map(|v| v.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let largest = sizes.last().copied().unwrap_or(1.0);
        // A few large entries, mostly the diagonal, must not wash out the rest.
        let common = sizes.get(sizes.len() * 99 / 100).copied().unwrap_or(1.0);
        let end = if common > 0.02 * largest {
            common
        } else {
            largest
        };
        Field {
            title: format!("{} × {}", grouped(n as u64), grouped(n as u64)),
            x: extent.clone(),
            y: extent,
            value: Axis::linear("covariance over the isotropic variance"),
            rows,
            colours: ColourMap::Diverging,
            range: Some((-end, end)),
            outline: None,
        }
    }

    pub fn matrix_caption(&self, most: usize) -> String {
        let block = self.block(most);
        let mean = if block > 1 {
            format!(" Each dot is the mean of {block} × {block} entries.")
        } else {
            String::new()
        };
        format!("{MATRIX}{mean}")
    }

    /// Side of the squares that are averaged: such that they never straddle two rows of pixels.
    fn block(&self, most: usize) -> usize {
        let n = self.view.matrix.n;
        let least = n.div_ceil(most).max(1);
        let line = self.reading.sight.as_ref().map_or(1, |s| s.plane.width);
        (least..=n)
            .find(|b| line.is_multiple_of(*b) || b.is_multiple_of(line))
            .unwrap_or(least)
    }

    /// B over tr G / D, averaged over squares.
    fn reduced(&self, most: usize) -> Vec<Vec<f64>> {
        let (matrix, block) = (self.view.matrix, self.block(most));
        let n = matrix.n;
        let isotropic = matrix.trace() / matrix.dim() as f64;
        let bands = matrix.factor.chunks(block * n);
        bands
            .map(|band| {
                let mut sums = vec![0.0; n.div_ceil(block)];
                for row in band.chunks_exact(n) {
                    for (sum, cells) in sums.iter_mut().zip(row.chunks(block)) {
                        *sum += cells.iter().sum::<f64>();
                    }
                }
                let tall = band.len() / n;
                for (k, sum) in sums.iter_mut().enumerate() {
                    let wide = block.min(n - k * block);
                    *sum /= (tall * wide) as f64 * isotropic;
                }
                sums
            })
            .collect()
    }
}

fn short_percent(share: f64) -> String {
    percent(share).replace("less than ", "< ")
}

fn frequencies(sight: &Sight, range: (f64, f64)) -> Field {
    let (h, w) = (sight.energy.height, sight.energy.width);
    let extent = |what: &str, n: usize| {
        let first = -((n / 2) as f64);
        Extent::new(what, first, first + (n - 1) as f64)
    };
    // A sample that has not converged has weights below zero.
    let floor = |row: Vec<f64>| row.into_iter().map(|w| w.max(0.0)).collect();
    let rows = sight.energy.rows().into_iter().map(floor).collect();
    // Where all weights are alike the line would outline noise.
    let uneven = sight.evenness == Evenness::Uneven;
    Field {
        title: "Frequencies".into(),
        x: extent("cycles across the image", w),
        y: extent("cycles down the image", h),
        value: Axis::log("weight (isotropic: 1)"),
        rows,
        colours: ColourMap::Sequential,
        range: Some(range),
        outline: uneven.then_some(1.0),
    }
}

fn pixels(sight: &Sight, range: (f64, f64)) -> Field {
    let (h, w) = (sight.plane.height, sight.plane.width);
    Field {
        title: "Pixels".into(),
        x: Extent::new("column", 0.0, (w - 1) as f64),
        y: Extent::new("row", 0.0, (h - 1) as f64),
        value: Axis::linear("weight (mean: 1)"),
        rows: sight
            .pixels
            .weights
            .chunks(w)
            .map(<[f64]>::to_vec)
            .collect(),
        colours: ColourMap::Sequential,
        range: Some(range),
        outline: None,
    }
}

/// Weight by number of cycles, a line a geometry; `None` if there is none.
pub(super) fn profile(lines: &[(&str, &[f64])]) -> Option<Plot> {
    let drawn = |(name, rings): &(&str, &[f64])| {
        let points = rings.iter().enumerate();
        let points = points.map(|(r, &e)| (r as f64, if e > DARKEST { e } else { f64::NAN }));
        Series::line(*name, points.collect())
    };
    let mut series: Vec<Series> = lines.iter().map(drawn).collect();
    let last = series.iter().map(|s| s.points.len()).max()?.max(2) - 1;
    series.push(Series::reference(
        "isotropic",
        vec![(0.0, 1.0), (last as f64, 1.0)],
    ));
    Some(Plot {
        title: "Weight by spatial frequency".into(),
        x: Axis::linear("cycles an image"),
        y: Axis::log("weight (isotropic: 1)"),
        series,
    })
}

/// Eigenvalues over the isotropic one on logarithmic axes, with their error bands.
pub(super) fn spectra(views: &[&View]) -> Plot {
    let mut series: Vec<Series> = views.iter().map(|view| spectrum(view)).collect();
    let longest = views.iter().map(|v| v.spectrum.values.len()).max();
    let end = longest.unwrap_or(1).max(2) as f64;
    series.push(Series::reference("isotropic", vec![(1.0, 1.0), (end, 1.0)]));
    Plot {
        title: "Eigenvalues over the isotropic one".into(),
        x: Axis::log("direction"),
        y: Axis::log("eigenvalue · D / trace"),
        series,
    }
}

fn spectrum(view: &View) -> Series {
    let values = &view.spectrum.values;
    let isotropic = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let points = values.iter().enumerate().map(|(i, v)| {
        let y = v / isotropic;
        (i as f64 + 1.0, if y >= ZERO { y } else { f64::NAN })
    });
    let points: Vec<(f64, f64)> = points.collect();
    let band = band(&view.spectrum.errors, values, isotropic);
    Series::line(&view.name, points).with_band(band)
}

/// One standard error to either side, up to the last eigenvalue that has one; the relative error of the others is
/// interpolated in the logarithm of the index.
fn band(errors: &[(usize, f64)], values: &[f64], isotropic: f64) -> Vec<(f64, f64)> {
    let relative: Vec<(usize, f64)> = errors
        .iter()
        .filter_map(|&(i, e)| Some((i, e / values.get(i)?)))
        .filter(|(_, e)| e.is_finite())
        .collect();
    let Some(&(last, _)) = relative.last() else {
        return Vec::new();
    };
    let place = |i: usize| (i as f64 + 1.0).ln();
    let at = |i: usize| {
        let after = relative.partition_point(|&(j, _)| j < i);
        let right = relative[after.min(relative.len() - 1)];
        let left = relative[after.saturating_sub(1)];
        if right.0 <= left.0 || i <= left.0 {
            return if i <= left.0 { left.1 } else { right.1 };
        }
        let t = (place(i) - place(left.0)) / (place(right.0) - place(left.0));
        left.1 + t * (right.1 - left.1)
    };
    (0..=last)
        .map(|i| {
            let (value, error) = (values[i] / isotropic, at(i));
            // A band that reaches zero has no lower end on a logarithmic axis: it stops a decade down.
            let low = value * (1.0 - error).max(0.1);
            (low, value * (1.0 + error))
        })
        .collect()
}

/// How to read the spectrum.
pub(super) fn spectrum_caption(views: &[&View]) -> String {
    let mut said = "Both axes logarithmic; the dashed line is a network without preference, for which every direction is 1."
        .to_string();
    if views.iter().any(|v| !v.spectrum.errors.is_empty()) {
        said += " The band is one standard error.";
    }
    let below = |view: &View| {
        let values = &view.spectrum.values;
        let isotropic = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let part = |wanted: &dyn Fn(f64) -> bool| values.iter().filter(|v| wanted(**v)).count();
        let negative = part(&|v| v < -ZERO * isotropic);
        (part(&|v| v < ZERO * isotropic) - negative, negative)
    };
    let hidden = views.iter().map(|v| below(v));
    let (zero, negative) = hidden.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    if zero > 0 {
        said += &format!(
            " {} eigenvalues are below 10⁻⁷ of the isotropic one and not drawn.",
            grouped(zero as u64)
        );
    }
    if negative > 0 {
        said += &format!(
            " {} eigenvalues are below zero, from noise, and not drawn.",
            grouped(negative as u64)
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors 10 % at index 0 and 30 % at index 3: at index 1, halfway in the logarithm (ln 2 of ln 4), 20 %.
    #[test]
    fn errors_between_are_interpolated() {
        let values = [4.0, 2.0, 1.0, 1.0, 1.0];
        let band = band(&[(0, 0.4), (3, 0.3)], &values, 1.0);
        assert_eq!(band.len(), 4);
        let close = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-12;
        assert!(close(band[0], (3.6, 4.4)), "{band:?}");
        assert!(close(band[1], (1.6, 2.4)), "{band:?}");
        assert!(close(band[3], (0.7, 1.3)), "{band:?}");
    }
}
