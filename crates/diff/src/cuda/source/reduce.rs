//! Sums and maxima along axes.

use super::{Call, Code, Elements, THREADS, operands, parameters};

/// Terms that one thread adds by itself.
const ALONE: usize = 256;
/// Results from which on there are threads enough without sharing sums.
const MANY: usize = 1 << 15;

/// Axes that lie together, kept or summed: (length, stride) from the outermost.
struct Axes {
    kept: Vec<(usize, usize)>,
    summed: Vec<(usize, usize)>,
}

impl Axes {
    fn new(from: &[usize], to: &[usize]) -> Self {
        let (mut kept, mut summed) = (Vec::new(), Vec::new());
        let mut stride = 1;
        for (&n, &m) in from.iter().zip(to).rev() {
            if n > 1 {
                let list: &mut Vec<(usize, usize)> = match n == m {
                    true => &mut kept,
                    false => &mut summed,
                };
                match list.last_mut() {
                    // It continues the one inside it.
                    Some((length, inner)) if *length * *inner == stride => *length *= n,
                    _ => list.push((n, stride)),
                }
            }
            stride *= n;
        }
        kept.reverse();
        summed.reverse();
        Axes { kept, summed }
    }
}

fn count(axes: &[(usize, usize)]) -> usize {
    axes.iter().map(|(length, _)| length).product()
}

/// Where number `index` along axes is.
fn place(index: &str, axes: &[(usize, usize)]) -> String {
    let mut inner = 1;
    let mut terms = vec!["0".to_owned()];
    for (length, stride) in axes.iter().rev() {
        terms.push(format!("({index} / {inner} % {length}) * {stride}"));
        inner *= length;
    }
    terms.join(" + ")
}

/// Σ over the axes that have length 1 in `to`, each by one thread; nothing where that takes long.
pub fn sum_alone(from: &[usize], to: &[usize]) -> Option<Elements> {
    let Axes { kept, summed } = Axes::new(from, to);
    let (results, terms) = (count(&kept), count(&summed));
    let (base, step) = (place("i", &kept), place("k", &summed));
    let text = format!(
        "const I base = {base};\n\
         T sum = 0;\n\
         for (I k = 0; k < {terms}; ++k) sum += a0[base + {step}];\n\
         out[i] = sum;\n"
    );
    (terms <= ALONE || results >= MANY).then_some(Elements(text))
}

/// Σ over the axes that have length 1 in `to`, each by a block: threads add every 256th term, then pairs of threads.
pub fn sum_by_blocks(from: &[usize], to: &[usize]) -> Call {
    let Axes { kept, summed } = Axes::new(from, to);
    let (results, terms) = (count(&kept), count(&summed));
    let (base, step) = (place("i", &kept), place("k", &summed));
    let text = format!(
        "({}) {{\n\
         __shared__ T part[{THREADS}];\n\
         const long long i = blockIdx.x;\n\
         const T* const x = a0 + {base};\n\
         T sum = 0;\n\
         // Loads need not wait for the sums before them.\n\
         #pragma unroll 8\n\
         for (long long k = threadIdx.x; k < {terms}; k += {THREADS}) sum += x[{step}];\n\
         part[threadIdx.x] = sum;\n\
         for (int half = {}; half > 0; half /= 2) {{\n\
         __syncthreads();\n\
         if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];\n\
         }}\n\
         if (threadIdx.x == 0) out[i] = part[0];\n\
         }}",
        parameters(1),
        THREADS / 2
    );
    Call::Kernel(Code {
        text,
        blocks: [results, 1, 1],
        shared: 0,
        operands: operands(1),
        scratch: 0,
    })
}

/// Largest value along the last axis.
pub fn row_max(shape: &[usize]) -> Elements {
    let width = shape.last().copied().unwrap_or(1);
    Elements(format!(
        "T largest = a0[i * {width}];\n\
         for (int k = 1; k < {width}; ++k) {{ const T x = a0[i * {width} + k]; if (x > largest) largest = x; }}\n\
         out[i] = largest;\n"
    ))
}
