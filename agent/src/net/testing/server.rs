//! An HTTP/1.1 server over TLS that answers as its script says, byte for byte.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ServerSessionMemoryCache, WebPkiClientVerifier},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    time::sleep,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{Authority, Pair};

/// What goes out. The connection ends after it unless it is [`Reply::Whole`] or [`Reply::Hang`].
#[derive(Clone)]
pub(crate) enum Reply {
    /// An answer of known length; the connection stays.
    Whole { status: &'static str, headers: &'static str, body: String },
    /// These pieces, with a pause after each.
    Pieces(Vec<Vec<u8>>, Duration),
    /// These pieces, then nothing for ever.
    Hang(Vec<Vec<u8>>),
}

/// What a server was asked, and by whom.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
    /// The certificate the client showed.
    pub(crate) client: Option<CertificateDer<'static>>,
}

/// Runs until the test ends.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

type Script = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::Whole { status: "200 OK", headers: "", body: body.into() }
    }

    fn wire(self) -> (Vec<Vec<u8>>, Duration) {
        match self {
            Self::Whole { status, headers, body } => {
                let length = body.len();
                let text = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
                (vec![text.into_bytes()], Duration::ZERO)
            }
            Self::Pieces(pieces, pause) => (pieces, pause),
            Self::Hang(pieces) => (pieces, Duration::ZERO),
        }
    }
}

impl Server {
    /// Over TLS; clients may show a certificate of `clients`.
    pub(crate) async fn tls(
        pair: &Pair,
        clients: &Authority,
        script: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(TlsAcceptor::from(Arc::new(tls(pair, clients)))), Arc::new(script)).await
    }

    /// In the clear.
    pub(crate) async fn plain(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(script)).await
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    async fn start(acceptor: Option<TlsAcceptor>, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let ledger = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _from)) = listener.accept().await {
                let (acceptor, script, ledger) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&ledger));
                tokio::spawn(async move {
                    let Some(acceptor) = acceptor else { return talk(stream, None, script, ledger).await };
                    // A client that does not trust the server ends the handshake; the test sees the client's side.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let client = client(&stream);
                    talk(stream, client, script, ledger).await;
                });
            }
        });
        Self { address, asked }
    }
}

fn client<S>(stream: &TlsStream<S>) -> Option<CertificateDer<'static>> {
    stream.get_ref().1.peer_certificates()?.first().map(|certificate| certificate.clone().into_owned())
}

fn tls(pair: &Pair, clients: &Authority) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .unwrap();
    let chain =
        CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .unwrap();
    // A client that did resume sessions would be caught at it.
    config.session_storage = ServerSessionMemoryCache::new(16);
    config
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    client: Option<CertificateDer<'static>>,
    script: Script,
    ledger: Arc<Mutex<Vec<Asked>>>,
) {
    while let Some((head, body)) = request(&mut stream).await {
        let asked = Asked { head, body, client: client.clone() };
        ledger.lock().unwrap().push(asked.clone());
        let reply = script(&asked);
        let (stays, hangs) = (matches!(reply, Reply::Whole { .. }), matches!(reply, Reply::Hang(_)));
        let (pieces, pause) = reply.wire();
        for piece in pieces {
            // The client may have had enough.
            if stream.write_all(&piece).await.is_err() || stream.flush().await.is_err() {
                return;
            }
            sleep(pause).await;
        }
        if hangs {
            std::future::pending::<()>().await;
        }
        if !stays {
            drop(stream.shutdown().await);
            return;
        }
    }
}

/// Head and body of the next request; `None` once the client has gone.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}
