//! The computation: matrices where they fit, products where they do not.

use polariscope_graph::{Graph, Op};
use polariscope_lens::{Observer, afford, foretell_cubic};
use polariscope_linalg::{Wanted, symmetric_eigenvalues};
use polariscope_network::Weights;
use polariscope_train::{Labels, LossHessian, Matrix, Problem, Samples};

use super::answer::{About, Answer, Found, Probed, Summary};
use super::dense::{self, bytes};
use super::question::DENSE;
use super::{Operator, Question, Split, Which};
use crate::LandscapeError;

/// A residual may be this part of the largest eigenvalue.
const TOLERANCE: f64 = 1e-6;
/// Vectors of a Lanczos basis for every eigenvalue that is wanted, and beside them.
const BASIS: [usize; 2] = [2, 20];
/// Products for every eigenvalue that is wanted.
const PRODUCTS: usize = 60;

/// A network at its weights, and what it is judged by.
pub struct Subject {
    /// The network and the data.
    pub problem: Problem,
    /// Its weights.
    pub weights: Weights<f64>,
    /// Whether they are initial ones, not of a file.
    pub initial: bool,
}

/// The curvature of the loss of training samples.
pub fn answer(
    subject: &Subject,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, LandscapeError> {
    Job::new(subject, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a> {
    subject: &'a Subject,
    question: &'a Question,
    hessian: LossHessian<f64>,
}

impl<'a> Job<'a> {
    /// Checks the question.
    pub fn new(subject: &'a Subject, question: &'a Question) -> Result<Self, LandscapeError> {
        let Problem { graph, .. } = &subject.problem;
        let parameters = graph.parameter_count();
        question.check(parameters)?;
        if parameters == 0 {
            return Err(LandscapeError::Question(format!(
                "{} has no parameters",
                graph.name
            )));
        }
        let products = &question.products;
        let needs = match parameters <= DENSE {
            true => bytes(parameters),
            false => {
                let basis = wanted(products.top(), products.matrix.unwrap_or_default()).basis;
                8.0 * (parameters * (basis.max(products.steps()) + 6)) as f64
            }
        };
        afford(
            needs,
            "ask for fewer ‹top› and ‹steps›, or choose a smaller network",
        )?;
        let all = subject.problem.train();
        let count = question.samples(parameters, all.len());
        let first = Samples {
            x: &all.x[..count * graph.input().len()],
            y: match all.y {
                Labels::Classes(y) => Labels::Classes(&y[..count]),
                Labels::Targets { values, width } => Labels::Targets {
                    values: &values[..count * width],
                    width,
                },
            },
        };
        let hessian = LossHessian::of(question.setup.device, graph, question.loss, first, &[])?;
        Ok(Job {
            subject,
            question,
            hessian,
        })
    }

    /// Computes.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, LandscapeError> {
        let (Problem { graph, data }, weights) = (&self.subject.problem, &self.subject.weights);
        let parameters = graph.parameter_count();
        let found = match parameters <= DENSE {
            true => Found::Matrices(Box::new(self.matrices(observer)?)),
            false => Found::Products(self.products(observer)?),
        };
        let loss = match &found {
            Found::Matrices(split) => split.loss,
            Found::Products(_) => self.hessian.loss(weights)?,
        };
        let about = About {
            network: graph.name.clone(),
            data: data.title().to_string(),
            samples: self.hessian.samples(),
            parameters,
            loss_name: self.question.loss.to_string(),
            loss,
            initial: self.subject.initial,
            frozen: frozen(graph),
        };
        Ok(Answer {
            summary: Summary::new(about, &found),
            found,
        })
    }

    fn matrices(&self, observer: &mut dyn Observer) -> Result<Split, LandscapeError> {
        let matrices = dense::dense(&self.hessian, &self.subject.weights, observer)?;
        let n = matrices.parameters;
        foretell_cubic(
            observer,
            "eigenvalues",
            (&matrices.gauss_newton, n),
            7.0,
            |block, rows| {
                // Four matrices on two threads or more. What the pilot finds is of no interest.
                let _ = symmetric_eigenvalues(block, rows);
                let _ = symmetric_eigenvalues(block, rows);
            },
        );
        let split = Split::of(&matrices);
        observer.end();
        split
    }

    fn products(&self, observer: &mut dyn Observer) -> Result<Probed, LandscapeError> {
        let Question {
            products, setup, ..
        } = self.question;
        let which = products.matrix.unwrap_or_default();
        let operator = Operator {
            hessian: &self.hessian,
            weights: &self.subject.weights,
            matrix: which.into(),
        };
        let ends = operator.ends(wanted(products.top(), which), setup.seed, observer)?;
        let sampled =
            operator.sampled(products.probes(), products.steps(), setup.seed, observer)?;
        Ok(Probed {
            which,
            ends,
            sampled,
        })
    }
}

/// So many of the largest eigenvalues, and of the smallest where they can be below 0.
fn wanted(top: usize, which: Which) -> Wanted {
    let smallest = if which.is_semidefinite() { 0 } else { top };
    let asked = top + smallest;
    Wanted {
        largest: top,
        smallest,
        basis: BASIS[0] * asked + BASIS[1],
        tolerance: TOLERANCE,
        products: PRODUCTS * asked,
    }
}

/// What of the network does not work as in training.
fn frozen(graph: &Graph) -> Vec<String> {
    let has = |f: &dyn Fn(&Op) -> bool| graph.nodes.iter().any(|n| f(&n.op));
    let norms = has(&|op| matches!(op, Op::BatchNorm { .. }));
    let dropout = has(&|op| matches!(op, Op::Dropout { .. }));
    let mut words = Vec::new();
    if norms {
        words.push("batch norm uses its running statistics".to_string());
    }
    if dropout {
        words.push("dropout is off".to_string());
    }
    words
}

impl From<Which> for Matrix {
    fn from(which: Which) -> Self {
        match which {
            Which::Hessian => Matrix::Hessian,
            Which::GaussNewton => Matrix::GaussNewton,
            Which::Curvature => Matrix::Curvature,
            Which::Fisher => Matrix::Fisher,
        }
    }
}
