//! A TCP relay on loopback that can fall silent: connections are accepted and stay open, and no byte passes.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

pub(super) struct Relay {
    pub(super) address: SocketAddr,
    hangs: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Relay {
    pub(super) async fn open(upstream: String) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, hangs) = (listener.local_addr()?, watch::Sender::new(false));
        let serving = tokio::spawn(serve(listener, upstream, hangs.subscribe()));
        Ok(Self { address, hangs, serving })
    }

    pub(super) fn hang(&self, on: bool) {
        self.hangs.send_replace(on);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, upstream: String, hangs: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        let (upstream, hangs) = (upstream.clone(), hangs.clone());
        // A connection that fails is one that ends.
        connections.spawn(async move { drop(join(near, &upstream, hangs).await) });
        while connections.try_join_next().is_some() {}
    }
}

async fn join(near: TcpStream, upstream: &str, hangs: watch::Receiver<bool>) -> io::Result<()> {
    let far = TcpStream::connect(upstream).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::select! {
        ended = copy(near_in, far_out, hangs.clone()) => ended,
        ended = copy(far_in, near_out, hangs.clone()) => ended,
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut hangs: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        // An end is held back as well: a silent server closes nothing.
        if hangs.wait_for(|hangs| !hangs).await.is_err() || read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
}
