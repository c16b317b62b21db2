//! Every motion, checked: the kernels of moved samples, the outputs of weights that follow, twins in training, sampled
//! networks where there are no kernels.

use polariscope_graph::Graph;
use polariscope_network::{Network, NetworkError, Weights};
use polariscope_nngp::{Kernel, Wanted};
use polariscope_stats::Estimate;

use super::super::invariance::change;
use super::super::measure::{Material, Runs};
use super::super::runs::distance;
use super::super::{Question, SymmetryError};
use super::kind::{Deduced, Kind, deduce};
use super::motion::{Motion, filled};
use super::sampled::differences;

/// Samples whose kernels are compared: two make every entry that there is, and transformed kernels are many.
const SAMPLES: usize = 2;
/// Arithmetic that one comparison of kernels may take.
const KERNEL: f64 = 1e11;

/// What was measured of one kind of motion.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What the layers say.
    pub deduced: Deduced,
    /// Relative change of the kernels under what weights follow.
    pub kernel: Option<f64>,
    /// Relative change of the outputs of weights that follow.
    pub outputs: Option<f64>,
    /// Relative distance of the predictions of trained twins.
    pub twins: Option<f64>,
    /// The least change of the kernels under motions that no weights were found to follow.
    pub lost_kernel: Option<f64>,
    /// The least of the differences that sampled networks show under these, where all show one.
    pub lost_sampled: Option<Estimate>,
    /// Change of the outputs of one network where everything has left the sample.
    pub blanked: Option<f64>,
}

/// Measures every kind of motion that the samples have.
pub fn check(
    graph: &Graph,
    material: &Material,
    kernel: Option<&Kernel>,
    mut runs: Option<&mut Runs<'_>>,
    question: &Question,
) -> Result<Vec<Checked>, SymmetryError> {
    let (shape, setup) = (graph.input(), &question.setup);
    let count = SAMPLES.min(material.labels.len());
    let x = &material.x[..count * shape.len()];
    let affordable = |k: &&Kernel| k.operations() * (count * (count + 1)) as f64 <= KERNEL;
    let kernel = match kernel.filter(affordable) {
        None => None,
        Some(kernel) => Some((kernel, kernel.among(Wanted::Both, x)?)),
    };
    let changed = |moved: &[f64]| match &kernel {
        None => Ok(None),
        Some((kernel, before)) => change(kernel, before, moved).map(|d| Some(d.largest())),
    };
    let network = Network::<f64>::on(graph.clone(), setup.device);
    let weights = Weights::<f64>::draw(graph, setup.seed, 0);
    let deduced = deduce(graph);
    let sampled = match kernel {
        Some(_) => Vec::new(),
        None => {
            let lost = deduced.iter().flat_map(|d| d.lost.iter().map(|(m, _)| *m));
            let lost: Vec<Motion> = lost.collect();
            match differences(graph, &lost, setup.seed, setup.device) {
                Ok(found) => found,
                // Single precision may not hold its outputs.
                Err(NetworkError::Device(e)) => return Err(NetworkError::Device(e).into()),
                Err(_) => Vec::new(),
            }
        }
    };
    let mut sampled = sampled.into_iter();
    let mut all = Vec::with_capacity(deduced.len());
    for deduced in deduced {
        let mut found = Checked {
            kernel: None,
            outputs: None,
            twins: None,
            lost_kernel: None,
            lost_sampled: None,
            blanked: None,
            deduced,
        };
        if let Some((motion, followed)) = &found.deduced.follows
            && let Some(moved) = motion.apply(shape, x)
        {
            let twin = followed.apply(&weights);
            found.kernel = changed(&moved)?;
            found.outputs = Some(distance(&network, (&weights, x), (&twin, &moved))?);
            if let Some(runs) = runs.as_mut().filter(|runs| runs.can_spend()) {
                found.twins = runs.moved(*motion, followed)?;
            }
        }
        let mut changes = Vec::new();
        for (motion, _) in &found.deduced.lost {
            changes.extend(motion.apply(shape, x).map(|moved| changed(&moved)));
        }
        if found.deduced.kind == Kind::Filled {
            changes.push(changed(&filled(shape, x)));
            let zero = vec![0.0; x.len()];
            found.blanked = Some(distance(&network, (&weights, x), (&weights, &zero))?);
        }
        let changes: Option<Vec<f64>> = changes.into_iter().collect::<Result<_, _>>()?;
        found.lost_kernel = changes.unwrap_or_default().into_iter().reduce(f64::min);
        let of_these: Vec<Option<Estimate>> =
            sampled.by_ref().take(found.deduced.lost.len()).collect();
        let differences: Option<Vec<Estimate>> = of_these.into_iter().collect();
        let least = |a: Estimate, b: Estimate| match a.value.abs() <= b.value.abs() {
            true => a,
            false => b,
        };
        found.lost_sampled = differences.unwrap_or_default().into_iter().reduce(least);
        all.push(found);
    }
    Ok(all)
}
