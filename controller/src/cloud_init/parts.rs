//! The parts of a document: the script's files, its options, what it puts in place.

use super::{
    carried::{
        CONFIG, FETCH, GUARD, GUARD_RULES, HELD, HELD_BY, HELD_BY_TEXT, HOLD, JOIN_SECRET, K3S_UNIT, PLACE,
        RUN, TOKEN, UNITS, join,
    },
    document::{Part, assign, without_comments},
    kubernetes::joined,
    options::{Agent, Flavour, Options, Secret},
    stages,
    value::{Content, Mode},
};

/// Where the script and its state live.
const STATE: &str = "/var/lib/curfew/bootstrap";
/// What cloud-init runs last in the first boot.
pub(super) const LATE: &str = "exec /bin/sh /var/lib/curfew/bootstrap/run\n";

/// A file that the script puts in place, as a line of its manifest: `MODE SOURCE TARGET`.
#[derive(Clone)]
pub(super) struct Placed {
    pub(super) mode: Mode,
    /// Below the script's state. What lies in `own/` names curfew's places, and the script fills in the real ones.
    pub(super) source: String,
    /// `@units/…`, `@config/…`, or an absolute path.
    pub(super) target: String,
    pub(super) content: Content,
}

/// What runs early in each boot.
pub(super) fn early(options: &Options) -> String {
    let boot = format!("[ ! -f {STATE}/run ] || /bin/sh {STATE}/run boot\n");
    if options.join_unarmed { boot } else { without_comments(HOLD) + &boot }
}

/// Every file that cloud-init writes.
pub(super) fn all(options: &Options) -> Vec<Part> {
    let placed = placed(options);
    let joined = joined(options);
    let script = |name: &str, text: &str| (name.to_owned(), "0600", without_comments(text).into_bytes());
    let mut parts = vec![
        script("run", RUN),
        script("place", PLACE),
        script("fetch", FETCH),
        script("join", join(&options.flavour)),
        ("options".into(), "0600", settings(options, &placed, &joined).into_bytes()),
    ];
    for (name, commands) in stages::commands(options) {
        if !commands.is_empty() {
            parts.push((name.into(), "0600", (commands.join("\n") + "\n").into_bytes()));
        }
    }
    if let Flavour::K3s { .. } = options.flavour {
        parts.push(script("own/k3s-agent.service", K3S_UNIT));
    }
    parts.extend(placed.into_iter().chain(joined).map(|file| (file.source, "0600", file.content.0)));
    parts.dedup_by(|a, b| a.0 == b.0);
    let at = |(name, mode, content)| Part { path: format!("{STATE}/{name}"), mode, content };
    parts.into_iter().map(at).collect()
}

fn settings(options: &Options, placed: &[Placed], joined: &[Placed]) -> String {
    let (urls, sha256, on_image) = match &options.agent {
        Agent::Fetch(download) => (lines(&download.urls), download.sha256.to_string(), String::new()),
        Agent::OnImage { path, sha256 } => {
            (String::new(), sha256.as_ref().map(ToString::to_string).unwrap_or_default(), path.to_string())
        }
    };
    let private = options.private_network.as_ref();
    let gateway = private.and_then(|private| private.gateway).map(|gateway| gateway.to_string());
    let (k3s_urls, k3s_sha256) = match &options.flavour {
        Flavour::K3s { binary: Some(binary), .. } => (lines(&binary.urls), binary.sha256.to_string()),
        _ => Default::default(),
    };
    [
        ("STAGES", stages::list(options, placed, joined)),
        ("FILES", manifest(placed)),
        ("JOIN_FILES", manifest(joined)),
        ("AGENT_URLS", urls),
        ("AGENT_SHA256", sha256),
        ("AGENT_ON_IMAGE", on_image),
        ("BIN_DIR", options.bin_dir.to_string()),
        ("TRANSIENT", yes(options.transient_units)),
        ("HELD", HELD.join(" ")),
        ("JOIN_UNARMED", yes(options.join_unarmed)),
        ("SECRETS", one_time(options)),
        ("PRIVATE_NETWORK", private.map(|private| private.network.to_string()).unwrap_or_default()),
        ("PRIVATE_GATEWAY", gateway.unwrap_or_default()),
        ("K3S_URLS", k3s_urls),
        ("K3S_SHA256", k3s_sha256),
        ("JOIN_SECRET", options.join_secret().map(|secret| at(secret, JOIN_SECRET)).unwrap_or_default()),
        ("ATTEMPT_SECONDS", options.patience.attempt.as_secs().to_string()),
        ("TOTAL_SECONDS", options.patience.download.as_secs().to_string()),
        ("ARMED_SECONDS", options.patience.armed.as_secs().to_string()),
    ]
    .map(|(name, value)| assign(name, &value))
    .concat()
}

/// What is in place before the agent starts.
fn placed(options: &Options) -> Vec<Placed> {
    let mut files: Vec<Placed> =
        UNITS.iter().map(|(name, text)| own(name, &format!("@units/{name}"), text)).collect();
    files.push(own("agent.env", "@config/agent.env", &agent_env(options)));
    if options.metadata_guard {
        files.push(own("curfew-metadata-guard.service", "@units/curfew-metadata-guard.service", GUARD));
        files.push(own("metadata-guard.nft", "@config/metadata-guard.nft", GUARD_RULES));
    }
    if !options.join_unarmed {
        let held =
            |service: &&str| own(HELD_BY, &format!("@units/{service}.service.d/{HELD_BY}"), HELD_BY_TEXT);
        files.extend(HELD.iter().map(held));
    }
    let given = [(TOKEN, Some(&options.token)), (JOIN_SECRET, options.join_secret())];
    for (target, secret) in given {
        if let Some(Secret::InUserData(content)) = secret {
            files.push(Placed { mode: Mode::SECRET, ..verbatim(target, content) });
        }
    }
    files.extend(
        options
            .files
            .iter()
            .map(|file| Placed { mode: file.mode, ..verbatim(&file.path.to_string(), &file.content) }),
    );
    for (number, file) in files.iter_mut().filter(|file| file.source.is_empty()).enumerate() {
        file.source = format!("files/{number}");
    }
    files
}

fn agent_env(options: &Options) -> String {
    let token = at(&options.token, TOKEN).replace("@config", CONFIG);
    let given = options.agent_options.iter().map(|option| format!("{}={}\n", option.name, option.value));
    std::iter::once(format!("CURFEW_TOKEN_FILE={token}\n")).chain(given).collect()
}

/// Lines `TARGET URL` of what has to be fetched once.
fn one_time(options: &Options) -> String {
    let line = |(target, secret): (&str, &Secret)| match secret {
        Secret::OneTime(url) => format!("{target} {url}\n"),
        _ => String::new(),
    };
    let join = options.join_secret().map(|secret| (JOIN_SECRET, secret));
    std::iter::once((TOKEN, &options.token)).chain(join).map(line).collect()
}

pub(super) fn at(secret: &Secret, unless_on_machine: &str) -> String {
    match secret {
        Secret::OnMachine(path) => path.to_string(),
        Secret::OneTime(_) | Secret::InUserData(_) => unless_on_machine.into(),
    }
}

pub(super) fn own(name: &str, target: &str, text: &str) -> Placed {
    let mode = if target.starts_with("@units") { Mode::PUBLIC } else { Mode::SECRET };
    let content = Content(without_comments(text).into_bytes());
    Placed { mode, source: format!("own/{name}"), target: target.into(), content }
}

fn verbatim(target: &str, content: &Content) -> Placed {
    Placed { mode: Mode::SECRET, source: String::new(), target: target.into(), content: content.clone() }
}

fn manifest(files: &[Placed]) -> String {
    let line = |file: &Placed| format!("{} {} {}\n", file.mode, file.source, file.target);
    files.iter().map(line).collect::<Vec<_>>().concat()
}

pub(super) fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn lines<T: ToString>(values: &[T]) -> String {
    texts(values).join("\n")
}

fn yes(is: bool) -> String {
    if is { "yes".into() } else { "no".into() }
}
