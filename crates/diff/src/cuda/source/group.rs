//! Several steps in one kernel: row by row, each step after the one before it.
//!
//! Where a row is one number, a thread makes it, and values that nobody else reads stay in its registers. Longer rows are a
//! warp's: its lanes make the numbers of a step side by side and then wait for each other.

use super::{BLOCKS, Code, Elements, THREADS, index};

/// Lanes of a warp.
const WARP: usize = 32;

/// A step whose numbers are made as they are read.
pub struct Lazy {
    /// Which.
    pub step: usize,
    /// Its statements.
    pub elements: Elements,
    /// Its arguments.
    pub variables: Vec<Variable>,
}

/// A step of a group.
pub struct Member {
    /// Its statements.
    pub elements: Elements,
    /// Its result and its arguments.
    pub variables: Vec<Variable>,
    /// What it makes as it reads it, each after what that reads.
    pub lazies: Vec<Lazy>,
    /// Numbers of its row.
    pub width: usize,
}

/// An array of the kernel, by number, a value that stays in registers, or one that is made as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    Array(usize),
    Held(usize),
    Lazy(usize),
}

/// What never is an argument of a step that is made as it is read.
pub fn held() -> ! {
    unreachable!("what is made as it is read looks into memory")
}

/// A type that looks like an array and makes its numbers, and a value of it.
fn lazy(lazy: &Lazy) -> String {
    let Lazy {
        step,
        elements,
        variables,
    } = lazy;
    let (mut fields, mut values) = (String::new(), Vec::new());
    for (i, variable) in variables.iter().enumerate() {
        let (kind, value) = match *variable {
            Variable::Array(k) => ("const T*".to_owned(), format!("p{k}")),
            Variable::Lazy(step) => (format!("Lazy{step}"), format!("lazy{step}")),
            Variable::Held(_) => held(),
        };
        fields += &format!("{kind} a{i}; ");
        values.push(value);
    }
    format!(
        "struct Lazy{step} {{\n{fields}\n\
         __device__ __forceinline__ T operator[](I i) const {{\nHeld out;\n{}return out.x;\n}}\n}};\n\
         const Lazy{step} lazy{step} = {{{}}};\n",
        elements.0,
        values.join(", ")
    )
}

/// Declares what the statements of a member call its result and its arguments.
fn names(member: &Member) -> String {
    let names = std::iter::once("out".to_owned()).chain((0..).map(|i| format!("a{i}")));
    let mut text: String = member.lazies.iter().map(lazy).collect();
    for (name, variable) in names.zip(&member.variables) {
        text += &match *variable {
            Variable::Array(k) if name == "out" => format!("T* const out = p{k};\n"),
            Variable::Array(k) => format!("const T* const {name} = p{k};\n"),
            Variable::Held(step) => format!("Held& {name} = held{step};\n"),
            Variable::Lazy(step) => format!("const Lazy{step} {name} = lazy{step};\n"),
        };
    }
    text
}

/// A value that looks like an array.
const HELD: &str = "struct Held { T x; __device__ T& operator[](I) { return x; } };\n";

/// A pool that the kernel of a convolution goes on with.
pub struct Pool {
    /// The array of places, if they are kept.
    pub place: Option<usize>,
    /// The step that says how large the numbers are, and what becomes of them.
    pub value: usize,
    pub then: Then,
}

/// What becomes of the numbers of a pool.
pub enum Then {
    /// They are kept in an array.
    Kept(usize),
    /// A step makes others of them.
    Member(Member),
}

/// What becomes of number `row` of a pool, which is `best` and was number `chosen` of its window.
pub fn pool(pool: &Pool) -> String {
    let place = pool.place.map(|k| format!("p{k}[row] = (T)chosen;\n"));
    let value = match &pool.then {
        Then::Kept(k) => format!("p{k}[row] = best;\n"),
        Then::Member(member) => format!(
            "{HELD}Held held{value};\nheld{value}.x = best;\n{{\n{}const I i = row;\n{}}}\n",
            names(member),
            member.elements.0,
            value = pool.value,
        ),
    };
    place.unwrap_or_default() + &value
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
        let text = names(member);
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
         {HELD}\
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
