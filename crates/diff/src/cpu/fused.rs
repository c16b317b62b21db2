//! Chains of elementwise instructions, a block of numbers at a time: what passes between two
//! instructions stays in L1.

use rayon::prelude::*;

use super::functions::{Elementary, apply};
use super::simd::vectorised;
use crate::program::{Access, Binary, ElementSource, Elementwise, Fused};

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
    /// (length, stride) of each axis from the outermost, and the numbers.
    Broadcast(&'a [(usize, usize)], &'a [T]),
}

/// Shortest stretch of a repeating argument that is worth a call of its own.
const STRETCH: usize = 32;

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
    let operand = |source: &ElementSource| match *source {
        ElementSource::Constant(c) => Operand::Constant(T::from_f64(c)),
        ElementSource::Argument(a) => match &fused.access[a] {
            Access::Full => Operand::Slice(&args[a][start..start + n]),
            Access::Broadcast(axes) => Operand::Broadcast(axes, args[a]),
        },
        ElementSource::Register(r) if r * BLOCK < before.len() => {
            Operand::Slice(&before[r * BLOCK..r * BLOCK + n])
        }
        ElementSource::Register(r) => {
            Operand::Slice(&after[(r - first_after) * BLOCK..(r - first_after) * BLOCK + n])
        }
    };
    match op {
        Elementwise::Fill(c) => out.fill(T::from_f64(*c)),
        Elementwise::Load(a) => copy(operand(&ElementSource::Argument(*a)), start, out),
        Elementwise::Map(f, a) => match operand(a) {
            Operand::Slice(a) => apply(*f, a, out),
            other => {
                let mut a = [T::ZERO; BLOCK];
                copy(other, start, &mut a[..n]);
                apply(*f, &a[..n], out);
            }
        },
        Elementwise::Binary(op, a, b) => binary(*op, operand(a), operand(b), start, out),
    }
}

/// out = a ∘ b for numbers `start..` of the result.
fn binary<T: Elementary>(op: Binary, a: Operand<T>, b: Operand<T>, start: usize, out: &mut [T]) {
    use Operand::{Broadcast, Constant, Slice};
    match (a, b) {
        (Slice(a), Slice(b)) => slices(op, a, b, out),
        (Slice(a), Constant(b)) => slice_constant(op, a, b, out),
        (Constant(a), Slice(b)) => constant_slice(op, a, b, out),
        (Slice(a), Broadcast(axes, b)) if long(axes) => {
            stretches(axes, b, start, out, |at, b, out| {
                binary(op, Slice(&a[at..at + out.len()]), b, 0, out)
            });
        }
        (Broadcast(axes, a), Slice(b)) if long(axes) => {
            stretches(axes, a, start, out, |at, a, out| {
                binary(op, a, Slice(&b[at..at + out.len()]), 0, out)
            });
        }
        (a, Slice(b)) => {
            let mut numbers = [T::ZERO; BLOCK];
            copy(a, start, &mut numbers[..out.len()]);
            slices(op, &numbers[..out.len()], b, out);
        }
        (a, b) => {
            let mut numbers = [T::ZERO; BLOCK];
            copy(b, start, &mut numbers[..out.len()]);
            binary(op, a, Slice(&numbers[..out.len()]), start, out);
        }
    }
}

/// Whether an argument repeats in stretches that are worth a call each.
fn long(axes: &[(usize, usize)]) -> bool {
    axes.last()
        .is_none_or(|&(length, stride)| length >= STRETCH && stride <= 1)
}

/// Numbers `start..` of an operand.
fn copy<T: Elementary>(operand: Operand<T>, start: usize, out: &mut [T]) {
    match operand {
        Operand::Slice(a) => out.copy_from_slice(a),
        Operand::Constant(c) => out.fill(c),
        Operand::Broadcast(axes, a) => {
            stretches(axes, a, start, out, |_, part, out| copy(part, 0, out))
        }
    }
}

/// Calls `f(from, operand, out)` for every stretch of numbers `start..` over which an argument is one number or contiguous.
fn stretches<'a, T: Elementary>(
    axes: &[(usize, usize)],
    a: &'a [T],
    start: usize,
    out: &mut [T],
    mut f: impl FnMut(usize, Operand<'a, T>, &mut [T]),
) {
    let Some((&(length, stride), outer)) = axes.split_last() else {
        f(0, Operand::Constant(a[0]), out);
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
        match stride {
            0 => f(
                done,
                Operand::Constant(a[offset]),
                &mut out[done..done + run],
            ),
            1 => f(
                done,
                Operand::Slice(&a[offset..offset + run]),
                &mut out[done..done + run],
            ),
            _ => (0..run).for_each(|i| {
                f(
                    done + i,
                    Operand::Constant(a[offset + i * stride]),
                    &mut out[done + i..=done + i],
                );
            }),
        }
        done += run;
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
