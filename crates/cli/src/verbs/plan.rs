//! `plan`: what a wanted precision costs, before it is spent.

use clap::Args;
use polariscope_geometry::{SamplingPlan, plan};
use polariscope_report::{Align, Table, duration, grouped, pretty};

use super::geometry::options::QuestionArgs;
use crate::args::{ArchitectureArgs, Common};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;

/// What `plan` takes.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// The question.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// Measures and prints.
pub fn run(args: &PlanArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("plan")?;
    let graph = args.question.architecture(&args.architecture).graph()?;
    args.question.note_renamed(common);
    let question = args.question.question(&graph, common)?;
    let mut looker = Looker::without(common);
    let found = plan(&graph, &question, &mut looker);
    let plan = looker.settle(found)?;
    if common.json {
        return output::print_json(&plan);
    }
    output::print(&text(&plan, args.question.error))
}

fn text(plan: &SamplingPlan, wanted: Option<f64>) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("relative error of G", Right),
        ("Corr with the truth", Right),
        ("networks", Right),
        ("time", Right),
        ("", Left),
    ]);
    for price in &plan.prices {
        table.push([
            pretty(price.error).into(),
            format!("{:.4}", price.corr).into(),
            grouped(price.networks).into(),
            duration(price.seconds).into(),
            if Some(price.error) == wanted {
                "← asked for"
            } else {
                ""
            }
            .into(),
        ]);
    }
    let closed = match plan.closed_form {
        None => String::new(),
        Some(method) => format!(
            "Method {method} has a closed form here and needs no networks at all: leave --samples and --error out.\n"
        ),
    };
    format!(
        "{}\n{}, {} geometry: from a pilot of {} networks with {} probes each; {} a network here.\n{closed}",
        table.to_text(output::WIDTH),
        plan.architecture,
        plan.gradient,
        grouped(plan.pilot),
        plan.probes,
        match plan.seconds_a_network {
            s if s < 0.1 => format!("{} ms", pretty(1e3 * s)),
            s => duration(s),
        }
    )
}
