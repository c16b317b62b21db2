//! What a moved pixel can change, axis by axis.
//!
//! A pixel at row a and column b changes a product of two sets, rows reached from a and columns reached from b. On
//! either axis the set is covered by an interval, the patch, whose length is the same for every a: patches of
//! different samples then form a batch. On an axis with periodic border the interval may wrap.

use polariscope_graph::{Padding, Window};

/// Whether intervals of an axis may run over its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// From 0 to n − 1.
    Line,
    /// n − 1 is followed by 0.
    Ring,
}

/// One axis of a sliding window over n positions: output o sees s·o + d·t − before for t < k.
#[derive(Clone, Copy, Debug)]
pub struct Taps {
    n: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    outputs: usize,
    border: Border,
}

impl Taps {
    /// Axis 0 (rows) or 1 (columns) of a window over n positions with the number of outputs given.
    pub fn new(window: Window, axis: usize, n: usize, outputs: usize) -> Self {
        let (kernel, dilation) = (window.kernel[axis], window.dilation[axis]);
        let (stride, extent) = (window.stride[axis], (kernel - 1) * dilation + 1);
        let (before, _) = window.padding.amounts(n, extent, stride);
        let border = match window.padding {
            Padding::Circular => Border::Ring,
            Padding::Same | Padding::Valid | Padding::Zeros(_) => Border::Line,
        };
        Taps {
            n,
            kernel,
            stride,
            dilation,
            before,
            outputs,
            border,
        }
    }

    /// Position on the input axis, or nothing for zeros of the border; `at` counts from the first padded position.
    fn position(&self, at: usize) -> Option<usize> {
        match self.border {
            Border::Line => at.checked_sub(self.before).filter(|&i| i < self.n),
            // A whole number of periods keeps the difference positive.
            Border::Ring => {
                Some((at + self.before.next_multiple_of(self.n) - self.before) % self.n)
            }
        }
    }

    /// Padded position of tap t of output o.
    fn at(&self, o: usize, t: usize) -> usize {
        o * self.stride + t * self.dilation
    }

    /// Whether a shift of the input by a stride shifts the outputs by one, around the ring.
    fn output_border(&self) -> Border {
        match self.border {
            Border::Ring if self.outputs * self.stride == self.n => Border::Ring,
            _ => Border::Line,
        }
    }

    /// Positions that `length` neighbouring outputs see.
    fn crop(&self, length: usize) -> usize {
        (length - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
    }
}

/// The patches on one axis of a node.
#[derive(Clone, Debug)]
pub struct Span {
    /// Positions of the axis.
    pub n: usize,
    /// Positions of a patch.
    pub length: usize,
    /// First position of the patch, by input coordinate.
    pub start: Vec<usize>,
    /// What changes, by input coordinate.
    touched: Vec<Vec<bool>>,
    border: Border,
}

impl Span {
    /// The input's own axis: coordinate a changes position a.
    pub fn input(n: usize) -> Self {
        let touched = (0..n).map(|a| (0..n).map(|i| i == a).collect());
        Span::cover(touched.collect(), n, Border::Line)
    }

    /// One position that every coordinate changes.
    pub fn point(coordinates: usize) -> Self {
        Span::cover(vec![vec![true]; coordinates], 1, Border::Line)
    }

    /// What the outputs of a window see.
    pub fn through(&self, taps: &Taps) -> Self {
        let outputs = |touched: &Vec<bool>| {
            let sees = |o: usize| {
                let seen = |t: usize| taps.position(taps.at(o, t)).is_some_and(|i| touched[i]);
                (0..taps.kernel).any(seen)
            };
            (0..taps.outputs).map(sees).collect()
        };
        let touched = self.touched.iter().map(outputs).collect();
        Span::cover(touched, taps.outputs, taps.output_border())
    }

    /// What changes if one of several changes.
    pub fn union(spans: &[&Span]) -> Self {
        let mut touched = spans[0].touched.clone();
        for span in &spans[1..] {
            let pairs = touched.iter_mut().flatten();
            pairs
                .zip(span.touched.iter().flatten())
                .for_each(|(t, &other)| *t |= other);
        }
        let ring = spans.iter().any(|span| span.border == Border::Ring);
        let border = if ring { Border::Ring } else { Border::Line };
        Span::cover(touched, spans[0].n, border)
    }

    /// Patches of one length that cover the sets.
    fn cover(touched: Vec<Vec<bool>>, n: usize, border: Border) -> Self {
        let intervals: Vec<(usize, usize)> =
            touched.iter().map(|set| interval(set, border)).collect();
        let length = intervals.iter().map(|&(_, l)| l).max().unwrap_or(1).max(1);
        let place = |&(start, own): &(usize, usize)| {
            if length == n {
                0
            } else if start + own <= n {
                start.min(n - length)
            } else {
                start
            }
        };
        let start = intervals.iter().map(place).collect();
        Span {
            n,
            length,
            start,
            touched,
            border,
        }
    }

    /// Number of the patch's entry that holds a position.
    fn entry(&self, coordinate: usize, position: usize) -> Option<usize> {
        let entry = (position + self.n - self.start[coordinate]) % self.n;
        (entry < self.length).then_some(entry)
    }

    /// Positions of a patch in order.
    pub fn positions(&self, coordinate: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.length).map(move |i| (self.start[coordinate] + i) % self.n)
    }

    /// How a patch of `to` reads an axis that has the patches of `self`.
    pub fn lines(&self, to: &Span) -> Vec<Lines> {
        let lines = |a: usize| Lines::new(to.positions(a).map(Some), |i| self.entry(a, i));
        (0..self.start.len()).map(lines).collect()
    }

    /// How what a patch of `to` sees through a window reads an axis that has the patches of `self`, and its length.
    pub fn crops(&self, to: &Span, taps: &Taps) -> (Vec<Lines>, usize) {
        let length = taps.crop(to.length);
        let lines = |a: usize| {
            let first = taps.at(to.start[a], 0);
            let positions = (0..length).map(|i| taps.position(first + i));
            Lines::new(positions, |i| self.entry(a, i))
        };
        ((0..self.start.len()).map(lines).collect(), length)
    }

    /// Every (entry of a patch, tap, entry of the output's patch) that a window connects, by coordinate.
    pub fn links(&self, to: &Span, taps: &Taps) -> Vec<Vec<Link>> {
        let links = |a: usize| {
            let mut links = Vec::new();
            for (output, o) in to.positions(a).enumerate() {
                for tap in 0..taps.kernel {
                    let position = taps.position(taps.at(o, tap));
                    if let Some(entry) = position.and_then(|i| self.entry(a, i)) {
                        links.push(Link { entry, tap, output });
                    }
                }
            }
            links
        };
        (0..self.start.len()).map(links).collect()
    }
}

/// First position and length of the shortest interval that holds a set; nothing for the empty one.
fn interval(set: &[bool], border: Border) -> (usize, usize) {
    let (Some(first), Some(last)) = (set.iter().position(|&t| t), set.iter().rposition(|&t| t))
    else {
        return (0, 0);
    };
    let mut best = (first, last + 1 - first);
    if border == Border::Ring {
        // The complement of the widest gap between two members.
        let members: Vec<usize> = (0..set.len()).filter(|&i| set[i]).collect();
        for pair in members.windows(2) {
            let length = set.len() - (pair[1] - pair[0]) + 1;
            if length < best.1 {
                best = (pair[1], length);
            }
        }
    }
    best
}

/// A connection through a window on one axis.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Entry of the input's patch.
    pub entry: usize,
    /// Tap of the kernel.
    pub tap: usize,
    /// Entry of the output's patch.
    pub output: usize,
}

/// Neighbouring numbers that are copied together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First target.
    pub to: usize,
    /// First source.
    pub from: usize,
    /// How many.
    pub length: usize,
}

/// Where the positions of a target come from, on one axis; those named nowhere are border.
#[derive(Clone, Debug)]
pub struct Lines {
    /// All of them, read from the base.
    pub base: Vec<Run>,
    /// Those outside the patch, read from the base.
    pub outside: Vec<Run>,
    /// Those inside, read from the patch.
    pub patch: Vec<Run>,
}

impl Lines {
    fn new(
        positions: impl Iterator<Item = Option<usize>>,
        entry: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let mut lines = Lines {
            base: Vec::new(),
            outside: Vec::new(),
            patch: Vec::new(),
        };
        for (to, position) in positions.enumerate() {
            let Some(position) = position else { continue };
            push(&mut lines.base, to, position);
            match entry(position) {
                Some(entry) => push(&mut lines.patch, to, entry),
                None => push(&mut lines.outside, to, position),
            }
        }
        lines
    }
}

/// Adds a pair to the last run if it continues it.
pub fn push(runs: &mut Vec<Run>, to: usize, from: usize) {
    match runs.last_mut() {
        Some(run) if run.to + run.length == to && run.from + run.length == from => run.length += 1,
        _ => runs.push(Run {
            to,
            from,
            length: 1,
        }),
    }
}
