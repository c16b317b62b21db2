//! Samples in the memory of a GPU, and passes over them.

use std::sync::Arc;

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel, Workspace};
use polariscope_diff::{Number, Precision, Program};

use super::kernels::{self, Sizes, THREADS};

/// Most blocks that bring samples together.
const BLOCKS: usize = 1 << 12;

/// A set of samples.
pub struct Set<T> {
    x: Array<f32>,
    y: Array<T>,
    pub classes: Array<u32>,
    /// Which row comes when.
    pub order: Array<u32>,
    /// How rows are looked at, three numbers each, where they are changed.
    pub views: Option<Array<u32>>,
    pub samples: usize,
    pub labelled: bool,
}

impl<T: Number> Set<T> {
    /// Copies samples and their targets, in their own order.
    pub fn new(
        gpu: &Gpu,
        x: &[f32],
        classes: Option<&[u32]>,
        targets: &[T],
        samples: usize,
    ) -> Result<Self, CudaError> {
        let set = Set {
            x: gpu.zeros(x.len())?,
            y: gpu.zeros(targets.len())?,
            classes: gpu.zeros(samples)?,
            order: gpu.zeros(samples)?,
            views: None,
            samples,
            labelled: classes.is_some(),
        };
        gpu.upload(x, 0, &set.x)?;
        gpu.upload(targets, 0, &set.y)?;
        if let Some(classes) = classes {
            gpu.upload(classes, 0, &set.classes)?;
        }
        let n = samples;
        let rows: Vec<u32> = (0..n as u32).collect();
        gpu.upload(&rows, 0, &set.order)?;
        Ok(set)
    }
}

/// A program that is run on some samples of a set.
pub struct Pass<T> {
    pub workspace: Workspace<T>,
    pub sizes: Sizes,
    gather: Kernel,
    x: Arc<Array<T>>,
    y: Arc<Array<T>>,
}

impl<T: Number> Pass<T> {
    /// Loads a program whose leaf 0 is the inputs and leaf `targets` the targets.
    pub fn new(
        gpu: &Arc<Gpu>,
        program: &Program,
        precision: Precision,
        sizes: Sizes,
        targets: usize,
        given: impl Fn(usize) -> Option<Arc<Array<T>>>,
    ) -> Result<Self, CudaError> {
        let x = Arc::new(gpu.zeros(sizes.samples * sizes.input)?);
        let y = Arc::new(gpu.zeros(sizes.samples * sizes.outputs)?);
        let leaf = |leaf| match leaf {
            0 => Some(x.clone()),
            leaf if leaf == targets => Some(y.clone()),
            leaf => given(leaf),
        };
        let workspace = Workspace::with(gpu.clone(), program, precision, leaf)?;
        // Kernels of libraries are loaded by their first call, which a recording forbids.
        workspace.start()?;
        let mut kernels = gpu.compile(&[kernels::gather(T::DTYPE, sizes)])?;
        Ok(Pass {
            workspace,
            sizes,
            gather: kernels.remove(0),
            x,
            y,
        })
    }

    /// Brings the samples of the pass that `clock` tells together.
    pub fn gather(&self, gpu: &Gpu, set: &Set<T>, clock: &Array<i64>) -> Result<(), CudaError> {
        let Sizes {
            samples,
            input,
            outputs,
            ..
        } = self.sizes;
        let blocks = (samples * input).div_ceil(THREADS).clamp(1, BLOCKS);
        let mut arguments = vec![
            T::argument(&self.x, samples * input),
            T::argument(&self.y, samples * outputs),
            Argument::F32(&set.x, set.samples * input),
            T::argument(&set.y, set.samples * outputs),
            Argument::U32(&set.order, set.samples),
            Argument::I64(clock, 1),
        ];
        if let Some(views) = &set.views {
            arguments.push(Argument::U32(views, 3 * set.samples));
        }
        gpu.start(&self.gather, [blocks, 1, 1], &arguments)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use polariscope_diff::Dtype;
    use polariscope_graph::Shape;

    use super::super::emulation::{kernels_as_cpp, list, run};
    use super::{Sizes, kernels};
    use crate::Augment;

    const SAMPLES: usize = 5;
    const INPUT: usize = 2 * 4 * 3;

    fn whole(numbers: impl IntoIterator<Item = u32>) -> String {
        let words: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
        format!("{{{}}}", words.join(", "))
    }

    /// The second batch of three as C++: rows, their targets and, with augmentation, their views are the processor's.
    #[test]
    fn the_gather_kernel_takes_the_views_of_the_processor() {
        let shape = Shape::Image {
            channels: 2,
            height: 4,
            width: 3,
        };
        let augment = Augment {
            crop: 2,
            flip: true,
        };
        let data: Vec<f32> = (0..SAMPLES * INPUT).map(|i| 1.0 + i as f32).collect();
        let order = [3usize, 0, 4, 1, 2];
        for frame in [None, augment.frame(shape).unwrap()] {
            let sizes = Sizes {
                samples: 2,
                batch: 2,
                passes: 3,
                input: INPUT,
                outputs: 2,
                classes: true,
                weight: 1.0,
                frame,
            };
            for epoch in 0..4 {
                let views = augment.views(SAMPLES, 9, epoch);
                let numbers = views.iter().flat_map(|v| v.numbers());
                let mut text = kernels_as_cpp(&[kernels::gather(Dtype::F64, sizes)]);
                write!(
                    text,
                    "static float data[] = {};
static double targets[] = {}, x[{}], y[4];
static unsigned order[] = {}, views[] = {};
static long long now = 4;
int main() {{
    grid(7, 1, [] {{ gather_kernel::gather(x, y, data, targets, order, &now{}); }});
    for (double v : x) printf(\"%.17g \", v);
    for (double v : y) printf(\"%.17g \", v);
    printf(\"\\n\");
}}",
                    list(data.iter().map(|&x| f64::from(x))),
                    list((0..2 * SAMPLES).map(|i| i as f64)),
                    2 * INPUT,
                    whole(order.map(|i| i as u32)),
                    whole(numbers),
                    if frame.is_some() { ", views" } else { "" },
                )
                .unwrap();
                let Some(printed) = run("gather", &text) else {
                    return;
                };
                let mut want = Vec::new();
                for &row in &order[2..4] {
                    let image = &data[row * INPUT..(row + 1) * INPUT];
                    let mut seen: Vec<f64> = image.iter().map(|&x| f64::from(x)).collect();
                    if let Some(frame) = frame {
                        frame.look(views[row], image, &mut seen);
                    }
                    want.extend(seen);
                }
                let targets = order[2..4].iter().flat_map(|&row| [2 * row, 2 * row + 1]);
                want.extend(targets.map(|i| i as f64));
                assert_eq!(printed, [want]);
                if frame.is_none() {
                    break;
                }
            }
        }
    }
}
