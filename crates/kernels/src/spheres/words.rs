//! What an architecture learns, in words.

use polariscope_report::{counted, grouped, pretty};

use super::answer::Levels;

/// Farther than this many standard errors is no agreement.
const FAR: f64 = 4.0;

/// The finding, paragraph by paragraph.
pub fn words(found: &Levels) -> String {
    let mut paragraphs = vec![learnt(found)];
    paragraphs.extend(never(found));
    paragraphs.extend(agreement(found));
    paragraphs.extend(lessons(found));
    paragraphs.join("\n\n")
}

/// What m samples teach, order by order.
fn learnt(found: &Levels) -> String {
    let m = counted(found.samples as u64, "sample");
    let name = found.system.name();
    if found.samples == 0 {
        return format!(
            "{name} learns the levels in this order, each with the samples and the time listed."
        );
    }
    let mut whole = Vec::new();
    let mut part = Vec::new();
    let mut open = Vec::new();
    for order in 0..=found.order {
        let rows = || {
            found
                .levels
                .iter()
                .enumerate()
                .filter(|(_, l)| l.order == order)
        };
        let seen = rows().filter(|(_, l)| l.eigenvalue > 0.0).count();
        let done = rows().filter(|(i, _)| *i < found.learnt).count();
        match (seen, done) {
            (0, _) => {}
            (seen, done) if done == seen => whole.push(order),
            (_, 0) => open.push(order),
            _ => part.push(order),
        }
    }
    let mut text = match whole.is_empty() && part.is_empty() {
        true => format!("With {m} {name} learns nothing of what is listed, not even a constant."),
        false => format!("With {m} {name} learns"),
    };
    if !whole.is_empty() {
        text += &format!(" every component it sees of {}", orders(&whole));
    }
    if !part.is_empty() {
        let and = if whole.is_empty() { "" } else { ", and" };
        text += &format!("{and} part of {}", orders(&part));
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    let next = found
        .levels
        .get(found.learnt)
        .filter(|l| l.eigenvalue > 0.0);
    if let Some((next, needed)) = next.and_then(|l| Some((l, l.samples_needed?))) {
        let fate = match next.predicted {
            Some(missed) if missed < 1.0 => format!("{} is missed", percent(missed)),
            _ => format!(
                "nothing is learnt: it takes {} samples or more",
                grouped(needed)
            ),
        };
        let degrees = super::answer::vector(&next.degrees);
        text += &format!(
            " Of the next level, {degrees} of order {}, {fate}.",
            next.order
        );
    }
    if !open.is_empty() {
        text += &format!(" Little or nothing is learnt of {}.", orders(&open));
    }
    let first = found.levels.iter().find(|l| l.order > 0);
    let last = found
        .learnt
        .checked_sub(1)
        .and_then(|i| found.levels[i].time);
    if let (Some(first), Some(last)) = (first.and_then(|l| l.time), last) {
        text += &format!(
            " Gradient flow at rate η finds the first directions after ηt = {} and the last of these after ηt = {}.",
            pretty(first),
            pretty(last)
        );
    }
    match found.share {
        Some(share) if share < 0.9995 => {
            text += &format!(
                " The listed orders hold {} % of the kernel's trace; the rest lies in orders above {}.",
                pretty((1000.0 * share).round() / 10.0),
                found.order
            );
        }
        _ => {}
    }
    text
}

/// `order 2`, `orders 0, 1 and 2`.
fn orders(list: &[usize]) -> String {
    let words: Vec<String> = list.iter().map(usize::to_string).collect();
    match words.split_last() {
        Some((last, [])) => format!("order {last}"),
        Some((last, rest)) => format!("orders {} and {last}", rest.join(", ")),
        None => "no order".into(),
    }
}

/// Orders that the kernel does not see.
fn never(found: &Levels) -> Option<String> {
    let blind: Vec<usize> = (0..=found.order)
        .filter(|&order| {
            let mut own = found.levels.iter().filter(|l| l.order == order);
            own.clone().count() > 0 && own.all(|l| l.eigenvalue == 0.0)
        })
        .collect();
    (!blind.is_empty()).then(|| {
        format!(
            "It never learns {}: there the eigenvalues are 0, as k has no such powers.",
            orders(&blind)
        )
    })
}

/// Whether sampled points agree.
fn agreement(found: &Levels) -> Option<String> {
    let distances: Vec<f64> = found.levels.iter().filter_map(|l| l.apart()).collect();
    let worst = distances.iter().copied().fold(0.0, f64::max);
    let verdict = if worst <= FAR {
        "agree with theory"
    } else {
        "do not all agree with theory"
    };
    (!distances.is_empty()).then(|| {
        format!(
            "Eigenvalues fitted to the kernel of sampled points {verdict} in {} classes of degrees: the farthest is {worst:.1} \
             standard errors away.",
            distances.len()
        )
    })
}

/// What regression showed.
fn lessons(found: &Levels) -> Option<String> {
    let both = |l: &super::answer::Row| Some((l.error?.value, l.predicted?));
    let all: Vec<(f64, f64)> = found.levels.iter().filter_map(both).collect();
    let far = |(error, predicted): &(f64, f64)| (error - predicted).abs();
    let worst = all.iter().map(far).fold(0.0, f64::max);
    (!all.is_empty()).then(|| {
        format!(
            "Regression on one eigenfunction of each of the first {} levels misses what theory foretells, to {} of the variance.",
            all.len(),
            percent(worst)
        )
    })
}

fn percent(share: f64) -> String {
    format!("{} %", pretty((1e3 * share).round() / 10.0))
}
