//! What rows need of a machine, whatever it is made of.

use std::{io, net::Ipv4Addr};

use crate::console::Console;

/// A machine to boot.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// Host name; at most eleven characters, since an interface is named after it.
    pub(crate) name: String,
    /// Its address on the bridge; the world outside is its router.
    pub(crate) address: Ipv4Addr,
    /// What cloud-init is given.
    pub(crate) user_data: String,
}

/// What a command within a machine came to.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output and standard error.
    pub(crate) text: String,
}

/// Why a machine did not do what it was told. None of it says anything about curfew: the row could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BedError {
    #[error("failed to boot machine {name}")]
    Boot {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to run `{command}` on machine {name}")]
    Run {
        name: String,
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("`{command}` on machine {name} ended with {code}: {text}")]
    Failed { name: String, command: String, code: i32, text: String },
}

/// A running machine.
pub(crate) trait Bed: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// Everything it said, also after its end.
    fn console(&self) -> &Console;

    /// A shell command as root, whatever it comes to.
    fn try_run(&self, command: &str) -> impl Future<Output = Result<Output, BedError>> + Send;

    /// A shell command as root that must succeed. Returns what it printed.
    fn run(&self, command: &str) -> impl Future<Output = Result<String, BedError>> + Send {
        async move {
            let Output { code, text } = self.try_run(command).await?;
            if code == 0 {
                return Ok(text);
            }
            let (name, command) = (self.name().to_owned(), command.to_owned());
            Err(BedError::Failed { name, command, code, text })
        }
    }

    /// Pulls the plug, as a provider does; returns when nothing of it runs. May be called again.
    fn kill(&self);
}
