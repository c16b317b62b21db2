//! Windows sliding over covariances.
//!
//! Tap β of a window reads input i = s·o + d·β − pad for output o. A covariance moves by pairs of taps,
//!
//! forward  C_out[o,o'] = Σ C_in[i(o,β), i(o',β')],  backward  C_in[i(o,β), i(o',β')] += C_out[o,o'],
//!
//! over β = β' for a convolution, whose kernel entries are uncorrelated ([`Pairing::Shared`]), and over all
//! pairs for a pool, whose taps carry the same number ([`Pairing::All`]). Rows and columns separate:
//! the sum over row taps adds whole W×W squares, the sum over column taps stays in one.

use polariscope_graph::{Padding, Shape, Window};
use rayon::prelude::*;

use crate::matrix::{Form, Matrix};

/// Which way a covariance goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From inputs to outputs.
    Forward,
    /// From outputs to inputs.
    Backward,
}

/// Which pairs of taps are correlated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// A tap with itself.
    Shared,
    /// Every tap with every other.
    All,
}

impl Pairing {
    fn pairs(self, taps: &[Tap]) -> impl Iterator<Item = (&Tap, &Tap)> {
        taps.iter().enumerate().flat_map(move |(i, a)| {
            let partners = match self {
                Pairing::Shared => &taps[i..=i],
                Pairing::All => taps,
            };
            partners.iter().map(move |b| (a, b))
        })
    }
}

/// No source.
const NONE: usize = usize::MAX;

/// One tap along one axis.
struct Tap {
    /// Source of every destination, or [`NONE`]; no two destinations have one source.
    from: Vec<usize>,
    /// The same as arithmetic runs.
    runs: Vec<Run>,
}

/// `length` pairs (to + t·to_step, from + t·from_step).
struct Run {
    to: usize,
    to_step: usize,
    from: usize,
    from_step: usize,
    length: usize,
}

/// The taps along one axis.
pub(crate) struct Axis {
    /// Number of destinations.
    length: usize,
    taps: Vec<Tap>,
}

/// Height and width of an image, 1 and length of a signal; nothing else has a grid.
pub(crate) fn grid(shape: Shape) -> Option<[usize; 2]> {
    match shape {
        Shape::Image { height, width, .. } => Some([height, width]),
        Shape::Signal { length, .. } => Some([1, length]),
        Shape::Vector { .. } | Shape::Tokens { .. } => None,
    }
}

/// The taps of a window that reads `input` and makes `output`.
pub(crate) fn axes(
    window: &Window,
    input: [usize; 2],
    output: [usize; 2],
    direction: Direction,
) -> [Axis; 2] {
    [0, 1].map(|axis| {
        let (n, m) = (input[axis], output[axis]);
        let (stride, dilation) = (window.stride[axis], window.dilation[axis]);
        let extent = (window.kernel[axis] - 1) * dilation + 1;
        let (before, _) = window.padding.amounts(n, extent, stride);
        // A signal has one row and a kernel of one: no padding there, whatever the rule for columns.
        let before = if [n, m, extent] == [1, 1, 1] {
            0
        } else {
            before
        };
        let reads = |o: usize, beta: usize| {
            let padded = stride * o + dilation * beta;
            match window.padding {
                // Wrapped at most once on either side.
                Padding::Circular => Some((padded + n - before) % n),
                _ => padded.checked_sub(before).filter(|&i| i < n),
            }
        };
        let taps = (0..window.kernel[axis]).filter_map(|beta| {
            let pairs = (0..m).filter_map(|o| reads(o, beta).map(|i| (o, i)));
            match direction {
                Direction::Forward => Tap::new(m, pairs),
                Direction::Backward => Tap::new(n, pairs.map(|(o, i)| (i, o))),
            }
        });
        Axis {
            length: match direction {
                Direction::Forward => m,
                Direction::Backward => n,
            },
            taps: taps.collect(),
        }
    })
}

impl Tap {
    /// From (to, from) pairs; nothing if there are none.
    fn new(length: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Option<Tap> {
        let mut from = vec![NONE; length];
        pairs.for_each(|(to, source)| from[to] = source);
        let mut runs: Vec<Run> = Vec::new();
        let valid = (0..length).filter(|&to| from[to] != NONE);
        for (to, source) in valid.map(|to| (to, from[to])) {
            match runs.last_mut() {
                Some(run) if run.length == 1 && source > run.from => {
                    (run.to_step, run.from_step) = (to - run.to, source - run.from);
                    run.length = 2;
                }
                Some(run)
                    if run.length > 1
                        && to == run.to + run.length * run.to_step
                        && source == run.from + run.length * run.from_step =>
                {
                    run.length += 1;
                }
                _ => runs.push(Run {
                    to,
                    to_step: 1,
                    from: source,
                    from_step: 1,
                    length: 1,
                }),
            }
        }
        (!runs.is_empty()).then_some(Tap { from, runs })
    }
}

/// A covariance over the sources becomes one over the destinations.
pub(crate) fn slide(source: &Matrix, axes: &[Axis; 2], pairing: Pairing) -> Matrix {
    let [rows, columns] = axes;
    let width = columns.length;
    let mut result = Matrix::filled(source.form, [rows.length, width], 0.0);
    if result.data.is_empty() {
        return result;
    }
    let kept = |from, from2| from <= from2 || source.form == Form::General;
    let bands = result.bands();
    bands.into_par_iter().enumerate().for_each(|(y, band)| {
        let mut sum = vec![0.0; source.width * source.width];
        let mut sources: Vec<(usize, usize)> = Vec::new();
        for (ahead, out) in band.chunks_exact_mut(width * width).enumerate() {
            let y2 = source.form.first(y) + ahead;
            sources.clear();
            let pairs = pairing.pairs(&rows.taps);
            let pairs = pairs.map(|(a, b)| (a.from[y], b.from[y2]));
            sources.extend(pairs.filter(|&(from, from2)| from != NONE && from2 != NONE));
            match sources[..] {
                [] => continue,
                [(from, from2)] if kept(from, from2) => {
                    let only = source.square(from, from2);
                    along_columns(only, source.width, columns, pairing, out);
                    continue;
                }
                _ => sum.fill(0.0),
            }
            for &(from, from2) in &sources {
                match kept(from, from2) {
                    true => add(&mut sum, source.square(from, from2)),
                    false => add_transposed(&mut sum, source.square(from2, from), source.width),
                }
            }
            along_columns(&sum, source.width, columns, pairing, out);
        }
    });
    result
}

/// Adds the column taps of one square.
fn along_columns(source: &[f64], stride: usize, axis: &Axis, pairing: Pairing, out: &mut [f64]) {
    for (a, b) in pairing.pairs(&axis.taps) {
        for (&from, out) in a.from.iter().zip(out.chunks_exact_mut(axis.length)) {
            if from == NONE {
                continue;
            }
            let row = &source[from * stride..(from + 1) * stride];
            for run in &b.runs {
                if run.to_step == 1 && run.from_step == 1 {
                    let row = &row[run.from..run.from + run.length];
                    add(&mut out[run.to..run.to + run.length], row);
                    continue;
                }
                for t in 0..run.length {
                    out[run.to + t * run.to_step] += row[run.from + t * run.from_step];
                }
            }
        }
    }
}

fn add(sum: &mut [f64], other: &[f64]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

fn add_transposed(sum: &mut [f64], other: &[f64], width: usize) {
    for (x, row) in sum.chunks_exact_mut(width).enumerate() {
        let column = other[x..].iter().step_by(width);
        row.iter_mut().zip(column).for_each(|(sum, o)| *sum += o);
    }
}

/// Numbers over the sources (positions in row order) become those over the destinations, taps summed: a mean,
/// or the variances where no two positions share a weight.
pub(crate) fn slide_sums(source: &[f64], width: usize, axes: &[Axis; 2]) -> Vec<f64> {
    let [rows, columns] = axes;
    let mut result = vec![0.0; rows.length * columns.length];
    for (position, out) in result.iter_mut().enumerate() {
        let (y, x) = (position / columns.length, position % columns.length);
        for row in rows.taps.iter().map(|t| t.from[y]).filter(|&r| r != NONE) {
            let taps = columns.taps.iter().map(|t| t.from[x]);
            let taps = taps.filter(|&c| c != NONE);
            *out += taps.map(|c| source[row * width + c]).sum::<f64>();
        }
    }
    result
}
