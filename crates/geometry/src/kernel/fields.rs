//! Arithmetic of fields: what ops do to the three covariances of a pair.

use std::collections::BTreeSet;

use polariscope_diff::{Id, Trace};

use super::need::{Need, Needs};
use super::pairs::Taps;
use super::value::{Block, Field, Fields, Law, Value};

/// Where the recursion is written down.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// At two probes, or one twice: pairs of Gaussians that are multiples of each other are found by their values.
    Points([&'a [f64]; 2]),
    /// Anywhere: to see whether there is a kernel, and its size.
    Nowhere,
}

/// Expressions under construction and the values of their leaves.
pub(super) struct Algebra<'a> {
    pub t: Trace,
    /// x and x'.
    pub inputs: [Id; 2],
    /// Values of the leaves; empty without a probe.
    pub leaves: Vec<Vec<f64>>,
    pub at: At<'a>,
}

impl<'a> Algebra<'a> {
    pub fn new(input: &[usize], at: At<'a>) -> Self {
        let mut t = Trace::new();
        let inputs = [t.leaf(input), t.leaf(input)];
        let leaves = match at {
            At::Points(both) => both.map(<[f64]>::to_vec).into(),
            At::Nowhere => Vec::new(),
        };
        Algebra {
            t,
            inputs,
            leaves,
            at,
        }
    }

    /// A leaf with these values.
    pub fn known(&mut self, shape: &[usize], values: impl FnOnce() -> Vec<f64>) -> Id {
        if let At::Points(_) = self.at {
            self.leaves.push(values());
        }
        self.t.leaf(shape)
    }

    /// The identity matrix.
    fn identity(&mut self, n: usize) -> Id {
        self.known(&[n, n], || {
            (0..n * n)
                .map(|i| f64::from(u8::from(i % (n + 1) == 0)))
                .collect()
        })
    }

    /// The grid that a window reads.
    pub fn grid(&self, value: &Value) -> [usize; 2] {
        match value {
            Value::Bare([x, _]) => {
                let s = self.t.shape(*x);
                [s[2], s[3]]
            }
            Value::Blocks(blocks) => blocks.first().map_or([1, 1], |b| b.grid),
        }
    }

    /// As much of a field as is needed.
    pub fn read(&mut self, field: Field, need: Need) -> Field {
        match (need, field) {
            (Need::Nothing, _) | (_, Field::Nothing) => Field::Nothing,
            (Need::Equal, Field::Pairs(pairs)) => Field::Equal(self.diagonal(pairs)),
            (_, field) => field,
        }
    }

    fn diagonal(&mut self, pairs: Id) -> Id {
        let n = self.t.shape(pairs)[0];
        if n == 1 {
            return self.t.reshape(pairs, &[1]);
        }
        let identity = self.identity(n);
        let masked = self.t.mul(pairs, identity);
        let sum = self.t.sum(masked, &[1]);
        self.t.reshape(sum, &[n])
    }

    /// Equal positions as pairs, uncorrelated otherwise, where pairs are wanted.
    pub fn spread(&mut self, fields: Fields, wanted: [Need; 3]) -> Fields {
        let mut made = fields;
        for (field, need) in made.iter_mut().zip(wanted) {
            if let (Field::Equal(v), Need::Pairs) = (*field, need) {
                let n = self.t.shape(v)[0];
                let column = self.t.reshape(v, &[n, 1]);
                *field = Field::Pairs(if n == 1 {
                    column
                } else {
                    let wide = self.t.expand(column, &[n, n]);
                    let identity = self.identity(n);
                    self.t.mul(wide, identity)
                });
            }
        }
        made
    }

    /// The value as blocks with as much as is needed; a bare input becomes the average over its channels.
    pub fn blocks(&mut self, value: &Value, needs: Needs) -> Vec<Block> {
        match value {
            Value::Blocks(blocks) => blocks
                .iter()
                .map(|block| {
                    let mut block = block.clone();
                    for (field, need) in block.fields.iter_mut().zip(needs.each()) {
                        *field = self.read(*field, need);
                    }
                    block
                })
                .collect(),
            Value::Bare(x) => {
                let s = self.t.shape(x[0]).to_vec();
                let (channels, positions) = (s[1], s[2] * s[3]);
                let flat = x.map(|x| self.t.reshape(x, &[1, channels, positions]));
                vec![Block {
                    channels,
                    grid: [s[2], s[3]],
                    law: Law::Other,
                    sources: BTreeSet::from([0]),
                    fields: self.products(flat, 1.0 / channels as f64, needs),
                }]
            }
        }
    }

    /// factor · Σ_k a[k,α] b[k,α'] for a, b among two 1 × K × P tensors.
    fn products(&mut self, x: [Id; 2], factor: f64, needs: Needs) -> Fields {
        let sides = [(x[0], x[1]), (x[0], x[0]), (x[1], x[1])];
        let mut fields = [Field::Nothing; 3];
        for ((field, need), (a, b)) in fields.iter_mut().zip(needs.each()).zip(sides) {
            let positions = self.t.shape(a)[2];
            *field = match need {
                Need::Nothing => Field::Nothing,
                Need::Equal => {
                    let product = self.t.mul(a, b);
                    let sum = self.t.sum(product, &[1]);
                    let sum = self.t.reshape(sum, &[positions]);
                    Field::Equal(self.t.scale(sum, factor))
                }
                Need::Pairs => {
                    let product = self.t.matmul(a, b, true, false);
                    let product = self.t.reshape(product, &[positions, positions]);
                    Field::Pairs(self.t.scale(product, factor))
                }
            };
        }
        fields
    }

    /// v Σ over channels, each block's field taken through `f` first.
    pub fn mixed(
        &mut self,
        value: &Value,
        v: f64,
        needs: Needs,
        f: impl Fn(&mut Trace, Id) -> Id,
    ) -> Fields {
        let mut sum = [Field::Nothing; 3];
        for block in self.blocks(value, needs) {
            let factor = v * block.channels as f64;
            for (sum, field) in sum.iter_mut().zip(block.fields) {
                let part = through(field, |id| {
                    let id = f(&mut self.t, id);
                    self.t.scale(id, factor)
                });
                *sum = added(&mut self.t, *sum, part);
            }
        }
        sum
    }

    /// The fields behind a convolution whose weights have variance v.
    pub fn convolved(&mut self, value: &Value, taps: &Taps, v: f64, needs: Needs) -> Fields {
        if let Value::Bare(x) = value {
            let patches = x.map(|x| taps.patches(&mut self.t, x));
            return self.products(patches, v, needs);
        }
        let sums = self.mixed(value, v, needs, |_, id| id);
        sums.map(|field| match field {
            Field::Nothing => Field::Nothing,
            Field::Equal(id) => Field::Equal(taps.slide_equal(&mut self.t, id)),
            Field::Pairs(id) => Field::Pairs(taps.slide_pairs(&mut self.t, id)),
        })
    }

    /// Every field through a function of its numbers.
    pub fn mapped(
        &mut self,
        value: &Value,
        needs: Needs,
        f: impl Fn(&mut Trace, Id) -> Id,
    ) -> Vec<Block> {
        let mut blocks = self.blocks(value, needs);
        for block in &mut blocks {
            block.fields = block
                .fields
                .map(|field| through(field, |id| f(&mut self.t, id)));
        }
        blocks
    }

    /// Every field through an average over positions.
    pub fn pooled(
        &mut self,
        blocks: &[Block],
        grid: [usize; 2],
        needs: Needs,
        f: impl Fn(&mut Trace, Id) -> Id,
    ) -> Vec<Block> {
        let mut made = Vec::with_capacity(blocks.len());
        for block in blocks {
            let mut fields = block.fields;
            for (field, need) in fields.iter_mut().zip(needs.each()) {
                *field = match (need, *field) {
                    (Need::Nothing, _) => Field::Nothing,
                    (need, Field::Pairs(pairs)) => {
                        let pooled = f(&mut self.t, pairs);
                        self.read(Field::Pairs(pooled), need)
                    }
                    (_, other) => other,
                };
            }
            made.push(Block {
                grid,
                fields,
                ..block.clone()
            });
        }
        made
    }

    /// The sum of two uncorrelated blocks.
    pub fn plus(&mut self, a: &Block, b: &Block) -> Block {
        let mut fields = a.fields;
        for (sum, field) in fields.iter_mut().zip(b.fields) {
            *sum = added(&mut self.t, *sum, field);
        }
        Block {
            law: if b.law == Law::Gaussian { a.law } else { b.law },
            sources: a.sources.union(&b.sources).copied().collect(),
            fields,
            ..a.clone()
        }
    }
}

fn through(field: Field, mut f: impl FnMut(Id) -> Id) -> Field {
    match field {
        Field::Nothing => Field::Nothing,
        Field::Equal(id) => Field::Equal(f(id)),
        Field::Pairs(id) => Field::Pairs(f(id)),
    }
}

/// a + b; nothing is the neutral element.
fn added(t: &mut Trace, a: Field, b: Field) -> Field {
    match (a, b) {
        (Field::Equal(a), Field::Equal(b)) => Field::Equal(t.add(a, b)),
        (Field::Pairs(a), Field::Pairs(b)) => Field::Pairs(t.add(a, b)),
        (Field::Nothing, b) => b,
        (a, _) => a,
    }
}
