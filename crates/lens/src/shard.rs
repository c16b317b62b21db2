//! Parts of work that several processes share.

use std::fmt;
use std::str::FromStr;

/// One of `count` equal parts of some work.
///
/// ```
/// use polariscope_lens::Shard;
/// let shard: Shard = "2/3".parse()?;
/// assert_eq!(shard, Shard { index: 1, count: 3 });
/// assert_eq!(shard.to_string(), "2/3");
/// assert_eq!(shard.range(10), 3..6);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0 to `count` − 1.
    pub index: u64,
    /// How many parts there are.
    pub count: u64,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Which of n pieces are in this part.
    pub fn range(self, n: usize) -> std::ops::Range<usize> {
        let n = n as u128;
        let edge = |i: u64| (n * u128::from(i) / u128::from(self.count)) as usize;
        edge(self.index)..edge(self.index + 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it is i/n with i from 1 to n, such as 1/4".to_string();
        let (i, n) = text.split_once('/').ok_or_else(wrong)?;
        match (i.parse::<u64>(), n.parse::<u64>()) {
            (Ok(i), Ok(n)) if 1 <= i && i <= n => Ok(Shard {
                index: i - 1,
                count: n,
            }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        for n in [0, 1, 7, 100] {
            let parts = (0..3).map(|index| Shard { index, count: 3 }.range(n));
            let all: Vec<usize> = parts.flatten().collect();
            assert!(all.into_iter().eq(0..n));
        }
        assert!("0/3".parse::<Shard>().is_err() && "4/3".parse::<Shard>().is_err());
    }
}
