//! What is asked of dide.

use std::marker::PhantomData;

use polariscope_diff::Place;
use polariscope_experiment::{About, Data, Failure, Numbers, Ready, Settings, Size, Study};

use super::super::entries::Kernel;
use super::super::settings::{Asked, NUMBERS, Sizes, configuration};
use super::{Dide, ExperimentError, Flips, Precision};

/// In the list.
pub(in super::super) const ENTRY: Kernel = Kernel {
    about: About {
        name: "dide",
        lens: "kernels",
        source: "symmetry Fig 3",
        line: "learning curves, and whether they bend",
        architecture: None,
        images: true,
        data: Data::Images,
        minutes: 5.0,
        options: &[
            "data", "runs", "train", "test", "depth", "width", "steps", "flips",
        ],
        numbers: NUMBERS,
        gpu: true,
    },
    make: |settings, place| match settings.numbers {
        Numbers::F32 => make::<f32>(settings, place),
        Numbers::F64 => make::<f64>(settings, place),
    },
};

/// The smallest training set.
const SMALLEST: usize = 64;

fn sizes(scale: Size) -> Sizes {
    match scale {
        Size::Small => Sizes {
            train: 1024,
            test: 1000,
            steps: 600,
            ..Sizes::default()
        },
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
) -> Result<(Dide<T>, toml::Table, f64), ExperimentError> {
    let sizes = sizes(settings.scale).with(asked)?;
    let width = sizes.width(ENTRY.about.name)?;
    let train = doubling(sizes.train);
    if train.len() < 3 {
        return Err(ExperimentError::Curve {
            train: sizes.train,
            smallest: SMALLEST,
        });
    }
    let (problem, named) = sizes.problem(ENTRY.about.name, asked, settings)?;
    let mut configuration = configuration(&named)?;
    configuration.insert("flips".into(), asked.flips.into());
    let bytes = sizes.bytes();
    let experiment = Dide {
        problem,
        sizes: train,
        flips: match asked.flips {
            true => Flips::Last,
            false => Flips::None,
        },
        depth: sizes.depth,
        width,
        steps: sizes.steps,
        runs: sizes.runs,
        place,
        precision: PhantomData,
    };
    Ok((experiment, configuration, bytes))
}

/// 64, 128, … and the largest.
fn doubling(largest: usize) -> Vec<usize> {
    let powers = (0..).map(|k| SMALLEST << k).take_while(|&m| m < largest);
    powers.chain([largest]).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_double_up_to_the_largest() {
        assert_eq!(super::doubling(300), [64, 128, 256, 300]);
        assert_eq!(super::doubling(256), [64, 128, 256]);
        assert_eq!(super::doubling(10), [10]);
    }
}
