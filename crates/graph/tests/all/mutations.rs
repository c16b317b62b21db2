//! Architecture files and names with errors of every kind. Catches: a panic, an overflow, an error of several
//! lines, memory that grows with a number in the text. Alone in its file so that the peak memory is its own.

use polariscope_graph::{
    Graph, GraphError, MAX_ACTIVATION, MAX_PARAMETERS, Parametrisation, Shape, Summary, ZooOptions,
    parse_file, zoo, zoo_list,
};

const FILES: usize = 100_000;
const NAMES: usize = 20_000;

const SEEDS: [&str; 4] = [
    include_str!("../example.toml"),
    r#"
input = [3, 32, 32]
layers = [
  { op = "patch-embed", size = 8, width = 24 }, { op = "class-token" }, { op = "position" },
  { op = "residual", branch = [ { op = "layer-norm" }, { op = "attention", heads = 12 } ] },
  { op = "residual", branch = [ { op = "rms-norm" }, { op = "dense", features = 48 }, { op = "gelu" }, { op = "dense", features = 24 } ] },
  { op = "take-token", index = 0 }, { op = "dense", features = 10, name = "heads.head" },
]"#,
    r#"
input = [4, 50]
parametrisation = "mean-field"
layers = [
  { op = "conv", channels = 8, kernel = 5, stride = 2, dilation = 2, padding = "circular", groups = 4 },
  { op = "leaky-relu", slope = 0.2 }, { op = "group-norm", groups = 2, eps = 1e-3 },
  { op = "max-pool", size = 3, stride = 2, padding = 1 }, { op = "bias" }, { op = "dropout", rate = 0.3 },
  { op = "flatten" }, { op = "softplus", beta = 2 }, { op = "dense", features = 1 },
]"#,
    r#"
input = [1, 16, 8]
[[layers]]
op = "local"
channels = 3
kernel = [3, 2]
stride = [2, 1]
padding = "same"
[[layers]]
op = "concat"
branches = [ [], [ { op = "abs" }, { op = "residual", branch = [], skip = [ { op = "scale", by = -1.0 } ] } ] ]
[[layers]]
op = "global-avg-pool"
[[layers]]
op = "dense"
features = 2
"#,
];

const WORDS: [&str; 40] = [
    "0",
    "1",
    "-1",
    "7",
    "1000000000000000000",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "nan",
    "inf",
    "-0.0",
    "0x7fffffffffffffff",
    "true",
    "[]",
    "[3, 3]",
    "[[]]",
    "{}",
    "\"\"",
    "\"same\"",
    "\"circular\"",
    "\"valid\"",
    "\"ntk\"",
    "\"conv\"",
    "\"local\"",
    "\"concat\"",
    "\"residual\"",
    "\"attention\"",
    "\"dense\"",
    "\"flatten\"",
    "\"max-pool\"",
    "op = ",
    "name = \"a\", ",
    "padding",
    "kernel",
    ", ",
    "\n",
    "#",
    "\\u0000",
    "é",
    "1979-05-27",
];

/// xorshift64*: all that a mutation needs.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    /// A place between two characters.
    fn cut(&mut self, text: &str) -> usize {
        let mut at = self.roll(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// A number or quoted word of the text, as a range.
    fn token(&mut self, text: &str) -> (usize, usize) {
        let start = self.cut(text);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '"' | '-' | '_');
        let skip = text[start..].find(is_part).unwrap_or(0);
        let rest = &text[start + skip..];
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        (start + skip, start + skip + len)
    }

    /// Another value of the same kind, so that the file still parses and the layers are reached.
    fn vary(&mut self, text: &mut String) {
        let (start, end) = self.token(text);
        let token = &text[start..end];
        let other = if token.starts_with('"') {
            let words: Vec<&str> = WORDS.into_iter().filter(|w| w.starts_with('"')).collect();
            words[self.roll(words.len())].to_owned()
        } else if token.parse::<f64>().is_ok() {
            [self.roll(5), self.roll(40), 1 << self.roll(63)][self.roll(3)].to_string()
        } else {
            return;
        };
        text.replace_range(start..end, &other);
    }

    fn mutate(&mut self, text: &mut String) {
        match self.roll(12) {
            0 => {
                let (start, end) = self.token(text);
                text.replace_range(start..end, WORDS[self.roll(WORDS.len())]);
            }
            1 => {
                let at = self.cut(text);
                text.insert_str(at, WORDS[self.roll(WORDS.len())]);
            }
            2 => {
                let (a, b) = (self.cut(text), self.cut(text));
                // Short deletions leave more of the file to read.
                let end = a.max(b).min(a.min(b) + 1 + self.roll(20));
                let end = (0..=end)
                    .rev()
                    .find(|&i| text.is_char_boundary(i))
                    .unwrap_or(0);
                text.replace_range(a.min(b).min(end)..end, "");
            }
            3 => {
                let (start, end) = self.token(text);
                let (from, to) = self.token(text);
                let other = text[from..to].to_owned();
                text.replace_range(start..end, &other);
            }
            4 => {
                let at = self.cut(text);
                text.insert(at, char::from_u32(self.roll(0x250) as u32).unwrap_or('x'));
            }
            _ => self.vary(text),
        }
    }

    fn options(&mut self) -> ZooOptions {
        let size =
            |dice: &mut Dice| [1, 2, 3, 8, 31, 1 << 20, 1 << 40, usize::MAX, 0][dice.roll(9)];
        let mut options = ZooOptions::default();
        if self.roll(3) == 0 {
            options.input = Some(match self.roll(4) {
                0 => Shape::Vector {
                    features: size(self),
                },
                1 => Shape::Signal {
                    channels: size(self),
                    length: size(self),
                },
                _ => Shape::Image {
                    channels: size(self),
                    height: size(self),
                    width: size(self),
                },
            });
        }
        if self.roll(4) == 0 {
            options.outputs = Some(size(self));
        }
        if self.roll(8) == 0 {
            options.depth = Some(size(self));
            options.width = Some(size(self));
            options.kernel = Some(size(self));
        }
        if self.roll(3) == 0 {
            let name = Parametrisation::NAMES[self.roll(7)];
            options.parametrisation = name.parse().ok();
        }
        options
    }
}

/// What every answer must satisfy.
fn check(result: &Result<Graph, GraphError>, text: &str) {
    match result {
        Ok(graph) => {
            let numbers: usize = graph.params.iter().map(|p| p.len()).sum();
            assert!(numbers <= MAX_PARAMETERS, "{text}");
            assert!(
                graph
                    .nodes
                    .iter()
                    .all(|n| (1..=MAX_ACTIVATION).contains(&n.shape.len())),
                "{text}"
            );
            let summary = Summary::of(graph);
            assert_eq!(
                summary.parameters,
                summary.layers.iter().map(|l| l.parameters).sum::<usize>()
            );
        }
        Err(error) => {
            let message = error.to_string();
            assert!(
                !message.contains('\n') && message.len() < 1_000,
                "{text}\n{message}"
            );
        }
    }
}

#[test]
fn mutated_files_and_names() {
    let started = std::time::Instant::now();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut built, mut in_layers) = (0, 0);
    for case in 0..FILES {
        let mut text = SEEDS[case % SEEDS.len()].to_owned();
        for _ in 0..1 + dice.roll(4) {
            dice.mutate(&mut text);
        }
        let options = match dice.roll(8) {
            0 => dice.options(),
            _ => ZooOptions::default(),
        };
        let result = parse_file(&text, "net.toml", &options);
        check(&result, &text);
        match result {
            Ok(_) => built += 1,
            Err(error) => in_layers += usize::from(error.to_string().contains(": layer ")),
        }
    }
    // Mutations that are all refused by the TOML parser would test nothing of ours.
    assert!(
        built > FILES / 20 && in_layers > FILES / 20,
        "{built} built, {in_layers} refused as layers"
    );

    let zoo_names: Vec<&str> = zoo_list()
        .iter()
        .map(|e| e.name)
        .chain(["mlp-2x100", "mlp-3x5"])
        .collect();
    for _ in 0..NAMES {
        let mut name = zoo_names[dice.roll(zoo_names.len())].to_owned();
        if dice.roll(3) > 0 {
            dice.mutate(&mut name);
        }
        let options = dice.options();
        check(&zoo(&name, &options), &format!("{name} {options:?}"));
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:"))
            .unwrap();
        let kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 200 << 10, "peak {kib} KiB");
    }
}
