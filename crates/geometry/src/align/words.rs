//! The verdict in plain words.

use polariscope_report::{counted, grouped, pretty};

use super::Verdict;
use super::answer::{AlignedNumbers, Energy, UNSEEN};
use crate::page::percent;

/// Best and worst, or scores, closer than this leave nothing to prefer.
const LITTLE: f64 = 0.02;
/// Samples named.
const NAMED: usize = 5;
/// What a low Score does not mean.
pub const LOW_SCORES: &str = "A low Score does not make a sample dispensable: in `experiment sample-drop`, training without such samples scored below \
     training without as many at random.";
/// Why no directions are named.
pub const NOISE: &str = "The geometry was sampled too coarsely to name directions that it gives little weight: noise alone makes such directions.";

/// What the words are made of.
pub struct Finding<'a> {
    /// The architecture.
    pub name: &'a str,
    /// The data.
    pub data: &'a str,
    /// Which geometry and how it was found.
    pub geometry: &'a str,
    /// The numbers.
    pub result: &'a AlignedNumbers,
    /// D.
    pub dim: usize,
    /// Variance in the first directions.
    pub energy: &'a [Energy],
    /// Score of every sample.
    pub scores: &'a [f64],
    /// Samples, lowest Score first.
    pub order: &'a [usize],
    /// Directions of little weight.
    pub hidden: Hidden,
}

/// Directions that the data vary in and that have little weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hidden {
    /// None.
    None,
    /// Noise would make some.
    Noise,
    /// Some.
    Some {
        /// How many were found.
        count: usize,
        /// Whether there may be more.
        more: bool,
        /// The largest share of the variance along one of them.
        most: f64,
    },
}

impl Hidden {
    /// `25`, or `at least 64` where no more were looked for.
    pub fn count(self) -> String {
        match self {
            Hidden::None | Hidden::Noise => "0".to_string(),
            Hidden::Some {
                count, more: true, ..
            } => format!("at least {count}"),
            Hidden::Some { count, .. } => count.to_string(),
        }
    }
}

/// A few paragraphs: the geometry, the verdict, where the data vary, which samples score lowest.
pub fn words(finding: &Finding) -> String {
    let mut verdict = vec![verdict(finding)];
    verdict.extend(variance(finding));
    verdict.extend(noise(finding.result));
    let rest = [samples(finding), hidden(finding.hidden)];
    [
        format!("{}.", finding.geometry),
        verdict.join(" "),
        rest.join(" "),
    ]
    .join("\n\n")
}

fn verdict(finding: &Finding) -> String {
    let (name, data) = (finding.name, finding.data);
    let measure = &finding.result.centred;
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
    match finding.result.verdict {
        Verdict::Suits => format!(
            "{name} suits {data}: the data vary where its geometry has most weight. {}",
            way(end, value)
        ),
        Verdict::Against => format!(
            "{name} works against {data}: the data vary where its geometry has little weight. {}",
            way(end, value)
        ),
        Verdict::Neutral if found.best - found.worst < LITTLE => format!(
            "{name} is neutral towards {data}: its directions differ so little that no rotation of the data would change the \
             match (Corr is {} and lies between {} and {} whatever the rotation).",
            pretty(found.corr),
            pretty(found.worst),
            pretty(found.best)
        ),
        Verdict::Neutral => format!(
            "{name} is neutral towards {data}: its geometry and what varies match little {} than chance would have it. {}",
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
pub fn head(finding: &Finding) -> Option<Energy> {
    let few = (finding.dim / 64).max(1);
    let mut energy = finding.energy.iter().rev();
    energy.find(|e| e.count <= few).copied()
}

fn variance(finding: &Finding) -> Option<String> {
    let head = head(finding)?;
    let first = match head.count {
        1 => "The first direction of the architecture holds".to_string(),
        k => format!("The first {k} directions of the architecture hold"),
    };
    Some(format!(
        "{first} {} of what varies in the data; as many chosen at random would hold {}, the best possible {}.",
        percent(head.share),
        percent(head.count as f64 / finding.dim as f64),
        percent(head.best)
    ))
}

/// How far to trust Corr of a sampled geometry.
fn noise(result: &AlignedNumbers) -> Option<String> {
    let error = result.geometry_error?;
    // Noise of relative size ε turns G by at most about ε.
    let corr = result.centred.found.corr;
    let off = error * (1.0 - corr * corr).max(0.0).sqrt();
    Some(format!(
        "The geometry was sampled, with a relative error of {}: Corr may be off by up to {}.",
        pretty(error),
        pretty(off)
    ))
}

fn samples(finding: &Finding) -> String {
    let (order, scores) = (finding.order, finding.scores);
    let at = |place: usize| scores[order[place]];
    let all = counted(order.len() as u64, "sample");
    if at(order.len() - 1) - at(0) < LITTLE {
        return format!(
            "All {all} have the same Score within {LITTLE} ({}).",
            pretty(at(0))
        );
    }
    let named = NAMED.min(order.len());
    let names: Vec<String> = order[..named].iter().map(|i| grouped(*i as u64)).collect();
    format!(
        "Of {all} these score lowest: {} (Score {} to {}; the median is {}, the highest {}, and 1 is what an isotropic \
         architecture gives). {LOW_SCORES}",
        names.join(", "),
        pretty(at(0)),
        pretty(at(named - 1)),
        pretty(at(order.len() / 2)),
        pretty(at(order.len() - 1))
    )
}

fn hidden(hidden: Hidden) -> String {
    let part = percent(UNSEEN);
    match hidden {
        Hidden::Noise => NOISE.to_string(),
        Hidden::None => {
            format!(
                "No direction that the data vary in has less than {part} of the isotropic weight."
            )
        }
        Hidden::Some { count, most, .. } => format!(
            "There {} that the data vary in with less than {part} of the isotropic weight (at most {} of the variance along \
             each).",
            match count {
                1 => "is one direction".to_string(),
                _ => format!("are {} directions", hidden.count()),
            },
            percent(most)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Measure;
    use super::*;
    use crate::{Gradient, Match, Method};

    fn aligned(verdict: Verdict, [worst, chance, corr, best]: [f64; 4]) -> AlignedNumbers {
        let measure = Measure::from(Match {
            corr,
            chance,
            spread: 0.01,
            best,
            worst,
        });
        AlignedNumbers {
            verdict,
            words: String::new(),
            gradient: Gradient::Coherent,
            method: Method::MeanField,
            probe: "gauss:1".into(),
            geometry_error: None,
            samples: 6,
            centred: measure,
            uncentred: measure,
            unseen: 0,
        }
    }

    fn said(result: &AlignedNumbers, scores: &[f64], hidden: Hidden, dim: usize) -> String {
        let energy = [1, 2, 4, 8].map(|count| Energy {
            count,
            share: 0.4,
            best: 0.6,
        });
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        words(&Finding {
            name: "net",
            data: "digits",
            geometry: "Coherent geometry",
            result,
            dim,
            energy: &energy,
            scores,
            order: &order,
            hidden,
        })
    }

    const SCORES: [f64; 6] = [1.0, 3.0, 0.2, 0.5, 2.0, 0.7];
    const RANGE: [f64; 4] = [0.0, 0.1, 0.5, 0.9];

    /// Every sentence, in the order of the page, appears where its numbers carry it and not elsewhere.
    #[test]
    fn sentences_of_an_alignment_appear_and_do_not() {
        let suits = aligned(Verdict::Suits, RANGE);
        let text = said(&suits, &SCORES, Hidden::None, 64);
        // 1. The geometry comes first.
        assert!(text.starts_with("Coherent geometry.\n\n"), "{text}");
        // 2. The verdict, one of four.
        let verdicts = [
            ("net suits digits: the data vary where", suits.clone()),
            (
                "net works against digits",
                aligned(Verdict::Against, [0.0, 0.5, 0.1, 0.9]),
            ),
            (
                "differ so little that no rotation",
                aligned(Verdict::Neutral, [0.3, 0.3, 0.305, 0.31]),
            ),
            (
                "match little better than chance",
                aligned(Verdict::Neutral, [0.0, 0.1, 0.15, 0.9]),
            ),
            (
                "match little worse than chance",
                aligned(Verdict::Neutral, [0.0, 0.1, 0.09, 0.9]),
            ),
        ];
        for (i, (_, result)) in verdicts.iter().enumerate() {
            let text = said(result, &SCORES, Hidden::None, 64);
            for (j, (sentence, _)) in verdicts.iter().enumerate() {
                assert_eq!(text.contains(sentence), i == j, "{sentence}: {text}");
            }
            // 3. The way from chance, unless there is none.
            assert_eq!(text.contains("of the way from chance"), i != 2, "{text}");
        }
        assert!(text.contains("50\u{a0}% of the way from chance (0.1) to the best that"));
        // 4. The first directions, as many as one in sixty-four.
        assert!(
            text.contains("The first direction of the architecture holds 40\u{a0}% of what varies")
        );
        let four = said(&suits, &SCORES, Hidden::None, 256);
        assert!(four.contains("The first 4 directions of the architecture hold"));
        // 5. Noise, where the geometry was sampled.
        assert!(!text.contains("was sampled"));
        let mut noisy = suits.clone();
        noisy.geometry_error = Some(0.1);
        let noisy = said(&noisy, &SCORES, Hidden::Noise, 64);
        assert!(noisy.contains("relative error of 0.1: Corr may be off by up to 0.0866."));
        // 6. Samples, and no advice to drop them.
        assert!(text.contains("Of 6 samples these score lowest: 2, 3, 5, 0, 4 (Score 0.2 to 2;"));
        assert!(text.contains(LOW_SCORES) && !text.contains("All 6 samples"));
        let same = said(&suits, &[1.0, 1.01], Hidden::None, 64);
        assert!(same.contains("All 2 samples have the same Score within 0.02 (1)."));
        assert!(!same.contains(LOW_SCORES) && !same.contains("score lowest"));
        // 7. Directions of little weight: none, too noisy to say, some.
        let some = Hidden::Some {
            count: 3,
            more: false,
            most: 0.2,
        };
        let hidden = [
            ("No direction that the data vary in", Hidden::None),
            (NOISE, Hidden::Noise),
            ("There are 3 directions that the data vary in", some),
        ];
        for (sentence, _) in &hidden {
            for (other, state) in &hidden {
                let text = said(&suits, &SCORES, *state, 64);
                assert_eq!(text.contains(sentence), sentence == other, "{text}");
                assert!(
                    !text.contains("drop ") && !text.contains("dropped"),
                    "{text}"
                );
            }
        }
        let one = Hidden::Some {
            count: 1,
            more: false,
            most: 0.2,
        };
        assert!(said(&suits, &SCORES, one, 64).contains("There is one direction"));
        let many = Hidden::Some {
            count: 64,
            more: true,
            most: 0.2,
        };
        assert!(said(&suits, &SCORES, many, 64).contains("There are at least 64 directions"));
    }
}
