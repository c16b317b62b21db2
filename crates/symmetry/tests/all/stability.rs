//! Catches wrong averages, wrong noise and statistics of batch norm that are not those of the images.

use polariscope_data::Dataset;
use polariscope_data::deform::{Deformations, Interpolation, ModeRule};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_lens::{Quiet, Setup};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_symmetry::stability::{Average, Question, Rules, Summary, answer};
use polariscope_symmetry::{Learnt, Origin, Subject};
use polariscope_train::Problem;

use crate::images::blobs;

fn problem(network: &str) -> Problem {
    let data = blobs(200);
    let options = ZooOptions::with_input(data.shape);
    let graph = zoo(network, &options).unwrap();
    Problem { graph, data }
}

fn at_first(network: &str, question: &Question) -> Summary {
    let subject = Subject::<f64> {
        problem: problem(network),
        learnt: Learnt::Nothing,
    };
    answer(&subject, question, &mut Quiet).unwrap().summary
}

fn with(average: Average) -> Question {
    Question {
        images: 200,
        rules: Rules {
            average,
            ..Rules::default()
        },
        ..Question::default()
    }
}

/// f = Wx + b: G grows as ‖η‖², whatever the average.
#[test]
fn noise_of_a_linear_network_has_slope_two() {
    for average in [Average::Median, Average::Mean, Average::Coordinates] {
        let summary = at_first("logreg", &with(average));
        let sweep = &summary.networks[0].sweep;
        assert!(sweep.len() >= 4);
        for pair in sweep.windows(2) {
            let slope = (pair[1].noise.value / pair[0].noise.value).ln()
                / (pair[1].radius / pair[0].radius).ln();
            assert!((slope - 2.0).abs() < 1e-10, "{average:?}: {slope}");
        }
    }
}

/// f = Wx + b: ⟨‖Wη‖²⟩ = ‖η‖² ‖W‖²/d over the sphere, and ⟨‖W(τx − x)‖²⟩ is known for the deformations that were drawn.
#[test]
fn a_linear_network_has_its_closed_form() {
    let question = with(Average::Mean);
    let summary = at_first("logreg", &question);
    let Problem { graph, data } = problem("logreg");
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    let w = &weights.values[0];
    let d = data.shape.len();
    let deformations = Deformations::of(data.shape, question.cutoff, ModeRule::Strict).unwrap();
    let point = summary.networks[0].asked();
    let (mut moved, mut distance) = (0.0, 0.0);
    for (i, x) in data.test.x.chunks_exact(d).enumerate() {
        let field = deformations.draw(
            point.temperature,
            &Stream::new(0, i as u64, "stability.deformation"),
        );
        let mut out = vec![0.0; d];
        field.apply(x, Interpolation::Bilinear, &mut out);
        let change: Vec<f64> = out
            .iter()
            .zip(x)
            .map(|(a, b)| f64::from(*a) - f64::from(*b))
            .collect();
        distance += change.iter().map(|c| c * c).sum::<f64>().sqrt();
        moved += w
            .chunks_exact(d)
            .map(|row| {
                row.iter()
                    .zip(&change)
                    .map(|(w, c)| w * c)
                    .sum::<f64>()
                    .powi(2)
            })
            .sum::<f64>();
    }
    let n = 200.0;
    let radius = distance / n;
    assert!((point.radius / radius - 1.0).abs() < 1e-6);
    let norm: f64 = w.iter().map(|w| w * w).sum();
    let expected = moved / n / (radius * radius * norm / d as f64);
    // The numerator is the same; what is sampled is the mean of ‖Wη‖². Its relative error over 200 directions with 10 outputs is √(2/10/200).
    let error = (2.0f64 / 10.0 / n).sqrt();
    let found = point.relative.value;
    assert!(
        (found / expected - 1.0).abs() < 3.0 * error,
        "{found} {expected}"
    );
}

/// Untrained networks mind deformations about as much as noise: fully connected ones, and with batch norm on the statistics of the images.
#[test]
fn at_first_r_is_of_order_one() {
    for network in ["mlp-2x64", "lenet", "resnet9"] {
        let subject = Subject::<f32> {
            problem: problem(network),
            learnt: Learnt::Nothing,
        };
        let question = Question {
            images: 60,
            ..Question::default()
        };
        let summary = answer(&subject, &question, &mut Quiet).unwrap().summary;
        let relative = summary.networks[0].asked().relative;
        assert!(
            relative.low < 2.5 && relative.high > 0.3,
            "{network}: {relative:?}"
        );
        assert!(relative.low < relative.value && relative.value < relative.high);
    }
}

/// The same weights before and after: nothing changed, and the page says that nothing is decided.
#[test]
fn the_same_weights_make_no_change() {
    let problem = problem("lenet");
    let weights = Weights::<f64>::draw(&problem.graph, 0, 0);
    let subject = Subject {
        problem,
        learnt: Learnt::Given(weights),
    };
    let summary = answer(&subject, &with(Average::Median), &mut Quiet)
        .unwrap()
        .summary;
    let change = summary.change.unwrap();
    for value in [change.relative, change.deformation, change.noise] {
        assert!((value.value - 1.0).abs() < 1e-12 && value.low <= 1.0 && value.high >= 1.0);
    }
    assert!(
        summary
            .words
            .contains("Whether learning changed R is not decided")
    );
    assert_eq!(summary.networks[1].weights, Origin::Given);
}

#[test]
fn refusals_are_one_line() {
    let refused = |data: Dataset, network: &str, question: Question| {
        let graph: Graph = zoo(network, &ZooOptions::with_input(data.shape)).unwrap();
        let subject = Subject::<f32> {
            problem: Problem { graph, data },
            learnt: Learnt::Nothing,
        };
        let error = answer(&subject, &question, &mut Quiet)
            .map(|_| ())
            .unwrap_err();
        assert!(error.is_usage());
        error.to_string()
    };
    let hot = Question {
        displacement: 20.0,
        ..Question::default()
    };
    assert!(refused(blobs(30), "lenet", hot).contains("above its upper limit"));
    let fine = Question {
        cutoff: 60,
        ..Question::default()
    };
    assert!(refused(blobs(30), "lenet", fine).contains("smaller than a mode"));
    let vectors = Dataset::load("linear?shape=6&sigma=0.5&train=2&test=50").unwrap();
    assert!(refused(vectors, "mlp-1x8", Question::default()).contains("images"));
    let few = Question {
        images: 3,
        setup: Setup::default(),
        ..Question::default()
    };
    assert!(refused(blobs(30), "lenet", few).contains("too few"));
}
