//! Weights in and out as safetensors: eight bytes of header length (little endian), a JSON header
//! name → {dtype, shape, data_offsets}, then the numbers.
//!
//! By hand, because the `safetensors` crate names neither the tensor nor the numbers that are wrong, refuses files whose
//! tensors leave gaps, and writes tensors in an order of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use polariscope_diff::{Dtype, Real};
use polariscope_graph::{Graph, Param, Role, nearest};
use serde_json::Value;

use crate::weights::Weights;

/// What is wrong with a weights file.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a safetensors file, or a damaged one.
    #[error("{file}: not a valid safetensors file: {what}")]
    Malformed {
        /// Which file.
        file: String,
        /// What is wrong, and where.
        what: String,
    },
    /// A tensor of the network is not in the file.
    #[error("{file}: tensor '{name}' is missing, expected with shape {shape}{more}")]
    Missing {
        /// Which file.
        file: String,
        /// Its name.
        name: String,
        /// Its shape in the network.
        shape: String,
        /// Further missing tensors.
        more: String,
    },
    /// A tensor in the file is not in the network.
    #[error("{file}: tensor {name} is not part of the network{nearest}")]
    Extra {
        /// Which file.
        file: String,
        /// Its name.
        name: String,
        /// The network's most similar name.
        nearest: String,
    },
    /// A tensor has another shape than in the network.
    #[error(
        "{file}: tensor '{name}' has shape {}, the network expects {}",
        show(found),
        show(expected)
    )]
    WrongShape {
        /// Which file.
        file: String,
        /// Its name.
        name: String,
        /// In the file.
        found: Vec<usize>,
        /// In the network.
        expected: Vec<usize>,
    },
    /// NaN or infinity in the file.
    #[error("{file}: tensor '{name}' holds {value} at element {element}; weights must be finite")]
    NotFinite {
        /// Which file.
        file: String,
        /// Its name.
        name: String,
        /// Position in memory order.
        element: usize,
        /// NaN, inf or −inf.
        value: f64,
    },
}

/// What a file must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Every parameter and buffer.
    Weights,
    /// Every trainable parameter; buffers are constants, so theirs are ignored and read as zero.
    Tangent,
}

impl<T: Real> Weights<T> {
    /// Reads a safetensors file. `num_batches_tracked` entries may be there or not.
    pub fn read(graph: &Graph, path: &Path, contents: Contents) -> Result<Self, WeightsError> {
        let bytes = fs::read(path).map_err(|source| WeightsError::Io {
            path: path.into(),
            source,
        })?;
        Weights::parse(graph, &bytes, contents, &path.display().to_string())
    }

    /// Reads the bytes of a safetensors file; `file` names it in errors.
    pub fn parse(
        graph: &Graph,
        bytes: &[u8],
        contents: Contents,
        file: &str,
    ) -> Result<Self, WeightsError> {
        let (entries, data) = parse_header(bytes).map_err(|what| WeightsError::Malformed {
            file: file.into(),
            what,
        })?;
        refuse_extra(graph, &entries, file)?;
        let wanted = |p: &&Param| p.role == Role::Trainable || contents == Contents::Weights;
        refuse_missing(graph.params.iter().filter(wanted), &entries, file)?;
        let tensor = |param| {
            if wanted(&param)
                && let Some(entry) = entries.get(&param.name)
            {
                read_tensor(param, entry, data, file)
            } else {
                Ok(vec![T::ZERO; param.len()])
            }
        };
        let values = graph.params.iter().map(tensor).collect::<Result<_, _>>()?;
        Ok(Weights { values })
    }

    /// The bytes of a safetensors file: tensors in the order of the graph, so equal weights make equal files.
    pub fn to_bytes(&self, graph: &Graph) -> Vec<u8> {
        let (dtype, size) = match T::DTYPE {
            Dtype::F32 => ("F32", 4),
            Dtype::F64 => ("F64", 8),
        };
        let mut header = String::from(r#"{"__metadata__":{"format":"pt"}"#);
        let mut end = 0;
        for (param, values) in graph.params.iter().zip(&self.values) {
            let start = end;
            end += values.len() * size;
            let name = Value::from(param.name.as_str());
            let shape = Value::from(param.shape.clone());
            header += &format!(
                r#",{name}:{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#
            );
        }
        header.push('}');
        // Numbers start at a multiple of 8, as readers that map the file expect.
        while header.len() % 8 != 0 {
            header.push(' ');
        }
        let mut bytes = Vec::with_capacity(8 + header.len() + end);
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header.as_bytes());
        for &x in self.values.iter().flatten() {
            match T::DTYPE {
                Dtype::F32 => bytes.extend((x.to_f64() as f32).to_le_bytes()),
                Dtype::F64 => bytes.extend(x.to_f64().to_le_bytes()),
            }
        }
        bytes
    }

    /// Writes a safetensors file under a temporary name, then renames it: never half a file.
    pub fn write(&self, graph: &Graph, path: &Path) -> Result<(), WeightsError> {
        write_atomically(path, &self.to_bytes(graph)).map_err(|source| WeightsError::Io {
            path: path.into(),
            source,
        })
    }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        // The first error is the one to report; a temporary that was never made need not go.
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

/// Number type of a tensor in a file.
#[derive(Clone, Copy)]
enum Stored {
    F16,
    Bf16,
    F32,
    F64,
}

impl Stored {
    fn size(self) -> usize {
        match self {
            Stored::F16 | Stored::Bf16 => 2,
            Stored::F32 => 4,
            Stored::F64 => 8,
        }
    }
}

/// One tensor of the header; its range lies inside the data and fits its shape.
struct Entry {
    /// `None` for `num_batches_tracked` and other integers, which only [`read_tensor`] minds.
    stored: Option<Stored>,
    dtype: String,
    shape: Vec<usize>,
    start: usize,
    end: usize,
}

type Entries = BTreeMap<String, Entry>;

fn parse_header(bytes: &[u8]) -> Result<(Entries, &[u8]), String> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(format!("{} bytes, a header length needs 8", bytes.len()));
    };
    let length = u64::from_le_bytes(*length);
    let left = rest.len();
    let split = usize::try_from(length)
        .ok()
        .and_then(|n| rest.split_at_checked(n));
    let Some((header, data)) = split else {
        return Err(format!(
            "header of {length} bytes declared, {left} bytes left"
        ));
    };
    let header: serde_json::Map<String, Value> =
        serde_json::from_slice(header).map_err(|e| format!("header at byte 8: {e}"))?;
    let mut entries = Entries::new();
    for (name, value) in header {
        if name != "__metadata__" {
            let entry = parse_entry(&value, data.len());
            let entry = entry.map_err(|what| format!("tensor {}: {what}", quote(&name)))?;
            entries.insert(name, entry);
        }
    }
    Ok((entries, data))
}

fn parse_entry(value: &Value, available: usize) -> Result<Entry, String> {
    let sizes = |key: &str| -> Option<Vec<usize>> {
        let items = value.get(key)?.as_array()?.iter();
        items.map(|v| usize::try_from(v.as_u64()?).ok()).collect()
    };
    let dtype = value.get("dtype").and_then(Value::as_str);
    let dtype = dtype.ok_or("no dtype")?.to_owned();
    let shape = sizes("shape").ok_or("no shape")?;
    let offsets = sizes("data_offsets").ok_or("no data_offsets")?;
    let [start, end] = offsets[..] else {
        return Err(format!("{} data_offsets instead of 2", offsets.len()));
    };
    if start > end || end > available {
        return Err(format!(
            "data_offsets {start}..{end} outside the {available} bytes of data"
        ));
    }
    let stored = match dtype.as_str() {
        "F16" => Some(Stored::F16),
        "BF16" => Some(Stored::Bf16),
        "F32" => Some(Stored::F32),
        "F64" => Some(Stored::F64),
        _ => None,
    };
    if let Some(stored) = stored {
        let bytes = shape
            .iter()
            .try_fold(stored.size(), |n, &d| n.checked_mul(d));
        if bytes != Some(end - start) {
            return Err(format!(
                "shape {} of {dtype} does not fill its {} bytes",
                show(&shape),
                end - start
            ));
        }
    }
    Ok(Entry {
        stored,
        dtype,
        shape,
        start,
        end,
    })
}

fn refuse_extra(graph: &Graph, entries: &Entries, file: &str) -> Result<(), WeightsError> {
    let known = |name: &String| graph.params.iter().any(|p| &p.name == name);
    let counter = |name: &String| name.ends_with("num_batches_tracked");
    let Some(name) = entries.keys().find(|n| !known(n) && !counter(n)) else {
        return Ok(());
    };
    let nearest = nearest(name, graph.params.iter().map(|p| p.name.as_str()));
    Err(WeightsError::Extra {
        file: file.into(),
        name: quote(name),
        nearest: nearest.map_or(String::new(), |near| format!("; did you mean '{near}'?")),
    })
}

fn refuse_missing<'a>(
    wanted: impl Iterator<Item = &'a Param>,
    entries: &Entries,
    file: &str,
) -> Result<(), WeightsError> {
    let mut missing = wanted.filter(|p| !entries.contains_key(&p.name));
    let Some(first) = missing.next() else {
        return Ok(());
    };
    let more = match missing.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    Err(WeightsError::Missing {
        file: file.into(),
        name: first.name.clone(),
        shape: show(&first.shape),
        more,
    })
}

fn read_tensor<T: Real>(
    param: &Param,
    entry: &Entry,
    data: &[u8],
    file: &str,
) -> Result<Vec<T>, WeightsError> {
    let Some(stored) = entry.stored else {
        return Err(WeightsError::Malformed {
            file: file.into(),
            what: format!(
                "tensor '{}' has type {}, expected F16, BF16, F32 or F64",
                param.name,
                quote(&entry.dtype)
            ),
        });
    };
    if entry.shape != param.shape {
        return Err(WeightsError::WrongShape {
            file: file.into(),
            name: param.name.clone(),
            found: entry.shape.clone(),
            expected: param.shape.clone(),
        });
    }
    let bytes = &data[entry.start..entry.end];
    let values: Vec<f64> = match stored {
        Stored::F16 => numbers(bytes, |b| half(u16::from_le_bytes(b))),
        Stored::Bf16 => numbers(bytes, |b| {
            f64::from(f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16))
        }),
        Stored::F32 => numbers(bytes, |b| f64::from(f32::from_le_bytes(b))),
        Stored::F64 => numbers(bytes, f64::from_le_bytes),
    };
    let values: Vec<T> = values.into_iter().map(T::from_f64).collect();
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(values),
        Some(element) => Err(WeightsError::NotFinite {
            file: file.into(),
            name: param.name.clone(),
            element,
            value: values[element].to_f64(),
        }),
    }
}

fn numbers<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().map(|&b| number(b)).collect()
}

/// IEEE half precision: 1 sign, 5 exponent, 10 mantissa bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let mantissa = f64::from(bits & 0x3FF);
    let magnitude = match i32::from(bits >> 10 & 0x1F) {
        0 => mantissa * 2.0_f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + mantissa) * 2.0_f64.powi(e - 25),
    };
    sign * magnitude
}

fn show(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    dims.join("x")
}

/// A name from a file: control characters escaped and long text cut, so that a message stays one line.
fn quote(name: &str) -> String {
    let shown: String = name.chars().take(80).collect();
    let cut = if shown.len() < name.len() { "…" } else { "" };
    format!("'{}{cut}'", shown.escape_debug())
}
