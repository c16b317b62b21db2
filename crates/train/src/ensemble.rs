//! Many networks of one architecture.

use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_network::multiplications;
use rayon::prelude::*;

use crate::{Config, Quiet, Samples, State, TrainError, Trainer};

/// Multiplications of a batch's forward pass from which a network keeps all threads busy by itself.
const LARGE: usize = 20_000_000;

/// Trains networks `indices` and hands each final state to `read`; results in the order of the indices.
///
/// They differ in their initial weights alone. Small networks run side by side, large ones one after the
/// other with all threads inside; either way the numbers are the same.
pub fn ensemble<T: Number, R: Send>(
    graph: &Graph,
    config: &Config,
    (train, test): (Samples, Option<Samples>),
    indices: std::ops::Range<u64>,
    read: impl Fn(u64, State<T>) -> R + Sync,
) -> Vec<Result<R, TrainError>> {
    let one = |index: u64| {
        let state = State::new(graph, config, index);
        let mut trainer = Trainer::new(graph, config, train, test, state)?;
        trainer.run(&mut Quiet)?;
        Ok(read(index, trainer.into_state()))
    };
    let batch = config.batch_size.on(train.len());
    if multiplications(graph).saturating_mul(batch) < LARGE {
        indices.into_par_iter().map(one).collect()
    } else {
        indices.map(one).collect()
    }
}
