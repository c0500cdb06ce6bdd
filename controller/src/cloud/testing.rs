//! Real servers on loopback for the tests. Their only script is a function from what was asked to what goes out.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `GET /v1/servers/1`.
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A server that answers as scripted, one request a connection, and remembers what it was asked.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Plain HTTP.
    pub(crate) async fn plain(script: impl Fn(&Asked) -> String + Send + Sync + 'static) -> Self {
        Self::start(None, script).await
    }

    /// TLS.
    pub(crate) async fn tls(
        tls: TlsAcceptor,
        script: impl Fn(&Asked) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(tls), script).await
    }

    async fn start(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&Asked) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (script, log) = (Arc::new(script), Arc::clone(&asked));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, script, log) = (tls.clone(), Arc::clone(&script), Arc::clone(&log));
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &*script, &log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &*script, &log).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }
}

/// An answer as it goes out.
pub(crate) fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &(dyn Fn(&Asked) -> String + Send + Sync),
    log: &Mutex<Vec<Asked>>,
) {
    let mut bytes = Vec::new();
    while !complete(&bytes) {
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let line = head.split(" HTTP/").next().unwrap().to_owned();
    let asked = Asked { line, head: head.to_owned(), body: body.to_owned() };
    let out = script(&asked);
    log.lock().unwrap().push(asked);
    let ends = out.strip_suffix(NEVER_ENDS);
    if stream.write_all(ends.unwrap_or(&out).as_bytes()).await.is_ok() && ends.is_some() {
        std::future::pending::<()>().await;
    }
    drop(stream.shutdown().await);
}

fn complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// Sent no more: the connection is left open, and nothing comes after what stands before.
pub(crate) const NEVER_ENDS: &str = "…";
