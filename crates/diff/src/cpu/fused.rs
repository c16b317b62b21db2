//! Chains of elementwise instructions, a block of numbers at a time: what passes between two
//! instructions stays in L1.

use rayon::prelude::*;

use super::functions::{Elementary, apply};
use super::simd::vectorised;
use crate::program::{Access, Binary, Elementwise, Fused, Source};

/// Numbers a block: eight registers of f32 take 16 kB.
const BLOCK: usize = 512;
/// Numbers a task, when there is more than one task.
const TASK: usize = 32 * BLOCK;

/// Runs a chain over all of `out`.
pub fn run<T: Elementary>(fused: &Fused, args: &[&[T]], out: &mut [T], registers: &mut Vec<T>) {
    let length = fused.registers * BLOCK;
    if out.len() < 4 * TASK {
        registers.resize(registers.len().max(length), T::ZERO);
        part(fused, args, 0, out, registers);
        return;
    }
    out.par_chunks_mut(TASK).enumerate().for_each_init(
        || vec![T::ZERO; length],
        |registers, (i, out)| part(fused, args, i * TASK, out, registers),
    );
}

/// Runs a chain over the part of the result that starts at `start`.
fn part<T: Elementary>(
    fused: &Fused,
    args: &[&[T]],
    start: usize,
    out: &mut [T],
    registers: &mut [T],
) {
    for (b, out) in out.chunks_mut(BLOCK).enumerate() {
        block(fused, args, start + b * BLOCK, out, registers);
    }
}

enum Operand<'a, T> {
    Slice(&'a [T]),
    Constant(T),
}

fn block<T: Elementary>(
    fused: &Fused,
    args: &[&[T]],
    start: usize,
    out: &mut [T],
    registers: &mut [T],
) {
    let n = out.len();
    for instruction in &fused.instructions {
        let Some(to) = instruction.to else {
            execute(fused, &instruction.op, args, start, registers, &[], 0, out);
            continue;
        };
        // The planner never lets an instruction write what it reads: the rest is before and after.
        let (before, rest) = registers.split_at_mut(to * BLOCK);
        let (target, after) = rest.split_at_mut(BLOCK);
        execute(
            fused,
            &instruction.op,
            args,
            start,
            before,
            after,
            to + 1,
            &mut target[..n],
        );
    }
}

#[allow(clippy::too_many_arguments)] // the registers come in two parts
fn execute<T: Elementary>(
    fused: &Fused,
    op: &Elementwise,
    args: &[&[T]],
    start: usize,
    before: &[T],
    after: &[T],
    first_after: usize,
    out: &mut [T],
) {
    let n = out.len();
    let operand = |source: &Source| match *source {
        Source::Constant(c) => Operand::Constant(T::from_f64(c)),
        Source::Argument(a) => Operand::Slice(&args[a][start..start + n]),
        Source::Register(r) if r * BLOCK < before.len() => {
            Operand::Slice(&before[r * BLOCK..r * BLOCK + n])
        }
        Source::Register(r) => {
            Operand::Slice(&after[(r - first_after) * BLOCK..(r - first_after) * BLOCK + n])
        }
    };
    match op {
        Elementwise::Fill(c) => out.fill(T::from_f64(*c)),
        Elementwise::Load(a) => match &fused.access[*a] {
            Access::Full => out.copy_from_slice(&args[*a][start..start + n]),
            Access::Broadcast(axes) => load(axes, args[*a], start, out),
        },
        Elementwise::Map(f, a) => match operand(a) {
            Operand::Slice(a) => apply(*f, a, out),
            Operand::Constant(c) => {
                out.fill(c);
                let input = out.to_vec();
                apply(*f, &input, out);
            }
        },
        Elementwise::Binary(op, a, b) => match (operand(a), operand(b)) {
            (Operand::Slice(a), Operand::Slice(b)) => slices(*op, a, b, out),
            (Operand::Slice(a), Operand::Constant(b)) => slice_constant(*op, a, b, out),
            (Operand::Constant(a), Operand::Slice(b)) => constant_slice(*op, a, b, out),
            (Operand::Constant(a), Operand::Constant(b)) => {
                let input = vec![a; n];
                slice_constant(*op, &input, b, out);
            }
        },
    }
}

vectorised! {
    fn slices<T: Elementary>(op: Binary, a: &[T], b: &[T], out: &mut [T]) {
        let each = out.iter_mut().zip(a).zip(b);
        match op {
            Binary::Add => each.for_each(|((y, &a), &b)| *y = a + b),
            Binary::Sub => each.for_each(|((y, &a), &b)| *y = a - b),
            Binary::Mul => each.for_each(|((y, &a), &b)| *y = a * b),
            Binary::Div => each.for_each(|((y, &a), &b)| *y = a / b),
        }
    }
}

vectorised! {
    fn slice_constant<T: Elementary>(op: Binary, a: &[T], b: T, out: &mut [T]) {
        let each = out.iter_mut().zip(a);
        match op {
            Binary::Add => each.for_each(|(y, &a)| *y = a + b),
            Binary::Sub => each.for_each(|(y, &a)| *y = a - b),
            Binary::Mul => each.for_each(|(y, &a)| *y = a * b),
            Binary::Div => each.for_each(|(y, &a)| *y = a / b),
        }
    }
}

vectorised! {
    fn constant_slice<T: Elementary>(op: Binary, a: T, b: &[T], out: &mut [T]) {
        let each = out.iter_mut().zip(b);
        match op {
            Binary::Add => each.for_each(|(y, &b)| *y = a + b),
            Binary::Sub => each.for_each(|(y, &b)| *y = a - b),
            Binary::Mul => each.for_each(|(y, &b)| *y = a * b),
            Binary::Div => each.for_each(|(y, &b)| *y = a / b),
        }
    }
}

/// Numbers `start..` of an argument that repeats along axes, (length, stride) from the outermost.
fn load<T: Elementary>(axes: &[(usize, usize)], a: &[T], start: usize, out: &mut [T]) {
    let Some((&(length, stride), outer)) = axes.split_last() else {
        out.fill(a[0]);
        return;
    };
    let mut done = 0;
    while done < out.len() {
        let at = start + done;
        let (mut rest, inner) = (at / length, at % length);
        let mut offset = inner * stride;
        for &(l, s) in outer.iter().rev() {
            offset += rest % l * s;
            rest /= l;
        }
        let run = (length - inner).min(out.len() - done);
        let out = &mut out[done..done + run];
        match stride {
            0 => out.fill(a[offset]),
            1 => out.copy_from_slice(&a[offset..offset + run]),
            _ => out
                .iter_mut()
                .enumerate()
                .for_each(|(i, y)| *y = a[offset + i * stride]),
        }
        done += run;
    }
}
