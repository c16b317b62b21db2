//! The groups in plain words.

use polariscope_report::grouped;

use super::Summary;
use super::answer::{Proved, Row, SAME_KERNEL, SAME_RUN, number};

/// What matched weights can follow, whatever distribution they start with.
pub struct Followed {
    /// The group.
    pub group: String,
    /// The next larger one, which they cannot.
    pub larger: Option<String>,
}

/// Paragraphs: what cannot be told apart, why, and what the check found.
pub fn words(name: &str, found: &Summary, followed: Option<&Followed>) -> String {
    let mut parts = vec![headline(name, found)];
    parts.push(format!("At this width: {}", found.finite.proof));
    parts.push(format!("At infinite width: {}", found.infinite.proof));
    parts.push(checks(found, followed));
    parts.push(super::places::words(name, &found.places));
    parts.retain(|part| !part.is_empty());
    let wrong = contradictions(found, followed);
    if !wrong.is_empty() {
        parts.insert(1, wrong);
    }
    parts.join("\n\n")
}

fn headline(name: &str, found: &Summary) -> String {
    let (finite, infinite) = (&found.finite, &found.infinite);
    if finite.group == "none" {
        return format!(
            "{name} is not known to be blind to any rotation or reordering of its inputs."
        );
    }
    let first = format!(
        "{name}, trained by gradient descent, cannot tell data apart from data transformed by {}{}.",
        finite.group,
        dimension(finite)
    );
    let acts = found.row(&finite.group).map_or("", |r| r.acts.as_str());
    let acts = if acts.is_empty() {
        String::new()
    } else {
        format!(" That group {acts}.")
    };
    let second = if infinite.group == "none" {
        " The infinitely wide network has no kernel here.".to_owned()
    } else if infinite.group == finite.group {
        " The infinitely wide network has the same group.".to_owned()
    } else {
        format!(
            " The infinitely wide network is blind to {}{}: width takes away what the network could tell apart.",
            infinite.group,
            dimension(infinite)
        )
    };
    first + &acts + &second
}

fn dimension(proved: &Proved) -> String {
    match proved.dimension {
        0 => String::new(),
        n => format!(", of dimension {}", grouped(n as u64)),
    }
}

fn checks(found: &Summary, followed: Option<&Followed>) -> String {
    let mut parts = Vec::new();
    match &found.no_kernel {
        Some(reason) => parts.push(format!("Kernels were not checked: {reason}.")),
        None => parts.push(kernels(found)),
    }
    match &found.no_runs {
        Some(reason) => parts.push(format!(
            "No training runs were compared: {}",
            full_stop(reason)
        )),
        None => parts.push(runs(found, followed)),
    }
    parts.retain(|p| !p.is_empty());
    parts.join(" ")
}

fn kernels(found: &Summary) -> String {
    let Some(own) = found.row(&found.infinite.group) else {
        return String::new();
    };
    let Some(change) = own.kernel_change else {
        return "Kernels were not checked: that would take too long at this size.".to_owned();
    };
    let mut said = format!(
        "Checked on {} samples: under {} the kernels change by {}",
        found.samples,
        own.group,
        number(Some(change))
    );
    let larger = found.infinite.larger.as_ref().and_then(|g| found.row(g));
    if let Some((row, change)) = larger.and_then(|r| r.kernel_change.map(|c| (r, c))) {
        said += &format!(
            ", under the larger {} by {}",
            row.group,
            number(Some(change))
        );
    }
    said += ".";
    if !found.approximations.is_empty() {
        said += &format!(
            " (The kernels are approximate: {}.)",
            found.approximations.join("; ")
        );
    }
    said
}

fn runs(found: &Summary, followed: Option<&Followed>) -> String {
    let Some(followed) = followed else {
        return String::new();
    };
    let Some(own) = found.row(&followed.group) else {
        return String::new();
    };
    let Some(apart) = own.run_distance else {
        return "Training runs were not compared: the first layer's weights are too many to transform.".to_owned();
    };
    let mut said = format!(
        "A run of {} steps{} on transformed samples, from first weights transformed alike, ends with the same predictions: \
         under {} they differ by {}, while training moved them by {}",
        found.steps,
        found
            .rate
            .map_or(String::new(), |rate| format!(" at rate {rate}")),
        own.group,
        number(Some(apart)),
        number(found.moved)
    );
    let larger = followed.larger.as_ref().and_then(|g| found.row(g));
    if let Some(row) = larger.filter(|r| r.run_distance.is_some()) {
        said += &format!(
            "; under {} no weights can follow (the nearest miss {} of their size) and the runs differ by {}",
            row.group,
            number(row.weights_missed),
            number(row.run_distance)
        );
    }
    said += ".";
    if followed.group != found.finite.group {
        said += &format!(
            " Weights that follow all of {} exist; only the distribution that they start with is not kept by it.",
            own.group
        );
    }
    said
}

/// What the measurements deny.
fn contradictions(found: &Summary, followed: Option<&Followed>) -> String {
    let bent = |row: &&Row| {
        row.infinite == Some(true) && row.kernel_change.is_some_and(|c| c > SAME_KERNEL)
    };
    let torn = |row: &&Row| {
        let exact = row.finite || followed.is_some_and(|f| f.group == row.group);
        exact && row.run_distance.is_some_and(|d| d > SAME_RUN)
    };
    let kernels = found.groups.iter().filter(bent).map(|r| {
        format!(
            "the kernels change by {} under {}",
            number(r.kernel_change),
            r.group
        )
    });
    let runs = found.groups.iter().filter(torn).map(|r| {
        format!(
            "trained twins differ by {} under {}",
            number(r.run_distance),
            r.group
        )
    });
    let places = found.places.iter().filter(|p| {
        let above = |x: Option<f64>, bound| x.is_some_and(|x| x > bound);
        above(p.kernel_change, SAME_KERNEL)
            || above(p.output_change, SAME_RUN)
            || above(p.run_distance, SAME_RUN)
    });
    let places = places.map(|p| {
        format!(
            "kernels change by {}, outputs by {} and trained twins by {} under {}",
            number(p.kernel_change),
            number(p.output_change),
            number(p.run_distance),
            p.name()
        )
    });
    let all: Vec<String> = kernels.chain(runs).chain(places).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(
            "The check disagrees with the proof: {}. Rounding can do that where training is unstable; fewer ‹steps› tell.",
            all.join("; ")
        ),
    }
}

fn full_stop(text: &str) -> String {
    match text.ends_with('.') {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}
