//! Plans of small programs: what shares a kernel, and that nothing is overwritten before it is read.

use super::*;
use crate::cuda::maxima::maxima;
use crate::cuda::source::elements;
use crate::{Conv, Dtype, Function, Id, Trace, Window, vjp};

fn plan(program: &Program) -> LaunchPlan {
    let maxima = maxima(program);
    let steps = program.steps.iter();
    let is_elements: Vec<bool> = steps
        .map(|step| elements(step, Dtype::F32, false).is_some())
        .collect();
    LaunchPlan::new(program, &is_elements, &maxima, Dtype::F32)
}

/// Every argument still lies in its buffer when it is read, and nothing that a kernel reads of others is overwritten
/// by it.
fn check(program: &Program, plan: &LaunchPlan) {
    let mut holder: Vec<Option<usize>> = vec![None; plan.buffers.len()];
    let mut made = vec![false; program.steps.len()];
    for group in &plan.groups {
        for &step in &group.steps {
            for read in reads(&plan.sources, &plan.readers, step) {
                let ValueSource::Step(from) = read.source else {
                    continue;
                };
                assert!(made[from], "step {step} reads {from} before it is made");
                if let Some(buffer) = plan.places[from] {
                    assert_eq!(holder[buffer], Some(from), "read by {step}");
                } else {
                    assert!(group.single && group.steps.contains(&from));
                }
            }
            made[step] = true;
            if let Some(buffer) = plan.places[step] {
                let before = holder[buffer].replace(step);
                let read_here = |s: &usize| {
                    let reads = reads(&plan.sources, &plan.readers, *s);
                    let mut sources = reads.iter().map(|read| read.source);
                    before.is_some_and(|b| sources.any(|x| x == ValueSource::Step(b)))
                };
                assert!(group.steps.len() == 1 || !group.steps.iter().any(read_here));
                assert!(plan.buffers[buffer] >= size(&program.steps[step].shape));
            }
        }
    }
    for (&step, &(_, length)) in plan.outputs.iter().zip(&program.outputs) {
        let buffer = plan.places[step].unwrap();
        assert_eq!(holder[buffer], Some(step));
        assert!(plan.buffers[buffer] >= length);
    }
}

fn gradients(t: &mut Trace, y: Id, of: &[Id]) -> Program {
    let one = t.constant_like(1.0, y);
    let mut outputs = vec![y];
    outputs.extend(vjp(t, &[(y, one)], of));
    Program::new(t, &outputs)
}

/// A softmax and its gradient are one kernel, a row after the other, but for the sum over rows.
#[test]
fn softmax() {
    let mut t = Trace::new();
    let (f, y) = (t.leaf(&[128, 10]), t.leaf(&[128, 10]));
    let log = t.log_sum_exp(f);
    let yf = t.mul(y, f);
    let right = t.sum(yf, &[1]);
    let terms = t.sub(log, right);
    let loss = t.total(terms);
    let program = gradients(&mut t, loss, &[f]);
    let plan = plan(&program);
    check(&program, &plan);
    assert_eq!(plan.groups[0].rows, 128);
    assert!(!plan.groups[0].single);
    assert_eq!(plan.groups.len(), 2);
}

/// A small max-pool and its gradient are one kernel; of a large one, the pool and what follows it, number by number.
#[test]
fn pool() {
    let window = Window {
        kernel: [2, 2],
        stride: [2, 2],
        dilation: [1, 1],
        pad: [(0, 0); 2],
    };
    let plan = |planes: usize| {
        let mut t = Trace::new();
        let x = t.leaf(&[planes, 3, 6, 6]);
        let pooled = t.max_pool(x, window);
        let y = t.map(Function::Relu, pooled);
        let program = gradients(&mut t, y, &[x]);
        let plan = plan(&program);
        check(&program, &plan);
        plan.groups
    };
    let small = plan(8);
    assert_eq!(small.len(), 1);
    assert_eq!(small[0].rows, 8 * 3);
    let large = plan(1000);
    assert_eq!(large[0].rows, 1000 * 3 * 9);
    assert!(large[0].single && large[0].steps.len() >= 3);
    assert_eq!(large.len(), 2);
}

/// What is pasted, pooled, cropped and pasted again is made in one kernel, and the pool of another one's result in it;
/// an image that two steps read is stored.
#[test]
fn lazy() {
    let window = Window {
        kernel: [2, 2],
        stride: [2, 2],
        dilation: [1, 1],
        pad: [(0, 0); 2],
    };
    let steps = |twice: bool| {
        let mut t = Trace::new();
        let x = t.leaf(&[1000, 3, 8, 8]);
        let y = t.slice(x, 3, 0, 4);
        let z = t.slice(x, 3, 4, 4);
        let both = t.concat(&[z, y], 3);
        let pooled = t.sum_pool(both, window);
        let mut outputs = vec![t.map(Function::Tanh, pooled)];
        if twice {
            outputs.push(t.sum(both, &[1]));
        }
        let program = Program::new(&t, &outputs);
        let plan = plan(&program);
        check(&program, &plan);
        (plan.groups.len(), plan.buffers.len())
    };
    assert_eq!(steps(false), (1, 1));
    assert_eq!(steps(true), (2, 3));
}

/// What only a kernel itself reads is not stored.
#[test]
fn held() {
    let mut t = Trace::new();
    let x = t.leaf(&[4, 100]);
    let a = t.map(Function::Tanh, x);
    let b = t.map(Function::Sin, a);
    let c = t.mul(a, b);
    let program = Program::new(&t, &[c]);
    let plan = plan(&program);
    check(&program, &plan);
    assert_eq!(plan.groups.len(), 1);
    assert_eq!(plan.buffers.iter().sum::<usize>(), 400);
}

/// Sums over rows wait for all of them.
#[test]
fn columns_are_another_kernel() {
    let mut t = Trace::new();
    let x = t.leaf(&[64, 5]);
    let a = t.map(Function::Tanh, x);
    let s = t.sum(a, &[0]);
    let s = t.expand(s, &[64, 5]);
    let b = t.mul(a, s);
    let program = Program::new(&t, &[b]);
    let plan = plan(&program);
    check(&program, &plan);
    assert_eq!(plan.groups.len(), 3);
}

/// A convolution pools its own result, adds the bias and takes the activation: one kernel, which stores what is left and its
/// places. Its weight gradient and the input gradient spread the gradient of the pool themselves. With an image of odd size
/// neither is so.
#[test]
fn pools_of_convolutions() {
    let window = |kernel: usize, stride: usize| Window {
        kernel: [kernel; 2],
        stride: [stride; 2],
        dilation: [1, 1],
        pad: [(0, 0); 2],
    };
    let plan = |side: usize| {
        let mut t = Trace::new();
        let x = t.leaf(&[5, 2, side, side]);
        let w = t.leaf(&[4, 2, 3, 3]);
        let b = t.leaf(&[1, 4, 1, 1]);
        let y = t.conv(x, w, Conv::new(window(3, 1), 1));
        let pooled = t.max_pool(y, window(2, 2));
        let shape = t.shape(pooled).to_vec();
        let bias = t.expand(b, &shape);
        let sum = t.add(pooled, bias);
        let z = t.map(Function::Tanh, sum);
        let program = gradients(&mut t, z, &[x, w]);
        let plan = plan(&program);
        check(&program, &plan);
        (program, plan)
    };
    let (program, even) = plan(10);
    let is = |step: usize, name: &str| format!("{:?}", program.steps[step].kernel).contains(name);
    let first = &even.groups[0];
    assert!(is(first.steps[0], "ConvForward") && first.pool.is_some());
    assert_eq!(first.steps.len(), 4);
    assert_eq!(even.places[first.steps[0]], None);
    let spread = (0..program.steps.len()).find(|&s| is(s, "Place")).unwrap();
    assert_eq!(even.places[spread], None);
    assert!(even.groups.iter().all(|g| !g.steps.contains(&spread)));
    // With 7 × 7 results the last row and column are in no window.
    let (_, odd) = plan(9);
    assert!(odd.groups.iter().all(|group| group.pool.is_none()));
    assert!(odd.places[0].is_some() && odd.readers[spread].is_none());
}
