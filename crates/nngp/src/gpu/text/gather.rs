//! What a stage leaves, from the fields of all its displacements.

use polariscope_diff::cuda::CudaSource;
use polariscope_graph::Window;

use super::fields::stores;
use super::{Kind, PARAMETERS, THREADS, number};
use crate::plan::{Axis, End, Layer, Need, Stage, StagePlan};

/// A kernel with what it needs to start.
pub(in crate::gpu) struct Gather {
    pub program: CudaSource,
    /// Numbers of a pair, or warps where a warp makes each.
    pub size: usize,
    /// Threads that make a number.
    pub threads_each: usize,
}

/// The kernel of stage `s`; `parts` is how many sums it finds where it sums over all pairs of positions.
pub(in crate::gpu) fn gather(plan: &StagePlan, s: usize, parts: usize, kind: Kind) -> Gather {
    let stage = &plan.stages[s];
    let store = &stores(plan)[s];
    let is_last = s + 1 == plan.stages.len();
    let place = match is_last {
        true => String::new(),
        false => format!("{}ll * count + ", store.offset),
    };
    let to = if is_last { "out" } else { "store" };
    let keep = |at: &str| {
        format!("{to}_k[{place}{at}] = (T)k;\n")
            + &kind.theta(format!("{to}_t[{place}{at}] = (T)t;\n"))
    };
    let blocks = stage.last.len();
    let pooled = matches!(stage.end, End::GlobalPool | End::Attention { .. });
    let (size, threads_each) = if pooled {
        (blocks, 32)
    } else {
        (store.size, 1)
    };
    let work = match &stage.end {
        End::GlobalPool => mean(stage, parts, kind) + "if (lane == 0) {\n" + &keep("i") + "}\n",
        End::Attention {
            value,
            output,
            channels,
        } => {
            let all = format!("pair * {} + slot", store.size);
            mean(stage, parts, kind)
                + &through(value, 1.0)
                + &through(output, *channels)
                + &format!(
                    "for (int slot = lane; slot < {}; slot += 32) {{\n",
                    store.size
                )
                + &keep(&all)
                + "}\n"
        }
        End::Output => one(stage, 0, kind) + &keep("i"),
        End::Take { index } => one(stage, *index, kind) + &keep("i"),
        End::Regrid { before } => regrid(stage, before, store.slots, kind) + &keep("i"),
        End::Pool { window } => pool(stage, window, store.slots, kind) + &keep("i"),
    };
    let body = format!(
        "const int lane = threadIdx.x % {threads_each};\n(void)lane;\n\
         for (long long i = (blockIdx.x * {THREADS}ll + threadIdx.x) / {threads_each}; i < count * {size}ll; \
         i += gridDim.x * {THREADS}ll / {threads_each}) {{\n\
         const long long pair = i / {size};\nconst int here = (int)(i % {size});\n(void)pair; (void)here;\n\
         double k = 0, t = 0;\n{work}}}\n"
    );
    Gather {
        program: kind.source(&index(stage), [PARAMETERS, &body], &THREADS.to_string(), 0),
        size,
        threads_each,
    }
}

/// Which displacement has a difference of positions along each axis, or −1.
fn index(stage: &Stage) -> String {
    let axis = |a: usize, name: &str| {
        let n = stage.grid[a] as isize;
        let axes = stage.last.first().map(|&last| stage.steps[last].axes[a]);
        let order = along(stage, a);
        let find = |d: isize| {
            let is = |&known: &isize| match axes {
                Some(Axis::Wrapped) => (known - d).rem_euclid(n) == 0,
                Some(Axis::Signed) | None => known == d,
            };
            let found = order.iter().position(is);
            found.map_or("-1".to_owned(), |i| i.to_string())
        };
        let list: Vec<String> = (1 - n..n).map(find).collect();
        format!(
            "__device__ const short {name}[{}] = {{{}}};\n",
            2 * n - 1,
            list.join(",")
        )
    };
    axis(0, "INDEX_Y") + &axis(1, "INDEX_X")
}

/// Displacements along an axis, in order; all pairs of them are there.
fn along(stage: &Stage, a: usize) -> Vec<isize> {
    let mut seen = Vec::new();
    for d in &stage.displacements {
        if !seen.contains(&d[a]) {
            seen.push(d[a]);
        }
    }
    seen
}

/// Adds the field of block `block` at the pair of positions (ya, xa), (yb, xb).
fn add(stage: &Stage, kind: Kind) -> String {
    let [height, width] = stage.grid;
    let (n, blocks) = (stage.displacements.len(), stage.last.len());
    let columns = along(stage, 1).len();
    let positions = height * width;
    format!(
        "const int d = INDEX_Y[yb - ya + {}] * {columns} + INDEX_X[xb - xa + {}];\n\
         const long long m = ((pair * {n} + d) * {blocks} + block) * {positions} + ya * {width} + xa;\n\
         k += made_k[m];\n{}",
        height - 1,
        width - 1,
        kind.theta("t += made_t[m];\n")
    )
}

/// The mean of the sums of all displacements, by a warp.
fn mean(stage: &Stage, parts: usize, kind: Kind) -> String {
    let blocks = stage.last.len();
    let positions = (stage.grid[0] * stage.grid[1]) as f64;
    let each = |name: &str| {
        format!(
            "for (int part = lane; part < {parts}; part += 32) {name} += made_{name}[(pair * {parts} + part) * {blocks} + here];\n\
             for (int o = 16; o > 0; o >>= 1) {name} += __shfl_xor_sync(~0u, {name}, o);\n\
             {name} *= {:?};\n",
            (positions * positions).recip()
        )
    };
    each("k") + &kind.theta(each("t"))
}

/// c and Θ after a linear layer that sums `channels` of them.
fn through(layer: &Layer, channels: f64) -> String {
    let v = layer.weights.variance * channels;
    format!(
        "k *= {v:?};\nt = t * {v:?} + k * {:?} + {:?};\nk += {:?};\n",
        layer.weights.own, layer.bias[1], layer.bias[0]
    )
}

/// One position paired with itself.
fn one(stage: &Stage, position: usize, kind: Kind) -> String {
    let width = stage.grid[1];
    let (y, x) = (position / width, position % width);
    format!(
        "const int block = here, ya = {y}, yb = {y}, xa = {x}, xb = {x};\n{}",
        add(stage, kind)
    )
}

/// The pair of positions of a slot in a grid of so many.
fn slot(need: Need, [height, width]: [usize; 2]) -> String {
    let positions = height * width;
    match need {
        Need::Diagonal => {
            format!("const int oy = slot / {width}, ox = slot % {width}, oy2 = oy, ox2 = ox;\n")
        }
        Need::Pairs => format!(
            "const int o = slot % {positions}, shift = slot / {positions};\n\
             const int oy = o / {width}, ox = o % {width};\n\
             const int oy2 = (oy + shift / {width}) % {height}, ox2 = (ox + shift % {width}) % {width};\n"
        ),
    }
}

/// The same pairs in a grid of one row, with one more position in front where `before` says what it holds.
fn regrid(stage: &Stage, before: &[[f64; 2]], slots: usize, kind: Kind) -> String {
    let width = stage.grid[1];
    let front = usize::from(!before.is_empty());
    let token: String = before
        .iter()
        .enumerate()
        .map(|(block, [variance, ntk])| {
            format!(
                "if (block == {block} && a < 0 && b < 0) {{ k = {}; t = {}; }}\n",
                number(*variance),
                number(*ntk)
            )
        })
        .collect();
    format!(
        "const int block = here / {slots}, slot = here % {slots};\n{}\
         const int a = ox - {front}, b = ox2 - {front};\n(void)oy; (void)oy2;\n{token}\
         if (a >= 0 && b >= 0) {{\n\
         const int ya = a / {width}, xa = a % {width}, yb = b / {width}, xb = b % {width};\n{}}}\n",
        slot(stage.need, stage.grid_out),
        add(stage, kind)
    )
}

/// The mean over both windows.
fn pool(stage: &Stage, window: &Window, slots: usize, kind: Kind) -> String {
    let [height, width] = stage.grid;
    let [down, right] = window.kernel;
    let taps = (down * right) as f64;
    let at = |a: usize, o: &str, tap: &str| {
        let (k, s) = (window.kernel[a], window.stride[a]);
        let (before, _) = window.padding.amounts(stage.grid[a], k, s);
        format!("{o} * {s} + {tap} - {before}")
    };
    format!(
        "const int block = here / {slots}, slot = here % {slots};\n{}\
         for (int a = 0; a < {down}; a++) for (int b = 0; b < {right}; b++) {{\n\
         const int ya = {}, xa = {};\nif (ya < 0 || ya >= {height} || xa < 0 || xa >= {width}) continue;\n\
         for (int c = 0; c < {down}; c++) for (int e = 0; e < {right}; e++) {{\n\
         const int yb = {}, xb = {};\nif (yb < 0 || yb >= {height} || xb < 0 || xb >= {width}) continue;\n{}}}\n}}\n\
         k *= {f:?};\nt *= {f:?};\n",
        slot(stage.need, stage.grid_out),
        at(0, "oy", "a"),
        at(1, "ox", "b"),
        at(0, "oy2", "c"),
        at(1, "ox2", "e"),
        add(stage, kind),
        f = (taps * taps).recip(),
    )
}
