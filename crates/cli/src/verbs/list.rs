//! `list`: what can be named.

use clap::{Args, ValueEnum};
use polariscope_data::SOURCES;
use polariscope_graph::zoo_list;
use polariscope_report::{Align, Table};
use serde::Serialize;

use crate::args::Common;
use crate::error::CliError;
use crate::output;

/// What to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Networks of the zoo.
    #[default]
    Architectures,
    /// Data sets.
    Data,
}

/// What `list` takes.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// architectures or data
    #[arg(
        value_name = "WHAT",
        default_value = "architectures",
        hide_possible_values = true
    )]
    pub kind: Kind,
}

/// A data set, for programs.
#[derive(Debug, Serialize)]
struct Data {
    name: &'static str,
    form: &'static str,
    description: &'static str,
    parameters: &'static [&'static str],
}

/// Prints every name with a line about it.
pub fn run(args: &ListArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("list")?;
    match (args.kind, common.json) {
        (Kind::Architectures, true) => output::print_json(&zoo_list()),
        (Kind::Architectures, false) => {
            let mut table = Table::new([("name", Align::Left), ("network", Align::Left)]);
            for entry in zoo_list() {
                table.push([entry.name.into(), entry.description.into()]);
            }
            output::print(&table.to_text(output::WIDTH))
        }
        (Kind::Data, true) => {
            let sources = SOURCES.iter().map(|s| Data {
                name: s.name,
                form: s.form,
                description: s.meaning,
                parameters: s.parameters,
            });
            output::print_json(&sources.collect::<Vec<_>>())
        }
        (Kind::Data, false) => output::print(&polariscope_data::help()),
    }
}
