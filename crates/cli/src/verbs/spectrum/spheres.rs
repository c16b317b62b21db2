//! Products of spheres: theory, then sampled points.

use polariscope_data::npy;
use polariscope_diff::Device;
use polariscope_graph::Activation;
use polariscope_kernels::spheres::{
    Kind, Points, Product, Profile, Spectrum, System, bands, fit, regress,
};
use polariscope_lens::afford;
use polariscope_meanfield::dual::{Pair, dual};

use super::answer::{Levels, Plateau};
use super::{KindArg, SpectrumArgs, page};
use crate::args::Common;
use crate::error::CliError;
use crate::run::{self, Opened, Request};
use crate::verbs::geometry::command;

/// Orders that are checked class by class.
const CHECKED: usize = 3;
/// Points whose pairs are fitted.
const FITTED: usize = 800;
/// Vectors of degrees that are fitted at most: every pair of points evaluates each.
const MEMBERS: f64 = 3000.0;
/// Levels that are learnt, each a few times anew.
const LESSONS: usize = 8;
const DRAWS: u64 = 3;

/// Everything that the page shows.
pub struct Outcome {
    /// The spectrum asked for.
    pub spectrum: Spectrum,
    /// Those of the other systems, for comparison.
    pub others: Vec<Spectrum>,
    /// Of the Gram matrix over m, largest first; empty without points.
    pub eigenvalues: Vec<f64>,
    /// As recorded.
    pub result: Levels,
}

/// Analyses one of the three systems.
pub fn run(system: System, args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    refuse(args, common)?;
    let sizes = [args.p.unwrap_or(4), args.d0.unwrap_or(3)];
    let product = Product::new(sizes[0], sizes[1], args.s.unwrap_or(2.min(sizes[0])))?;
    let profile = profile(args);
    let request = request(product, &profile, args, common);
    let points = args.samples.max(args.train.unwrap_or(0)) as f64;
    afford(4.0 * 8.0 * points * points, "give fewer --samples")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Levels>(&path, &record, common),
    };
    let outcome = outcome(system, product, &profile, args, common.seed)?;
    directory.write("levels.csv", outcome.result.csv().as_bytes())?;
    if !outcome.eigenvalues.is_empty() {
        let shape = [outcome.eigenvalues.len()];
        directory.write(
            "eigenvalues.npy",
            &npy::encode(&shape, &outcome.eigenvalues),
        )?;
    }
    directory.write_page(&page::spheres(
        &outcome,
        &command(&request),
        request.settings(),
    ))?;
    run::finish(directory, &outcome.result, common)
}

/// Options that these networks do not have.
fn refuse(args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    let o = &args.options;
    let given = [
        ("--input", o.input.is_some()),
        ("--outputs", o.outputs.is_some()),
        ("--parametrisation", o.parametrisation.is_some()),
        ("--bias", o.bias.is_some()),
        ("--b-std", o.b_std.is_some()),
        ("--depth", o.depth.is_some()),
        ("--width", o.width.is_some()),
        ("--kernel", o.kernel.is_some()),
    ];
    let exp = args.kind == KindArg::Exp;
    if exp && (o.activation.is_some() || o.w_std.is_some()) {
        return Err(CliError::Usage(
            "--kind exp has no network: leave --activation and --w-std out".into(),
        ));
    }
    if common.device != Device::Cpu {
        return Err(CliError::Usage(
            "--device: closed forms on spheres run on the processor; leave it out".into(),
        ));
    }
    match given.iter().find(|g| g.1) {
        None => Ok(()),
        Some((name, _)) => Err(CliError::Usage(format!(
            "{name} belongs to an architecture with --data or --x1; on spheres {} has one hidden layer without \
             biases and takes --activation, --w-std, --p, --d0 and --s",
            args.architecture
        ))),
    }
}

/// k.
fn profile(args: &SpectrumArgs) -> Profile {
    let kind = match args.kind {
        KindArg::Exp => return Profile::exp(),
        KindArg::Ntk => Kind::Ntk,
        KindArg::Nngp => Kind::Nngp,
    };
    let activation = args.options.activation.unwrap_or(Activation::Relu);
    let name = match kind {
        Kind::Ntk => format!("{activation} NTK"),
        Kind::Nngp => format!("{activation} NNGP"),
    };
    Profile::hidden(
        name,
        kind,
        args.options.w_std.unwrap_or(1.0),
        move |q, c| {
            let found = dual(
                activation,
                Pair {
                    q11: q,
                    q12: c,
                    q22: q,
                },
            );
            (found.value, found.slope)
        },
    )
}

fn request(product: Product, profile: &Profile, args: &SpectrumArgs, common: &Common) -> Request {
    let mut table = toml::Table::new();
    table.insert("architecture".into(), args.architecture.clone().into());
    table.insert("k".into(), profile.name().into());
    if args.kind != KindArg::Exp {
        let w_std = args.options.w_std.unwrap_or(1.0);
        table.insert("w_std".into(), w_std.into());
    }
    let sizes = [
        ("p", Some(product.p())),
        ("d0", Some(product.d0())),
        ("s", Some(product.s())),
        ("samples", Some(args.samples)),
        ("order", args.order),
        ("train", args.train),
    ];
    for (name, size) in sizes {
        if let Some(size) = size {
            table.insert(name.into(), toml::Value::Integer(size as i64));
        }
    }
    run::request("spectrum", &args.architecture, table, common)
}

fn outcome(
    system: System,
    product: Product,
    profile: &Profile,
    args: &SpectrumArgs,
    seed: u64,
) -> Result<Outcome, CliError> {
    let m = args.samples;
    let of = |system: System| match args.order {
        Some(order) => Spectrum::to_order(system, product, profile, order),
        None => Spectrum::covering(system, product, profile, m.max(100) as u64),
    };
    let spectrum = of(system)?;
    let others = System::ALL.into_iter().filter(|&s| s != system);
    // A system whose classes are too many to list is left out of the picture.
    let others = others.filter_map(|s| of(s).ok()).collect();
    let mut result = Levels::new(&spectrum, profile, args.train.unwrap_or(m));
    let mut eigenvalues = Vec::new();
    if m >= 2 {
        let points = Points::draw(product, m, seed, 0);
        eigenvalues = points.eigenvalues(system, profile)?;
        result.plateaus = bands(&spectrum, m)
            .unwrap_or_default()
            .iter()
            .map(|b| Plateau::new(b, &spectrum, &eigenvalues))
            .collect();
        let few = Points::draw(product, m.min(FITTED), seed, 1);
        if let Some(order) = checkable(&spectrum) {
            for fitted in fit(&spectrum, profile, &few, order)? {
                result.levels[fitted.level].sampled = Some(fitted.eigenvalue);
            }
        }
    }
    if let Some(m) = args.train {
        let seen = spectrum.levels.iter().take_while(|l| l.eigenvalue > 0.0);
        for level in 0..seen.count().min(LESSONS) {
            let lesson = regress(&spectrum, profile, level, m, DRAWS, seed)?;
            result.levels[level].error = Some(lesson.error);
        }
    }
    result.say();
    Ok(Outcome {
        spectrum,
        others,
        eigenvalues,
        result,
    })
}

/// The highest order whose classes are few enough to be fitted.
fn checkable(spectrum: &Spectrum) -> Option<usize> {
    let p = spectrum.product.p() as f64;
    let most = spectrum.order.min(CHECKED) as i32;
    let order = (0..=most).rev().find(|&r| p.powi(r) <= MEMBERS)?;
    usize::try_from(order).ok()
}
