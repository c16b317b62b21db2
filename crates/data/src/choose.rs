//! Which samples are kept, in which set and as which class: decided by their labels alone, before the inputs that
//! nobody asked for are read.

use crate::dataset::Labels;
use crate::error::DataError;
use crate::transform::Transforms;

/// Without `test=N` this part of the samples is held out for testing.
const HELD_OUT: usize = 5;
/// A group of more classes is not named by all of them.
const NAMED: usize = 3;

/// Rows of a source, with what they map to.
pub(crate) struct Rows {
    /// Their places in the source.
    pub rows: Vec<usize>,
    /// Their labels.
    pub y: Labels,
}

impl Rows {
    fn all(y: Labels) -> Rows {
        Rows {
            rows: (0..y.len()).collect(),
            y,
        }
    }

    /// The given places of these rows, in that order.
    fn select(&self, places: &[usize]) -> Rows {
        Rows {
            rows: places.iter().map(|&i| self.rows[i]).collect(),
            y: self.y.select(places),
        }
    }
}

/// The samples that are kept.
pub(crate) struct Choice {
    /// What each class is called.
    pub names: Vec<String>,
    /// To learn from.
    pub train: Rows,
    /// To judge by; `None` until they are held out of the training rows.
    test: Option<Rows>,
}

impl Choice {
    /// All samples of a source with these labels.
    pub fn new(names: Vec<String>, train: Labels, test: Option<Labels>) -> Choice {
        Choice {
            names,
            train: Rows::all(train),
            test: test.map(Rows::all),
        }
    }

    /// Follows a specification, `text` in errors; `limits` are the numbers of training and test samples.
    /// Returns the classes' names and both sets.
    pub fn follow(
        mut self,
        transforms: &Transforms,
        limits: [Option<usize>; 2],
        text: &str,
    ) -> Result<(Vec<String>, [Rows; 2]), DataError> {
        let classed = matches!(self.train.y, Labels::Classes(_));
        if !classed && transforms.need_classes() {
            let what = "classes, group, balanced, labels and noise need class labels, these are real targets";
            return Err(DataError::spec(text, what));
        }
        if !transforms.classes.is_empty() {
            self.keep(&transforms.classes, text)?;
        }
        if !transforms.group.is_empty() {
            self.group(&transforms.group, text)?;
        }
        let balanced = transforms.balanced;
        let classes = self.names.len();
        let (train, test) = match self.test {
            Some(test) => (self.train, test),
            None => hold_out(self.train, classes, limits[1], balanced, text)?,
        };
        let [train_limit, test_limit] = limits;
        let sets = [
            limit(train, "training", classes, train_limit, balanced, text)?,
            limit(test, "test", classes, test_limit, balanced, text)?,
        ];
        Ok((self.names, sets))
    }

    fn sets(&mut self) -> impl Iterator<Item = &mut Rows> {
        [Some(&mut self.train), self.test.as_mut()]
            .into_iter()
            .flatten()
    }

    fn known(&self, wanted: &[u32], text: &str) -> Result<(), DataError> {
        let classes = self.names.len();
        match wanted.iter().find(|&&c| c as usize >= classes) {
            None => Ok(()),
            Some(class) => {
                let last = classes.saturating_sub(1);
                let what = format!("no class {class}; classes are 0 to {last}");
                Err(DataError::spec(text, what))
            }
        }
    }

    fn keep(&mut self, wanted: &[u32], text: &str) -> Result<(), DataError> {
        self.known(wanted, text)?;
        for set in self.sets() {
            let Labels::Classes(y) = &set.y else {
                continue;
            };
            let new = |y: u32| wanted.iter().position(|&c| c == y);
            let kept: Vec<usize> = (0..y.len()).filter(|&i| new(y[i]).is_some()).collect();
            let y = kept.iter().filter_map(|&i| new(y[i]));
            let y = y.map(|k| k as u32).collect();
            *set = Rows {
                y: Labels::Classes(y),
                ..set.select(&kept)
            };
        }
        let names = wanted.iter().map(|&c| self.names[c as usize].clone());
        self.names = names.collect();
        Ok(())
    }

    fn group(&mut self, group: &[u32], text: &str) -> Result<(), DataError> {
        self.known(group, text)?;
        for set in self.sets() {
            if let Labels::Classes(y) = &mut set.y {
                y.iter_mut().for_each(|y| *y = u32::from(group.contains(y)));
            }
        }
        let rest: Vec<u32> = (0..self.names.len() as u32)
            .filter(|c| !group.contains(c))
            .collect();
        self.names = [&rest[..], group]
            .map(|members| self.joined(members))
            .into();
        Ok(())
    }

    /// Names of classes that have become one: `cat+dog`, `bird+cat+4 more`.
    fn joined(&self, members: &[u32]) -> String {
        let shown = if members.len() > NAMED {
            NAMED - 1
        } else {
            members.len()
        };
        let names = members[..shown]
            .iter()
            .map(|&c| self.names[c as usize].clone());
        let mut names: Vec<String> = names.collect();
        if shown < members.len() {
            names.push(format!("{} more", members.len() - shown));
        }
        names.join("+")
    }
}

/// Training and test samples of one set, the first ones for testing: files without a test set of their own come in
/// an order whose every start is a sample of the whole.
fn hold_out(
    all: Rows,
    classes: usize,
    wanted: Option<usize>,
    balanced: bool,
    text: &str,
) -> Result<(Rows, Rows), DataError> {
    let all = match balanced {
        true => all.select(&turns(&all.y, classes)),
        false => all,
    };
    let n = all.rows.len();
    let held = wanted.unwrap_or(n / HELD_OUT);
    if held >= n {
        let what = format!("test={held} leaves nothing to learn from: there are {n} samples");
        return Err(DataError::spec(text, what));
    }
    let places: Vec<usize> = (0..n).collect();
    let (test, train) = places.split_at(held);
    Ok((all.select(train), all.select(test)))
}

/// Keeps the first samples, or the first of each class in turn.
fn limit(
    set: Rows,
    name: &str,
    classes: usize,
    limit: Option<usize>,
    balanced: bool,
    text: &str,
) -> Result<Rows, DataError> {
    let available = match balanced {
        true => turns(&set.y, classes),
        false => (0..set.rows.len()).collect(),
    };
    let wanted = limit.unwrap_or(available.len());
    if wanted > available.len() {
        let kind = if balanced { "class-balanced " } else { "" };
        let what = format!(
            "{wanted} {kind}{name} samples asked for, {} there",
            available.len()
        );
        return Err(DataError::spec(text, what));
    }
    Ok(set.select(&available[..wanted]))
}

/// Rows such that classes take turns, until one class runs out.
fn turns(y: &Labels, classes: usize) -> Vec<usize> {
    let Labels::Classes(y) = y else {
        return Vec::new();
    };
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); classes];
    for (i, &y) in y.iter().enumerate() {
        if let Some(rows) = rows.get_mut(y as usize) {
            rows.push(i);
        }
    }
    let rounds = rows.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds)
        .flat_map(|k| rows.iter().map(move |r| r[k]))
        .collect()
}
