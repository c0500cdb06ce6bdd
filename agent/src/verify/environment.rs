//! The options an image's own services will be given: the `EnvironmentFile=` of our units, as systemd.exec(5) reads it.

use std::io;

use clap::CommandFactory;

use super::Root;
use crate::{
    args::{self, Cli, Complaint},
    config::Config,
};

/// What is wrong with them. No complaint repeats a line that could not be understood: it may be a secret.
pub(super) fn complaints(root: &Root) -> Vec<Complaint> {
    let text = match root.read(FILE) {
        Ok(text) => text,
        // The units take it as optional.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![format!("cannot read {FILE}: {error}")],
    };
    let (line, mut complaints) = command_line(&String::from_utf8_lossy(&text));
    let (options, wrong) = args::lenient(&line.into_iter().map(Into::into).collect::<Vec<_>>());
    complaints.extend(wrong);
    complaints.extend(Config::from_options(&options).1);
    complaints.into_iter().map(|complaint| format!("{FILE}: {complaint}")).collect()
}

/// The command line that means the same, and what means nothing.
fn command_line(text: &str) -> (Vec<String>, Vec<Complaint>) {
    let (mut line, mut complaints) = (vec!["curfew-agent".to_owned(), "run".to_owned()], Vec::new());
    let command = Cli::command();
    let known: Vec<_> =
        command.find_subcommand("run").into_iter().flat_map(clap::Command::get_arguments).collect();
    let settings = text.lines().map(str::trim).enumerate();
    for (number, setting) in settings.filter(|(_, s)| !s.is_empty() && !s.starts_with(['#', ';'])) {
        let Some((name, value)) = setting.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
        else {
            complaints.push(format!("line {} is not NAME=value", number + 1));
            continue;
        };
        let option = known.iter().find(|arg| arg.get_env().is_some_and(|env| env == name));
        match option.and_then(|arg| arg.get_long()) {
            Some(long) => line.push(format!("--{long}={}", unquoted(value))),
            None if name.starts_with("CURFEW_") => complaints.push(format!("{name} is no option")),
            None => {}
        }
    }
    (line, complaints)
}

fn unquoted(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

const FILE: &str = "/etc/curfew/agent.env";
