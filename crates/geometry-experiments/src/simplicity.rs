//! `simplicity` (GIH Fig 5): a linear cue along u₁ and a circle in the plane (u₂, u₃), each enough by itself. The network
//! takes the linear one while u₁ is an early direction, and the circle when it is late.

use polariscope_data::{Generator, Split};
use polariscope_experiment::{Answers, Cell, Claim, Curves, Design, Experiment, Pivot, View};
use polariscope_report::Axis;

use crate::lab::shape;
use crate::learn::{learn, plain};
use crate::lens::Directions;
use crate::prepared::Prepared;
use crate::{Entry, GeometryExperimentsError, Lab};
use polariscope_experiment::grid::{along, falls, grid, rises, text};

/// In the list.
pub(crate) const ENTRY: Entry = Entry {
    name: "simplicity",
    source: "GIH Fig 5",
    line: "a linear cue is taken while it lies early, else a circle: geometry before simplicity",
    architecture: "lenet-avg",
    images: false,
    minutes: 2.5,
    own: &[],
    make: |lab| {
        Ok(Box::new(Simplicity {
            lab: lab.clone(),
            directions: Prepared::default(),
        }))
    },
};

/// u₂ and u₃.
const PLANE: [usize; 2] = [0, 1];

struct Simplicity {
    lab: Lab,
    directions: Prepared<Directions>,
}

impl Simplicity {
    fn indices(&self) -> Vec<String> {
        self.lab.pick(
            text([2, 10, 40, 100, 250, 600, 1023]),
            text([
                2, 5, 10, 20, 40, 60, 100, 150, 200, 300, 400, 500, 600, 800, 1023,
            ]),
        )
    }
}

/// Every sample with its components along `axes` taken from the next sample, whose label is another coin.
fn exchanged(split: &Split, axes: &[&[f64]]) -> Split {
    let dim = axes[0].len();
    let rows: Vec<&[f32]> = split.x.chunks_exact(dim).collect();
    let component =
        |x: &[f32], u: &[f64]| -> f64 { x.iter().zip(u).map(|(&x, u)| f64::from(x) * u).sum() };
    let row = |i: usize| {
        let (x, next) = (rows[i], rows[(i + 1) % rows.len()]);
        let change: Vec<f64> = axes
            .iter()
            .map(|u| component(next, u) - component(x, u))
            .collect();
        (0..dim).map(move |j| {
            let moved: f64 = change.iter().zip(axes).map(|(c, u)| c * u[j]).sum();
            x[j] + moved as f32
        })
    };
    Split {
        x: (0..rows.len()).flat_map(row).collect(),
        y: split.y.clone(),
    }
}

impl Experiment for Simplicity {
    type Error = GeometryExperimentsError;

    fn design(&self) -> Design {
        let measures = ["linear", "circle", "both"];
        grid(
            &[("index", &self.indices())],
            self.lab.runs(3, 5),
            &measures,
        )
    }

    fn claims(&self) -> Vec<Claim> {
        let conditions = || along("index", &self.indices(), &[]);
        vec![
            Claim::new(
                "reliance on the linear cue falls with its index",
                falls("linear", conditions()),
            ),
            Claim::new(
                "reliance on the circle rises with the index of the linear cue",
                rises("circle", conditions()),
            ),
        ]
    }

    fn prepare(&self) -> Result<(), GeometryExperimentsError> {
        let directions = self.lab.directions(&self.lab.architecture)?;
        self.directions.set(directions);
        Ok(())
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, GeometryExperimentsError> {
        let (directions, index) = (self.directions.get()?, cell.number("index"));
        let problem = Generator::Cue {
            u: [index, PLANE[0], PLANE[1]].map(|i| directions.direction(i)),
            eps: 1.0,
            outer: 3.0,
            inner: 0.25,
            sigma: 1.0,
        };
        let samples = self.lab.pick([10_000, 2000], [10_000, 10_000]);
        let [train, test] = problem.splits(shape(1), samples, self.lab.seed + cell.run)?;
        let graph = self.lab.network(&self.lab.architecture, 1, 2)?;
        let Some(learnt) = learn(&self.lab, &graph, plain(20), cell.run, &train)? else {
            return Ok(vec![f64::NAN; 3]);
        };
        let line = directions.vector(index);
        let plane = PLANE.map(|i| directions.vector(i));
        Ok(vec![
            learnt.accuracy(&exchanged(&test, &plane))?,
            learnt.accuracy(&exchanged(&test, &[line]))?,
            learnt.accuracy(&test)?,
        ])
    }

    fn together(&self) -> usize {
        self.lab.together()
    }
}

impl View for Simplicity {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Which of two cues {} takes", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "A linear cue and a circle both tell the label. Is the simpler one taken, or the one that lies where the architecture \
         looks?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "The one that lies where the architecture looks: the later the linear cue lies, the less it is relied on and the more the circle.",
            "Not the one that lies where the architecture looks: the later the linear cue lies, the more it is relied on and the less the circle.",
        )
    }

    fn curves(&self) -> Vec<Curves<'_>> {
        let curves = |measure, what: &str| {
            Curves {
            pivot: Pivot {
                rows: "index",
                columns: "",
                fixed: Vec::new(),
                measure,
                unit: 0.01,
            },
            title: format!("Accuracy by {what}"),
            x: Axis::linear("index of the linear cue"),
            y: Axis::linear("test accuracy in %"),
            caption: "Test samples keep this cue and have the other one exchanged with another sample; 50 % says that the \
                      network does not use it."
                .into(),
        }
        };
        vec![
            curves("linear", "the linear cue alone"),
            curves("circle", "the circle alone"),
        ]
    }
}
