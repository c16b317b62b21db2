//! What a step reads, as the numbers k and t of one pair of positions.

use polariscope_graph::{Padding, Window};

use super::chain::{add_covariance, exchange, variances};
use super::fields::Layout;
use super::{Kind, number, variance};
use crate::plan::{Form, Need, Read, Shared, Step, StepSource, Weights};

/// Gaps below this share of the variances are summed directly, as in `gram.rs`.
const CLOSE: f64 = 1e-2;

/// k and t before the chain.
pub(super) fn source(layout: &Layout, step: &Step, kind: Kind) -> String {
    let offsets = &layout.offsets;
    let start = "T k = 0, t = 0;\n";
    let own = |weights: &Weights| kind.theta(own(step, weights, offsets));
    let body = match &step.source {
        StepSource::Input => input(layout, step),
        StepSource::Gram { weights, factor } => {
            gram(layout, step, weights.variance * factor) + &own(weights)
        }
        StepSource::Stored { stage, block } => stored(layout, step, *stage, *block, kind),
        StepSource::Conv {
            reads,
            weights,
            window,
            shared,
        } => {
            let sum = conv(layout, step, reads, window, kind) + &scaled(weights, kind);
            let all = sum + &own(weights);
            match (shared, step.form_in) {
                (Shared::Yes, _) => all,
                (Shared::No, Form::Covariance) => format!("if (same) {{\n{all}}}\n"),
                (Shared::No, Form::Gap) => {
                    let apart = exchange(step.variance, Form::Gap, offsets);
                    format!("if (same) {{\n{all}}} else {apart}")
                }
            }
        }
        StepSource::Total { reads, weights } => {
            total(layout, reads, kind) + &scaled(weights, kind) + &own(weights)
        }
        StepSource::Sum { reads } => reads.iter().map(|r| add(layout, r, "at", kind)).collect(),
        StepSource::Converted { from } => {
            let view = layout.steps[*from].variance_out;
            let read = Read {
                from: *from,
                channels: 1.0,
            };
            add(layout, &read, "at", kind) + &exchange(view, Form::Covariance, offsets)
        }
    };
    start.to_owned() + &body
}

fn scaled(weights: &Weights, kind: Kind) -> String {
    let v = number(weights.variance);
    format!("k *= {v};\n") + &kind.theta(format!("t *= {v};\n"))
}

/// Θ + c/Var w: the weights themselves, unless the kink behind them does it.
fn own(step: &Step, weights: &Weights, offsets: &[usize]) -> String {
    match (step.left_to_kink(), step.form_in) {
        (0.0, Form::Covariance) => format!("t += {} * k;\n", number(weights.own)),
        (0.0, Form::Gap) => add_covariance(step.variance, weights.own, offsets),
        _ => String::new(),
    }
}

/// Σ_c (x − x')², or Σ_c x x'.
fn input(layout: &Layout, step: &Step) -> String {
    let [channels, ..] = layout.input;
    let positions = step.grid[0] * step.grid[1];
    let add = match step.form_in {
        Form::Gap => "k += (u - v) * (u - v);",
        Form::Covariance => "k += u * v;",
    };
    format!(
        "for (int c = 0; c < {channels}; c++) {{\n\
         const T u = u1[c * {positions} + at], v = u2[c * {positions} + to];\n{add}\n}}\n"
    )
}

/// |x − x'|² from the product, or directly where the samples are close.
fn gram(layout: &Layout, step: &Step, scale: f64) -> String {
    let inputs: usize = layout.input.iter().product();
    let scale = number(scale);
    format!(
        "{{ {}k = vp + vq - 2 * {scale} * gram[(long long)z.row * columns + z.column];\n\
         if (k < {} * (vp + vq)) {{\nk = 0;\n\
         for (int i = 0; i < {inputs}; i++) {{ const T d = u1[i] - u2[i]; k += d * d; }}\nk *= {scale};\n}} }}\n",
        variances(step.variance, &layout.offsets),
        number(CLOSE)
    )
}

fn stored(layout: &Layout, step: &Step, stage: usize, block: usize, kind: Kind) -> String {
    let from = &layout.stores[stage];
    let [height, width] = step.grid;
    let shift = match from.need {
        Need::Diagonal => "0".to_owned(),
        Need::Pairs => {
            let positions = height * width;
            format!("(wrapped(dy, {height}) * {width} + wrapped(dx, {width})) * {positions}")
        }
    };
    let first = block * from.slots;
    let place = format!(
        "const long long i = {}ll * count + (long long)z.pair * {} + {first} + {shift} + at;\n",
        from.offset, from.size
    );
    let read = "k = store_k[i];\n".to_owned() + &kind.theta("t = store_t[i];\n");
    let convert = match step.form_in {
        Form::Gap => exchange(step.variance, Form::Gap, &layout.offsets),
        Form::Covariance => String::new(),
    };
    format!("{{ {place}{read}}}\n{convert}")
}

/// Adds an earlier field at a position.
fn add(layout: &Layout, read: &Read, position: &str, kind: Kind) -> String {
    let place = layout.place(read.from, position);
    let times = match read.channels {
        1.0 => String::new(),
        channels => format!("{} * ", number(channels)),
    };
    format!("k += {times}fk[{place}];\n") + &kind.theta(format!("t += {times}ft[{place}];\n"))
}

/// Σ over the taps.
fn conv(layout: &Layout, step: &Step, reads: &[Read], window: &Window, kind: Kind) -> String {
    let Some(first) = reads.first() else {
        return String::new();
    };
    let grid = layout.steps[first.from].grid;
    let axis = |a: usize, tap: &str, left: &str, right: &str| {
        let extent = (window.kernel[a] - 1) * window.dilation[a] + 1;
        let (before, _) = window.padding.amounts(grid[a], extent, window.stride[a]);
        let (stride, dilation, n) = (window.stride[a], window.dilation[a], grid[a]);
        let at = |o: &str| {
            let i = format!("{o} * {stride} + {tap} * {dilation}");
            match window.padding {
                // As much more as makes it positive.
                Padding::Circular => {
                    format!("({i} + {}u) % {n}u", before.next_multiple_of(n) - before)
                }
                Padding::Same | Padding::Valid | Padding::Zeros(_) => format!("{i} - {before}"),
            }
        };
        let (y, there) = (["y", "x"][a], format!("< {n}u"));
        let here = format!("const int i{y} = {};\n", at(left));
        match window.padding {
            Padding::Circular => here,
            Padding::Same | Padding::Valid | Padding::Zeros(_) => format!(
                "{here}const int j{y} = {};\n\
                 const bool l{y} = (unsigned)i{y} {there}, r{y} = (unsigned)j{y} {there};\n",
                at(right)
            ),
        }
    };
    let width = grid[1];
    let both: String = reads.iter().map(|r| add(layout, r, "i", kind)).collect();
    // Where one sample has nothing, c and Θ are 0 and the gap is the other's variance.
    let side = |of: char, at: &str| -> String {
        let one = |read: &Read| {
            let view = layout.steps[read.from].variance_out;
            let value = variance(of, view, &layout.offsets, at);
            format!("k += {} * {value};\n", number(read.channels))
        };
        reads.iter().map(one).collect()
    };
    let place = format!("const int i = iy * {width} + ix;\n");
    let tap = match (window.padding, step.form_in) {
        (Padding::Circular, _) => format!("{place}{both}"),
        (_, Form::Covariance) => format!("{place}if (ly && lx && ry && rx) {{ {both}}}\n"),
        (_, Form::Gap) => format!(
            "{place}const int j = jy * {width} + jx;\nif (ly && lx && ry && rx) {{ {both}}}\n\
             else if (ly && lx) {{ {}}}\nelse if (ry && rx) {{ {}}}\n",
            side('p', "i"),
            side('q', "j")
        ),
    };
    format!(
        "#pragma unroll\nfor (int a = 0; a < {}; a++) {{\n{}#pragma unroll\nfor (int b = 0; b < {}; b++) {{\n{}{tap}}}\n}}\n",
        window.kernel[0],
        axis(0, "a", "y", "y2"),
        window.kernel[1],
        axis(1, "b", "x", "x2"),
    )
}

/// Σ over all positions, by the lanes of a warp where there are many.
fn total(layout: &Layout, reads: &[Read], kind: Kind) -> String {
    let mut text = String::new();
    let warp = layout.totals_by_warp(reads);
    for read in reads {
        let grid = layout.steps[read.from].grid;
        let (first, stride) = if warp { ("lane", 32) } else { ("0", 1) };
        text += &format!(
            "for (int i = {first}; i < {}; i += {stride}) {{\n{}}}\n",
            grid[0] * grid[1],
            add(layout, read, "i", kind)
        );
    }
    if warp {
        let each = "k += __shfl_xor_sync(~0u, k, o);\n".to_owned()
            + &kind.theta("t += __shfl_xor_sync(~0u, t, o);\n");
        text += &format!("for (int o = 16; o > 0; o >>= 1) {{\n{each}}}\n");
    }
    text
}
