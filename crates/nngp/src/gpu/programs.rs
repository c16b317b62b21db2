//! The compiled kernels of a plan.

use polariscope_diff::cuda::{CudaError, CudaSource, Gpu, Kernel as Compiled};

use super::pooled::{self, PooledStack};
use super::text::{self, Kind};
use crate::plan::StagePlan;

/// All stages.
pub(super) struct Programs {
    pub stages: Vec<OfStage>,
}

/// The two kernels of a stage.
pub(super) struct OfStage {
    pub first: First,
    pub gather: Compiled,
    /// Numbers that `gather` makes of a pair, and threads that make each.
    pub gathered: [usize; 2],
    /// Numbers that are left of a pair on the way.
    pub made: usize,
    /// What copies the variances of samples from what is left of them with themselves, and how many there are.
    pub own: Option<(Compiled, usize)>,
}

/// What takes displacements through the steps.
pub(super) enum First {
    /// Fields in the memory of a block.
    Fields {
        kernel: Compiled,
        /// Displacements of a pair, and how many a block takes at a time.
        displacements: [usize; 2],
        /// Numbers of a block in the memory of the GPU.
        area: usize,
    },
    /// Maps in registers.
    Pooled {
        maps: Box<PooledStack>,
        kernel: Compiled,
        sides: Compiled,
    },
}

/// The texts of one stage, before they are compiled.
pub(super) struct Texts {
    first: FirstText,
    gather: text::Gather,
    own: Option<text::OwnVariances>,
}

enum FirstText {
    Fields(text::Fields),
    Pooled(Box<PooledStack>),
}

impl Texts {
    /// Of stage s.
    pub fn new(plan: &StagePlan, s: usize, kind: Kind) -> Self {
        let stage = &plan.stages[s];
        let (first, parts) = match PooledStack::of(plan, stage) {
            Some(maps) => {
                let parts = maps.displacements();
                (FirstText::Pooled(Box::new(maps)), parts)
            }
            None => {
                let fields = text::fields(plan, stage, kind);
                (FirstText::Fields(fields), stage.displacements.len())
            }
        };
        Texts {
            first,
            gather: text::gather(plan, s, parts, kind),
            own: (s < plan.self_stages).then(|| text::own(plan, s, kind)),
        }
    }

    /// What is compiled.
    pub fn programs(&self, plan: &StagePlan, kind: Kind) -> Vec<CudaSource> {
        let mut all = vec![self.gather.program.clone()];
        match &self.first {
            FirstText::Pooled(maps) => {
                all.extend([pooled::map(maps, kind), pooled::sides(maps, plan, kind)]);
            }
            FirstText::Fields(fields) => all.push(fields.program.clone()),
        }
        all.extend(self.own.as_ref().map(|own| own.program.clone()));
        all
    }
}

impl Programs {
    /// Writes and compiles them.
    pub fn new(gpu: &Gpu, plan: &StagePlan, kind: Kind) -> Result<Self, CudaError> {
        let texts: Vec<Texts> = (0..plan.stages.len())
            .map(|s| Texts::new(plan, s, kind))
            .collect();
        let sources: Vec<CudaSource> = texts.iter().flat_map(|t| t.programs(plan, kind)).collect();
        let mut kernels = gpu.compile(&sources)?.into_iter();
        let mut next = || {
            kernels.next().ok_or(CudaError::Call {
                call: "compiling a kernel",
                reason: "one is missing".into(),
            })
        };
        let mut stages = Vec::new();
        for (texts, stage) in texts.into_iter().zip(&plan.stages) {
            let gather = next()?;
            let gathered = [texts.gather.size, texts.gather.threads_each];
            let (first, made) = match texts.first {
                FirstText::Pooled(maps) => {
                    let (kernel, sides, made) = (next()?, next()?, maps.displacements());
                    let first = First::Pooled {
                        maps,
                        kernel,
                        sides,
                    };
                    (first, made)
                }
                FirstText::Fields(fields) => {
                    let first = First::Fields {
                        kernel: next()?,
                        displacements: [stage.displacements.len(), fields.group],
                        area: fields.area,
                    };
                    (first, fields.made)
                }
            };
            let own = match texts.own {
                Some(own) => Some((next()?, own.numbers)),
                None => None,
            };
            stages.push(OfStage {
                first,
                gather,
                gathered,
                made: made.max(own.as_ref().map_or(0, |(_, numbers)| *numbers)),
                own,
            });
        }
        Ok(Programs { stages })
    }

    /// Bytes of a sample and its variances, in numbers of so many bytes.
    pub fn bytes_of_sample(&self, plan: &StagePlan, size: usize) -> usize {
        let inputs: usize = plan.input.iter().product();
        let sides: usize = plan.sides.iter().sum();
        let of_maps = self.stages.iter().map(|stage| match &stage.first {
            First::Fields { .. } => 0,
            First::Pooled { maps, .. } => maps.numbers().iter().sum(),
        });
        (inputs + sides + of_maps.sum::<usize>()) * size
    }
}

#[cfg(test)]
mod tests;
