//! `completions` and `man`: what a shell and a manual reader want of the command.

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use polariscope_graph::nearest;

use crate::args::Common;
use crate::error::CliError;
use crate::help;
use crate::output;

/// What `completions` takes.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, powershell or elvish
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub shell: Shell,
}

/// What `man` takes.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// The page of this verb [default: that of the whole command]
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
}

/// Prints the script that completes verbs and options.
pub fn completions(args: &CompletionsArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("completions")?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "polariscope", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints a manual page.
pub fn man(args: &ManArgs, common: &Common) -> Result<(), CliError> {
    common.refuse_out("man")?;
    // Options of every verb reach the verbs when the command is built.
    let mut command = help::command();
    command.build();
    let page = match &args.verb {
        None => command,
        Some(verb) => {
            let found = command.find_subcommand(verb).cloned();
            found.ok_or_else(|| unknown(&command, verb))?
        }
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(|e| CliError::Failed(format!("cannot write the manual page: {e}")))?;
    output::print(&String::from_utf8_lossy(&text))
}

fn unknown(command: &Command, verb: &str) -> CliError {
    let near = nearest(verb, command.get_subcommands().map(Command::get_name));
    let near = near.map_or_else(
        || "`polariscope --help` has them".to_string(),
        |name| format!("did you mean {name}?"),
    );
    CliError::Usage(format!("there is no verb {verb}: {near}"))
}
