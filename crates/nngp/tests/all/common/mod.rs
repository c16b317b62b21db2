//! Graphs and samples of the tests, and a check against the reference.

mod reference;
mod tokens;
mod window;

use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_nngp::{Kernel, Wanted};
pub use reference::reference;

/// A graph from layers in the architecture format, ntk parametrisation with w_std 1.3 and b_std 0.2.
pub fn graph(input: &str, layers: &str) -> Graph {
    let text = format!(
        "input = {input}\nparametrisation = \"ntk\"\nw_std = 1.3\nb_std = 0.2\nlayers = [\n{layers}\n]\n"
    );
    parse_file(&text, "test.toml", &ZooOptions::default()).unwrap()
}

/// Numbers in (−1, 1), the same for the same seed.
pub fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n + 8).map(|_| next()).skip(8).collect()
}

/// Every entry of a 2 × 3 block, relative to √(K K').
pub fn agrees(input: &str, layers: &str) {
    agrees_for(&graph(input, layers));
}

/// The same for a graph.
pub fn agrees_for(graph: &Graph) {
    let kernel = Kernel::new(graph).unwrap();
    let n = kernel.inputs();
    let (x, y) = (numbers(2 * n, 1), numbers(3 * n, 2));
    let values = kernel.between(Wanted::Both, &x, &y).unwrap();
    let single: Vec<Vec<f32>> = [&x, &y]
        .map(|v| v.iter().map(|v| *v as f32).collect())
        .into();
    let single = kernel
        .between(Wanted::Both, &single[0], &single[1])
        .unwrap();
    let alone = kernel.between(Wanted::Nngp, &x, &y).unwrap();
    assert_eq!(alone.nngp, values.nngp);
    let ntk = values.ntk.unwrap();
    let own =
        |x: &[f64]| -> Vec<(f64, f64)> { x.chunks(n).map(|x| reference(graph, x, x)).collect() };
    let (left, right) = (own(&x), own(&y));
    for (i, x) in x.chunks(n).enumerate() {
        for (j, y) in y.chunks(n).enumerate() {
            let (k, t) = reference(graph, x, y);
            let (of_k, of_t) = (
                (left[i].0 * right[j].0).sqrt(),
                (left[i].1 * right[j].1).sqrt(),
            );
            let at = i * 3 + j;
            assert!(
                (values.nngp[at] - k).abs() < 1e-12 * of_k,
                "K {} {k}",
                values.nngp[at]
            );
            assert!((ntk[at] - t).abs() < 1e-12 * of_t, "Θ {} {t}", ntk[at]);
            let (k32, t32) = (single.nngp[at], single.ntk.as_ref().unwrap()[at]);
            assert!((k32 as f64 - k).abs() < 1e-5 * of_k, "f32 K {k32} {k}");
            assert!((t32 as f64 - t).abs() < 1e-5 * of_t, "f32 Θ {t32} {t}");
        }
    }
}
