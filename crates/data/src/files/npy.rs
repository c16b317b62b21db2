//! NumPy's `.npy` format, versions 1 to 3: a magic string, the version, the length of a header that is a
//! Python dictionary literal (`descr`, `fortran_order`, `shape`), then the numbers.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::error::DataError;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Dimensions that NumPy itself allows.
const MAX_DIMENSIONS: usize = 32;

/// The numbers of an array; bool, i4 and i8 are all read as `I64`.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// f4
    F32(Vec<f32>),
    /// f8
    F64(Vec<f64>),
    /// i4, i8, bool
    I64(Vec<i64>),
    /// u1
    U8(Vec<u8>),
}

impl Numbers {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(v) => v.len(),
            Numbers::F64(v) => v.len(),
            Numbers::I64(v) => v.len(),
            Numbers::U8(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rounded to f32.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Numbers::F32(v) => v.clone(),
            Numbers::F64(v) => v.iter().map(|&x| x as f32).collect(),
            Numbers::I64(v) => v.iter().map(|&x| x as f32).collect(),
            Numbers::U8(v) => v.iter().map(|&x| f32::from(x)).collect(),
        }
    }

    /// Widened (integers beyond 2⁵³ rounded) to f64.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Numbers::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Numbers::F64(v) => v.clone(),
            Numbers::I64(v) => v.iter().map(|&x| x as f64).collect(),
            Numbers::U8(v) => v.iter().map(|&x| f64::from(x)).collect(),
        }
    }
}

/// An array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Dimensions.
    pub shape: Vec<usize>,
    /// Last index fastest.
    pub numbers: Numbers,
}

/// A number type that [`write()`] knows.
pub trait Element: Copy {
    /// NumPy's name of the type.
    const DESCR: &'static str;
    /// Appends the little-endian bytes.
    fn append(self, bytes: &mut Vec<u8>);
}

macro_rules! element {
    ($t:ty, $descr:literal) => {
        impl Element for $t {
            const DESCR: &'static str = $descr;
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

element!(f32, "<f4");
element!(f64, "<f8");
element!(i64, "<i8");

/// The bytes of a version 1 file, numbers at a multiple of 64.
pub fn encode<T: Element>(shape: &[usize], data: &[T]) -> Vec<u8> {
    let dims: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let dims = if shape.len() == 1 {
        dims.trim_end()
    } else {
        dims.trim_end_matches(", ")
    };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({dims}), }}",
        T::DESCR
    );
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.reserve(size_of_val(data));
    for &x in data {
        x.append(&mut bytes);
    }
    bytes
}

/// Writes under a temporary name, then renames: never half a file.
pub fn write<T: Element>(path: &Path, shape: &[usize], data: &[T]) -> Result<(), DataError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let bytes = encode(shape, data);
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| {
            // The first error is the one to report; a temporary that was never made need not go.
            let _ = fs::remove_file(&temporary);
            DataError::io(path, source)
        })
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Array, DataError> {
    let bytes = fs::read(path).map_err(|e| DataError::io(path, e))?;
    parse(&bytes, &path.display().to_string())
}

/// Reads the bytes of a file; `file` names it in errors.
pub fn parse(bytes: &[u8], file: &str) -> Result<Array, DataError> {
    let wrong = |offset, what: String| DataError::malformed(file, offset, what);
    if !bytes.starts_with(MAGIC) {
        return Err(wrong(
            0,
            "not a .npy file (no \\x93NUMPY at the start)".into(),
        ));
    }
    let rest = &bytes[MAGIC.len()..];
    let (length, start) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        [v, _, _, _, ..] if *v > 3 => return Err(wrong(6, format!("unknown version {v}"))),
        _ => return Err(wrong(bytes.len(), "cut short in its preamble".into())),
    };
    let left = bytes.len() - start;
    let Some((text, data)) = bytes[start..].split_at_checked(length) else {
        return Err(wrong(
            start,
            format!("header of {length} bytes declared, {left} left"),
        ));
    };
    let text = std::str::from_utf8(text)
        .map_err(|e| wrong(start + e.valid_up_to(), "header is no text".into()))?;
    let header = parse_header(text).map_err(|what| wrong(start, what))?;
    let offset = start + length;
    let kind = Kind::of(&header.descr).map_err(|what| wrong(start, what))?;
    let count = header
        .shape
        .iter()
        .try_fold(1_usize, |n, &d| n.checked_mul(d));
    let wanted = count.and_then(|n| n.checked_mul(kind.size()));
    if wanted != Some(data.len()) {
        let shape = show(&header.shape);
        let wanted = wanted.map_or("too many".into(), |n| n.to_string());
        return Err(wrong(
            offset,
            format!(
                "shape {shape} of {} needs {wanted} bytes, the file has {}",
                header.descr,
                data.len()
            ),
        ));
    }
    let numbers = kind.numbers(data);
    let numbers = if header.fortran {
        match numbers {
            Numbers::F32(v) => Numbers::F32(c_order(&header.shape, v)),
            Numbers::F64(v) => Numbers::F64(c_order(&header.shape, v)),
            Numbers::I64(v) => Numbers::I64(c_order(&header.shape, v)),
            Numbers::U8(v) => Numbers::U8(c_order(&header.shape, v)),
        }
    } else {
        numbers
    };
    Ok(Array {
        shape: header.shape,
        numbers,
    })
}

/// Number type of a file.
#[derive(Clone, Copy)]
enum Kind {
    F4,
    F8,
    I4,
    I8,
    U1,
    Bool,
}

impl Kind {
    fn of(descr: &str) -> Result<Kind, String> {
        match descr {
            "<f4" => Ok(Kind::F4),
            "<f8" => Ok(Kind::F8),
            "<i4" => Ok(Kind::I4),
            "<i8" => Ok(Kind::I8),
            "|u1" => Ok(Kind::U1),
            "|b1" => Ok(Kind::Bool),
            other => Err(format!(
                "number type '{}' is not read; save as <f4, <f8, <i4, <i8, |u1 or |b1",
                other.escape_debug()
            )),
        }
    }

    fn size(self) -> usize {
        match self {
            Kind::U1 | Kind::Bool => 1,
            Kind::F4 | Kind::I4 => 4,
            Kind::F8 | Kind::I8 => 8,
        }
    }

    fn numbers(self, bytes: &[u8]) -> Numbers {
        match self {
            Kind::F4 => Numbers::F32(each(bytes, f32::from_le_bytes)),
            Kind::F8 => Numbers::F64(each(bytes, f64::from_le_bytes)),
            Kind::I4 => Numbers::I64(each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
            Kind::I8 => Numbers::I64(each(bytes, i64::from_le_bytes)),
            Kind::U1 => Numbers::U8(bytes.to_vec()),
            Kind::Bool => Numbers::I64(each(bytes, |[b]| i64::from(b))),
        }
    }
}

fn each<T, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().map(|&b| number(b)).collect()
}

/// From first index fastest to last index fastest.
fn c_order<T: Copy>(shape: &[usize], values: Vec<T>) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for i in 1..shape.len() {
        strides[i] = strides[i - 1] * shape[i - 1];
    }
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let mut out = Vec::with_capacity(values.len());
    while out.len() < values.len() {
        out.push(values[at]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    out
}

struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

/// The dictionary literal: three keys in any order, each once.
fn parse_header(text: &str) -> Result<Header, String> {
    let mut rest = text
        .trim()
        .strip_prefix('{')
        .ok_or("header is no dictionary")?;
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start();
        if rest.starts_with('}') {
            break;
        }
        let (key, after) = quoted(rest)?;
        rest = after
            .trim_start()
            .strip_prefix(':')
            .ok_or("no ':' after a key in the header")?;
        rest = rest.trim_start();
        match key {
            "descr" => {
                let (value, after) = quoted(rest)?;
                descr = Some(value.to_owned());
                rest = after;
            }
            "fortran_order" => {
                let flag = [("True", true), ("False", false)];
                let found = flag
                    .iter()
                    .find_map(|(t, v)| Some((*v, rest.strip_prefix(t)?)));
                let (value, after) = found.ok_or("fortran_order is neither True nor False")?;
                fortran = Some(value);
                rest = after;
            }
            "shape" => {
                let inner = rest.strip_prefix('(').and_then(|r| r.split_once(')'));
                let (inner, after) = inner.ok_or("shape is no tuple")?;
                shape = Some(tuple(inner)?);
                rest = after;
            }
            other => {
                return Err(format!(
                    "unknown key '{}' in the header",
                    other.escape_debug()
                ));
            }
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Ok(Header {
        descr: descr.ok_or("no descr in the header")?,
        fortran: fortran.ok_or("no fortran_order in the header")?,
        shape: shape.ok_or("no shape in the header")?,
    })
}

fn quoted(text: &str) -> Result<(&str, &str), String> {
    let quote = text.chars().next().filter(|c| *c == '\'' || *c == '"');
    let quote = quote.ok_or("expected a quoted string in the header")?;
    let inner = text[1..].split_once(quote);
    inner.ok_or_else(|| "a string in the header does not end".into())
}

fn tuple(text: &str) -> Result<Vec<usize>, String> {
    let items = text.split(',').map(str::trim).filter(|t| !t.is_empty());
    let mut shape = Vec::new();
    for item in items {
        let size = item
            .parse()
            .map_err(|_| format!("dimension '{}' is no size", item.escape_debug()))?;
        shape.push(size);
        if shape.len() > MAX_DIMENSIONS {
            return Err(format!("more than {MAX_DIMENSIONS} dimensions"));
        }
    }
    Ok(shape)
}

/// `3x32x32`
pub(crate) fn show(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    dims.join("x")
}
