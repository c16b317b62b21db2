//! Where channel and position of a number lie in a sample, and what the taps of a window read.

use polariscope_graph::{Group, Padding, Shape, Window};

use super::SymmetryError;

/// A sample as channels × height × width. A vector is one position with its features as channels; a sequence of tokens is
/// one row of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Numbers from a channel to the next.
    channel_step: usize,
    /// Numbers from a position to the next.
    position_step: usize,
}

impl Grid {
    pub fn of(shape: Shape) -> Self {
        let first = |channels, height, width| Grid {
            channels,
            height,
            width,
            channel_step: height * width,
            position_step: 1,
        };
        match shape {
            Shape::Vector { features } => first(features, 1, 1),
            Shape::Signal { channels, length } => first(channels, 1, length),
            Shape::Image {
                channels,
                height,
                width,
            } => first(channels, height, width),
            Shape::Tokens { count, width } => Grid {
                channels: width,
                height: 1,
                width: count,
                channel_step: 1,
                position_step: width,
            },
        }
    }

    /// One of the maps over the elements of a group, which lie one below the other.
    pub fn of_each(maps: Shape, elements: usize) -> Self {
        let grid = Grid::of(maps);
        Grid::of(Shape::Image {
            channels: grid.channels,
            height: grid.height / elements,
            width: grid.width,
        })
    }

    pub fn positions(&self) -> usize {
        self.height * self.width
    }

    pub fn len(&self) -> usize {
        self.channels * self.positions()
    }

    /// Where channel c of a position lies.
    pub fn at(&self, channel: usize, position: usize) -> usize {
        channel * self.channel_step + position * self.position_step
    }

    /// The numbers of every patch of `kernel` positions, in the order channel, row, column.
    pub fn patches(
        &self,
        kernel: [usize; 2],
        shape: Shape,
    ) -> Result<Vec<Vec<usize>>, SymmetryError> {
        let [kh, kw] = kernel;
        let tiles =
            kh > 0 && kw > 0 && self.height.is_multiple_of(kh) && self.width.is_multiple_of(kw);
        if !tiles {
            return Err(SymmetryError::Patch { kernel, shape });
        }
        let patch = |row: usize, column: usize| {
            let mut numbers = Vec::with_capacity(self.channels * kh * kw);
            for channel in 0..self.channels {
                for y in 0..kh {
                    for x in 0..kw {
                        let position = (row * kh + y) * self.width + column * kw + x;
                        numbers.push(self.at(channel, position));
                    }
                }
            }
            numbers
        };
        let columns = self.width / kw;
        let count = self.height / kh * columns;
        Ok((0..count)
            .map(|p| patch(p / columns, p % columns))
            .collect())
    }
}

/// Where element g of a group takes a tap of a k × k window.
pub(super) fn turned(g: usize, k: usize, tap: usize) -> usize {
    let [row, column] = Group::place(g, k, [tap / k, tap % k]);
    row * k + column
}

/// Position that tap `tap` (in row order) of output position `p` reads; nothing where it reads padding.
pub(super) fn source(
    window: &Window,
    input: &Grid,
    output: &Grid,
    p: usize,
    tap: usize,
) -> Option<usize> {
    let (row, column) = (p / output.width, p % output.width);
    let (y, x) = (tap / window.kernel[1], tap % window.kernel[1]);
    let row = along(window, 0, input.height, row, y)?;
    let column = along(window, 1, input.width, column, x)?;
    Some(row * input.width + column)
}

fn along(window: &Window, axis: usize, n: usize, out: usize, tap: usize) -> Option<usize> {
    let (stride, dilation) = (window.stride[axis], window.dilation[axis]);
    let extent = (window.kernel[axis] - 1) * dilation + 1;
    let (before, _) = window.padding.amounts(n, extent, stride);
    let place = (out * stride + tap * dilation) as isize - before as isize;
    match window.padding {
        Padding::Circular => Some(place.rem_euclid(n as isize) as usize),
        Padding::Same | Padding::Valid | Padding::Zeros(_) => {
            usize::try_from(place).ok().filter(|&i| i < n)
        }
    }
}
