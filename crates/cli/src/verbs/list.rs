//! `list`: the zoo.

use polariscope_graph::zoo_list;
use polariscope_report::{Align, Table};

use crate::args::Common;
use crate::error::CliError;
use crate::output;

/// Prints every name of the zoo with a line about it.
pub fn run(common: &Common) -> Result<(), CliError> {
    if common.out.is_some() {
        return Err(CliError::Usage(
            "--out: list writes no files; redirect its output instead".into(),
        ));
    }
    if common.json {
        return output::print_json(&zoo_list());
    }
    let mut table = Table::new([("name", Align::Left), ("network", Align::Left)]);
    for entry in zoo_list() {
        table.push([entry.name.into(), entry.description.into()]);
    }
    output::print(&table.to_text(output::WIDTH))
}
