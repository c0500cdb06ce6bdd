//! The cluster as the sandbox and the tests hold it: start, stop, faults, objects, the ledger.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    api::Rules,
    authz::NodeReads,
    fault::Outage,
    kubelet,
    ledger::Call,
    pki::{Authority, Validity},
    serve,
    shared::Shared,
};

/// Why the cluster could not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port is taken, or loopback is not there.
    #[error("failed to listen on {address}: is something else on that port?")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A kubeconfig or certificate could not be written.
    #[error("failed to write {}", path.display())]
    Files {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A certificate could not be made.
    #[error("failed to make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS could not be set up.
    #[error("failed to set up TLS")]
    Tls(#[from] rustls::Error),
    /// The client certificates' verifier could not be set up.
    #[error("failed to set up the check of client certificates")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// A generated key is not laid out as a P-256 key is.
    #[error("the generated key is not a P-256 key in the expected form")]
    Key,
    /// An object was refused, for the reason the API gives.
    #[error("the API refused {what}: {message} ({code})")]
    Refused {
        /// Verb, resource, name.
        what: String,
        /// The `Status` message.
        message: String,
        /// The HTTP status.
        code: u16,
    },
}

impl Error {
    pub(super) fn files(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Files { path, source }
    }
}

/// How a cluster starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens: 127.0.0.1, unless machines in network namespaces of their own must reach it.
    pub listen: IpAddr,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// Where kubeconfigs and certificates are written.
    pub dir: PathBuf,
    /// How often an idle watch gets a bookmark. A real server: a minute.
    pub bookmark_every: Duration,
    /// Whether kubelets read every Node.
    pub node_reads: NodeReads,
    /// Definitions that are there from the start.
    pub definitions: Vec<Value>,
}

impl Options {
    /// A real cluster's values, on a free port.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            listen: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            dir: dir.into(),
            bookmark_every: Duration::from_mins(1),
            node_reads: NodeReads::Own,
            definitions: vec![],
        }
    }
}

/// A running cluster. Dropped, it is gone, open connections included.
pub struct Cluster {
    pub(super) shared: Arc<Shared>,
    address: SocketAddr,
    pub(super) dir: PathBuf,
    serving: Mutex<Option<JoinHandle<()>>>,
    kubelets: JoinHandle<()>,
}

impl Cluster {
    /// Makes a CA, a server certificate and the namespaces, and listens.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let (authority, tls) = {
            let validity = usual(clock());
            let authority = Authority::new(validity)?;
            let tls = authority.server(validity, options.listen)?;
            (authority, tls)
        };
        let rules = Rules { node_reads: options.node_reads };
        let shared = Arc::new(Shared::new(authority, tls, rules, options.bookmark_every));
        fs::create_dir_all(&options.dir).map_err(Error::files(&options.dir))?;
        let kubelets = tokio::spawn(kubelet::run(shared.clone()));
        let mut cluster = Self {
            shared,
            address: (options.listen, options.port).into(),
            dir: options.dir,
            serving: Mutex::new(None),
            kubelets,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            cluster.create(("", "v1", "namespaces"), "", &json!({"metadata": {"name": name}}))?;
        }
        for definition in options.definitions {
            cluster.create(("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "", &definition)?;
        }
        let asked = cluster.address;
        let refuse = |source| Error::Listen { address: asked, source };
        let listener = serve::listen(cluster.address).await.map_err(refuse)?;
        cluster.address = listener.local_addr().map_err(refuse)?;
        *cluster.serving() = Some(tokio::spawn(serve::serve(cluster.shared.clone(), listener)));
        Ok(cluster)
    }

    /// `https://ADDRESS:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The API server's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// Closes the listener and cuts every connection: connections are refused from now on.
    pub async fn stop(&self) {
        let serving = self.serving().take();
        if let Some(task) = serving {
            task.abort();
            // Awaited so that the port is free on return.
            let _ = task.await;
        }
    }

    /// Listens again on the same port. Nothing happens if it already does.
    pub async fn resume(&self) -> Result<(), Error> {
        if self.serving().is_some() {
            return Ok(());
        }
        let address = self.address;
        let listener = serve::listen(address).await.map_err(|source| Error::Listen { address, source })?;
        *self.serving() = Some(tokio::spawn(serve::serve(self.shared.clone(), listener)));
        Ok(())
    }

    /// Stops and resumes as a restarted API server: same port, and its watch history lost, so that a watch that
    /// resumes gets an error event with code 410.
    pub async fn restart(&self) -> Result<(), Error> {
        self.stop().await;
        self.forget_history();
        self.resume().await
    }

    fn serving(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While on, the server accepts connections and neither reads nor writes a byte, on open ones as well.
    /// Switched off, what was held back flows.
    pub fn hang(&self, on: bool) {
        self.shared.faults.hang(on);
    }

    /// Answers every request with an error; `None` ends it. Open watches go on.
    pub fn outage(&self, outage: Option<Outage>) {
        self.shared.faults.set_outage(outage);
    }

    /// Watches that are open now never say anything again, and stay open.
    pub fn mute_watches(&self) {
        self.shared.faults.mute_watches_below(self.shared.watches().0);
    }

    /// Ends all open watches as a server does whose time-out has come.
    pub fn end_watches(&self) {
        self.shared.faults.end_watches();
    }

    /// Forgets the history of changes: open and resuming watches get an error event with code 410.
    pub fn forget_history(&self) {
        self.shared.write(super::store::Store::forget_history);
    }

    /// Sets the API server's clock wrong by so much; positive is ahead.
    pub fn skew(&self, by: SignedDuration) {
        self.shared.faults.set_skew(by);
    }

    /// Gives the server another certificate, for connections to come.
    pub fn set_server_validity(&self, validity: Validity) -> Result<(), Error> {
        self.shared.set_tls(self.shared.authority.server(validity, self.address.ip())?);
        Ok(())
    }

    /// For another server on the cluster's address: HTTP/1.1 over TLS, by a certificate of the cluster's authority.
    pub fn server_tls(&self) -> Result<ServerConfig, Error> {
        self.shared.authority.server(usual(self.now()), self.address.ip())
    }

    /// Every request so far, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls()
    }

    /// How many watches are open.
    #[must_use]
    pub fn open_watches(&self) -> u64 {
        self.shared.watches().1
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kubelets.abort();
        if let Some(task) = self.serving().take() {
            task.abort();
        }
    }
}

/// From a year ago for ten years: a server whose clock is set wrong must still take the certificates.
pub(super) fn usual(now: Timestamp) -> Validity {
    let years = |years: i64| now.checked_add(SignedDuration::from_hours(years * 365 * 24)).unwrap_or(now);
    Validity { from: years(-1), until: years(10) }
}

/// The true time, for certificates that are made before there is a server with a clock.
#[expect(clippy::disallowed_methods, reason = "the double of a machine with a clock of its own")]
fn clock() -> Timestamp {
    Timestamp::now()
}
