//! The layers of an architecture file, appended to a builder.

use super::source::{Sizes, Table, Value};
use crate::names::{hint, quote, shown};
use crate::{
    Activation, Builder, ConvSpec, GraphError, Group, HasBias, NodeId, Nonlinearity, Padding,
    PoolSpec, Projection, Shape,
};

/// Deepest nesting of residual, gate and concat.
const MAX_NESTING: usize = 16;

/// Constants of the norms, PyTorch's where it has one.
const EPS: f64 = 1e-5;
const RMS_EPS: f64 = 1e-6;

/// Every op but the activations, with the keys it takes beside `op` and `name`.
#[rustfmt::skip]
const OPS: [(&str, &[&str]); 28] = [
    ("conv", &["channels", "kernel", "stride", "dilation", "padding", "groups", "bias"]),
    ("local", &["channels", "kernel", "stride", "dilation", "padding", "bias"]),
    ("p4-conv", &["channels", "kernel", "stride", "dilation", "padding", "bias"]),
    ("p4m-conv", &["channels", "kernel", "stride", "dilation", "padding", "bias"]),
    ("group-pool", &["by"]),
    ("dense", &["features", "bias"]),
    ("bias", &[]),
    ("scale", &["by"]),
    ("layer-scale", &["initial"]),
    ("dropout", &["rate"]),
    ("max-pool", &["size", "stride", "padding"]),
    ("avg-pool", &["size", "stride", "padding"]),
    ("global-avg-pool", &[]),
    ("flatten", &[]),
    ("residual", &["branch", "skip"]),
    ("gate", &["branch", "skip"]),
    ("concat", &["branches"]),
    ("batch-norm", &["eps"]),
    ("layer-norm", &["eps"]),
    ("group-norm", &["groups", "eps"]),
    ("rms-norm", &["eps"]),
    ("patch-embed", &["size", "width"]),
    ("tokens", &[]),
    ("image", &["size"]),
    ("class-token", &[]),
    ("position", &[]),
    ("attention", &["heads"]),
    ("take-token", &["index"]),
];

/// Appends layers to a network.
pub(super) struct Layers<'b> {
    pub builder: &'b mut Builder,
    /// Replaces every activation of the file.
    pub activation: Option<Nonlinearity>,
}

/// A layer that has been recognised.
struct Layer<'a> {
    table: Table<'a>,
    op: &'a str,
    path: &'a str,
    nesting: usize,
}

impl Layers<'_> {
    /// Appends a list of layers; `prefix` is empty or ends in a dot.
    pub fn sequence(
        &mut self,
        list: Value<'_>,
        mut x: NodeId,
        prefix: &str,
        nesting: usize,
    ) -> Result<NodeId, GraphError> {
        if nesting > MAX_NESTING {
            return Err(list.error(format!("layers are nested more than {MAX_NESTING} deep")));
        }
        for (index, value) in list.items("layers")?.enumerate() {
            x = self.layer(value, x, format!("{prefix}{index}"), nesting)?;
        }
        Ok(x)
    }

    fn layer(
        &mut self,
        value: Value<'_>,
        x: NodeId,
        index_path: String,
        nesting: usize,
    ) -> Result<NodeId, GraphError> {
        let what = format!("layer {index_path}");
        let table = value.table(&what)?;
        let op_value = table.need("op", r#"op = "relu""#)?;
        let op = op_value.text()?;
        let Some(keys) = keys(op) else {
            let names = OPS.iter().map(|(name, _)| *name);
            let hint = hint(op, names.chain(Activation::NAMES));
            return Err(op_value.error(format!("unknown op {}; {hint}", quote(op))));
        };
        let path = match table.get("name") {
            Some(name) => name.text()?.to_owned(),
            None => index_path,
        };
        let what = format!("layer {} ({op})", shown(&path));
        let table = Table {
            what: &what,
            ..table
        };
        table.only(&[&["op", "name"], keys].concat())?;
        let layer = Layer {
            table,
            op,
            path: &path,
            nesting,
        };
        let result = match op {
            "conv" | "local" | "p4-conv" | "p4m-conv" | "dense" | "bias" => self.linear(&layer, x),
            "max-pool" | "avg-pool" | "group-pool" | "global-avg-pool" | "flatten" => {
                self.pool(&layer, x)
            }
            "residual" | "gate" | "concat" => self.combine(&layer, x),
            "batch-norm" | "layer-norm" | "group-norm" | "rms-norm" => self.norm(&layer, x),
            "patch-embed" | "tokens" | "image" | "class-token" | "position" | "attention"
            | "take-token" => self.tokens(&layer, x),
            _ => self.elementwise(&layer, x),
        };
        result.map_err(|error| match error {
            GraphError::File { .. } => error,
            other => value.error(other.to_string()),
        })
    }

    fn linear(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let table = &layer.table;
        match layer.op {
            "bias" => self.builder.bias(x, layer.path),
            "dense" => {
                let features = table.need("features", "features = 10")?.whole()?;
                let bias = has_bias(table)?;
                self.builder.dense(x, layer.path, features, bias)
            }
            op => {
                let channels = table.need("channels", "channels = 16")?.whole()?;
                let kernel = self.sizes(table.need("kernel", "kernel = 3")?, x)?;
                let mut spec = ConvSpec::new(channels, kernel).bias(has_bias(table)?);
                if let Some(stride) = table.get("stride") {
                    spec = spec.stride(self.sizes(stride, x)?);
                }
                if let Some(dilation) = table.get("dilation") {
                    spec = spec.dilation(self.sizes(dilation, x)?);
                }
                if let Some(padding) = padding(table)? {
                    spec = spec.padding(padding);
                }
                if let Some(groups) = table.get("groups") {
                    spec = spec.groups(groups.whole()?);
                }
                match op {
                    "local" => self.builder.local(x, layer.path, spec),
                    "p4-conv" => self.builder.group_conv(x, layer.path, Group::P4, spec),
                    "p4m-conv" => self.builder.group_conv(x, layer.path, Group::P4m, spec),
                    _ => self.builder.conv(x, layer.path, spec),
                }
            }
        }
    }

    fn pool(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let table = &layer.table;
        match layer.op {
            "flatten" => self.builder.flatten(x, layer.path),
            "global-avg-pool" => self.builder.global_avg_pool(x, layer.path),
            "group-pool" => {
                let by = projection(table)?;
                self.builder.group_pool(x, layer.path, by)
            }
            op => {
                let size = self.sizes(table.need("size", "size = 2")?, x)?;
                let mut spec = PoolSpec::new(size);
                if let Some(stride) = table.get("stride") {
                    spec = spec.stride(self.sizes(stride, x)?);
                }
                if let Some(padding) = padding(table)? {
                    spec = spec.padding(padding);
                }
                match op {
                    "max-pool" => self.builder.max_pool(x, layer.path, spec),
                    _ => self.builder.avg_pool(x, layer.path, spec),
                }
            }
        }
    }

    fn combine(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let (table, path, nesting) = (&layer.table, layer.path, layer.nesting + 1);
        if layer.op != "concat" {
            let branch = table.need("branch", r#"branch = [ { op = "relu" } ]"#)?;
            let y = self.sequence(branch, x, &format!("{path}.branch."), nesting)?;
            let skip = match table.get("skip") {
                Some(skip) => self.sequence(skip, x, &format!("{path}.skip."), nesting)?,
                None => x,
            };
            return match layer.op {
                "gate" => self.builder.gate(skip, y, path),
                _ => self.builder.add(&[y, skip], path),
            };
        }
        let branches = table.need("branches", r#"branches = [ [], [ { op = "relu" } ] ]"#)?;
        let mut paths = Vec::new();
        for (i, branch) in branches.items("lists of layers")?.enumerate() {
            let prefix = format!("{path}.branches.{i}.");
            paths.push(self.sequence(branch, x, &prefix, nesting)?);
        }
        self.builder.concat(&paths, path)
    }

    fn norm(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let table = &layer.table;
        let eps = |default: f64| table.get("eps").map_or(Ok(default), |v| v.number());
        match layer.op {
            "batch-norm" => self.builder.batch_norm(x, layer.path, eps(EPS)?),
            "layer-norm" => self.builder.layer_norm(x, layer.path, eps(EPS)?),
            "rms-norm" => self.builder.rms_norm(x, layer.path, eps(RMS_EPS)?),
            _ => {
                let groups = table.need("groups", "groups = 4")?.whole()?;
                self.builder.group_norm(x, layer.path, groups, eps(EPS)?)
            }
        }
    }

    fn tokens(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let table = &layer.table;
        match layer.op {
            "patch-embed" => {
                let size = self.sizes(table.need("size", "size = 8")?, x)?;
                let width = table.need("width", "width = 192")?.whole()?;
                self.builder.patch_embed(x, layer.path, size, width)
            }
            "tokens" => self.builder.to_tokens(x, layer.path),
            "image" => {
                let size = self.sizes(table.need("size", "size = [4, 4]")?, x)?;
                self.builder.to_image(x, layer.path, size)
            }
            "class-token" => self.builder.class_token(x, layer.path),
            "position" => self.builder.position(x, layer.path),
            "attention" => {
                let heads = table.need("heads", "heads = 12")?.whole()?;
                self.builder.attention(x, layer.path, heads)
            }
            _ => {
                let index = table.get("index").map_or(Ok(0), |v| v.whole())?;
                self.builder.take_token(x, layer.path, index)
            }
        }
    }

    fn elementwise(&mut self, layer: &Layer<'_>, x: NodeId) -> Result<NodeId, GraphError> {
        let table = &layer.table;
        match layer.op {
            "scale" => {
                let by = table.need("by", "by = 0.5")?.number()?;
                self.builder.scale(x, layer.path, by)
            }
            "layer-scale" => {
                let initial = table.get("initial").map_or(Ok(1.0), |v| v.number())?;
                self.builder.layer_scale(x, layer.path, initial)
            }
            "dropout" => {
                let rate = table.get("rate").map_or(Ok(0.5), |v| v.number())?;
                self.builder.dropout(x, layer.path, rate)
            }
            op => {
                let mut activation: Activation = op.parse()?;
                if let Activation::LeakyRelu { slope: value } | Activation::Softplus { beta: value } =
                    &mut activation
                    && let Some(given) = table.get("slope").or(table.get("beta"))
                {
                    *value = given.number()?;
                }
                let activation = self.activation.unwrap_or(activation.into());
                self.builder.activation(x, layer.path, activation)
            }
        }
    }

    /// `k` is k×k on images and k on signals; `[h, w]` is itself.
    fn sizes(&self, value: Value<'_>, x: NodeId) -> Result<[usize; 2], GraphError> {
        match (value.one_or_two()?, self.builder.shape(x)) {
            (Sizes::Two(sizes), _) => Ok(sizes),
            (Sizes::One(k), Shape::Signal { .. }) => Ok([1, k]),
            (Sizes::One(k), _) => Ok([k, k]),
        }
    }
}

/// The keys of an op, `None` if there is no such op.
fn keys(op: &str) -> Option<&'static [&'static str]> {
    match op {
        "leaky-relu" => Some(&["slope"]),
        "softplus" => Some(&["beta"]),
        _ if Activation::NAMES.contains(&op) => Some(&[]),
        _ => OPS
            .iter()
            .find(|(name, _)| *name == op)
            .map(|(_, keys)| *keys),
    }
}

fn has_bias(table: &Table<'_>) -> Result<HasBias, GraphError> {
    let bias = table.get("bias").map_or(Ok(true), |v| v.truth())?;
    Ok(if bias { HasBias::Yes } else { HasBias::No })
}

fn projection(table: &Table<'_>) -> Result<Projection, GraphError> {
    let Some(value) = table.get("by") else {
        return Ok(Projection::Max);
    };
    match value.text()? {
        "max" => Ok(Projection::Max),
        "mean" => Ok(Projection::Mean),
        other => {
            let hint = hint(other, ["max", "mean"]);
            Err(value.error(format!("unknown projection {}; {hint}", quote(other))))
        }
    }
}

fn padding(table: &Table<'_>) -> Result<Option<Padding>, GraphError> {
    let Some(value) = table.get("padding") else {
        return Ok(None);
    };
    Ok(Some(match value.whole_or_text()? {
        Ok(zeros) => Padding::Zeros(zeros),
        Err("same") => Padding::Same,
        Err("valid") => Padding::Valid,
        Err("circular") => Padding::Circular,
        Err(other) => {
            let hint = hint(other, ["same", "valid", "circular"]);
            let problem = format!("unknown padding {}; {hint} (or a number)", quote(other));
            return Err(value.error(problem));
        }
    }))
}
