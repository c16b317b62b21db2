//! Reverse mode: the transposed derivative of each op, in the op set itself.

use crate::function::Function;
use crate::trace::{Crop, Id, Op, Trace};

/// Cotangents of `wrt` given cotangents of outputs: Σ_y (∂y/∂w)ᵀ ȳ for every w.
///
/// The result is made of ordinary nodes, so it can be differentiated again.
pub fn vjp(t: &mut Trace, outputs: &[(Id, Id)], wrt: &[Id]) -> Vec<Id> {
    let end = t.len();
    let depends = dependents(t, wrt, end);
    let mut cotangent: Vec<Option<Id>> = vec![None; end];
    for &(y, bar) in outputs {
        assert_eq!(
            t.shape(y),
            t.shape(bar),
            "cotangent of another shape than its output"
        );
        accumulate(t, &mut cotangent, y, bar);
    }
    for i in (0..end).rev() {
        let Some(bar) = cotangent[i] else { continue };
        if !depends[i] || t.constant_value(bar) == Some(0.0) {
            continue;
        }
        for (arg, id) in t.node(Id(i)).args.clone().into_iter().enumerate() {
            if !depends[id.0] {
                continue;
            }
            if let Some(part) = transpose(t, Id(i), arg, bar) {
                accumulate(t, &mut cotangent, id, part);
            }
        }
    }
    wrt.iter()
        .map(|&w| cotangent[w.0].unwrap_or_else(|| t.constant_like(0.0, w)))
        .collect()
}

/// Which of the first `end` nodes depend on any of `wrt`.
pub(crate) fn dependents(t: &Trace, wrt: &[Id], end: usize) -> Vec<bool> {
    let mut depends = vec![false; end];
    for w in wrt {
        depends[w.0] = true;
    }
    for i in 0..end {
        depends[i] |= t.node(Id(i)).args.iter().any(|a| depends[a.0]);
    }
    depends
}

fn accumulate(t: &mut Trace, cotangent: &mut [Option<Id>], id: Id, part: Id) {
    cotangent[id.0] = Some(match cotangent[id.0] {
        Some(sum) => t.add(sum, part),
        None => part,
    });
}

/// (∂y/∂args[arg])ᵀ ȳ, or nothing where the derivative is zero.
fn transpose(t: &mut Trace, y: Id, arg: usize, bar: Id) -> Option<Id> {
    let node = t.node(y).clone();
    let args = node.args;
    let x = args[arg];
    let shape = t.shape(x).to_vec();
    Some(match node.op {
        Op::Leaf(_) | Op::Constant(_) => return None,
        Op::Map(f) => {
            let slope = derivative(t, f, x, y)?;
            t.mul(bar, slope)
        }
        Op::Add => bar,
        Op::Sub if arg == 0 => bar,
        Op::Sub => t.scale(bar, -1.0),
        Op::Mul => t.mul(bar, args[1 - arg]),
        // y = a/b: ȳ/b and −ȳ·y/b
        Op::Div if arg == 0 => t.div(bar, args[1]),
        Op::Div => {
            let part = t.div(bar, x);
            let part = t.mul(part, y);
            t.scale(part, -1.0)
        }
        Op::Sum => t.expand(bar, &shape),
        Op::Expand => t.sum_to(bar, &shape),
        Op::Reshape => t.reshape(bar, &shape),
        Op::Permute(order) => {
            let mut inverse = vec![0; order.len()];
            for (i, &o) in order.iter().enumerate() {
                inverse[o] = i;
            }
            t.permute(bar, &inverse)
        }
        // Y = A B: Ā = Ȳ Bᵀ, B̄ = Aᵀ Ȳ, each returned the way its argument is stored.
        Op::MatMul { ta, tb } => {
            let (a, b) = (args[0], args[1]);
            match (arg, ta, tb) {
                (0, false, _) => t.matmul(bar, b, false, !tb),
                (0, true, _) => t.matmul(b, bar, tb, true),
                (_, _, false) => t.matmul(a, bar, !ta, false),
                (_, _, true) => t.matmul(bar, a, true, ta),
            }
        }
        // F(x,w), X(dy,w), W(x,dy): each one's derivatives are the other two.
        Op::ConvForward(conv) if arg == 0 => t.conv_input(bar, args[1], conv, &shape),
        Op::ConvForward(conv) => t.conv_weight(args[0], bar, conv, &shape),
        Op::ConvInput(conv) if arg == 0 => t.conv(bar, args[1], conv),
        Op::ConvInput(conv) => t.conv_weight(bar, args[0], conv, &shape),
        Op::ConvWeight(conv) if arg == 0 => t.conv_input(args[1], bar, conv, &shape),
        Op::ConvWeight(conv) => t.conv(args[0], bar, conv),
        Op::SumPool(window) => t.sum_pool_transpose(bar, window, &shape),
        Op::SumPoolTranspose(window) => t.sum_pool(bar, window),
        Op::ArgMax(_) | Op::RowMax => return None,
        // The chosen taps are piecewise constant.
        Op::Pick(_) | Op::Place(_) if arg == 0 => return None,
        Op::Pick(window) => t.place(args[0], bar, window, &shape),
        Op::Place(window) => t.pick(args[0], bar, window),
        Op::Unfold(window) => t.fold(bar, window, &shape),
        Op::Fold(window) => t.unfold(bar, window),
        Op::Wrap(pad) => t.unwrap(bar, pad),
        Op::Unwrap(pad) => t.wrap(bar, pad),
        Op::Slice { axis, start } => t.embed(bar, axis, start, shape[axis]),
        Op::Embed { axis, start } => t.slice(bar, axis, start, shape[axis]),
        Op::Crop(crop) => cropped(t, bar, crop, &shape),
        Op::Paste { crop, .. } if arg == 0 => cropped(t, bar, crop, &shape),
        Op::Paste { crop, minus } => {
            let part = cropped(t, bar, crop.of_maps(), &shape);
            t.scale(part, if minus { -1.0 } else { 1.0 })
        }
        Op::Concat { axis } => {
            let start = args[..arg].iter().map(|&a| t.shape(a)[axis]).sum();
            t.slice(bar, axis, start, shape[axis])
        }
    })
}

/// The transpose of a crop: what neighbours give to the one that stands for them is added.
fn cropped(t: &mut Trace, bar: Id, crop: Crop, shape: &[usize]) -> Id {
    let samples = t.shape(bar)[0];
    let all = t.crop(bar, crop.transposed(), samples, [shape[2], shape[3]]);
    let each = [shape[0], samples / shape[0], shape[1] * shape[2] * shape[3]];
    let all = t.reshape(all, &each);
    let sum = t.sum(all, &[1]);
    t.reshape(sum, shape)
}

/// f′(x) with y = f(x) at hand, or nothing where it vanishes everywhere.
pub(crate) fn derivative(t: &mut Trace, f: Function, x: Id, y: Id) -> Option<Id> {
    Some(match f {
        // From y rather than x: y is kept anyway, for it feeds the next layer.
        Function::Relu => t.map(Function::Step, y),
        Function::LeakyRelu(slope) => t.map(Function::LeakyStep(slope), x),
        Function::Step | Function::LeakyStep(_) | Function::Sign => return None,
        // Φ(x) + x φ(x)
        Function::Gelu => {
            let cdf = t.map(Function::NormalCdf, x);
            let pdf = t.map(Function::NormalPdf, x);
            let tail = t.mul(x, pdf);
            t.add(cdf, tail)
        }
        Function::NormalCdf => t.map(Function::NormalPdf, x),
        // −x φ(x)
        Function::NormalPdf => {
            let part = t.mul(x, y);
            t.scale(part, -1.0)
        }
        // 1 − y²
        Function::Tanh => {
            let one = t.constant_like(1.0, x);
            let square = t.mul(y, y);
            t.sub(one, square)
        }
        // (2/√π) e^{−x²} = 2√2 φ(√2 x)
        Function::Erf => {
            let u = t.scale(x, 2.0_f64.sqrt());
            let pdf = t.map(Function::NormalPdf, u);
            t.scale(pdf, 2.0 * 2.0_f64.sqrt())
        }
        Function::Sin => t.map(Function::Cos, x),
        Function::Cos => {
            let sin = t.map(Function::Sin, x);
            t.scale(sin, -1.0)
        }
        // y (1 − y)
        Function::Sigmoid => {
            let one = t.constant_like(1.0, x);
            let rest = t.sub(one, y);
            t.mul(y, rest)
        }
        Function::Softplus(beta) => {
            let u = t.scale(x, beta.get());
            t.map(Function::Sigmoid, u)
        }
        Function::Abs => t.map(Function::Sign, x),
        Function::Exp => y,
        Function::Log => t.map(Function::Pow((-1.0).into()), x),
        Function::Pow(p) => {
            let power = t.map(Function::Pow((p.get() - 1.0).into()), x);
            t.scale(power, p.get())
        }
        // ((1−x)(1+x))^{−½}: the factors keep the digits near ±1
        Function::Asin => {
            let one = t.constant_like(1.0, x);
            let (below, above) = (t.sub(one, x), t.add(one, x));
            let square = t.mul(below, above);
            t.map(Function::Pow((-0.5).into()), square)
        }
        Function::AsinIntegral => t.map(Function::Asin, x),
    })
}
