//! Two inputs at an activation and along a skip.

use polariscope_graph::Activation;

use crate::blocks::{Block, Blocks};
use crate::chain::{Law, Part, Skip, cut};
use crate::dual::{Pair, Shifted, dual};
use crate::forward::{Means, over_pairs};
use crate::matrix::Matrix;

/// What an activation makes of all channels, and its E[φ'φ'], given what each input alone says of its arguments.
pub(super) fn activate_pair(
    activation: Activation,
    q: &Blocks,
    own: [&[Part]; 2],
    means: Means,
) -> (Blocks, Blocks) {
    let (mut values, mut slopes) = (Blocks::default(), Blocks::default());
    for (channels, block, [a, b]) in beside(q, own, |part| part.channels) {
        let (value, slope, mean) = activate(activation, block, [&a.laws, &b.laws], means);
        values.push(Block {
            channels,
            mean,
            ..value
        });
        slopes.push(Block { channels, ..slope });
    }
    (values, slopes)
}

/// Channels of the pair with those of either input.
pub(super) fn beside<'a, P>(
    q: &'a Blocks,
    own: [&'a [P]; 2],
    channels: impl Fn(&P) -> usize + Copy,
) -> Vec<(usize, &'a Block, [&'a P; 2])> {
    let pairs = cut(own[0], own[1], channels, channels);
    // Channels of the list of pairs, then of the blocks.
    let blocks: Vec<&Block> = q.iter().collect();
    let all = cut(&blocks, &pairs, |block| block.channels, |pair| pair.0);
    all.into_iter()
        .map(|(channels, block, pair)| (channels, *block, [pair.1, pair.2]))
        .collect()
}

fn activate(
    activation: Activation,
    block: &Block,
    [a, b]: [&[Law]; 2],
    means: Means,
) -> (Block, Block, Option<crate::blocks::Mean>) {
    let scale = block.scale;
    let centred = a.iter().chain(b).all(|law| law.mean == 0.0);
    let second = block.matrix.second();
    // Of an exchangeable pair one of the two is enough.
    let all = || a.iter().chain(if second > 0 { b } else { &[] });
    let (value, slope) = if centred {
        over_pairs(&block.matrix, |p, q, entry| {
            let pair = Pair {
                q11: a[p].variance,
                q12: scale * entry,
                q22: b[q].variance,
            };
            a[p].adjusted(&b[q], dual(activation, pair))
        })
    } else {
        let [m, v]: [Vec<f64>; 2] = [
            all().map(|law| law.mean).collect(),
            all().map(|law| law.variance).collect(),
        ];
        let laws = Shifted::new(activation, &m, &v);
        over_pairs(&block.matrix, |p, q, entry| {
            let dual = laws.dual(p, second + q, scale * entry - m[p] * m[second + q]);
            a[p].adjusted(&b[q], dual)
        })
    };
    let follow = means == Means::Follow && !(centred && activation.is_odd());
    let mean = follow.then(|| all().map(Law::value).collect());
    let whole = |matrix| Block {
        channels: 1,
        scale: 1.0,
        matrix,
        mean: None,
    };
    (whole(value), whole(slope), mean)
}

/// What a sum sends down a skip is multiplied by; `field` is E[ψ'ψ'] of the activation that reads the sum.
pub(super) fn skip_pair(field: &Blocks, own: [&[Skip]; 2]) -> Blocks {
    let mut factors = Blocks::default();
    for (channels, block, [a, b]) in beside(field, own, |skip| skip.channels) {
        let mut factor = Matrix::filled(block.matrix.form, block.matrix.grid(), 0.0);
        factor.mix(0.0, block.scale, &block.matrix);
        factor.fill(|p, q, slopes| a.steps[p].with(&b.steps[q], slopes));
        factors.push(Block::new(channels, 1.0, factor));
    }
    factors
}
