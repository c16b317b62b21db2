//! ⟨·⟩ of eq. 4 and 5, and intervals by drawing images again.
//!
//! R_f = ⟨‖f(τx) − f(x)‖²⟩ / ⟨‖f(x + η) − f(x)‖²⟩ (eq. 4); D_f and G_f (eq. 5) are its numerator and denominator, each over
//! ⟨‖f(x) − f(z)‖²⟩.

use super::{Average, Pairs};

/// Neighbours in a resample whose distances stand for those of all its pairs.
const NEIGHBOURS: usize = 8;

/// Squared changes, image after image: `width` numbers for each, whose sum is ‖·‖².
#[derive(Clone, Debug)]
pub(super) struct Changes {
    width: usize,
    squares: Vec<f64>,
}

impl Changes {
    /// From the squares of each coordinate, or from their sums alone (`width` 1).
    pub fn new(width: usize, squares: Vec<f64>) -> Self {
        Changes { width, squares }
    }

    /// ⟨·⟩ over chosen images.
    pub fn average(&self, how: Average, at: &[usize]) -> f64 {
        let of = |i: usize| &self.squares[i * self.width..(i + 1) * self.width];
        let norms = || at.iter().map(|&i| of(i).iter().sum::<f64>());
        match how {
            Average::Median => median(&mut norms().collect::<Vec<_>>()),
            Average::Mean => norms().sum::<f64>() / at.len() as f64,
            Average::Coordinates => (0..self.width)
                .map(|k| median(&mut at.iter().map(|&i| of(i)[k]).collect::<Vec<_>>()))
                .sum(),
        }
    }
}

/// R_f of chosen images.
pub(super) fn ratio(how: Average, moved: &Changes, noisy: &Changes, at: &[usize]) -> Option<f64> {
    let (a, b) = (moved.average(how, at), noisy.average(how, at));
    (b > 0.0).then(|| a / b)
}

/// ‖f(x) − f(z)‖² of all pairs of images.
pub(super) struct Distances {
    images: usize,
    /// images × images.
    squares: Vec<f64>,
    how: (Average, Pairs),
}

impl Distances {
    /// From the outputs, `width` for each image.
    pub fn new(outputs: &[f64], width: usize, how: (Average, Pairs)) -> Self {
        let rows: Vec<&[f64]> = outputs.chunks_exact(width).collect();
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
        let squares = rows
            .iter()
            .flat_map(|a| rows.iter().map(|b| square(a, b)))
            .collect();
        Distances {
            images: rows.len(),
            squares,
            how,
        }
    }

    /// ⟨‖f(x) − f(z)‖²⟩ over all pairs of all images.
    pub fn average(&self) -> f64 {
        let n = self.images;
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        match self.how.1 {
            Pairs::Distinct => self.of(pairs.filter(|(i, j)| i < j)),
            Pairs::All => self.of(pairs),
        }
    }

    /// The same of a resample: each image with those that follow it in the resample, without those of an image with its own copies where
    /// pairs are distinct. Fewer pairs than there are scatter more, so that intervals are a little too wide.
    pub fn resampled(&self, at: &[usize]) -> f64 {
        let pairs = (1..=NEIGHBOURS.min(at.len() - 1)).flat_map(|step| {
            let next = at.iter().cycle().skip(step);
            at.iter().zip(next).map(|(&i, &j)| (i, j))
        });
        match self.how.1 {
            Pairs::Distinct => self.of(pairs.filter(|(i, j)| i != j)),
            Pairs::All => self.of(pairs),
        }
    }

    fn of(&self, pairs: impl Iterator<Item = (usize, usize)>) -> f64 {
        let mut found: Vec<f64> = pairs
            .map(|(i, j)| self.squares[i * self.images + j])
            .collect();
        match self.how {
            (Average::Mean, Pairs::Distinct) => found.iter().sum::<f64>() / found.len() as f64,
            _ => median(&mut found),
        }
    }
}

/// The middle value, or the mean of the two.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    let (below, &mut middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    match n % 2 {
        1 => middle,
        _ => {
            let other = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (middle + other) / 2.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&mut []).is_nan());
    }

    /// Three images with two outputs each.
    #[test]
    fn averages_by_hand() {
        let changes = Changes::new(2, vec![1.0, 0.0, 4.0, 2.0, 0.0, 9.0]);
        let all = [0, 1, 2];
        assert_eq!(changes.average(Average::Mean, &all), 16.0 / 3.0);
        assert_eq!(changes.average(Average::Median, &all), 6.0);
        // Medians 1 and 2.
        assert_eq!(changes.average(Average::Coordinates, &all), 3.0);
    }

    #[test]
    fn distances_by_hand() {
        // Outputs 0, 1, 3: squared distances 1, 9, 4.
        let of = |how, pairs| Distances::new(&[0.0, 1.0, 3.0], 1, (how, pairs)).average();
        assert_eq!(of(Average::Median, Pairs::Distinct), 4.0);
        assert_eq!(of(Average::Mean, Pairs::Distinct), 14.0 / 3.0);
        // 0 0 0 1 1 4 4 9 9
        assert_eq!(of(Average::Median, Pairs::All), 1.0);
    }
}
