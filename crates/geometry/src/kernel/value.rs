//! What is known of a node's numbers: blocks of channels that share one law.

use std::collections::BTreeSet;

use polariscope_diff::Id;

/// A covariance over positions of one channel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Nobody reads it.
    Nothing,
    /// Equal positions: P numbers.
    Equal(Id),
    /// All pairs: P × P.
    Pairs(Id),
}

/// E[h(x)h(x')], E[h(x)h(x)] and E[h(x')h(x')].
pub(super) type Fields = [Field; 3];

/// The law of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// Gaussian of mean 0, independent of other channels.
    Gaussian,
    /// Anything else: second moments are all that is known.
    Other,
}

/// Channels alike.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub channels: usize,
    /// Height and width; 1 and length of a signal, 1 and 1 of a vector that was never an image.
    pub grid: [usize; 2],
    pub law: Law,
    /// The nodes whose randomness, or the input, reaches here with no weight between.
    pub sources: BTreeSet<usize>,
    pub fields: Fields,
}

/// A node's numbers.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A linear function of the input, weights nowhere: x and x', each 1×C×H×W.
    Bare([Id; 2]),
    /// Random channels, in order.
    Blocks(Vec<Block>),
}

/// Cuts two lists of blocks at the same channels.
pub(super) fn aligned(a: &[Block], b: &[Block]) -> Vec<(Block, Block)> {
    let mut pairs = Vec::new();
    let (mut ours, mut theirs) = (a.iter().cloned(), b.iter().cloned());
    let (mut x, mut y) = (ours.next(), theirs.next());
    while let (Some(first), Some(second)) = (&mut x, &mut y) {
        let channels = first.channels.min(second.channels);
        let part = |block: &Block| Block {
            channels,
            ..block.clone()
        };
        pairs.push((part(first), part(second)));
        first.channels -= channels;
        second.channels -= channels;
        let (first_done, second_done) = (first.channels == 0, second.channels == 0);
        if first_done {
            x = ours.next();
        }
        if second_done {
            y = theirs.next();
        }
    }
    pairs
}
