//! Names that people type: the nearest known one, and safe quoting for one-line messages.

use strsim::osa_distance;

/// Longest piece of a user's text that a message repeats.
const SHOWN: usize = 60;

/// The candidate with the smallest edit distance to `name`, if it is near enough to be what was meant
/// (at most one edit in three characters, and always at least two). Edits insert, delete, replace, or swap two neighbours.
///
/// ```
/// use polariscope_graph::nearest;
/// assert_eq!(nearest("resnet81", ["resnet18", "resnet34"]), Some("resnet18"));
/// assert_eq!(nearest("banana", ["resnet18", "resnet34"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: String = name.chars().take(SHOWN).collect();
    let length = typed.chars().count();
    let limit = (length / 3).max(2);
    let near = candidates
        .into_iter()
        .map(|candidate| (osa_distance(candidate, &typed), candidate))
        .min_by_key(|&(distance, _)| distance)?;
    (near.0 <= limit && near.0 < length.max(1)).then_some(near.1)
}

/// `did you mean …?` when a near candidate exists, otherwise `it is one of …`.
pub(crate) fn hint<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(name, candidates.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let all: Vec<&str> = candidates.into_iter().collect();
            format!("it is one of {}", all.join(", "))
        }
    }
}

/// A user's text, control characters escaped and long text cut, so that a message stays one line.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.escape_debug().to_string()
}

/// [`shown`] in backticks.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_counted_by_hand() {
        let d = osa_distance;
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("abc", ""), 3);
        assert_eq!(d("relu", "relu"), 0);
        assert_eq!(d("paddign", "padding"), 1);
    }

    #[test]
    fn quoted_text_is_one_short_line() {
        assert_eq!(quote("a\nb"), "`a\\nb`");
        assert_eq!(quote(&"x".repeat(1000)).chars().count(), SHOWN + 3);
    }
}
