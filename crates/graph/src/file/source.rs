//! TOML values with their places: typed reading whose errors name file, line and column.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::GraphError;
use crate::names::{hint, quote};

/// A file's text and name.
#[derive(Clone, Copy)]
pub(super) struct FileText<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

impl FileText<'_> {
    /// An error at a byte offset.
    pub fn error(&self, at: usize, problem: impl Into<String>) -> GraphError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        GraphError::File {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: problem.into(),
        }
    }

    /// A parser's own complaint, as one line.
    pub fn syntax(&self, error: &toml::de::Error) -> GraphError {
        let at = error.span().map_or(0, |span| span.start);
        let message: Vec<&str> = error.message().split_whitespace().collect();
        self.error(at, message.join(" "))
    }
}

/// A table and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub source: FileText<'a>,
    pub table: &'a DeTable<'a>,
    pub at: usize,
    /// What the table describes, for messages.
    pub what: &'a str,
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    source: FileText<'a>,
    value: &'a DeValue<'a>,
    pub at: usize,
    /// The key it belongs to.
    key: &'a str,
}

/// One number for both axes, or one each.
pub(super) enum Sizes {
    One(usize),
    Two([usize; 2]),
}

impl<'a> Table<'a> {
    /// Refuses keys outside `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), GraphError> {
        // Tables are sorted by key; the first in the file is the one to name.
        let unknown = self
            .table
            .keys()
            .filter(|k| !known.contains(&&**k.get_ref()));
        match unknown.min_by_key(|k| k.span().start) {
            None => Ok(()),
            Some(key) => {
                let name = quote(key.get_ref());
                let hint = hint(key.get_ref(), known.iter().copied());
                let problem = format!("unknown key {name} in {}; {hint}", self.what);
                Err(self.source.error(key.span().start, problem))
            }
        }
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &'a str) -> Option<Value<'a>> {
        let value = self.table.get(key)?;
        Some(Value {
            source: self.source,
            value: value.get_ref(),
            at: value.span().start,
            key,
        })
    }

    /// The value of a key that has to be there.
    pub fn need(&self, key: &'a str, example: &str) -> Result<Value<'a>, GraphError> {
        self.get(key).ok_or_else(|| {
            let problem = format!("{} has no `{key}`; write for example {example}", self.what);
            self.source.error(self.at, problem)
        })
    }
}

impl<'a> Value<'a> {
    /// An error at this value.
    pub fn error(&self, problem: impl Into<String>) -> GraphError {
        self.source.error(self.at, problem)
    }

    fn wrong_type(&self, wanted: &str) -> GraphError {
        let found = match self.value {
            DeValue::String(text) => quote(text),
            DeValue::Integer(number) => quote(number.as_str()),
            DeValue::Float(number) => quote(number.as_str()),
            DeValue::Boolean(value) => quote(&value.to_string()),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.error(format!("`{}` must be {wanted}, not {found}", self.key))
    }

    /// A string.
    pub fn text(&self) -> Result<&'a str, GraphError> {
        self.value
            .as_str()
            .ok_or_else(|| self.wrong_type("a string"))
    }

    /// `true` or `false`.
    pub fn truth(&self) -> Result<bool, GraphError> {
        let truth = self.value.as_bool();
        truth.ok_or_else(|| self.wrong_type("true or false"))
    }

    /// A whole number not below 0.
    pub fn whole(&self) -> Result<usize, GraphError> {
        self.try_whole()
            .ok_or_else(|| self.wrong_type("a whole number not below 0"))
    }

    fn try_whole(&self) -> Option<usize> {
        let number = self.value.as_integer()?;
        usize::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// A finite number, whole or not.
    pub fn number(&self) -> Result<f64, GraphError> {
        let parsed = match self.value {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix());
                whole.ok().map(|n| n as f64)
            }
            _ => None,
        };
        let finite = parsed.filter(|n: &f64| n.is_finite());
        finite.ok_or_else(|| self.wrong_type("a finite number"))
    }

    /// `k` or `[h, w]`.
    pub fn one_or_two(&self) -> Result<Sizes, GraphError> {
        if let DeValue::Array(array) = self.value
            && let [height, width] = &array[..]
        {
            return Ok(Sizes::Two([
                self.item(height).whole()?,
                self.item(width).whole()?,
            ]));
        }
        let one = self.try_whole().map(Sizes::One);
        one.ok_or_else(|| self.wrong_type("a whole number or [height, width]"))
    }

    /// An array of whole numbers.
    pub fn wholes(&self) -> Result<Vec<usize>, GraphError> {
        let array = self.value.as_array();
        let array = array.ok_or_else(|| self.wrong_type("an array of whole numbers"))?;
        array.iter().map(|item| self.item(item).whole()).collect()
    }

    /// A whole number, or a string.
    pub fn whole_or_text(&self) -> Result<Result<usize, &'a str>, GraphError> {
        match self.value {
            DeValue::String(text) => Ok(Err(text)),
            _ => match self.try_whole() {
                Some(number) => Ok(Ok(number)),
                None => Err(self.wrong_type("a whole number or a string")),
            },
        }
    }

    /// The items of an array.
    pub fn items(&self, of: &str) -> Result<impl Iterator<Item = Value<'a>> + use<'a>, GraphError> {
        let array = self.value.as_array();
        let array = array.ok_or_else(|| self.wrong_type(&format!("an array of {of}")))?;
        let value = *self;
        Ok(array.iter().map(move |item| value.item(item)))
    }

    fn item(&self, item: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        Value {
            value: item.get_ref(),
            at: item.span().start,
            ..*self
        }
    }

    /// A table.
    pub fn table(&self, what: &'a str) -> Result<Table<'a>, GraphError> {
        let table = self.value.as_table();
        Ok(Table {
            source: self.source,
            table: table.ok_or_else(|| self.wrong_type("an array of tables"))?,
            at: self.at,
            what,
        })
    }
}
