//! The group of a learning system, from its first layers.
//!
//! Finite width: W x = W′(τx) with W′ = W τᵀ. If W′ is again a weight of the layer with the distribution of W, and the optimiser
//! takes W τᵀ where it took W, every run on D has a twin on τ(D) with the same outputs. Laws: N(0, σ²) and the uniform distribution
//! over orthonormal frames are those of W τᵀ for every orthogonal τ; independent uniform entries only for (signed)
//! permutations. Optimisers: gradient descent, with mini-batches, momentum and L2, is linear in the gradient, which turns
//! with the weights; Adam divides number by number and follows permutations alone.
//!
//! Infinite width: the kernels depend on the samples through the covariances of the first layer. If only those of equal
//! positions reach the output, a shared first layer is as good as one with weights of its own: VEC_∞ = LCN_∞.

use polariscope_graph::{Graph, Law, NodeId};
use polariscope_train::Optimiser;
use serde::{Deserialize, Serialize};

use super::first::{Reader, Reading, readers};
use super::group::{Elements, Group, Sharing};
use super::positions::{Mixing, mixing};

/// A group and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The group; `None` where only the identity is known.
    pub group: Option<Group>,
    /// The next larger group, which is no symmetry; `None` beyond O(Cd).
    pub larger: Option<Group>,
    /// The proof in a few sentences.
    pub proof: String,
}

/// What a network cannot tell apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deduction {
    /// At the width that the graph has, trained by the optimiser asked about.
    pub finite: Finding,
    /// At infinite width, with weights that start Gaussian and follow the gradient.
    pub infinite: Finding,
}

/// The groups of a graph.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_kernels::symmetry::{Group, deduce};
/// use polariscope_train::Optimiser;
/// let graph = zoo("cnn-vec", &ZooOptions::default())?;
/// let found = deduce(&graph, Optimiser::GRADIENT_DESCENT);
/// assert_eq!(found.finite.group, Some(Group::CHANNELS));
/// assert_eq!(found.infinite.group, Some(Group::EACH_POSITION));
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
pub fn deduce(graph: &Graph, optimiser: Optimiser) -> Deduction {
    let readers = match readers(graph) {
        Ok(readers) => readers,
        Err(reason) => {
            let nothing = Finding {
                group: None,
                larger: None,
                proof: format!("No rotation is known to be followed: {reason}."),
            };
            return Deduction {
                finite: nothing.clone(),
                infinite: nothing,
            };
        }
    };
    Deduction {
        finite: finite(graph, &readers, optimiser),
        infinite: infinite(graph, &readers),
    }
}

fn finite(graph: &Graph, readers: &[Reader], optimiser: Optimiser) -> Finding {
    let mut group = Group::ALL;
    let mut proof = Vec::new();
    for reader in readers {
        let (elements, law) = law(graph, reader);
        group = group.meet(Group {
            elements,
            ..reader.group
        });
        proof.push(sentence(&reader.proof));
        proof.push(law);
    }
    if let Optimiser::Adam { .. } = optimiser {
        group = group.permutations();
        proof.push(
            "Adam divides by the size of every number's own gradient, which no rotation commutes with: permutations are left."
                .to_owned(),
        );
    } else {
        proof.push(
            "Gradient descent, with mini-batches, momentum and L2, turns the weights along: the twin run stays a twin."
                .to_owned(),
        );
    }
    known(graph, group, proof.join(" "))
}

fn infinite(graph: &Graph, readers: &[Reader]) -> Finding {
    let mut group = Group::ALL;
    let mut proof = Vec::new();
    for reader in readers {
        let mixing = mixing(graph, NodeId(reader.node));
        if let Mixing::NoKernel(layer, why) = mixing {
            return Finding {
                group: None,
                larger: None,
                proof: format!("There is no kernel to speak of: at {layer}, {why}."),
            };
        }
        let (own, said) = wide(reader, &mixing);
        group = group.meet(own);
        proof.push(said);
        if let (Elements::Permutation, _) = law(graph, reader) {
            proof.push(
                "This takes the first weights as Gaussian, as the kernels do; sums of a few uniform weights are not quite."
                    .to_owned(),
            );
        }
    }
    known(graph, group, proof.join(" "))
}

/// The group of the covariances that reach the output.
fn wide(reader: &Reader, mixing: &Mixing) -> (Group, String) {
    let own = Group {
        sharing: Sharing::Own,
        ..reader.group
    };
    match (reader.reading, mixing) {
        (Reading::Whole, _) => {
            let said = "The kernels depend on the samples through x·x′ alone, which no rotation of all numbers changes.";
            (Group::ALL, said.to_owned())
        }
        (_, _) if reader.group == Group::ALL => {
            let said = "One window covers the sample: the kernels depend on x·x′ alone.";
            (Group::ALL, said.to_owned())
        }
        (Reading::OwnTaps(_), _) => {
            let said = "Weights of different positions are independent, so the kernels depend on the products x_α·x′_α of \
                        equal positions alone; rotations that differ between positions keep them.";
            (own, said.to_owned())
        }
        (Reading::Taps(_), Mixing::Never) => {
            let said = "No later layer mixes positions, so only products x_α·x′_α of equal positions reach the output: the \
                        shared weights no longer show, and each position may rotate in its own way, as in a locally \
                        connected network.";
            (own, said.to_owned())
        }
        (Reading::Taps(_), Mixing::At(layer)) => {
            let said = format!(
                "{layer} mixes positions, so products x_α·x′_α′ of different ones reach the output; they are kept by rotations \
                 that all positions share."
            );
            (reader.group, said)
        }
        (Reading::Channels | Reading::TurnedTaps(..), _)
        | (Reading::Taps(_), Mixing::NoKernel(..)) => (reader.group, sentence(&reader.proof)),
    }
}

fn known(graph: &Graph, group: Group, proof: String) -> Finding {
    let group = group.plain(graph.input());
    Finding {
        group: Some(group),
        larger: group.larger().map(|g| g.plain(graph.input())),
        proof,
    }
}

/// Which transformations leave the law of the first weights, and why.
fn law(graph: &Graph, reader: &Reader) -> (Elements, String) {
    let param = graph.param(reader.weight);
    let name = &param.name;
    match param.law {
        Law::Normal { .. } => (
            Elements::Orthogonal,
            format!(
                "{name} starts Gaussian with equal variances, a distribution that rotations keep."
            ),
        ),
        Law::Orthogonal { .. } => (
            Elements::Orthogonal,
            format!(
                "{name} starts uniform over orthonormal frames, a distribution that rotations keep."
            ),
        ),
        Law::Constant(0.0) => (
            Elements::Orthogonal,
            format!("{name} starts at 0, which rotations keep."),
        ),
        Law::Constant(_) => (
            Elements::Permutation,
            format!(
                "{name} starts with equal numbers, which permutations keep and rotations do not."
            ),
        ),
        Law::Uniform { .. } => (
            Elements::Permutation,
            format!(
                "{name} starts uniform in a cube, which rotations turn: permutations are left (with changes of sign)."
            ),
        ),
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        // A layer's name stays as it is.
        Some(first) if text.starts_with("the ") => {
            format!("{}{}.", first.to_uppercase(), chars.as_str())
        }
        _ => format!("{text}."),
    }
}
