//! How long the stages of an answer take that have no pieces to count, told before they begin.

use polariscope_graph::Graph;
use polariscope_lens::{Device, Observer, foretell_cubic};
use polariscope_meanfield::operations;
use polariscope_network::multiplications;

use super::resolved::Resolved;
use crate::{Gradient, Kron, Method, Probe, Spectrum};

/// Operations of a closed form that a thread does in a second, about.
const FORM_RATE: f64 = 3e9;
/// Multiplications of sampled networks that a thread does in a second, about.
const RATE: f64 = 1e10;
/// What a gradient costs beside an output.
const GRADIENT: f64 = 3.0;

fn threads() -> f64 {
    rayon::current_num_threads() as f64
}

impl Resolved {
    /// A closed form.
    pub(super) fn foretell_form(&self, graph: &Graph, form: Method, observer: &mut dyn Observer) {
        let walks = match (form, self.gradient, &self.probe) {
            (Method::Exact, ..) | (_, _, Probe::Zero) => 1.0,
            // The walk of one input, then that between two.
            (_, Gradient::Coherent, Probe::Gauss { .. }) => 2.0,
            (_, Gradient::Coherent, Probe::Points { .. }) => 3.0 * self.probes as f64,
            (_, Gradient::Local | Gradient::Dipole { .. }, _) => self.probes as f64,
        };
        let seconds = walks * operations(graph) / (FORM_RATE * threads());
        observer.expect("the closed form", seconds, 0.0);
    }

    /// The directions of a geometry.
    pub(super) fn foretell_spectrum(&self, matrix: &Kron, observer: &mut dyn Observer) {
        // The time of a GPU is not that of the processor, whose small part is timed.
        if self.setup.device != Device::Cpu {
            return;
        }
        let of = (&matrix.factor[..], matrix.n);
        foretell_cubic(observer, "directions", of, 5.0, |block, rows| {
            let block = Kron {
                channels: 1,
                n: rows,
                factor: block.to_vec(),
            };
            // What the pilot finds is of no interest, and what is wrong shows again.
            let _ = Spectrum::of(&block);
        });
    }

    /// The first gradients of a few networks, whatever they are for; those of a run are counted.
    pub(super) fn foretell_networks(
        &self,
        graph: &Graph,
        words: &str,
        (networks, probes): (u64, usize),
        observer: &mut dyn Observer,
    ) {
        observer.expect(words, seconds(graph, networks, probes), 0.0);
    }
}

/// What the gradients of networks take, at so many probes each.
pub(crate) fn seconds(graph: &Graph, networks: u64, probes: usize) -> f64 {
    let gradients = networks as f64 * probes as f64;
    GRADIENT * multiplications(graph) as f64 * gradients / (RATE * threads())
}
