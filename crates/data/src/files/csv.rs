//! Tables of numbers as text: a sample a line, cells between commas, semicolons or tabs, one of them the label.
//!
//! The first line names the columns if none of its cells but the label is a number; if its label is a word and the
//! next line's is a number; or if the label is called `label`, `class`, `target` or `y` and no other line's is, or
//! what was asked for.
//! Labels are targets if one of them has a fraction; else the different numbers, or the different words, are classes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use polariscope_graph::nearest;

use crate::dataset::Labels;
use crate::error::DataError;

/// What a column of labels is called where nobody said.
const CALLED: [&str; 4] = ["label", "class", "target", "y"];
/// More classes than this, and more than half as many as samples, are no classes.
const FEW: usize = 20;

/// The samples of a file, their labels still as they were written.
pub(crate) struct Table {
    file: String,
    /// Their names, where the file has them.
    names: Option<Vec<String>>,
    /// Columns without the label.
    pub features: usize,
    /// Sample by sample.
    pub x: Vec<f32>,
    labels: Vec<Written>,
}

/// A label and its line.
struct Written {
    line: usize,
    text: String,
}

/// A cell, copied only out of quotes.
type Cell<'a> = Cow<'a, str>;

/// A label as it is read.
enum Read<'a> {
    Number(f64),
    Word(&'a str),
}

impl Table {
    /// Reads a file whose labels lie in the named, numbered (from 1) or last column.
    pub fn read(path: &Path, label: Option<&str>) -> Result<Table, DataError> {
        let bytes = fs::read(path).map_err(|e| DataError::io(path, e))?;
        Table::parse(&bytes, &path.display().to_string(), label)
    }

    /// Reads the bytes of a file; `file` names it in errors.
    pub fn parse(bytes: &[u8], file: &str, label: Option<&str>) -> Result<Table, DataError> {
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let before = &bytes[..e.valid_up_to()];
            let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
            wrong(file, line, "not UTF-8 text; expected numbers as text")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, l)| !l.trim().is_empty());
        let Some((first, line)) = lines.next() else {
            return Err(DataError::Empty { what: file.into() });
        };
        let separator = separator(line);
        let head = cells(line, separator).map_err(|what| wrong(file, first, what))?;
        if head.len() < 2 {
            let what =
                "one column only; expected numbers and a label between commas, semicolons or tabs";
            return Err(wrong(file, first, what));
        }
        let columns = head.len();
        let at = column(&head, label).map_err(|what| wrong(file, first, what))?;
        let label_of = |(_, line)| cells(line, separator).ok()?.into_iter().nth(at);
        let below = lines.clone().filter_map(label_of);
        let names = is_header(&head, at, label, below).then_some(&head[..]);
        if let Some(empty) = names.and_then(|names| names.iter().position(|name| name.is_empty())) {
            let what = format!(
                "column {} has no name; pandas writes such a column of row numbers, index=False leaves it out",
                empty + 1
            );
            return Err(wrong(file, first, what));
        }
        let mut table = Table {
            file: file.into(),
            names: names.map(|names| names.iter().map(Cell::to_string).collect()),
            features: columns - 1,
            x: Vec::new(),
            labels: Vec::new(),
        };
        if names.is_none() {
            table.push(&head, first, at, None)?;
        }
        for (number, line) in lines {
            let row = cells(line, separator).map_err(|what| wrong(file, number, what))?;
            if row.len() != columns {
                let what = format!(
                    "{} columns, expected {columns} as in line {first}",
                    row.len()
                );
                return Err(wrong(file, number, what));
            }
            table.push(&row, number, at, names)?;
        }
        if table.labels.is_empty() {
            return Err(DataError::Empty { what: file.into() });
        }
        Ok(table)
    }

    fn push(
        &mut self,
        row: &[Cell],
        line: usize,
        label: usize,
        names: Option<&[Cell]>,
    ) -> Result<(), DataError> {
        for (k, cell) in row.iter().enumerate() {
            let place = || match names {
                Some(names) => format!("column {} ({})", k + 1, shown(&names[k])),
                None => format!("column {}", k + 1),
            };
            if k == label {
                if cell.is_empty() {
                    let what = format!("{}: no label; expected a class or a number", place());
                    return Err(wrong(&self.file, line, what));
                }
                self.labels.push(Written {
                    line,
                    text: cell.to_string(),
                });
                continue;
            }
            let value = cell.parse().ok().filter(|v: &f32| v.is_finite());
            self.x.push(value.ok_or_else(|| {
                let what = format!("{}: {}", place(), malformed(cell));
                wrong(&self.file, line, what)
            })?);
        }
        Ok(())
    }

    /// Refuses a test file unlike its training file.
    pub fn check_like(&self, train: &Table) -> Result<(), DataError> {
        let what = if self.features != train.features {
            format!(
                "{} columns, but {} has {}",
                self.features + 1,
                train.file,
                train.features + 1
            )
        } else {
            let pairs = self
                .names
                .iter()
                .flatten()
                .zip(train.names.iter().flatten());
            match pairs.enumerate().find(|(_, (own, other))| own != other) {
                None => return Ok(()),
                Some((k, (own, other))) => format!(
                    "column {} is '{}', but '{}' in {}",
                    k + 1,
                    shown(own),
                    shown(other),
                    train.file
                ),
            }
        };
        Err(wrong(&self.file, 1, what))
    }

    /// What the labels are, and the names of their classes; `given` are the classes of a training file.
    pub fn labels(&self, given: Option<&Classes>) -> Result<(Labels, Classes), DataError> {
        let read = self.labels.iter().map(|w| self.label(w));
        let read: Vec<Read> = read.collect::<Result<_, _>>()?;
        let classes = match given {
            Some(classes) => classes.clone(),
            None => self.classes(&read)?,
        };
        let rows = read.iter().zip(&self.labels);
        let unknown = |written: &Written, known: String| {
            let what = format!("label '{}' is {known}", shown(&written.text));
            wrong(&self.file, written.line, what)
        };
        let labels = match &classes {
            Classes::Targets => {
                let target = |(read, written): (&Read, &Written)| match read {
                    Read::Number(y) => Ok(*y as f32),
                    Read::Word(_) => Err(unknown(written, "no number, as the targets are".into())),
                };
                Labels::Targets {
                    values: rows.map(target).collect::<Result<_, _>>()?,
                    width: 1,
                }
            }
            Classes::Named(names) => {
                let places: BTreeMap<&str, u32> = (0..)
                    .zip(names)
                    .map(|(i, name)| (name.as_str(), i))
                    .collect();
                let class = |(read, written): (&Read, &Written)| {
                    let name = read.name();
                    places.get(name.as_str()).copied().ok_or_else(|| {
                        let near = nearest(&name, names.iter().map(String::as_str));
                        let hint = near
                            .map_or(String::new(), |n| format!("; did you mean '{}'?", shown(n)));
                        unknown(written, format!("none of the training classes{hint}"))
                    })
                };
                Labels::Classes(rows.map(class).collect::<Result<_, _>>()?)
            }
        };
        Ok((labels, classes))
    }

    fn label<'a>(&self, written: &'a Written) -> Result<Read<'a>, DataError> {
        match written.text.parse::<f64>() {
            Ok(y) if (y as f32).is_finite() => Ok(Read::Number(y)),
            Ok(_) => {
                let text = shown(&written.text);
                let what = format!("label '{text}' is not finite; expected a class or a number");
                Err(wrong(&self.file, written.line, what))
            }
            Err(_) => Ok(Read::Word(&written.text)),
        }
    }

    fn classes(&self, read: &[Read]) -> Result<Classes, DataError> {
        let is_word = |r: &Read| matches!(r, Read::Word(_));
        let words = read.first().is_some_and(is_word);
        if let Some(other) = read.iter().position(|r| is_word(r) != words) {
            let [first, other] = [&self.labels[0], &self.labels[other]];
            let what = format!(
                "label '{}' beside '{}' in line {}; give every class a number, or every class a word",
                shown(&other.text),
                shown(&first.text),
                first.line
            );
            return Err(wrong(&self.file, other.line, what));
        }
        let mut numbers = Vec::new();
        let mut names = Vec::new();
        for read in read {
            match read {
                Read::Number(y) if y.fract() != 0.0 => return Ok(Classes::Targets),
                Read::Number(y) => numbers.push(*y),
                Read::Word(word) => names.push((*word).to_owned()),
            }
        }
        numbers.sort_by(f64::total_cmp);
        names.sort_unstable();
        names.extend(numbers.into_iter().map(|y| Read::Number(y).name()));
        names.dedup();
        let (samples, count) = (read.len(), names.len());
        if count < 2 {
            let what = format!(
                "every label is '{}'; expected two classes or more",
                shown(&names[0])
            );
            return Err(wrong(&self.file, self.labels[0].line, what));
        }
        if count > FEW && 2 * count > samples {
            let what = format!(
                "{count} different labels of {samples} samples are no classes; another column is chosen with \
                 label=NAME, and targets are numbers with a fraction"
            );
            return Err(wrong(&self.file, self.labels[0].line, what));
        }
        Ok(Classes::Named(names))
    }
}

/// What the labels of a file are.
#[derive(Clone)]
pub(crate) enum Classes {
    /// Real numbers.
    Targets,
    /// Classes, in the order of their numbers or words.
    Named(Vec<String>),
}

impl Read<'_> {
    /// One name for 3, 3.0 and 3e0.
    fn name(&self) -> String {
        match self {
            // Minus zero is zero.
            Read::Number(y) => (y + 0.0).to_string(),
            Read::Word(word) => (*word).to_owned(),
        }
    }
}

fn wrong(file: &str, line: usize, what: impl Into<String>) -> DataError {
    DataError::Line {
        file: file.into(),
        line,
        what: what.into(),
    }
}

/// User text, cut and escaped.
fn shown(text: &str) -> String {
    let cut: String = text.chars().take(40).collect();
    cut.escape_debug().to_string()
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

fn malformed(cell: &str) -> String {
    let right = "expected a finite number such as 1.5";
    if cell.is_empty() {
        return format!("an empty cell; {right}");
    }
    let comma = cell.contains(',') && is_number(&cell.replace(',', "."));
    let hint = if comma { ", with a decimal point" } else { "" };
    format!("'{}'; {right}{hint}", shown(cell))
}

/// A tab if the line has one, else a semicolon, else the comma.
fn separator(line: &str) -> char {
    let mut quoted = false;
    let mut found = ',';
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '\t' if !quoted => return '\t',
            ';' if !quoted => found = ';',
            _ => {}
        }
    }
    found
}

/// The cells of a line without the spaces around them; a cell in quotes may hold separators, and "" is a quote.
fn cells(line: &str, separator: char) -> Result<Vec<Cell<'_>>, String> {
    let mut out = Vec::new();
    let mut rest = line;
    loop {
        let start = rest.trim_start_matches([' ', '\u{a0}']);
        let (cell, after) = match start.strip_prefix('"') {
            Some(inner) => {
                let (cell, after) = quoted(inner)?;
                (Cow::Owned(cell), after)
            }
            None => {
                let end = start.find(separator).unwrap_or(start.len());
                (Cow::Borrowed(start[..end].trim()), &start[end..])
            }
        };
        out.push(cell);
        let after = after.trim_start_matches(' ');
        if after.trim_end().is_empty() && !after.starts_with(separator) {
            return Ok(out);
        }
        rest = after
            .strip_prefix(separator)
            .ok_or_else(|| format!("column {}: text after the quote that closes it", out.len()))?;
    }
}

/// The rest of a cell after its opening quote, and what follows the closing one.
fn quoted(inner: &str) -> Result<(String, &str), String> {
    let mut cell = String::new();
    let mut rest = inner;
    loop {
        let (part, after) = rest
            .split_once('"')
            .ok_or("a quote that does not end on its line")?;
        cell += part;
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Ok((cell.trim().to_owned(), after)),
        }
    }
}

/// Which column holds the label.
fn column(head: &[Cell], label: Option<&str>) -> Result<usize, String> {
    let Some(label) = label else {
        return Ok(head.len() - 1);
    };
    let number = label.parse().ok().filter(|k| (1..=head.len()).contains(k));
    let name = || head.iter().position(|name| name == label);
    number.map(|k: usize| k - 1).or_else(name).ok_or_else(|| {
        let near = nearest(label, head.iter().map(Cell::as_ref));
        let hint = near.map_or(String::new(), |n| format!("; did you mean '{}'?", shown(n)));
        format!(
            "no column is called '{}'{hint}; label=NAME is a name in this line, or a number from 1 to {}",
            shown(label),
            head.len()
        )
    })
}

/// Whether the first line names the columns; `below` are the labels of the others.
fn is_header<'a>(
    head: &[Cell],
    at: usize,
    asked: Option<&str>,
    mut below: impl Iterator<Item = Cell<'a>>,
) -> bool {
    let label = head[at].as_ref();
    if is_number(label) {
        return false;
    }
    let mut others = (0..head.len()).filter(|&k| k != at);
    if others.all(|k| !is_number(&head[k])) || asked == Some(label) {
        return true;
    }
    let Some(next) = below.next() else {
        return false;
    };
    // A class may be called so as well.
    let called = CALLED.contains(&label.to_lowercase().as_str());
    is_number(&next) || called && next != label && below.all(|other| other != label)
}
