//! What `--help` says beyond the options: verbs by purpose, and examples of each.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Verbs by purpose.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Look", &["list", "show", "geometry", "compare", "plan"]),
    ("Before training", &["align", "predict", "evolution"]),
    ("Kernels", &["kernel", "regress", "spectrum"]),
    (
        "Symmetry",
        &["symmetry", "equivariance", "stability", "deform"],
    ),
    ("Landscape", &["landscape", "hessian"]),
    ("Train", &["train", "init", "eval"]),
    (
        "Runs",
        &["experiment", "merge", "check", "completions", "man"],
    ),
];

/// A verb, and commands that are typed first.
type Examples = (&'static str, &'static [&'static str]);

const EXAMPLES: [Examples; 25] = [
    ("list", &["list", "list data"]),
    ("show", &["show resnet18", "show mine.toml --json"]),
    (
        "geometry",
        &[
            "geometry resnet18",
            "geometry lenet --input 3x32x32 --weights mine.safetensors",
            "geometry vit --samples 500 --device cuda",
        ],
    ),
    (
        "compare",
        &[
            "compare lenet resnet18 vit",
            "compare lenet mine.toml --input 1x28x28",
        ],
    ),
    ("plan", &["plan vit --error 0.1"]),
    (
        "align",
        &[
            "align resnet18 --data cifar10:DIR",
            "align lenet --data mnist:DIR",
        ],
    ),
    (
        "predict",
        &["predict lenet", "predict lenet --train 1000 --sigma 2"],
    ),
    ("evolution", &["evolution lenet --data mnist:DIR"]),
    (
        "kernel",
        &[
            "kernel lenet --x1 x.npy",
            "kernel fcn --x1 x.npy --x2 y.npy --kind ntk",
        ],
    ),
    (
        "regress",
        &[
            "regress fcn --data mnist:DIR --train 1000 --test 1000",
            "regress fcn --data mnist:DIR --train 1000 --ridge 0.01",
        ],
    ),
    (
        "spectrum",
        &[
            "spectrum vec",
            "spectrum lenet --data mnist:DIR --samples 500",
        ],
    ),
    (
        "symmetry",
        &["symmetry cnn-gap", "symmetry resnet18 --data cifar10:DIR"],
    ),
    (
        "equivariance",
        &[
            "equivariance p4-cnn --input 1x28x28",
            "equivariance lenet --data mnist:DIR --weights mine.safetensors",
            "equivariance resnet18 --data cifar10:DIR --under turn:90,shift:2",
        ],
    ),
    (
        "stability",
        &[
            "stability resnet18 --data cifar10:DIR",
            "stability lenet --data mnist:DIR --epochs 5",
        ],
    ),
    (
        "deform",
        &[
            "deform",
            "deform --data cifar10:DIR --displacement 2 --cutoff 5",
        ],
    ),
    (
        "hessian",
        &[
            "hessian mlp-2x18 --data random?shape=18&train=1800 --loss hinge:2,0.5",
            "hessian lenet --data mnist:DIR --weights runs/train-lenet-1/weights.safetensors",
            "hessian resnet18 --data cifar10:DIR --matrix gauss-newton --samples 16",
        ],
    ),
    (
        "landscape",
        &[
            "landscape lenet --data mnist:DIR",
            "landscape mlp-2x100 --activation softplus:5 --data stripe?train=200 --networks 10",
        ],
    ),
    (
        "train",
        &[
            "train lenet --data mnist:DIR --epochs 3",
            "train mlp-3x100 --data stripe?train=500 --activation softplus:5 --optimiser flow",
        ],
    ),
    (
        "init",
        &["init resnet18 --seed 7 --out weights.safetensors"],
    ),
    (
        "eval",
        &["eval resnet18 --weights mine.safetensors --x x.npy --gradient --out run"],
    ),
    (
        "experiment",
        &["experiment list", "experiment which-geometry lenet"],
    ),
    ("merge", &["merge runs/part1 runs/part2 --out whole"]),
    ("check", &["check", "check geometry"]),
    (
        "completions",
        &["completions bash > ~/.local/share/bash-completion/completions/polariscope"],
    ),
    ("man", &["man | man -l -", "man geometry | man -l -"]),
];

/// The command with its help: verbs by purpose at the top, examples below each verb.
pub fn command() -> Command {
    let mut command = Cli::command();
    for (verb, examples) in EXAMPLES {
        command = command.mut_subcommand(verb, |c| {
            let mut text = match c.get_after_help() {
                None => String::new(),
                Some(before) => format!("{before}\n\n"),
            };
            text += "Examples:";
            for example in examples {
                text += &format!("\n  polariscope {example}");
            }
            c.after_help(text)
        });
    }
    let verbs = verbs(&command);
    command.help_template(format!(
        "{{about}}\n\nUsage: polariscope VERB …\n\n{verbs}\nOptions of every verb:\n{{options}}\n\n\
         `polariscope VERB --help` has the options of a verb, and examples.\n\
         Start with: polariscope geometry resnet18\n"
    ))
}

/// Every verb under its purpose, with its line.
fn verbs(command: &Command) -> String {
    let mut text = String::new();
    for (purpose, verbs) in GROUPS {
        text += &format!("{purpose}:\n");
        for verb in verbs {
            let about = command
                .find_subcommand(verb)
                .and_then(Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            text += &format!("  {verb:<12} {about}\n");
        }
        text += "\n";
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;

    #[test]
    fn every_verb_has_a_purpose_and_examples() {
        let verbs: BTreeSet<String> = Cli::command()
            .get_subcommands()
            .map(|c| c.get_name().to_string())
            .collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        assert_eq!(grouped.len(), verbs.len());
        assert_eq!(
            grouped
                .iter()
                .map(ToString::to_string)
                .collect::<BTreeSet<_>>(),
            verbs
        );
        let shown: BTreeSet<String> = EXAMPLES.iter().map(|(verb, _)| verb.to_string()).collect();
        assert_eq!(shown, verbs);
    }

    #[test]
    fn examples_parse() {
        for (verb, examples) in EXAMPLES {
            for example in examples {
                // What follows `>` or `|` is the shell's.
                let typed = example.split(['>', '|']).next().unwrap_or("");
                let words = typed.split_whitespace();
                let cli = Cli::try_parse_from(["polariscope"].into_iter().chain(words));
                assert!(cli.is_ok(), "{example}: {:?}", cli.err());
                assert!(example.starts_with(verb), "{example}");
            }
        }
    }
}
