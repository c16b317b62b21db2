//! From expressions to a plan: what runs, in which order, in which buffer.
//!
//! Elementwise nodes with one elementwise reader are fused into it; `Expand` and constants become
//! operands; `Reshape` is a view. Buffers are shared between values that are never alive together.
//! A plan knows nothing of number types or devices.

use crate::function::Function;
use crate::jvp::ancestors;
use crate::trace::{Id, Op, Trace, size};

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Input of the program.
    Leaf(usize),
    /// Buffer of the workspace.
    Buffer(usize),
}

/// An argument of a step.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Where it lives.
    pub value: Value,
    /// Dimensions.
    pub shape: Vec<usize>,
}

/// One kernel call.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to compute.
    pub kernel: Kernel,
    /// From what.
    pub args: Vec<Argument>,
    /// Buffer written.
    pub out: usize,
    /// Dimensions of the result.
    pub shape: Vec<usize>,
}

/// What a step computes.
#[derive(Clone, Debug)]
pub enum Kernel {
    /// An op that is not elementwise, on whole arguments.
    Op(Op),
    /// A chain of elementwise ops.
    Fused(Fused),
}

/// A chain of elementwise instructions over virtual registers.
#[derive(Clone, Debug, Default)]
pub struct Fused {
    /// In order; the last one writes the result.
    pub instructions: Vec<Instruction>,
    /// How each argument of the step is read.
    pub access: Vec<Access>,
    /// Number of registers.
    pub registers: usize,
}

/// How an elementwise step walks through an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// In the order of the result.
    Full,
    /// Along collapsed axes of the result, (length, stride) from the outermost.
    Broadcast(Vec<(usize, usize)>),
}

/// Where an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElementSource {
    /// A register.
    Register(usize),
    /// Argument of the step, read as its [`Access`] says.
    Argument(usize),
    /// A constant.
    Constant(f64),
}

/// Elementwise op of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
}

/// One elementwise instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// What it computes.
    pub op: Elementwise,
    /// Where the result goes; nothing means the step's result.
    pub to: Option<usize>,
}

/// The elementwise operations.
#[derive(Clone, Copy, Debug)]
pub enum Elementwise {
    /// f(a)
    Map(Function, ElementSource),
    /// a ∘ b
    Binary(Binary, ElementSource, ElementSource),
    /// An argument alone.
    Load(usize),
    /// A constant everywhere.
    Fill(f64),
}

/// A compiled set of outputs.
#[derive(Clone, Debug)]
pub struct Program {
    /// In order.
    pub steps: Vec<Step>,
    /// Length of each buffer.
    pub buffers: Vec<usize>,
    /// Length of each input, 0 for inputs that no output needs.
    pub leaves: Vec<usize>,
    /// Buffer and length of each output.
    pub outputs: Vec<(usize, usize)>,
}

fn elementwise(op: &Op) -> bool {
    matches!(op, Op::Map(_) | Op::Add | Op::Sub | Op::Mul | Op::Div)
}

impl Program {
    /// Plans the computation of `outputs`.
    pub fn new(t: &Trace, outputs: &[Id]) -> Self {
        Planner::new(t, outputs).plan(outputs)
    }

    /// Numbers in its inputs and buffers.
    pub fn numbers(&self) -> usize {
        self.buffers.iter().chain(&self.leaves).sum()
    }
}

struct Planner<'a> {
    t: &'a Trace,
    needed: Vec<bool>,
    stored: Vec<bool>,
    value: Vec<Option<Value>>,
    steps: Vec<Step>,
    /// Step after which a node's storage is free.
    last_use: Vec<usize>,
}

impl<'a> Planner<'a> {
    fn new(t: &'a Trace, outputs: &[Id]) -> Self {
        let needed = ancestors(t, outputs, t.len());
        let stored = stored(t, &needed, outputs);
        Planner {
            t,
            stored,
            needed,
            value: vec![None; t.len()],
            steps: Vec::new(),
            last_use: vec![0; t.len()],
        }
    }

    fn plan(mut self, outputs: &[Id]) -> Program {
        let mut leaves = Vec::new();
        let mut owners = Vec::new();
        for i in 0..self.t.len() {
            let node = self.t.node(Id(i));
            if let Op::Leaf(l) = node.op {
                leaves.resize(leaves.len().max(l + 1), 0);
                if self.needed[i] {
                    leaves[l] = size(&node.shape);
                    self.value[i] = Some(Value::Leaf(l));
                }
            } else if self.stored[i] {
                self.step(Id(i), owners.len());
                self.value[i] = Some(Value::Buffer(owners.len()));
                owners.push(i);
            }
        }
        for &y in outputs {
            let root = self.root(y);
            self.last_use[root.0] = usize::MAX;
        }
        let (assigned, mut buffers) = self.assign(&owners);
        let place = |v: Value| match v {
            Value::Buffer(b) => Value::Buffer(assigned[b]),
            leaf => leaf,
        };
        for step in &mut self.steps {
            step.out = assigned[step.out];
            step.args.iter_mut().for_each(|a| a.value = place(a.value));
        }
        let mut placed = Vec::with_capacity(outputs.len());
        for &y in outputs {
            let length = size(self.t.shape(y));
            let buffer = match self.value[self.root(y).0].map(place) {
                Some(Value::Buffer(b)) => b,
                // An input asked for as an output is copied.
                other => {
                    let value = other.unwrap_or(Value::Leaf(usize::MAX));
                    buffers.push(length);
                    self.steps.push(copy(value, length, buffers.len() - 1));
                    buffers.len() - 1
                }
            };
            placed.push((buffer, length));
        }
        Program {
            steps: self.steps,
            buffers,
            leaves,
            outputs: placed,
        }
    }

    /// The node whose storage holds this one.
    fn root(&self, mut id: Id) -> Id {
        while self.t.node(id).op == Op::Reshape {
            id = self.t.node(id).args[0];
        }
        id
    }

    fn argument(&mut self, id: Id) -> Argument {
        let root = self.root(id);
        self.last_use[root.0] = self.steps.len();
        // Every argument of a stored node is stored: see `stored`.
        let value = self.value[root.0].unwrap_or(Value::Leaf(usize::MAX));
        Argument {
            value,
            shape: self.t.shape(id).to_vec(),
        }
    }

    fn step(&mut self, id: Id, out: usize) {
        let node = self.t.node(id);
        let fused = elementwise(&node.op) || matches!(node.op, Op::Expand | Op::Constant(_));
        let (kernel, args) = if fused {
            let mut builder = Fuser {
                fused: Fused::default(),
                args: Vec::new(),
                free: Vec::new(),
                shape: &node.shape,
            };
            builder.root(self, id);
            (Kernel::Fused(builder.fused), builder.args)
        } else {
            (
                Kernel::Op(node.op.clone()),
                node.args.iter().map(|&a| self.argument(a)).collect(),
            )
        };
        self.steps.push(Step {
            kernel,
            args,
            out,
            shape: node.shape.clone(),
        });
    }

    /// Buffers for the stored nodes.
    fn assign(&self, owners: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut pool = Pool::default();
        let mut assigned = vec![0; owners.len()];
        for (now, &node) in owners.iter().enumerate() {
            assigned[now] = pool.take(size(&self.t.node(Id(node)).shape));
            for (earlier, &other) in owners[..=now].iter().enumerate() {
                if self.last_use[other] == now && earlier != now {
                    pool.give(assigned[earlier]);
                }
            }
        }
        (assigned, pool.lengths)
    }
}

/// Buffers that are used again when nobody needs what they hold.
#[derive(Default)]
pub(crate) struct Pool {
    /// Length of each buffer.
    pub lengths: Vec<usize>,
    free: Vec<usize>,
}

impl Pool {
    /// A buffer of at least this length: best fit among the free ones, the largest one grown otherwise.
    pub fn take(&mut self, length: usize) -> usize {
        let Pool { lengths, free } = self;
        let fit = free.iter().copied().filter(|&b| lengths[b] >= length);
        let chosen = fit
            .min_by_key(|&b| lengths[b])
            .or_else(|| free.iter().copied().max_by_key(|&b| lengths[b]))
            .unwrap_or_else(|| {
                lengths.push(0);
                lengths.len() - 1
            });
        lengths[chosen] = lengths[chosen].max(length);
        free.retain(|&b| b != chosen);
        chosen
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: usize) {
        self.free.push(buffer);
    }
}

/// A step that copies a value.
fn copy(value: Value, length: usize, out: usize) -> Step {
    let instructions = vec![Instruction {
        op: Elementwise::Load(0),
        to: None,
    }];
    let kernel = Kernel::Fused(Fused {
        instructions,
        access: vec![Access::Full],
        registers: 0,
    });
    Step {
        kernel,
        args: vec![Argument {
            value,
            shape: vec![length],
        }],
        out,
        shape: vec![length],
    }
}

/// Which nodes get storage of their own.
fn stored(t: &Trace, needed: &[bool], outputs: &[Id]) -> Vec<bool> {
    let mut stored = vec![false; t.len()];
    let mut readers = vec![0; t.len()];
    for i in (0..t.len()).filter(|&i| needed[i]) {
        let node = t.node(Id(i));
        let fuses = elementwise(&node.op);
        for (k, a) in node.args.iter().enumerate() {
            let repeated = node.args[..k].contains(a);
            readers[a.0] += usize::from(!repeated || !fuses);
            let inline = fuses
                && match &t.node(*a).op {
                    Op::Expand | Op::Constant(_) => true,
                    op => {
                        elementwise(op)
                            && t.shape(*a) == node.shape
                            && !node.args.iter().enumerate().any(|(j, b)| j != k && a == b)
                    }
                };
            if !inline {
                stored[a.0] = true;
            }
        }
        if !fuses
            && !matches!(
                node.op,
                Op::Expand | Op::Constant(_) | Op::Leaf(_) | Op::Reshape
            )
        {
            stored[i] = true;
        }
    }
    for y in outputs {
        stored[y.0] = true;
    }
    for i in (0..t.len()).rev() {
        let op = &t.node(Id(i)).op;
        if elementwise(op) && readers[i] > 1 {
            stored[i] = true;
        }
        // A view stores what it views; it has no storage itself.
        if stored[i] && *op == Op::Reshape {
            stored[i] = false;
            stored[t.node(Id(i)).args[0].0] = true;
        }
        stored[i] &= needed[i];
    }
    stored
}

/// Builds one fused step.
struct Fuser<'s> {
    fused: Fused,
    args: Vec<Argument>,
    free: Vec<usize>,
    shape: &'s [usize],
}

impl Fuser<'_> {
    fn root(&mut self, planner: &mut Planner, id: Id) {
        let op = self.node(planner, id);
        self.fused.instructions.push(Instruction { op, to: None });
    }

    /// The instruction that computes a node, its arguments having been computed.
    fn node(&mut self, planner: &mut Planner, id: Id) -> Elementwise {
        let node = planner.t.node(id);
        match node.op {
            Op::Constant(c) => Elementwise::Fill(c.get()),
            Op::Expand => Elementwise::Load(self.operand(planner, node.args[0])),
            Op::Map(f) => {
                let a = self.source(planner, node.args[0]);
                Elementwise::Map(f, a)
            }
            ref op => {
                let a = self.source(planner, node.args[0]);
                let b = if node.args[0] == node.args[1] {
                    a
                } else {
                    self.source(planner, node.args[1])
                };
                let op = match op {
                    Op::Add => Binary::Add,
                    Op::Sub => Binary::Sub,
                    Op::Mul => Binary::Mul,
                    _ => Binary::Div,
                };
                Elementwise::Binary(op, a, b)
            }
        }
    }

    fn source(&mut self, planner: &mut Planner, id: Id) -> ElementSource {
        if let Some(c) = planner.t.constant_value(id) {
            return ElementSource::Constant(c);
        }
        let root = planner.root(id);
        if planner.value[root.0].is_some() {
            return ElementSource::Argument(self.operand(planner, id));
        }
        if planner.t.node(id).op == Op::Expand {
            return ElementSource::Argument(self.operand(planner, planner.t.node(id).args[0]));
        }
        let op = self.node(planner, id);
        let to = self.free.pop().unwrap_or_else(|| {
            self.fused.registers += 1;
            self.fused.registers - 1
        });
        // Freed only now: no instruction writes a register that it reads.
        match op {
            Elementwise::Map(_, a) => self.release(a),
            Elementwise::Binary(_, a, b) => {
                self.release(a);
                if a != b {
                    self.release(b);
                }
            }
            Elementwise::Load(_) | Elementwise::Fill(_) => {}
        }
        self.fused
            .instructions
            .push(Instruction { op, to: Some(to) });
        ElementSource::Register(to)
    }

    fn release(&mut self, source: ElementSource) {
        if let ElementSource::Register(r) = source {
            self.free.push(r);
        }
    }

    fn operand(&mut self, planner: &mut Planner, id: Id) -> usize {
        let argument = planner.argument(id);
        let access = access(&argument.shape, self.shape);
        let known = self
            .args
            .iter()
            .zip(&self.fused.access)
            .position(|(a, x)| a.value == argument.value && *x == access);
        known.unwrap_or_else(|| {
            self.args.push(argument);
            self.fused.access.push(access);
            self.args.len() - 1
        })
    }
}

/// How an argument of shape `from` (axes of length 1 repeat) is walked in the order of `to`.
fn access(from: &[usize], to: &[usize]) -> Access {
    if from == to {
        return Access::Full;
    }
    let mut axes: Vec<(usize, usize)> = Vec::new();
    let mut stride = 1;
    for (&a, &b) in from.iter().zip(to).rev() {
        let step = if a == 1 { 0 } else { stride };
        stride *= a;
        if b == 1 {
            continue;
        }
        // An axis continues the one inside it when both repeat, or both walk without a gap.
        match axes.last_mut() {
            Some((length, inner)) if step == *inner * *length => *length *= b,
            _ => axes.push((b, step)),
        }
    }
    axes.reverse();
    Access::Broadcast(axes)
}
