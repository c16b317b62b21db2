//! What `bench/kernels` asks: kernels of an architecture file on given samples, and samples of a data set.

use std::path::Path;
use std::time::Instant;

use polariscope_data::{Dataset, Labels, Split};
use polariscope_diff::Device;
use polariscope_graph::{ZooOptions, parse_file};
use polariscope_nngp::{Float, Kernel, Values, Wanted};

use crate::Failure;

/// Reads `architecture.toml`, `x1.f64` and, if it is there, `x2.f64`; writes `nngp.f64` and `ntk.f64`, x1 against x2
/// or against itself, in T on a device. The wall seconds of each run, without files.
pub fn run<T: Float>(dir: &Path, repeats: usize, device: Device) -> Result<Vec<f64>, Failure> {
    let file = std::fs::read_to_string(dir.join("architecture.toml"))?;
    let graph = parse_file(&file, "architecture.toml", &ZooOptions::default())?;
    let kernel = Kernel::on(&graph, device)?;
    let narrow = |x: Vec<f64>| -> Vec<T> { x.into_iter().map(T::from_f64).collect() };
    let x1 = narrow(read(&dir.join("x1.f64"))?);
    let x2 = match dir.join("x2.f64") {
        path if path.exists() => Some(narrow(read(&path)?)),
        _ => None,
    };
    let compute = || match &x2 {
        Some(x2) => kernel.between(Wanted::Both, &x1, x2),
        None => kernel.among(Wanted::Both, &x1),
    };
    let (mut seconds, mut last) = (Vec::new(), None);
    for _ in 0..repeats {
        // What was before goes first, as the peer's does.
        drop(last.take());
        let start = Instant::now();
        let values: Values<T> = compute()?;
        seconds.push(start.elapsed().as_secs_f64());
        last = Some(values);
    }
    let Values { nngp, ntk } = last.ok_or("no repeats")?;
    let widen = |x: Vec<T>| -> Vec<f64> { x.into_iter().map(T::to_f64).collect() };
    write(&dir.join("nngp.f64"), &widen(nngp))?;
    write(&dir.join("ntk.f64"), &widen(ntk.ok_or("no NTK")?))?;
    Ok(seconds)
}

/// Writes `train.f64`, `test.f64` and the classes `train.labels`, `test.labels` as 8-byte integers.
pub fn data(spec: &str, dir: &Path) -> Result<(), Failure> {
    let Dataset { train, test, .. } = Dataset::load(spec)?;
    for (name, Split { x, y }) in [("train", train), ("test", test)] {
        let x: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        write(&dir.join(format!("{name}.f64")), &x)?;
        let Labels::Classes(classes) = y else {
            return Err(format!("{spec} has no classes").into());
        };
        let bytes: Vec<u8> = classes
            .iter()
            .flat_map(|&class| u64::from(class).to_le_bytes())
            .collect();
        std::fs::write(dir.join(format!("{name}.labels")), bytes)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<f64>, Failure> {
    let bytes = std::fs::read(path)?;
    let (numbers, _) = bytes.as_chunks::<8>();
    Ok(numbers.iter().map(|&b| f64::from_le_bytes(b)).collect())
}

fn write(path: &Path, values: &[f64]) -> Result<(), Failure> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Ok(std::fs::write(path, bytes)?)
}
