//! Forward mode: the derivative of each op along a tangent, in the op set itself.

use crate::trace::{Id, Op, Trace};
use crate::vjp::{dependents, derivative};

/// Tangents of `outputs` when each `(x, ẋ)` of `inputs` moves along ẋ.
///
/// The result is made of ordinary nodes, so it can be differentiated again.
pub fn jvp(t: &mut Trace, outputs: &[Id], inputs: &[(Id, Id)]) -> Vec<Id> {
    let end = outputs.iter().map(|y| y.0 + 1).max().unwrap_or(0);
    let wrt: Vec<Id> = inputs
        .iter()
        .map(|&(x, _)| x)
        .filter(|x| x.0 < end)
        .collect();
    let depends = dependents(t, &wrt, end);
    let needed = ancestors(t, outputs, end);
    let mut tangent: Vec<Option<Id>> = vec![None; end];
    for &(x, dot) in inputs {
        assert_eq!(
            t.shape(x),
            t.shape(dot),
            "tangent of another shape than its input"
        );
        if x.0 < end {
            tangent[x.0] = Some(dot);
        }
    }
    for i in 0..end {
        if tangent[i].is_some() || !depends[i] || !needed[i] {
            continue;
        }
        let args = t.node(Id(i)).args.clone();
        let dots: Vec<Option<Id>> = args.iter().map(|a| tangent[a.0]).collect();
        let mut sum: Option<Id> = None;
        if let Op::Concat { axis } = t.node(Id(i)).op {
            let parts: Vec<Id> = args
                .iter()
                .zip(&dots)
                .map(|(&a, dot)| dot.unwrap_or_else(|| t.constant_like(0.0, a)))
                .collect();
            sum = dots
                .iter()
                .any(Option::is_some)
                .then(|| t.concat(&parts, axis));
        } else {
            for (arg, dot) in dots.into_iter().enumerate() {
                let Some(dot) = dot else { continue };
                let Some(part) = push(t, Id(i), arg, dot) else {
                    continue;
                };
                sum = Some(match sum {
                    Some(s) => t.add(s, part),
                    None => part,
                });
            }
        }
        tangent[i] = sum;
    }
    outputs
        .iter()
        .map(|&y| tangent[y.0].unwrap_or_else(|| t.constant_like(0.0, y)))
        .collect()
}

/// Which of the first `end` nodes some output needs.
pub(crate) fn ancestors(t: &Trace, outputs: &[Id], end: usize) -> Vec<bool> {
    let mut needed = vec![false; end];
    for y in outputs {
        needed[y.0] = true;
    }
    for i in (0..end).rev() {
        if needed[i] {
            for a in &t.node(Id(i)).args {
                needed[a.0] = true;
            }
        }
    }
    needed
}

/// (∂y/∂args[arg]) ẋ, or nothing where the derivative is zero.
fn push(t: &mut Trace, y: Id, arg: usize, dot: Id) -> Option<Id> {
    let node = t.node(y).clone();
    let (args, shape) = (node.args, node.shape);
    Some(match node.op {
        Op::Leaf(_) | Op::Constant(_) | Op::ArgMax(_) | Op::RowMax | Op::Concat { .. } => {
            return None;
        }
        Op::Map(f) => {
            let slope = derivative(t, f, args[0], y)?;
            t.mul(dot, slope)
        }
        Op::Add => dot,
        Op::Sub if arg == 0 => dot,
        Op::Sub => t.scale(dot, -1.0),
        Op::Mul => t.mul(dot, args[1 - arg]),
        // ȧ/b and −y ḃ/b
        Op::Div if arg == 0 => t.div(dot, args[1]),
        Op::Div => {
            let part = t.div(dot, args[1]);
            let part = t.mul(part, y);
            t.scale(part, -1.0)
        }
        Op::Sum => t.sum_to(dot, &shape),
        Op::Expand => t.expand(dot, &shape),
        Op::Reshape => t.reshape(dot, &shape),
        Op::Permute(order) => t.permute(dot, &order),
        Op::MatMul { ta, tb } if arg == 0 => t.matmul(dot, args[1], ta, tb),
        Op::MatMul { ta, tb } => t.matmul(args[0], dot, ta, tb),
        Op::ConvForward(conv) if arg == 0 => t.conv(dot, args[1], conv),
        Op::ConvForward(conv) => t.conv(args[0], dot, conv),
        Op::ConvInput(conv) if arg == 0 => t.conv_input(dot, args[1], conv, &shape),
        Op::ConvInput(conv) => t.conv_input(args[0], dot, conv, &shape),
        Op::ConvWeight(conv) if arg == 0 => t.conv_weight(dot, args[1], conv, &shape),
        Op::ConvWeight(conv) => t.conv_weight(args[0], dot, conv, &shape),
        Op::SumPool(window) => t.sum_pool(dot, window),
        Op::SumPoolTranspose(window) => t.sum_pool_transpose(dot, window, &shape),
        Op::Pick(_) | Op::Place(_) if arg == 0 => return None,
        Op::Pick(window) => t.pick(args[0], dot, window),
        Op::Place(window) => t.place(args[0], dot, window, &shape),
        Op::Unfold(window) => t.unfold(dot, window),
        Op::Fold(window) => t.fold(dot, window, &shape),
        Op::Wrap(pad) => t.wrap(dot, pad),
        Op::Unwrap(pad) => t.unwrap(dot, pad),
        Op::Crop(crop) => t.crop(dot, crop, shape[0], [shape[2], shape[3]]),
        Op::Paste { crop, .. } if arg == 0 => t.crop(dot, crop, shape[0], [shape[2], shape[3]]),
        Op::Paste { crop, minus } => {
            let part = t.crop(dot, crop.of_maps(), shape[0], [shape[2], shape[3]]);
            t.scale(part, if minus { -1.0 } else { 1.0 })
        }
        Op::Slice { axis, start } => t.slice(dot, axis, start, shape[axis]),
        Op::Embed { axis, start } => t.embed(dot, axis, start, shape[axis]),
    })
}
