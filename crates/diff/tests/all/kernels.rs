//! Large shapes against plain loops.
//!
//! The derivative tests use small shapes; these reach the blocked, in-place, Winograd and parallel
//! paths, with sizes that leave remainders in every block. Catches a wrong edge, offset or stride.

use polariscope_diff::{Conv, Number, Program, Trace, Window};

fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Multiples of 2⁻⁸: exact in f32, so both types see the same inputs.
        ((state >> 55) as f64 - 256.0) / 256.0
    };
    (0..n).map(|_| next()).collect()
}

fn relative(a: &[f64], b: &[f64]) -> f64 {
    let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    let norm: f64 = b.iter().map(|b| b * b).sum();
    (distance / norm).sqrt()
}

fn run<T: Number>(t: &Trace, out: polariscope_diff::Id, leaves: &[&[f64]]) -> Vec<f64> {
    let leaves: Vec<Vec<T>> = leaves
        .iter()
        .map(|l| l.iter().map(|&x| T::from_f64(x)).collect())
        .collect();
    let leaves: Vec<&[T]> = leaves.iter().map(Vec::as_slice).collect();
    Program::new(t, &[out]).evaluate(&leaves)[0]
        .iter()
        .map(|x| x.to_f64())
        .collect()
}

struct Case {
    conv: Conv,
    x: [usize; 4],
    w: [usize; 4],
    y: [usize; 4],
}

impl Case {
    /// N×C×H×W with `o` kernels of k × k at a stride, with padding, in groups.
    fn new(x: [usize; 4], o: usize, [k, stride, pad]: [usize; 3], groups: usize) -> Self {
        let window = Window {
            kernel: [k, k],
            stride: [stride; 2],
            dilation: [1, 1],
            pad: [(pad, pad); 2],
        };
        let conv = Conv::new(window, groups);
        let y = [
            x[0],
            o,
            window.positions(0, x[2]),
            window.positions(1, x[3]),
        ];
        Case {
            conv,
            x,
            w: [o, x[1] / groups, k, k],
            y,
        }
    }

    /// Calls `f(y index, x index, w index)` for every product of the loop nest.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let ([n, c, h, w], [o, cg, k, _], [_, _, oh, ow]) = (self.x, self.w, self.y);
        let (stride, pad) = (self.conv.window.stride[0], self.conv.window.pad[0].0);
        for n in 0..n {
            for o_ in 0..o {
                let first = o_ / (o / self.conv.groups) * cg;
                for i in 0..oh {
                    for j in 0..ow {
                        for c_ in 0..cg {
                            for a in 0..k {
                                for b in 0..k {
                                    let (ih, iw) = (i * stride + a, j * stride + b);
                                    if ih < pad || iw < pad || ih - pad >= h || iw - pad >= w {
                                        continue;
                                    }
                                    let x = ((n * c + first + c_) * h + ih - pad) * w + iw - pad;
                                    f(
                                        ((n * o + o_) * oh + i) * ow + j,
                                        x,
                                        ((o_ * cg + c_) * k + a) * k + b,
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn convolutions_equal_the_loop_nest() {
    let cases = [
        // Winograd: even, odd, rectangular, several samples, channels with remainders.
        Case::new([2, 32, 14, 14], 35, [3, 1, 1], 1),
        Case::new([3, 33, 13, 17], 32, [3, 1, 1], 1),
        Case::new([13, 40, 5, 6], 32, [3, 1, 1], 1),
        Case::new([2, 32, 18, 16], 32, [3, 1, 0], 1),
        Case::new([2, 32, 16, 15], 32, [3, 1, 2], 1),
        // Read in place: long rows, strides, groups.
        Case::new([3, 1, 32, 32], 6, [5, 1, 0], 1),
        Case::new([5, 6, 14, 14], 15, [5, 1, 0], 1),
        Case::new([2, 3, 33, 31], 20, [3, 2, 1], 1),
        Case::new([2, 6, 40, 50], 9, [4, 3, 2], 3),
        Case::new([2, 8, 20, 20], 8, [3, 1, 1], 8),
        // Channels as vectors: short rows, 16 or 32 channels.
        Case::new([5, 6, 14, 14], 16, [5, 1, 0], 1),
        Case::new([4, 5, 9, 11], 32, [3, 2, 1], 1),
        // Packed patches: short rows, many channels.
        Case::new([7, 48, 6, 5], 70, [3, 2, 1], 1),
        Case::new([30, 20, 4, 4], 64, [3, 1, 1], 1),
        Case::new([9, 64, 7, 7], 130, [1, 2, 0], 1),
    ];
    for (i, case) in cases.iter().enumerate() {
        let size = |s: [usize; 4]| s.iter().product::<usize>();
        let (x, w, g) = (
            numbers(size(case.x), 1),
            numbers(size(case.w), 2),
            numbers(size(case.y), 3),
        );
        let (mut y, mut dx, mut dw) = (vec![0.0; g.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        case.each(|yi, xi, wi| {
            y[yi] += x[xi] * w[wi];
            dx[xi] += g[yi] * w[wi];
            dw[wi] += g[yi] * x[xi];
        });
        let mut t = Trace::new();
        let (xl, wl, gl) = (t.leaf(&case.x), t.leaf(&case.w), t.leaf(&case.y));
        let outputs = [
            (t.conv(xl, wl, case.conv), &y),
            (t.conv_input(gl, wl, case.conv, &case.x), &dx),
            (t.conv_weight(xl, gl, case.conv, &case.w), &dw),
        ];
        for (which, (out, expected)) in outputs.into_iter().enumerate() {
            let error = relative(&run::<f64>(&t, out, &[&x, &w, &g]), expected);
            assert!(error < 1e-13, "case {i}, contraction {which}, f64: {error}");
            let error = relative(&run::<f32>(&t, out, &[&x, &w, &g]), expected);
            assert!(error < 3e-6, "case {i}, contraction {which}, f32: {error}");
        }
    }
}

#[test]
fn products_equal_the_loop_nest() {
    for (batch, m, n, k) in [
        (1, 1, 1, 1),
        (1, 9, 50, 7),
        (3, 17, 49, 330),
        (1, 300, 130, 700),
        (1, 131, 515, 400),
        (5, 64, 64, 200),
    ] {
        let (a, b) = (numbers(batch * m * k, 4), numbers(batch * k * n, 5));
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut expected = vec![0.0; batch * m * n];
            for s in 0..batch {
                for i in 0..m {
                    for p in 0..k {
                        let x = if ta {
                            a[(s * k + p) * m + i]
                        } else {
                            a[(s * m + i) * k + p]
                        };
                        for j in 0..n {
                            let y = if tb {
                                b[(s * n + j) * k + p]
                            } else {
                                b[(s * k + p) * n + j]
                            };
                            expected[(s * m + i) * n + j] += x * y;
                        }
                    }
                }
            }
            let mut t = Trace::new();
            let al = t.leaf(&if ta { [batch, k, m] } else { [batch, m, k] });
            let bl = t.leaf(&if tb { [batch, n, k] } else { [batch, k, n] });
            let c = t.matmul(al, bl, ta, tb);
            let error = relative(&run::<f64>(&t, c, &[&a, &b]), &expected);
            assert!(error < 1e-13, "{batch}×{m}×{n}×{k} {ta} {tb}, f64: {error}");
            let error = relative(&run::<f32>(&t, c, &[&a, &b]), &expected);
            assert!(error < 3e-6, "{batch}×{m}×{n}×{k} {ta} {tb}, f32: {error}");
        }
    }
}

#[test]
fn sums_equal_the_loop() {
    let shape = [3, 40, 50, 60];
    let x = numbers(shape.iter().product(), 6);
    for axes in [
        &[0][..],
        &[1],
        &[3],
        &[0, 2],
        &[1, 2, 3],
        &[0, 2, 3],
        &[0, 1, 2, 3],
    ] {
        let mut to = shape;
        axes.iter().for_each(|&a| to[a] = 1);
        let mut expected = vec![0.0; to.iter().product()];
        for (i, x) in x.iter().enumerate() {
            let index = [i / 120_000, i / 3000 % 40, i / 60 % 50, i % 60];
            let at = index
                .iter()
                .zip(to)
                .fold(0, |at, (&i, n)| at * n + if n == 1 { 0 } else { i });
            expected[at] += x;
        }
        let mut t = Trace::new();
        let leaf = t.leaf(&shape);
        let y = t.sum(leaf, axes);
        assert!(
            relative(&run::<f64>(&t, y, &[&x]), &expected) < 1e-13,
            "{axes:?}"
        );
        assert!(
            relative(&run::<f32>(&t, y, &[&x]), &expected) < 1e-5,
            "{axes:?}"
        );
    }
}

/// Long chains over several tasks, with operands that repeat: catches a block that starts at the wrong place.
#[test]
fn elementwise_chains_equal_the_loop() {
    let shape = [7, 33, 400];
    let n = shape.iter().product();
    let (x, per_row, per_column) = (numbers(n, 7), numbers(33, 8), numbers(400, 9));
    let expected: Vec<f64> = (0..n)
        .map(|i| (x[i] * per_row[i / 400 % 33] + per_column[i % 400]).max(0.0) - 2.0 * x[i])
        .collect();
    let mut t = Trace::new();
    let (xl, rl, cl) = (t.leaf(&shape), t.leaf(&[1, 33, 1]), t.leaf(&[1, 1, 400]));
    let (r, c) = (t.expand(rl, &shape), t.expand(cl, &shape));
    let product = t.mul(xl, r);
    let sum = t.add(product, c);
    let positive = t.map(polariscope_diff::Function::Relu, sum);
    let twice = t.scale(xl, 2.0);
    let y = t.sub(positive, twice);
    assert!(relative(&run::<f64>(&t, y, &[&x, &per_row, &per_column]), &expected) < 1e-15);
}

/// Moving bias and relu behind a max-pool must not change a value: odd sizes, overlapping windows.
#[test]
fn pooling_commutes_with_bias_and_relu() {
    let (x, bias) = (numbers(2 * 3 * 9 * 7, 12), numbers(3, 13));
    let window = Window {
        kernel: [3, 2],
        stride: [2, 2],
        dilation: [1, 1],
        pad: [(1, 1), (0, 0)],
    };
    let mut expected = Vec::new();
    for plane in 0..6 {
        for i in 0..window.positions(0, 9) {
            for j in 0..window.positions(1, 7) {
                let taps = (0..3).flat_map(|a| (0..2).map(move |b| (2 * i + a, 2 * j + b)));
                let seen = taps.filter(|&(r, c)| (1..=9).contains(&r) && c < 7);
                let values =
                    seen.map(|(r, c)| (x[plane * 63 + (r - 1) * 7 + c] + bias[plane % 3]).max(0.0));
                expected.push(values.fold(f64::NEG_INFINITY, f64::max));
            }
        }
    }
    let mut t = Trace::new();
    let (xl, bl) = (t.leaf(&[2, 3, 9, 7]), t.leaf(&[1, 3, 1, 1]));
    let wide = t.expand(bl, &[2, 3, 9, 7]);
    let y = t.add(xl, wide);
    let y = t.map(polariscope_diff::Function::Relu, y);
    let y = t.max_pool(y, window);
    assert_eq!(run::<f64>(&t, y, &[&x, &bias]), expected);
}

#[test]
fn threads_do_not_change_a_bit() {
    let case = Case::new([40, 32, 16, 16], 64, [3, 1, 1], 1);
    let size = |s: [usize; 4]| s.iter().product::<usize>();
    let (x, w) = (numbers(size(case.x), 10), numbers(size(case.w), 11));
    let mut t = Trace::new();
    let (xl, wl) = (t.leaf(&case.x), t.leaf(&case.w));
    let y = t.conv(xl, wl, case.conv);
    let dw = t.conv_weight(xl, y, case.conv, &case.w);
    let total = t.sum(y, &[0, 2, 3]);
    let outputs = [y, dw, total];
    let with = |threads: usize| -> Vec<Vec<f64>> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| {
            outputs
                .iter()
                .map(|&o| run::<f32>(&t, o, &[&x, &w]))
                .collect()
        })
    };
    assert_eq!(with(1), with(3));
}
