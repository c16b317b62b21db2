//! `landscape`: how many parameters a network needs to fit, how rough it is where training ends, in which regime it trains,
//! and what the noise of its initial weights is worth, from a few networks that are trained.
//!
//! All start from F = 0, F = α (f − f₀), and end when every y F is at least the margin: by gradient flow where the gradient
//! is continuous, by full-batch Adam at a small rate elsewhere. With batch norm f₀ = 0, since outputs at initialisation
//! depend on the batch.

mod answer;
mod curvature;
mod job;
mod network;
mod page;
mod question;
mod sampled;
mod statistics;
mod words;

use polariscope_graph::{Graph, Op};

pub use answer::{Answer, Summary};
pub use curvature::{Curvature, Parts};
pub use job::Job;
pub use network::{FrozenEnd, FrozenPair, Network};
pub use page::page;
pub use question::{Dynamics, Question};
pub use sampled::Sampled;
pub use statistics::Statistics;

/// Whether samples of a batch see each other.
fn batch_norm(graph: &Graph) -> bool {
    let norm = |op: &Op| matches!(op, Op::BatchNorm { .. });
    graph.nodes.iter().any(|n| norm(&n.op))
}
