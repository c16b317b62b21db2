//! Norms, tokens and attention in the reference.

use polariscope_graph::{Node, Op, Shape};

use super::reference::Block;

/// u/√(E u² + ε): the square is the token's own, or the mean over positions.
pub fn norm(node: &Node, eps: f64, b: &mut Block) {
    let p = b.positions[0] * b.positions[1];
    let roots = |c: &[f64]| -> Vec<f64> {
        let own: Vec<f64> = (0..p).map(|i| c[i * p + i]).collect();
        let mean = own.iter().sum::<f64>() / p as f64;
        let square = |own: f64| match node.shape {
            Shape::Tokens { .. } => own,
            _ => mean,
        };
        own.iter().map(|own| (square(*own) + eps).sqrt()).collect()
    };
    let (left, right) = (roots(&b.c[0]), roots(&b.c[2]));
    // γ and β are one a channel, or one a number of an image or signal.
    let shared = matches!(
        (&node.op, node.shape),
        (Op::GroupNorm { .. }, _) | (_, Shape::Tokens { .. })
    );
    let own = |i: usize| shared || i / p == i % p;
    let beta = !matches!(node.op, Op::RmsNorm { .. });
    for i in 0..p * p {
        let (row, column) = (i / p, i % p);
        b.c[0][i] /= left[row] * left[column];
        b.c[1][i] /= left[row] * right[column];
        b.c[2][i] /= right[row] * right[column];
        b.t[i] /= left[row] * right[column];
        if beta && own(i) {
            b.t[i] += 1.0;
        }
    }
    b.gamma = Some((0..p * p).map(|i| f64::from(own(i))).collect());
}

/// Θ of the γ (which is 1): the covariance where positions share it.
pub fn settle(b: &mut Block) {
    for (i, own) in b.gamma.take().unwrap_or_default().iter().enumerate() {
        b.t[i] += own * b.c[1][i];
    }
}

/// A token that no sample changes, before the others.
pub fn prepend(variance: f64, b: &mut Block) {
    let p = b.positions[1];
    let grow = |m: &[f64], own: f64| -> Vec<f64> {
        let n = p + 1;
        let entry = |i: usize| match (i / n, i % n) {
            (0, 0) => own,
            (0, _) | (_, 0) => 0.0,
            (row, column) => m[(row - 1) * p + column - 1],
        };
        (0..n * n).map(entry).collect()
    };
    b.t = grow(&b.t, 1.0);
    b.c = b.c.each_ref().map(|c| grow(c, variance));
    b.positions = [1, p + 1];
}

/// Its own number for every token.
pub fn embed(variance: f64, b: &mut Block) {
    let p = b.positions[1];
    for i in 0..p {
        b.c.iter_mut().for_each(|c| c[i * p + i] += variance);
        b.t[i * p + i] += 1.0;
    }
}

/// One token.
pub fn take(index: usize, b: &mut Block) {
    let at = index * b.positions[1] + index;
    b.c = b.c.each_ref().map(|c| vec![c[at]]);
    b.t = vec![b.t[at]];
    b.positions = [1, 1];
}

/// ([Var w, scale²], what the bias adds to K and to Θ) of a linear layer.
type Layer = ([f64; 2], [f64; 2]);

/// The mean token through two linear layers, at every token.
pub fn attend(blocks: &[Block], layers: [Layer; 2]) -> Block {
    let positions = blocks[0].positions;
    let p = positions[0] * positions[1];
    let width: f64 = blocks.iter().map(|b| b.channels).sum();
    let mean = |m: &dyn Fn(&Block) -> Vec<f64>| -> f64 {
        let of = |b: &Block| b.channels * m(b).iter().sum::<f64>() / (p * p) as f64;
        blocks.iter().map(of).sum()
    };
    let through = |c: f64, t: f64, ([variance, square], bias): Layer| {
        let made = variance * square * c + bias[0];
        (made, variance * square * t + square * c + bias[1])
    };
    let one = |k: usize| {
        let (c, t) = (
            mean(&|b: &Block| b.c[k].clone()),
            mean(&|b: &Block| b.t.clone()),
        );
        let (c, t) = through(c, t, layers[0]);
        through(width * c, width * t, layers[1])
    };
    let all = |v: f64| vec![v; p * p];
    Block {
        gamma: None,
        channels: width,
        positions,
        c: [0, 1, 2].map(|k| all(one(k).0)),
        t: all(one(1).1),
    }
}
