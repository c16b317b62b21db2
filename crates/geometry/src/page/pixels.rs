//! Which pixels count: dead borders, grids that strides leave, middle and edge.

use super::plane::Plane;
use super::weight::{ALIKE, Evenness, Noise, Weight};

/// Lines of pixels below this part of the middle are dead.
pub(super) const DEAD: f64 = 0.1;
/// A grid explains at least this part of the differences between pixels.
const EXPLAINED: f64 = 0.5;
/// And a shorter period is enough if it explains nearly as much.
const NEARLY: f64 = 0.9;

/// How much the pixels count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pixels {
    /// diag(B) over its mean, row by row.
    pub weights: Vec<f64>,
    /// Whether they are alike.
    pub evenness: Evenness,
    /// Lines that hardly count.
    pub border: Option<Border>,
    /// A pixel of the middle half over one at the edge.
    pub centre: Weight,
    /// Strides that show.
    pub grid: Option<Grid>,
}

/// Lines at the edge that count less than [`DEAD`] of the middle, how many at each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Border {
    pub top: usize,
    pub bottom: usize,
    pub left: usize,
    pub right: usize,
}

/// Pixels that count more than their neighbours, in a pattern that repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Period either way.
    pub period: usize,
    /// Pixels of each period that count more than the mean.
    pub counting: usize,
    /// Their weight over that of the others.
    pub ratio: Weight,
}

impl Pixels {
    pub fn of(weights: Vec<f64>, plane: Plane, noise: Noise) -> Self {
        let map = Map {
            weights: &weights,
            height: plane.height,
            width: plane.width,
            noise,
        };
        let grid = map.grid();
        Self {
            evenness: noise.evenness(&weights),
            border: map.border(grid.map_or(1, |g| g.period)),
            centre: map.centre(),
            grid,
            weights,
        }
    }
}

struct Map<'a> {
    weights: &'a [f64],
    height: usize,
    width: usize,
    noise: Noise,
}

impl Map<'_> {
    fn mean(&self, wanted: impl Fn(usize, usize) -> bool) -> Weight {
        let places = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (y, x)));
        let picked = places.filter(|&(y, x)| wanted(y, x));
        let values = picked.map(|(y, x)| self.weights[y * self.width + x]);
        self.noise.mean(values, 1.0)
    }

    fn is_middle(&self, y: usize, x: usize) -> bool {
        let within = |k: usize, n: usize| k >= n / 4 && k < n - n / 4;
        within(y, self.height) && within(x, self.width)
    }

    /// The middle half over the outermost pixels.
    fn centre(&self) -> Weight {
        let margin = (self.height.min(self.width) / 16).max(1);
        let within = |k: usize, n: usize| k >= margin && k < n - margin;
        let outer = self.mean(|y, x| !(within(y, self.height) && within(x, self.width)));
        self.mean(|y, x| self.is_middle(y, x)).over(outer)
    }

    /// Dead lines from each side; a grid may leave dead lines of its own, up to its period.
    fn border(&self, period: usize) -> Option<Border> {
        let (h, w) = (self.height, self.width);
        let middle = self.mean(|y, x| self.is_middle(y, x)).value;
        let across = |y: usize| self.mean(|v, x| v == y && x >= w / 4 && x < w - w / 4);
        let down = |x: usize| self.mean(|y, u| u == x && y >= h / 4 && y < h - h / 4);
        let dead = |line: Weight| line.below(DEAD * middle);
        let count = |lines: &mut dyn Iterator<Item = Weight>| {
            let count = lines.take_while(|line| dead(*line)).count();
            if count < period { 0 } else { count }
        };
        let border = Border {
            top: count(&mut (0..h).map(across)),
            bottom: count(&mut (0..h).rev().map(across)),
            left: count(&mut (0..w).map(down)),
            right: count(&mut (0..w).rev().map(down)),
        };
        let Border {
            top,
            bottom,
            left,
            right,
        } = border;
        (top.max(bottom).max(left).max(right) > 0).then_some(border)
    }

    /// The shortest period that explains the differences away from the edges.
    fn grid(&self) -> Option<Grid> {
        let margin = self.height.min(self.width) / 8;
        let side = self.height.min(self.width) - 2 * margin;
        let candidates = [2, 4, 8, 16].into_iter().filter(|p| 3 * p <= side);
        let candidates: Vec<(Grid, f64)> = candidates.map(|p| self.folded(p, margin)).collect();
        let most = candidates.iter().map(|c| c.1).fold(0.0, f64::max);
        let found = candidates
            .into_iter()
            .find(|(_, explained)| *explained >= EXPLAINED && *explained >= NEARLY * most)?
            .0;
        found.ratio.above(ALIKE).then_some(found)
    }

    /// Pixels by their place in a period, and the part of the variance that the place explains.
    fn folded(&self, period: usize, margin: usize) -> (Grid, f64) {
        let inside = |k: usize, n: usize| k >= margin && k < n - margin;
        let mut phases = vec![Vec::new(); period * period];
        for y in (0..self.height).filter(|&y| inside(y, self.height)) {
            for x in (0..self.width).filter(|&x| inside(x, self.width)) {
                let phase = y % period * period + x % period;
                phases[phase].push(self.weights[y * self.width + x]);
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let all: Vec<f64> = phases.concat();
        let whole = mean(&all);
        let total: f64 = all.iter().map(|w| (w - whole).powi(2)).sum();
        let between: f64 = phases
            .iter()
            .map(|p| p.len() as f64 * (mean(p) - whole).powi(2))
            .sum();
        let (more, less): (Vec<_>, Vec<_>) = phases.iter().partition(|p| mean(p) > whole);
        let pooled = |part: &[&Vec<f64>]| {
            let values = part.iter().flat_map(|p| p.iter().copied());
            self.noise.mean(values, 1.0)
        };
        let grid = Grid {
            period,
            counting: more.len(),
            ratio: pooled(&more).over(pooled(&less)),
        };
        let explained = if total > 0.0 { between / total } else { 0.0 };
        (grid, explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(side: usize, noise: f64, weight: impl Fn(usize, usize) -> f64) -> Pixels {
        let plane = Plane {
            height: side,
            width: side,
            planes: 1,
        };
        let weights = (0..side * side).map(|k| weight(k / side, k % side));
        Pixels::of(weights.collect(), plane, Noise(noise))
    }

    /// 4 in the middle half and 1 around it: ratio 4, no grid, no border.
    #[test]
    fn the_middle() {
        let inner = |k: usize| (4..12).contains(&k);
        let found = pixels(16, 0.0, |y, x| if inner(y) && inner(x) { 4.0 } else { 1.0 });
        assert_eq!(found.centre, Weight::exact(4.0));
        assert_eq!((found.border, found.grid), (None, None));
        assert_eq!(pixels(16, 0.0, |_, _| 1.0).evenness, Evenness::Alike);
    }

    /// One row at the top, two columns at the right.
    #[test]
    fn dead_lines_are_counted() {
        let found = pixels(16, 0.0, |y, x| if y < 1 || x >= 14 { 0.0 } else { 1.0 });
        let border = Border {
            top: 1,
            bottom: 0,
            left: 0,
            right: 2,
        };
        assert_eq!(found.border, Some(border));
        // Noise that could have made them.
        let noisy = pixels(16, 0.5, |y, x| if y < 1 || x >= 14 { 0.0 } else { 1.0 });
        assert_eq!(noisy.border, None);
    }

    /// One pixel of every 4 × 4 counts 3, the others 1; a chessboard has period 2; a smooth hill is no grid.
    #[test]
    fn grids() {
        let one = |y: usize, x: usize| if y % 4 == 1 && x % 4 == 2 { 3.0 } else { 1.0 };
        let grid = pixels(32, 0.0, one).grid.unwrap();
        assert_eq!((grid.period, grid.counting), (4, 1));
        assert!((grid.ratio.value - 3.0).abs() < 1e-12);
        let board = pixels(32, 0.0, |y, x| [0.5, 1.5][(y + x) % 2]);
        let grid = board.grid.unwrap();
        assert_eq!((grid.period, grid.counting), (2, 2));
        let hill = |y: usize, x: usize| {
            let away = |k: usize| (k as f64 - 15.5).powi(2);
            (-(away(y) + away(x)) / 200.0).exp()
        };
        assert_eq!(pixels(32, 0.0, hill).grid, None);
        // Every second line dead is a grid, not a border.
        let lines = pixels(32, 0.0, |y, _| [0.0, 2.0][y % 2]);
        assert_eq!((lines.border, lines.grid.unwrap().period), (None, 2));
    }
}
