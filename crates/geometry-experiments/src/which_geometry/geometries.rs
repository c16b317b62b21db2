//! The geometries that are compared, as large as the machine affords.

use polariscope_diff::Device;
use polariscope_meanfield::{Readout, mean_field_applies};

use crate::lab::SIDE;
use crate::lens::{Lens, PROBES, PROBES_COHERENT};
use crate::{GeometryExperimentsError, Lab};

/// Multiplications that a sampled geometry may cost: about a minute, on two cores and on a GPU.
const WORK_CPU: f64 = 1e13;
const WORK_GPU: f64 = 2e15;
/// A gradient costs so many forward passes.
const GRADIENT: f64 = 3.0;
/// Fewer networks than this say little.
const FEW: u64 = 100;
/// Multiplications of a network whose closed forms take seconds.
const LARGE: usize = 5_000_000;

/// One of the geometries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// As in tables.
    pub name: &'static str,
    /// How it is found.
    pub lens: Lens,
}

/// Those that an architecture has, and words about those that were left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidates {
    pub all: Vec<Candidate>,
    pub left_out: Vec<String>,
}

impl Candidates {
    pub fn of(lab: &Lab) -> Result<Self, GeometryExperimentsError> {
        let graph = lab.binary()?;
        let multiplications = polariscope_network::multiplications(&graph);
        let work = match lab.place.device {
            Device::Cpu => WORK_CPU,
            _ => WORK_GPU,
        };
        let most = lab.pick(4000, 10_000);
        let affordable = |passes: f64| {
            let networks = work / (passes * multiplications as f64);
            (networks as u64).min(most)
        };
        let (mut all, mut left_out) = (Vec::new(), Vec::new());
        let mut add = |name, lens| all.push(Candidate { name, lens });
        let closed = mean_field_applies(&graph, Readout::Logit(0)).is_ok();
        if closed {
            add("coherent", Lens::Coherent);
        }
        let networks = affordable(GRADIENT * PROBES_COHERENT as f64).max(FEW);
        add("coherent-sampled", Lens::CoherentSampled { networks });
        let networks = affordable(GRADIENT * PROBES as f64).max(FEW);
        add("local", Lens::Local { networks });
        if closed {
            let points = if multiplications > LARGE { 4 } else { 16 };
            add("meanfield", Lens::MeanField { points });
        }
        add("gelu", Lens::Gelu { networks });
        match affordable(2.0 * (SIDE * SIDE) as f64) {
            networks if networks >= FEW => add("dipole:100", Lens::Dipole { networks }),
            _ => left_out.push("dipole:100 would take hours here; a GPU has it".into()),
        }
        if !closed {
            left_out.push("coherent and meanfield have no closed form for this network".into());
        }
        Ok(Candidates { all, left_out })
    }

    /// The geometry that the others are compared with.
    pub fn first(&self) -> &'static str {
        self.all.first().map_or("", |c| c.name)
    }
}
