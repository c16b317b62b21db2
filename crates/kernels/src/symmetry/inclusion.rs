//! GAP_n ⊆ VEC_n ⊆ LCN_n ⊆ VEC_{dn} (Thm 2.1), by weights that make the outputs equal.
//!
//! - GAP in VEC: the flattened read-out repeats the weight of a channel at each of the d positions, divided by d.
//! - VEC in LCN: every position gets the weights that all shared.
//! - LCN in VEC: a channel j and a position p of the LCN become one channel (j, p) of a VEC with dn channels, right at
//!   position p and ignored elsewhere: between hidden layers W[(j,p),(i,q),β] = W_LCN[j,(i,β),p] if tap β of p reads q and
//!   0 otherwise, and the read-out takes channel (j, p) at p alone.
//!
//! Weights enter multiplied by their layer's scale; each is rescaled by the ratio.

use polariscope_diff::Real;
use polariscope_graph::{Graph, Node, Op, ParamId, Passage, Shape};
use polariscope_network::Weights;

use super::SymmetryError;
use super::grid::{Grid, source};

/// Weights of `vec` (flatten read-out) with the outputs of `gap` (global average pool) on every input.
pub fn gap_in_vec<T: Real>(
    gap: &Graph,
    weights: &Weights<T>,
    vec: &Graph,
) -> Result<Weights<T>, SymmetryError> {
    let pair = Pair {
        inner: gap,
        outer: vec,
    };
    let mut positions = 1;
    pair.build(weights, |step, own, out| match step {
        Step::Weight(inner, outer, ratio) => {
            if matches!(outer.op, Op::Dense { .. }) {
                // W[o, (c, α)] = w[o, c]/d.
                let factor = T::from_f64(ratio / positions as f64);
                if own.len() * positions != out.len() {
                    return Err(pair.unlike(inner, "the read-out has another size"));
                }
                for (to, &w) in out.chunks_exact_mut(positions).zip(own) {
                    to.fill(w * factor);
                }
                return Ok(());
            }
            pair.copy(inner, own, out, ratio)
        }
        Step::Bias(inner, ratio) => pair.copy(inner, own, out, ratio),
        Step::Plain(inner, outer) => {
            match (&inner.op, &outer.op) {
                (Op::GlobalAvgPool, Op::Flatten) => {
                    let read = pair.outer.nodes[outer.inputs[0].0].shape;
                    positions = Grid::of(read).positions();
                }
                (a, b) if a == b => {}
                _ => return Err(pair.unlike(inner, "the layers differ")),
            }
            Ok(())
        }
    })
}

/// Weights of `lcn` with the outputs of `vec` on every input.
pub fn vec_in_lcn<T: Real>(
    vec: &Graph,
    weights: &Weights<T>,
    lcn: &Graph,
) -> Result<Weights<T>, SymmetryError> {
    let pair = Pair {
        inner: vec,
        outer: lcn,
    };
    pair.build(weights, |step, own, out| match step {
        Step::Weight(inner, outer, ratio) => match (&inner.op, &outer.op) {
            (
                Op::Conv {
                    window: a,
                    groups: 1,
                    ..
                },
                Op::Local { window: b, .. },
            ) if a == b => {
                let positions = Grid::of(outer.shape).positions();
                if own.len() * positions != out.len() {
                    return Err(pair.unlike(inner, "the layers have other sizes"));
                }
                for (to, &w) in out.chunks_exact_mut(positions).zip(own) {
                    to.fill(w * T::from_f64(ratio));
                }
                Ok(())
            }
            (Op::Dense { .. }, Op::Dense { .. }) => pair.copy(inner, own, out, ratio),
            _ => Err(pair.unlike(inner, "the layers differ")),
        },
        Step::Bias(inner, ratio) => pair.copy(inner, own, out, ratio),
        Step::Plain(inner, outer) if inner.op == outer.op => Ok(()),
        Step::Plain(inner, _) => Err(pair.unlike(inner, "the layers differ")),
    })
}

/// Weights of `vec`, d times as wide, with the outputs of `lcn` on every input; every layer keeps the d positions.
pub fn lcn_in_vec<T: Real>(
    lcn: &Graph,
    weights: &Weights<T>,
    vec: &Graph,
) -> Result<Weights<T>, SymmetryError> {
    let pair = Pair {
        inner: lcn,
        outer: vec,
    };
    pair.build(weights, |step, own, out| match step {
        Step::Weight(inner, outer, ratio) => {
            let factor = T::from_f64(ratio);
            match (&inner.op, &outer.op) {
                (
                    Op::Local { window, .. },
                    Op::Conv {
                        window: other,
                        groups: 1,
                        ..
                    },
                ) if window == other => {
                    let read = lcn.nodes[inner.inputs[0].0].shape;
                    let wide = vec.nodes[outer.inputs[0].0].shape;
                    let (input, output) = (Grid::of(read), Grid::of(inner.shape));
                    let d = output.positions();
                    let taps = window.kernel[0] * window.kernel[1];
                    let first = Grid::of(wide).channels == input.channels;
                    let channels = if first {
                        input.channels
                    } else {
                        input.channels * d
                    };
                    let sizes = output.channels * d * channels * taps == out.len()
                        && output.channels * input.channels * taps * d == own.len()
                        && (first || input.positions() == d);
                    if !sizes {
                        return Err(pair.unlike(
                            inner,
                            "the wide network needs as many channels as the other has numbers",
                        ));
                    }
                    out.fill(T::ZERO);
                    for j in 0..output.channels {
                        for i in 0..input.channels {
                            for tap in 0..taps {
                                for p in 0..d {
                                    let w = own[((j * input.channels + i) * taps + tap) * d + p];
                                    let channel =
                                        match (first, source(window, &input, &output, p, tap)) {
                                            (true, _) => i,
                                            (false, Some(q)) => i * d + q,
                                            (false, None) => continue,
                                        };
                                    out[((j * d + p) * channels + channel) * taps + tap] =
                                        w * factor;
                                }
                            }
                        }
                    }
                    Ok(())
                }
                (Op::Dense { .. }, Op::Dense { .. }) => {
                    // Rows over (j, p) become rows over ((j, p), α) with α = p.
                    let flat = lcn.nodes[inner.inputs[0].0].inputs.first();
                    let d = flat.map_or(1, |id| Grid::of(lcn.nodes[id.0].shape).positions());
                    if own.len() * d != out.len() {
                        return Err(pair.unlike(inner, "the read-out has another size"));
                    }
                    out.fill(T::ZERO);
                    for (k, &w) in own.iter().enumerate() {
                        out[k * d + k % d] = w * factor;
                    }
                    Ok(())
                }
                _ => Err(pair.unlike(inner, "the layers differ")),
            }
        }
        Step::Bias(inner, ratio) => {
            let d = match inner.shape {
                Shape::Vector { .. } => 1,
                _ => Grid::of(inner.shape).positions(),
            };
            if own.len() * d != out.len() {
                return Err(pair.unlike(inner, "the biases have other sizes"));
            }
            for (to, &b) in out.chunks_exact_mut(d).zip(own) {
                to.fill(b * T::from_f64(ratio));
            }
            Ok(())
        }
        Step::Plain(inner, outer) if inner.op == outer.op => Ok(()),
        Step::Plain(inner, _) => Err(pair.unlike(inner, "the layers differ")),
    })
}

/// A pair of nodes.
enum Step<'g> {
    /// Weights, and the scale of the inner ones over that of the outer ones.
    Weight(&'g Node, &'g Node, f64),
    /// Biases, likewise.
    Bias(&'g Node, f64),
    /// No parameters.
    Plain(&'g Node, &'g Node),
}

#[derive(Clone, Copy)]
struct Pair<'g> {
    inner: &'g Graph,
    outer: &'g Graph,
}

impl Pair<'_> {
    fn refuse(&self, problem: String) -> SymmetryError {
        SymmetryError::Inclusion {
            inner: self.inner.name.clone(),
            outer: self.outer.name.clone(),
            problem,
        }
    }

    fn unlike(&self, node: &Node, what: &str) -> SymmetryError {
        self.refuse(format!("at {}, {what}", node.layer))
    }

    fn copy<T: Real>(
        &self,
        node: &Node,
        own: &[T],
        out: &mut [T],
        ratio: f64,
    ) -> Result<(), SymmetryError> {
        if own.len() != out.len() {
            return Err(self.unlike(node, "the layers have other sizes"));
        }
        let factor = T::from_f64(ratio);
        out.iter_mut()
            .zip(own)
            .for_each(|(to, &w)| *to = w * factor);
        Ok(())
    }

    /// Walks both graphs node by node; `fill` writes the outer parameter of every pair.
    fn build<'g, T: Real>(
        &'g self,
        weights: &Weights<T>,
        mut fill: impl FnMut(Step<'g>, &[T], &mut [T]) -> Result<(), SymmetryError>,
    ) -> Result<Weights<T>, SymmetryError> {
        let fits = weights.values.len() == self.inner.params.len();
        if self.inner.nodes.len() != self.outer.nodes.len() || !fits {
            return Err(self.refuse(
                "they have different layers; build both with the same depth, kernel and bias"
                    .to_owned(),
            ));
        }
        let mut built = Weights::zeros(self.outer);
        for (inner, outer) in self.inner.nodes.iter().zip(&self.outer.nodes) {
            match (parameter(&inner.op), parameter(&outer.op)) {
                (None, None) => fill(Step::Plain(inner, outer), &[], &mut [])?,
                (Some((own, scale)), Some((to, other))) => {
                    let step = match inner.op {
                        Op::Bias { .. } => Step::Bias(inner, scale / other),
                        _ => Step::Weight(inner, outer, scale / other),
                    };
                    fill(step, &weights.values[own.0], &mut built.values[to.0])?;
                }
                _ => return Err(self.unlike(inner, "the layers differ")),
            }
        }
        Ok(built)
    }
}

/// The parameter of a layer of these families, and its scale.
fn parameter(op: &Op) -> Option<(ParamId, f64)> {
    match op.facts().passage {
        Passage::Dense { weight, scale }
        | Passage::Conv { weight, scale, .. }
        | Passage::Local { weight, scale, .. } => Some((weight, scale)),
        Passage::Bias { bias, scale } => Some((bias, scale)),
        Passage::Input
        | Passage::Scale { .. }
        | Passage::Same
        | Passage::Flatten
        | Passage::Activation(_)
        | Passage::BatchNorm { .. }
        | Passage::MaxPool(_)
        | Passage::AvgPool(_)
        | Passage::GlobalAvgPool
        | Passage::Add
        | Passage::Concat
        | Passage::Norm(_)
        | Passage::Other(_) => None,
    }
}
