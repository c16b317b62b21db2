//! `pooling` (NAD Theorem 1, Lemma 1, Fig 4): what an average pool leaves of a Fourier feature, in closed form and by
//! simulation.

use polariscope_experiment::{
    Answers, Cell, Claim, Curves, Design, Experiment, Pivot, Select, Test, View, Wanted,
};
use polariscope_geometry::theory::bayes::{Pool, accuracy};
use polariscope_geometry::theory::pooling::curvature;
use polariscope_report::Axis;

use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{grid, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "pooling",
    source: "NAD Thm 1, Fig 4",
    line: "the Bayes accuracy after a pool: closed form, linear algebra and simulation",
    architecture: "lenet",
    images: false,
    minutes: 0.1,
    own: &[],
    make: |lab| {
        Ok(Box::new(Pooling {
            lab: lab.clone(),
            lemma: Prepared::default(),
        }))
    },
};

const DIM: usize = 128;
const FACTORS: [usize; 3] = [2, 4, 8];
/// ε/σ.
const RATIO: f64 = 0.5;
/// Wrong decisions that are expected at least where their number is taken as normal.
const FEW: f64 = 10.0;

struct Pooling {
    lab: Lab,
    /// (scale − 1)/error of the sampled curvature beside Lemma 1.
    lemma: Prepared<f64>,
}

impl Experiment for Pooling {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let frequencies = text((1..DIM / 2).step_by(self.lab.pick(3, 1)));
        let factors = [("S", &text(FACTORS)[..]), ("frequency", &frequencies)];
        let measures = ["closed", "printed", "simulated", "z", "difference", "lemma"];
        // A feature that folds onto itself (2ℓ a multiple of M) has another form.
        let folds = |cell: &Cell| {
            (2 * cell.number("frequency")).is_multiple_of(DIM / cell.number("S").max(1))
        };
        grid(&factors, 1, &measures).retain(|cell| !folds(cell))
    }

    fn claims(&self) -> Vec<Claim> {
        let at = |s: usize| Select::of(&[("S", &s.to_string())]);
        let mut claims: Vec<Claim> = FACTORS
            .map(|s| {
                let test = Test::Scatter {
                    measure: "z",
                    at: at(s),
                };
                Claim::new(
                    format!("S = {s}: simulations scatter around 1 − Q((ε/σ)γ)"),
                    test,
                )
            })
            .into();
        claims.push(Claim::new(
            "the sampled curvature is that of Lemma 1 to three standard errors",
            Test::Certain {
                measure: "lemma",
                at: Select::default(),
                wanted: Wanted::Near {
                    value: 0.0,
                    tolerance: 3.0,
                },
            },
        ));
        claims.push(Claim::new(
            "the closed form is that of linear algebra",
            Test::Certain {
                measure: "difference",
                at: Select::default(),
                wanted: Wanted::AtMost(1e-10),
            },
        ));
        claims
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let scale = curvature(self.lab.pick(20_000, 1_000_000))?.scale;
        self.lemma.set((scale.value - 1.0) / scale.standard_error);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let pool = Pool {
            dim: DIM,
            factor: cell.number("S"),
            frequency: cell.number("frequency"),
            ratio: RATIO,
        };
        let count = self.lab.pick(50_000, 1_000_000);
        let (closed, simulated) = (pool.closed(), pool.simulated(count)?);
        let theory = accuracy(closed);
        let wrong = (1.0 - theory) * count as f64;
        let error = match wrong > FEW {
            true => (wrong * theory).sqrt() / count as f64,
            false => f64::NAN,
        };
        Ok(vec![
            theory,
            accuracy(pool.printed()),
            simulated.value,
            (simulated.value - theory) / error,
            (closed - pool.exact()?).abs(),
            *self.lemma.get()?,
        ])
    }

    fn together(&self) -> usize {
        rayon::current_num_threads()
    }
}

impl View for Pooling {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "What a pool leaves of a frequency".into()
    }

    fn asked(&self) -> String {
        "How well can anyone tell ±cos apart after an average pool over S numbers, depending on the frequency?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "As well as the closed form 1 − Q((ε/σ)γ) says: simulations scatter around it, linear algebra gives the same, and the sampled \
             curvature is that of Lemma 1.",
            "Not as the closed form 1 − Q((ε/σ)γ) says: simulations and linear algebra differ from it, and the sampled curvature is not that \
             of Lemma 1.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let curves = |measure, title: &str, caption: &str| Curves {
            pivot: Pivot {
                rows: "frequency",
                columns: "S",
                fixed: Vec::new(),
                measure,
                unit: 0.01,
            },
            title: title.into(),
            x: Axis::linear("periods in 128 numbers"),
            y: Axis::linear("best accuracy in %"),
            caption: caption.into(),
        };
        vec![
            curves(
                "simulated",
                "Best accuracy after a pool, simulated",
                "A line for every factor S of the pool.",
            ),
            curves(
                "closed",
                "Closed form",
                "1 − Q((ε/σ)γ): the text of the paper prints √S/√2 in front, which is right at S = 2 alone.",
            ),
        ]
    }
}
