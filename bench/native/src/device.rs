//! What `bench/device` asks: how close the steps of a network come to the roof of a GPU.

use std::io::Write;

use polariscope_diff::cuda::{Gpu, Workspace};
use polariscope_diff::{Device, Number, Place, Precision, Program};
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard,
};
use polariscope_random::Stream;
use polariscope_train::{
    BatchSize, Config, Labels, Length, Loss, Optimiser, Samples, Schedule, ensemble,
};

use crate::Failure;
use crate::programs::network;

/// As it is called in commands.
pub fn precision(name: &str) -> Precision {
    match name {
        "fast" => Precision::Fast,
        _ => Precision::Full,
    }
}

/// Prints a line for each step of a program: seconds, operations, bytes, name.
pub fn roof<T: Number>(
    out: &mut impl Write,
    program: &Program,
    precision: Precision,
) -> Result<(), Failure> {
    let gpu = Gpu::open(0)?;
    let workspace = Workspace::<T>::new(gpu, program, precision)?;
    workspace.start()?;
    let seconds = workspace.seconds(program.steps.len(), 3)?;
    for (step, seconds) in program.steps.iter().zip(seconds) {
        let cost = step.cost();
        let bytes = size_of::<T>() as f64 * cost.numbers;
        writeln!(
            out,
            "{seconds:.9} {:.0} {bytes:.0} {}",
            cost.operations, cost.name
        )?;
    }
    Ok(())
}

/// Seconds of a network with fresh weights, by a dipole around one point or by `probes` gradients, as a mean over all
/// networks of a sampler: planning and compiling left out, sums on the CPU not.
pub fn networks(
    architecture: &str,
    input: &str,
    probes: Option<usize>,
    count: u64,
    precision: Precision,
) -> Result<f64, Failure> {
    let graph = network(architecture, input)?;
    let config = SampleConfig {
        seed: 0,
        method: Method::Sample,
        gradient: match probes {
            None => Gradient::Dipole { h: 100.0 },
            Some(_) => Gradient::Local,
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
    let start = std::time::Instant::now();
    while !sampler.done(&state) {
        sampler.advance(&mut state)?;
    }
    Ok(start.elapsed().as_secs_f64() / count as f64)
}

/// Seconds of a step of SGD with momentum, of networks that train together on samples of N(0, I) with random classes:
/// the difference of two runs of which one makes more steps, so planning and compiling are left out.
pub fn train(
    architecture: &str,
    input: &str,
    [batch, samples, networks]: [usize; 3],
    precision: Precision,
) -> Result<f64, Failure> {
    let graph = network(architecture, input)?;
    let mut x = vec![0.0; samples * graph.input().len()];
    Stream::new(0, 0, "bench.x").normal(1.0, &mut x);
    let y: Vec<u32> = (0..samples as u32).map(|i| i % 10).collect();
    let place = Place {
        device: Device::Cuda(0),
        precision,
    };
    let run = |steps: u64| -> Result<f64, Failure> {
        let config = Config {
            loss: Loss::CrossEntropy,
            optimiser: Optimiser::Sgd {
                momentum: 0.9,
                weight_decay: 5e-4,
            },
            learning_rate: 0.01,
            schedule: Schedule::LinearDecay,
            batch_size: BatchSize::Of(batch),
            length: Length::Steps(steps),
            row_every: u64::MAX,
            ..Config::default()
        };
        let set = Samples {
            x: &x,
            y: Labels::Classes(&y),
        };
        let start = std::time::Instant::now();
        for end in ensemble::<f32, _>(
            place,
            &graph,
            &config,
            (set, None),
            0..networks as u64,
            |_, _| (),
        ) {
            end?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    // The first run compiles.
    let few = run(10)?.min(run(10)?);
    let count = (0.5 / (few / 10.0)).clamp(100.0, 5000.0) as u64;
    Ok((run(10 + count)? - few) / count as f64)
}
