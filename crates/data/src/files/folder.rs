//! Images in folders, a folder a class: `DIR/cat/*.png`, `DIR/dog/*.jpg`, …, or the same under `DIR/train` and
//! `DIR/test` (or `val`). Names of folders are names of classes; what a file is, its first bytes tell.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::image::{self, Image};
use super::resize;
use crate::error::DataError;

/// Folders that hold what is learnt, and what it is judged by (the first that is there).
const TRAIN: &str = "train";
const TEST: [&str; 2] = ["test", "val"];

/// The images of a directory.
pub(crate) struct Folder {
    /// Classes in the order of their names.
    pub names: Vec<String>,
    /// Images to learn from, class by class.
    pub train: Vec<Labelled>,
    /// Images to judge by, where they lie in a folder of their own.
    pub test: Option<Vec<Labelled>>,
}

/// An image and its class.
pub(crate) type Labelled = (PathBuf, u32);

/// Finds the images of a directory.
pub(crate) fn list(directory: &Path) -> Result<Folder, DataError> {
    let folders = subfolders(directory)?;
    let named = |wanted: &str| folders.iter().find(|(name, _)| name == wanted);
    let is_split = |(name, _): &Entry| name == TRAIN || TEST.contains(&name.as_str());
    let test = TEST.iter().find_map(|name| named(name));
    if let (Some((_, train)), Some((_, test)), true) =
        (named(TRAIN), test, folders.iter().all(is_split))
    {
        let classes = classes(train)?;
        let names: Vec<String> = classes.iter().map(|(name, _)| name.clone()).collect();
        let found = images(&classes, &names)?;
        let held = images(&subfolders(test)?, &names)?;
        if held.is_empty() {
            return Err(wrong(test, "no folders of images to test by"));
        }
        return Ok(Folder {
            names,
            train: found,
            test: Some(held),
        });
    }
    let classes = classes(directory)?;
    let names: Vec<String> = classes.iter().map(|(name, _)| name.clone()).collect();
    Ok(Folder {
        train: images(&classes, &names)?,
        names,
        test: None,
    })
}

/// Decodes images to planes of `size` × `size` pixels, one image after another.
pub(crate) fn read(files: &[&Path], size: usize) -> Result<Vec<f32>, DataError> {
    let dim = 3 * size * size;
    let mut x = vec![0.0; files.len() * dim];
    let targets = x.par_chunks_exact_mut(dim).zip(files);
    let fault = targets
        .filter_map(|(out, path)| decode(path, size, out).err())
        // The same file is named however the work is shared.
        .find_first(|_| true);
    fault.map_or(Ok(x), Err)
}

fn decode(path: &Path, size: usize, out: &mut [f32]) -> Result<(), DataError> {
    let bytes = fs::read(path).map_err(|e| DataError::io(path, e))?;
    let image = Image::decode(&bytes).map_err(|what| DataError::Image {
        path: path.into(),
        what,
    })?;
    resize::square(&image, size, out);
    Ok(())
}

/// What lies in a directory, with its name.
type Entry = (String, PathBuf);

fn wrong(directory: &Path, what: impl Into<String>) -> DataError {
    DataError::Directory {
        path: directory.into(),
        what: what.into(),
    }
}

/// Everything that is not hidden, in the order of names.
fn entries(directory: &Path) -> Result<Vec<Entry>, DataError> {
    let fault = |e| DataError::io(directory, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with('.') {
            // A name is shown on one line.
            let name = name.replace(char::is_control, "\u{fffd}");
            found.push((name, path));
        }
    }
    found.sort();
    Ok(found)
}

fn subfolders(directory: &Path) -> Result<Vec<Entry>, DataError> {
    let mut found = entries(directory)?;
    found.retain(|(_, path)| path.is_dir());
    Ok(found)
}

/// The folders of at least two classes.
fn classes(directory: &Path) -> Result<Vec<Entry>, DataError> {
    let folders = subfolders(directory)?;
    match &folders[..] {
        [] => Err(wrong(
            directory,
            "no sub-folders; expected one of images for each class, such as cat/ and dog/",
        )),
        [(name, _)] => Err(wrong(
            directory,
            format!("a single sub-folder, {name}/; expected one for each of two classes or more"),
        )),
        _ => Ok(folders),
    }
}

/// The images of all classes, each of which must have some.
fn images(folders: &[Entry], names: &[String]) -> Result<Vec<Labelled>, DataError> {
    let mut found = Vec::new();
    for (name, folder) in folders {
        let class = names.iter().position(|known| known == name);
        let class = class.ok_or_else(|| {
            wrong(
                folder,
                "a class that the training folder lacks; it cannot be learnt",
            )
        })? as u32;
        let files = entries(folder)?;
        if files.is_empty() {
            return Err(wrong(folder, "no images in this class folder"));
        }
        let fault = files.par_iter().map(|(_, path)| check(path));
        if let Some(fault) = fault.filter_map(Result::err).find_first(|_| true) {
            return Err(fault);
        }
        found.extend(files.into_iter().map(|(_, path)| (path, class)));
    }
    Ok(found)
}

/// Refuses what is no image by its first bytes.
fn check(path: &Path) -> Result<(), DataError> {
    let refuse = |what: &str| {
        Err(DataError::Image {
            path: path.into(),
            what: what.into(),
        })
    };
    if path.is_dir() {
        return refuse("a folder within a class folder, which holds images alone");
    }
    let mut first = Vec::new();
    let file = File::open(path).map_err(|e| DataError::io(path, e))?;
    let read = file.take(8).read_to_end(&mut first);
    read.map_err(|e| DataError::io(path, e))?;
    match image::is_image(&first) {
        true => Ok(()),
        false => refuse("neither PNG nor JPEG; a class folder holds such images alone"),
    }
}
