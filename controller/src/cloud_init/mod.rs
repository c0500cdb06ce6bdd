//! A cloud-init document that puts the agent on a machine, arms it, and only then lets Kubernetes have the machine.
//!
//! Pure: [`render`] takes values and gives text. Offline: nothing is fetched, no checksum is looked up. The document
//! carries a script (`cloud-init/*.sh`), its options, and the units of `systemd/`; what they do is told there.
//!
//! Never in a document, unless it was asked for by name: a secret. User-data can be read by whoever can reach the
//! metadata service from the machine, for as long as the machine lives.

mod args;
mod carried;
mod document;
mod error;
mod kubernetes;
mod options;
mod parts;
pub(crate) mod placeholder;
mod stages;
mod value;

pub(crate) use args::CloudInitArgs;
pub use document::LIMIT;
pub use error::{Error, Refused};
pub use options::{Agent, Download, ExtraFile, Flavour, Options, Patience, PrivateNetwork, Secret};
pub use value::{AgentOption, Content, KubeletArg, Label, Mode, Network, Path, Sha256, Taint, Url};

/// A document, and what the person who asked for it must know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The user-data, at most [`LIMIT`] bytes, beginning with `#cloud-config`.
    pub text: String,
    /// What this document gives away or leaves open, a sentence each.
    pub warnings: Vec<String>,
}

/// Writes the document.
pub fn render(options: &Options) -> Result<Document, Error> {
    options.check()?;
    let parts = parts::all(options);
    let text = document::write(&parts, &parts::early(options), parts::LATE)?;
    Ok(Document { text, warnings: options.warnings() })
}
