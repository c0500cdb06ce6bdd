//! What a machine is given: the document of the product's own renderer, as a person would order it.

use curfew_controller::cloud_init::{
    self, Agent, Content, Download, Error, ExtraFile, Flavour, Options, Patience, Refused, Secret,
};
use jiff::SignedDuration;
use ring::digest;

/// A file the document brings.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    pub(crate) path: String,
    /// Octal.
    pub(crate) mode: &'static str,
    pub(crate) content: String,
}

impl Extra {
    pub(crate) fn new(path: impl Into<String>, mode: &'static str, content: impl Into<String>) -> Self {
        Self { path: path.into(), mode, content: content.into() }
    }
}

/// What a document is ordered with.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// Where the agent may be had, in the order to be tried.
    pub(crate) urls: Vec<String>,
    /// The agent's options, as lines of its environment file.
    pub(crate) options: String,
    /// The provider's token; `None`: it comes later.
    pub(crate) token: Option<String>,
    pub(crate) files: Vec<Extra>,
    /// How long all attempts to fetch may take together.
    pub(crate) fetch_within: SignedDuration,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("the renderer refuses a value")]
    Value(#[from] Refused),
    #[error("the renderer refuses")]
    Render(#[from] Error),
}

/// Renders it. `agent`: the bytes that are pinned.
pub(crate) fn render(agent: &[u8], order: Order) -> Result<String, DocumentError> {
    let sha256 = digest::digest(&digest::SHA256, agent);
    let sha256 = sha256.as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let urls = order.urls.iter().map(|url| url.parse()).collect::<Result<_, Refused>>()?;
    let file = |Extra { path, mode, content }: Extra| {
        Ok(ExtraFile { path: path.parse()?, mode: mode.parse()?, content: Content(content.into_bytes()) })
    };
    let token = match order.token {
        Some(token) => Secret::InUserData(Content(token.into_bytes())),
        None => Secret::OnMachine(TOKEN.parse()?),
    };
    let options = Options {
        agent: Agent::Fetch(Download { urls, sha256: sha256.parse()? }),
        agent_options: order.options.lines().map(str::parse).collect::<Result<_, Refused>>()?,
        token,
        flavour: Flavour::None,
        labels: vec![],
        taints: vec![],
        kubelet_args: vec![],
        files: order.files.into_iter().map(file).collect::<Result<_, Refused>>()?,
        early_commands: vec![],
        pre_commands: vec![],
        post_commands: vec![],
        bin_dir: "/usr/local/bin".parse()?,
        transient_units: false,
        private_network: None,
        metadata_guard: true,
        join_unarmed: false,
        patience: Patience { download: order.fetch_within, ..Patience::default() },
    };
    Ok(cloud_init::render(&options)?.text)
}

/// Where the agent's token is.
pub(crate) const TOKEN: &str = "/etc/curfew/token";
