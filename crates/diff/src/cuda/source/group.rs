//! Several steps in one kernel: row by row, each step after the one before it.
//!
//! Where a row is one number, a thread makes it, and values that nobody else reads stay in its registers. Longer rows are a
//! warp's: its lanes make the numbers of a step side by side and then wait for each other.

use super::{BLOCKS, Code, Elements, THREADS, index};

/// Lanes of a warp.
const WARP: usize = 32;

/// A step of a group.
pub struct Member {
    /// Its statements.
    pub elements: Elements,
    /// Its result and its arguments.
    pub variables: Vec<Variable>,
    /// Numbers of its row.
    pub width: usize,
}

/// An array of the kernel, by number, or a value that stays in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    Array(usize),
    Held(usize),
}

/// The kernel of a group over so many arrays, the largest of which has `largest` numbers.
pub fn group(members: &[Member], rows: usize, arrays: usize, largest: usize) -> Code {
    let single = members.iter().all(|member| member.width == 1);
    let parameters: Vec<String> = (0..arrays)
        .map(|k| format!("T* __restrict__ p{k}"))
        .collect();
    let mut held: Vec<usize> = Vec::new();
    let mut body = String::new();
    for member in members {
        let names = std::iter::once("out".to_owned()).chain((0..).map(|i| format!("a{i}")));
        let mut text = String::new();
        for (name, variable) in names.zip(&member.variables) {
            text += &match *variable {
                Variable::Array(k) if name == "out" => format!("T* const out = p{k};\n"),
                Variable::Array(k) => format!("const T* const {name} = p{k};\n"),
                Variable::Held(step) => format!("Held& {name} = held{step};\n"),
            };
        }
        if let Variable::Held(step) = member.variables[0] {
            held.push(step);
        }
        let (width, statements) = (member.width, &member.elements.0);
        body += &match single {
            true => format!("{{\n{text}const I i = row;\n{statements}}}\n"),
            false => format!(
                "{{\n{text}for (I i = row * {width} + lane; i < (row + 1) * {width}; i += {WARP}) {{\n\
                 {statements}}}\n}}\n__syncwarp();\n"
            ),
        };
    }
    let held: String = held.iter().map(|k| format!("Held held{k};\n")).collect();
    let team = if single { 1 } else { WARP };
    let a_block = THREADS / team;
    let text = format!(
        "({}) {{\n\
         typedef {} I;\n\
         struct Held {{ T x; __device__ T& operator[](I) {{ return x; }} }};\n\
         const int lane = threadIdx.x % {team};\n\
         for (I row = blockIdx.x * (I){a_block} + threadIdx.x / {team}; row < {rows}; row += gridDim.x * (I){a_block}) {{\n\
         {held}{body}}}\n}}",
        parameters.join(", "),
        index(largest),
    );
    Code {
        text,
        blocks: [rows.div_ceil(a_block).clamp(1, BLOCKS), 1, 1],
        shared: 0,
        operands: Vec::new(),
        scratch: 0,
    }
}
