//! One HTTP exchange as values. Owns no meaning: that is the driver's.

use std::{fmt, time::Duration};

use crate::Token;

/// What is asked. A body can carry a machine's credentials, so `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The verb.
    pub method: Method,
    /// Absolute address.
    pub url: String,
    /// JSON. Sent with `Content-Type: application/json` only where there is one.
    pub body: Option<String>,
    /// Sent as [`Token::authorization`].
    pub token: Token,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, url, body, token: _ } = self;
        let body = body.as_ref().map(String::len);
        f.debug_struct("Request")
            .field("method", method)
            .field("url", url)
            .field("body_bytes", &body)
            .finish_non_exhaustive()
    }
}

/// The verbs a provider is spoken to with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Removes.
    Delete,
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Changes.
    Put,
}

impl Method {
    /// As written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
    budget: Option<RateBudget>,
    date: Option<String>,
}

/// What the provider says is left of its rate limit. Shared by everyone who uses the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateBudget {
    /// Requests an hour.
    pub limit: u32,
    /// Requests left now.
    pub remaining: u32,
}

impl RateBudget {
    /// Under a quarter is left: whoever can wait should, so that deletions go out.
    #[must_use]
    pub const fn is_low(self) -> bool {
        self.remaining < self.limit / 4
    }
}

impl Answer {
    /// An answer of status `status`; `header` looks up a header by its lower-case name.
    pub fn new<'h>(status: u16, header: impl Fn(&str) -> Option<&'h str>, body: Vec<u8>) -> Self {
        let number = |name| header(name).and_then(|v| v.trim().parse::<u32>().ok());
        let budget = match (number("ratelimit-limit"), number("ratelimit-remaining")) {
            (Some(limit), Some(remaining)) => Some(RateBudget { limit, remaining }),
            _ => None,
        };
        let retry_after = number("retry-after").map(|s| Duration::from_secs(s.into()));
        let date = header("date").map(str::to_owned);
        Self { status, retry_after, body, budget, date }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The rate budget, where the provider tells it.
    #[must_use]
    pub const fn budget(&self) -> Option<RateBudget> {
        self.budget
    }

    /// The provider's own time, as its `Date` header spells it.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        self.date.as_deref()
    }
}
