//! The motions in plain words.

use super::answer::{Known, Place};

/// What a network has, has not, and what is not known; empty where samples have no positions.
pub fn words(name: &str, places: &[Place]) -> String {
    let list = |wanted: &dyn Fn(&Place) -> Option<String>| {
        let items: Vec<String> = places.iter().filter_map(wanted).collect();
        (!items.is_empty()).then(|| join(&items))
    };
    let every = list(&|p| (p.answer == Known::Has && p.every_network).then(|| p.name()));
    let system = list(&|p| (p.answer == Known::Has && !p.every_network).then(|| p.name()));
    let denied = reasons(places, Known::HasNot, Place::against);
    let unknown = reasons(places, Known::NotKnown, |p| {
        p.proof.trim_end_matches('.').to_owned()
    });
    let mut said = Vec::new();
    if let Some(every) = every {
        said.push(format!(
            "Of motions of the positions, {name} has {every}, whatever its weights: every single network gives a moved sample \
             the same output."
        ));
    }
    if let Some(system) = system {
        let also = match said.is_empty() {
            true => "Of motions of the positions, the learning system has",
            false => "The learning system also has",
        };
        said.push(format!(
            "{also} {system}: weights that move along are as likely, so a network learns moved data as well as the data \
             themselves; a single network need not give a moved sample the same output."
        ));
    }
    for place in places {
        let Some(by) = place.multiples else { continue };
        said.push(match place.smaller {
            Some(Known::HasNot) => format!(
                "It has no {} by less than {by} ({}).",
                place.motion,
                place.against()
            ),
            Some(Known::Has | Known::NotKnown) | None => format!(
                "Whether it has {} by less than {by} is not known: {}",
                place.motion, place.proof
            ),
        });
    }
    if let Some(denied) = denied {
        said.push(format!("It has not: {denied}."));
    }
    if let Some(unknown) = unknown {
        said.push(format!("Not known: {unknown}."));
    }
    said.join(" ")
}

/// Motions with one answer and why, those with the same reason together.
fn reasons(places: &[Place], answer: Known, why: impl Fn(&Place) -> String) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for place in places.iter().filter(|p| p.answer == answer) {
        let why = why(place);
        match groups.iter_mut().find(|(other, _)| *other == why) {
            Some((_, motions)) => motions.push(place.motion.clone()),
            None => groups.push((why, vec![place.motion.clone()])),
        }
    }
    let each = groups
        .iter()
        .map(|(why, motions)| format!("{} ({why})", join(motions)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join("; "))
}

fn join(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
