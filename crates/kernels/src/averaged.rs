//! Kernels averaged over a finite group that permutes the inputs.
//!
//! K_G(x, y) = |G|⁻¹ Σ_{g ∈ G} K(x, g y). Where K(g x, g y) = K(x, y), as of every kernel of distances under permutations, all
//! functions of K_G are invariant, and regression with K_G on n samples is regression with K on their |G| n images.
//!
//! ```
//! use polariscope_kernels::averaged::{Permutations, laplace, symmetrize};
//! let swap = Permutations::shifts(2);
//! let plain = |x: &[f64], y: &[f64]| laplace(x, y, 1.0);
//! let averaged = symmetrize(plain, &swap);
//! // y and its image are √2 and 0 away from x.
//! let value = averaged(&[1.0, 0.0], &[0.0, 1.0]);
//! assert!((value - ((-2f64.sqrt()).exp() + 1.0) / 2.0).abs() < 1e-15);
//! ```

/// exp(−|x − y|/ℓ).
pub fn laplace(x: &[f64], y: &[f64], length: f64) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    (-square.sqrt() / length).exp()
}

/// K_G(x, y) = |G|⁻¹ Σ_{g ∈ G} K(x, g y).
pub fn symmetrize<K: Fn(&[f64], &[f64]) -> f64>(
    kernel: K,
    group: &Permutations,
) -> impl Fn(&[f64], &[f64]) -> f64 {
    move |x, y| {
        let images = group.images(y);
        let sum: f64 = images.map(|gy| kernel(x, &gy)).sum();
        sum / group.order() as f64
    }
}

/// A group of permutations: (g x)ᵢ = x at place g(i).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutations(Vec<Vec<usize>>);

impl Permutations {
    /// The n cyclic shifts of n numbers.
    pub fn shifts(n: usize) -> Self {
        let shift = |by: usize| (0..n).map(move |i| (i + by) % n).collect();
        Permutations((0..n).map(shift).collect())
    }

    /// An n × n image as it is and with its columns in reverse.
    pub fn flips(n: usize) -> Self {
        let flip = |(i, j)| (i, n - 1 - j);
        Permutations(vec![moved(n, |at| at), moved(n, flip)])
    }

    /// The four turns of an n × n image by multiples of 90°.
    pub fn turns(n: usize) -> Self {
        let turn = |(i, j)| (j, n - 1 - i);
        Permutations(vec![
            moved(n, |at| at),
            moved(n, turn),
            moved(n, |at| turn(turn(at))),
            moved(n, |at| turn(turn(turn(at)))),
        ])
    }

    /// |G|.
    pub fn order(&self) -> usize {
        self.0.len()
    }

    /// g x for every g.
    pub fn images(&self, x: &[f64]) -> impl Iterator<Item = Vec<f64>> {
        self.0
            .iter()
            .map(|g| g.iter().map(|&place| x[place]).collect())
    }
}

/// Where each place of an n × n image takes its number from.
fn moved(n: usize, from: impl Fn((usize, usize)) -> (usize, usize)) -> Vec<usize> {
    (0..n * n)
        .map(|at| from((at / n, at % n)))
        .map(|(i, j)| i * n + j)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::Posterior;

    /// Images of [[1, 2], [3, 4]] and of (1, 2, 3), by hand.
    #[test]
    fn images_by_hand() {
        let all = |group: Permutations, x: &[f64]| group.images(x).collect::<Vec<_>>();
        let square = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            all(Permutations::flips(2), &square),
            [square, [2.0, 1.0, 4.0, 3.0]]
        );
        assert_eq!(
            all(Permutations::turns(2), &square),
            [
                square,
                [2.0, 4.0, 1.0, 3.0],
                [4.0, 3.0, 2.0, 1.0],
                [3.0, 1.0, 4.0, 2.0]
            ]
        );
        assert_eq!(
            all(Permutations::shifts(3), &[1.0, 2.0, 3.0]),
            [[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]]
        );
    }

    /// K_G is symmetric and does not see on which side, or by what, its arguments are moved.
    #[test]
    fn invariant() {
        let (x, y) = (
            [0.3, -1.0, 2.0, 0.5, 0.1, -0.7, 1.1, 0.0, 0.9],
            [1.2, 0.4, -0.6, 0.0, 2.2, -1.5, 0.3, 0.8, -0.1],
        );
        for group in [Permutations::flips(3), Permutations::turns(3)] {
            let kernel = symmetrize(|x: &[f64], y: &[f64]| laplace(x, y, 1.7), &group);
            let value = kernel(&x, &y);
            assert!((kernel(&y, &x) - value).abs() < 1e-15);
            for gx in group.images(&x) {
                assert!((kernel(&gx, &y) - value).abs() < 1e-15);
            }
        }
    }

    /// Regression with K_G and ridge λ is regression with K on all images of the samples and ridge |G| λ: with α the
    /// coefficients of the one, those of the other are α/|G| at every image.
    #[test]
    fn regression_on_all_images() {
        let (n, side, ridge) = (6, 2, 1e-3);
        let group = Permutations::turns(side);
        let number = |i: usize| (1.7 * i as f64).sin() + (0.3 * (i * i) as f64).cos();
        let x: Vec<Vec<f64>> = (0..n)
            .map(|i| (0..4).map(|k| number(4 * i + k)).collect())
            .collect();
        let y: Vec<f64> = (0..n).map(|i| number(50 + i)).collect();
        let unseen: Vec<f64> = (0..4).map(|k| number(90 + k)).collect();
        let plain = |x: &[f64], y: &[f64]| laplace(x, y, 2.0);
        let predicted =
            |kernel: &dyn Fn(&[f64], &[f64]) -> f64, x: &[Vec<f64>], y: &[f64], ridge| {
                let gram = x.iter().flat_map(|a| x.iter().map(|b| kernel(a, b)));
                let posterior = Posterior::new(&gram.collect::<Vec<_>>(), x.len(), ridge).unwrap();
                let cross: Vec<f64> = x.iter().map(|b| kernel(&unseen, b)).collect();
                posterior.mean(&cross, y).unwrap()[0]
            };
        let averaged = predicted(&symmetrize(plain, &group), &x, &y, ridge);
        let images: Vec<Vec<f64>> = x.iter().flat_map(|x| group.images(x)).collect();
        let labels: Vec<f64> = y.iter().flat_map(|&y| [y; 4]).collect();
        let augmented = predicted(&plain, &images, &labels, 4.0 * ridge);
        assert!(
            (averaged - augmented).abs() < 1e-10,
            "{averaged} {augmented}"
        );
    }
}
