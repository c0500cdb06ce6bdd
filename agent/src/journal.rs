//! One line an event, for the journal: priority, constant message, fields. No time stamp: the journal has a better one.

use std::{error::Error, fmt, io};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Logs to standard error from here on.
pub fn start() {
    let subscriber = tracing_subscriber::fmt()
        .event_format(Journal)
        .with_max_level(Level::INFO)
        .with_writer(io::stderr)
        .finish();
    // It fails only if logging was started before.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// An error and its causes in one line, each named once.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
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
        write!(to, "<{priority}>")?;
        context.field_format().format_fields(to.by_ref(), event)?;
        writeln!(to)
    }
}
