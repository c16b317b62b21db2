//! Layers of transformers.

use super::laws::PytorchLaws;
use super::linear::at_least_one;
use super::{Builder, ConvSpec, is_a, setting_error, shape_error};
use crate::{GraphError, Law, NodeId, Op, ParamId, Role, Shape};

/// Standard deviation of a fresh position embedding.
const POSITION_STD: f64 = 0.02;

impl Builder {
    /// Cuts an image into squares of `size` (a signal into runs) and maps each to a token of `width` numbers.
    pub fn patch_embed(
        &mut self,
        x: NodeId,
        layer: &str,
        size: [usize; 2],
        width: usize,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let input = self.shape(x);
        let sizes = match input {
            Shape::Image { height, width, .. } => [height, width],
            Shape::Signal { length, .. } => [1, length],
            Shape::Vector { .. } | Shape::Tokens { .. } => {
                let wanted = "an image CxHxW or a signal CxL";
                return Err(shape_error(
                    layer,
                    "patch-embed",
                    input,
                    is_a(input),
                    wanted,
                ));
            }
        };
        at_least_one(layer, "patch-embed", "width", width)?;
        for (n, patch) in sizes.into_iter().zip(size) {
            at_least_one(layer, "patch-embed", "size", patch)?;
            if !n.is_multiple_of(patch) {
                let problem = format!("is not a whole number of patches of {}", text(input, size));
                let wanted = format!("sizes that are multiples of {}", text(input, size));
                return Err(shape_error(layer, "patch-embed", input, problem, wanted));
            }
        }
        let spec = ConvSpec::new(width, size).stride(size);
        let y = self.conv_claimed(x, layer, "patch-embed", spec)?;
        let count = self.shape(y).len() / width;
        self.push(layer, Op::ToTokens, &[y], Shape::Tokens { count, width })
    }

    /// Image or signal to tokens: one token a position in row order, its channels as coordinates.
    pub fn to_tokens(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        self.plane(x, layer, "tokens")?;
        let input = self.shape(x);
        let width = match input {
            Shape::Image { channels, .. } | Shape::Signal { channels, .. } => channels,
            Shape::Vector { .. } | Shape::Tokens { .. } => {
                let wanted = "an image CxHxW or a signal CxL";
                return Err(shape_error(layer, "tokens", input, is_a(input), wanted));
            }
        };
        let count = input.len() / width;
        self.push(layer, Op::ToTokens, &[x], Shape::Tokens { count, width })
    }

    /// Tokens to the positions of an image, in row order; their coordinates become channels.
    pub fn to_image(
        &mut self,
        x: NodeId,
        layer: &str,
        [height, width]: [usize; 2],
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (count, channels) = self.tokens(x, layer, "image")?;
        if height.checked_mul(width) != Some(count) {
            let value = format!("{height}x{width}");
            let wanted = format!("a height and a width whose product is the {count} tokens");
            return Err(setting_error(layer, "image", "size", value, wanted));
        }
        let shape = Shape::Image {
            channels,
            height,
            width,
        };
        self.push(layer, Op::ToImage, &[x], shape)
    }

    /// Prepends a learned token; its parameter carries the layer's name and starts at 0.
    pub fn class_token(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        let (_, width) = self.tokens(x, layer, "class-token")?;
        let token = self.class_token_param(layer, width)?;
        self.class_token_of(x, layer, token)
    }

    /// The parameter of a class token, for networks whose `state_dict` lists it before the layers ahead of it.
    pub(crate) fn class_token_param(
        &mut self,
        layer: &str,
        width: usize,
    ) -> Result<ParamId, GraphError> {
        let shape = [1, 1, width];
        let zero = Law::Constant(0.0);
        self.param(layer, layer.to_owned(), &shape, zero, Role::Trainable)
    }

    /// Prepends the token of [`Builder::class_token_param`].
    pub(crate) fn class_token_of(
        &mut self,
        x: NodeId,
        layer: &str,
        token: ParamId,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (count, width) = self.tokens(x, layer, "class-token")?;
        let count = count + 1;
        let op = Op::ClassToken { token };
        self.push(layer, op, &[x], Shape::Tokens { count, width })
    }

    /// Adds a learned position embedding; its parameter carries the layer's name.
    pub fn position(&mut self, x: NodeId, layer: &str) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (count, width) = self.tokens(x, layer, "position")?;
        let law = Law::Normal { std: POSITION_STD };
        let shape = [1, count, width];
        let embedding = self.param(layer, layer.to_owned(), &shape, law, Role::Trainable)?;
        self.push(layer, Op::Position { embedding }, &[x], self.shape(x))
    }

    /// Keeps one token as a vector.
    pub fn take_token(
        &mut self,
        x: NodeId,
        layer: &str,
        index: usize,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (count, features) = self.tokens(x, layer, "take-token")?;
        if index >= count {
            let wanted = format!("below the {count} tokens (the first is 0)");
            return Err(setting_error(layer, "take-token", "index", index, wanted));
        }
        let shape = Shape::Vector { features };
        self.push(layer, Op::TakeToken { index }, &[x], shape)
    }

    /// Multi-head self-attention as torch.nn.MultiheadAttention: under `pytorch` the input projection is
    /// xavier-uniform over its 3·width × width matrix, the output projection U(±1/√width), both biases 0.
    pub fn attention(
        &mut self,
        x: NodeId,
        layer: &str,
        heads: usize,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let (_, width) = self.tokens(x, layer, "attention")?;
        at_least_one(layer, "attention", "heads", heads)?;
        if !width.is_multiple_of(heads) {
            let wanted = format!("a divisor of the token width {width}");
            return Err(setting_error(layer, "attention", "heads", heads, wanted));
        }
        let zero = Law::Constant(0.0);
        let into = PytorchLaws {
            weight: Law::Uniform {
                bound: (6.0 / (4 * width) as f64).sqrt(),
            },
            bias: zero,
        };
        let out = PytorchLaws {
            bias: zero,
            ..PytorchLaws::default_for(width)
        };
        let (in_law, scale) = self.weight_rule(width, 3 * width, into);
        let (out_law, _) = self.weight_rule(width, width, out);
        let (bias_law, bias_scale) = self.bias_rule(into);
        let mut part = |name: &str, shape: &[usize], law| {
            let name = format!("{layer}.{name}");
            self.param(layer, name, shape, law, Role::Trainable)
        };
        let op = Op::Attention {
            heads,
            in_weight: part("in_proj_weight", &[3 * width, width], in_law)?,
            in_bias: Some(part("in_proj_bias", &[3 * width], bias_law)?),
            out_weight: part("out_proj.weight", &[width, width], out_law)?,
            out_bias: Some(part("out_proj.bias", &[width], bias_law)?),
            scale,
            bias_scale,
        };
        self.push(layer, op, &[x], self.shape(x))
    }

    fn tokens(
        &self,
        x: NodeId,
        layer: &str,
        op: &'static str,
    ) -> Result<(usize, usize), GraphError> {
        match self.shape(x) {
            Shape::Tokens { count, width } => Ok((count, width)),
            input => {
                let wanted = "tokens, so put a patch-embed or tokens before it";
                Err(shape_error(layer, op, input, is_a(input), wanted))
            }
        }
    }
}

/// `8x8`, or `8` on signals.
fn text(input: Shape, [height, width]: [usize; 2]) -> String {
    match input {
        Shape::Signal { .. } => width.to_string(),
        _ => format!("{height}x{width}"),
    }
}
