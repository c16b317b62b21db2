//! From a specification to samples.

use std::path::{Path, PathBuf};

use polariscope_graph::Shape;

use crate::dataset::{Dataset, Labels, Split, check_finite};
use crate::error::DataError;
use crate::files::npy::{self, Numbers};
use crate::files::{Images, directory};
use crate::generate::Part;
use crate::spec::{DEFAULT_SAMPLES, DataSource, Spec};

/// Most classes a label file may name: a network with one output for each must stay possible.
const MAX_CLASSES: i64 = 1 << 16;

impl Dataset {
    /// Makes the data set that a specification names; see [`crate::help`].
    pub fn load(spec: &str) -> Result<Dataset, DataError> {
        Dataset::from_spec(&Spec::parse(spec)?)
    }

    /// Makes the data set of a checked specification.
    pub fn from_spec(spec: &Spec) -> Result<Dataset, DataError> {
        let mut limits = [spec.train, spec.test];
        let (shape, classes, [train, test]) = match &spec.source {
            DataSource::Mnist(path) => images(1, directory::mnist(path)?),
            DataSource::Cifar10(path) => images(3, directory::cifar10(path)?),
            DataSource::Npy { train, test } => {
                let arrays = arrays(spec, train, test.as_ref())?;
                if test.is_none() {
                    limits[1] = None;
                }
                arrays
            }
            DataSource::Generator { generator, shape } => {
                let part = |name, samples: Option<usize>| Part {
                    name,
                    samples: samples.unwrap_or(DEFAULT_SAMPLES),
                    seed: spec.seed,
                };
                let parts = [part("train", spec.train), part("test", spec.test)];
                // `balanced` and `classes` keep what they can of the samples drawn.
                let selects = spec.transforms.balanced || !spec.transforms.classes.is_empty();
                if selects {
                    limits = [None, None];
                }
                (*shape, 2, generator.draw(*shape, parts)?)
            }
        };
        let mut data = Dataset {
            name: spec.text.clone(),
            shape,
            classes,
            train,
            test,
        };
        spec.transforms.apply(&mut data, limits, spec.seed)?;
        data.check()?;
        Ok(data)
    }
}

fn images(channels: usize, splits: [Images; 2]) -> (Shape, usize, [Split; 2]) {
    let shape = Shape::Image {
        channels,
        height: 32,
        width: 32,
    };
    let split = |images: Images| Split {
        x: images
            .pixels
            .iter()
            .map(|&p| f32::from(p) / 255.0)
            .collect(),
        y: Labels::Classes(images.labels),
    };
    (shape, 10, splits.map(split))
}

fn arrays(
    spec: &Spec,
    train: &[PathBuf; 2],
    test: Option<&[PathBuf; 2]>,
) -> Result<(Shape, usize, [Split; 2]), DataError> {
    let (shape, split) = pair(train)?;
    let splits = match test {
        Some(files) => {
            let (other, test) = pair(files)?;
            let width = |y: &Labels| match y {
                Labels::Classes(_) => 0,
                Labels::Targets { width, .. } => *width,
            };
            if other != shape || width(&split.y) != width(&test.y) {
                return Err(DataError::Shape {
                    file: files[0].display().to_string(),
                    what: format!(
                        "test samples of {other} with labels unlike the training samples of {shape}"
                    ),
                });
            }
            [split, test]
        }
        None => {
            let held = spec.test.unwrap_or(0);
            let n = split.len();
            if held > n {
                let what = format!("test={held} exceeds the {n} samples there are");
                return Err(DataError::spec(&spec.text, what));
            }
            let rows = |from, to| split.select(shape.len(), &(from..to).collect::<Vec<_>>());
            [rows(0, n - held), rows(n - held, n)]
        }
    };
    let classes = splits.iter().filter_map(|s| match &s.y {
        Labels::Classes(y) => y.iter().max(),
        Labels::Targets { .. } => None,
    });
    let classes = classes.max().map_or(0, |&y| y as usize + 1);
    Ok((shape, classes, splits))
}

fn pair([x_file, y_file]: &[PathBuf; 2]) -> Result<(Shape, Split), DataError> {
    let x = npy::read(x_file)?;
    let name = x_file.display().to_string();
    let (count, shape) = match x.shape[..] {
        [n, features] => (n, Shape::Vector { features }),
        [n, channels, length] => (n, Shape::Signal { channels, length }),
        [n, channels, height, width] => {
            let shape = Shape::Image {
                channels,
                height,
                width,
            };
            (n, shape)
        }
        _ => {
            let what = format!(
                "shape {}, expected NxD, NxCxL or NxCxHxW",
                npy::show(&x.shape)
            );
            return Err(DataError::Shape { file: name, what });
        }
    };
    if count == 0 || shape.is_empty() {
        return Err(DataError::Empty { what: name });
    }
    let values = x.numbers.to_f32();
    check_finite(&values, shape.len(), &name)?;
    let y = labels(y_file)?;
    if y.len() != count {
        return Err(DataError::Counts {
            x: name,
            inputs: count,
            y: y_file.display().to_string(),
            labels: y.len(),
        });
    }
    Ok((shape, Split { x: values, y }))
}

/// Integers are classes, ±1 read as 1 and 0; floating-point numbers are targets.
fn labels(path: &Path) -> Result<Labels, DataError> {
    let array = npy::read(path)?;
    let file = path.display().to_string();
    let width = match array.shape[..] {
        [_] => 1,
        [_, width] if width > 0 => width,
        _ => {
            let what = format!(
                "shape {}, expected N labels or NxK targets",
                npy::show(&array.shape)
            );
            return Err(DataError::Shape { file, what });
        }
    };
    let Numbers::I64(integers) = &array.numbers else {
        let values = array.numbers.to_f32();
        check_finite(&values, width, &file)?;
        return Ok(Labels::Targets { values, width });
    };
    if width != 1 {
        let what = "integer labels are one a sample; save real targets as <f4 or <f8".into();
        return Err(DataError::Shape { file, what });
    }
    if !integers.is_empty() && integers.iter().all(|y| y.abs() == 1) && integers.contains(&-1) {
        let class = |&y: &i64| u32::from(y == 1);
        return Ok(Labels::Classes(integers.iter().map(class).collect()));
    }
    let class = |(row, &label): (usize, &i64)| match u32::try_from(label) {
        Ok(class) if label < MAX_CLASSES => Ok(class),
        _ => Err(DataError::Label {
            file: file.clone(),
            label,
            row,
            last: MAX_CLASSES as u32 - 1,
        }),
    };
    let classes = integers.iter().enumerate().map(class);
    Ok(Labels::Classes(classes.collect::<Result<_, _>>()?))
}
