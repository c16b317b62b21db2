//! One step of the regional part: a new patch for every sample, from patches and the base.

use std::sync::Arc;

use polariscope_diff::Number;
use polariscope_graph::Window;

use super::base::Base;
use super::class::{Join, Pool};
use super::gather::{From, Gather, Region};
use super::linear::{Linear, Scatter};
use super::programs::{ProgramId, Programs, Sessions, leaves};
use crate::Weights;

/// A moved input: coordinate `index` of the base point, at (channel, row, column), changed by δ.
#[derive(Clone, Copy, Debug)]
pub struct Sample<T> {
    /// Coordinate in memory order.
    pub index: usize,
    /// Its channel.
    pub channel: usize,
    /// Its row and column.
    pub pixel: [usize; 2],
    /// The change.
    pub delta: T,
}

/// A node whose patches a stage reads.
#[derive(Clone)]
pub struct StageSource {
    /// The node.
    pub node: usize,
    /// Buffer of its patches.
    pub slot: usize,
    /// Where they lie.
    pub region: Arc<Region>,
}

/// How a stage makes its patches, before the elementwise ops that remain.
pub enum Make {
    /// base + δ · column of a dense layer on the input.
    Column(Linear),
    /// base + δ · kernel: a convolution of the input.
    Entry(Linear, Scatter),
    /// base + a convolution of the change; `product` is (position) × C times C × (tap, O).
    Change {
        /// The weights.
        linear: Linear,
        /// Where products go.
        scatter: Scatter,
        /// Whose change.
        source: StageSource,
        /// The products.
        product: ProgramId,
    },
    /// A convolution of all that the patch sees, elementwise ops included.
    Whole {
        /// What it sees.
        gather: Gather,
        /// Of which node.
        source: StageSource,
        /// The convolution without border, and what follows.
        program: ProgramId,
    },
    /// A pool.
    Pool {
        /// What the patch sees.
        gather: Gather,
        /// Of which node.
        source: StageSource,
        /// The window.
        window: Window,
        /// How it becomes a number.
        pool: Pool,
    },
    /// A sum or a concatenation.
    Join(Join, Vec<(StageSource, Gather)>),
    /// Elementwise ops alone.
    Same(StageSource),
}

/// A stage.
pub struct Stage {
    /// How the patches are made.
    pub make: Make,
    /// Node to whose base changes are added.
    pub base: usize,
    /// Node that the stage computes.
    pub end: usize,
    /// Buffer of its patches.
    pub slot: usize,
    /// Where they lie.
    pub region: Arc<Region>,
    /// Elementwise ops that remain, on (sample, position) × channel.
    pub rest: Option<ProgramId>,
}

/// What all stages read.
#[derive(Clone, Copy)]
pub struct Context<'a, T> {
    /// The base point.
    pub base: &'a Base<T>,
    /// The network.
    pub weights: &'a Weights<T>,
    /// The samples.
    pub samples: &'a [Sample<T>],
}

/// What stages write.
pub struct Memory<T> {
    /// Patches, by slot.
    pub patches: Vec<Vec<T>>,
    /// What one sample's window sees, position by position.
    crop: Vec<T>,
    /// Input of a program.
    input: Vec<T>,
    /// Where programs run.
    pub sessions: Sessions<T>,
}

impl<T: Number> Memory<T> {
    /// With this many buffers for patches.
    pub fn new(slots: usize, programs: &Programs) -> Self {
        Memory {
            patches: vec![Vec::new(); slots],
            crop: Vec::new(),
            input: Vec::new(),
            sessions: Sessions::new(programs),
        }
    }
}

impl Make {
    /// The weights that changes are multiplied with.
    pub fn linear(&self) -> Option<&Linear> {
        match self {
            Make::Column(linear) | Make::Entry(linear, _) | Make::Change { linear, .. } => {
                Some(linear)
            }
            Make::Whole { .. } | Make::Pool { .. } | Make::Join(..) | Make::Same(_) => None,
        }
    }

    /// The nodes whose patches are read.
    pub fn sources(&self) -> Vec<&StageSource> {
        match self {
            Make::Column(_) | Make::Entry(..) => vec![],
            Make::Change { source, .. }
            | Make::Whole { source, .. }
            | Make::Pool { source, .. }
            | Make::Same(source) => vec![source],
            Make::Join(_, sources) => sources.iter().map(|(source, _)| source).collect(),
        }
    }
}

impl Stage {
    /// Makes the patches of all samples.
    pub fn run<T: Number>(&self, context: Context<T>, memory: &mut Memory<T>) {
        let mut out = std::mem::take(&mut memory.patches[self.slot]);
        out.resize(context.samples.len() * self.region.len(), T::ZERO);
        self.make(context, memory, &mut out);
        if let Some(rest) = &self.rest {
            let y = memory.sessions.run(*rest, &leaves(&out, context.weights));
            memory.input.clear();
            memory.input.extend_from_slice(y);
            std::mem::swap(&mut out, &mut memory.input);
        }
        memory.patches[self.slot] = out;
    }

    fn make<T: Number>(&self, context: Context<T>, memory: &mut Memory<T>, out: &mut [T]) {
        let (base, size) = (&context.base.positions, self.region.len());
        let packed = &context.base.packed[self.end];
        let samples = context.samples.iter().zip(out.chunks_exact_mut(size));
        match &self.make {
            Make::Column(linear) => {
                let o = linear.sizes.o;
                for (sample, y) in samples {
                    let column = &packed[sample.index * o..][..o];
                    let terms = base[self.base].iter().zip(column);
                    y.iter_mut()
                        .zip(terms)
                        .for_each(|(y, (&b, &w))| *y = b + sample.delta * w);
                }
            }
            Make::Entry(linear, scatter) => {
                let row = linear.sizes.row();
                for (sample, y) in samples {
                    copy_base(&self.region, sample, &base[self.base], y);
                    let kernel = &packed[sample.channel * row..][..row];
                    scatter.add(sample.pixel, kernel, sample.delta, y);
                }
            }
            Make::Change {
                linear,
                scatter,
                source,
                product,
            } => {
                let from = &source.region;
                let patches = &memory.patches[source.slot];
                memory.input.resize(patches.len(), T::ZERO);
                let changes = memory.input.chunks_exact_mut(from.len());
                for (sample, change) in context.samples.iter().zip(changes) {
                    copy_base(from, sample, &base[source.node], change);
                }
                let changes = memory.input.iter_mut().zip(patches);
                changes.for_each(|(change, &value)| *change = value - *change);
                let sessions = &mut memory.sessions;
                let products = sessions.run(*product, &[&memory.input, packed]);
                let products = products.chunks_exact(from.positions() * linear.sizes.row());
                for ((sample, y), products) in samples.zip(products) {
                    copy_base(&self.region, sample, &base[self.base], y);
                    scatter.add(sample.pixel, products, T::ONE, y);
                }
            }
            Make::Whole {
                gather,
                source,
                program,
            } => {
                let length = gather.positions() * source.region.channels;
                memory.input.resize(samples.len() * length, T::ZERO);
                let patches = memory.patches[source.slot].chunks_exact(source.region.len());
                let inputs = memory.input.chunks_exact_mut(length);
                for ((sample, patch), input) in context.samples.iter().zip(patches).zip(inputs) {
                    let read = Read::new(gather, source, context.base, sample, patch);
                    transpose(
                        read.crop(T::ZERO, &mut memory.crop),
                        gather.positions(),
                        input,
                    );
                }
                let leaves = leaves(&memory.input, context.weights);
                let maps = memory.sessions.run(*program, &leaves);
                for ((_, y), map) in samples.zip(maps.chunks_exact(size)) {
                    transpose(map, self.region.channels, y);
                }
            }
            Make::Pool {
                gather,
                source,
                window,
                pool,
            } => {
                let border = match pool {
                    Pool::Max => T::from_f64(f64::NEG_INFINITY),
                    Pool::Average => T::ZERO,
                };
                let patches = memory.patches[source.slot].chunks_exact(source.region.len());
                for ((sample, y), patch) in samples.zip(patches) {
                    let read = Read::new(gather, source, context.base, sample, patch);
                    let crop = read.crop(border, &mut memory.crop);
                    self.pool(*pool, window, (crop, gather.size[1]), y);
                }
            }
            Make::Join(join, sources) => {
                for (i, (sample, y)) in samples.enumerate() {
                    let reads = sources.iter().map(|(source, gather)| {
                        let size = source.region.len();
                        let patch = &memory.patches[source.slot][i * size..][..size];
                        Read::new(gather, source, context.base, sample, patch)
                    });
                    match join {
                        Join::Add => add(reads, y),
                        Join::Concat => concat(reads, y, self.region.channels),
                    }
                }
            }
            Make::Same(source) => out.copy_from_slice(&memory.patches[source.slot]),
        }
    }

    /// A pool without border, position by position.
    fn pool<T: Number>(
        &self,
        pool: Pool,
        window: &Window,
        (x, x_width): (&[T], usize),
        y: &mut [T],
    ) {
        let (channels, width) = (self.region.channels, self.region.cols.length);
        let [kh, kw] = window.kernel;
        let mean = T::from_f64(1.0 / (kh * kw) as f64);
        for (p, y) in y.chunks_exact_mut(channels).enumerate() {
            let (row, col) = (p / width * window.stride[0], p % width * window.stride[1]);
            for tap in 0..kh * kw {
                let row = row + tap / kw * window.dilation[0];
                let col = col + tap % kw * window.dilation[1];
                let x = &x[(row * x_width + col) * channels..][..channels];
                let pairs = y.iter_mut().zip(x);
                match pool {
                    _ if tap == 0 => pairs.for_each(|(y, &x)| *y = x),
                    Pool::Max => pairs.for_each(|(y, &x)| {
                        *y = if x > *y || x.is_nan() { x } else { *y };
                    }),
                    Pool::Average => pairs.for_each(|(y, &x)| *y += x),
                }
            }
            if pool == Pool::Average {
                y.iter_mut().for_each(|y| *y *= mean);
            }
        }
    }
}

/// One sample's reading of a node.
struct Read<'a, T> {
    gather: &'a Gather,
    pixel: [usize; 2],
    channels: usize,
    base: &'a [T],
    patch: &'a [T],
}

impl<'a, T: Number> Read<'a, T> {
    fn new(
        gather: &'a Gather,
        source: &StageSource,
        base: &'a Base<T>,
        sample: &Sample<T>,
        patch: &'a [T],
    ) -> Self {
        Read {
            gather,
            pixel: sample.pixel,
            channels: source.region.channels,
            base: &base.positions[source.node],
            patch,
        }
    }

    /// Calls `f(first position, numbers)` for every stretch of positions.
    #[inline]
    fn each(&self, mut f: impl FnMut(usize, &[T])) {
        self.gather.each(self.pixel, |to, from, length| {
            let (numbers, from) = match from {
                From::Base(from) => (self.base, from),
                From::Patch(from) => (self.patch, from),
            };
            f(
                to,
                &numbers[from * self.channels..(from + length) * self.channels],
            );
        });
    }

    /// All of it in a row, border included.
    fn crop<'c>(&self, border: T, out: &'c mut Vec<T>) -> &'c [T] {
        out.clear();
        out.resize(self.gather.positions() * self.channels, border);
        self.each(|to, numbers| {
            out[to * self.channels..][..numbers.len()].copy_from_slice(numbers);
        });
        out
    }
}

/// y = Σ of what is read.
fn add<'a, T: Number>(reads: impl Iterator<Item = Read<'a, T>>, y: &mut [T]) {
    for (n, read) in reads.enumerate() {
        read.each(|to, numbers| {
            let y = &mut y[to * read.channels..][..numbers.len()];
            if n == 0 {
                y.copy_from_slice(numbers);
            } else {
                y.iter_mut().zip(numbers).for_each(|(y, &v)| *y += v);
            }
        });
    }
}

/// Channels of what is read one after the other.
fn concat<'a, T: Number>(reads: impl Iterator<Item = Read<'a, T>>, y: &mut [T], channels: usize) {
    let mut first = 0;
    for read in reads {
        read.each(|to, numbers| {
            let y = y[to * channels..].chunks_exact_mut(channels);
            for (y, numbers) in y.zip(numbers.chunks_exact(read.channels)) {
                y[first..first + read.channels].copy_from_slice(numbers);
            }
        });
        first += read.channels;
    }
}

/// The base's numbers where a sample has its patch.
pub fn copy_base<T: Number>(region: &Region, sample: &Sample<T>, base: &[T], out: &mut [T]) {
    let [row, col] = sample.pixel;
    let (c, n) = (region.channels, region.cols.n);
    let (first, width) = (region.cols.start[col], region.cols.length);
    let before_end = width.min(n - first);
    let rows = region.rows.positions(row);
    for (row, out) in rows.zip(out.chunks_exact_mut(width * c)) {
        let line = &base[row * n * c..(row + 1) * n * c];
        let (head, tail) = out.split_at_mut(before_end * c);
        head.copy_from_slice(&line[first * c..][..before_end * c]);
        tail.copy_from_slice(&line[..tail.len()]);
    }
}

/// Rows and columns of a matrix exchanged, a square at a time.
pub fn transpose<T: Number>(from: &[T], rows: usize, to: &mut [T]) {
    const SQUARE: usize = 8;
    let columns = from.len() / rows;
    for i0 in (0..rows).step_by(SQUARE) {
        let i1 = rows.min(i0 + SQUARE);
        for j0 in (0..columns).step_by(SQUARE) {
            for j in j0..columns.min(j0 + SQUARE) {
                let line = &mut to[j * rows + i0..j * rows + i1];
                let from = from[i0 * columns + j..].iter().step_by(columns);
                line.iter_mut().zip(from).for_each(|(y, &v)| *y = v);
            }
        }
    }
}
