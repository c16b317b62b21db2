//! Settings of a question inside messages.
//!
//! A message names a setting as `‹probe zero›`: the name, then the value where one is meant. Whoever shows the message
//! writes it as it is given there.
//!
//! ```
//! let message = "with ‹probe zero› there is one point; leave ‹probes› out";
//! let flag = |s: &polariscope_lens::Setting| format!("--{} {}", s.name, s.value).trim_end().to_string();
//! assert_eq!(
//!     polariscope_lens::render(message, flag),
//!     "with --probe zero there is one point; leave --probes out"
//! );
//! assert_eq!(polariscope_lens::settings(message)[1].name, "probes");
//! ```

/// A setting that a message names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As in the question.
    pub name: String,
    /// What it should be, or is; empty where the setting itself is meant.
    pub value: String,
}

/// The message with every setting as `show` writes it.
pub fn render(message: &str, show: impl Fn(&Setting) -> String) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, from)) = rest.split_once('‹') {
        let Some((inside, after)) = from.split_once('›') else {
            break;
        };
        out += before;
        out += &show(&setting(inside));
        rest = after;
    }
    out + rest
}

/// The settings that a message names, in order.
pub fn settings(message: &str) -> Vec<Setting> {
    let named = message.split('‹').skip(1);
    let inside = named.filter_map(|text| text.split_once('›').map(|(inside, _)| inside));
    inside.map(setting).collect()
}

fn setting(inside: &str) -> Setting {
    let (name, value) = inside.split_once(' ').unwrap_or((inside, ""));
    Setting {
        name: name.to_string(),
        value: value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_mark_is_text() {
        let shown = |s: &Setting| format!("<{}>", s.name);
        assert_eq!(render("a ‹b and ‹c›", shown), "a <b>");
        assert_eq!(render("a ‹b", shown), "a ‹b");
        assert_eq!(render("plain", shown), "plain");
        assert!(settings("plain ‹").is_empty());
    }
}
