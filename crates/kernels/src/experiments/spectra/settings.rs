//! What is asked of spectra.

use polariscope_experiment::{About, Data, Failure, Ready, Settings, Size, Study};
use polariscope_graph::Activation;
use polariscope_meanfield::dual::{Pair, dual};
use serde::{Deserialize, Serialize};

use super::super::entries::Kernel;
use super::super::settings::{NUMBERS, configuration};
use super::{Spectra, SpectraSizes};
use crate::spheres::{Kind, Profile};

/// In the list.
pub(in super::super) const ENTRY: Kernel = Kernel {
    about: About {
        name: "spectra",
        lens: "kernels",
        source: "symmetry Fig 5",
        line: "eigenvalue decay on products of spheres",
        architecture: None,
        images: false,
        data: Data::Own,
        minutes: 1.0,
        options: &["runs", "train"],
        numbers: NUMBERS,
        // Closed forms and sums over points of spheres.
        gpu: false,
    },
    make: |settings, _| make(settings),
};

/// Numbers in a mini-patch, and mini-patches in a patch.
const D0: usize = 3;
const S: usize = 3;

#[derive(Deserialize)]
struct Asked {
    runs: Option<u64>,
    train: Option<usize>,
}

/// What the result depends on.
#[derive(Serialize)]
struct Named<'a> {
    runs: u64,
    points: usize,
    d0: usize,
    s: usize,
    p: &'a [usize],
}

fn make(settings: &Settings) -> Result<Box<dyn Study>, Failure> {
    let asked: Asked = settings.read()?;
    let (points, patches): (_, &[usize]) = match settings.scale {
        Size::Small => (400, &[4, 8, 16]),
        Size::Paper => (15_000, &[4, 8, 16, 32]),
    };
    let sizes = SpectraSizes {
        patches: patches.to_vec(),
        d0: D0,
        s: S,
        points: asked.train.unwrap_or(points),
        runs: asked.runs.unwrap_or(4),
        seed: settings.seed,
    };
    let configuration = configuration(&Named {
        runs: sizes.runs,
        points: sizes.points,
        d0: D0,
        s: S,
        p: patches,
    })?;
    let experiment = Spectra::new(sizes, profile())?;
    let ready = Ready::new(Box::new(experiment), configuration, 0.0, settings)?;
    Ok(Box::new(ready))
}

/// The NTK of one hidden ReLU layer.
fn profile() -> Profile {
    let layer = |q: f64, c: f64| {
        let pair = Pair {
            q11: q,
            q12: c,
            q22: q,
        };
        let found = dual(Activation::Relu, pair);
        (found.value, found.slope)
    };
    Profile::hidden("relu-ntk", Kind::Ntk, std::f64::consts::SQRT_2, layer)
}
