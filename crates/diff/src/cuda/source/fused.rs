//! Chains of elementwise instructions.

use super::Elements;
use crate::function::Function;
use crate::program::{Access, Binary, Elementwise, Fused, Source};
use crate::real::Dtype;

/// Every instruction, in order.
pub fn elements(fused: &Fused, dtype: Dtype) -> Elements {
    let mut text = String::new();
    for (a, access) in fused.access.iter().enumerate() {
        let at = match access {
            Access::Full => "i".to_owned(),
            Access::Broadcast(axes) => broadcast(axes),
        };
        text += &format!("const T x{a} = a{a}[{at}];\n");
    }
    Elements(text + &instructions(fused, dtype, "out[i]"))
}

/// The same for number (n, c, y, x) of maps, which becomes `value`; nothing where an argument walks along other axes.
/// `read` is a number of an argument.
pub fn on_maps(
    fused: &Fused,
    dtype: Dtype,
    map: [usize; 3],
    read: impl Fn(usize, [&str; 4]) -> String,
) -> Option<String> {
    let mut text = "T value;\n".to_owned();
    for (a, access) in fused.access.iter().enumerate() {
        let number = match access {
            Access::Full => read(a, ["n", "c", "y", "x"]),
            Access::Broadcast(axes) => format!("__ldg(a{a} + {})", along_maps(axes, map)?),
        };
        text += &format!("const T x{a} = {number};\n");
    }
    Some(text + &instructions(fused, dtype, "value"))
}

/// From the arguments x0, x1, … to the result.
fn instructions(fused: &Fused, dtype: Dtype, result: &str) -> String {
    let mut text = String::new();
    for register in 0..fused.registers {
        text += &format!("T r{register};\n");
    }
    for instruction in &fused.instructions {
        let to = match instruction.to {
            Some(register) => format!("r{register}"),
            None => result.to_owned(),
        };
        text += &match instruction.op {
            Elementwise::Map(f, a) => {
                format!(
                    "{{ const T v = {}; {to} = {}; }}\n",
                    source(a),
                    map(f, dtype)
                )
            }
            Elementwise::Binary(op, a, b) => {
                let sign = match op {
                    Binary::Add => '+',
                    Binary::Sub => '-',
                    Binary::Mul => '*',
                    Binary::Div => '/',
                };
                format!("{to} = {} {sign} {};\n", source(a), source(b))
            }
            Elementwise::Load(a) => format!("{to} = x{a};\n"),
            Elementwise::Fill(c) => format!("{to} = {};\n", constant(c)),
        };
    }
    text
}

/// [`broadcast`] from the place (n, c, y, x) on maps.
fn along_maps(axes: &[(usize, usize)], [c, h, w]: [usize; 3]) -> Option<String> {
    let mut terms = Vec::new();
    let mut inner = 1;
    for (k, &(length, stride)) in axes.iter().enumerate().rev() {
        let along = match (inner, length) {
            _ if stride == 0 => String::new(),
            (1, n) if n == w => "x".to_owned(),
            (1, n) if n == h * w => format!("(y * {w} + x)"),
            (i, n) if (i, n) == (w, h) => "y".to_owned(),
            (i, n) if (i, n) == (h * w, c) => "c".to_owned(),
            (i, _) if i.is_multiple_of(c * h * w) && k == 0 => format!("n / {}", i / (c * h * w)),
            (i, n) if i.is_multiple_of(c * h * w) => format!("n / {} % {n}", i / (c * h * w)),
            _ => return None,
        };
        if stride > 0 {
            terms.push(format!("({along}) * {stride}"));
        }
        inner *= length;
    }
    Some(match terms.is_empty() {
        true => "0".to_owned(),
        false => terms.join(" + "),
    })
}

/// The number of an argument that walks along axes, (length, stride) from the outermost.
fn broadcast(axes: &[(usize, usize)]) -> String {
    let mut terms = Vec::new();
    let mut inner = 1;
    for (k, &(length, stride)) in axes.iter().enumerate().rev() {
        if stride > 0 {
            let along = match k {
                0 => format!("(i / {inner})"),
                _ => format!("(i / {inner} % {length})"),
            };
            terms.push(format!("{along} * {stride}"));
        }
        inner *= length;
    }
    match terms.is_empty() {
        true => "0".to_owned(),
        false => terms.join(" + "),
    }
}

fn source(source: Source) -> String {
    match source {
        Source::Register(r) => format!("r{r}"),
        Source::Argument(a) => format!("x{a}"),
        Source::Constant(c) => constant(c),
    }
}

/// The nearest number of type T.
fn constant(c: f64) -> String {
    match c.is_finite() {
        true => format!("(T)({c:?})"),
        false => format!("(T)__longlong_as_double({}LL)", c.to_bits() as i64),
    }
}

/// f(v).
fn map(f: Function, dtype: Dtype) -> String {
    let call = |name: &str, v: &str| match dtype {
        Dtype::F32 => format!("{name}f({v})"),
        Dtype::F64 => format!("{name}({v})"),
    };
    match f {
        Function::Relu => "v > (T)0 || v != v ? v : (T)0".to_owned(),
        Function::Step => "v > (T)0 ? (T)1 : (T)0".to_owned(),
        Function::LeakyRelu(slope) => {
            format!("v > (T)0 ? v : {} * v", constant(slope.get()))
        }
        Function::LeakyStep(slope) => format!("v > (T)0 ? (T)1 : {}", constant(slope.get())),
        Function::Gelu => format!("v * {}", call("normcdf", "v")),
        Function::NormalCdf => call("normcdf", "v"),
        Function::NormalPdf => {
            let c = 0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
            format!("{} * {}", constant(c), call("exp", "v * v * (T)(-0.5)"))
        }
        Function::Tanh => call("tanh", "v"),
        Function::Erf => call("erf", "v"),
        Function::Sin => call("sin", "v"),
        Function::Cos => call("cos", "v"),
        Function::Sigmoid => format!("(T)1 / ((T)1 + {})", call("exp", "-v")),
        Function::Softplus(beta) => {
            let beta = constant(beta.get());
            let small = call("exp", &format!("-({} * {beta})", call("fabs", "v")));
            format!("(v > (T)0 ? v : (T)0) + {} / {beta}", call("log1p", &small))
        }
        Function::Abs => call("fabs", "v"),
        Function::Sign => "v > (T)0 ? (T)1 : v < (T)0 ? (T)-1 : (T)0".to_owned(),
        Function::Exp => call("exp", "v"),
        Function::Log => call("log", "v"),
        Function::Pow(p) => power(p.get(), call),
        Function::Asin => call("asin", "v"),
        Function::AsinIntegral => format!(
            "v * {} + {}",
            call("asin", "v"),
            call("sqrt", "((T)1 - v) * ((T)1 + v)")
        ),
    }
}

/// v^p, with the common powers spelled out.
fn power(p: f64, call: impl Fn(&str, &str) -> String) -> String {
    let root = call("sqrt", "v");
    if p == -1.0 {
        "(T)1 / v".to_owned()
    } else if p == 2.0 {
        "v * v".to_owned()
    } else if p == 0.5 {
        root
    } else if p == -0.5 {
        format!("(T)1 / {root}")
    } else if p == -1.5 {
        format!("(T)1 / (v * {root})")
    } else {
        call("pow", &format!("v, {}", constant(p)))
    }
}
