//! One element τ of a group: drawn, applied, inverted.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use polariscope_diff::Real;
use polariscope_graph::Shape;
use polariscope_random::Stream;
use rayon::prelude::*;

use super::SymmetryError;
use super::group::{Elements, Group, Sharing};
use super::haar::orthogonal;

/// Samples that one task transforms.
const SAMPLES: usize = 64;

/// What acts on one cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// A matrix, row by row.
    Matrix(Vec<f64>),
    /// Number i goes to place order[i].
    Order(Vec<usize>),
}

/// An element of a group, for samples of one shape.
///
/// ```
/// use polariscope_kernels::symmetry::{Element, Group};
/// let tau = Element::draw(Group::EACH_POSITION, "3x4x4".parse()?, 7, 0)?;
/// let x: Vec<f64> = (0..48).map(f64::from).collect();
/// let back = tau.inverse().apply(&tau.apply(&x)?)?;
/// assert!(x.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-13));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    shape: Shape,
    cells: Vec<Vec<usize>>,
    /// One a cell, or one for all.
    pub(super) actions: Vec<Action>,
}

impl Element {
    /// Uniform over the group: element `index` of `seed`.
    pub fn draw(group: Group, shape: Shape, seed: u64, index: u64) -> Result<Self, SymmetryError> {
        let cells = group.cells(shape)?;
        let size = cells.first().map_or(0, Vec::len);
        let count = match group.sharing {
            Sharing::Own => cells.len(),
            Sharing::Shared => 1,
        };
        let draw = |cell: usize| {
            let stream = Stream::new(seed, index, &format!("symmetry.{cell}"));
            match group.elements {
                Elements::Orthogonal => Action::Matrix(orthogonal(&stream, size)),
                Elements::Permutation => Action::Order(stream.cursor().permutation(size)),
            }
        };
        let actions = (0..count).into_par_iter().map(draw).collect();
        Ok(Element {
            shape,
            cells,
            actions,
        })
    }

    /// The identity of a group.
    pub fn identity(group: Group, shape: Shape) -> Result<Self, SymmetryError> {
        let cells = group.cells(shape)?;
        let order = (0..cells.first().map_or(0, Vec::len)).collect();
        Ok(Element {
            shape,
            cells,
            actions: vec![Action::Order(order)],
        })
    }

    /// The same cells with other matrices.
    pub(super) fn with_actions(&self, actions: Vec<Action>) -> Self {
        Element {
            shape: self.shape,
            cells: self.cells.clone(),
            actions,
        }
    }

    /// Shape of the samples that it acts on.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Numbers in a cell.
    pub(super) fn size(&self) -> usize {
        self.cells.first().map_or(0, Vec::len)
    }

    /// τ⁻¹ = τᵀ.
    pub fn inverse(&self) -> Self {
        let m = self.size();
        let turn = |action: &Action| match action {
            Action::Matrix(a) => Action::Matrix((0..m * m).map(|k| a[k % m * m + k / m]).collect()),
            Action::Order(order) => {
                let mut inverse = vec![0; m];
                order
                    .iter()
                    .enumerate()
                    .for_each(|(i, &to)| inverse[to] = i);
                Action::Order(inverse)
            }
        };
        self.with_actions(self.actions.iter().map(turn).collect())
    }

    /// τx for every sample x; computed in f64 whatever the number type.
    pub fn apply<T: Real>(&self, x: &[T]) -> Result<Vec<T>, SymmetryError> {
        let dim = self.shape.len();
        if x.is_empty() || !x.len().is_multiple_of(dim) {
            return Err(SymmetryError::Samples {
                length: x.len(),
                shape: self.shape,
            });
        }
        let mut out = vec![T::ZERO; x.len()];
        let blocks = out.par_chunks_mut(SAMPLES * dim);
        blocks
            .zip(x.par_chunks(SAMPLES * dim))
            .for_each(|(out, x)| self.block(x, out));
        Ok(out)
    }

    /// A few samples.
    fn block<T: Real>(&self, x: &[T], out: &mut [T]) {
        let (dim, m) = (self.shape.len(), self.size());
        let n = x.len() / dim;
        let (mut from, mut to) = (vec![0.0; n * m], vec![0.0; n * m]);
        for (c, cell) in self.cells.iter().enumerate() {
            match &self.actions[c % self.actions.len()] {
                Action::Order(order) => {
                    for (x, out) in x.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
                        for (&i, &place) in cell.iter().zip(order) {
                            out[cell[place]] = x[i];
                        }
                    }
                }
                Action::Matrix(a) => {
                    for (x, from) in x.chunks_exact(dim).zip(from.chunks_exact_mut(m)) {
                        from.iter_mut()
                            .zip(cell)
                            .for_each(|(f, &i)| *f = x[i].to_f64());
                    }
                    multiply(a, &from, &mut to, m);
                    for (out, to) in out.chunks_exact_mut(dim).zip(to.chunks_exact(m)) {
                        cell.iter()
                            .zip(to)
                            .for_each(|(&i, t)| out[i] = T::from_f64(*t));
                    }
                }
            }
        }
    }
}

/// Rows A x for rows x of m numbers.
fn multiply(a: &[f64], from: &[f64], to: &mut [f64], m: usize) {
    if m <= 8 {
        for (x, y) in from.chunks_exact(m).zip(to.chunks_exact_mut(m)) {
            for (y, row) in y.iter_mut().zip(a.chunks_exact(m)) {
                *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
            }
        }
        return;
    }
    let n = from.len() / m;
    matmul(
        MatMut::from_column_major_slice_mut(to, m, n),
        Accum::Replace,
        MatRef::from_row_major_slice(a, m, m),
        MatRef::from_column_major_slice(from, m, n),
        1.0,
        Par::Seq,
    );
}
