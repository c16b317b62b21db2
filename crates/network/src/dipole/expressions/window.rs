//! Windows of maps: which of them a change reaches.

use polariscope_diff::{Origin, Window};
use polariscope_graph::Shape;

/// Windows of all samples: where they begin, and their height and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    pub origin: Origin,
    pub size: [usize; 2],
}

impl Windows {
    /// The pixel of each sample.
    pub const PIXEL: Windows = Windows {
        origin: Origin {
            divide: 1,
            times: 1,
            plus: [0, 0],
        },
        size: [1, 1],
    };

    /// Whole maps.
    pub fn map(size: [usize; 2]) -> Self {
        Windows {
            origin: Origin::MAP,
            size,
        }
    }

    /// Positions.
    pub fn area(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// The smallest that contain both; nothing for maps of other resolutions.
    pub fn with(self, other: Windows) -> Option<Windows> {
        if self.origin.divide != other.origin.divide {
            return None;
        }
        let mut both = self;
        for axis in [0, 1] {
            let first = |w: &Windows| w.origin.plus[axis];
            let end = |w: &Windows| first(w) + w.size[axis] as isize;
            let last = end(&self).max(end(&other));
            both.origin.plus[axis] = first(&self).min(first(&other));
            both.size[axis] = (last - both.origin.plus[axis]) as usize;
        }
        Some(both)
    }
}

/// What a window that slides over a map sees of a change.
pub struct Seen {
    /// The windows of the result that see it.
    pub result: Windows,
    /// The windows that those read.
    pub read: Windows,
    /// The window on those, without padding.
    pub window: Window,
}

impl Seen {
    /// Of a change in these windows.
    ///
    /// Result o reads o·s − pad … o·s − pad + (k − 1)d. With q = p / divide = s·Q + e and e < s, what has changed begins at
    /// q + plus: the first result that sees it is that of e = 0, the last one that of e = s − 1.
    pub fn new(window: Window, changed: Windows) -> Self {
        let divide = changed.origin.divide * window.stride[1];
        let windows = |times: usize| Windows {
            origin: Origin {
                divide,
                times,
                plus: [0, 0],
            },
            size: [0, 0],
        };
        let (mut result, mut read) = (windows(1), windows(window.stride[1]));
        for axis in [0, 1] {
            let s = window.stride[axis] as isize;
            let extent = ((window.kernel[axis] - 1) * window.dilation[axis]) as isize;
            let (pad, from) = (window.pad[axis].0 as isize, changed.origin.plus[axis]);
            let first = -(-(from + pad - extent)).div_euclid(s);
            let last = (s - 1 + from + changed.size[axis] as isize - 1 + pad).div_euclid(s);
            result.origin.plus[axis] = first;
            result.size[axis] = (last - first + 1) as usize;
            read.origin.plus[axis] = s * first - pad;
            read.size[axis] = ((last - first) * s + extent + 1) as usize;
        }
        Seen {
            result,
            read,
            window: Window {
                pad: [(0, 0); 2],
                ..window
            },
        }
    }
}

/// Height and width of a layer that has them.
pub fn map(shape: Shape) -> Option<[usize; 2]> {
    match shape {
        Shape::Image { height, width, .. } => Some([height, width]),
        Shape::Signal { length, .. } => Some([1, length]),
        Shape::Vector { .. } | Shape::Tokens { .. } => None,
    }
}
