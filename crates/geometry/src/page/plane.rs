//! A block of a geometry seen as pixels.

use crate::Kron;
use polariscope_graph::Shape;

/// How the rows of a block lie on an image: planes × height × width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// Images in the block: 1 where the channels are equal copies of it, else the channels.
    pub planes: usize,
}

impl Plane {
    /// `None` where the input is no image.
    pub fn of(shape: &Shape, matrix: &Kron) -> Option<Self> {
        let Shape::Image {
            channels,
            height,
            width,
        } = *shape
        else {
            return None;
        };
        let planes = match matrix.channels {
            1 => channels,
            copies if copies == channels => 1,
            _ => return None,
        };
        let plane = Self {
            height,
            width,
            planes,
        };
        (height > 1 && width > 1 && plane.len() == matrix.n).then_some(plane)
    }

    /// Rows of the block.
    pub fn len(self) -> usize {
        self.planes * self.height * self.width
    }

    /// A vector over the block as rows of pixels, its planes side by side with a missing column between them.
    pub fn picture(self, vector: &[f64]) -> Vec<Vec<f64>> {
        let pixels = self.height * self.width;
        (0..self.height)
            .map(|y| {
                let lines = vector.chunks_exact(pixels);
                let lines: Vec<&[f64]> =
                    lines.map(|p| &p[y * self.width..][..self.width]).collect();
                lines.join(&f64::NAN)
            })
            .collect()
    }

    /// diag(B) over its mean, the mean over planes: how much each pixel counts.
    pub fn weights(self, factor: &[f64]) -> Vec<f64> {
        let (n, pixels) = (self.len(), self.height * self.width);
        let mut weights = vec![0.0; pixels];
        for i in 0..n {
            weights[i % pixels] += factor[i * n + i];
        }
        let mean = weights.iter().sum::<f64>() / pixels as f64;
        weights.iter_mut().for_each(|w| *w /= mean);
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: Shape = Shape::Image {
        channels: 2,
        height: 2,
        width: 2,
    };

    #[test]
    fn copies_and_whole_images() {
        let copies = Kron {
            channels: 2,
            n: 4,
            factor: vec![0.0; 16],
        };
        assert_eq!(Plane::of(&IMAGE, &copies).unwrap().planes, 1);
        let whole = Kron::dense(vec![0.0; 64], 8);
        assert_eq!(Plane::of(&IMAGE, &whole).unwrap().planes, 2);
        assert_eq!(Plane::of(&IMAGE, &Kron::dense(vec![0.0; 9], 3)), None);
        assert_eq!(Plane::of(&Shape::Vector { features: 4 }, &copies), None);
    }

    /// diag = 1 … 8 over two planes of four pixels: sums 6, 8, 10, 12 with mean 9.
    #[test]
    fn pixels_of_two_planes() {
        let mut factor = vec![0.0; 64];
        (0..8).for_each(|i| factor[i * 8 + i] = (i + 1) as f64);
        let plane = Plane::of(&IMAGE, &Kron::dense(factor.clone(), 8)).unwrap();
        let want = [6.0, 8.0, 10.0, 12.0].map(|w| w / 9.0);
        assert_eq!(plane.weights(&factor), want);
        let rows = plane.picture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(rows[1][..2], [3.0, 4.0]);
        assert!(rows[1][2].is_nan());
        assert_eq!(rows[1][3..], [7.0, 8.0]);
    }
}
