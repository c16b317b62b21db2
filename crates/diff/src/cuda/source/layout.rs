//! The same numbers in another order.

use super::Elements;
use crate::trace::{Crop, Origin};

/// Numbers in a step along each axis.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

/// Axis i of the result is axis `order[i]` of the argument.
pub fn permute(order: &[usize], shape: &[usize]) -> Elements {
    let from = strides(shape);
    let mut inner = 1;
    let mut terms = Vec::new();
    for &axis in order.iter().rev() {
        terms.push(format!("(i / {inner} % {}) * {}", shape[axis], from[axis]));
        inner *= shape[axis];
    }
    let at = match terms.is_empty() {
        true => "0".to_owned(),
        false => terms.join(" + "),
    };
    Elements(format!("out[i] = a0[{at}];\n"))
}

/// Part of an axis from `start`.
pub fn slice(axis: usize, start: usize, from: &[usize], to: &[usize]) -> Elements {
    let inner: usize = from[axis + 1..].iter().product();
    let (period, run) = (from[axis] * inner, to[axis] * inner);
    Elements(format!(
        "out[i] = a0[i / {run} * {period} + {} + i % {run}];\n",
        start * inner
    ))
}

/// Zeros with the argument from `start`.
pub fn embed(axis: usize, start: usize, from: &[usize], to: &[usize]) -> Elements {
    let inner: usize = from[axis + 1..].iter().product();
    let (run, period) = (from[axis] * inner, to[axis] * inner);
    let first = start * inner;
    Elements(format!(
        "const I at = i % {period};\n\
         out[i] = at >= {first} && at < {} ? a0[i / {period} * {run} + at - {first}] : (T)0;\n",
        first + run
    ))
}

/// Arguments one after the other along an axis.
pub fn concat(axis: usize, lengths: &[usize], to: &[usize]) -> Elements {
    let inner: usize = to[axis + 1..].iter().product();
    let period = to[axis] * inner;
    let mut text = format!("const I outer = i / {period}, at = i % {period};\n");
    let mut start = 0;
    for (a, length) in lengths.iter().enumerate() {
        let run = length * inner;
        text += &format!(
            "if (at >= {start} && at < {}) out[i] = a{a}[outer * {run} + at - {start}];\n",
            start + run
        );
        start += run;
    }
    Elements(text)
}

/// Periodic extension of every plane of N×C×H×W.
pub fn wrap(pad: [(usize, usize); 2], shape: &[usize]) -> Elements {
    let (h, w) = (shape[2], shape[3]);
    let (eh, ew) = (h + pad[0].0 + pad[0].1, w + pad[1].0 + pad[1].1);
    let (y, x) = (
        h * pad[0].0.div_ceil(h) - pad[0].0,
        w * pad[1].0.div_ceil(w) - pad[1].0,
    );
    Elements(format!(
        "const I plane = i / {}, y = (i / {ew} % {eh} + {y}) % {h}, x = (i % {ew} + {x}) % {w};\n\
         out[i] = a0[plane * {} + y * {w} + x];\n",
        eh * ew,
        h * w
    ))
}

/// Transpose of [`wrap`]; `shape` is that of the result.
pub fn unwrap(pad: [(usize, usize); 2], shape: &[usize]) -> Elements {
    let (h, w) = (shape[2], shape[3]);
    let (eh, ew) = (h + pad[0].0 + pad[0].1, w + pad[1].0 + pad[1].1);
    Elements(format!(
        "const T* const plane = a0 + i / {} * {};\n\
         T sum = 0;\n\
         for (int y = (i / {w} % {h} + {}) % {h}; y < {eh}; y += {h})\n\
         for (int x = (i % {w} + {}) % {w}; x < {ew}; x += {w}) sum += plane[y * {ew} + x];\n\
         out[i] = sum;\n",
        h * w,
        eh * ew,
        pad[0].0,
        pad[1].0
    ))
}

/// Windows of samples, zeros outside; plus or minus those of maps, which are the second argument. `read` is a number of
/// an argument.
pub fn crop(
    crop: &Crop,
    from: &[usize],
    to: &[usize],
    maps: Option<(usize, bool)>,
    read: impl Fn(usize, [&str; 4]) -> String,
) -> String {
    let [grid, map] = [crop.grid, crop.map];
    let origin = |o: Origin, axis: usize, p: &str| {
        format!("({p} / {} * {} + {})", o.divide, o.times, o.plus[axis])
    };
    // Where there are fewer samples, each stands for as many neighbours.
    let sample = |samples: usize| format!("n / {}", to[0] / samples);
    let add = maps.map_or(String::new(), |(count, minus)| {
        let sign = if minus { '-' } else { '+' };
        let number = read(1, [&sample(count), "c", "my", "mx"]);
        format!("if (inside) value {sign}= {number};\n")
    });
    format!(
        "const int pixel = (int)(n % {pixels}), py = pixel / {gw}, px = pixel % {gw};\n\
         const int my = {} + y, mx = {} + x;\n\
         const int sy = my - {}, sx = mx - {};\n\
         const bool inside = my >= 0 && my < {} && mx >= 0 && mx < {};\n\
         T value = 0;\n\
         if (inside && sy >= 0 && sy < {} && sx >= 0 && sx < {}) value = {};\n\
         {add}",
        origin(crop.to, 0, "py"),
        origin(crop.to, 1, "px"),
        origin(crop.from, 0, "py"),
        origin(crop.from, 1, "px"),
        map[0],
        map[1],
        from[2],
        from[3],
        read(0, [&sample(from[0]), "c", "sy", "sx"]),
        pixels = grid[0] * grid[1],
        gw = grid[1],
    )
}
