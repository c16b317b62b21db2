//! Covariances at a node: consecutive channels that share one matrix over positions.
//!
//! Different channels are uncorrelated, so a list of (channels, scale · matrix) is the whole covariance.
//! Matrices are shared between nodes; factors are kept apart from them, so that scaling is free.
//!
//! Signals that carry what an activation made have a mean m as well; second moments then are M = C + m mᵀ, and
//! those of a sum of independent fields M + M' + m m'ᵀ + m' mᵀ.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::forward::Means;
use crate::matrix::{Form, Matrix};

/// Channels with second moments scale · matrix each.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub channels: usize,
    pub scale: f64,
    pub matrix: Arc<Matrix>,
    /// The mean at every position, of both inputs where the form is general; none where it is 0, as it is for
    /// gradients.
    pub mean: Option<Mean>,
}

/// A number for every position, in row order.
pub(crate) type Mean = Arc<[f64]>;

impl Block {
    pub fn new(channels: usize, scale: f64, matrix: Matrix) -> Self {
        Block {
            channels,
            scale,
            matrix: Arc::new(matrix),
            mean: None,
        }
    }

    /// The variance at every position in row order.
    pub fn variances(&self) -> Vec<f64> {
        let mut variances = self.matrix.variances();
        variances.iter_mut().for_each(|v| *v *= self.scale);
        if let Some(mean) = &self.mean {
            let pairs = variances.iter_mut().zip(&**mean);
            pairs.for_each(|(v, m)| *v -= m * m);
        }
        variances
    }

    /// Equal keys have equal matrices and means.
    fn key(&self) -> Key {
        let mean = self.mean.as_ref();
        Key {
            matrix: Arc::as_ptr(&self.matrix) as usize,
            scale: self.scale.to_bits(),
            mean: mean.map_or(0, |m| m.as_ptr() as usize),
        }
    }
}

/// What a block shares with others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    matrix: usize,
    scale: u64,
    mean: usize,
}

/// The channels of a node, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks(Vec<Block>);

impl Blocks {
    /// Appends channels; those of a matrix already at the end join it.
    pub fn push(&mut self, block: Block) {
        match self.0.last_mut() {
            Some(last) if last.key() == block.key() => last.channels += block.channels,
            _ if block.channels == 0 => {}
            _ => self.0.push(block),
        }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Block> {
        self.0.iter()
    }

    /// All covariances times a factor; means must be 0.
    pub fn scaled(mut self, by: f64) -> Self {
        for block in &mut self.0 {
            block.scale *= by;
        }
        self
    }

    /// With or without their means.
    pub fn with_means(mut self, means: Means) -> Self {
        if means == Means::Drop {
            self.0.iter_mut().for_each(|block| block.mean = None);
        }
        self
    }

    /// The moments of `gain` times the signals, given its square.
    pub fn amplified(mut self, gain: f64, square: f64) -> Self {
        // Blocks that share a mean go on sharing it.
        let mut made: HashMap<usize, Mean> = HashMap::new();
        for block in &mut self.0 {
            block.scale *= square;
            block.mean = block.mean.take().map(|mean| {
                let scaled = || mean.iter().map(|m| gain * m).collect();
                made.entry(mean.as_ptr() as usize)
                    .or_insert_with(scaled)
                    .clone()
            });
        }
        self
    }

    /// The channels of a range.
    pub fn slice(&self, range: Range<usize>) -> Blocks {
        let mut first = 0;
        let mut part = Blocks::default();
        for block in &self.0 {
            let last = first + block.channels;
            let channels = last.min(range.end).saturating_sub(first.max(range.start));
            part.push(Block {
                channels,
                ..block.clone()
            });
            first = last;
        }
        part
    }

    /// Equal signatures are equal covariances, channel by channel.
    pub fn signature(&self) -> Vec<(usize, Key)> {
        self.0.iter().map(|b| (b.channels, b.key())).collect()
    }

    /// Σ over channels of their second moments, as one channel; what a weight makes of it has mean 0.
    pub fn total(&self) -> Option<Block> {
        let mut terms: Vec<(f64, &Arc<Matrix>)> = Vec::new();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        for block in &self.0 {
            let coefficient = block.channels as f64 * block.scale;
            let place = seen.entry(block.key().matrix).or_insert(terms.len());
            match terms.get_mut(*place) {
                Some((sum, _)) => *sum += coefficient,
                None => terms.push((coefficient, &block.matrix)),
            }
        }
        // A selected output leaves all other channels at 0.
        let some: Vec<_> = terms.iter().filter(|term| term.0 != 0.0).collect();
        match (&some[..], &terms[..]) {
            ([(scale, matrix)], _) | ([], [(scale, matrix), ..]) => Some(Block {
                channels: 1,
                scale: *scale,
                matrix: Arc::clone(matrix),
                mean: None,
            }),
            ([], []) => None,
            _ => {
                let alike: Vec<Arc<Matrix>> = in_one_form(some.iter().map(|(_, m)| *m));
                let coefficients = some.iter().map(|(c, _)| *c);
                let terms: Vec<(f64, &Matrix)> =
                    coefficients.zip(alike.iter().map(|m| &**m)).collect();
                Some(Block::new(1, 1.0, Matrix::combination(&terms)))
            }
        }
    }

    /// Σ over channels of the variances at all positions.
    pub fn trace(&self) -> f64 {
        let part = |b: &Block| match b.scale {
            0.0 => 0.0,
            scale => b.channels as f64 * scale * b.matrix.trace(),
        };
        self.0.iter().map(part).sum()
    }

    /// A matrix for every block; blocks of one covariance get one matrix.
    pub fn map(&self, mut f: impl FnMut(&Block) -> Block) -> Blocks {
        let mut made: HashMap<Key, Block> = HashMap::new();
        let mut result = Blocks::default();
        for block in &self.0 {
            let image = made.entry(block.key()).or_insert_with(|| f(block));
            result.push(Block {
                channels: block.channels,
                ..image.clone()
            });
        }
        result
    }

    /// A matrix for every pair of blocks that cover the same channels.
    fn join(&self, other: &Blocks, f: impl Fn(&Block, &Block) -> Block) -> Blocks {
        let mut made: HashMap<(Key, Key), Block> = HashMap::new();
        let mut result = Blocks::default();
        let (mut ours, mut theirs) = (self.0.iter(), other.0.iter());
        let (mut a, mut b) = (ours.next().cloned(), theirs.next().cloned());
        while let (Some(x), Some(y)) = (&mut a, &mut b) {
            let channels = x.channels.min(y.channels);
            let joint = made
                .entry((x.key(), y.key()))
                .or_insert_with(|| f(x, y))
                .clone();
            result.push(Block { channels, ..joint });
            x.channels -= channels;
            y.channels -= channels;
            if x.channels == 0 {
                a = ours.next().cloned();
            }
            if b.as_ref().is_some_and(|y| y.channels == 0) {
                b = theirs.next().cloned();
            }
        }
        result
    }

    /// Moments of the sum of two independent fields.
    pub fn plus(mut self, mut other: Blocks) -> Blocks {
        if let ([a], [b]) = (&mut self.0[..], &mut other.0[..])
            && !Arc::ptr_eq(&a.matrix, &b.matrix)
            && a.matrix.form == b.matrix.form
        {
            // The usual case, in the memory of whichever matrix nobody else reads.
            if let Some(sum) = Arc::get_mut(&mut a.matrix) {
                sum.mix(a.scale, b.scale, &b.matrix);
                sum.cross(a.mean.as_deref(), b.mean.as_deref());
                (a.scale, a.mean) = (1.0, mean_of_sum(a, b));
                return self;
            }
            if let Some(sum) = Arc::get_mut(&mut b.matrix) {
                sum.mix(b.scale, a.scale, &a.matrix);
                sum.cross(a.mean.as_deref(), b.mean.as_deref());
                (b.scale, b.mean) = (1.0, mean_of_sum(a, b));
                return other;
            }
        }
        self.join(&other, |a, b| {
            let mean = mean_of_sum(a, b);
            if Arc::ptr_eq(&a.matrix, &b.matrix) && (a.mean.is_none() || b.mean.is_none()) {
                return Block {
                    scale: a.scale + b.scale,
                    mean,
                    ..a.clone()
                };
            }
            let alike = in_one_form([&a.matrix, &b.matrix].into_iter());
            let terms = [(a.scale, &*alike[0]), (b.scale, &*alike[1])];
            let mut sum = Matrix::combination(&terms);
            sum.cross(a.mean.as_deref(), b.mean.as_deref());
            Block {
                mean,
                ..Block::new(1, 1.0, sum)
            }
        })
    }

    /// Entry by entry.
    pub fn times(&self, other: &Blocks) -> Blocks {
        self.join(other, |a, b| {
            let alike = in_one_form([&a.matrix, &b.matrix].into_iter());
            Block::new(1, a.scale * b.scale, alike[0].product(&alike[1]))
        })
    }
}

/// Matrices that can be combined entry by entry: general as soon as one is.
fn in_one_form<'a>(matrices: impl Iterator<Item = &'a Arc<Matrix>> + Clone) -> Vec<Arc<Matrix>> {
    let mixed = matrices.clone().any(|m| m.form == Form::General);
    matrices
        .map(|m| match (mixed, m.form) {
            (true, Form::Symmetric) => Arc::new(m.general()),
            _ => Arc::clone(m),
        })
        .collect()
}

impl From<Block> for Blocks {
    fn from(block: Block) -> Self {
        Blocks(vec![block])
    }
}

fn mean_of_sum(a: &Block, b: &Block) -> Option<Mean> {
    match (&a.mean, &b.mean) {
        (Some(a), Some(b)) => Some(a.iter().zip(&**b).map(|(a, b)| a + b).collect()),
        (one, other) => one.clone().or_else(|| other.clone()),
    }
}
