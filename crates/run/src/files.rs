//! Files that are whole or absent.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path};

use crate::RunError;

/// Writes to a temporary name beside the target, then renames. A place that cannot be written is bad usage, a full
/// disk is not.
pub fn write_atomically(path: &Path, content: &[u8]) -> Result<(), RunError> {
    let failed = |source: io::Error| RunError::Write {
        path: path.into(),
        source,
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary)
        // Without the sync a power cut could leave the new name on an empty file.
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|e| {
        // The write failed already; a temporary file that stays behind changes nothing about that.
        let _ = fs::remove_file(&temporary);
        failed(e)
    })
}

/// A name of letters, digits, dots and hyphens for a directory.
pub fn plain_name(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().take(60).map(plain).collect();
    let name = name.trim_matches(['.', '-']);
    if name.is_empty() { "network" } else { name }.to_string()
}

/// Every n for which `parent/<stem>-<n>` exists.
pub fn numbered(parent: &Path, stem: &str) -> Vec<u64> {
    // A parent that does not exist, or cannot be listed, holds no run to come back to.
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let number = |name: String| name.strip_prefix(stem)?.strip_prefix('-')?.parse().ok();
    names.filter_map(number).collect()
}

/// A file of a folder that is no run: there is no record, and more than a process leaves that was killed before it had
/// written one.
pub fn of_others(directory: &Path, partial: &str, record: &str) -> Option<String> {
    if directory.join(record).exists() {
        return None;
    }
    // What cannot be listed fails in its own words when it is written to.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let temporary = format!(".{record}.");
    let mut others: Vec<String> = names
        .filter(|name| name != partial && !name.starts_with(&temporary))
        .collect();
    others.sort_unstable();
    others.into_iter().next()
}

/// Removes files named by a record, and folders that this leaves empty. A record is a file that anyone
/// may have edited: names that lead out of the directory are passed over.
pub fn remove_listed(directory: &Path, names: &[String]) -> Result<(), RunError> {
    for name in names.iter().filter(|name| is_inside(name)) {
        let relative = Path::new(name);
        ignore_absent(
            fs::remove_file(directory.join(relative)),
            &directory.join(relative),
        )?;
        if let Some(folder) = relative.parent().filter(|p| !p.as_os_str().is_empty()) {
            // Refused while it holds files of others, which is what is wanted.
            let _ = fs::remove_dir(directory.join(folder));
        }
    }
    Ok(())
}

/// Whether a name in a record stays inside of the directory.
pub fn is_inside(name: &str) -> bool {
    let inside = |c: Component| matches!(c, Component::Normal(_));
    Path::new(name).components().all(inside) && !name.is_empty()
}

/// Whether a process left checkpoints.
pub fn holds_more_than_lock(partial: &Path) -> bool {
    let entries = fs::read_dir(partial).into_iter().flatten().flatten();
    entries.map(|e| e.file_name()).any(|name| name != "lock")
}

/// Removes checkpoints but keeps the lock that this process holds.
pub fn empty_except_lock(partial: &Path) -> Result<(), RunError> {
    for entry in fs::read_dir(partial).into_iter().flatten().flatten() {
        if entry.file_name() == "lock" {
            continue;
        }
        let path = entry.path();
        let removed = if entry.file_type().is_ok_and(|t| t.is_dir()) {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        ignore_absent(removed, &path)?;
    }
    Ok(())
}

/// Removes a directory of ours.
pub fn remove_dir(path: &Path) -> Result<(), RunError> {
    ignore_absent(fs::remove_dir_all(path), path)
}

fn ignore_absent(outcome: io::Result<()>, path: &Path) -> Result<(), RunError> {
    match outcome {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(RunError::Remove {
            path: path.into(),
            source,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_are_plain() {
        assert_eq!(plain_name("mlp-2x100"), "mlp-2x100");
        assert_eq!(plain_name("../my net.toml"), "my-net.toml");
        assert_eq!(plain_name("///"), "network");
    }
}
