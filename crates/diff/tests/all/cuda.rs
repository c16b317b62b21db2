//! Steps that fill a GPU against the CPU: tiles with remainders, sums in parts, groups (`cargo xtask test-cuda`).

use polariscope_diff::cuda::{CudaError, Eigen, Gpu, Workspace};
use polariscope_diff::{Conv, Function, Id, Number, Precision, Program, Trace, Window, vjp};

/// Numbers in (−1, 1) without a pattern.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n)
        .map(|i| ((i * 2654435761 + seed * 40503) % 1000003) as f64 / 500001.5 - 1.0)
        .collect()
}

fn agree<T: Number>(program: &Program, leaves: &[Vec<f64>], precision: Precision, tolerance: f64) {
    let leaves: Vec<Vec<T>> = leaves
        .iter()
        .map(|x| x.iter().map(|&x| T::from_f64(x)).collect())
        .collect();
    let leaves: Vec<&[T]> = leaves.iter().map(Vec::as_slice).collect();
    let here = program.evaluate(&leaves);
    let mut workspace = Workspace::<T>::new(Gpu::open(0).unwrap(), program, precision).unwrap();
    workspace.run(program, &leaves).unwrap();
    for (i, here) in here.iter().enumerate() {
        let there = workspace.output(i);
        let scale = here.iter().fold(0.0, |m: f64, x| m.max(x.to_f64().abs()));
        for (k, (a, b)) in here.iter().zip(there).enumerate() {
            let error = (a.to_f64() - b.to_f64()).abs();
            assert!(
                error <= tolerance * scale,
                "output {i}, number {k}: {a} here, {b} on the GPU"
            );
        }
    }
}

/// The path of n nodes: 2 − 2 cos(kπ/(n + 1)), with A u = λ u for every vector that is looked at.
fn path(n: usize, tolerance: f64, every: usize) {
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        a[i * n + i] = 2.0;
        if i > 0 {
            a[i * n + i - 1] = -1.0;
            a[(i - 1) * n + i] = -1.0;
        }
    }
    let gpu = Gpu::open(0).unwrap();
    let found = gpu.eigen(&a, n).unwrap();
    let Eigen { values, vectors } = found.expect("cuSOLVER is there");
    let alone = gpu.eigenvalues(&a, n).unwrap().expect("cuSOLVER is there");
    for (k, pair) in values.iter().zip(&alone).enumerate() {
        let angle = std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64;
        let exact = 2.0 - 2.0 * angle.cos();
        for value in [pair.0, pair.1] {
            assert!((value - exact).abs() < tolerance, "{k}");
        }
    }
    for (k, u) in vectors.chunks_exact(n).enumerate().step_by(every) {
        for i in 0..n {
            let beside = [i.checked_sub(1), Some(i + 1).filter(|&j| j < n)];
            let beside: f64 = beside.into_iter().flatten().map(|j| u[j]).sum();
            let image = 2.0 * u[i] - beside;
            assert!((image - values[k] * u[i]).abs() < tolerance, "{k} {i}");
        }
        assert!((u.iter().map(|u| u * u).sum::<f64>() - 1.0).abs() < tolerance);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn eigenvalues() {
    path(300, 1e-12, 1);
}

/// The inputs of 3 × 64 × 64 numbers. Rounding grows with the size of a matrix, at worst in proportion.
#[test]
#[ignore = "needs a GPU"]
fn eigenvalues_of_12288_rows() {
    path(12_288, 4e-11, 128);
}

/// A program and numbers for its leaves.
fn program(
    shapes: &[&[usize]],
    build: impl Fn(&mut Trace, &[Id]) -> Vec<Id>,
) -> (Program, Vec<Vec<f64>>) {
    let mut trace = Trace::new();
    let leaves: Vec<Id> = shapes.iter().map(|s| trace.leaf(s)).collect();
    let outputs = build(&mut trace, &leaves);
    let leaves = shapes.iter().enumerate();
    let leaves = leaves.map(|(i, s)| numbers(s.iter().product(), i + 1));
    (Program::new(&trace, &outputs), leaves.collect())
}

/// Both precisions. Sums of thousands of terms differ by their order: 1e-5 and 1e-13 of the largest number.
fn check(shapes: &[&[usize]], build: impl Fn(&mut Trace, &[Id]) -> Vec<Id>) {
    let (program, leaves) = program(shapes, build);
    agree::<f64>(&program, &leaves, Precision::Full, 1e-13);
    agree::<f32>(&program, &leaves, Precision::Full, 1e-5);
}

#[test]
#[ignore = "needs a GPU"]
fn convolutions() {
    // Channels, groups and networks that take each of the ways, with remainders in every tile.
    for (x, o, kernel, stride, groups, networks) in [
        ([3, 70, 19, 23], 90, 3, 1, 1, 1),
        ([2, 64, 28, 28], 128, 3, 2, 1, 1),
        ([64, 3, 32, 32], 6, 5, 1, 1, 1),
        ([8, 24, 17, 17], 48, 3, 1, 4, 1),
        ([4, 96, 9, 9], 96, 3, 2, 96, 1),
        ([5, 33, 14, 14], 65, 1, 2, 1, 1),
        ([6, 64, 14, 14], 96, 3, 1, 1, 3),
        ([6, 3, 20, 21], 6, 5, 2, 1, 3),
        ([4, 40, 9, 9], 33, 3, 2, 1, 2),
        ([3, 20, 17, 16], 24, 5, 3, 1, 1),
        ([4, 20, 9, 9], 10, 3, 1, 2, 2),
        ([5, 40, 21, 20], 40, 5, 1, 40, 1),
        ([64, 6, 32, 31], 6, 7, 1, 6, 1),
        ([6, 8, 14, 13], 8, 3, 2, 8, 3),
    ] {
        let pad = kernel / 2;
        let conv = Conv {
            window: Window {
                kernel: [kernel; 2],
                stride: [stride; 2],
                dilation: [1; 2],
                pad: [(pad, pad); 2],
            },
            groups,
            networks,
        };
        let w = [o * networks, x[1] / groups, kernel, kernel];
        let y = [
            x[0],
            o,
            conv.window.positions(0, x[2]),
            conv.window.positions(1, x[3]),
        ];
        check(&[&x, &w, &y], |t, leaves| {
            vec![
                t.conv(leaves[0], leaves[1], conv),
                t.conv_input(leaves[2], leaves[1], conv, &x),
                t.conv_weight(leaves[0], leaves[2], conv, &w),
            ]
        });
    }
}

/// Products of TF32, by cuDNN where it is there and the convolution is large: each errs by 2⁻¹⁰ at most, and signs differ, so
/// sums err by less than 1e-3 of the largest. The same again, bit for bit.
#[test]
#[ignore = "needs a GPU"]
fn convolutions_of_tf32() {
    for (x, o, stride, networks) in [
        ([16, 64, 32, 32], 64, 1, 1),
        ([24, 64, 31, 33], 96, 2, 1),
        ([48, 32, 20, 20], 64, 1, 3),
        ([3, 24, 9, 9], 20, 1, 1),
    ] {
        let conv = Conv {
            window: Window {
                kernel: [3; 2],
                stride: [stride; 2],
                dilation: [1; 2],
                pad: [(1, 1); 2],
            },
            groups: 1,
            networks,
        };
        let w = [o * networks, x[1], 3, 3];
        let [h, width] = [0, 1].map(|axis| conv.window.positions(axis, x[axis + 2]));
        let (program, leaves) = program(&[&x, &w, &[x[0], o, h, width]], |t, leaves| {
            vec![
                t.conv(leaves[0], leaves[1], conv),
                t.conv_input(leaves[2], leaves[1], conv, &x),
                t.conv_weight(leaves[0], leaves[2], conv, &w),
            ]
        });
        agree::<f32>(&program, &leaves, Precision::Fast, 1e-3);
        let narrow = |x: &Vec<f64>| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let leaves: Vec<Vec<f32>> = leaves.iter().map(narrow).collect();
        let leaves: Vec<&[f32]> = leaves.iter().map(Vec::as_slice).collect();
        let again = |_| {
            let gpu = Gpu::open(0).unwrap();
            let mut workspace = Workspace::new(gpu, &program, Precision::Fast).unwrap();
            workspace.run(&program, &leaves).unwrap();
            [0, 1, 2].map(|i| workspace.output(i).to_vec())
        };
        let [first, second] = [0, 1].map(again);
        assert!(first == second, "{x:?}");
    }
}

/// Convolutions that pool their result and spread the gradient of the pool: LeNet's, with channels that do not fill a tile,
/// columns that do not fill the last chunk, odd borders, and results of odd size, which are pooled by a step of their own.
#[test]
#[ignore = "needs a GPU"]
fn pools() {
    for (x, o, kernel, pad, networks) in [
        ([9, 1, 32, 32], 6, 5, 0, 1),
        ([14, 6, 14, 14], 16, 5, 0, 2),
        ([6, 3, 12, 12], 5, 3, 0, 3),
        ([7, 4, 20, 20], 11, 5, 0, 1),
        ([5, 2, 18, 18], 9, 3, 1, 1),
        ([5, 2, 12, 14], 3, 4, 1, 1),
        ([4, 2, 17, 20], 3, 3, 0, 2),
    ] {
        let window = |kernel: usize, stride: usize, pad: usize| Window {
            kernel: [kernel; 2],
            stride: [stride; 2],
            dilation: [1; 2],
            pad: [(pad, pad); 2],
        };
        let conv = Conv {
            window: window(kernel, 1, pad),
            groups: 1,
            networks,
        };
        let w = [o * networks, x[1], kernel, kernel];
        let half = |axis: usize| conv.window.positions(axis, x[axis + 2]) / 2;
        let y = [x[0], o, half(0), half(1)];
        check(&[&x, &w, &[1, o, 1, 1], &y], |t, leaves| {
            let image = t.conv(leaves[0], leaves[1], conv);
            let pooled = t.max_pool(image, window(2, 2, 0));
            let bias = t.expand(leaves[2], &y);
            let sum = t.add(pooled, bias);
            let result = t.map(Function::Tanh, sum);
            let mut outputs = vec![result];
            outputs.extend(vjp(t, &[(result, leaves[3])], &leaves[..3]));
            outputs
        });
    }
}

/// A sum that its reader makes and sees in another shape.
#[test]
#[ignore = "needs a GPU"]
fn views() {
    check(&[&[1, 3, 400], &[1, 3, 400], &[3, 16, 5, 5]], |t, x| {
        let sum = t.add(x[0], x[1]);
        let image = t.reshape(sum, &[3, 16, 5, 5]);
        vec![t.mul(image, x[2])]
    });
}

#[test]
#[ignore = "needs a GPU"]
fn sums_and_products() {
    check(&[&[3, 50_000], &[70, 9, 1100]], |t, x| {
        vec![
            t.sum(x[0], &[1]),
            t.sum(x[0], &[0]),
            t.sum(x[1], &[0, 2]),
            t.sum(x[1], &[1]),
            {
                // Of numbers of one sign: what cancels has no relative error to speak of.
                let squares = t.mul(x[1], x[1]);
                t.total(squares)
            },
        ]
    });
    check(&[&[3, 77, 130], &[3, 130, 65], &[3, 77, 65]], |t, x| {
        vec![
            t.matmul(x[0], x[1], false, false),
            t.matmul(x[0], x[2], true, false),
            t.matmul(x[2], x[1], false, true),
        ]
    });
}

/// Asking for what is not there is an error of one line, with a driver and without.
#[test]
fn a_device_that_is_not_there() {
    let error = Gpu::open(999).err().unwrap();
    let line = error.to_string();
    assert!(!line.contains('\n') && !line.is_empty(), "{line}");
    match error {
        CudaError::Missing { instead, .. } => assert!(instead.contains("--device cpu")),
        CudaError::Device { ordinal, count } => assert!(ordinal == 999 && count < 999),
        other => panic!("{other}"),
    }
}
