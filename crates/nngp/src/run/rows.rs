//! Loops over one row of a field.

use pulp::Simd;

use super::conv::add;
use super::frame::Frame;
use super::pair::Both;
use super::registers;
use super::source::At;
use super::work::Field;
use crate::plan::{Form, View, Weights};
use crate::simd::{SimdNumber, V};

/// Σ_c (x − x')², or Σ_c x x'.
#[inline(always)]
pub(super) fn input<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    at: &At,
    r: usize,
    out: &mut [T],
) {
    let each = both.registers_each;
    let positions = at.frame.grid[0] * at.frame.grid[1];
    let channels = both.plan.input[0];
    let right = registers::<S, T>(both.columns.x.all());
    let out = T::vectors_mut::<S>(out);
    for (mine, len, other) in at.frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let mut sum = V::<S, T>::constant(simd, 0.0);
                for channel in 0..channels {
                    let from = channel * positions;
                    let u = both.at(simd, both.left_x, from + mine + c, k);
                    let v = V(simd, right[(from + other + c) * each + k]);
                    sum = match at.step.form_in {
                        Form::Gap => {
                            let d = u - v;
                            d.mul_add(d, sum)
                        }
                        Form::Covariance => u.mul_add(v, sum),
                    };
                }
                out[(mine + c) * each + k] = sum.1;
            }
        }
    }
}

/// From a gap to a covariance, (p + q − k)/2, or back, p + q − 2k.
#[inline(always)]
pub(super) fn exchange<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    view: View,
    (frame, r): (&Frame, usize),
    to: Form,
    field: &mut Field<T>,
) {
    let each = both.registers_each;
    let (p_side, q_side) = (both.left(view.side), both.right(view.side));
    let q_side = registers::<S, T>(q_side);
    let k_field = T::vectors_mut::<S>(field.k.all_mut());
    let (gain, shift) = (
        V::constant(simd, view.gain),
        V::constant(simd, 2.0 * view.shift),
    );
    let half = V::<S, T>::constant(simd, 0.5);
    for (mine, len, other) in frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let p = both.at(simd, p_side, mine + c, k);
                let q = V(simd, q_side[(other + c) * each + k]);
                let sum = (p + q).mul_add(gain, shift);
                let at = (mine + c) * each + k;
                let old = V(simd, k_field[at]);
                let new = match to {
                    Form::Covariance => (sum - old) * half,
                    Form::Gap => sum - (old + old),
                };
                k_field[at] = new.1;
            }
        }
    }
}

/// Θ += c/Var w: the weights themselves, unless the kink behind them does it.
#[inline(always)]
pub(super) fn own<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    at: &At,
    r: usize,
    weights: Weights,
    field: &mut Field<T>,
) {
    if at.step.left_to_kink() != 0.0 {
        return;
    }
    match at.step.form_in {
        Form::Covariance => {
            let row = at.frame.row(r, both.batch);
            let factor = T::of(weights.own);
            let k = &field.k.all()[row.clone()];
            add(simd, &mut field.t.all_mut()[row], k, factor);
        }
        Form::Gap => {
            let view = at.step.variance;
            add_covariance::<S, T>(simd, both, view, (&at.frame, r), weights.own, field);
        }
    }
}

/// Θ += factor · c, where the field holds a gap.
#[inline(always)]
pub(super) fn add_covariance<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    view: View,
    (frame, r): (&Frame, usize),
    factor: f64,
    field: &mut Field<T>,
) {
    let each = both.registers_each;
    let (p_side, q_side) = (both.left(view.side), both.right(view.side));
    let q_side = registers::<S, T>(q_side);
    let k_field = registers::<S, T>(field.k.all());
    let t_field = T::vectors_mut::<S>(field.t.all_mut());
    let (gain, shift) = (
        V::constant(simd, view.gain),
        V::constant(simd, 2.0 * view.shift),
    );
    let factor = V::<S, T>::constant(simd, 0.5 * factor);
    for (mine, len, other) in frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let p = both.at(simd, p_side, mine + c, k);
                let q = V(simd, q_side[(other + c) * each + k]);
                let at = (mine + c) * each + k;
                let twice = (p + q).mul_add(gain, shift) - V(simd, k_field[at]);
                t_field[at] = twice.mul_add(factor, V(simd, t_field[at])).1;
            }
        }
    }
}
