//! Finding the files of a known data set in a directory, by what they contain. Names decide one thing
//! only: a file whose name holds `test` or `t10k` is for testing (without such names, MNIST's smaller pair is).

use std::fs;
use std::path::{Path, PathBuf};

use super::{Images, cifar, idx};
use crate::error::DataError;
use crate::parquet;

/// Classes of MNIST.
const MNIST_CLASSES: u32 = 10;
/// MNIST's rows and columns, and the zoo's.
const MNIST_SIDE: usize = 28;
const PADDED: usize = 32;

/// One file.
struct File {
    name: String,
    bytes: Vec<u8>,
    test: bool,
}

/// Files in name order; CIFAR's own archive unpacks into a subdirectory, which is looked into as well.
fn paths(directory: &Path) -> Result<Vec<PathBuf>, DataError> {
    let list = |d: &Path| -> Result<Vec<PathBuf>, DataError> {
        let entries = fs::read_dir(d).map_err(|e| DataError::io(d, e))?;
        let paths = entries.map(|e| e.map(|e| e.path()).map_err(|e| DataError::io(d, e)));
        paths.collect()
    };
    let mut all = list(directory)?;
    let nested = directory.join("cifar-10-batches-bin");
    if nested.is_dir() {
        all.extend(list(&nested)?);
    }
    all.retain(|p| p.is_file());
    all.sort();
    Ok(all)
}

fn load(path: &Path) -> Result<File, DataError> {
    let bytes = fs::read(path).map_err(|e| DataError::io(path, e))?;
    let stem = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    Ok(File {
        name: path.display().to_string(),
        bytes,
        test: stem.contains("test") || stem.contains("t10k"),
    })
}

/// Training and test images of CIFAR-10: Parquet or the original binary files.
pub(crate) fn cifar10(directory: &Path) -> Result<[Images; 2], DataError> {
    let mut splits = [Images::default(), Images::default()];
    for path in paths(directory)? {
        let file = load(&path)?;
        let images = if parquet::is_parquet(&file.bytes) {
            cifar::parse_parquet(&file.bytes, &file.name)?
        } else if cifar::is_binary(&file.bytes) || path.extension().is_some_and(|e| e == "bin") {
            cifar::parse(&file.bytes, &file.name)?
        } else if path.extension().is_some_and(|e| e == "parquet") {
            // Damaged: let the reader say how.
            cifar::parse_parquet(&file.bytes, &file.name)?
        } else {
            continue;
        };
        let split = &mut splits[usize::from(file.test)];
        split.pixels.extend(images.pixels);
        split.labels.extend(images.labels);
    }
    let missing = |split: &Images| split.labels.is_empty();
    if missing(&splits[0]) || missing(&splits[1]) {
        let which = if missing(&splits[0]) {
            "training"
        } else {
            "test"
        };
        return Err(DataError::Directory {
            path: directory.into(),
            what: format!(
                "no CIFAR-10 {which} file; expected train and test .parquet, or data_batch_*.bin and test_batch.bin"
            ),
        });
    }
    Ok(splits)
}

/// Training and test images of MNIST, padded from 28×28 to 32×32 with zeros.
pub(crate) fn mnist(directory: &Path) -> Result<[Images; 2], DataError> {
    let mut images = Vec::new();
    let mut labels = Vec::new();
    for path in paths(directory)? {
        let file = load(&path)?;
        let list = match idx::dimensions(&file.bytes) {
            Some(3) => &mut images,
            Some(1) => &mut labels,
            Some(_) => continue,
            // A damaged file is better named than passed over.
            None if file.name.contains("idx") => &mut images,
            None => continue,
        };
        let content = idx::parse(&file.bytes, &file.name)?;
        list.push((file.name, file.test, content));
    }
    let order = |list: &mut Vec<Named>| {
        list.sort_by_key(|(_, test, content)| (*test, usize::MAX - content.shape[0]));
    };
    order(&mut images);
    order(&mut labels);
    let (Ok(images), Ok(labels)) = (<[_; 2]>::try_from(images), <[_; 2]>::try_from(labels)) else {
        return Err(DataError::Directory {
            path: directory.into(),
            what: "expected MNIST's four IDX files (gzipped or not): images and labels, train and t10k"
                .into(),
        });
    };
    let [x_train, x_test] = images;
    let [y_train, y_test] = labels;
    Ok([mnist_split(x_train, y_train)?, mnist_split(x_test, y_test)?])
}

/// A file's name, whether it is for testing, and its content.
type Named = (String, bool, idx::Idx);

fn mnist_split((x, _, pixels): Named, (y, _, classes): Named) -> Result<Images, DataError> {
    if pixels.shape[1..] != [MNIST_SIDE, MNIST_SIDE] {
        return Err(DataError::Shape {
            file: x,
            what: format!(
                "shape {}, expected Nx28x28",
                super::npy::show(&pixels.shape)
            ),
        });
    }
    let (inputs, labels) = (pixels.shape[0], classes.bytes.len());
    if inputs != labels {
        return Err(DataError::Counts {
            x,
            inputs,
            y,
            labels,
        });
    }
    let wrong = classes
        .bytes
        .iter()
        .position(|&c| u32::from(c) >= MNIST_CLASSES);
    if let Some(row) = wrong {
        return Err(DataError::Label {
            file: y,
            label: i64::from(classes.bytes[row]),
            row,
            last: MNIST_CLASSES - 1,
        });
    }
    let border = (PADDED - MNIST_SIDE) / 2;
    let mut padded = vec![0; inputs * PADDED * PADDED];
    let targets = padded.chunks_exact_mut(PADDED * PADDED);
    for (target, source) in targets.zip(pixels.bytes.chunks_exact(MNIST_SIDE * MNIST_SIDE)) {
        for (i, row) in source.chunks_exact(MNIST_SIDE).enumerate() {
            let at = (border + i) * PADDED + border;
            target[at..at + MNIST_SIDE].copy_from_slice(row);
        }
    }
    Ok(Images {
        pixels: padded,
        labels: classes.bytes.into_iter().map(u32::from).collect(),
    })
}
