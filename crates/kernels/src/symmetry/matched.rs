//! The twin's first weights: W′ = W τᵀ, so that W′(τx) = W x.
//!
//! A first layer is a matrix with one row over the sample for each output and position, r ↦ τ r. Read back through the
//! layer's own taps (the mean over positions where they are shared, nothing beyond the window) these are its weights
//! again, exactly if τ is in its group. Otherwise no weights do, these are the nearest, and what is left over is reported.

use polariscope_graph::{Graph, Op};
use polariscope_network::Weights;

use super::first::{Reader, Reading, readers};
use super::grid::{Grid, source, turned};
use super::{Element, SymmetryError};

/// Weights that see τx as the given ones see x.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The weights.
    pub weights: Weights<f64>,
    /// ‖W′ − W τᵀ‖ / ‖W‖ over all first layers: rounding where τ is a symmetry, else how far it is from one.
    pub residual: f64,
}

/// The weights W′ nearest to W τᵀ in the first layers, the others unchanged.
pub fn match_weights(
    graph: &Graph,
    weights: &Weights<f64>,
    tau: &Element,
) -> Result<Matched, SymmetryError> {
    let refuse = |reason: String| SymmetryError::FirstLayer {
        network: graph.name.clone(),
        reason,
    };
    let fits = weights.values.len() == graph.params.len()
        && (weights.values.iter().zip(&graph.params)).all(|(v, p)| v.len() == p.len());
    if !fits {
        return Err(refuse("the weights are not its own".to_owned()));
    }
    let mut matched = weights.clone();
    let (mut left, mut whole) = (0.0, 0.0);
    for reader in readers(graph).map_err(refuse)? {
        let layer = Layer::new(graph, &reader)
            .ok_or_else(|| refuse("its input is pooled or cut into tokens first".to_owned()))?;
        let values = &mut matched.values[reader.weight.0];
        for out in 0..layer.outputs {
            let rows = layer.rows(values, out);
            let turned = tau.apply(&rows)?;
            layer.read_back(&turned, values, out);
            let realised = layer.rows(values, out);
            let squares = turned.iter().zip(&realised).map(|(a, b)| (a - b).powi(2));
            left += squares.sum::<f64>();
            whole += rows.iter().map(|r| r * r).sum::<f64>();
        }
    }
    Ok(Matched {
        weights: matched,
        residual: (left / whole).sqrt(),
    })
}

/// Where the weights of a first layer meet the sample.
struct Layer {
    dim: usize,
    outputs: usize,
    positions: usize,
    /// For position p: (place of the weight relative to its output's first, number of the sample).
    places: Vec<Vec<(usize, usize)>>,
    /// Weights of one output.
    stride: usize,
    /// Whether positions share their weights.
    shared: bool,
}

impl Layer {
    fn new(graph: &Graph, reader: &Reader) -> Option<Self> {
        let node = &graph.nodes[reader.node];
        let input = Grid::of(graph.input());
        let dim = input.len();
        let count = graph.param(reader.weight).len();
        let (window, shared) = match reader.reading {
            Reading::Channels => return None,
            Reading::Whole => {
                return Some(Layer {
                    dim,
                    outputs: count / dim,
                    positions: 1,
                    places: vec![(0..dim).map(|i| (i, i)).collect()],
                    stride: dim,
                    shared: true,
                });
            }
            Reading::Taps(window) | Reading::TurnedTaps(window, _) => (window, true),
            Reading::OwnTaps(window) => (window, false),
        };
        // Positions of a convolution over a group are elements and places of the plane.
        let (output, elements) = match reader.reading {
            Reading::TurnedTaps(_, group) => {
                let elements = group.order();
                (Grid::of_each(node.shape, elements), elements)
            }
            _ => (Grid::of(node.shape), 1),
        };
        let taps = window.kernel[0] * window.kernel[1];
        let positions = elements * output.positions();
        let place = |p: usize| {
            let (g, at) = (p / output.positions(), p % output.positions());
            let mut places = Vec::new();
            for channel in 0..input.channels {
                for tap in 0..taps {
                    let read = turned(g, window.kernel[1], tap);
                    let Some(from) = source(&window, &input, &output, at, read) else {
                        continue;
                    };
                    let weight = channel * taps + tap;
                    let weight = if shared {
                        weight
                    } else {
                        weight * positions + p
                    };
                    places.push((weight, input.at(channel, from)));
                }
            }
            places
        };
        let outputs = output.channels;
        debug_assert!(matches!(
            node.op,
            Op::Conv { .. } | Op::Local { .. } | Op::GroupConv { .. }
        ));
        Some(Layer {
            dim,
            outputs,
            positions,
            places: (0..positions).map(place).collect(),
            stride: count / outputs,
            shared,
        })
    }

    /// Rows of one output, positions × sample.
    fn rows(&self, values: &[f64], out: usize) -> Vec<f64> {
        let own = &values[out * self.stride..][..self.stride];
        let mut rows = vec![0.0; self.positions * self.dim];
        for (row, places) in rows.chunks_exact_mut(self.dim).zip(&self.places) {
            places.iter().for_each(|&(w, x)| row[x] += own[w]);
        }
        rows
    }

    /// The weights whose rows come nearest.
    fn read_back(&self, rows: &[f64], values: &mut [f64], out: usize) {
        let own = &mut values[out * self.stride..][..self.stride];
        let mut counts = vec![0.0; self.stride];
        let mut sums = vec![0.0; self.stride];
        let mut readers = vec![0.0; self.dim];
        for (row, places) in rows.chunks_exact(self.dim).zip(&self.places) {
            // On a small circle several taps read one number: they share it.
            places.iter().for_each(|&(_, x)| readers[x] += 1.0);
            for &(w, x) in places {
                sums[w] += row[x] / readers[x];
                counts[w] += 1.0;
            }
            places.iter().for_each(|&(_, x)| readers[x] = 0.0);
        }
        debug_assert!(self.shared || counts.iter().all(|&c| c <= 1.0));
        // A tap that only ever reads padding keeps its weight.
        for ((own, sum), count) in own.iter_mut().zip(sums).zip(counts) {
            if count > 0.0 {
                *own = sum / count;
            }
        }
    }
}
