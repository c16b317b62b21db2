//! Actions as text: a word, then numbers after colons.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use polariscope_graph::nearest;

use super::{Action, ActionError};

/// Every word with what follows it.
const WORDS: [(&str, &str); 10] = [
    (
        "cyclic",
        "pixels to the right, and down: cyclic:2, cyclic:0:1",
    ),
    ("shift", "pixels to the right, and down: shift:2, shift:0:1"),
    ("turn", "degrees: turn:90, turn:15"),
    ("flip", ""),
    ("flip-down", ""),
    ("transpose", ""),
    ("scale", "a factor between 0.001 and 1000: scale:1.2"),
    ("colours", ""),
    ("jitter", "a strength between 0 and 1: jitter:0.2"),
    ("pixels", ""),
];

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = |f: &mut fmt::Formatter<'_>, word, across, down| match down {
            0 => write!(f, "{word}:{across}"),
            _ => write!(f, "{word}:{across}:{down}"),
        };
        match *self {
            Action::Cyclic { across, down } => moved(f, "cyclic", across, down),
            Action::Shift { across, down } => moved(f, "shift", across, down),
            Action::Turn { degrees } => write!(f, "turn:{degrees}"),
            Action::Flip => f.write_str("flip"),
            Action::FlipDown => f.write_str("flip-down"),
            Action::Transpose => f.write_str("transpose"),
            Action::Scale { by } => write!(f, "scale:{by}"),
            Action::Colours => f.write_str("colours"),
            Action::Jitter { strength } => write!(f, "jitter:{strength}"),
            Action::Pixels => f.write_str("pixels"),
        }
    }
}

impl FromStr for Action {
    type Err = ActionError;

    fn from_str(text: &str) -> Result<Self, ActionError> {
        let unknown = |problem: String| ActionError::Unknown {
            text: text.to_owned(),
            problem,
        };
        let mut parts = text.split(':');
        let word = parts.next().unwrap_or_default();
        let Some((_, wanted)) = WORDS.iter().find(|(name, _)| *name == word) else {
            let names = WORDS.map(|(name, _)| name);
            return Err(unknown(match nearest(word, names) {
                Some(near) => format!("unknown transformation; did you mean {near}?"),
                None => format!("unknown transformation; it is one of {}", names.join(", ")),
            }));
        };
        let numbers: Vec<&str> = parts.collect();
        let wrong = || {
            unknown(match wanted.is_empty() {
                true => "no number follows it".to_owned(),
                false => format!("after it come {wanted}"),
            })
        };
        let whole = |text: &str| text.parse::<i32>().map_err(|_| wrong());
        let real = |text: &str, fits: fn(f64) -> bool| {
            let parsed = text.parse::<f64>().ok();
            parsed
                .filter(|&x| x.is_finite() && fits(x))
                .ok_or_else(wrong)
        };
        let by = |numbers: &[&str]| match *numbers {
            [across] => Ok((whole(across)?, 0)),
            [across, down] => Ok((whole(across)?, whole(down)?)),
            _ => Err(wrong()),
        };
        match (word, &numbers[..]) {
            ("cyclic", numbers) => {
                by(numbers).map(|(across, down)| Action::Cyclic { across, down })
            }
            ("shift", numbers) => by(numbers).map(|(across, down)| Action::Shift { across, down }),
            ("turn", [degrees]) => real(degrees, |_| true).map(|degrees| Action::Turn { degrees }),
            ("scale", [by]) => {
                real(by, |x| (1e-3..=1e3).contains(&x)).map(|by| Action::Scale { by })
            }
            ("jitter", [strength]) => real(strength, |x| (0.0..=1.0).contains(&x))
                .map(|strength| Action::Jitter { strength }),
            ("flip", []) => Ok(Action::Flip),
            ("flip-down", []) => Ok(Action::FlipDown),
            ("transpose", []) => Ok(Action::Transpose),
            ("colours", []) => Ok(Action::Colours),
            ("pixels", []) => Ok(Action::Pixels),
            _ => Err(wrong()),
        }
    }
}

impl From<Action> for String {
    fn from(action: Action) -> String {
        action.to_string()
    }
}

impl TryFrom<Cow<'_, str>> for Action {
    type Error = ActionError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, ActionError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        for text in [
            "cyclic:2",
            "cyclic:0:-1",
            "shift:-3",
            "turn:90",
            "turn:22.5",
            "flip",
            "flip-down",
            "transpose",
            "scale:1.25",
            "colours",
            "jitter:0.2",
            "pixels",
        ] {
            let action: Action = text.parse().unwrap();
            assert_eq!(action.to_string(), text);
        }
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        for (text, why) in [
            ("filp", "did you mean flip?"),
            ("wobble", "it is one of cyclic"),
            ("turn", "degrees"),
            ("turn:NaN", "degrees"),
            ("flip:2", "no number follows it"),
            ("scale:0", "a factor"),
            ("jitter:2", "between 0 and 1"),
            ("shift:1.5", "pixels to the right"),
            ("shift:1:2:3", "pixels to the right"),
        ] {
            let refused = text.parse::<Action>().unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
