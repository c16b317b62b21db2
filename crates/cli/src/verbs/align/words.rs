//! The verdict in plain words.

use polariscope_geometry::Verdict;
use polariscope_report::{grouped, pretty};

use super::answer::{Energy, Outcome, UNSEEN};
use crate::output::counted;
use crate::verbs::geometry::page::words::percent;

/// Best and worst, or scores, closer than this leave nothing to prefer.
const LITTLE: f64 = 0.02;
/// Samples named.
const NAMED: usize = 5;

/// Two or three paragraphs: the verdict, where the data vary, which samples are seen least.
pub fn words(outcome: &Outcome) -> String {
    let mut parts = vec![format!(
        "{} {} (Geometry by --method {}, probe {}.)",
        verdict(outcome),
        variance(outcome),
        outcome.result.method,
        outcome.result.probe
    )];
    if let Some(error) = outcome.result.geometry_error {
        // Noise of relative size ε turns G by at most about ε.
        let corr = outcome.result.centred.found.corr;
        let off = error * (1.0 - corr * corr).max(0.0).sqrt();
        parts[0] += &format!(
            " The geometry was sampled, with a relative error of {}: Corr may be off by up to {}.",
            pretty(error),
            pretty(off)
        );
    }
    parts.push(format!("{} {}", samples(outcome), unseen(outcome)));
    parts.join("\n\n")
}

fn verdict(outcome: &Outcome) -> String {
    let (name, data) = (outcome.name(), outcome.subject.data_name());
    let measure = &outcome.result.centred;
    let found = &measure.found;
    let way = |end: &str, value: f64| {
        format!(
            "Corr between the geometry and what varies between samples is {}, {} of the way from chance ({}) to the \
             {end} that a rotation of the data could give ({}).",
            pretty(found.corr),
            percent(measure.share.abs()),
            pretty(found.chance),
            pretty(value)
        )
    };
    let (end, value) = if measure.share >= 0.0 {
        ("best", found.best)
    } else {
        ("worst", found.worst)
    };
    match outcome.result.verdict {
        Verdict::Suits => format!(
            "{name} suits {data}: the data vary where it looks. {}",
            way(end, value)
        ),
        Verdict::Against => format!(
            "{name} works against {data}: the data vary where it does not look. {}",
            way(end, value)
        ),
        Verdict::Neutral if found.best - found.worst < LITTLE => format!(
            "{name} is neutral towards {data}: it sees all directions alike, so no rotation of the data would be easier \
             or harder for it (Corr is {} and lies between {} and {} whatever the rotation).",
            pretty(found.corr),
            pretty(found.worst),
            pretty(found.best)
        ),
        Verdict::Neutral => format!(
            "{name} is neutral towards {data}: where it looks and where the data vary match little {} than chance would \
             have it. {}",
            if measure.share >= 0.0 {
                "better"
            } else {
                "worse"
            },
            way(end, value)
        ),
    }
}

/// The share of the variance in the first directions, about one in sixty-four of them.
pub fn head(outcome: &Outcome) -> Option<Energy> {
    let few = (outcome.dim() / 64).max(1);
    outcome
        .energy
        .iter()
        .rev()
        .find(|e| e.count <= few)
        .copied()
}

fn variance(outcome: &Outcome) -> String {
    let Some(head) = head(outcome) else {
        return String::new();
    };
    let first = match head.count {
        1 => "The first direction of the architecture holds".to_string(),
        k => format!("The first {k} directions of the architecture hold"),
    };
    format!(
        "{first} {} of what varies in the data; as many chosen at random would hold {}, the best possible {}.",
        percent(head.share),
        percent(head.count as f64 / outcome.dim() as f64),
        percent(head.best)
    )
}

fn samples(outcome: &Outcome) -> String {
    let (order, scores) = (&outcome.order, &outcome.scores);
    let at = |place: usize| scores[order[place]];
    let all = counted(order.len() as u64, "sample");
    if at(order.len() - 1) - at(0) < LITTLE {
        return format!("It sees all {all} alike (Score {}).", pretty(at(0)));
    }
    let named = NAMED.min(order.len());
    let names: Vec<String> = order[..named].iter().map(|i| grouped(*i as u64)).collect();
    format!(
        "Of {all} it sees these least: {} (Score {} to {}; the median is {}, the highest {}, and 1 is what an isotropic \
         architecture gives).",
        names.join(", "),
        pretty(at(0)),
        pretty(at(named - 1)),
        pretty(at(order.len() / 2)),
        pretty(at(order.len() - 1))
    )
}

fn unseen(outcome: &Outcome) -> String {
    let part = percent(UNSEEN);
    match &outcome.unseen[..] {
        [] => format!(
            "No direction that the data vary in gets less than {part} of the isotropic weight: there is nothing to drop."
        ),
        all => {
            let strongest = all.iter().map(|u| u.share).fold(0.0, f64::max);
            format!(
                "There {} that the data vary in with less than {part} of the isotropic weight: what lies there (at most {} of the \
                 variance each) can be dropped at little cost to this architecture.",
                match all.len() {
                    1 => "is one direction".to_string(),
                    _ => format!("are {} directions", outcome.unseen_count()),
                },
                percent(strongest)
            )
        }
    }
}
