//! What `bench/device` asks: how close the steps of a network come to the roof of a GPU.

use std::io::Write;

use polariscope_diff::cuda::{Gpu, Workspace};
use polariscope_diff::{Device, Place, Precision, Program, Trace, vjp};
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard,
};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_network::{Mode, Weights, lower};

use crate::Failure;

/// As it is called in commands.
pub fn precision(name: &str) -> Precision {
    match name {
        "fast" => Precision::Fast,
        _ => Precision::Full,
    }
}

/// Prints a line for each step: seconds, operations, bytes, name.
pub fn roof(
    out: &mut impl Write,
    architecture: &str,
    input: &str,
    batch: usize,
    what: &str,
    precision: Precision,
) -> Result<(), Failure> {
    let graph = network(architecture, input)?;
    let lowered = lower(&graph, batch, Mode::Evaluate);
    let mut t: Trace = lowered.trace;
    let one = t.constant_like(1.0, lowered.output);
    let program = match what {
        "forward" => Program::new(&t, &[lowered.output]),
        _ => {
            let mut wanted: Vec<_> = graph.trainable().map(|i| lowered.params[i]).collect();
            wanted.push(lowered.x);
            let gradients = vjp(&mut t, &[(lowered.output, one)], &wanted);
            Program::new(&t, &gradients)
        }
    };
    let gpu = Gpu::open(0)?;
    let mut workspace = Workspace::<f32>::new(gpu.clone(), &program, precision)?;
    let weights = Weights::<f32>::draw(&graph, 0, 0);
    let x = vec![0.1; batch * graph.input().len()];
    for (leaf, values) in std::iter::once(&x).chain(&weights.values).enumerate() {
        if program.leaves[leaf] > 0 {
            workspace.upload(leaf, values)?;
        }
    }
    workspace.start()?;
    gpu.wait()?;
    let start = std::time::Instant::now();
    for _ in 0..5 {
        workspace.start()?;
    }
    gpu.wait()?;
    let all = start.elapsed().as_secs_f64() / 5.0;
    let seconds = workspace.seconds(program.steps.len(), 5)?;
    writeln!(out, "{all:.6} 0 0 all")?;
    for (step, seconds) in program.steps.iter().zip(seconds) {
        let cost = step.cost();
        let bytes = 4.0 * cost.numbers;
        writeln!(
            out,
            "{seconds:.9} {:.0} {bytes:.0} {}",
            cost.operations, cost.name
        )?;
    }
    Ok(())
}

fn network(architecture: &str, input: &str) -> Result<Graph, Failure> {
    let options = ZooOptions {
        input: Some(input.parse()?),
        ..ZooOptions::default()
    };
    Ok(zoo(architecture, &options)?)
}

/// Seconds of a network with fresh weights, by a dipole around one point or by `probes` gradients: those of waves of
/// networks of a sampler, the first one left out.
pub fn networks(
    architecture: &str,
    input: &str,
    probes: Option<usize>,
    count: u64,
    precision: Precision,
) -> Result<Vec<f64>, Failure> {
    let graph = network(architecture, input)?;
    let config = SampleConfig {
        seed: 0,
        method: Method::Sample,
        gradient: match probes {
            None => Gradient::Dipole { h: 100.0 },
            Some(_) => Gradient::Autodiff,
        },
        probe: Probe::Gauss { sigma: 1.0 },
        probes: probes.unwrap_or(1),
        output: Output::Logit(0),
        readouts: Readouts::Own,
        centring: Centring::None,
        place: Place {
            device: Device::Cuda(0),
            precision,
        },
    };
    let limit = Limit::Networks(count);
    let sampler = Sampler::<f32>::new(&graph, config, Vec::new(), limit, Shard::WHOLE)?;
    let mut state = sampler.start();
    let mut seconds = Vec::new();
    while !sampler.done(&state) {
        let (before, start) = (state.networks(), std::time::Instant::now());
        sampler.advance(&mut state)?;
        let networks = (state.networks() - before) as f64;
        seconds.push(start.elapsed().as_secs_f64() / networks);
    }
    Ok(seconds.split_off(1))
}
