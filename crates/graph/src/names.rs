//! Names that people type: the nearest known one, and safe quoting for one-line messages.

/// Longest piece of a user's text that a message repeats.
const SHOWN: usize = 60;

/// The candidate with the smallest edit distance to `name`, if it is near enough to be what was meant
/// (at most one edit in three characters, and always at least two).
///
/// ```
/// use polariscope_graph::nearest;
/// assert_eq!(nearest("resnet81", ["resnet18", "resnet34"]), Some("resnet18"));
/// assert_eq!(nearest("banana", ["resnet18", "resnet34"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = name.chars().take(SHOWN).collect();
    let limit = (typed.len() / 3).max(2);
    let near = candidates
        .into_iter()
        .map(|candidate| (edit_distance(&typed, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)?;
    (near.0 <= limit && near.0 < typed.len().max(1)).then_some(near.1)
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

/// Edits that turn one text into the other: insert, delete, replace, or swap two neighbours.
fn edit_distance(typed: &[char], candidate: &str) -> usize {
    let candidate: Vec<char> = candidate.chars().collect();
    let width = typed.len() + 1;
    // d[i][j]: distance of the first i characters of the candidate to the first j typed.
    let mut d = vec![vec![0; width]; candidate.len() + 1];
    d[0] = (0..width).collect();
    for i in 1..=candidate.len() {
        d[i][0] = i;
        for j in 1..width {
            let replaced = d[i - 1][j - 1] + usize::from(candidate[i - 1] != typed[j - 1]);
            d[i][j] = replaced.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1);
            if i > 1
                && j > 1
                && candidate[i - 1] == typed[j - 2]
                && candidate[i - 2] == typed[j - 1]
            {
                d[i][j] = d[i][j].min(d[i - 2][j - 2] + 1);
            }
        }
    }
    d[candidate.len()][typed.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_counted_by_hand() {
        let d = |a: &str, b: &str| edit_distance(&a.chars().collect::<Vec<_>>(), b);
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
