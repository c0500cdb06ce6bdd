//! Faults a test switches on, and the socket that obeys them. Owns no decision about requests beyond "answer
//! this instead".

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use jiff::SignedDuration;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::watch,
};

/// What every request is answered instead of what it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// HTTP status: 429, 500, 503, 504.
    pub code: u16,
    /// Seconds.
    pub retry_after: Option<u32>,
}

/// The switches.
#[derive(Debug)]
pub(crate) struct Faults {
    hangs: AtomicBool,
    asleep: Mutex<Vec<Waker>>,
    outage: Mutex<Option<Outage>>,
    skew_millis: AtomicI64,
    /// Watches with a serial below this are mute.
    mute_below: AtomicU64,
    /// Counts up each time all open watches are ended.
    ended: watch::Sender<u64>,
}

impl Faults {
    pub(crate) fn new() -> Self {
        Self {
            hangs: AtomicBool::new(false),
            asleep: Mutex::new(Vec::new()),
            outage: Mutex::new(None),
            skew_millis: AtomicI64::new(0),
            mute_below: AtomicU64::new(0),
            ended: watch::Sender::new(0),
        }
    }

    /// Bytes neither come nor go, on open connections and new ones; lifted, they flow again.
    pub(crate) fn hang(&self, on: bool) {
        self.hangs.store(on, Ordering::SeqCst);
        if !on {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            asleep.drain(..).for_each(Waker::wake);
        }
    }

    pub(crate) fn set_outage(&self, outage: Option<Outage>) {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }

    pub(crate) fn outage(&self) -> Option<Outage> {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_skew(&self, skew: SignedDuration) {
        let millis = i64::try_from(skew.as_millis()).unwrap_or(0);
        self.skew_millis.store(millis, Ordering::SeqCst);
    }

    pub(crate) fn skew(&self) -> SignedDuration {
        SignedDuration::from_millis(self.skew_millis.load(Ordering::SeqCst))
    }

    pub(crate) fn mute_watches_below(&self, serial: u64) {
        self.mute_below.store(serial, Ordering::SeqCst);
    }

    pub(crate) fn is_mute(&self, serial: u64) -> bool {
        serial < self.mute_below.load(Ordering::SeqCst)
    }

    pub(crate) fn end_watches(&self) {
        self.ended.send_modify(|count| *count += 1);
    }

    pub(crate) fn ends(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    /// `Pending` while hanging, remembering whom to wake.
    fn held(&self, context: &Context<'_>) -> bool {
        if !self.hangs.load(Ordering::SeqCst) {
            return false;
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        if !asleep.iter().any(|waker| waker.will_wake(context.waker())) {
            asleep.push(context.waker().clone());
        }
        // Lifted between the look and the note: the wake-up may have been missed.
        self.hangs.load(Ordering::SeqCst)
    }
}

/// A connection that goes silent, without closing, while the server hangs.
pub(crate) struct Gate {
    pub(crate) stream: TcpStream,
    pub(crate) faults: Arc<Faults>,
}

impl AsyncRead for Gate {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.faults.held(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Gate {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.faults.held(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.faults.held(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
