//! One displacement of one pair through all steps of a stage.

use polariscope_diff::cuda::CudaSource;

use super::chain::chain;
use super::source::source;
use super::{Kind, PARAMETERS, THREADS, offsets};
use crate::plan::{Axis, End, Need, Read, Stage, StagePlan, Step, StepSource};

/// Bytes of fields that lie in the memory of a block; what needs more lies in that of the GPU.
const SHARED: usize = 200 << 10;

/// The pair of an item, unless it is beyond the last.
const LOCATE: &str =
    "const Where z = locate(group + item, count, pairs);\nif (!z.there) continue;\n";

/// What an earlier stage left of a pair.
pub(super) struct Store {
    /// Numbers of all stages before.
    pub offset: usize,
    /// Numbers of this one.
    pub size: usize,
    /// Numbers of a block.
    pub slots: usize,
    pub need: Need,
}

/// Where everything lies.
pub(super) struct Layout<'a> {
    pub input: [usize; 3],
    pub steps: &'a [Step],
    pub stores: Vec<Store>,
    /// First number of every side of a sample.
    pub offsets: Vec<usize>,
    /// Numbers of all sides of a sample.
    each: usize,
    /// Displacements that a block takes at a time.
    group: usize,
    /// Positions of a field.
    positions: usize,
}

impl Layout<'_> {
    /// Of one stage.
    pub fn new<'a>(plan: &'a StagePlan, stage: &'a Stage) -> Layout<'a> {
        let (offsets, each) = offsets(&plan.sides);
        Layout {
            input: plan.input,
            steps: &stage.steps,
            stores: stores(plan),
            offsets,
            each,
            group: (THREADS / stage.positions).max(1),
            positions: stage.positions,
        }
    }

    /// A number of the field of a step.
    pub fn place(&self, step: usize, position: &str) -> String {
        let first = self.steps[step].buffer * self.group;
        format!("({first} + item) * {} + {position}", self.positions)
    }

    /// A loop in which a thread takes position `at` of displacement `item`, up to its brace.
    fn by_thread(&self, positions: usize) -> String {
        match self.group {
            1 => format!("for (int at = threadIdx.x; at < {positions}; at += {THREADS}) {{\n"),
            group => format!(
                "for (int i0 = threadIdx.x; i0 < {}; i0 += {THREADS}) {{\n\
                 const int item = i0 / {positions}, at = i0 % {positions};\n{LOCATE}",
                group * positions
            ),
        }
    }

    /// A loop in which a warp takes displacement `item`, up to its brace.
    fn by_warp(&self) -> String {
        match self.group {
            1 => "for (int once = threadIdx.x / 32; once < 1; once++) {\n".to_owned(),
            group => format!(
                "for (int item = threadIdx.x / 32; item < {group}; item += {}) {{\n{LOCATE}",
                THREADS / 32
            ),
        }
    }

    /// Whether a sum over positions is shared by the lanes of a warp.
    pub fn totals_by_warp(&self, reads: &[Read]) -> bool {
        let positions = |r: &Read| self.steps[r.from].grid.iter().product::<usize>();
        reads.iter().any(|r| positions(r) >= 32)
    }
}

/// Where the stages leave their numbers.
pub(super) fn stores(plan: &StagePlan) -> Vec<Store> {
    let mut offset = 0;
    let store = |stage: &Stage| {
        let (slots, first) = (stage.slots(), offset);
        let size = slots * stage.last.len();
        offset += size;
        Store {
            offset: first,
            size,
            slots,
            need: stage.need,
        }
    };
    plan.stages.iter().map(store).collect()
}

/// A kernel with what it needs to start.
pub(in crate::gpu) struct Fields {
    pub program: CudaSource,
    /// Displacements that a block takes at a time.
    pub group: usize,
    /// Numbers of a block that lie in the memory of the GPU.
    pub area: usize,
    /// Numbers that it leaves for a pair.
    pub made: usize,
}

/// The kernel of a stage.
pub(in crate::gpu) fn fields(plan: &StagePlan, stage: &Stage, kind: Kind) -> Fields {
    let layout = Layout::new(plan, stage);
    let carried = if kind.carried() { 2 } else { 1 };
    let numbers = stage.buffers * layout.group * layout.positions;
    let bytes = carried * numbers * kind.size();
    let (memory, shared, area) = match bytes <= SHARED {
        true => (
            "extern __shared__ __align__(16) unsigned char memory[];\nT* const fk = (T*)memory;\n"
                .to_owned(),
            bytes,
            0,
        ),
        false => (
            format!(
                "T* const fk = area + blockIdx.x * (long long){};\n",
                carried * numbers
            ),
            0,
            carried * numbers,
        ),
    };
    let mut body = format!(
        "{memory}T* const ft = fk + {};\nconst int lane = threadIdx.x % 32;\n(void)ft; (void)lane;\n\
         const long long total = (long long)count * {};\n\
         for (long long group = blockIdx.x * {g}ll; group < total; group += gridDim.x * {g}ll) {{\n",
        (carried - 1) * numbers,
        stage.displacements.len(),
        g = layout.group
    );
    if layout.group == 1 {
        body += "const int item = 0;\n(void)item;\nconst Where z = locate(group, count, pairs);\n";
    }
    for (i, step) in stage.steps.iter().enumerate() {
        body += &one(&layout, step, kind, |at| layout.place(i, at));
    }
    for (block, &last) in stage.last.iter().enumerate() {
        body += &leave(&layout, stage, block, last, kind);
    }
    body += "__syncthreads();\n}\n";
    let pooled = matches!(stage.end, End::GlobalPool | End::Attention { .. });
    let positions = stage.grid[0] * stage.grid[1];
    Fields {
        program: kind.source(
            &tables(stage),
            [PARAMETERS, &body],
            &THREADS.to_string(),
            shared,
        ),
        group: layout.group,
        area,
        made: stage.displacements.len() * stage.last.len() * if pooled { 1 } else { positions },
    }
}

/// Displacements, and the pair and the displacement of an item.
fn tables(stage: &Stage) -> String {
    let list = |a: usize| {
        let numbers: Vec<String> = stage
            .displacements
            .iter()
            .map(|d| d[a].to_string())
            .collect();
        numbers.join(",")
    };
    let n = stage.displacements.len();
    format!(
        "__device__ const short DY[{n}] = {{{}}};\n__device__ const short DX[{n}] = {{{}}};\n\
         struct Where {{ bool there; int pair, d, row, column; }};\n\
         __device__ __forceinline__ Where locate(const long long item, const int count, \
         const unsigned* __restrict__ pairs) {{\n\
         Where z;\nz.pair = (int)(item / {n}); z.d = (int)(item % {n}); z.there = z.pair < count;\n\
         const unsigned both = z.there ? pairs[z.pair] : 0u;\n\
         z.row = both >> 16; z.column = both & 65535u;\nreturn z;\n}}\n",
        list(0),
        list(1)
    )
}

/// Position `at` on the left and `to` on the right, where both are there.
fn frame(step: &Step) -> String {
    let [height, width] = step.grid;
    let mut text = format!("const int y = at / {width}, x = at % {width};\n");
    for (a, (name, table, n)) in [("y", "DY", height), ("x", "DX", width)]
        .into_iter()
        .enumerate()
    {
        // Beyond the grid is beyond the grid, and modulo it is modulo it.
        let times = match step.axes[a] {
            Axis::Wrapped => step.times[a] % n,
            Axis::Signed => step.times[a].min(n),
        };
        text += &match step.axes[a] {
            Axis::Wrapped => format!(
                "const int d{name} = wrapped({table}[z.d] * {times}, {n});\n\
                 const int {name}2 = {name} + d{name} >= {n} ? {name} + d{name} - {n} : {name} + d{name};\n"
            ),
            Axis::Signed => format!(
                "const int d{name} = {table}[z.d] * {times};\n\
                 const int {name}2 = {name} + d{name};\nif ({name}2 < 0 || {name}2 >= {n}) continue;\n"
            ),
        };
    }
    text + &format!(
        "const int to = y2 * {width} + x2;\nconst bool same = dy == 0 && dx == 0;\n(void)to; (void)same;\n"
    )
}

/// One step for all items of the group.
fn one(layout: &Layout, step: &Step, kind: Kind, place: impl Fn(&str) -> String) -> String {
    let positions = step.grid[0] * step.grid[1];
    let by_warp = match &step.source {
        StepSource::Total { reads, .. } => layout.totals_by_warp(reads),
        _ => false,
    };
    let each = match by_warp {
        true => layout.by_warp() + "const int at = 0;\n",
        false => layout.by_thread(positions),
    };
    let skip = match step.off_diagonal {
        true => "",
        false => "if (DY[z.d] != 0 || DX[z.d] != 0) continue;\n",
    };
    let keep = if by_warp { "if (lane == 0) " } else { "" };
    let inputs: usize = layout.input.iter().product();
    format!(
        "{each}{skip}{}\
         const T *p = s_left + (long long)z.row * {e}, *q = s_right + (long long)z.column * {e};\n\
         const T *u1 = x_left + (long long)z.row * {inputs}, *u2 = x_right + (long long)z.column * {inputs};\n\
         (void)p; (void)q; (void)u1; (void)u2;\n{}{}{keep}fk[{here}] = k;\n{}}}\n__syncthreads();\n",
        frame(step),
        source(layout, step, kind),
        chain(step, kind, &layout.offsets),
        kind.theta(format!("{keep}ft[{}] = t;\n", place("at"))),
        e = layout.each,
        here = place("at"),
    )
}

/// What a last step leaves to `gather`: its sum over positions, or all of it.
fn leave(layout: &Layout, stage: &Stage, block: usize, last: usize, kind: Kind) -> String {
    let step = &stage.steps[last];
    let positions = step.grid[0] * step.grid[1];
    let here = layout.place(last, "at");
    let item = format!(
        "(((long long)z.pair * {} + z.d) * {} + {block})",
        stage.displacements.len(),
        stage.last.len()
    );
    if matches!(stage.end, End::GlobalPool | End::Attention { .. }) {
        let each = |name: &str| {
            format!(
                "for (int o = 16; o > 0; o >>= 1) sum_{name} += __shfl_xor_sync(~0u, sum_{name}, o);\n\
                 if (lane == 0) made_{name}[{item}] = sum_{name};\n"
            )
        };
        return format!(
            "{}T sum_k = 0, sum_t = 0;\nfor (int at = lane; at < {positions}; at += 32) {{\n{}sum_k += fk[{here}];\n{}}}\n\
             {}{}}}\n",
            layout.by_warp(),
            frame(step),
            kind.theta(format!("sum_t += ft[{here}];\n")),
            each("k"),
            kind.theta(each("t")),
        );
    }
    format!(
        "{}{}\
         made_k[{item} * {positions} + at] = fk[{here}];\n{}}}\n",
        layout.by_thread(positions),
        frame(step),
        kind.theta(format!("made_t[{item} * {positions} + at] = ft[{here}];\n")),
    )
}
