//! Vision transformer: patch 8, 9 layers, 12 heads, width 192, hidden 768; x + attention(ln x), x + mlp(ln x),
//! read out from the class token. Parameter names and order are torchvision's.

use super::Settings;
use crate::{Activation, Builder, GraphError, HasBias, NodeId};

const PATCH: [usize; 2] = [8, 8];
const LAYERS: usize = 9;
const HEADS: usize = 12;
const WIDTH: usize = 192;
const HIDDEN: usize = 768;
const EPS: f64 = 1e-6;

/// Layer norm, or nothing in its place.
type Norm = fn(&mut Builder, NodeId, &str) -> Result<NodeId, GraphError>;

pub(super) fn with_norm(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, |b, x, layer| b.layer_norm(x, layer, EPS))
}

pub(super) fn without_norm(b: &mut Builder, s: &Settings) -> Result<(), GraphError> {
    build(b, s, |_, x, _| Ok(x))
}

fn build(b: &mut Builder, s: &Settings, norm: Norm) -> Result<(), GraphError> {
    let activation = s.activation(Activation::Gelu);
    // A module's own parameters come before its children's in a state_dict.
    let token = b.class_token_param("class_token", WIDTH)?;
    let mut x = b.patch_embed(Builder::INPUT, "conv_proj", PATCH, WIDTH)?;
    x = b.class_token_of(x, "class_token", token)?;
    x = b.position(x, "encoder.pos_embedding")?;
    for l in 0..LAYERS {
        let path = format!("encoder.layers.encoder_layer_{l}");
        let y = norm(b, x, &format!("{path}.ln_1"))?;
        let y = b.attention(y, &format!("{path}.self_attention"), HEADS)?;
        x = b.add(&[y, x], &format!("{path}.add_1"))?;
        let y = norm(b, x, &format!("{path}.ln_2"))?;
        let y = b.dense(y, &format!("{path}.mlp.0"), HIDDEN, HasBias::Yes)?;
        let y = b.activation(y, &format!("{path}.mlp.1"), activation)?;
        let y = b.dense(y, &format!("{path}.mlp.3"), WIDTH, HasBias::Yes)?;
        x = b.add(&[x, y], &format!("{path}.add_2"))?;
    }
    x = norm(b, x, "encoder.ln")?;
    x = b.take_token(x, "take", 0)?;
    b.dense(x, "heads.head", s.outputs, HasBias::Yes)?;
    Ok(())
}
