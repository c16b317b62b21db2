//! Thrift's compact protocol, as far as Parquet uses it: into a small tree of values.

use super::Fault;

/// Deepest nesting; Parquet's own structures need 6.
const MAX_DEPTH: usize = 24;
/// Most values in one tree: a footer of a thousand columns and row groups has fewer.
const MAX_VALUES: usize = 1 << 21;

/// A value.
#[derive(Debug)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i64),
    Double,
    /// Start and end in the source.
    Bytes(usize, usize),
    List(Vec<Value>),
    /// Fields by number.
    Struct(Vec<(i64, Value)>),
}

impl Value {
    /// A field of a struct.
    pub fn field(&self, id: i64) -> Option<&Value> {
        match self {
            Value::Struct(fields) => fields.iter().find(|(i, _)| *i == id).map(|(_, v)| v),
            _ => None,
        }
    }

    /// An integer field.
    pub fn integer(&self, id: i64) -> Option<i64> {
        match self.field(id)? {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }

    /// An integer field that must not be negative.
    pub fn size(&self, id: i64) -> Option<usize> {
        usize::try_from(self.integer(id)?).ok()
    }

    /// A list field; an absent one is empty.
    pub fn list(&self, id: i64) -> &[Value] {
        match self.field(id) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// A string field.
    pub fn text<'a>(&self, id: i64, source: &'a [u8]) -> Option<&'a str> {
        self.field(id)?.as_text(source)
    }

    /// A string.
    pub fn as_text<'a>(&self, source: &'a [u8]) -> Option<&'a str> {
        match self {
            Value::Bytes(start, end) => std::str::from_utf8(source.get(*start..*end)?).ok(),
            _ => None,
        }
    }
}

/// Reads one struct of `source` from `offset`; returns it and where it ends.
pub(crate) fn read_struct(source: &[u8], offset: usize) -> Result<(Value, usize), Fault> {
    let mut reader = Reader {
        source,
        at: offset,
        values: 0,
    };
    let value = reader.structure(0)?;
    Ok((value, reader.at))
}

struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    values: usize,
}

impl Reader<'_> {
    fn fault(&self, what: &str) -> Fault {
        Fault::new(self.at, what)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.source.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| self.fault("metadata cut short"))
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.fault("metadata holds an integer of more than 64 bits"))
    }

    fn zigzag(&mut self) -> Result<i64, Fault> {
        let n = self.varint()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    fn structure(&mut self, depth: usize) -> Result<Value, Fault> {
        let mut fields = Vec::new();
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Value::Struct(fields));
            }
            id = match head >> 4 {
                0 => self.zigzag()?,
                delta => id.wrapping_add(i64::from(delta)),
            };
            let value = match head & 0xf {
                1 => Value::Bool(true),
                2 => Value::Bool(false),
                kind => self.value(kind, depth)?,
            };
            self.count()?;
            fields.push((id, value));
        }
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.fault("metadata holds too many values"));
        }
        Ok(())
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(self.fault("metadata is nested too deeply"));
        }
        match kind {
            // In a list a boolean takes a byte.
            1 | 2 => Ok(Value::Bool(self.byte()? == 1)),
            3 => Ok(Value::Integer(i64::from(self.byte()? as i8))),
            4..=6 => Ok(Value::Integer(self.zigzag()?)),
            7 => {
                self.skip(8)?;
                Ok(Value::Double)
            }
            8 => {
                let length = self.varint()?;
                let start = self.at;
                self.skip(length)?;
                Ok(Value::Bytes(start, self.at))
            }
            9 | 10 => self.list(depth),
            12 => self.structure(depth + 1),
            _ => Err(self.fault("metadata holds a value of an unknown kind")),
        }
    }

    fn skip(&mut self, length: u64) -> Result<(), Fault> {
        let end = usize::try_from(length)
            .ok()
            .and_then(|n| self.at.checked_add(n));
        match end.filter(|&e| e <= self.source.len()) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => Err(self.fault("metadata holds a value longer than the file")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            n => u64::from(n),
        };
        let mut items = Vec::new();
        for _ in 0..length {
            self.count()?;
            items.push(self.value(head & 0xf, depth + 1)?);
        }
        Ok(Value::List(items))
    }
}
