//! Sliding windows over the last two axes of N×C×H×W. Transposes gather: each number of the result looks for the
//! windows that it lies in.

use super::Elements;
use crate::trace::Window;

/// −∞.
const LOWEST: &str = "(T)__longlong_as_double(0xfff0000000000000LL)";

/// Names of a window's sizes over planes of h × w.
struct Names {
    h: usize,
    w: usize,
    oh: usize,
    ow: usize,
    window: Window,
}

impl Names {
    fn new(window: &Window, shape: &[usize]) -> Self {
        Names {
            h: shape[2],
            w: shape[3],
            oh: window.positions(0, shape[2]),
            ow: window.positions(1, shape[3]),
            window: *window,
        }
    }

    fn positions(&self) -> usize {
        self.oh * self.ow
    }

    fn taps(&self) -> usize {
        self.window.kernel[0] * self.window.kernel[1]
    }

    /// Loops over the taps of the window at output position (oy, ox): `body` sees `tap` and the input position `at`
    /// in its plane, for taps inside it.
    fn forward(&self, body: &str) -> String {
        let place = format!(
            "const int tap = ty * {} + tx, at = y * {} + x; {body}",
            self.window.kernel[1], self.w
        );
        self.taps_of(["oy", "ox"], ["y", "x"], &place)
    }

    /// Loops over the taps (ty, tx) of the window at an output position: `body` sees the input position, for taps inside.
    fn taps_of(&self, [oy, ox]: [&str; 2], [y, x]: [&str; 2], body: &str) -> String {
        let Window {
            kernel,
            stride,
            dilation,
            pad,
        } = self.window;
        let inside = match self.window.pad {
            [(0, 0), (0, 0)] => String::new(),
            _ => format!(
                "if ({y} >= 0 && {y} < {} && {x} >= 0 && {x} < {}) ",
                self.h, self.w
            ),
        };
        format!(
            "for (int ty = 0; ty < {}; ++ty) for (int tx = 0; tx < {}; ++tx) {{\n\
             const int {y} = {oy} * {} + ty * {} - {}, {x} = {ox} * {} + tx * {} - {};\n\
             {inside}{{ {body} }}\n\
             }}\n",
            kernel[0],
            kernel[1],
            stride[0],
            dilation[0],
            pad[0].0,
            stride[1],
            dilation[1],
            pad[1].0,
        )
    }

    /// Loops over the windows that input position (y, x) lies in: `body` sees `tap` and the output position `at`.
    fn backward(&self, body: &str) -> String {
        let Window {
            kernel,
            stride,
            dilation,
            pad,
        } = self.window;
        if self.window.is_partition() && dilation == [1, 1] {
            // In one window at most.
            let [sh, sw] = stride;
            return format!(
                "{{\nconst int wy = (y + {}) / {sh}, wx = (x + {}) / {sw};\n\
                 const int ty = y + {} - wy * {sh}, tx = x + {} - wx * {sw};\n\
                 if (ty < {} && tx < {} && wy < {} && wx < {}) {{\n\
                 const int tap = ty * {} + tx, at = wy * {} + wx; {body} }}\n}}\n",
                pad[0].0,
                pad[1].0,
                pad[0].0,
                pad[1].0,
                kernel[0],
                kernel[1],
                self.oh,
                self.ow,
                kernel[1],
                self.ow
            );
        }
        format!(
            "for (int ty = 0; ty < {}; ++ty) for (int tx = 0; tx < {}; ++tx) {{\n\
             const int sy = y + {} - ty * {}, sx = x + {} - tx * {};\n\
             if (sy >= 0 && sx >= 0 && sy % {} == 0 && sx % {} == 0 && sy / {} < {} && sx / {} < {}) {{\n\
             const int tap = ty * {} + tx, at = sy / {} * {} + sx / {}; {body} }}\n\
             }}\n",
            kernel[0],
            kernel[1],
            pad[0].0,
            dilation[0],
            pad[1].0,
            dilation[1],
            stride[0],
            stride[1],
            stride[0],
            self.oh,
            stride[1],
            self.ow,
            kernel[1],
            stride[0],
            self.ow,
            stride[1]
        )
    }

    /// Each input position sums what `body` adds of the windows that it lies in.
    fn gathered(&self, body: &str) -> Elements {
        let (place, loops) = (self.input(), self.backward(body));
        Elements(format!("{place}T sum = 0;\n{loops}out[i] = sum;\n"))
    }

    /// Number i of the result is an output position: its plane and place.
    fn output(&self) -> String {
        format!(
            "const I plane = i / {};\nconst int o = i % {}, oy = o / {}, ox = o % {};\n",
            self.positions(),
            self.positions(),
            self.ow,
            self.ow
        )
    }

    /// Number i of the result is an input position.
    fn input(&self) -> String {
        let plane = self.h * self.w;
        format!(
            "const I plane = i / {plane};\nconst int p = i % {plane}, y = p / {}, x = p % {};\n",
            self.w, self.w
        )
    }
}

/// Sum of each window.
pub fn sum_pool(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let plane = n.h * n.w;
    Elements(format!(
        "{}T sum = 0;\n{}out[i] = sum;\n",
        n.output(),
        n.forward(&format!("sum += a0[plane * {plane} + at];"))
    ))
}

/// Transpose of [`sum_pool`]; `shape` is that of the result.
pub fn sum_pool_transpose(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let body = format!("sum += a0[plane * {} + at];", n.positions());
    n.gathered(&body)
}

/// Number of the largest tap; the first of equals; NaN counts as largest.
pub fn arg_max(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let body = format!(
        "const T v = a0[plane * {} + at]; if (v > best || v != v) {{ best = v; chosen = tap; }}",
        n.h * n.w
    );
    Elements(format!(
        "{}T best = {LOWEST}; int chosen = 0;\n{}out[i] = (T)chosen;\n",
        n.output(),
        n.forward(&body)
    ))
}

/// The largest tap of window (y, x); NaN counts as largest. `read` is a number of an argument.
pub fn max(window: &Window, shape: &[usize], read: impl Fn(usize, [&str; 4]) -> String) -> String {
    let body = format!(
        "const T v = {}; if (v > value || v != v) value = v;",
        read(1, ["n", "c", "sy", "sx"])
    );
    format!(
        "T value = {LOWEST};\n{}",
        Names::new(window, shape).taps_of(["y", "x"], ["sy", "sx"], &body)
    )
}

/// (index, x): the value of the chosen tap.
pub fn pick(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let body = format!("if (tap == chosen) value = a1[plane * {} + at];", n.h * n.w);
    Elements(format!(
        "{}const int chosen = (int)a0[i]; T value = 0;\n{}out[i] = value;\n",
        n.output(),
        n.forward(&body)
    ))
}

/// (index, g): transpose of [`pick`]; `shape` is that of the result.
pub fn place(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let body = format!(
        "const T g = a1[plane * {0} + at]; sum += (int)a0[plane * {0} + at] == tap ? g : (T)0;",
        n.positions()
    );
    n.gathered(&body)
}

/// Patches as columns: taps × positions for every plane.
pub fn unfold(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let Window {
        kernel,
        stride,
        dilation,
        pad,
    } = n.window;
    let (positions, taps) = (n.positions(), n.taps());
    Elements(format!(
        "const I plane = i / {};\n\
         const int tap = i / {positions} % {taps}, o = i % {positions};\n\
         const int y = o / {} * {} + tap / {} * {} - {}, x = o % {} * {} + tap % {} * {} - {};\n\
         out[i] = y >= 0 && y < {} && x >= 0 && x < {} ? a0[plane * {} + y * {} + x] : (T)0;\n",
        taps * positions,
        n.ow,
        stride[0],
        kernel[1],
        dilation[0],
        pad[0].0,
        n.ow,
        stride[1],
        kernel[1],
        dilation[1],
        pad[1].0,
        n.h,
        n.w,
        n.h * n.w,
        n.w
    ))
}

/// Transpose of [`unfold`]; `shape` is that of the result.
pub fn fold(window: &Window, shape: &[usize]) -> Elements {
    let n = Names::new(window, shape);
    let (positions, taps) = (n.positions(), n.taps());
    let body = format!(
        "sum += a0[plane * {} + tap * {positions} + at];",
        taps * positions
    );
    n.gathered(&body)
}
