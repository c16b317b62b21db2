//! Products by every instruction set against plain sums.

use std::ops::Range;

use pulp::{Arch, Scalar, Simd};

use super::{DEPTH, Fill, Gaps, Side, Square, Squared};
use crate::simd::SimdNumber;

/// Numbers without a pattern; samples 3 and 40 are nearly the same.
fn samples<T: SimdNumber>(n: usize, inputs: usize) -> Vec<T> {
    let noise = |i: usize| ((i * 2654435761) % 1000003) as f64 / 1000003.0 - 0.5;
    let mut x: Vec<f64> = (0..n * inputs).map(noise).collect();
    let twin: Vec<f64> = x[3 * inputs..4 * inputs].to_vec();
    for (x, twin) in x[40 * inputs..].iter_mut().zip(twin) {
        *x = twin + 1e-3;
    }
    x.into_iter().map(T::of).collect()
}

/// Every instruction set, with rows, columns and inputs that fill nothing.
fn check<T: SimdNumber>(tolerance: f64, dispatch: impl Fn(Fill<T>)) {
    let (n, inputs) = (101, DEPTH + 13);
    let x = samples::<T>(n, inputs);
    let squares: Vec<T> = x
        .chunks(inputs)
        .map(|x| Arch::new().dispatch(Square(x)))
        .collect();
    let all = Squared {
        x: &x,
        squares: &squares,
    };
    let side = |range: Range<usize>| Side {
        samples: all,
        range,
        inputs,
    };
    let mut gaps = Gaps::new();
    // The second has columns of the first again; the third nothing below a diagonal.
    for (rows, columns, diagonal) in [
        (0..17, 5..101, isize::MIN),
        (17..24, 5..101, isize::MIN),
        (30..101, 1..72, -11),
    ] {
        dispatch(Fill {
            rows: side(rows.clone()),
            columns: side(columns.clone()),
            diagonal,
            gaps: &mut gaps,
        });
        for (i, row) in rows.enumerate() {
            for (j, column) in columns.clone().enumerate() {
                if (j as isize) < (i as isize).saturating_add(diagonal) {
                    continue;
                }
                let pairs = x[row * inputs..][..inputs]
                    .iter()
                    .zip(&x[column * inputs..][..inputs]);
                let exact: f64 = pairs.map(|(&x, &y)| (x.into() - y.into()).powi(2)).sum();
                let gap: f64 = gaps.row(i)[j].into();
                assert!(
                    (gap - exact).abs() <= tolerance * exact,
                    "{row}, {column}: {gap} in place of {exact}"
                );
            }
        }
    }
}

/// p + q − 2c of numbers near inputs/6 loses two digits at most, where it would lose more it is summed directly.
#[test]
fn every_instruction_set() {
    check::<f64>(1e-12, |fill| Scalar::new().vectorize(fill));
    check::<f32>(1e-4, |fill| Scalar::new().vectorize(fill));
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        check::<f64>(1e-12, |fill| Simd::vectorize(simd, fill));
        check::<f32>(1e-4, |fill| Simd::vectorize(simd, fill));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        check::<f64>(1e-12, |fill| Simd::vectorize(simd, fill));
        check::<f32>(1e-4, |fill| Simd::vectorize(simd, fill));
    }
}
