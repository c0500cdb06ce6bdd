//! A listening port that can be shut, left hanging, and opened again as the same port.
//!
//! Knows nothing of calls.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::serve::{Shared, connection};

/// What a caller of the API meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Answers.
    Up,
    /// Nobody listens: connections are refused, open ones are reset.
    Refuse,
    /// Connections are accepted, and nothing is ever answered. What was asked meanwhile has no effect.
    Hang,
}

/// One port.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    /// Bound but never listening: keeps the port ours while nobody listens on it.
    _reserve: TcpSocket,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    mode: watch::Sender<Mode>,
    doorman: Mutex<Option<JoinHandle<()>>>,
}

impl Door {
    /// Port 0 takes a free one.
    pub(crate) async fn open(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let reserve = bind(address)?;
        let door = Self {
            address: reserve.local_addr()?,
            _reserve: reserve,
            tls: tls.map(TlsAcceptor::from),
            shared,
            mode: watch::Sender::new(Mode::Refuse),
            doorman: Mutex::default(),
        };
        door.set(Mode::Up).await?;
        Ok(door)
    }

    /// Returns when the new mode holds for every connection from now on.
    pub(crate) async fn set(&self, mode: Mode) -> io::Result<()> {
        let mut doorman = self.doorman.lock().await;
        if mode == Mode::Refuse {
            self.mode.send_replace(mode);
            if let Some(doorman) = doorman.take() {
                doorman.abort();
                let _ = doorman.await;
            }
        } else {
            let listener = if doorman.is_none() { Some(bind(self.address)?.listen(1024)?) } else { None };
            self.mode.send_replace(mode);
            if let Some(listener) = listener {
                let accepted =
                    accept(listener, self.tls.clone(), Arc::clone(&self.shared), self.mode.subscribe());
                *doorman = Some(tokio::spawn(accepted));
            }
        }
        Ok(())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.mode.send_replace(Mode::Refuse);
        if let Some(doorman) = self.doorman.get_mut() {
            doorman.abort();
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    mode: watch::Receiver<Mode>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                tokio::spawn(receive(stream, peer, tls.clone(), Arc::clone(&shared), mode.clone()));
            }
            // Out of file descriptors: the listener is still good.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn receive(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    mut mode: watch::Receiver<Mode>,
) {
    if *mode.borrow() == Mode::Hang {
        let _ = mode.wait_for(|mode| *mode != Mode::Hang).await;
        return reset(&stream);
    }
    let Some(tls) = tls else {
        if let Some(stream) = connection(stream, peer, shared, mode).await {
            reset(&stream);
        }
        return;
    };
    let Ok(stream) = tls.accept(stream).await else { return };
    if let Some(stream) = connection(stream, peer, shared, mode).await {
        reset(stream.get_ref().0);
    }
}

/// Closing the socket will send RST instead of FIN.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}
