//! Every name and parameter of a data specification, once: the parser checks against this table and
//! [`help`] prints it.

/// A parameter `name=value`, or a flag `name`.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As typed.
    pub name: &'static str,
    /// What follows `=`; empty for a flag.
    pub value: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A data set that can be named.
#[derive(Clone, Copy, Debug)]
pub struct SourceEntry {
    /// What comes first.
    pub name: &'static str,
    /// How it is written.
    pub form: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Parameters of its own, beside those that every data set takes.
    pub parameters: &'static [&'static str],
}

/// Parameters that every data set takes.
pub(crate) const COMMON: &[&str] = &[
    "train",
    "test",
    "seed",
    "classes",
    "group",
    "balanced",
    "pooled",
    "grey",
    "pool",
    "deform",
    "standardise",
    "remove",
    "project",
    "pca",
    "whiten",
    "normalise",
    "labels",
    "noise",
];

/// Every data set.
pub const SOURCES: &[SourceEntry] = &[
    SourceEntry {
        name: "mnist",
        form: "mnist:DIR",
        meaning: "MNIST from its four IDX files, gzipped or not; padded to 1x32x32, pixels 0…1",
        parameters: &[],
    },
    SourceEntry {
        name: "mnist-parity",
        form: "mnist-parity:DIR",
        meaning: "MNIST in two classes: 1 even, 0 odd; pooled, balanced and normalised, with pca=K whitened too",
        parameters: &[],
    },
    SourceEntry {
        name: "fashion-mnist",
        form: "fashion-mnist:DIR",
        meaning: "Fashion-MNIST, files and samples as MNIST's; classes T-shirt/top … ankle boot",
        parameters: &[],
    },
    SourceEntry {
        name: "cifar10",
        form: "cifar10:DIR",
        meaning: "CIFAR-10 from the original binary files or Parquet; 3x32x32, pixels 0…1",
        parameters: &[],
    },
    SourceEntry {
        name: "cifar2",
        form: "cifar2:DIR",
        meaning: "CIFAR-10 in two classes: 1 animal (2 to 7), 0 vehicle",
        parameters: &[],
    },
    SourceEntry {
        name: "folder",
        form: "folder:DIR",
        meaning: "PNG and JPEG images, a sub-folder for each class; train and test (or val) with such sub-folders are the split, else test=N (default: a fifth) is held out by seed; 3 x size x size, pixels 0…1",
        parameters: &["size"],
    },
    SourceEntry {
        name: "csv",
        form: "csv:FILE[,TEST]",
        meaning: "a line of numbers and a label for each sample, between commas, semicolons or tabs; labels with a fraction are targets, else classes; without a test file test=N (default: a fifth) is held out by seed",
        parameters: &["label"],
    },
    SourceEntry {
        name: "npy",
        form: "npy:X,Y[,XTEST,YTEST]",
        meaning: "arrays: X is NxD, NxCxL or NxCxHxW (images of uint8 become 0…1), Y integer classes (or ±1) or real targets; without test files test=N holds out the last N",
        parameters: &[],
    },
    SourceEntry {
        name: "linear",
        form: "linear",
        meaning: "linearly separable D(v): x = eps·y·v + noise orthogonal to v",
        parameters: &["shape", "v", "eps", "sigma"],
    },
    SourceEntry {
        name: "doughnut",
        form: "doughnut",
        meaning: "two circles in the plane (u1, u2), noise elsewhere",
        parameters: &["shape", "u1", "u2", "outer", "inner", "sigma"],
    },
    SourceEntry {
        name: "gaussian",
        form: "gaussian",
        meaning: "x ~ N(0, covariance), random labels",
        parameters: &["shape", "covariance"],
    },
    SourceEntry {
        name: "isotropic",
        form: "isotropic",
        meaning: "x = eps·N(0,1)·u + noise; label from t = x·u: sgn(t+b), sgn(t²+b) or sgn(sin t + b)",
        parameters: &["shape", "u", "eps", "sigma", "labeling", "b"],
    },
    SourceEntry {
        name: "cue",
        form: "cue",
        meaning: "a linear cue eps·y·u1 and a circle cue in (u2, u3), noise elsewhere",
        parameters: &["shape", "u1", "u2", "u3", "eps", "outer", "inner", "sigma"],
    },
    SourceEntry {
        name: "random",
        form: "random",
        meaning: "centred points on the sphere of radius √d, labels 0 1 0 1 …",
        parameters: &["shape"],
    },
    SourceEntry {
        name: "sphere",
        form: "sphere",
        meaning: "uniform points on a sphere, random labels",
        parameters: &["shape", "radius"],
    },
    SourceEntry {
        name: "spheres",
        form: "spheres",
        meaning: "uniform points on a product of spheres of radius √dimension, random labels",
        parameters: &["count", "dimension"],
    },
    SourceEntry {
        name: "mixture",
        form: "mixture",
        meaning: "Gaussians with centres from N(0, eps²) and widths of their own; every second one is class 1",
        parameters: &["shape", "count", "eps"],
    },
    SourceEntry {
        name: "stripe",
        form: "stripe",
        meaning: "x ~ N(0, 1), class 1 where low < first coordinate < high",
        parameters: &["shape", "low", "high"],
    },
];

const fn p(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        value,
        default,
        meaning,
    }
}

/// Every parameter.
pub const PARAMETERS: &[Parameter] = &[
    p(
        "train",
        "N",
        "10000; files: all",
        "training samples (the first N of a file)",
    ),
    p(
        "test",
        "N",
        "10000; files: all; npy pair: 0; folder, csv: a fifth",
        "test samples",
    ),
    p(
        "seed",
        "S",
        "0",
        "seed of generators, of the order of folder and csv samples, of deformations, random labels and label noise",
    ),
    p(
        "size",
        "N",
        "32",
        "rows and columns of a folder's images: the largest square in the middle, resized",
    ),
    p(
        "label",
        "NAME or K",
        "last",
        "column of the labels: its name in the first line, or its number from 1",
    ),
    p(
        "classes",
        "A,B,…",
        "all",
        "classes to keep, relabelled 0, 1, … in this order",
    ),
    p(
        "group",
        "A,B,…",
        "none",
        "two classes: 1 for the listed ones, 0 for the rest",
    ),
    p(
        "balanced",
        "",
        "off",
        "equally many samples of each class, classes taking turns",
    ),
    p(
        "pooled",
        "",
        "off",
        "training and test samples are one set: means, variances and principal axes are of all of them, then test=N (files: as many as they test with) are held out and train=N kept",
    ),
    p(
        "grey",
        "",
        "off",
        "one channel, 0.299 R + 0.587 G + 0.114 B",
    ),
    p(
        "pool",
        "K",
        "none",
        "averages squares of K x K pixels: pool=2 makes 16x16 of 32x32",
    ),
    p(
        "deform",
        "δ,c",
        "none",
        "deforms every image by a smooth random field of its own: δ pixels (root of the mean square), no faster than c half-waves",
    ),
    p(
        "standardise",
        "",
        "off",
        "mean 0, variance 1 in each channel of the training set",
    ),
    p(
        "remove",
        "FILE.npy",
        "none",
        "projects the rows of FILE out of the inputs",
    ),
    p(
        "project",
        "FILE.npy",
        "none",
        "inputs become their coordinates along the (orthonormalised) rows of FILE",
    ),
    p(
        "pca",
        "K",
        "none",
        "inputs become their top K principal components (of the training set)",
    ),
    p(
        "whiten",
        "",
        "off",
        "with pca: variance 1 in each component",
    ),
    p(
        "normalise",
        "",
        "off",
        "training mean subtracted, then every sample scaled to length √d",
    ),
    p(
        "labels",
        "random",
        "given",
        "replaces all labels by uniformly random classes",
    ),
    p(
        "noise",
        "P",
        "0",
        "probability that a training label is replaced by another class",
    ),
    p(
        "shape",
        "CxHxW or D",
        "1x32x32; random, sphere, mixture, stripe: 10",
        "shape of a sample",
    ),
    p(
        "v",
        "K or FILE.npy:ROW",
        "0",
        "direction: DFT index, lowest frequency first, or a row of a file",
    ),
    p("u", "K or FILE.npy:ROW", "0", "direction"),
    p("u1", "K or FILE.npy:ROW", "0", "first direction"),
    p("u2", "K or FILE.npy:ROW", "1", "second direction"),
    p("u3", "K or FILE.npy:ROW", "2", "third direction"),
    p(
        "eps",
        "E",
        "1; isotropic: 0.9 linear, 2 quadratic, 2.1 sinusoidal; mixture: 0.7",
        "size of the planted component",
    ),
    p("sigma", "S", "1", "standard deviation of the noise"),
    p("outer", "R", "3", "radius of the circle of class 1"),
    p("inner", "R", "0.25", "radius of the circle of class 0"),
    p(
        "labeling",
        "linear|quadratic|sinusoidal",
        "linear",
        "how t = x·u decides the label",
    ),
    p(
        "b",
        "B",
        "0; quadratic: −0.4549·eps² (median)",
        "offset of the labeling",
    ),
    p(
        "covariance",
        "FILE.npy",
        "required",
        "DxD covariance matrix",
    ),
    p("radius", "R", "√d", "radius of the sphere"),
    p(
        "count",
        "P",
        "4; mixture: 10",
        "number of spheres or Gaussians",
    ),
    p("dimension", "D", "3", "d₀: each sphere lies in R^d₀"),
    p("low", "X", "-0.3", "lower interface of the stripe"),
    p("high", "X", "1.18549", "upper interface of the stripe"),
];

/// The names and parameters, for a terminal.
pub fn help() -> String {
    let mut out = String::from("Data: NAME[:PATHS][?parameter=value&parameter=value&flag]\n\n");
    for source in SOURCES {
        out += &format!("  {:<22} {}\n", source.form, source.meaning);
        if !source.parameters.is_empty() {
            out += &format!(
                "  {:<22}   parameters: {}\n",
                "",
                source.parameters.join(" ")
            );
        }
    }
    out += &format!("\nEvery data set also takes: {}\n\n", COMMON.join(" "));
    for p in PARAMETERS {
        let typed = if p.value.is_empty() {
            p.name.into()
        } else {
            format!("{}={}", p.name, p.value)
        };
        out += &format!("  {typed:<32} {} (default {})\n", p.meaning, p.default);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing accepted that is not documented, nothing documented that is not accepted.
    #[test]
    fn table_is_complete() {
        let documented = |name: &&str| PARAMETERS.iter().any(|p| p.name == *name);
        let own = SOURCES.iter().flat_map(|s| s.parameters);
        assert!(own.chain(COMMON).all(documented));
        for p in PARAMETERS {
            let used = |s: &SourceEntry| s.parameters.contains(&p.name);
            assert!(
                COMMON.contains(&p.name) || SOURCES.iter().any(used),
                "{}",
                p.name
            );
            assert!(help().contains(p.meaning));
        }
    }
}
