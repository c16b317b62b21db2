//! What the networks have in common.

use serde::{Deserialize, Serialize};

use super::{FrozenPair, KernelMotion, Network, Parts, Sampled};
use crate::spread::{Curve, Distance, Ensemble};

/// What the networks have in common. A number is missing where there are too few networks for its error, or where the lens
/// says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Sampled>,
    /// N_Δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsatisfied: Option<Sampled>,
    /// Misclassified training samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misclassified: Option<Sampled>,
    /// ‖ΔΘ‖/‖Θ₀‖, the geometric mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Sampled>,
    /// ‖Δw‖/‖w₀‖.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Sampled>,
    /// The same by layer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub layers: Vec<Layer>,
    /// N_eff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective: Option<Sampled>,
    /// Dead units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<Sampled>,
    /// The largest eigenvalue of the Hessian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Sampled>,
    /// The smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Sampled>,
    /// Share of its eigenvalues that are negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negative: Option<Sampled>,
    /// Rank of H₀.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Sampled>,
    /// Negative eigenvalues of H_p over its positive ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<Sampled>,
    /// Alignment of the kernel with the labels before training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment_before: Option<Sampled>,
    /// And after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment_after: Option<Sampled>,
    /// How much it grew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment_gain: Option<Sampled>,
    /// ε: test error of a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Sampled>,
    /// ε of the networks whose kernels are frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_beside: Option<Sampled>,
    /// Test error of training with the kernel of the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_start: Option<Sampled>,
    /// With that of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_end: Option<Sampled>,
    /// How much lower the second is, with the error of the test samples too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_gain: Option<Sampled>,
    /// How much lower the network's is than the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lazy_gain: Option<Sampled>,
    /// Test error of the mean output of all networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ensemble: Option<Sampled>,
    /// ε̄_∞: that of infinitely many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Sampled>,
    /// ε − ε̄_∞, what the noise of the initial weights adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Sampled>,
    /// (ε − ε̄_∞)/ε.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_share: Option<Sampled>,
    /// Var F.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<Sampled>,
    /// Share of test samples that a network and the ensemble decide differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Sampled>,
    /// δ at these samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Sampled>,
    /// δ from root mean squares over all samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_overall: Option<Sampled>,
}

/// How far a layer moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// ‖Δw‖/‖w₀‖.
    pub moved: Sampled,
}

impl Statistics {
    pub(super) fn new(
        networks: &[Network],
        test_samples: usize,
        (curve, ensemble): (&Curve, &Ensemble),
        distance: Option<Distance>,
    ) -> Self {
        let over = |f: &dyn Fn(&Network) -> Option<f64>| {
            Sampled::mean(&networks.iter().filter_map(f).collect::<Vec<f64>>())
        };
        let kernel = |f: &dyn Fn(&KernelMotion) -> f64| over(&|n| n.kernel.as_ref().map(f));
        let changes = networks.iter().filter_map(|n| n.kernel.map(|k| k.change));
        let changes: Vec<f64> = changes.collect();
        let frozen = |f: &dyn Fn(&FrozenPair) -> f64| over(&|n| n.frozen.as_ref().map(f));
        let parts = |f: &dyn Fn(&Parts) -> Option<f64>| {
            over(&|n| {
                n.curvature
                    .as_ref()
                    .and_then(|c| c.parts)
                    .and_then(|p| f(&p))
            })
        };
        let flags = |wrong: &[usize]| {
            let mut flags = vec![false; test_samples];
            wrong.iter().for_each(|&i| flags[i] = true);
            flags
        };
        let pairs: Vec<(Vec<bool>, Vec<bool>)> = networks
            .iter()
            .filter_map(|n| n.frozen.as_ref())
            .map(|pair| (flags(&pair.start.wrong), flags(&pair.end.wrong)))
            .collect();
        let beside = networks.iter().zip(ensemble.outputs);
        let lazy = beside.filter_map(|(n, outputs)| {
            let pair = n.frozen.as_ref()?;
            Some((flags(&pair.start.wrong), ensemble.wrong(outputs)))
        });
        let lazy: Vec<(Vec<bool>, Vec<bool>)> = lazy.collect();
        let layers = networks.first().map_or(&[][..], |n| &n.layers);
        let layer = |(k, (name, _)): (usize, &(String, f64))| {
            let moved = over(&|n| n.layers.get(k).map(|l| l.1))?;
            let name = name.clone();
            Some(Layer { name, moved })
        };
        let fit = curve.fit;
        Self {
            steps: over(&|n| Some(n.steps as f64)),
            unsatisfied: over(&|n| Some(n.gaps.unsatisfied as f64)),
            misclassified: over(&|n| Some(n.gaps.misclassified as f64)),
            kernel: Sampled::geometric(&changes),
            weights: over(&|n| Some(n.moved)),
            layers: layers.iter().enumerate().filter_map(layer).collect(),
            effective: over(&|n| n.effective.as_ref().map(|e| e.rank as f64)),
            dead: over(&|n| Some(n.dead_units.iter().map(|l| l.1.len()).sum::<usize>() as f64)),
            largest: over(&|n| n.curvature.as_ref().map(|c| c.largest)),
            smallest: over(&|n| n.curvature.as_ref().map(|c| c.smallest)),
            negative: parts(&|p| Some(p.hessian.negative_fraction())),
            rank: parts(&|p| Some(p.gauss_newton.positive as f64)),
            balance: parts(&|p| {
                let (below, above) = (p.curvature.negative, p.curvature.positive);
                (above > 0).then(|| below as f64 / above as f64)
            }),
            alignment_before: kernel(&|k| k.alignment[0]),
            alignment_after: kernel(&|k| k.alignment[1]),
            alignment_gain: kernel(&|k| k.alignment[1] - k.alignment[0]),
            error: over(&|n| Some(n.test_error)),
            error_beside: over(&|n| n.frozen.as_ref().map(|_| n.test_error)),
            frozen_start: frozen(&|pair| pair.start.test_error),
            frozen_end: frozen(&|pair| pair.end.test_error),
            frozen_gain: Sampled::gain(&pairs),
            lazy_gain: Sampled::gain(&lazy),
            ensemble: curve.points.last().map(|(_, e)| (*e).into()),
            limit: fit.map(|f| f.limit.into()),
            noise: fit.map(|f| f.noise.into()),
            noise_share: fit.and_then(|f| f.share).map(Sampled::from),
            variance: ensemble.variance().map(Sampled::from),
            disagreement: distance.map(|d| d.disagreement.into()),
            distance: distance.and_then(|d| d.at_disagreement).map(Sampled::from),
            distance_overall: distance.and_then(|d| d.overall).map(Sampled::from),
        }
    }
}
