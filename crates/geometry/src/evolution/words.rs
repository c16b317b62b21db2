//! The finding in plain words.

use polariscope_report::{counted, pretty};
use polariscope_stats::Estimate;

use polariscope_train::Problem;

use super::EvolutionConfig;
use super::answer::{KnownFrom, Moved, SHORT};

/// Correlations below this are no likeness.
const ALIKE: f64 = 0.2;
/// Standard errors apart from which on two numbers differ.
const APART: f64 = 2.0;
/// A standard error with which one can tell.
const TELLING: f64 = 0.05;
/// A fitted order this close to 1 is 1.
const SMOOTH: f64 = 0.2;

/// What the geometry does, how well that is known, how it was checked.
pub fn words(problem: &Problem, config: &EvolutionConfig, moved: &Moved) -> String {
    let name = &problem.graph.name;
    let data = problem.data_name();
    let first = match (moved.corr_s, moved.corr_gsg) {
        (Some(s), Some(gsg)) => movement(name, data, s, gsg),
        _ => format!(
            "{} The relative error of Δ is {}.",
            noisy(name, data, 16 * moved.networks),
            pretty(moved.delta_error)
        ),
    };
    let noise = match moved.geometry {
        KnownFrom::Exact => "",
        KnownFrom::Sampled => {
            " The G of GSG comes from the same networks; its noise makes Corr(−Δ, GSG) too small rather than too large."
        }
    };
    format!(
        "{first}\n\nFrom {}, {}, loss {}. The minus sign: at first, training takes away from a random network what it \
         says about the data by chance, so the geometry shrinks along the directions it moves in, and −Δ is \
         compared.{noise}\n\n{}",
        counted(moved.networks, "network"),
        counted(moved.samples as u64, "sample"),
        config.loss,
        check(moved)
    )
}

/// What to do where nothing can be told.
fn noisy(name: &str, data: &str, networks: u64) -> String {
    format!(
        "Where the geometry of {name} begins to move when training on {data} starts is lost in sampling noise; --samples \
         {networks} would tell."
    )
}

fn movement(name: &str, data: &str, s: Estimate, gsg: Estimate) -> String {
    let numbers = format!("Corr(−Δ, GSG) is {}, Corr(−Δ, S) {}.", gsg.pair(), s.pair());
    let error = s.standard_error.hypot(gsg.standard_error);
    let apart = (gsg.value - s.value) / error;
    let clear = |c: Estimate| c.value > APART * c.standard_error;
    let said = if !clear(s) && !clear(gsg) && error > TELLING {
        let factor = (error / TELLING).powi(2).min(1e6).ceil() as u64;
        noisy(name, data, (factor * s.samples).next_power_of_two())
    } else if s.value.max(gsg.value) < ALIKE {
        format!(
            "When training on {data} begins, the geometry of {name} moves neither along the data nor along the data seen \
             through the geometry."
        )
    } else if apart > APART {
        format!(
            "When training on {data} begins, the geometry of {name} moves along the data as the architecture sees them \
             (GSG) rather than along the data themselves (S): what it does not see at the start does not begin to be seen."
        )
    } else if apart < -APART {
        format!(
            "When training on {data} begins, the geometry of {name} moves along the data themselves (S) rather than along \
             the data seen through the geometry (GSG)."
        )
    } else {
        format!(
            "When training on {data} begins, the geometry of {name} moves along the data, and whether these are taken as \
             they are (S) or seen through the geometry (GSG) makes no difference that can be told from sampling noise."
        )
    };
    format!("{said} {numbers}")
}

fn check(moved: &Moved) -> String {
    let Some(last) = moved.finite.last() else {
        return "The check by steps of finite time gave no numbers: the weights do not move."
            .to_string();
    };
    let numbers = format!(
        "at the shortest step, {} of the time in which the weights move by their own size, they differ by {} of Δ",
        pretty(last.step),
        pretty(last.error)
    );
    let long = moved.finite.iter().filter(|f| f.error >= SHORT).count();
    if long == moved.finite.len() {
        return format!(
            "Steps of finite time cannot check Δ here: {numbers}. If the network has kinks (ReLU, max pooling), some pass \
             even then and the gradient jumps, while Δ is the movement between jumps; --activation gelu has none."
        );
    }
    let kinks = match long {
        0 => "",
        _ => {
            " Over longer steps kinks (ReLU, max pooling) pass and the gradient jumps: Δ is the movement between jumps."
        }
    };
    match &moved.order {
        Some(order) if (order.exponent - 1.0).abs() <= SMOOTH => format!(
            "Steps of finite time agree with Δ: {numbers}, and the difference falls in proportion to the step.{kinks}"
        ),
        _ => format!("Steps of finite time come close to Δ: {numbers}.{kinks}"),
    }
}
