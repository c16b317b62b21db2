//! Plans of small programs: what shares a kernel, and that nothing is overwritten before it is read.

use super::*;
use crate::cuda::maxima::maxima;
use crate::cuda::source::elements;
use crate::{Dtype, Function, Id, Trace, Window, vjp};

fn plan(program: &Program) -> Plan {
    let maxima = maxima(program);
    let steps = program.steps.iter();
    let is_elements: Vec<bool> = steps
        .map(|step| elements(step, Dtype::F32, false).is_some())
        .collect();
    Plan::new(program, &is_elements, &maxima)
}

/// Every argument still lies in its buffer when it is read, and nothing that a kernel reads of others is overwritten
/// by it.
fn check(program: &Program, plan: &Plan) {
    let mut holder: Vec<Option<usize>> = vec![None; plan.buffers.len()];
    let mut made = vec![false; program.steps.len()];
    for group in &plan.groups {
        for &step in &group.steps {
            for read in reads(&plan.sources, &plan.readers, step) {
                let Source::Step(from) = read.source else {
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
                    before.is_some_and(|b| sources.any(|x| x == Source::Step(b)))
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
