//! Kernels whose blocks have one thread, as C++: for tests without a GPU.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use polariscope_diff::cuda::CudaSource;

/// What CUDA has and C++ has not; a block has one thread.
const SHIM: &str = "
#include <algorithm>
#include <cmath>
#include <cstdio>
struct Three { unsigned x, y, z; };
static Three threadIdx{0, 0, 0}, blockIdx{0, 0, 0};
static Three gridDim{1, 1, 1};
static const Three blockDim{1, 1, 1};
static void __syncthreads() {}
static int __syncthreads_or(int x) { return x; }
using std::min; using std::isfinite;
#define __global__
#define __device__
#define __forceinline__
#define __shared__ static
template <class F> static void grid(unsigned blocks, unsigned rows, F kernel) {
    gridDim = {blocks, rows, 1};
    for (blockIdx.y = 0; blockIdx.y < rows; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) kernel();
    blockIdx = {0, 0, 0};
}
";

/// Kernels, each in a namespace `NAME_kernel`, and `grid(blocks, rows, call)`.
pub fn kernels_as_cpp(codes: &[CudaSource]) -> String {
    let mut text = SHIM.to_owned();
    for code in codes {
        let body = code.text.replace("extern \"C\"", "");
        writeln!(text, "namespace {}_kernel {{\n{body}\n}}", code.name).unwrap();
    }
    text
}

pub fn list(values: impl IntoIterator<Item = f64>) -> String {
    let words: Vec<String> = values.into_iter().map(|x| format!("{x:e}")).collect();
    format!("{{{}}}", words.join(", "))
}

/// What a program prints, numbers line by line; nothing where there is no C++ compiler.
pub fn run(name: &str, text: &str) -> Option<Vec<Vec<f64>>> {
    let folder = std::env::temp_dir().join(format!("polariscope-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [source, binary]: [PathBuf; 2] = ["main.cpp", "main"].map(|file| folder.join(file));
    fs::write(&source, text).unwrap();
    let built = Command::new("c++")
        .args(["-std=c++20", "-O1", "-ffp-contract=off", "-w", "-o"])
        .args([&binary, &source])
        .stdin(Stdio::null())
        .status();
    let Ok(built) = built else {
        eprintln!("not tested: there is no C++ compiler");
        return None;
    };
    assert!(built.success(), "{}", source.display());
    let run = Command::new(&binary).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    let numbers = |line: &str| {
        let words = line.split_whitespace().map(|word| word.parse().unwrap());
        words.collect()
    };
    Some(printed.lines().map(numbers).collect())
}
