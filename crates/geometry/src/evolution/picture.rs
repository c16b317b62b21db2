//! Large matrices in small pictures: M becomes PᵀMP, where a column of P averages a few neighbouring inputs.

use polariscope_report::{Axis, ColourMap, Extent, Field};

/// Rows and columns at most.
const MOST: usize = 192;

/// Which inputs go into a row of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    dim: usize,
    size: usize,
}

impl Blocks {
    /// Blocks that do not straddle two lines of `line` inputs where that can be.
    pub fn new(dim: usize, line: usize) -> Self {
        let least = dim.div_ceil(MOST).max(1);
        let fits = |b: &usize| line.is_multiple_of(*b) || b.is_multiple_of(line);
        let size = (least..=dim).find(fits).unwrap_or(least);
        Self { dim, size }
    }

    /// Inputs averaged.
    pub fn size(self) -> usize {
        self.size
    }

    /// Rows of the picture.
    fn count(self) -> usize {
        self.dim.div_ceil(self.size)
    }

    /// MP for `rows` × D numbers.
    fn right(self, matrix: &[f64]) -> Vec<f64> {
        let rows = matrix.chunks_exact(self.dim);
        let means = rows.flat_map(|row| {
            let blocks = row.chunks(self.size);
            blocks.map(|b| b.iter().sum::<f64>() / b.len() as f64)
        });
        means.collect()
    }

    /// PᵀN for D rows.
    fn left(self, matrix: &[f64]) -> Vec<Vec<f64>> {
        let count = self.count();
        let bands = matrix.chunks(self.size * count);
        let mean = |band: &[f64]| -> Vec<f64> {
            let mut sum = vec![0.0; count];
            for row in band.chunks_exact(count) {
                sum.iter_mut().zip(row).for_each(|(s, x)| *s += x);
            }
            let tall = (band.len() / count) as f64;
            sum.iter_mut().for_each(|s| *s /= tall);
            sum
        };
        bands.map(mean).collect()
    }

    /// PᵀMP.
    pub fn of(self, matrix: &[f64]) -> Vec<Vec<f64>> {
        self.left(&self.right(matrix))
    }

    /// Pᵀ(GSG)P = (GP)ᵀ S (GP): GSG itself is not formed.
    pub fn of_product(self, g: &[f64], s: &[f64]) -> Vec<Vec<f64>> {
        let (dim, count) = (self.dim, self.count());
        let gp = self.right(g);
        let mut sgp = vec![0.0; dim * count];
        for (out, row) in sgp.chunks_exact_mut(count).zip(s.chunks_exact(dim)) {
            for (value, g) in row.iter().zip(gp.chunks_exact(count)) {
                out.iter_mut().zip(g).for_each(|(o, g)| *o += value * g);
            }
        }
        let mut all = vec![vec![0.0; count]; count];
        for (left, right) in gp.chunks_exact(count).zip(sgp.chunks_exact(count)) {
            for (row, l) in all.iter_mut().zip(left) {
                row.iter_mut().zip(right).for_each(|(a, r)| *a += l * r);
            }
        }
        all
    }

    /// The figure: each matrix on its own scale, whose end is the largest but one hundredth of the entries.
    pub fn field(self, title: &str, axis: &str, rows: Vec<Vec<f64>>) -> Field {
        let mut sizes: Vec<f64> = rows.iter().flatten().map(|v| v.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let largest = sizes.last().copied().unwrap_or(1.0);
        let common = sizes.get(sizes.len() * 99 / 100).copied().unwrap_or(1.0);
        let end = if common > 0.02 * largest {
            common
        } else {
            largest
        };
        let end = if end > 0.0 { end } else { 1.0 };
        let centre = (self.size - 1) as f64 / 2.0;
        let last = (rows.len().saturating_sub(1) * self.size) as f64 + centre;
        let extent = Extent::new(axis, centre, last);
        let scaled = rows.iter().map(|r| r.iter().map(|v| v / end).collect());
        Field {
            title: title.into(),
            x: extent.clone(),
            y: extent,
            value: Axis::linear("entry over the end of the colours"),
            rows: scaled.collect(),
            colours: ColourMap::Diverging,
            range: Some((-1.0, 1.0)),
            outline: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 × 4 in blocks of 2: means of the four corners; and GSG against its definition.
    #[test]
    fn means_of_blocks() {
        let blocks = Blocks { dim: 4, size: 2 };
        let g: Vec<f64> = (0..16).map(f64::from).collect();
        assert_eq!(blocks.of(&g), [[2.5, 4.5], [10.5, 12.5]]);
        let g: Vec<f64> = (0..16).map(|k| f64::from(k / 4 + k % 4)).collect();
        let s: Vec<f64> = (0..16).map(|k| f64::from((k / 4) * (k % 4))).collect();
        let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
            let entry = |k: usize| (0..4).map(|j| a[k / 4 * 4 + j] * b[j * 4 + k % 4]).sum();
            (0..16).map(entry).collect()
        };
        assert_eq!(
            blocks.of_product(&g, &s),
            blocks.of(&times(&times(&g, &s), &g))
        );
    }

    /// 3 × 32 × 32 inputs in 192 rows: a block is half a line of pixels, 16 of them.
    #[test]
    fn blocks_respect_lines() {
        assert_eq!(Blocks::new(3072, 32).size(), 16);
        assert_eq!(Blocks::new(100, 1).size(), 1);
        assert_eq!(Blocks::new(784, 28).size(), 7);
    }
}
