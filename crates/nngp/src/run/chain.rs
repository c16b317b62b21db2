//! The pointwise operations of a step on one row of its field.

use polariscope_graph::Activation;
use polariscope_meanfield::dual::{Pair, dual};
use pulp::Simd;

use super::frame::Frame;
use super::pair::{Both, Tangent};
use super::registers;
use super::rows::{add_covariance, exchange};
use super::work::Field;
use crate::plan::{Form, Link, Shared, Step};
use crate::simd::{SimdNumber, V, erf, gelu, kinked};

/// Applies the chain to row r.
#[inline(always)]
pub(super) fn row<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    step: &Step,
    frame: &Frame,
    r: usize,
    field: &mut Field<T>,
) {
    for link in &step.chain {
        match link {
            Link::Bias { variance, ntk } => {
                if step.form_in == Form::Covariance {
                    shift(simd, both, frame, r, *variance, field.k.all_mut());
                }
                if both.tangent == Tangent::Carried {
                    shift(simd, both, frame, r, *ntk, field.t.all_mut());
                }
            }
            Link::Embedding { variance, ntk } => {
                match (step.form_in, frame.is_diagonal()) {
                    (Form::Covariance, true) => {
                        shift(simd, both, frame, r, *variance, field.k.all_mut());
                    }
                    (Form::Gap, false) => {
                        shift(simd, both, frame, r, 2.0 * variance, field.k.all_mut());
                    }
                    _ => {}
                }
                if both.tangent == Tangent::Carried && frame.is_diagonal() {
                    shift(simd, both, frame, r, *ntk, field.t.all_mut());
                }
            }
            Link::Scale { square } => {
                scale(simd, both, frame, r, *square, field.k.all_mut());
                if both.tangent == Tangent::Carried {
                    scale(simd, both, frame, r, *square, field.t.all_mut());
                }
            }
            Link::Kink { .. } => {
                let own = step.left_to_kink();
                kink_row::<S, T>(simd, both, link, own, (frame, r), field);
            }
            Link::Smooth { .. } => smooth_row::<S, T>(simd, both, link, frame, r, field),
            Link::Norm { .. } => norm_row::<S, T>(simd, both, link, frame, r, field),
            Link::Gamma { own, shared, p } => {
                let trained = *shared == Shared::Yes || frame.is_diagonal();
                if trained && both.tangent == Tangent::Carried {
                    add_covariance::<S, T>(simd, both, *p, (frame, r), *own, field);
                }
            }
        }
    }
    if step.form_in == Form::Gap && step.form_out == Form::Covariance {
        let view = step.variance_out;
        exchange::<S, T>(simd, both, view, (frame, r), Form::Covariance, field);
    }
}

#[inline(always)]
fn shift<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    frame: &Frame,
    r: usize,
    by: f64,
    values: &mut [T],
) {
    let row = &mut values[frame.row(r, both.batch)];
    let by = T::splat(simd, T::of(by));
    for v in T::vectors_mut::<S>(row) {
        *v = T::plus(simd, *v, by);
    }
}

#[inline(always)]
fn scale<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    frame: &Frame,
    r: usize,
    by: f64,
    values: &mut [T],
) {
    let row = &mut values[frame.row(r, both.batch)];
    let by = T::splat(simd, T::of(by));
    for v in T::vectors_mut::<S>(row) {
        *v = T::times(simd, *v, by);
    }
}

/// D' of the kink, Θ' = E[φ'φ'] (Θ + own · c).
#[inline(always)]
fn kink_row<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    link: &Link,
    own: f64,
    (frame, r): (&Frame, usize),
    field: &mut Field<T>,
) {
    let &Link::Kink { kink, p: view } = link else {
        return;
    };
    let half_own = V::<S, T>::constant(simd, 0.5 * own);
    let each = both.registers_each;
    let p_side = both.left(view.side);
    let q_side = registers::<S, T>(both.right(view.side));
    let k_field = T::vectors_mut::<S>(field.k.all_mut());
    let t_field = T::vectors_mut::<S>(field.t.all_mut());
    let gain = V::<S, T>::constant(simd, view.gain);
    let shift = V::constant(simd, view.shift);
    for (mine, len, other) in frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let p = both.at(simd, p_side, mine + c, k);
                let q = V(simd, q_side[(other + c) * each + k]);
                let (p, q) = (p.mul_add(gain, shift), q.mul_add(gain, shift));
                let at = (mine + c) * each + k;
                let old = V(simd, k_field[at]);
                let (gap, slope) = kinked(&kink, old, p, q);
                k_field[at] = gap.1;
                if both.tangent == Tangent::Carried {
                    let t = (p + q - old).mul_add(half_own, V(simd, t_field[at]));
                    t_field[at] = (t * slope).1;
                }
            }
        }
    }
}

/// (E[φφ], E[φ'φ']) of one register.
#[inline(always)]
pub(super) fn smooth<S: Simd, T: SimdNumber>(
    activation: Activation,
    gap: V<S, T>,
    p: V<S, T>,
    q: V<S, T>,
) -> (V<S, T>, V<S, T>) {
    match activation {
        Activation::Erf => erf(gap, p, q),
        Activation::Gelu => gelu(gap, p, q),
        Activation::Identity
        | Activation::Relu
        | Activation::LeakyRelu { .. }
        | Activation::Abs
        | Activation::Tanh
        | Activation::Sin
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::HardSigmoid
        | Activation::HardSwish
        | Activation::Softplus { .. } => {
            let one = |values: &T::Vector<S>, lane: usize| -> f64 {
                T::lanes::<S>(std::slice::from_ref(values))[lane].into()
            };
            let (mut value, mut slope) = (gap.k(0.0), gap.k(0.0));
            for lane in 0..size_of::<T::Vector<S>>() / size_of::<T>() {
                let (q11, q22) = (one(&p.1, lane), one(&q.1, lane));
                let q12 = 0.5 * (q11 + q22 - one(&gap.1, lane));
                let made = dual(activation, Pair { q11, q12, q22 });
                T::lanes_mut::<S>(std::slice::from_mut(&mut value.1))[lane] = T::of(made.value);
                T::lanes_mut::<S>(std::slice::from_mut(&mut slope.1))[lane] = T::of(made.slope);
            }
            (value, slope)
        }
    }
}

/// D' = F(p) + F(q) − 2E[φφ'].
#[inline(always)]
fn smooth_row<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    link: &Link,
    frame: &Frame,
    r: usize,
    field: &mut Field<T>,
) {
    let &Link::Smooth {
        activation,
        p: view,
        out,
    } = link
    else {
        return;
    };
    let each = both.registers_each;
    let (p_side, p_out) = (both.left(view.side), both.left(out));
    let q_side = registers::<S, T>(both.right(view.side));
    let q_out = registers::<S, T>(both.right(out));
    let k_field = T::vectors_mut::<S>(field.k.all_mut());
    let t_field = T::vectors_mut::<S>(field.t.all_mut());
    let gain = V::<S, T>::constant(simd, view.gain);
    let shift = V::constant(simd, view.shift);
    for (mine, len, other) in frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let p = both.at(simd, p_side, mine + c, k);
                let q = V(simd, q_side[(other + c) * each + k]);
                let (p, q) = (p.mul_add(gain, shift), q.mul_add(gain, shift));
                let at = (mine + c) * each + k;
                let (value, slope) = smooth(activation, V(simd, k_field[at]), p, q);
                let p = both.at(simd, p_out, mine + c, k);
                let q = V(simd, q_out[(other + c) * each + k]);
                k_field[at] = (p + q - (value + value)).1;
                if both.tangent == Tangent::Carried {
                    t_field[at] = T::times(simd, t_field[at], slope.1);
                }
            }
        }
    }
}

/// D' = γ²(r_p r_q D + (r_p − r_q)(r_p p − r_q q)), with r = 1/√(p̄ + ε); Θ' = γ² r_p r_q Θ.
#[inline(always)]
fn norm_row<S: Simd, T: SimdNumber>(
    simd: S,
    both: &Both<T>,
    link: &Link,
    frame: &Frame,
    r: usize,
    field: &mut Field<T>,
) {
    let Link::Norm {
        gamma_square,
        p: view,
        root,
        ..
    } = link
    else {
        return;
    };
    let each = both.registers_each;
    let (p_side, p_root) = (both.left(view.side), both.left(*root));
    let q_side = registers::<S, T>(both.right(view.side));
    let q_root = registers::<S, T>(both.right(*root));
    let k_field = T::vectors_mut::<S>(field.k.all_mut());
    let t_field = T::vectors_mut::<S>(field.t.all_mut());
    let gain = V::<S, T>::constant(simd, view.gain);
    let shift = V::constant(simd, view.shift);
    let gamma = V::<S, T>::constant(simd, *gamma_square);
    for (mine, len, other) in frame.runs(r) {
        for c in 0..len {
            for k in 0..each {
                let p = both.at(simd, p_side, mine + c, k);
                let q = V(simd, q_side[(other + c) * each + k]);
                let (p, q) = (p.mul_add(gain, shift), q.mul_add(gain, shift));
                let a = both.at(simd, p_root, mine + c, k);
                let b = V(simd, q_root[(other + c) * each + k]);
                let at = (mine + c) * each + k;
                let gap = V(simd, k_field[at]);
                let both_roots = a * b;
                let new = both_roots.mul_add(gap, (a - b) * (a * p - b * q));
                k_field[at] = (gamma * new).1;
                if both.tangent == Tangent::Carried {
                    let t = gamma * both_roots * V(simd, t_field[at]);
                    t_field[at] = t.1;
                }
            }
        }
    }
}
