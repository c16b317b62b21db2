//! What is asked of sample-gain.

use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Size, Study};
use serde::{Deserialize, Serialize};

use super::super::ExperimentError;
use super::super::entries::Kernel;
use super::super::settings::configuration;
use super::SampleGain;

/// In the list.
pub(in super::super) const ENTRY: Kernel = Kernel {
    about: About {
        name: "sample-gain",
        lens: "kernels",
        source: "Bietti et al. 2021",
        line: "how many samples a symmetry of the kernel saves: shifts, flips, quarter turns",
        architecture: None,
        images: false,
        data: Data::Own,
        minutes: 1.0,
        options: &["runs", "train", "test"],
        numbers: &[Numbers::F64],
        gpu: false,
    },
    make: |settings, _| make(settings),
};

/// The smallest training set.
const SMALLEST: usize = 16;

#[derive(Deserialize)]
struct Asked {
    runs: Option<u64>,
    train: Option<usize>,
    test: Option<usize>,
}

/// What the result depends on.
#[derive(Serialize)]
struct Named {
    runs: u64,
    train: usize,
    test: usize,
}

fn make(settings: &Settings) -> Result<Box<dyn Study>, Failure> {
    let asked: Asked = settings.read()?;
    let (train, runs) = match settings.scale {
        Size::Small => (1024, 8),
        Size::Paper => (4096, 16),
    };
    let named = Named {
        runs: asked.runs.unwrap_or(runs),
        train: asked.train.unwrap_or(train),
        test: asked.test.unwrap_or(1000),
    };
    let doubled = std::iter::successors(Some(SMALLEST), |p: &usize| p.checked_mul(2));
    let sizes: Vec<usize> = doubled.take_while(|&p| p <= named.train).collect();
    if sizes.len() < 3 {
        let (train, smallest) = (named.train, SMALLEST);
        return Err(ExperimentError::Curve { train, smallest }.into());
    }
    // K and K_G between all samples.
    let samples = named.train as f64 + named.test as f64;
    let bytes = 8.0 * 3.0 * samples * samples;
    let experiment = SampleGain {
        sizes,
        test: named.test,
        runs: named.runs,
        seed: settings.seed,
    };
    let configuration = configuration(&named)?;
    let ready = Ready::new(Box::new(experiment), configuration, bytes, settings)?;
    Ok(Box::new(ready))
}
