//! Our side of `bench/core`, `bench/geometry`, `bench/kernels`, `bench/landscape` and `bench/deform`. Reads one command a line:
//!
//! - `prepare NAME DIR` sets a task up and writes its weights and inputs to DIR;
//! - `check NAME FILE` runs it once from the start and writes the result as raw numbers, f64 of `bench/landscape`, f32 of the others;
//! - `time NAME REPEATS` prints the wall seconds of each run;
//! - `kernel DIR REPEATS` computes kernels of samples in DIR and prints the wall seconds of each run;
//! - `kernel-cuda DIR REPEATS f32|f64` does so on the first GPU;
//! - `data SPEC DIR` writes a data set to DIR;
//! - `roof ARCH INPUT BATCH forward|gradient|products|dipole|points|tangent:NETWORKS|train:NETWORKS full|fast|f64` prints seconds, operations and bytes of each step on a GPU;
//! - `networks ARCH INPUT dipole|PROBES COUNT full|fast` prints the seconds of a network on a GPU;
//! - `train ARCH INPUT BATCH SAMPLES NETWORKS full|fast` prints the seconds of a step of networks that train on a GPU;
//! - `flow-task DIR NETWORKS` writes samples and initial weights of gradient flows to DIR;
//! - `flows cpu|cuda|cuda-alone|cuda-host f32|f64 NETWORKS` flows them and prints seconds and where they end;
//! - `jamming cpu|cuda ACTIVATION WIDTH RATIO SEED STEPS SECONDS` trains on random patterns and prints what is not learnt;
//! - `listing DIR ARCH INPUT BATCH forward|gradient|products|dipole|points|tangent:NETWORKS|train:NETWORKS` writes the CUDA kernels of a program to DIR, with numbers to run them on;
//! - `peak` prints the largest resident memory in kB.
#![forbid(unsafe_code)]

mod deform;
mod device;
mod flows;
mod jamming;
mod kernels;
mod landscape;
mod listing;
mod programs;
mod tasks;

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use polariscope_diff::{Device, Precision};
use tasks::Task;

#[global_allocator]
static ALLOCATOR: polariscope_allocator::LargePages = polariscope_allocator::LargePages;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut tasks: Vec<(String, Task)> = Vec::new();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["prepare", name, dir] => {
                tasks.push((name.to_owned(), Task::prepare(name, dir)?));
                writeln!(out, "ready")?;
            }
            ["check", name, file] => {
                std::fs::write(file, find(&mut tasks, name)?.check()?)?;
                writeln!(out, "written")?;
            }
            ["time", name, repeats] => {
                let task = find(&mut tasks, name)?;
                for _ in 0..repeats.parse::<usize>()? {
                    let start = Instant::now();
                    task.run()?;
                    write!(out, "{:.9} ", start.elapsed().as_secs_f64())?;
                }
                writeln!(out)?;
            }
            ["kernel", dir, repeats] => {
                let seconds = kernels::run::<f64>(Path::new(dir), repeats.parse()?, Device::Cpu)?;
                writeln!(out, "{}", listed(&seconds))?;
            }
            ["kernel-cuda", dir, repeats, dtype] => {
                let (dir, repeats) = (Path::new(dir), repeats.parse()?);
                let seconds = match dtype {
                    "f32" => kernels::run::<f32>(dir, repeats, Device::Cuda(0))?,
                    "f64" => kernels::run::<f64>(dir, repeats, Device::Cuda(0))?,
                    _ => return Err(format!("{dtype} is neither f32 nor f64").into()),
                };
                writeln!(out, "{}", listed(&seconds))?;
            }
            ["data", spec, dir] => {
                kernels::data(spec, Path::new(dir))?;
                writeln!(out, "written")?;
            }
            ["roof", architecture, input, batch, what, numbers] => {
                let program = programs::program(architecture, input, batch.parse()?, what)?;
                match numbers {
                    "f64" => device::roof::<f64>(&mut out, &program, Precision::Full)?,
                    how => device::roof::<f32>(&mut out, &program, device::precision(how))?,
                }
                writeln!(out, "done")?;
            }
            ["networks", architecture, input, probes, count, precision] => {
                let probes = match probes {
                    "dipole" => None,
                    probes => Some(probes.parse()?),
                };
                let (count, precision) = (count.parse()?, device::precision(precision));
                let seconds = device::networks(architecture, input, probes, count, precision)?;
                writeln!(out, "{seconds:.9}")?;
            }
            [
                "train",
                architecture,
                input,
                batch,
                samples,
                networks,
                precision,
            ] => {
                let sizes = [batch.parse()?, samples.parse()?, networks.parse()?];
                let precision = device::precision(precision);
                let seconds = device::train(architecture, input, sizes, precision)?;
                writeln!(out, "{seconds:.9}")?;
            }
            ["flow-task", dir, networks] => {
                flows::prepare(&mut out, Path::new(dir), networks.parse()?)?;
            }
            ["flows", how, dtype, networks] => {
                let networks = networks.parse()?;
                match dtype {
                    "f32" => flows::time::<f32>(&mut out, how, networks)?,
                    "f64" => flows::time::<f64>(&mut out, how, networks)?,
                    _ => return Err(format!("{dtype} is neither f32 nor f64").into()),
                }
            }
            [
                "jamming",
                place,
                activation,
                width,
                ratio,
                seed,
                steps,
                seconds,
            ] => {
                let run = jamming::Run {
                    device: place.parse()?,
                    activation,
                    width: width.parse()?,
                    ratio: ratio.parse()?,
                    seed: seed.parse()?,
                    steps: steps.parse()?,
                    seconds: seconds.parse()?,
                };
                run.print(&mut out)?;
            }
            ["listing", dir, architecture, input, batch, what] => {
                listing::write(Path::new(dir), architecture, input, batch.parse()?, what)?;
                writeln!(out, "written")?;
            }
            ["peak"] => writeln!(out, "{}", peak()?)?,
            _ => return Err(format!("unknown command: {line}").into()),
        }
        out.flush()?;
    }
    Ok(())
}

fn listed(seconds: &[f64]) -> String {
    let words: Vec<String> = seconds.iter().map(|s| format!("{s:.9}")).collect();
    words.join(" ")
}

fn find<'a>(tasks: &'a mut [(String, Task)], name: &str) -> Result<&'a mut Task, Failure> {
    let found = tasks.iter_mut().find(|(n, _)| n == name);
    Ok(&mut found
        .ok_or_else(|| format!("{name} has not been prepared"))?
        .1)
}

/// Largest resident memory so far, in kB.
fn peak() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
