//! No tracked file may name a place on somebody's machine.

use std::path::Path;
use std::process::Command;

/// Folders that hold home directories; spelled in two halves so that this file passes its own check.
const HOMES: [(&str, &str); 5] = [
    ("/ho", "me/"),
    ("/ro", "ot/"),
    ("/Us", "ers/"),
    ("C:\\Us", "ers\\"),
    ("/wo", "rk/"),
];

/// Looks through every tracked text file.
pub fn check(root: &Path) -> Result<(), String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output();
    let listed = listed.map_err(|e| format!("cannot run git: {e}"))?;
    if !listed.status.success() {
        let reason = String::from_utf8_lossy(&listed.stderr);
        return Err(format!("`git ls-files` failed: {}", reason.trim()));
    }
    let mut found = Vec::new();
    for name in listed.stdout.split(|&b| b == 0).filter(|n| !n.is_empty()) {
        let name = String::from_utf8_lossy(name);
        // A tracked file that was deleted, or is not text, names no place.
        let Ok(text) = std::fs::read_to_string(root.join(name.as_ref())) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            if HOMES
                .iter()
                .any(|(a, b)| names_a_place(line, &format!("{a}{b}")))
            {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "paths of a machine in tracked files:\n{}",
            found.join("\n")
        ))
    }
}

/// Whether the folder starts an absolute path: `src/home/x` and `a.org/home/` are none.
fn names_a_place(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~/)}$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::names_a_place;

    #[test]
    fn absolute_paths_only() {
        let folder = format!("/{}/", "home");
        assert!(names_a_place(&format!("open {folder}me/x"), &folder));
        assert!(names_a_place(&format!("\"{folder}me\""), &folder));
        assert!(!names_a_place(&format!("src{folder}x.rs"), &folder));
        assert!(!names_a_place(&format!("see a.org{folder}"), &folder));
    }
}
