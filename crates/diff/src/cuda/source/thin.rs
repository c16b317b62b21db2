//! Convolutions to few channels: a thread makes all channels of one position, with the weights in shared memory.
//!
//! Every number that is read is used once for each channel of the result; tiles of a product would be mostly empty.

use super::conv::Sizes;
use super::{Call, Code, THREADS, operands, parameters};
use crate::trace::Conv;

/// Channels whose sums a thread can hold.
const CHANNELS: usize = 32;
/// Weights that shared memory can hold.
const WEIGHTS: usize = 6144;

/// A contraction over channels and taps of an image, at each position of the result.
struct Thin {
    networks: usize,
    samples: usize,
    /// Channels of the image and of the result.
    from: usize,
    to: usize,
    /// Positions of both.
    image: [usize; 2],
    result: [usize; 2],
    taps: [usize; 2],
    /// From y, x of the result and ty, tx to sy, sx of the image, and whether they are `ok`.
    map: String,
    /// The weight from channel c by tap t to channel m.
    weight: String,
}

/// F(x, w) = y, if it is thin.
pub fn forward(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Vec<Call>> {
    let s = Sizes::new(conv, x, w);
    let window = conv.window;
    let thin = Thin {
        networks: conv.networks,
        samples: s.n,
        from: s.c,
        to: s.o,
        image: [s.h, s.w],
        result: [s.oh, s.ow],
        taps: window.kernel,
        map: format!(
            "const int sy = y * {} + ty * {} - {}, sx = x * {} + tx * {} - {};\n\
             const bool ok = sy >= 0 && sy < {} && sx >= 0 && sx < {};\n",
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
    };
    thin.calls(conv)
}

/// X(dy, w) = dx, if it is thin; `x` is the shape of dx.
pub fn input(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Vec<Call>> {
    let s = Sizes::new(conv, x, w);
    let window = conv.window;
    let [sh, sw] = window.stride;
    let thin = Thin {
        networks: conv.networks,
        samples: s.n,
        from: s.o,
        to: s.c,
        image: [s.oh, s.ow],
        result: [s.h, s.w],
        taps: window.kernel,
        map: format!(
            "const int qy = y + {} - ty * {}, qx = x + {} - tx * {}, sy = qy / {sh}, sx = qx / {sw};\n\
             const bool ok = qy >= 0 && qx >= 0 && qy % {sh} == 0 && qx % {sw} == 0 && sy < {} && sx < {};\n",
            window.pad[0].0, window.dilation[0], window.pad[1].0, window.dilation[1], s.oh, s.ow
        ),
        weight: format!("(c * {} + m) * {} + t", s.c, s.taps),
    };
    thin.calls(conv)
}

impl Thin {
    fn calls(&self, conv: &Conv) -> Option<Vec<Call>> {
        let taps = self.taps[0] * self.taps[1];
        let weights = self.from * taps * self.to;
        if conv.groups != 1 || self.to > CHANNELS || weights > WEIGHTS {
            return None;
        }
        let (plane, positions) = (
            self.image[0] * self.image[1],
            self.result[0] * self.result[1],
        );
        let n = self.samples * positions;
        let (from, to) = (self.from, self.to);
        let text = format!(
            "({}) {{\n\
             __shared__ T weights[{weights}];\n\
             const long long network = blockIdx.y;\n\
             out += network * {}; a0 += network * {}; a1 += network * {weights};\n\
             for (int e = threadIdx.x; e < {weights}; e += {THREADS}) {{\n\
             const int m = e % {to}, k = e / {to}, c = k / {taps}, t = k % {taps};\n\
             weights[e] = a1[{weight}];\n\
             }}\n\
             __syncthreads();\n\
             const int n = blockIdx.x * {THREADS} + threadIdx.x;\n\
             if (n >= {n}) return;\n\
             const int sample = n / {positions}, p = n % {positions}, y = p / {rw}, x = p % {rw};\n\
             const T* const image = a0 + (long long)sample * {};\n\
             T sum[{to}] = {{}};\n\
             for (int ty = 0; ty < {kh}; ++ty) for (int tx = 0; tx < {kw}; ++tx) {{\n\
             {map}\
             if (!ok) continue;\n\
             const T* const at = image + sy * {iw} + sx;\n\
             const T* const w = weights + (ty * {kw} + tx) * {to};\n\
             #pragma unroll 4\n\
             for (int c = 0; c < {from}; ++c) {{\n\
             const T v = at[c * {plane}];\n\
             #pragma unroll\n\
             for (int m = 0; m < {to}; ++m) sum[m] += v * w[c * {step} + m];\n\
             }}\n\
             }}\n\
             #pragma unroll\n\
             for (int m = 0; m < {to}; ++m) out[((long long)sample * {to} + m) * {positions} + p] = sum[m];\n\
             }}",
            parameters(2),
            n * to,
            self.samples * from * plane,
            from * plane,
            weight = self.weight,
            rw = self.result[1],
            kh = self.taps[0],
            kw = self.taps[1],
            map = self.map,
            iw = self.image[1],
            step = taps * to,
        );
        Some(vec![Call::Kernel(Code {
            text,
            blocks: [n.div_ceil(THREADS), self.networks, 1],
            shared: 0,
            operands: operands(2),
            scratch: 0,
        })])
    }
}
