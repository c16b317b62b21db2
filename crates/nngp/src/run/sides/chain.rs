//! Variances along the chain of a step.

use pulp::{Simd, WithSimd};

use super::super::{chain, registers};
use super::Columns;
use crate::plan::{Link, Over, Step, View};
use crate::simd::{Buffer, SimdNumber, V};

/// Sides that the chain of a step keeps.
pub struct Chain<'a, T> {
    pub(super) step: &'a Step,
    pub(super) columns: &'a mut Columns<T>,
}

impl<T: SimdNumber> WithSimd for Chain<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Chain { step, columns } = self;
        let numbers = step.grid[0] * step.grid[1] * columns.batch;
        let mut made = Buffer::<T>::zeros(numbers);
        for link in &step.chain {
            match link {
                Link::Bias { .. }
                | Link::Scale { .. }
                | Link::Kink { .. }
                | Link::Gamma { .. }
                | Link::Embedding { .. } => {}
                Link::Smooth { activation, p, out } => {
                    for i in 0..T::vectors::<S>(made.all()).len() {
                        let p = columns.at(simd, *p, i);
                        let (value, _) = chain::smooth(*activation, p.k(0.0), p, p);
                        T::vectors_mut::<S>(made.all_mut())[i] = value.1;
                    }
                    columns.set(*out, made.all());
                }
                Link::Norm {
                    eps,
                    gamma_square,
                    over,
                    p,
                    root,
                    out,
                    ..
                } => {
                    let each = columns.batch * size_of::<T>() / size_of::<T::Vector<S>>();
                    let count = T::vectors::<S>(made.all()).len();
                    for i in 0..count {
                        let mut mean = columns.at(simd, *p, i);
                        if *over == Over::Positions {
                            mean = mean.k(0.0);
                            for other in (i % each..count).step_by(each) {
                                mean = mean + columns.at(simd, *p, other);
                            }
                            mean = mean * mean.k(each as f64 / count as f64);
                        }
                        let one = mean.k(1.0) / (mean + mean.k(*eps)).sqrt();
                        T::vectors_mut::<S>(made.all_mut())[i] = one.1;
                    }
                    columns.set(*root, made.all());
                    for i in 0..count {
                        let one = V(simd, T::vectors::<S>(made.all())[i]);
                        let p = columns.at(simd, *p, i);
                        let new = one * one * p * p.k(*gamma_square);
                        T::vectors_mut::<S>(made.all_mut())[i] = new.1;
                    }
                    columns.set(*out, made.all());
                }
            }
        }
    }
}

impl<T: SimdNumber> Columns<T> {
    /// Register i of a variance.
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, view: View, i: usize) -> V<S, T> {
        let first = self.offsets[view.side] * self.batch;
        let value = V(simd, registers::<S, T>(&self.sides.all()[first..])[i]);
        value.mul_add(value.k(view.gain), value.k(view.shift))
    }
}
