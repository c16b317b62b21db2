//! What is asked of symmetry-breaking.

use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Size, Study};

use super::super::entries::Kernel;
use super::super::settings::{Asked, NUMBERS, Sizes, configuration};
use super::{ExperimentError, Kept, Precision, SymmetryBreaking};

/// In the list.
pub(in super::super) const ENTRY: Kernel = Kernel {
    about: About {
        name: "symmetry-breaking",
        lens: "kernels",
        source: "symmetry Fig 2",
        line: "VEC_n between GAP_n and VEC_∞ along a geodesic and with its width",
        architecture: None,
        images: true,
        data: Data::Images,
        minutes: 1.0,
        options: &["data", "runs", "train", "test", "depth", "width", "steps"],
        numbers: NUMBERS,
        gpu: true,
    },
    make: |settings, place| match settings.numbers {
        Numbers::F32 => make::<f32>(settings, place),
        Numbers::F64 => make::<f64>(settings, place),
    },
};

/// Times along the geodesic.
const TIMES: [f64; 4] = [0.0, 0.25, 0.5, 1.0];

fn sizes(scale: Size) -> Sizes {
    match scale {
        Size::Small => Sizes {
            train: 256,
            test: 500,
            widths: vec![8, 16, 32],
            steps: 300,
            networks: 3,
            ..Sizes::default()
        },
        Size::Paper => Sizes::paper(&[64, 128, 256, 512, 1024], 10),
    }
}

fn make<T: Precision>(settings: &Settings, place: Place) -> Result<Box<dyn Study>, Failure> {
    let asked: Asked = settings.read()?;
    let (experiment, configuration, bytes) = experiment::<T>(&asked, settings, place)?;
    let ready = Ready::new(Box::new(experiment), configuration, bytes, settings)?;
    Ok(Box::new(ready))
}

fn experiment<T>(
    asked: &Asked,
    settings: &Settings,
    place: Place,
) -> Result<(SymmetryBreaking<T>, toml::Table, f64), ExperimentError> {
    let sizes = sizes(settings.scale).with(asked)?;
    if sizes.widths.len() < 2 {
        return Err(ExperimentError::Widths);
    }
    let (problem, named) = sizes.problem(ENTRY.about.name, asked, settings)?;
    let bytes = sizes.bytes();
    let experiment = SymmetryBreaking {
        problem,
        times: TIMES.to_vec(),
        widths: sizes.widths,
        networks: sizes.networks,
        depth: sizes.depth,
        steps: sizes.steps,
        runs: sizes.runs,
        place,
        kept: Kept::default(),
    };
    Ok((experiment, configuration(&named)?, bytes))
}
