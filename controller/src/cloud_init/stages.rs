//! Which stages a document has, and what each is done for: a stage whose inputs change is done again, and only that one.

use ring::digest;

use super::{
    options::{Agent, Flavour, Options, Secret},
    parts::Placed,
};

/// Stages in their order, as `name=digest` a line.
pub(super) fn list(options: &Options, placed: &[Placed], joined: &[Placed]) -> String {
    let [early, pre, post] = commands(options).map(|(_, commands)| commands);
    let files =
        || placed.iter().map(|file| format!("{} {} {:?}", file.mode, file.target, sum(&file.content.0)));
    let agent = match &options.agent {
        Agent::Fetch(download) => download.sha256.to_string(),
        Agent::OnImage { path, sha256 } => format!("{path} {sha256:?}"),
    };
    let join = joined.iter().map(|file| format!("{} {:?}", file.target, sum(&file.content.0)));
    let stages = [
        ("files", true, files().collect()),
        ("network", options.private_network.is_some(), vec![format!("{:?}", options.private_network)]),
        ("early", !early.is_empty(), early.to_vec()),
        ("fetch", matches!(options.agent, Agent::Fetch(_)), vec![agent.clone()]),
        ("install", true, vec![agent.clone()]),
        ("secrets", has_one_time(options), vec![format!("{:?}{:?}", options.token, options.join_secret())]),
        ("start", true, files().chain([agent]).collect()),
        ("guard", options.metadata_guard, files().collect()),
        ("armed", true, vec![options.join_unarmed.to_string()]),
        ("pre", !pre.is_empty(), pre.to_vec()),
        ("join", true, join.chain([format!("{:?}", binary(&options.flavour))]).collect()),
        ("post", !post.is_empty(), post.to_vec()),
    ];
    stages.into_iter().filter(|stage| stage.1).map(|(name, _, inputs)| line(name, &inputs)).collect()
}

/// The commands of the person who rents the machine, by the stage that runs them.
pub(super) fn commands(options: &Options) -> [(&'static str, &[String]); 3] {
    [("early", &options.early_commands), ("pre", &options.pre_commands), ("post", &options.post_commands)]
        .map(|(name, commands)| (name, commands.as_slice()))
}

fn line(name: &str, inputs: &[String]) -> String {
    // The length of each keeps two lists from looking alike.
    let inputs: Vec<_> = inputs.iter().map(|input| format!("{} {input}", input.len())).collect();
    format!("{name}={}\n", sum(inputs.concat().as_bytes()))
}

/// Enough of a SHA-256 to tell one document from the next.
fn sum(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    let first = digest.as_ref().iter().take(8).fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    format!("{first:016x}")
}

fn has_one_time(options: &Options) -> bool {
    let is = |secret: &Secret| matches!(secret, Secret::OneTime(_));
    is(&options.token) || options.join_secret().is_some_and(is)
}

fn binary(flavour: &Flavour) -> Option<String> {
    match flavour {
        Flavour::K3s { binary: Some(binary), .. } => Some(binary.sha256.to_string()),
        _ => None,
    }
}
