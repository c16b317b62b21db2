//! Whether sampled networks tell a motion: a symmetry of the initial distribution would leave the distribution of
//! ln ‖f(gx) − f(0)‖² that of ln ‖f(x) − f(0)‖², for every x.
//!
//! The inputs are single lines of noise near a border, where padding and strides show most. The means over networks of the
//! differences are tested against 0 by Student's t, all lines together at the level 10⁻⁶.

use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_network::{Network, NetworkError, Weights, multiplications};
use polariscope_random::Stream;
use polariscope_stats::{Estimate, student_cdf};

use super::super::grid::Grid;
use super::motion::{Axis, Motion};

/// Lines along an axis.
const LINES: usize = 4;
/// Networks at most, and the fewest that are worth it.
const NETWORKS: [usize; 2] = [48, 12];
/// Multiplications for all of them.
const WORK: f64 = 2e11;
/// Chance of a wrong finding.
const LEVEL: f64 = 1e-6;

/// For every motion the difference that is surest to be none by chance, where one is; nothing where that takes too long.
pub(super) fn differences(
    graph: &Graph,
    motions: &[Motion],
    seed: u64,
    device: Device,
) -> Result<Vec<Option<Estimate>>, NetworkError> {
    let shape = graph.input();
    let dim = shape.len();
    let tests: Vec<(usize, Vec<f32>, Vec<f32>)> = motions
        .iter()
        .enumerate()
        .flat_map(|(m, motion)| axes(*motion).into_iter().map(move |axis| (m, motion, axis)))
        .flat_map(|(m, motion, axis)| {
            let lines = lines(graph, axis, seed).into_iter();
            lines.filter_map(move |x| Some((m, x.clone(), motion.apply(shape, &x)?)))
        })
        .collect();
    let work = multiplications(graph) as f64 * (2 * tests.len() + 1) as f64;
    let networks = ((WORK / work) as usize).min(NETWORKS[0]);
    if networks < NETWORKS[1] || tests.is_empty() {
        return Ok(vec![None; motions.len()]);
    }
    let mut x = vec![0.0; dim];
    for (_, line, moved) in &tests {
        x.extend_from_slice(line);
        x.extend_from_slice(moved);
    }
    let network = Network::<f32>::on(graph.clone(), device);
    let outputs = graph.output().len();
    let mut logs = vec![Vec::with_capacity(networks); tests.len()];
    for index in 0..networks {
        let weights = Weights::<f32>::draw(graph, seed, index as u64);
        let f = network.output(&weights, &x)?;
        let (origin, rest) = f.split_at(outputs);
        let size = |f: &[f32]| {
            let pairs = f.iter().zip(origin);
            pairs
                .map(|(f, o)| f64::from(f - o).powi(2))
                .sum::<f64>()
                .ln()
        };
        for (logs, two) in logs.iter_mut().zip(rest.chunks_exact(2 * outputs)) {
            logs.push(size(&two[outputs..]) - size(&two[..outputs]));
        }
    }
    let mut found: Vec<Option<(f64, Estimate)>> = vec![None; motions.len()];
    for ((motion, ..), logs) in tests.iter().zip(&logs) {
        let Some(mean) = Estimate::mean(logs) else {
            continue;
        };
        let t = mean.value / mean.standard_error;
        let chance = 2.0 * student_cdf(-t.abs(), networks as f64 - 1.0) * tests.len() as f64;
        let surer = found[*motion].is_none_or(|(best, _)| chance < best);
        if chance < LEVEL && surer {
            found[*motion] = Some((chance, mean));
        }
    }
    Ok(found.into_iter().map(|f| f.map(|(_, mean)| mean)).collect())
}

/// Axes that a motion does something along.
fn axes(motion: Motion) -> Vec<Axis> {
    match motion {
        Motion::Shift { axis, .. } | Motion::Flip(axis) => vec![axis],
        Motion::Transpose | Motion::Turn => vec![Axis::Across, Axis::Down],
    }
}

/// Noise on one line across an axis, 0 elsewhere: the first few lines.
fn lines(graph: &Graph, axis: Axis, seed: u64) -> Vec<Vec<f32>> {
    let grid = Grid::of(graph.input());
    let line = |k: usize| {
        let mut x = vec![0.0; grid.len()];
        Stream::new(seed, k as u64, "symmetry.line").normal(1.0, &mut x);
        for channel in 0..grid.channels {
            for p in 0..grid.positions() {
                let place = match axis {
                    Axis::Across => p % grid.width,
                    Axis::Down => p / grid.width,
                };
                if place != k {
                    x[grid.at(channel, p)] = 0.0;
                }
            }
        }
        x
    };
    (0..LINES.min(axis.of(&grid))).map(line).collect()
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, parse_file, zoo};

    use super::*;

    /// Windows of three without padding read the first of 8 columns once and the fifth three times: squared outputs differ
    /// by a factor 3 for many channels. What the network has shows no difference.
    #[test]
    fn differences_are_those_that_are_there() {
        let text = r#"
            input = [2, 8, 8]
            parametrisation = "lecun"
            layers = [
                { op = "conv", channels = 64, kernel = 3, padding = "valid" },
                { op = "flatten" },
                { op = "dense", features = 64 },
            ]"#;
        let graph = parse_file(text, "net.toml", &ZooOptions::default()).unwrap();
        let axis = Axis::Across;
        let motions = [
            Motion::Shift { axis, by: 4 },
            Motion::Flip(axis),
            Motion::Transpose,
        ];
        let found = differences(&graph, &motions, 0, Device::Cpu).unwrap();
        let ratio = found[0].unwrap();
        let off = ratio.value.abs() - 3f64.ln();
        assert!(off.abs() < 4.0 * ratio.standard_error + 0.1, "{ratio}");
        assert_eq!(found[1..], [None, None]);
    }

    /// LeNet's windows and pools lie evenly; the border shows where something goes around it.
    #[test]
    fn lenet_tells_shifts_and_no_flips() {
        let graph = zoo("lenet", &ZooOptions::default()).unwrap();
        let motions = [
            Motion::Shift {
                axis: Axis::Down,
                by: 16,
            },
            Motion::Flip(Axis::Down),
            Motion::Turn,
        ];
        let found = differences(&graph, &motions, 3, Device::Cpu).unwrap();
        assert!(
            found[0].is_some() && found[1].is_none() && found[2].is_none(),
            "{found:?}"
        );
    }
}
