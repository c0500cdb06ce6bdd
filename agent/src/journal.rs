//! One line an event, for the journal: priority, constant message, fields. No time stamp: the journal has a better one.
//!
//! Whoever logs never waits: lines go to a thread of their own, which alone may hang with a journal that does not read.
//! Lines that find its queue full are dropped. The fuse logs, so this is part of the guarantee.

use std::{
    error::Error,
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        OnceLock,
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Duration,
};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Logs to standard error from here on.
pub fn start() {
    let (lines, inbox) = mpsc::sync_channel(QUEUE);
    let started =
        thread::Builder::new().name("journal".into()).stack_size(STACK).spawn(move || write(&inbox));
    if started.is_err() || LINES.set(lines).is_err() {
        // Without a thread to write them there are no logs; everything else goes on.
        return;
    }
    let subscriber = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .event_format(Journal)
        .with_max_level(Level::INFO)
        .with_writer(|| Line)
        .finish();
    // It fails only if logging was started before.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Waits until what was logged is written, but not for long. For commands that end.
pub fn flush() {
    let (written, done) = mpsc::channel();
    if LINES.get().is_some_and(|lines| lines.try_send(Entry::Flush(written)).is_ok()) {
        let _ = done.recv_timeout(Duration::from_millis(500));
    }
}

/// An error and its causes in one line, each named once.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

enum Entry {
    Line(Vec<u8>),
    Flush(mpsc::Sender<()>),
}

fn write(inbox: &Receiver<Entry>) {
    for entry in inbox {
        match entry {
            // A closed standard error is nobody's business but the reader's.
            Entry::Line(line) => drop(io::stderr().write_all(&line)),
            Entry::Flush(written) => drop(written.send(())),
        }
    }
}

/// Each event is written in one piece. It never fails: the subscriber would report that on standard error itself.
struct Line;

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(lines) = LINES.get() {
            let _ = lines.try_send(Entry::Line(line.to_vec()));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Journal;

impl<S, N> FormatEvent<S, N> for Journal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // sd-daemon(3): a priority in angle brackets at the start of a line.
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        if *FOR_A_PERSON.get_or_init(|| io::stderr().is_terminal()) {
            write!(to, "{:5} ", event.metadata().level())?;
        } else {
            write!(to, "<{priority}>")?;
        }
        context.field_format().format_fields(to.by_ref(), event)?;
        writeln!(to)
    }
}

static FOR_A_PERSON: OnceLock<bool> = OnceLock::new();
static LINES: OnceLock<SyncSender<Entry>> = OnceLock::new();

const QUEUE: usize = 256;
const STACK: usize = 64 * 1024;
