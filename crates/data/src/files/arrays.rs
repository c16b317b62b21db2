//! Pairs of `.npy` files: inputs and labels.

use std::path::{Path, PathBuf};

use polariscope_graph::Shape;

use super::npy::{self, Array, Numbers};
use crate::dataset::{Labels, Split, check_finite};
use crate::error::DataError;
use crate::spec::Spec;

/// Most classes a label file may name: a network with one output for each must stay possible.
const MAX_CLASSES: i64 = 1 << 16;
/// From this side on N×S×S is taken for images.
const SQUARE: usize = 8;
/// Channels of images that keep them last: grey, colour, colour and alpha.
const LAST: [usize; 3] = [1, 3, 4];

/// The samples of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// How many.
    pub count: usize,
    /// Shape of one.
    pub shape: Shape,
    /// Sample by sample; bytes of images have become 0…1.
    pub numbers: Numbers,
}

impl Array {
    /// The array as samples, NxD, NxCxL or NxCxHxW; `file` names it in errors. Images of bytes (dtype uint8) are
    /// scaled to 0…1. Refused: images with their channels last, and images of other integers beyond 0 and 1, whose
    /// scale nobody knows.
    pub fn samples(self, file: &str) -> Result<Samples, DataError> {
        let wrong = |what: String| DataError::Shape {
            file: file.into(),
            what,
        };
        let shape = layout(&self.shape).map_err(wrong)?;
        let count = self.shape[0];
        if self.numbers.is_empty() {
            return Err(DataError::Empty { what: file.into() });
        }
        let image = matches!(shape, Shape::Image { .. });
        let numbers = match self.numbers {
            Numbers::U8(bytes) if image => {
                Numbers::F64(bytes.into_iter().map(|b| f64::from(b) / 255.0).collect())
            }
            Numbers::I64(v) if image && v.iter().any(|x| !(0..=1).contains(x)) => {
                return Err(wrong(
                    "images of integers that are no bytes; save pixels of 0…255 as uint8, which are read as 0…1, \
                     and other numbers as float32"
                        .into(),
                ));
            }
            numbers => numbers,
        };
        Ok(Samples {
            count,
            shape,
            numbers,
        })
    }
}

/// The shape of a sample, or why it has none.
fn layout(dims: &[usize]) -> Result<Shape, String> {
    let shown = npy::show(dims);
    match *dims {
        [_, features] => Ok(Shape::Vector { features }),
        // Images are saved so more often than such signals are met.
        [_, channels, length] if channels == length && channels >= SQUARE => Err(format!(
            "shape {shown} is that of images without a channel, and of signals with as many channels as numbers; save \
             images as x[:, None], of shape Nx1xHxW"
        )),
        [_, channels, length] => Ok(Shape::Signal { channels, length }),
        // N×H×W×C: images are larger than the number of their colours.
        [_, h, w, c] if LAST.contains(&c) && ![1, 3].contains(&h) && h > c && w > c => {
            Err(format!(
                "shape {shown} has its channels last; save x.transpose(0, 3, 1, 2), of shape NxCxHxW"
            ))
        }
        [_, channels, height, width] => Ok(Shape::Image {
            channels,
            height,
            width,
        }),
        _ => Err(format!(
            "an array of shape {shown}; it must be samples x features, samples x channels x length, or samples x channels x height x width"
        )),
    }
}

/// Training and test samples, and the number of classes.
pub(crate) fn read(
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
    let name = x_file.display().to_string();
    let Samples {
        count,
        shape,
        numbers,
    } = npy::read(x_file)?.samples(&name)?;
    let values = numbers.to_f32();
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
    let integers = match array.numbers {
        Numbers::I64(integers) => integers,
        Numbers::U8(bytes) => bytes.into_iter().map(i64::from).collect(),
        real => {
            let values = real.to_f32();
            check_finite(&values, width, &file)?;
            return Ok(Labels::Targets { values, width });
        }
    };
    if width != 1 {
        let what = "integer labels are one a sample; save real targets as <f4 or <f8".into();
        return Err(DataError::Shape { file, what });
    }
    if !integers.is_empty()
        && integers.iter().all(|y| y.unsigned_abs() == 1)
        && integers.contains(&-1)
    {
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
