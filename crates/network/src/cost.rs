//! What a network costs, from its graph alone.

use polariscope_graph::{Graph, multiplications};

/// Samples that fill a GPU.
const FILL: usize = 1024;
/// Bytes of its memory for a plan, unless a single sample needs more. Not what is free: results would depend on what
/// else runs there.
const MEMORY: usize = 8 << 30;

/// Samples that one task takes: few enough that a small network's activations stay in the cache,
/// enough that reading the weights pays. A function of the graph alone, so results do not depend on threads.
pub fn samples_a_task(graph: &Graph) -> usize {
    let activations: usize = graph.nodes.iter().map(|n| n.shape.len()).sum();
    let reuse = multiplications(graph) / graph.parameter_count().max(1);
    let for_cache = (1 << 18) / activations.max(1);
    let for_weights = 128 / reuse.max(1);
    for_cache.max(for_weights).clamp(8, 256).next_power_of_two()
}

/// Samples that a GPU takes at a time: enough to fill it, of those that fit into a fixed share of its memory. `bytes`
/// tells what the plan of so many samples needs.
pub fn samples_on_a_gpu(bytes: impl Fn(usize) -> usize) -> usize {
    let one = bytes(1);
    let another = bytes(2).saturating_sub(one).max(1);
    (1 + MEMORY.saturating_sub(one) / another).min(FILL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_takes_what_fits() {
        assert_eq!(samples_on_a_gpu(|n| 100 + n), FILL);
        // Weights of 2 GiB, 1 GiB a sample.
        assert_eq!(samples_on_a_gpu(|n| (2 + n) << 30), 6);
        assert_eq!(samples_on_a_gpu(|n| n << 40), 1);
    }
}
