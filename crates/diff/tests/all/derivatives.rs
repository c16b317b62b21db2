//! Every op, orders 1 to 3, against central differences in f64.
//!
//! Catches a wrong transpose, a missing term of a product rule, a planner that frees a buffer too
//! early. Each op is wrapped as s(x) = Σ c·tanh(op(x + 0.3 sin x)), so that linear ops have higher
//! derivatives too. Order 1 is compared with differences of s, order k+1 with differences of order
//! k, each by both modes: reverse, and forward over reverse.

use polariscope_diff::cuda::{Gpu, Workspace};
use polariscope_diff::{
    Conv, Crop, Function, Id, Number, Origin, Precision, Program, Trace, Window, jvp, vjp, vmap,
};

/// A small deterministic generator of numbers in (−1, 1).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 / (1u64 << 52) as f64) - 1.0
    }

    fn take(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ⟨∇s, u⟩ summed over the inputs.
fn along(t: &mut Trace, gradient: &[Id], u: &[Id]) -> Id {
    let mut sum = t.constant(0.0, &[1]);
    for (&g, &u) in gradient.iter().zip(u) {
        let product = t.mul(g, u);
        let part = t.total(product);
        sum = t.add(sum, part);
    }
    sum
}

/// Checks derivatives of `op` of several inputs, with first-layer offsets away from kinks.
fn check(name: &str, shapes: &[&[usize]], op: impl Fn(&mut Trace, &[Id]) -> Id) {
    check_at(name, shapes, |v| v, op);
}

fn check_at(
    name: &str,
    shapes: &[&[usize]],
    place: impl Fn(f64) -> f64,
    op: impl Fn(&mut Trace, &[Id]) -> Id,
) {
    let mut numbers = Numbers(name.len() as u64 * 77 + 5);
    let mut t = Trace::new();
    let x: Vec<Id> = shapes.iter().map(|s| t.leaf(s)).collect();
    let u: Vec<Id> = shapes.iter().map(|s| t.leaf(s)).collect();
    let bent: Vec<Id> = x
        .iter()
        .map(|&x| {
            let s = t.map(Function::Sin, x);
            let s = t.scale(s, 0.3);
            t.add(x, s)
        })
        .collect();
    let y = op(&mut t, &bent);
    let y = t.map(Function::Tanh, y);
    let shape = t.shape(y).to_vec();
    let weights = t.leaf(&shape);
    let weighted = t.mul(y, weights);
    let s = t.total(weighted);

    // Orders 1..3 along u by reverse mode; orders 2 and 3 by forward mode over it.
    let one = t.constant(1.0, &[1]);
    let mut reverse = vec![s];
    for order in 0..3 {
        let gradient = vjp(&mut t, &[(reverse[order], one)], &x);
        let next = along(&mut t, &gradient, &u);
        reverse.push(next);
    }
    let tangents: Vec<(Id, Id)> = x.iter().copied().zip(u.iter().copied()).collect();
    let mut forward = vec![reverse[1]];
    for order in 0..2 {
        let next = jvp(&mut t, &[forward[order]], &tangents)[0];
        forward.push(next);
    }
    let pure_forward = jvp(&mut t, &[s], &tangents)[0];
    let outputs: Vec<Id> = reverse
        .iter()
        .chain(&forward[1..])
        .copied()
        .chain([pure_forward])
        .collect();
    let program = Program::new(&t, &outputs);

    let at: Vec<Vec<f64>> = shapes
        .iter()
        .map(|s| {
            numbers
                .take(s.iter().product())
                .into_iter()
                .map(&place)
                .collect()
        })
        .collect();
    // A direction of length 1: longer ones would move large sums too far for the differences.
    let mut along: Vec<Vec<f64>> = shapes
        .iter()
        .map(|s| numbers.take(s.iter().product()))
        .collect();
    let length = along.iter().map(|u| dot(u, u)).sum::<f64>().sqrt();
    along.iter_mut().flatten().for_each(|u| *u /= length);
    let weights = numbers.take(shape.iter().product());
    // The leaves with the inputs from number `first` on moved by h.
    let leaves = |h: f64, first: usize| -> Vec<Vec<f64>> {
        let moved = at.iter().zip(&along).enumerate().map(|(i, (x, u))| {
            let h = if i < first { 0.0 } else { h };
            x.iter().zip(u).map(|(x, u)| x + h * u).collect()
        });
        let rest = along.iter().cloned().chain([weights.clone()]);
        moved.chain(rest).collect()
    };
    let evaluate_from = |h: f64, first: usize| -> Vec<f64> {
        let outputs = run(&program, &leaves(h, first));
        outputs.into_iter().map(|v| v[0]).collect()
    };
    let evaluate = |h: f64| evaluate_from(h, 0);
    let exact = evaluate(0.0);
    on_the_gpu::<f64>(name, &program, &leaves(0.0, 0), 1e-11);
    on_the_gpu::<f32>(name, &program, &leaves(0.0, 0), 1e-5);
    // Three values of the inputs at once, and of the last one alone.
    for first in [0, x.len() - 1] {
        let steps = [0.0, 0.1, -0.2];
        let (many, outputs) = vmap(&t, &outputs, &x[first..], steps.len());
        let program = Program::new(&many, &outputs);
        let mut together = leaves(0.0, first);
        for (i, leaf) in together.iter_mut().enumerate().take(x.len()).skip(first) {
            *leaf = steps.map(|h| leaves(h, first)[i].clone()).concat();
        }
        let found = run(&program, &together);
        for (k, h) in steps.into_iter().enumerate() {
            for (i, want) in evaluate_from(h, first).into_iter().enumerate() {
                let error = (found[i][k] - want).abs();
                assert!(
                    error < 1e-11 * (1.0 + want.abs()),
                    "{name}: output {i} is {want}, but {} beside others",
                    found[i][k]
                );
            }
        }
        // In f64 alone: third derivatives at these points cancel more than f32 has digits for, here as there.
        on_the_gpu::<f64>(name, &program, &together, 1e-11);
    }
    // Fourth-order central difference: the error is h⁴ f⁽⁵⁾/30 plus rounding/h, both below 1e-9 here.
    let h = 2e-3;
    let (a, b, c, d) = (
        evaluate(-2.0 * h),
        evaluate(-h),
        evaluate(h),
        evaluate(2.0 * h),
    );
    let scale = 1.0 + dot(&exact[..4], &exact[..4]).sqrt();
    for order in 0..3 {
        let difference = (a[order] - 8.0 * b[order] + 8.0 * c[order] - d[order]) / (12.0 * h);
        let error = (exact[order + 1] - difference).abs() / scale;
        assert!(
            error < 1e-6,
            "{name}: order {} is {} but differences give {difference}",
            order + 1,
            exact[order + 1]
        );
    }
    assert!(
        exact[1].abs() > 1e-6 && (exact[2].abs() > 1e-7 || name.contains("kinked")),
        "{name}: the check is empty"
    );
    for (forward, reverse) in [
        (exact[4], exact[2]),
        (exact[5], exact[3]),
        (exact[6], exact[1]),
    ] {
        assert!(
            (forward - reverse).abs() < 1e-10 * scale,
            "{name}: forward mode {forward}, reverse mode {reverse}"
        );
    }
}

fn run(program: &Program, leaves: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let leaves: Vec<&[f64]> = leaves.iter().map(Vec::as_slice).collect();
    program.evaluate(&leaves)
}

/// The same program on a GPU, to a share of the largest number (`cargo xtask test-cuda`).
fn on_the_gpu<T: Number>(name: &str, program: &Program, leaves: &[Vec<f64>], tolerance: f64) {
    if std::env::var_os("POLARISCOPE_CUDA").is_none() {
        return;
    }
    let exact = run(program, leaves).concat();
    let leaves: Vec<Vec<T>> = leaves
        .iter()
        .map(|x| x.iter().map(|&x| T::from_f64(x)).collect())
        .collect();
    let leaves: Vec<&[T]> = leaves.iter().map(Vec::as_slice).collect();
    let mut workspace =
        Workspace::<T>::new(Gpu::open(0).unwrap(), program, Precision::Full).unwrap();
    workspace.run(program, &leaves).unwrap();
    let scale = exact.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    let outputs = (0..program.outputs.len()).flat_map(|i| workspace.output(i));
    for (i, (found, exact)) in outputs.zip(&exact).enumerate() {
        assert!(
            (found.to_f64() - exact).abs() < tolerance * scale,
            "{name}: number {i} is {found} on the GPU, {exact} here"
        );
    }
}

fn window(
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    pad: [(usize, usize); 2],
) -> Window {
    Window {
        kernel,
        stride,
        dilation,
        pad,
    }
}

#[test]
fn functions() {
    use Function::*;
    for f in [
        Gelu,
        NormalCdf,
        NormalPdf,
        Tanh,
        Erf,
        Sin,
        Cos,
        Sigmoid,
        Exp,
        Softplus(5.0.into()),
        Softplus(1.0.into()),
    ] {
        check(&format!("{f:?}"), &[&[7]], |t, x| t.map(f, x[0]));
    }
    for f in [
        Log,
        Pow((-1.0).into()),
        Pow(0.5.into()),
        Pow((-0.5).into()),
        Pow(2.0.into()),
        Pow(3.0.into()),
        Pow(2.5.into()),
    ] {
        check_at(
            &format!("{f:?}"),
            &[&[7]],
            |v| 1.5 + 0.5 * v,
            |t, x| t.map(f, x[0]),
        );
    }
    for f in [Asin, AsinIntegral] {
        check_at(
            &format!("{f:?}"),
            &[&[7]],
            |v| 0.4 * v,
            |t, x| t.map(f, x[0]),
        );
    }
    // Away from the kink at 0 by more than the difference step moves.
    for f in [Relu, LeakyRelu(0.2.into()), Abs, LeakyRelu((-0.5).into())] {
        check_at(
            &format!("{f:?}"),
            &[&[7]],
            |v| v + 0.1 * v.signum(),
            |t, x| t.map(f, x[0]),
        );
    }
}

#[test]
fn arithmetic() {
    check("add", &[&[5], &[5]], |t, x| t.add(x[0], x[1]));
    check("sub", &[&[5], &[5]], |t, x| t.sub(x[0], x[1]));
    check("mul", &[&[5], &[5]], |t, x| t.mul(x[0], x[1]));
    check("square", &[&[5]], |t, x| t.mul(x[0], x[0]));
    check_at("div", &[&[5], &[5]], |v| v + 2.0, |t, x| t.div(x[0], x[1]));
    check("scale and shift", &[&[5]], |t, x| {
        let y = t.scale(x[0], -1.7);
        t.shift(y, 0.3)
    });
    // One value read by many: the planner must store it once and free it last.
    check("diamond", &[&[6], &[6]], |t, x| {
        let a = t.mul(x[0], x[1]);
        let b = t.map(Function::Sin, a);
        let c = t.map(Function::Cos, a);
        let d = t.mul(b, c);
        let e = t.add(d, a);
        t.mul(e, b)
    });
}

#[test]
fn sums_and_layout() {
    check("sum", &[&[2, 3, 4]], |t, x| t.sum(x[0], &[0, 2]));
    check("sum inner", &[&[3, 4]], |t, x| t.sum(x[0], &[1]));
    check("sum outer", &[&[3, 4]], |t, x| t.sum(x[0], &[0]));
    check("expand", &[&[1, 3, 1], &[2, 3, 4]], |t, x| {
        let wide = t.expand(x[0], &[2, 3, 4]);
        t.mul(wide, x[1])
    });
    check("expand alone", &[&[2, 1, 3, 1]], |t, x| {
        t.expand(x[0], &[2, 2, 3, 2])
    });
    check("reshape", &[&[2, 6], &[3, 4]], |t, x| {
        let y = t.reshape(x[0], &[3, 4]);
        t.mul(y, x[1])
    });
    check("permute", &[&[2, 3, 4]], |t, x| t.permute(x[0], &[2, 0, 1]));
    check("slice", &[&[2, 5, 3]], |t, x| t.slice(x[0], 1, 1, 3));
    check("embed", &[&[2, 3, 2]], |t, x| t.embed(x[0], 1, 1, 6));
    check("concat", &[&[2, 3, 2], &[2, 1, 2]], |t, x| {
        t.concat(&[x[0], x[1], x[0]], 1)
    });
    check("log sum exp", &[&[3, 4]], |t, x| t.log_sum_exp(x[0]));
    check("softmax", &[&[3, 4]], |t, x| t.softmax(x[0]));
}

#[test]
fn products() {
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let a: &[usize] = if ta { &[2, 4, 3] } else { &[2, 3, 4] };
        let b: &[usize] = if tb { &[2, 5, 4] } else { &[2, 4, 5] };
        check(&format!("matmul {ta} {tb}"), &[a, b], |t, x| {
            t.matmul(x[0], x[1], ta, tb)
        });
    }
}

#[test]
fn convolutions() {
    let cases = [
        ("plain", [3, 3], [1, 1], [1, 1], [(1, 1), (1, 1)], 1),
        ("valid", [3, 2], [1, 1], [1, 1], [(0, 0), (0, 0)], 1),
        ("strided", [3, 3], [2, 2], [1, 1], [(1, 1), (1, 1)], 1),
        (
            "strided asymmetric",
            [3, 3],
            [2, 1],
            [1, 1],
            [(0, 1), (1, 1)],
            1,
        ),
        ("dilated", [2, 3], [1, 1], [2, 2], [(2, 1), (2, 2)], 1),
        ("grouped", [3, 3], [1, 1], [1, 1], [(1, 1), (1, 1)], 2),
        (
            "depthwise strided",
            [3, 3],
            [2, 2],
            [1, 1],
            [(1, 1), (1, 1)],
            4,
        ),
        ("point", [1, 1], [2, 2], [1, 1], [(0, 0), (0, 0)], 1),
        ("wide padding", [2, 2], [1, 1], [1, 1], [(2, 2), (3, 2)], 1),
        ("signal", [1, 3], [1, 2], [1, 1], [(0, 0), (1, 1)], 1),
    ];
    for (name, kernel, stride, dilation, pad, groups) in cases {
        let conv = Conv {
            window: window(kernel, stride, dilation, pad),
            groups,
            networks: 1,
        };
        check(
            name,
            &[&[2, 4, 5, 6], &[4, 4 / groups, kernel[0], kernel[1]]],
            |t, x| t.conv(x[0], x[1], conv),
        );
        // The other two contractions in their own right.
        let y = [
            2,
            4,
            conv.window.positions(0, 5),
            conv.window.positions(1, 6),
        ];
        let w = [4, 4 / groups, kernel[0], kernel[1]];
        check(name, &[&y, &w], |t, x| {
            t.conv_input(x[0], x[1], conv, &[2, 4, 5, 6])
        });
        check(name, &[&[2, 4, 5, 6], &y], |t, x| {
            t.conv_weight(x[0], x[1], conv, &w)
        });
    }
}

#[test]
fn windows() {
    for w in [
        window([2, 2], [2, 2], [1, 1], [(0, 0), (0, 0)]),
        window([3, 2], [2, 1], [1, 1], [(1, 1), (1, 0)]),
    ] {
        let y = [2, 3, w.positions(0, 6), w.positions(1, 5)];
        check("sum pool", &[&[2, 3, 6, 5]], |t, x| t.sum_pool(x[0], w));
        check("sum pool transpose", &[&y], |t, x| {
            t.sum_pool_transpose(x[0], w, &[2, 3, 6, 5])
        });
        check("max pool", &[&[2, 3, 6, 5]], |t, x| t.max_pool(x[0], w));
        check(
            "max pool after bias and relu",
            &[&[2, 3, 6, 5], &[1, 3, 1, 1]],
            |t, x| {
                let bias = t.expand(x[1], &[2, 3, 6, 5]);
                let y = t.add(x[0], bias);
                let y = t.map(Function::Relu, y);
                t.max_pool(y, w)
            },
        );
        check("unfold", &[&[2, 3, 6, 5]], |t, x| t.unfold(x[0], w));
        let columns = [2, 3 * w.kernel[0] * w.kernel[1], y[2] * y[3]];
        check("fold", &[&columns], |t, x| t.fold(x[0], w, &[2, 3, 6, 5]));
    }
    let crop = Crop {
        grid: [1, 3],
        map: [4, 5],
        from: Origin {
            divide: 2,
            times: 1,
            plus: [-1, 0],
        },
        to: Origin {
            divide: 1,
            times: 2,
            plus: [0, -2],
        },
    };
    check("crop", &[&[6, 2, 3, 3]], |t, x| {
        t.crop(x[0], crop, 6, [3, 4])
    });
    for minus in [false, true] {
        check("paste", &[&[6, 2, 3, 3], &[2, 2, 4, 5]], |t, x| {
            t.paste(x[0], x[1], crop, minus, [3, 4])
        });
    }
    let from = Origin::MAP;
    check("crop of one", &[&[1, 2, 4, 5]], |t, x| {
        t.crop(x[0], Crop { from, ..crop }, 3, [2, 3])
    });
    check("wrap", &[&[2, 2, 3, 4]], |t, x| {
        t.wrap(x[0], [(1, 2), (5, 1)])
    });
    check("unwrap", &[&[2, 2, 6, 7]], |t, x| {
        t.unwrap(x[0], [(1, 2), (2, 1)])
    });
}
