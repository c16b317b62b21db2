//! What can be wrong with an architecture: one line each, with what would be right.

use crate::Shape;
use crate::names::quote;

/// A network that cannot be built, or a text that does not name one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    // === Layers ===
    /// A layer that does not fit its input.
    #[error("layer {layer} ({op}): input {input} {problem}; it wants {wanted}")]
    Shape {
        /// Layer path.
        layer: String,
        /// Kind of layer.
        op: &'static str,
        /// Shape it was given.
        input: Shape,
        /// What is wrong with that shape.
        problem: String,
        /// What would be right.
        wanted: String,
    },
    /// A number of a layer (stride, groups, rate, …) outside its range.
    #[error("layer {layer} ({op}): {setting} {value} is out of range; it must be {wanted}")]
    Setting {
        /// Layer path.
        layer: String,
        /// Kind of layer.
        op: &'static str,
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        wanted: String,
    },
    /// A network larger than anything this library will build.
    #[error("layer {layer}: {what} exceeds the limit of {limit}; choose smaller sizes")]
    TooLarge {
        /// Layer path.
        layer: String,
        /// The quantity that is too large.
        what: &'static str,
        /// Its limit.
        limit: usize,
    },
    /// Two layers or parameters with one name, or a name that cannot be one.
    #[error("layer {}: {problem}; give it another `name`", quote(layer))]
    Name {
        /// The name.
        layer: String,
        /// What is wrong with it.
        problem: String,
    },

    // === Zoo ===
    /// No network of that name.
    #[error("unknown architecture {}: {hint}", quote(name))]
    UnknownArchitecture {
        /// What was typed.
        name: String,
        /// The nearest name, or where names are listed.
        hint: String,
    },
    /// A network on an input it cannot read.
    #[error("{architecture}: input {input} does not fit; it wants {wanted}")]
    Input {
        /// Network.
        architecture: String,
        /// Shape it was given.
        input: Shape,
        /// What would be right.
        wanted: &'static str,
    },
    /// An option that the network does not take, or takes with another value.
    #[error("{architecture}: {option} {problem}")]
    Option {
        /// Network or file.
        architecture: String,
        /// Command-line spelling of the option.
        option: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },

    // === Text ===
    /// A shape, activation, parametrisation or bias rule that does not parse.
    #[error("{kind} {}: {problem}", quote(text))]
    Text {
        /// What was being read.
        kind: &'static str,
        /// What was typed.
        text: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A place in an architecture file.
    #[error("{path}:{line}:{column}: {problem}")]
    File {
        /// File.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Character in the line, from 1.
        column: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// An architecture file that cannot be read.
    #[error("{path}: {problem}")]
    Read {
        /// File.
        path: String,
        /// What is wrong.
        problem: String,
    },
}
