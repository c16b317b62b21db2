//! The programs of a plan, and the sessions in which one thread runs them.
//!
//! A task keeps its sessions, so what a program wrote lies in the cache of the core that runs it again.

use std::sync::Arc;

use polariscope_diff::{Number, Program, Session};
use polariscope_graph::{Graph, Node, NodeId, Op, Shape};

use crate::Weights;
use crate::lower::{Mode, lower};

/// Programs with one output each.
#[derive(Default)]
pub struct Programs(Vec<Arc<Program>>);

/// Number of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramId(usize);

impl Programs {
    /// Adds a program.
    pub fn add(&mut self, program: Program) -> ProgramId {
        self.0.push(Arc::new(program));
        ProgramId(self.0.len() - 1)
    }

    /// Adds that of a graph, for a batch; it reads [`leaves`].
    pub fn graph(&mut self, graph: &Graph, batch: usize) -> ProgramId {
        let lowered = lower(graph, batch, Mode::Evaluate);
        self.add(Program::new(&lowered.trace, &[lowered.output]))
    }

    /// Adds that of ops one after the other with the parameters of `graph`; all of them give `output`.
    pub fn sequence(
        &mut self,
        graph: &Graph,
        [input, output]: [Shape; 2],
        ops: &[Op],
        batch: usize,
    ) -> ProgramId {
        let node = |op: &Op, inputs, shape| Node {
            layer: String::new(),
            op: op.clone(),
            inputs,
            shape,
        };
        let chain = ops.iter().enumerate();
        let chain = chain.map(|(i, op)| node(op, vec![NodeId(i)], output));
        let input = node(&Op::Input, vec![], input);
        let nodes = std::iter::once(input).chain(chain).collect();
        let graph = Graph {
            nodes,
            ..graph.clone()
        };
        self.graph(&graph, batch)
    }
}

/// The sessions of one thread at a time, each made when it is first needed.
pub struct Sessions<T>(Vec<(Arc<Program>, Option<Session<T>>)>);

impl<T: Number> Sessions<T> {
    /// For some programs.
    pub fn new(programs: &Programs) -> Self {
        let waiting = |program: &Arc<Program>| (program.clone(), None);
        Sessions(programs.0.iter().map(waiting).collect())
    }

    /// The output of a program.
    pub fn run(&mut self, program: ProgramId, leaves: &[&[T]]) -> &[T] {
        let (program, session) = &mut self.0[program.0];
        let new = || Session::new(program.clone());
        let session = session.get_or_insert_with(new);
        session.run(leaves);
        session.output(0)
    }
}

/// Leaves of a graph's program: the input, then every parameter.
pub fn leaves<'a, T>(input: &'a [T], weights: &'a Weights<T>) -> Vec<&'a [T]> {
    let params = weights.values.iter().map(Vec::as_slice);
    std::iter::once(input).chain(params).collect()
}
