//! Positions as weighted sums of positions.

/// What lies outside of a grid.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Border {
    /// The other side.
    Wrap,
    /// Zeros.
    Zero,
}

/// A position that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// In row order.
    pub at: usize,
    /// Its part.
    pub weight: f64,
}

/// For each position of a grid, in row order, what it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Resample {
    taps: Vec<Tap>,
    /// Where each position's taps end.
    ends: Vec<usize>,
}

impl Resample {
    /// Reads each position (row, column) at `source(row, column)`, between positions linearly.
    pub(super) fn new(
        [height, width]: [usize; 2],
        border: Border,
        source: impl Fn(f64, f64) -> [f64; 2],
    ) -> Self {
        let mut taps = Vec::with_capacity(height * width);
        let mut ends = Vec::with_capacity(height * width);
        for p in 0..height * width {
            let [row, column] = source((p / width) as f64, (p % width) as f64);
            for (r, row_part) in around(row) {
                for (c, column_part) in around(column) {
                    let weight = row_part * column_part;
                    if weight == 0.0 {
                        continue;
                    }
                    let place = [(r, height), (c, width)].map(|(i, n)| match border {
                        Border::Wrap => Some(i.rem_euclid(n as i64) as usize),
                        Border::Zero => usize::try_from(i).ok().filter(|&i| i < n),
                    });
                    if let [Some(r), Some(c)] = place {
                        let at = r * width + c;
                        taps.push(Tap { at, weight });
                    }
                }
            }
            ends.push(taps.len());
        }
        Resample { taps, ends }
    }

    /// The same on grids that lie one below the other: grid i goes to the place of grid `to[i]`, a reordering.
    pub fn stacked(&self, to: &[usize]) -> Resample {
        let positions = self.ends.len();
        let mut from = vec![0; to.len()];
        to.iter()
            .enumerate()
            .for_each(|(i, &place)| from[place] = i);
        let mut stacked = Resample {
            taps: Vec::with_capacity(to.len() * self.taps.len()),
            ends: Vec::with_capacity(to.len() * positions),
        };
        for i in from {
            for taps in self.rows() {
                let moved = taps.iter().map(|t| Tap {
                    at: i * positions + t.at,
                    ..*t
                });
                stacked.taps.extend(moved);
                stacked.ends.push(stacked.taps.len());
            }
        }
        stacked
    }

    /// What each position gets: the sum of its taps.
    pub fn rows(&self) -> impl Iterator<Item = &[Tap]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.taps[start..end])
    }
}

/// The two whole numbers around x with their linear weights.
fn around(x: f64) -> [(i64, f64); 2] {
    let low = x.floor();
    let part = x - low;
    let low = low as i64;
    [(low, 1.0 - part), (low.saturating_add(1), part)]
}
