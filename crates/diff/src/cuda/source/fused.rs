//! Chains of elementwise instructions.

use super::Elements;
use crate::function::Function;
use crate::program::{Access, Binary, ElementSource, Elementwise, Fused};
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

/// The number of an argument that walks along axes, (length, stride) from the outermost, from number i of the result.
fn broadcast(axes: &[(usize, usize)]) -> String {
    let along = |axis: Axis| match axis.is_first {
        true => Some(format!("(i / {})", axis.inner)),
        false => Some(format!("(i / {} % {})", axis.inner, axis.length)),
    };
    walk(axes, along).unwrap_or_default()
}

/// The same from the place (n, c, y, x) on maps; nothing for axes that cut a map elsewhere.
fn along_maps(axes: &[(usize, usize)], [c, h, w]: [usize; 3]) -> Option<String> {
    walk(axes, |axis| match (axis.inner, axis.length) {
        (1, n) if n == w => Some("x".to_owned()),
        (1, n) if n == h * w => Some(format!("(y * {w} + x)")),
        (i, n) if (i, n) == (w, h) => Some("y".to_owned()),
        (i, n) if (i, n) == (h * w, c) => Some("c".to_owned()),
        (i, n) if i.is_multiple_of(c * h * w) => {
            let sample = format!("n / {}", i / (c * h * w));
            match axis.is_first {
                true => Some(format!("({sample})")),
                false => Some(format!("({sample} % {n})")),
            }
        }
        _ => None,
    })
}

/// An axis that an argument walks along.
struct Axis {
    length: usize,
    /// Numbers of the result in a step along it.
    inner: usize,
    /// Whether there is none outside of it.
    is_first: bool,
}

/// Σ step along an axis · stride, where `along` knows all steps.
fn walk(axes: &[(usize, usize)], along: impl Fn(Axis) -> Option<String>) -> Option<String> {
    let mut terms = Vec::new();
    let mut inner = 1;
    for (k, &(length, stride)) in axes.iter().enumerate().rev() {
        if stride > 0 {
            let is_first = k == 0;
            let along = along(Axis {
                length,
                inner,
                is_first,
            })?;
            terms.push(format!("{along} * {stride}"));
        }
        inner *= length;
    }
    Some(match terms.is_empty() {
        true => "0".to_owned(),
        false => terms.join(" + "),
    })
}

fn source(source: ElementSource) -> String {
    match source {
        ElementSource::Register(r) => format!("r{r}"),
        ElementSource::Argument(a) => format!("x{a}"),
        ElementSource::Constant(c) => constant(c),
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

#[cfg(test)]
mod tests {
    use super::along_maps;

    /// A bias of each network's channels, of 2048 samples a network; a number of each column; axes that cut a map elsewhere.
    #[test]
    fn arguments_walk_along_maps() {
        let map = [16, 4, 4];
        let bias = along_maps(&[(64, 16), (2048, 0), (16, 1), (16, 0)], map);
        assert_eq!(bias.as_deref(), Some("c * 1 + (n / 2048) * 16"));
        let column = along_maps(&[(128, 0), (16, 0), (4, 0), (4, 1)], map);
        assert_eq!(column.as_deref(), Some("x * 1"));
        let middle = along_maps(&[(8, 0), (4, 1), (256, 0)], map);
        assert_eq!(middle.as_deref(), Some("(n / 1 % 4) * 1"));
        assert_eq!(along_maps(&[(128, 1), (2, 0)], map), None);
    }
}
