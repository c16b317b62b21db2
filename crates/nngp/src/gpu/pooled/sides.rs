//! What the maps read of single samples.

use polariscope_diff::cuda::CudaSource;

use super::{Borders, Entry, PooledStack};
use crate::gpu::text::{Kind, THREADS, offsets};
use crate::plan::StagePlan;

/// s and 1/2s of every position of every layer, and sums over three rows of what the layers read where there are walls.
pub(in crate::gpu) fn sides(maps: &PooledStack, plan: &StagePlan, kind: Kind) -> CudaSource {
    let [height, width] = maps.grid;
    let positions = height * width;
    let (starts, each) = offsets(&plan.sides);
    let [roots, sums] = maps.numbers();
    let entries: Vec<Entry> = maps.entries().collect();
    let table = |kind: &str, name: &str, values: Vec<String>| {
        format!(
            "__constant__ {kind} {name}[{}] = {{{}}};\n",
            values.len(),
            values.join(",")
        )
    };
    let factors = maps.layers.iter().map(|l| format!("{:?}", l.factor));
    let of = |f: &dyn Fn(&Entry) -> f64| entries.iter().map(|e| format!("{:?}", f(e))).collect();
    let helpers = table(
        "int",
        "START",
        entries
            .iter()
            .map(|e| starts[e.view.side].to_string())
            .collect(),
    ) + &table("double", "GAIN", of(&|e| e.view.gain / e.scale))
        + &table("double", "SHIFT", of(&|e| e.view.shift / e.scale))
        + &table("double", "TIMES", factors.collect());
    let rows = match maps.borders {
        Borders::Circular => String::new(),
        Borders::Walls => format!(
            "if (entry < {}) {{\ndouble sum = s;\nif (y > 0) sum += GAIN[entry] * from[-{width}] + SHIFT[entry];\n\
             if (y + 1 < {height}) sum += GAIN[entry] * from[{width}] + SHIFT[entry];\n\
             c[sample * {sums} + entry * {} + i % {}] = (T)(TIMES[entry] * sum);\n}}\n",
            maps.layers.len(),
            2 * positions,
            2 * positions,
        ),
    };
    let body = format!(
        "for (long long at = blockIdx.x * {THREADS}ll + threadIdx.x; at < count * {all}ll; at += gridDim.x * {THREADS}ll) {{\n\
         const long long sample = at / {all};\nconst int i = (int)(at % {all}), entry = i / {rows2};\n\
         const int place = i % {positions}, y = place / {width};\n\
         const T* const from = sides + sample * {each} + START[entry] + place;\n\
         const double s = GAIN[entry] * *from + SHIFT[entry], root = sqrt(s);\n(void)y;\n\
         T* const to = r + sample * {roots} + 2ll * i;\n\
         to[0] = (T)root;\nto[1] = root > 0 ? (T)(0.5 / root) : (T)0;\n{rows}}}\n",
        all = roots / 2,
        rows2 = 2 * positions,
    );
    kind.source(
        &helpers,
        [
            "const T* __restrict__ sides, const int count, T* __restrict__ r, T* __restrict__ c",
            &body,
        ],
        &THREADS.to_string(),
        0,
    )
}
