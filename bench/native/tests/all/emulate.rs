//! The text of CUDA kernels, compiled as C++ and run on the processor, against the processor's own answer.
//!
//! Bug class: a kernel whose text is wrong, found without a GPU. Where Python or a C++20 compiler is not installed the
//! test says so and passes.

use std::path::Path;
use std::process::{Command, Stdio};

fn runs(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|s| s.success())
}

#[test]
fn kernels_of_small_networks_agree() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../emulate");
    let header = [
        "-std=c++20",
        "-fsyntax-only",
        "-include",
        "barrier",
        "-x",
        "c++",
        "-",
    ];
    if !runs("python3", &["--version"]) || !runs("c++", &header) {
        eprintln!("not tested: python3 or a C++20 compiler is missing");
        return;
    }
    for words in [
        ["lenet", "1x28x28", "1", "gradient"],
        ["mlp-2x8", "1x4x4", "3", "train:2"],
    ] {
        let run = Command::new("python3")
            .arg(&script)
            .args(words)
            .env("POLARISCOPE_BENCH", env!("CARGO_BIN_EXE_polariscope-bench"))
            .output()
            .unwrap();
        let printed = [run.stdout, run.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert!(run.status.success(), "{words:?}: {printed}");
        assert!(printed.contains("largest difference"), "{printed}");
    }
}
