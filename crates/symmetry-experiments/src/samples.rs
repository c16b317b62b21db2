//! Samples as experiments take them.

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::Shape;
use polariscope_random::Stream;
use polariscope_train::{Labels as Targets, Samples};

use crate::SymmetryExperimentsError;

/// So many samples of a split, each of `size` numbers, in an order that a stream draws.
pub(crate) fn first(split: &Split, size: usize, stream: Stream, count: usize) -> Split {
    let mut rows = stream.cursor().permutation(split.len());
    rows.truncate(count);
    split.select(size, &rows)
}

/// A split as training takes it.
pub(crate) fn samples(split: &Split) -> Samples<'_> {
    Samples {
        x: &split.x,
        y: match &split.y {
            Labels::Classes(y) => Targets::Classes(y),
            Labels::Targets { values, width } => Targets::Targets {
                values,
                width: *width,
            },
        },
    }
}

/// Refuses data that are no images with classes, and fewer than a run draws.
pub(crate) fn check(
    name: &'static str,
    data: &Dataset,
    train: usize,
    test: usize,
) -> Result<(), SymmetryExperimentsError> {
    if !matches!(data.shape, Shape::Image { .. }) || data.classes < 2 {
        return Err(SymmetryExperimentsError::Samples {
            name,
            data: data.name.clone(),
            shape: data.shape,
            classes: data.classes,
        });
    }
    for (part, wanted, split) in [("training", train, &data.train), ("test", test, &data.test)] {
        let there = split.len();
        if wanted > there {
            return Err(SymmetryExperimentsError::Few {
                part,
                wanted,
                there,
            });
        }
    }
    Ok(())
}
