//! The computation: fields at four temperatures, what they do to images, the limits of every cutoff.

use polariscope_data::deform::{Deformations, Interpolation};
use polariscope_data::{Dataset, Viewer};
use polariscope_lens::{Observer, Work};
use polariscope_random::Stream;
use polariscope_report::pretty;
use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::Question;
use super::answer::{About, Answer, Column, Limit, MARKED, Row, Stage, Summary};
use crate::SymmetryError;

/// Images that are shown.
const IMAGES: usize = 4;
/// Pixels a side of the mesh, and between its lines; lines are three pixels wide.
const MESH: [usize; 2] = [128, 16];
/// Fields that are drawn between two words to the observer.
const BLOCK: usize = 256;
/// Largest cutoff of the diagram.
const CUTOFFS: usize = 100;
/// The diagram goes beyond the cutoff at which the limits meet by this factor.
const BEYOND: f64 = 1.2;

/// What deformations do to the images of a data set.
pub fn answer(
    data: &Dataset,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, SymmetryError> {
    Job::new(data, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a> {
    data: &'a Dataset,
    question: &'a Question,
    deformations: Deformations,
    viewer: Viewer,
    t: f64,
}

impl<'a> Job<'a> {
    /// Checks the question.
    pub fn new(data: &'a Dataset, question: &'a Question) -> Result<Self, SymmetryError> {
        question.check()?;
        let deformations = Deformations::of(data.shape, question.cutoff, question.modes)?;
        let t = deformations.temperature(question.displacement, question.displacement_is)?;
        deformations.check(t, question.displacement_is)?;
        let shape = data.shape;
        let no_image = || SymmetryError::Question(format!("samples of {shape} are no images"));
        Ok(Job {
            data,
            question,
            deformations,
            viewer: data.viewer().ok_or_else(no_image)?,
            t,
        })
    }

    /// Computes.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, SymmetryError> {
        let (low, high) = self.deformations.range();
        let stages = [
            (Stage::LowerLimit, low),
            (Stage::Asked, self.t),
            (Stage::UpperLimit, high),
            (Stage::Beyond, 4.0 * high),
        ];
        let question = self.question;
        observer.begin(Work {
            unit: "fields".into(),
            first: 0,
            total: (stages.len() * question.fields) as u64,
            words: format!(
                "{} fields at each of {} temperatures",
                question.fields,
                stages.len()
            ),
            bytes: 0.0,
        });
        let mut row = |k: usize| {
            let (stage, t) = stages[k];
            self.row(stage, t, (k * question.fields) as u64, observer)
        };
        let rows = [row(0)?, row(1)?, row(2)?, row(3)?];
        observer.end();
        let about = About {
            data: self.data.title().to_string(),
            n: self.deformations.n(),
            cutoff: question.cutoff,
            modes: question.modes,
            mode_count: self.deformations.modes(),
            displacement: question.displacement,
            displacement_is: question.displacement_is,
            interpolation: question.interpolation,
            fields: question.fields,
            range: [low, high],
        };
        Ok(Answer {
            summary: Summary::new(about, rows),
            limits: self.limits(),
            columns: self.columns(&stages),
            viewer: self.viewer,
            size: self.data.shape.len(),
        })
    }

    fn stream(&self, name: &str, index: usize) -> Stream {
        Stream::new(self.question.setup.seed, index as u64, name)
    }

    /// The same fields at every temperature, but for its root.
    fn row(
        &self,
        stage: Stage,
        t: f64,
        done: u64,
        observer: &mut dyn Observer,
    ) -> Result<Row, SymmetryError> {
        let fields = self.question.fields;
        let (mut squares, mut xi, mut det) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..fields).step_by(BLOCK) {
            let last = (first + BLOCK).min(fields);
            let of = |k: usize| {
                let field = self.deformations.draw(t, &self.stream("deform.fields", k));
                (field.mean_square(), (field.max_xi(), field.min_det()))
            };
            let found: Vec<_> = (first..last).into_par_iter().map(of).collect();
            for (square, (max_xi, min_det)) in found {
                squares.push(square);
                xi.push(max_xi);
                det.push(min_det);
            }
            observer.advance(done + last as u64, &|| None)?;
        }
        Ok(Row {
            stage,
            t,
            exact: self.deformations.displacement(t),
            nominal: self.deformations.nominal_displacement(t),
            measured: root_mean(&squares),
            smooth: xi.iter().filter(|x| **x < 1.0).count(),
            median_xi: median(&mut xi),
            folded: det.iter().filter(|x| **x < 0.0).count(),
            median_det: median(&mut det),
        })
    }

    /// Limits of cutoffs from 2 to a little beyond where they meet.
    fn limits(&self) -> Vec<Limit> {
        let n = self.deformations.n();
        let meet = 2.0 * n as f64 / std::f64::consts::PI;
        let last = ((BEYOND * meet) as usize)
            .min(CUTOFFS)
            .max(self.question.cutoff);
        let limit = |cutoff: usize| {
            let d = Deformations::new(n, cutoff, self.question.modes).ok()?;
            let [half, one, two] = MARKED.map(|displacement| {
                d.temperature(displacement, self.question.displacement_is)
                    .ok()
            });
            Some(Limit {
                cutoff,
                range: d.range(),
                at: [half?, one?, two?],
            })
        };
        (2..=last).filter_map(limit).collect()
    }

    /// A mesh and the first images: as they are (with the Gaussian at T = 0), then deformed by the same field.
    fn columns(&self, stages: &[(Stage, f64)]) -> Vec<Column> {
        let plain = match self.question.interpolation {
            Interpolation::Bilinear => "as they are",
            Interpolation::Gaussian => "T = 0",
        };
        let column = |label: String, t: f64| Column {
            label,
            mesh: self.mesh(t),
            images: self.images(t),
        };
        let deformed = stages.iter().map(|&(stage, t)| {
            let displacement = self.deformations.displacement(t);
            column(format!("{}: {} px", stage.name(), pretty(displacement)), t)
        });
        [column(plain.into(), 0.0)]
            .into_iter()
            .chain(deformed)
            .collect()
    }

    fn images(&self, t: f64) -> Vec<f32> {
        let size = self.data.shape.len();
        let shown = &self.data.train.x[..size * IMAGES.min(self.data.train.len())];
        let mut out = vec![0.0; shown.len()];
        let stream = |k: usize| self.stream("deform.images", k);
        let channels = size / self.deformations.n().pow(2);
        let by = self.question.interpolation;
        self.deformations
            .apply_all(t, stream, by, channels, shown, &mut out);
        out
    }

    /// Lines that lie under the first image, finer than its pixels.
    fn mesh(&self, t: f64) -> Vec<Vec<f32>> {
        let [n, pitch] = MESH;
        let fine = n.max(self.deformations.n());
        let scale = fine / n;
        let Ok(deformations) = Deformations::new(fine, self.question.cutoff, self.question.modes)
        else {
            return Vec::new();
        };
        let line = |k: usize| (k / scale + 1) % pitch < 3;
        let ink = |p: usize| f32::from(u8::from(!(line(p % fine) || line(p / fine))));
        let mesh: Vec<f32> = (0..fine * fine).map(ink).collect();
        let mut out = vec![0.0; fine * fine];
        let field = deformations.draw(t, &self.stream("deform.images", 0));
        field.apply(&mesh, Interpolation::Bilinear, &mut out);
        out.chunks_exact(fine).map(<[f32]>::to_vec).collect()
    }
}

/// √mean, with its error by that of the mean.
fn root_mean(squares: &[f64]) -> Estimate {
    let samples = squares.len() as u64;
    let mean = Estimate::mean(squares);
    let (value, error) = mean.map_or((0.0, 0.0), |m| (m.value.sqrt(), m.standard_error));
    Estimate {
        value,
        standard_error: error / (2.0 * value),
        samples,
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

#[cfg(test)]
mod tests {
    use polariscope_data::deform::{Convention, ModeRule};
    use polariscope_lens::{Dtype, Quiet};

    use super::*;
    use crate::deform::{page, patterns};

    fn asked(question: Question) -> Answer {
        answer(&patterns(), &question, &mut Quiet).unwrap()
    }

    /// Displacements as the sums over modes have them; the hotter, the fewer fields are smooth.
    #[test]
    fn fields_are_measured() {
        let found = asked(Question {
            fields: 400,
            ..Question::default()
        });
        let rows = &found.summary.temperatures;
        for row in rows {
            let apart = (row.measured.value - row.exact).abs() / row.measured.standard_error;
            // Four rows of the same fields: one number.
            assert!(apart < 3.5, "{row:?}");
        }
        assert_eq!(
            (rows[1].stage, rows[1].smooth, rows[1].folded),
            (Stage::Asked, 400, 0)
        );
        assert!((rows[1].exact - 1.0).abs() < 1e-12);
        // T = 4 δ²/(π n² ln c) is eq. 3 turned round.
        let nominal = (std::f64::consts::PI * 1024.0 * rows[1].t * 3f64.ln() / 4.0).sqrt();
        assert!((rows[1].nominal - nominal).abs() < 1e-12);
        assert!(rows[2].smooth > rows[3].smooth && rows[3].folded > rows[2].folded);
        // Ξ grows as √T: the same fields at twice the displacement.
        assert!((rows[3].median_xi - 2.0 * rows[2].median_xi).abs() < 1e-4);
        let csv = String::from_utf8(found.files()[0].1.clone()).unwrap();
        assert_eq!(csv.lines().count(), 5);
    }

    #[test]
    fn as_the_published_code() {
        let found = asked(Question {
            modes: ModeRule::Code,
            displacement_is: Convention::Nominal,
            interpolation: Interpolation::Gaussian,
            fields: 20,
            ..Question::default()
        });
        let row = found.summary.asked();
        assert!((row.nominal - 1.0).abs() < 1e-12 && (row.exact - 0.843).abs() < 6e-4);
        assert_eq!(found.summary.about.mode_count, 6);
        let html = page(&found, "polariscope deform --compat", Vec::new()).html();
        for words in ["nominally 1 px", "T = 0", "The Gaussian blurs", "c + ½"] {
            assert!(html.contains(words), "{words}");
        }
        // The Gaussian blurs the first column, too.
        assert_ne!(found.columns[0].images, patterns().train.x);
    }

    /// Images as they are, then deformed; the sentences of the Gaussian stay away.
    #[test]
    fn bilinear_images() {
        let found = asked(Question {
            fields: 20,
            ..Question::default()
        });
        assert_eq!(found.columns.len(), 5);
        assert_eq!(found.columns[0].images, patterns().train.x);
        assert_ne!(found.columns[1].images, found.columns[0].images);
        let html = page(&found, "polariscope deform", Vec::new()).html();
        assert!(html.contains("as they are") && !html.contains("Gaussian"));
        assert!(html.contains("i² + j² ≤ c²") && html.matches("<svg").count() == 1);
    }

    /// The limits meet at c = 2n/π = 20.4.
    #[test]
    fn limits_of_cutoffs() {
        let found = asked(Question {
            fields: 20,
            ..Question::default()
        });
        for limit in &found.limits {
            assert_eq!(
                limit.range.0 < limit.range.1,
                limit.cutoff <= 20,
                "{limit:?}"
            );
            assert!((limit.at[2] / limit.at[1] - 4.0).abs() < 1e-12);
        }
        assert_eq!(found.limits.first().map(|l| l.cutoff), Some(2));
        assert_eq!(found.limits.last().map(|l| l.cutoff), Some(24));
    }

    #[test]
    fn refusals() {
        let message = |question: Question| {
            let refused = answer(&patterns(), &question, &mut Quiet).unwrap_err();
            assert!(refused.is_usage());
            refused.to_string()
        };
        let question = Question::default();
        let few = Question {
            fields: 5,
            ..question.clone()
        };
        assert!(message(few).starts_with("‹fields 5›: give 20"));
        let mut wide = question.clone();
        wide.setup.dtype = Dtype::F64;
        assert!(message(wide).starts_with("‹dtype f64›"));
        let hot = Question {
            displacement: 3.0,
            ..question
        };
        assert!(message(hot).ends_with("take a displacement of at most 2.61 pixels, or for as many pixels a cutoff of at most 2"));
    }
}
