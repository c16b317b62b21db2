//! Architecture files.
//!
//! ```toml
//! input = [3, 8, 8]                 # channels, height, width; [channels, length] is a signal, [10] a vector
//! parametrisation = "ntk"           # `pytorch` when left out
//! w_std = 1.4142135623730951        # 1 when left out; ntk and mean-field only
//! b_std = 0.0                       # 0 when left out; ntk and mean-field only
//! layers = [
//!   { op = "conv", channels = 64, kernel = 3, padding = "circular" },
//!   { op = "relu" },
//!   { op = "flatten" },
//!   { op = "dense", features = 1, bias = false, name = "head" },
//! ]
//! ```
//!
//! | op | keys (those in brackets may be left out) |
//! |---|---|
//! | `conv`, `local` | channels, kernel (stride = 1, dilation = 1, padding = 0, bias = true; conv: groups = 1) |
//! | `p4-conv`, `p4m-conv` | as conv without groups: fields over turns, or turns and mirror images |
//! | `group-pool` | (by = "max", or "mean"): fields to an image |
//! | `dense` | features (bias = true) |
//! | `bias`, `flatten`, `global-avg-pool`, `class-token`, `position` | |
//! | `scale` · `layer-scale` · `dropout` | by · (initial = 1) · (rate = 0.5) |
//! | `relu`, `gelu`, … | `leaky-relu` (slope = 0.01), `softplus` (beta = 1) |
//! | `max-pool`, `avg-pool` | size (stride = size, padding = 0) |
//! | `residual` | branch (skip = [], the identity) |
//! | `gate` | branch (skip = [], the identity): their product |
//! | `concat` | branches, each a list of layers; [] is the identity |
//! | `batch-norm`, `layer-norm`, `rms-norm` | (eps = 1e-5; rms-norm 1e-6) |
//! | `group-norm` | groups (eps = 1e-5) |
//! | `patch-embed` | size, width |
//! | `tokens` · `image` | · size: their inverse |
//! | `attention` · `take-token` | heads · (index = 0) |
//!
//! `kernel`, `stride`, `dilation` and `size` are a number or [height, width]; `padding` is a number, "same",
//! "valid" or "circular" (convolutions). Every layer takes `name`, its whole path; unnamed layers get their
//! index path, as nn.Sequential would: `0`, `3.branch.1`, `3.skip.0`, `4.branches.1.0`.

mod layers;
mod source;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::de::DeTable;

use crate::zoo::ZooOptions;
use crate::{Builder, Graph, GraphError, Parametrisation, Shape, zoo};
use source::{FileText, Table};

/// Largest architecture file, in bytes: a thousand times the longest sensible one.
const MAX_FILE: u64 = 4 << 20;

/// Builds the network behind a name of the zoo or the path of an architecture file.
///
/// The options win over the file (input, parametrisation, activation, bias); `outputs` must agree with it.
pub fn load(name_or_path: &str, options: &ZooOptions) -> Result<Graph, GraphError> {
    let path = Path::new(name_or_path);
    let is_file = name_or_path.ends_with(".toml") || path.is_file();
    match zoo(name_or_path, options) {
        Err(GraphError::UnknownArchitecture { .. }) if is_file => {}
        result => return result,
    }
    let text = read(name_or_path, path)?;
    parse_file(&text, name_or_path, options)
}

/// The input that an architecture file states; `None` where it leaves that to the data.
pub fn stated_input(path: &str) -> Result<Option<Shape>, GraphError> {
    let text = read(path, Path::new(path))?;
    let source = FileText { path, text: &text };
    let root = DeTable::parse(&text).map_err(|e| source.syntax(&e))?;
    let top = top(source, root.get_ref());
    top.get("input").map(|_| input_shape(&top)).transpose()
}

fn top<'a>(source: FileText<'a>, table: &'a DeTable<'a>) -> Table<'a> {
    Table {
        source,
        table,
        at: 0,
        what: "the architecture file",
    }
}

fn read(shown: &str, path: &Path) -> Result<String, GraphError> {
    let wrong = |problem: String| GraphError::Read {
        path: shown.to_owned(),
        problem,
    };
    let file =
        File::open(path).map_err(|e| wrong(format!("cannot read the architecture file: {e}")))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|e| wrong(format!("cannot read the architecture file: {e}")))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(wrong(format!(
            "an architecture file has at most {MAX_FILE} bytes"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| wrong("an architecture file is UTF-8 text (TOML)".to_owned()))
}

/// Builds a network from the text of an architecture file; `path` names it in errors, its stem is the network's name.
///
/// ```
/// use polariscope_graph::{ZooOptions, parse_file};
/// let text = r#"
///     input = [10]
///     layers = [ { op = "dense", features = 3, baise = false } ]
/// "#;
/// let error = parse_file(text, "net.toml", &ZooOptions::default()).unwrap_err();
/// assert_eq!(error.to_string(), "net.toml:3:46: unknown key `baise` in layer 0 (dense); did you mean `bias`?");
/// ```
pub fn parse_file(text: &str, path: &str, options: &ZooOptions) -> Result<Graph, GraphError> {
    let source = FileText { path, text };
    let root = DeTable::parse(text).map_err(|e| source.syntax(&e))?;
    let top = top(source, root.get_ref());
    top.only(&["input", "parametrisation", "w_std", "b_std", "layers"])?;
    refuse_sizes(path, options)?;
    let input = match options.input {
        Some(input) => input,
        None => input_shape(&top)?,
    };
    let own = parametrisation(&top)?;
    let stem = Path::new(path).file_stem().and_then(|s| s.to_str());
    let rule = options.parametrisation.unwrap_or(own);
    let builder = Builder::new(stem.unwrap_or(path), input, rule, options.bias);
    let mut builder = builder.map_err(|error| match top.get("input") {
        Some(value) if options.input.is_none() => value.error(error.to_string()),
        _ => error,
    })?;
    let list = top.need(
        "layers",
        r#"layers = [ { op = "flatten" }, { op = "dense", features = 10 } ]"#,
    )?;
    let mut layers = layers::Layers {
        builder: &mut builder,
        activation: options.activation,
    };
    let output = layers.sequence(list, Builder::INPUT, "", 0)?;
    if output == Builder::INPUT {
        return Err(list.error("`layers` is empty; a network has at least one layer"));
    }
    let graph = builder.finish();
    match options.outputs {
        Some(outputs) if graph.output() != (Shape::Vector { features: outputs }) => {
            Err(GraphError::Option {
                architecture: path.to_owned(),
                option: "--outputs",
                problem: format!(
                    "{outputs} does not fit: the last layer gives {}; change the file or leave the option out",
                    graph.output()
                ),
            })
        }
        _ => Ok(graph),
    }
}

/// The file sets its own sizes.
fn refuse_sizes(path: &str, options: &ZooOptions) -> Result<(), GraphError> {
    let given = [
        ("--depth", options.depth),
        ("--width", options.width),
        ("--kernel", options.kernel),
    ];
    match given.into_iter().find(|(_, value)| value.is_some()) {
        None => Ok(()),
        Some((option, _)) => Err(GraphError::Option {
            architecture: path.to_owned(),
            option,
            problem: "is not an option of architecture files; change the file".to_owned(),
        }),
    }
}

fn input_shape(top: &Table<'_>) -> Result<Shape, GraphError> {
    let value = top.need("input", "input = [3, 32, 32]")?;
    match value.wholes()?[..] {
        [features] => Ok(Shape::Vector { features }),
        [channels, length] => Ok(Shape::Signal { channels, length }),
        [channels, height, width] => Ok(Shape::Image {
            channels,
            height,
            width,
        }),
        _ => Err(value
            .error("`input` must be [channels, height, width], [channels, length] or [features]")),
    }
}

fn parametrisation(top: &Table<'_>) -> Result<Parametrisation, GraphError> {
    let mut rule = match top.get("parametrisation") {
        None => Parametrisation::Pytorch,
        Some(value) => {
            let parsed = value.text()?.parse();
            parsed.map_err(|e: GraphError| value.error(e.to_string()))?
        }
    };
    for key in ["w_std", "b_std"] {
        let Some(value) = top.get(key) else { continue };
        let number = value.number()?;
        let (Parametrisation::Ntk { w_std, b_std } | Parametrisation::MeanField { w_std, b_std }) =
            &mut rule
        else {
            let problem = format!(
                "`{key}` has a meaning only with parametrisation = \"ntk\" or \"mean-field\""
            );
            return Err(value.error(problem));
        };
        match key {
            "w_std" if number > 0.0 => *w_std = number,
            "b_std" if number >= 0.0 => *b_std = number,
            "w_std" => return Err(value.error("`w_std` must be above 0")),
            _ => return Err(value.error("`b_std` must not be below 0")),
        }
    }
    Ok(rule)
}
