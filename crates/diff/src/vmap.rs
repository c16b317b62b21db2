//! The same expressions for many values of some leaves at once: each of those gets a leading axis.

use crate::jvp::ancestors;
use crate::trace::{Conv, Id, Op, Trace};

/// `outputs` for `count` values of the leaves in `many`: a trace with the same leaves, those `many` and everything that
/// depends on them with a leading axis of that length.
pub fn vmap(t: &Trace, outputs: &[Id], many: &[Id], count: usize) -> (Trace, Vec<Id>) {
    let needed = ancestors(t, outputs, t.len());
    let mut maker = Maker {
        t: Trace::new(),
        count,
        made: vec![None; t.len()],
    };
    for (i, needed) in needed.into_iter().enumerate() {
        let node = t.node(Id(i));
        if let Op::Leaf(_) = node.op {
            let made = match many.contains(&Id(i)) {
                true => Made::Many(maker.t.leaf(&leading(count, &node.shape))),
                false => Made::One(maker.t.leaf(&node.shape)),
            };
            maker.made[i] = Some(made);
        } else if needed {
            maker.made[i] = Some(maker.node(&node.op, &node.args, &node.shape));
        }
    }
    let outputs = outputs
        .iter()
        .map(|y| maker.many(*y, t.shape(*y)))
        .collect();
    (maker.t, outputs)
}

#[derive(Clone, Copy)]
enum Made {
    /// The same for all.
    One(Id),
    /// With a leading axis.
    Many(Id),
}

struct Maker {
    t: Trace,
    count: usize,
    made: Vec<Option<Made>>,
}

fn leading(count: usize, shape: &[usize]) -> Vec<usize> {
    std::iter::once(count)
        .chain(shape.iter().copied())
        .collect()
}

/// The leading axis as a part of the first one.
fn folded(count: usize, shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[0] *= count;
    shape
}

impl Maker {
    /// What was made of a node.
    fn made(&self, id: Id) -> Made {
        let Some(made) = self.made[id.0] else {
            unreachable!("arguments come before what needs them");
        };
        made
    }

    /// A node of this shape, with a leading axis.
    fn many(&mut self, id: Id, shape: &[usize]) -> Id {
        match self.made(id) {
            Made::Many(id) => id,
            Made::One(id) => {
                let one = self.t.reshape(id, &leading(1, shape));
                self.t.expand(one, &leading(self.count, shape))
            }
        }
    }

    fn node(&mut self, op: &Op, args: &[Id], shape: &[usize]) -> Made {
        let ones: Vec<Id> = args
            .iter()
            .filter_map(|&a| match self.made(a) {
                Made::One(id) => Some(id),
                Made::Many(_) => None,
            })
            .collect();
        if ones.len() == args.len() {
            return Made::One(self.t.push(op.clone(), &ones, shape));
        }
        Made::Many(self.dependent(op, args, shape))
    }

    /// The shape of a node that was made, without the leading axis.
    fn shape(&self, id: Id) -> Vec<usize> {
        match self.made(id) {
            Made::One(id) => self.t.shape(id).to_vec(),
            Made::Many(id) => self.t.shape(id)[1..].to_vec(),
        }
    }

    /// An op of which some arguments have a leading axis.
    fn dependent(&mut self, op: &Op, args: &[Id], shape: &[usize]) -> Id {
        let count = self.count;
        let wide = leading(count, shape);
        match op {
            // The leading axis stays what it is.
            Op::Map(_)
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Sum
            | Op::Expand
            | Op::Reshape
            | Op::RowMax => self.beside(op.clone(), args, &wide),
            Op::Permute(order) => {
                let order = std::iter::once(0).chain(order.iter().map(|o| o + 1));
                self.beside(Op::Permute(order.collect()), args, &wide)
            }
            &Op::Slice { axis, start } => {
                let axis = axis + 1;
                self.beside(Op::Slice { axis, start }, args, &wide)
            }
            &Op::Embed { axis, start } => {
                let axis = axis + 1;
                self.beside(Op::Embed { axis, start }, args, &wide)
            }
            &Op::Concat { axis } => self.beside(Op::Concat { axis: axis + 1 }, args, &wide),
            &Op::MatMul { ta: false, tb } if shape[0] == 1 => self.rows(tb, args, shape),
            // Matrices or samples one after the other, each on its own.
            Op::MatMul { .. }
            | Op::SumPool(_)
            | Op::SumPoolTranspose(_)
            | Op::ArgMax(_)
            | Op::Pick(_)
            | Op::Place(_)
            | Op::Unfold(_)
            | Op::Fold(_)
            | Op::Wrap(_)
            | Op::Unwrap(_)
            | Op::Crop(_)
            | Op::Paste { .. } => self.inside(op.clone(), args, shape),
            &Op::ConvForward(conv) => self.conv(Op::ConvForward, conv, args, shape),
            &Op::ConvInput(conv) => self.conv(Op::ConvInput, conv, args, shape),
            &Op::ConvWeight(conv) => {
                let networks = conv.networks * count;
                self.inside(Op::ConvWeight(Conv { networks, ..conv }), args, shape)
            }
            Op::Leaf(_) | Op::Constant(_) => unreachable!("has no arguments"),
        }
    }

    /// The op on arguments with their leading axis.
    fn beside(&mut self, op: Op, args: &[Id], wide: &[usize]) -> Id {
        let args: Vec<Id> = args
            .iter()
            .map(|&a| {
                let shape = self.shape(a);
                self.many(a, &shape)
            })
            .collect();
        match op {
            Op::Reshape => self.t.reshape(args[0], wide),
            op => self.t.push(op, &args, wide),
        }
    }

    /// The op on arguments whose leading axis is a part of their first one.
    fn inside(&mut self, op: Op, args: &[Id], shape: &[usize]) -> Id {
        let args: Vec<Id> = args.iter().map(|&a| self.fold(a)).collect();
        let y = self.t.push(op, &args, &folded(self.count, shape));
        self.t.reshape(y, &leading(self.count, shape))
    }

    /// A product of matrices: where the second one is the same for all, rows of the first ones are multiplied together.
    fn rows(&mut self, tb: bool, args: &[Id], shape: &[usize]) -> Id {
        let (Made::Many(a), Made::One(b)) = (self.made(args[0]), self.made(args[1])) else {
            return self.inside(Op::MatMul { ta: false, tb }, args, shape);
        };
        let k = self.t.shape(a)[3];
        let a = self.t.reshape(a, &[1, self.count * shape[1], k]);
        let y = self.t.matmul(a, b, false, tb);
        self.t.reshape(y, &leading(self.count, shape))
    }

    fn fold(&mut self, id: Id) -> Id {
        let shape = self.shape(id);
        let many = self.many(id, &shape);
        self.t.reshape(many, &folded(self.count, &shape))
    }

    /// A convolution of samples with weights: one set of them for all, or as many as there are.
    fn conv(&mut self, op: fn(Conv) -> Op, conv: Conv, args: &[Id], shape: &[usize]) -> Id {
        match self.made(args[1]) {
            Made::One(w) if conv.networks == 1 => {
                let x = self.fold(args[0]);
                let y = self.t.push(op(conv), &[x, w], &folded(self.count, shape));
                self.t.reshape(y, &leading(self.count, shape))
            }
            _ => {
                let networks = conv.networks * self.count;
                self.inside(op(Conv { networks, ..conv }), args, shape)
            }
        }
    }
}
