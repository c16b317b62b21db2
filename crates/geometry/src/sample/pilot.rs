//! What a few networks tell before a run: how many probes and read-outs reach a precision soonest.
//!
//! Costs are counted, not timed, so the same question gives the same numbers everywhere.

use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_network::multiplications;

use super::pairs::Pairs;
use super::readout::{Readouts, best};
use super::source::{Config, PILOTS, RowSource};
use crate::{GeometryError, Gradient};

/// Read-outs of each pilot.
pub(crate) const PILOT_READOUTS: usize = 4;
/// Probes of each pilot: the scatter of the gradients adds to a pilot's coherent trace some √2/16 of itself at most,
/// and over D directions that are alike √D less.
pub(crate) const PILOT_PROBES: usize = 16;
/// The most probes for each network: with more, a gradient is better spent on another network.
const MOST: usize = 64;

/// The number of probes for each network that reaches a precision of a coherent geometry soonest; that of the
/// question where it asks for no coherent one.
///
/// With P = tr G_coh, T = tr G_loc − P and m probes a network's A has the variance (P + T/m)², up to a factor: that of
/// ‖ḡ‖⁴ with the noise of the mean of m gradients. It costs c + m c', c for its weights and c' for the gradients at a
/// point. The least product of both is at m² − ρm − 2ρc/c' = 0 with ρ = T/P: ρ where weights cost nothing, and more
/// where they do. Twice or half the best m costs a tenth more, so eight networks tell ρ well enough.
///
/// ```
/// use polariscope_diff::Place;
/// use polariscope_geometry::{Centring, Gradient, Method, Output, Probe, Readouts, SampleConfig, best_probes};
/// use polariscope_graph::{ZooOptions, zoo};
/// let input = Some("1x4x4".parse()?);
/// let graph = zoo("logreg", &ZooOptions { input, ..ZooOptions::default() })?;
/// let config = SampleConfig {
///     seed: 0,
///     method: Method::Sample,
///     gradient: Gradient::Coherent,
///     probe: Probe::Gauss { sigma: 1.0 },
///     probes: 2,
///     output: Output::Logit(0),
///     readouts: Readouts::Own,
///     centring: Centring::None,
///     place: Place::default(),
/// };
/// // The gradient of a linear model is the same everywhere: no more than the two that make a pair.
/// assert_eq!(best_probes::<f32>(&graph, &config)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn best_probes<T: Number>(graph: &Graph, config: &Config) -> Result<usize, GeometryError> {
    if let Pairs::Same { points } = Pairs::of(config) {
        return Ok(points);
    }
    let pilot = Config {
        probes: PILOT_PROBES,
        ..config.clone()
    };
    let source = RowSource::<T>::new(graph, pilot, Vec::new())?;
    let networks: Vec<u64> = (0..PILOTS).collect();
    let own = source.rows_a_network() * source.dim();
    let mut rows = vec![T::ZERO; networks.len() * own];
    source.rows(&networks, &mut rows)?;
    let dot = |x: &[T], y: &[T]| -> f64 {
        let products = x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64());
        products.sum()
    };
    let points = source.config().probes as f64;
    let (mut local, mut coherent) = (0.0, 0.0);
    for gradients in rows.chunks_exact(own) {
        let (x, y) = source.pairs().factors(gradients, 1);
        coherent += dot(&x, &y);
        // Rows are scaled for the mean over m(m − 1) pairs, not over m points.
        local += (points - 1.0) * dot(gradients, gradients);
    }
    // Infinite where no coherent part was seen.
    let scatter = match coherent > 0.0 {
        true => (local / coherent - 1.0).max(0.0),
        false => f64::INFINITY,
    };
    let weights = source.draws() * points / (source.work() - source.draws());
    let best = scatter / 2.0 + (scatter * (scatter / 4.0 + 2.0 * weights)).sqrt();
    let best = (best.round() as usize).clamp(2, MOST);
    Ok(config.probe.count(best, source.dim()))
}

/// The number of read-outs for each trunk that reaches a precision soonest.
///
/// Of a coherent geometry too it is found from gradients at the same point: those at several points cost as many times
/// as much, and hardly move it.
pub fn best_readouts<T: Number>(graph: &Graph, config: &Config) -> Result<Readouts, GeometryError> {
    let pilot = Config {
        readouts: Readouts::Drawn(PILOT_READOUTS),
        gradient: match config.gradient {
            Gradient::Coherent => Gradient::Local,
            other => other,
        },
        probes: 1,
        ..config.clone()
    };
    let source = RowSource::<T>::new(graph, pilot, Vec::new())?;
    if source.config().readouts != Readouts::Drawn(PILOT_READOUTS) {
        return Ok(source.config().readouts);
    }
    let dim = source.dim();
    let mut rows = Vec::new();
    for index in 0..PILOTS {
        let mut buffer = vec![T::ZERO; PILOT_READOUTS * dim];
        source.rows(&[index], &mut buffer)?;
        let wide: Vec<f64> = buffer.iter().map(|x| x.to_f64()).collect();
        rows.push(wide.chunks_exact(dim).map(<[f64]>::to_vec).collect());
    }
    let gradient = 3.0 * multiplications(graph) as f64 * config.probes as f64;
    Ok(Readouts::Drawn(best(&rows, source.draws(), gradient)))
}
