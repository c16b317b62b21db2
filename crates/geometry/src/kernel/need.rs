//! Which covariances later layers read.
//!
//! Between the two inputs: pairs of positions before a pool, equal positions elsewhere. Of one input with itself: the
//! variances that an activation reads, and so pairs before a pool that an activation follows.

use polariscope_graph::{Graph, Op, Pairs};

/// How much of a covariance over positions is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// Equal positions.
    Equal,
    /// All pairs.
    Pairs,
}

/// What is read of the covariance between the inputs, and of one input with itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub between: Need,
    pub within: Need,
}

impl Needs {
    /// For E[h(x)h(x')], E[h(x)h(x)] and E[h(x')h(x')].
    pub fn each(self) -> [Need; 3] {
        [self.between, self.within, self.within]
    }

    /// The same, equal positions at most.
    pub fn equal(self) -> Self {
        Needs {
            between: self.between.min(Need::Equal),
            within: self.within.min(Need::Equal),
        }
    }
}

/// What is read of every node; nothing of those that do not lead to the output.
pub(super) fn needs(graph: &Graph) -> Vec<Needs> {
    let nothing = Needs {
        between: Need::Nothing,
        within: Need::Nothing,
    };
    let mut needs = vec![nothing; graph.nodes.len()];
    if let Some(last) = needs.last_mut() {
        last.between = Need::Equal;
    }
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        let own = needs[i];
        let pairs = node.op.facts().pairs;
        let read = |need: Need| match (need, pairs) {
            (Need::Nothing, _) => Need::Nothing,
            (_, Pairs::All) => Need::Pairs,
            (_, Pairs::Equal | Pairs::Token) => Need::Equal,
            (need, Pairs::Asked | Pairs::Unknown(_)) => need,
        };
        let mut above = Needs {
            between: read(own.between),
            within: read(own.within),
        };
        if let Op::Activation(activation) = node.op
            && !activation.is_identity()
            && own.between > Need::Nothing
        {
            above.within = above.within.max(Need::Equal);
        }
        for input in &node.inputs {
            let need = &mut needs[input.0];
            need.between = need.between.max(above.between);
            need.within = need.within.max(above.within);
        }
    }
    needs
}
