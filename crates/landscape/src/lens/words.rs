//! Findings as sentences. Each stands where its statistic supports it.

use polariscope_report::{counted, grouped, pretty};
use polariscope_train::AtChance;

use super::{Dynamics, Network, Question, Sampled, Summary};

/// A kernel that surely moves by less than this share of its norm trains lazily.
const LAZY: f64 = 0.1;
/// One that surely moves by more than its norm learns features.
const FEATURE: f64 = 1.0;
/// Noise that surely is more than this share of the test error is a large part of it.
const LARGE: f64 = 0.25;

/// What was found, the way it was trained first; `classes` are those of the training samples and of the test samples.
pub fn findings(summary: &Summary, question: &Question, classes: [&[u32]; 2]) -> Vec<String> {
    let sentences = [
        Some(training(summary, question)),
        Some(fit(summary)),
        dead(summary),
        curvature(summary),
        regime(summary),
        alignment(summary),
        regimes(summary),
        kernels(summary),
        noise(summary),
        chance(summary, classes),
    ];
    sentences.into_iter().flatten().collect()
}

/// How, and why so.
fn training(summary: &Summary, question: &Question) -> String {
    let (how, why) = match &summary.training {
        Dynamics::Flow => (
            String::new(),
            "the gradient is continuous: no layer has a kink, none has batch norm".to_string(),
        ),
        Dynamics::Adam { reason } => (
            format!(" (rate {})", pretty(question.rate)),
            format!("gradient flow is of no use: {reason}"),
        ),
    };
    format!(
        "{} learn {} by {}{how} until every y F is at least {}, since {why}.",
        counted(summary.networks.len() as u64, "network"),
        counted(summary.train_samples as u64, "sample"),
        summary.training.name(),
        pretty(question.margin)
    )
}

/// Whether all margins are met.
fn fit(summary: &Summary) -> String {
    let networks = &summary.networks;
    let (all, fitted) = (networks.len(), summary.fitted);
    let steps = span(networks.iter().filter(|n| n.fitted).map(|n| n.steps));
    if fitted == all {
        return format!(
            "All of them fit: {} parameters meet all {} margins (N_Δ = 0), after {steps} steps.",
            grouped(summary.parameters.all as u64),
            grouped(summary.constraints() as u64)
        );
    }
    let rest = || networks.iter().filter(|n| !n.fitted);
    let which = match fitted {
        0 => "None of them fits".to_string(),
        _ => format!(
            "{fitted} of them fit, after {steps} steps, and {} do not",
            all - fitted
        ),
    };
    format!(
        "{which}: training stopped after {} steps, with N_Δ = {} of {} margins not met and {} of {} misclassified. The \
         numbers are of networks that stopped there; a larger number of steps goes on.",
        span(rest().map(|n| n.steps)),
        span(rest().map(|n| n.gaps.unsatisfied as u64)),
        grouped(summary.constraints() as u64),
        span(rest().map(|n| n.gaps.misclassified as u64)),
        counted(summary.train_samples as u64, "sample")
    )
}

/// `1,000 to 1,200`.
fn span(numbers: impl Iterator<Item = u64>) -> String {
    let ends = numbers.fold(None, |ends, x| match ends {
        None => Some((x, x)),
        Some((low, high)) => Some((x.min(low), x.max(high))),
    });
    match ends {
        None => String::new(),
        Some((low, high)) if low == high => grouped(low),
        Some((low, high)) => format!("{} to {}", grouped(low), grouped(high)),
    }
}

/// Samples that do not reach the output.
fn dead(summary: &Summary) -> Option<String> {
    let with = |f: &dyn Fn(&Network) -> bool| summary.networks.iter().filter(|n| f(n)).count();
    let patterns = with(&|n| n.dead_patterns > 0);
    (patterns > 0).then(|| {
        let dead = summary.networks.iter().map(|n| n.dead_patterns as u64);
        format!(
            "In {patterns} of {} {} training samples do not reach the output: every unit of some layer is off, and no weight \
             below learns from them.",
            counted(summary.networks.len() as u64, "network"),
            span(dead.filter(|dead| *dead > 0))
        )
    })
}

/// How rough the loss is at the end.
fn curvature(summary: &Summary) -> Option<String> {
    let s = &summary.statistics;
    let (largest, smallest) = (s.largest?, s.smallest?);
    let found = || summary.networks.iter().filter_map(|n| n.curvature.as_ref());
    let residual = found().map(|c| c.residual).fold(0.0, f64::max);
    // What products find may lie above the end of the spectrum, never below.
    let most = if smallest.value().abs() > 10.0 * residual {
        ""
    } else {
        " at most"
    };
    let samples = found().map(|c| c.samples).max()?;
    let of = match samples < summary.train_samples {
        true => format!(
            "the loss of the first {}",
            counted(samples as u64, "training sample")
        ),
        false => "the loss".to_string(),
    };
    let numbers = format!(
        "the smallest eigenvalue of the Hessian is {}{most} (interval {}), the largest {}",
        value(&smallest),
        smallest.interval(),
        value(&largest)
    );
    let none = found().all(|c| c.parts.is_some_and(|p| p.hessian.negative == 0));
    Some(if none {
        format!(
            "Where training ends {of} curves down in no direction: no eigenvalue of the Hessian is below 0 by more than \
             rounding, the largest is {}.",
            value(&largest)
        )
    // Nearer to 0 it is rounding.
    } else if smallest.below(-1e-12 * largest.value().abs()) {
        let share = s.negative.filter(|share| share.above(0.0));
        let share = share.map_or(String::new(), |share| {
            format!(", and {} of all are negative", percent(&share))
        });
        format!("Where training ends {of} still curves down in some directions: {numbers}{share}.")
    } else {
        format!(
            "Whether {of} curves down in any direction where training ends is not told: {numbers}."
        )
    })
}

/// Lazy, feature learning or in between.
fn regime(summary: &Summary) -> Option<String> {
    let moved = summary.statistics.kernel?;
    let how = format!(
        "the tangent kernel moves by {} of its norm (interval {})",
        value(&moved),
        moved.interval()
    );
    Some(if moved.below(LAZY) {
        format!("Training is lazy: {how}, below {LAZY}.")
    } else if moved.above(FEATURE) {
        format!("Features are learnt: {how}, above {FEATURE}.")
    } else if moved.above(LAZY) && moved.below(FEATURE) {
        format!(
            "Training is in between lazy and feature learning: {how}, between {LAZY} and {FEATURE}."
        )
    } else {
        format!(
            "Whether training is lazy or learns features is not told: {how}, and the borders are {LAZY} and {FEATURE}."
        )
    })
}

/// Where the kernel turns.
fn alignment(summary: &Summary) -> Option<String> {
    let s = &summary.statistics;
    let (before, after, gain) = (s.alignment_before?, s.alignment_after?, s.alignment_gain?);
    let way = if gain.above(0.0) {
        "towards"
    } else if gain.below(0.0) {
        "away from"
    } else {
        return None;
    };
    Some(format!(
        "The kernel turns {way} the labels: its alignment with them goes from {} to {}.",
        before.estimate.pair(),
        after.estimate.pair()
    ))
}

/// Which regime generalises better: the network's own, or the lazy one.
fn regimes(summary: &Summary) -> Option<String> {
    let s = &summary.statistics;
    let (network, lazy, gain) = (s.error_beside?, s.frozen_start?, s.lazy_gain?);
    let numbers = format!(
        "its test error is {}, that of the kernel of the start, frozen, {}",
        percent(&network),
        percent(&lazy)
    );
    Some(if gain.above(0.0) {
        format!("A network generalises better than lazy training would: {numbers}.")
    } else if gain.below(0.0) {
        format!("A network generalises worse than lazy training would: {numbers}.")
    } else {
        format!(
            "Whether a network generalises better than lazy training would is not told: {numbers}{}.",
            apart(&gain)
        )
    })
}

/// What the kernel is worth before and after.
fn kernels(summary: &Summary) -> Option<String> {
    let s = &summary.statistics;
    let (start, end, gain) = (s.frozen_start?, s.frozen_end?, s.frozen_gain?);
    let numbers = format!(
        "frozen as it is at the start it leads to a test error of {}, as it is at the end of {}",
        percent(&start),
        percent(&end)
    );
    let pairs = summary.networks.iter().filter_map(|n| n.frozen.as_ref());
    let ends = pairs.flat_map(|pair| [&pair.start, &pair.end]);
    let short = ends.filter(|end| !end.fitted).count();
    let short = match short {
        0 => String::new(),
        n => format!(
            " {} with a frozen kernel stopped before every margin was met.",
            counted(n as u64, "training")
        ),
    };
    Some(if gain.above(0.0) {
        format!("Training makes a better kernel: {numbers}.{short}")
    } else if gain.below(0.0) {
        format!("Training makes a worse kernel: {numbers}.{short}")
    } else {
        format!(
            "Whether training makes a better kernel is not told: {numbers}{}.{short}",
            apart(&gain)
        )
    })
}

/// `, and the difference may be 0 (interval −0.3 to 0.2 %)`.
fn apart(gain: &Sampled) -> String {
    // To a tenth of a per cent.
    let percent = |share: f64| pretty((1000.0 * share).round() / 10.0);
    format!(
        ", and the difference may be 0 (interval {} to {}\u{a0}%)",
        percent(gain.low),
        percent(gain.high)
    )
}

/// What the noise of the initial weights is worth.
fn noise(summary: &Summary) -> Option<String> {
    let s = &summary.statistics;
    let (error, limit, noise, share) = (s.error?, s.limit?, s.noise?, s.noise_share?);
    let numbers = format!(
        "a network has a test error of {}, the mean of infinitely many {}",
        percent(&error),
        percent(&limit)
    );
    Some(if share.above(LARGE) {
        format!(
            "The noise of the initial weights is a large part of the error, {}\u{a0}% of it or more: {numbers}.",
            (100.0 * share.low.min(1.0)).floor()
        )
    } else if noise.above(0.0) && share.above(0.0) {
        format!(
            "The noise of the initial weights is a part of the error, {:.0} to {:.0}\u{a0}% of it: {numbers}.",
            100.0 * share.low,
            100.0 * share.high.min(1.0)
        )
    } else {
        format!(
            "Whether the noise of the initial weights adds to the error is not told: {numbers}, and the difference may be 0."
        )
    })
}

/// Whether anything was learnt.
fn chance(summary: &Summary, classes: [&[u32]; 2]) -> Option<String> {
    let counts = |y: &[u32]| {
        let mut counts = vec![0; y.iter().max().map_or(0, |&c| c as usize + 1)];
        y.iter().for_each(|&c| counts[c as usize] += 1);
        counts
    };
    let error = summary.statistics.error?;
    let [train, test] = classes.map(counts);
    let chance = AtChance::of(1.0 - error.value(), &train, &test)?;
    Some(chance.words())
}

/// `12.3 ± 0.4`, or the number alone.
pub(super) fn value(number: &Sampled) -> String {
    match number.estimate.standard_error > 0.0 {
        true => number.estimate.pair(),
        false => pretty(number.value()),
    }
}

/// `12.3 ± 0.4 %`.
pub(super) fn percent(error: &Sampled) -> String {
    let scaled = polariscope_stats::Estimate {
        value: 100.0 * error.estimate.value,
        standard_error: 100.0 * error.estimate.standard_error,
        ..error.estimate
    };
    format!("{}\u{a0}%", value(&scaled.into()))
}
