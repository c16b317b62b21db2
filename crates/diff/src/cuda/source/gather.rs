//! Two of the contractions of a convolution as one: channels of an image, gathered by taps, to channels of a result.
//!
//! | | image | result | weight from c by t to m |
//! |---|---|---|---|
//! | F: y | x | y | w[m, c, t] |
//! | X: dx | dy | dx | w[c, m, t] |

use super::conv::Sizes;
use crate::trace::Conv;

/// Place `times` · result + `tap` · tap + `plus` of the image along an axis.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    pub times: usize,
    pub tap: isize,
    pub plus: isize,
}

/// Without groups; sizes of one network.
pub struct Gather {
    /// Sets of weights.
    pub networks: usize,
    /// Samples of a network.
    pub samples: usize,
    /// Channels of the image and of the result.
    pub channels: [usize; 2],
    /// Height and width of the image.
    pub image: [usize; 2],
    /// Height and width of the result.
    pub result: [usize; 2],
    /// Along height and width.
    pub taps: [usize; 2],
    /// The same along height and width, where it is one number.
    pub affine: Option<[Affine; 2]>,
    /// Statements from y, x of the result and ty, tx to sy, sx of the image, and whether they are `inside`.
    pub map: String,
    /// Where the weight from channel c by tap t to channel m is.
    pub weight: String,
    /// Positions that lie so far from each other, along height and width, see the same taps inside the image.
    pub phases: [usize; 2],
    /// The first tap that position `phase` sees is number (phase + `before`) % `phases`.
    pub before: [usize; 2],
}

impl Gather {
    /// F(x, w) = y; nothing for several groups.
    pub fn forward(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Self> {
        let s = Sizes::new(conv, x, w);
        let window = conv.window;
        (conv.groups == 1).then(|| Gather {
            networks: conv.networks,
            samples: s.n,
            channels: [s.c, s.o],
            image: [s.h, s.w],
            result: [s.oh, s.ow],
            taps: window.kernel,
            affine: Some([0, 1].map(|axis| Affine {
                times: window.stride[axis],
                tap: window.dilation[axis] as isize,
                plus: -(window.pad[axis].0 as isize),
            })),
            map: format!(
                "const int sy = y * {} + ty * {} - {}, sx = x * {} + tx * {} - {};\n\
                 const bool inside = sy >= 0 && sy < {} && sx >= 0 && sx < {};\n",
                window.stride[0],
                window.dilation[0],
                window.pad[0].0,
                window.stride[1],
                window.dilation[1],
                window.pad[1].0,
                s.h,
                s.w
            ),
            weight: format!("(m * {} + c) * {} + t", s.c, s.taps),
            phases: [1, 1],
            before: [0, 0],
        })
    }

    /// X(dy, w) = dx, of shape `x`; nothing for several groups.
    pub fn input(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Self> {
        let s = Sizes::new(conv, x, w);
        let window = conv.window;
        let [sh, sw] = window.stride;
        (conv.groups == 1).then(|| Gather {
            networks: conv.networks,
            samples: s.n,
            channels: [s.o, s.c],
            image: [s.oh, s.ow],
            result: [s.h, s.w],
            taps: window.kernel,
            affine: (window.stride == [1, 1]).then(|| {
                [0, 1].map(|axis| Affine {
                    times: 1,
                    tap: -(window.dilation[axis] as isize),
                    plus: window.pad[axis].0 as isize,
                })
            }),
            map: format!(
                "const int qy = y + {} - ty * {}, qx = x + {} - tx * {}, sy = qy / {sh}, sx = qx / {sw};\n\
                 const bool inside = qy >= 0 && qx >= 0 && qy % {sh} == 0 && qx % {sw} == 0 && sy < {} && sx < {};\n",
                window.pad[0].0,
                window.dilation[0],
                window.pad[1].0,
                window.dilation[1],
                s.oh,
                s.ow
            ),
            weight: format!("(c * {} + m) * {} + t", s.c, s.taps),
            phases: match window.dilation {
                [1, 1] => window.stride,
                _ => [1, 1],
            },
            before: window.pad.map(|pad| pad.0),
        })
    }

    /// Positions of the image.
    pub fn plane(&self) -> usize {
        self.image[0] * self.image[1]
    }

    /// Positions of the result.
    pub fn positions(&self) -> usize {
        self.result[0] * self.result[1]
    }
}
