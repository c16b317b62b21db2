//! What is asked of rotations.

use std::marker::PhantomData;

use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Size, Study};

use super::super::entries::Kernel;
use super::super::settings::{Asked, NUMBERS, Sizes, configuration, systems};
use super::{ExperimentError, Precision, Rotations, System};
use crate::symmetry::Group;

/// In the list.
pub(in super::super) const ENTRY: Kernel = Kernel {
    about: About {
        name: "rotations",
        lens: "kernels",
        source: "symmetry Fig 1",
        line: "accuracy of FCN, LCN, VEC, LAP and GAP under six groups",
        architecture: None,
        images: true,
        data: Data::Images,
        minutes: 3.0,
        options: &[
            "data",
            "runs",
            "train",
            "test",
            "depth",
            "width",
            "steps",
            "training",
            "systems",
            "no-permutations",
        ],
        numbers: NUMBERS,
        gpu: true,
    },
    make: |settings, place| match settings.numbers {
        Numbers::F32 => make::<f32>(settings, place),
        Numbers::F64 => make::<f64>(settings, place),
    },
};

fn sizes(scale: Size) -> Sizes {
    match scale {
        Size::Small => Sizes::default(),
        Size::Paper => Sizes::paper(&[512], 1),
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
) -> Result<(Rotations<T>, toml::Table, f64), ExperimentError> {
    let (sizes, systems) = (sizes(settings.scale).with(asked)?, systems(asked)?);
    let width = sizes.width(ENTRY.about.name)?;
    let (problem, named) = sizes.problem(ENTRY.about.name, asked, settings)?;
    let mut configuration = configuration(&named)?;
    let names: Vec<&str> = systems.iter().map(|s: &System| s.name()).collect();
    configuration.insert("systems".into(), names.into());
    configuration.insert("permutations".into(), (!asked.no_permutations).into());
    let groups = match asked.no_permutations {
        true => &Group::SIX[..3],
        false => &Group::SIX[..],
    };
    let bytes = sizes.bytes();
    let experiment = Rotations {
        problem,
        systems,
        groups: groups.to_vec(),
        trainings: sizes.training,
        depth: sizes.depth,
        width,
        steps: sizes.steps,
        runs: sizes.runs,
        place,
        precision: PhantomData,
    };
    Ok((experiment, configuration, bytes))
}
