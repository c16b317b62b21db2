//! `experiment list`.

use polariscope_experiment::{About, Entry};

use super::registry::entries;
use super::runner::finished;
use crate::args::Common;
use crate::error::CliError;
use crate::output;

/// Names every experiment.
pub fn run(common: &Common) -> Result<(), CliError> {
    common.refuse_out("experiment list")?;
    if common.json {
        let all: Vec<About> = entries().map(Entry::about).collect();
        return output::print_json(&all);
    }
    let mut text = String::new();
    for entry in entries() {
        let about = entry.about();
        let status = match !about.images && finished(entry, common)? {
            true => "finished",
            false => "",
        };
        text += &line(&about, status);
    }
    output::print(&text)
}

fn line(about: &About, status: &str) -> String {
    let architecture = about.architecture.map(|name| format!(", {name}"));
    let data = if about.images { ", needs --data" } else { "" };
    format!(
        "{:17} {:>4} min  {status}\n    {} ({}{}{data})\n",
        about.name,
        about.minutes,
        about.line,
        about.source,
        architecture.unwrap_or_default()
    )
}
