//! Moving numbers without changing them: axes reordered, parts taken, parts joined.

use super::functions::Elementary;
use crate::trace::Crop;

/// Axes before and after `axis`, multiplied out.
fn around(shape: &[usize], axis: usize) -> (usize, usize) {
    (
        shape[..axis].iter().product(),
        shape[axis + 1..].iter().product(),
    )
}

/// Axis i of the result is axis `order[i]` of x.
pub fn permute<T: Elementary>(order: &[usize], x: &[T], shape: &[usize], out: &mut [T]) {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    let lengths: Vec<usize> = order.iter().map(|&o| shape[o]).collect();
    let steps: Vec<usize> = order.iter().map(|&o| strides[o]).collect();
    let Some((&inner, outer)) = lengths.split_last() else {
        out.copy_from_slice(x);
        return;
    };
    let step = steps[outer.len()];
    let mut index = vec![0; outer.len()];
    let mut offset = 0;
    for row in out.chunks_exact_mut(inner) {
        if step == 1 {
            row.copy_from_slice(&x[offset..offset + inner]);
        } else {
            row.iter_mut()
                .enumerate()
                .for_each(|(i, y)| *y = x[offset + i * step]);
        }
        for axis in (0..outer.len()).rev() {
            index[axis] += 1;
            offset += steps[axis];
            if index[axis] < outer[axis] {
                break;
            }
            offset -= steps[axis] * outer[axis];
            index[axis] = 0;
        }
    }
}

/// Part of an axis from `start`; `to` is the shape of the result.
pub fn slice<T: Elementary>(
    axis: usize,
    start: usize,
    x: &[T],
    from: &[usize],
    out: &mut [T],
    to: &[usize],
) {
    let (_, inner) = around(from, axis);
    let (period, run) = (from[axis] * inner, to[axis] * inner);
    for (y, x) in out.chunks_mut(run).zip(x.chunks(period)) {
        y.copy_from_slice(&x[start * inner..start * inner + run]);
    }
}

/// Zeros with x from `start`; `to` is the shape of the result.
pub fn embed<T: Elementary>(
    axis: usize,
    start: usize,
    x: &[T],
    from: &[usize],
    out: &mut [T],
    to: &[usize],
) {
    let (_, inner) = around(from, axis);
    let (run, period) = (from[axis] * inner, to[axis] * inner);
    out.fill(T::ZERO);
    for (y, x) in out.chunks_mut(period).zip(x.chunks(run)) {
        y[start * inner..start * inner + run].copy_from_slice(x);
    }
}

/// Arguments one after the other along an axis; `to` is the shape of the result.
pub fn concat<T: Elementary>(axis: usize, parts: &[(&[T], &[usize])], out: &mut [T], to: &[usize]) {
    let (_, inner) = around(to, axis);
    let period = to[axis] * inner;
    let mut start = 0;
    for (x, shape) in parts {
        let run = shape[axis] * inner;
        for (y, x) in out.chunks_mut(period).zip(x.chunks(run)) {
            y[start..start + run].copy_from_slice(x);
        }
        start += run;
    }
}

/// Windows of samples, zeros outside, each number given to `put`.
pub fn crop<T: Elementary>(
    crop: &Crop,
    x: &[T],
    shape: &[usize],
    out: &mut [T],
    to: &[usize],
    put: impl Fn(&mut T, T),
) {
    let &[samples, channels, height, width] = shape else {
        return;
    };
    let (plane, window) = (height * width, [to[2], to[3]]);
    for (at, out) in out.chunks_exact_mut(window[0] * window[1]).enumerate() {
        let (n, c) = (at / channels, at % channels);
        let x = &x[(n / (to[0] / samples) * channels + c) * plane..][..plane];
        let pixel = crop.pixel(n);
        // The index along an axis that index i of the result reads, if there is one.
        let index = |axis: usize, i: usize| {
            let place = crop.to.at(axis, pixel[axis]) + i as isize;
            let inside = (0..crop.map[axis] as isize).contains(&place);
            let index = place - crop.from.at(axis, pixel[axis]);
            let there = (0..shape[2 + axis] as isize).contains(&index);
            (inside && there).then_some(index as usize)
        };
        for (i, row) in out.chunks_exact_mut(window[1]).enumerate() {
            let from = index(0, i);
            for (j, out) in row.iter_mut().enumerate() {
                let number = match (from, index(1, j)) {
                    (Some(i), Some(j)) => x[i * width + j],
                    _ => T::ZERO,
                };
                put(out, number);
            }
        }
    }
}
