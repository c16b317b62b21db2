//! Sums and maxima along axes. The order of a sum depends on the shapes alone.

use rayon::prelude::*;

use super::functions::Elementary;
use super::simd::vectorised;

/// Numbers under which a sum is not worth splitting.
const SPLIT: usize = 1 << 16;

/// An axis (or several that lie together) of a sum.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Kept(usize),
    Summed(usize),
}

/// Adjacent axes of one kind become one.
fn merge(from: &[usize], to: &[usize]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (&n, &m) in from.iter().zip(to) {
        if n == 1 {
            continue;
        }
        match (axes.last_mut(), n == m) {
            (Some(Axis::Kept(k)), true) => *k *= n,
            (Some(Axis::Summed(s)), false) => *s *= n,
            (_, true) => axes.push(Axis::Kept(n)),
            (_, false) => axes.push(Axis::Summed(n)),
        }
    }
    axes
}

/// out = Σ x over the axes of length 1 in `to`.
pub fn sum<T: Elementary>(x: &[T], from: &[usize], out: &mut [T], to: &[usize]) {
    let axes = merge(from, to);
    out.fill(T::ZERO);
    // Outermost kept axis: its entries are independent.
    if let [Axis::Kept(n), inner @ ..] = axes.as_slice()
        && !inner.is_empty()
    {
        let (step, width) = (x.len() / n, out.len() / n);
        let each = |(out, x): (&mut [T], &[T])| add(inner, x, out);
        if x.len() >= SPLIT {
            out.par_chunks_mut(width)
                .zip(x.par_chunks(step))
                .for_each(each);
        } else {
            out.chunks_mut(width).zip(x.chunks(step)).for_each(each);
        }
        return;
    }
    add(&axes, x, out);
}

/// out += Σ x along `axes`.
fn add<T: Elementary>(axes: &[Axis], x: &[T], out: &mut [T]) {
    match axes {
        [] | [Axis::Kept(_)] => add_rows(x, out),
        [Axis::Summed(_)] => out[0] += total(x),
        [Axis::Summed(_), Axis::Kept(_)] => add_rows(x, out),
        [Axis::Summed(n), inner @ ..] => x.chunks(x.len() / n).for_each(|x| add(inner, x, out)),
        [Axis::Kept(n), inner @ ..] => {
            let (step, width) = (x.len() / n, out.len() / n);
            out.chunks_mut(width)
                .zip(x.chunks(step))
                .for_each(|(out, x)| add(inner, x, out));
        }
    }
}

vectorised! {
    /// out += every row of x.
    fn add_rows<T: Elementary>(x: &[T], out: &mut [T]) {
        for row in x.chunks_exact(out.len()) {
            for (y, &x) in out.iter_mut().zip(row) {
                *y += x;
            }
        }
    }
}

vectorised! {
    /// Σ x by blocks of 4096 in 32 lanes, the blocks added pairwise: rounding grows as the logarithm.
    fn total<T: Elementary>(x: &[T]) -> T {
        const LANES: usize = 32;
        const BLOCK: usize = 4096;
        if x.len() > BLOCK {
            let half = (x.len() / 2).next_multiple_of(BLOCK).min(x.len() - 1);
            return total(&x[..half]) + total(&x[half..]);
        }
        let mut lanes = [T::ZERO; LANES];
        let chunks = x.chunks_exact(LANES);
        let rest: T = chunks.remainder().iter().copied().sum();
        for chunk in chunks {
            for (l, &x) in lanes.iter_mut().zip(chunk) {
                *l += x;
            }
        }
        lanes.iter().copied().sum::<T>() + rest
    }
}

/// Largest value of each row of `width`.
pub fn row_max<T: Elementary>(x: &[T], width: usize, out: &mut [T]) {
    for (y, row) in out.iter_mut().zip(x.chunks(width)) {
        *y = row
            .iter()
            .copied()
            .fold(row[0], |m, x| if x > m { x } else { m });
    }
}
