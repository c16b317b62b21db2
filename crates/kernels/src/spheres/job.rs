//! Products of spheres: theory, then sampled points.

use std::time::Instant;

use polariscope_lens::{Observer, Work, afford, foretell_cubic};
use polariscope_linalg::symmetric_eigenvalues;
use polariscope_report::counted;

use super::{Answer, Levels, Plateau, Points, Question, Spectrum, System, bands, fit, regress};
use crate::KernelsError;

/// Orders that are checked class by class.
const CHECKED: usize = 3;
/// Points whose pairs are fitted.
const FITTED: usize = 800;
/// Vectors of degrees that are fitted at most: every pair of points evaluates each.
const MEMBERS: f64 = 3000.0;
/// Points whose pairs are timed to estimate the rest.
const PILOT: usize = 48;
/// Levels that are learnt, each a few times anew.
const LESSONS: usize = 8;
const DRAWS: u64 = 3;

/// Bytes of a number of the Gram matrix, in all the matrices that its eigenvalues take.
const BYTES: f64 = 4.0 * 8.0;

/// What a system on spheres learns first.
pub fn answer(question: &Question, observer: &mut dyn Observer) -> Result<Answer, KernelsError> {
    Job::new(question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job {
    question: Question,
}

impl Job {
    /// Checks the question.
    pub fn new(question: &Question) -> Result<Self, KernelsError> {
        let question = question.resolve()?;
        let points = question.samples.max(question.train.unwrap_or(0)) as f64;
        afford(BYTES * points * points, "give fewer ‹samples›")?;
        Ok(Self { question })
    }

    /// The question with nothing left open that has a default.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Analyses.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, KernelsError> {
        let Question {
            system,
            samples: m,
            order,
            train,
            setup,
            ..
        } = self.question;
        let product = self.question.product()?;
        let profile = &self.question.profile();
        let of = |system: System| match order {
            Some(order) => Spectrum::to_order(system, product, profile, order),
            None => Spectrum::covering(system, product, profile, m.max(100) as u64),
        };
        let spectrum = of(system)?;
        let others = System::ALL.into_iter().filter(|&s| s != system);
        // A system whose classes are too many to list is left out of the picture.
        let others = others.filter_map(|s| of(s).ok()).collect();
        let mut levels = Levels::new(&spectrum, profile, train.unwrap_or(m));
        let mut eigenvalues = Vec::new();
        let pilot = Points::draw(product, PILOT, setup.seed, 0);
        if m >= 2 {
            let points = Points::draw(product, m, setup.seed, 0);
            let pairs = (m as f64 / PILOT as f64).powi(2);
            observer.expect(
                &format!("the kernel of {}", counted(m as u64, "point")),
                pairs * timed(&|| drop(pilot.gram(system, profile))),
                BYTES * (m as f64).powi(2),
            );
            let gram = points.gram(system, profile);
            foretell_cubic(observer, "eigenvalues", (&gram, m), 4.0, |block, rows| {
                // What the pilot finds is of no interest, and what is wrong shows again.
                let _ = symmetric_eigenvalues(block, rows);
            });
            eigenvalues = points.eigenvalues_of(gram)?;
            levels.plateaus = bands(&spectrum, m)
                .unwrap_or_default()
                .iter()
                .map(|b| Plateau::new(b, &spectrum, &eigenvalues))
                .collect();
            let few = Points::draw(product, m.min(FITTED), setup.seed, 1);
            if let Some(order) = checkable(&spectrum) {
                let pairs = (few.len() as f64 / PILOT as f64).powi(2);
                observer.expect(
                    &format!("every pair of {}", counted(few.len() as u64, "point")),
                    // Too few points for a fit take no time, and are no estimate.
                    pairs * timed(&|| drop(fit(&spectrum, profile, &pilot, order))),
                    0.0,
                );
                for fitted in fit(&spectrum, profile, &few, order)? {
                    levels.levels[fitted.level].sampled = Some(fitted.eigenvalue);
                }
            }
            observer.end();
        }
        if let Some(m) = train {
            let seen = spectrum.levels.iter().take_while(|l| l.eigenvalue > 0.0);
            let lessons = seen.count().min(LESSONS);
            let entries = (DRAWS * lessons as u64) as f64 * (m as f64).powi(2);
            let pilot_entries = (PILOT * PILOT) as f64;
            let pilot = timed(&|| drop(pilot.gram(system, profile)));
            observer.foretell(entries / pilot_entries * pilot);
            observer.begin(Work {
                unit: "lessons".into(),
                first: 0,
                total: lessons as u64,
                words: format!("learning {}", counted(lessons as u64, "level")),
                bytes: BYTES * (m as f64).powi(2),
            });
            for level in 0..lessons {
                let lesson = regress(&spectrum, profile, level, m, DRAWS, setup.seed)?;
                levels.levels[level].error = Some(lesson.error);
                observer.advance(level as u64 + 1, &|| None)?;
            }
            observer.end();
        }
        levels.say();
        Ok(Answer {
            spectrum,
            others,
            eigenvalues,
            levels,
        })
    }
}

/// Seconds that something takes.
fn timed(work: &dyn Fn()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

/// The highest order whose classes are few enough to be fitted.
fn checkable(spectrum: &Spectrum) -> Option<usize> {
    let p = spectrum.product.p() as f64;
    let most = spectrum.order.min(CHECKED) as i32;
    let order = (0..=most).rev().find(|&r| p.powi(r) <= MEMBERS)?;
    usize::try_from(order).ok()
}
