//! Faults: what can be made to go wrong, on which calls, how many times.
//!
//! Decides only which fault a call meets; the effect is carried out by [`super::desk`] (meaning) and
//! [`super::serve`] (bytes).

use std::time::Duration;

use super::error::Refusal;

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// 429 `rate_limit_exceeded`, whatever the budget says.
    RateLimited,
    /// 423 `locked`, although nothing runs.
    Locked,
    /// 423 `protected`, although nothing is.
    Protected,
    /// 404 `not_found`, although the server is there: what a token of another project sees.
    NotFound,
    /// 500 `server_error` in JSON.
    ServerError,
    /// 502 with an HTML body, from a proxy in front of the API.
    BadGateway,
    /// 503 `unavailable` in JSON.
    Unavailable,
    /// 504 `timeout` in JSON.
    Timeout,
    /// The connection is reset (RST) instead of answered.
    Reset {
        /// Whether the request had its effect before that.
        effective: bool,
    },
    /// The request is read and never answered.
    Silence {
        /// Whether the request had its effect before that.
        effective: bool,
    },
    /// The effect comes at once, the answer this much later.
    Slow(Duration),
    /// POST /servers is answered 201, its action ends in `error`, and the server is there all the same, without a
    /// machine.
    CreateFails,
    /// DELETE is answered 200, its action ends in `error`, and the server stays.
    DeleteFails,
}

/// A fault, and the calls it strikes. Without limits it strikes every call until lifted.
#[derive(Clone, Debug)]
pub struct Fault {
    effect: Effect,
    method: Option<String>,
    path: Option<String>,
    holder: Option<String>,
    left: Option<u32>,
    retry_after: Option<String>,
}

impl Fault {
    /// Strikes every call.
    #[must_use]
    pub const fn every(effect: Effect) -> Self {
        Self { effect, method: None, path: None, holder: None, left: None, retry_after: None }
    }

    /// Strikes only calls with this method, upper case.
    #[must_use]
    pub fn on_method(mut self, method: &str) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Strikes only calls whose path, including `/v1` and without the query, begins so.
    #[must_use]
    pub fn on_path(mut self, prefix: &str) -> Self {
        self.path = Some(prefix.into());
        self
    }

    /// Strikes only calls with the token issued for this holder.
    #[must_use]
    pub fn on_holder(mut self, holder: &str) -> Self {
        self.holder = Some(holder.into());
        self
    }

    /// Strikes so many calls and is then gone.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.left = Some(times);
        self
    }

    /// Puts a `Retry-After` header, right or wrong, on the answers it strikes. The real API sends none.
    #[must_use]
    pub fn retry_after(mut self, value: &str) -> Self {
        self.retry_after = Some(value.into());
        self
    }

    fn strikes(&self, method: &str, path: &str, holder: Option<&str>) -> bool {
        self.left != Some(0)
            && self.method.as_deref().is_none_or(|only| only == method)
            && self.path.as_deref().is_none_or(|prefix| path.starts_with(prefix))
            && self.holder.as_deref().is_none_or(|only| holder == Some(only))
            && match self.effect {
                Effect::CreateFails => (method, path) == ("POST", "/v1/servers"),
                Effect::DeleteFails => method == "DELETE",
                _ => true,
            }
    }
}

impl Effect {
    /// The answer that a caller with a good token gets in place of the real one.
    pub(crate) fn refusal(&self, limit: u32) -> Option<Refusal> {
        match self {
            Self::RateLimited => Some(Refusal::RateLimit(limit)),
            Self::Locked => Some(Refusal::Locked),
            Self::Protected => Some(Refusal::Protected),
            Self::NotFound => Some(Refusal::NotFound("server not found".into())),
            Self::ServerError => Some(Refusal::Server),
            Self::Unavailable => Some(Refusal::Unavailable),
            Self::Timeout => Some(Refusal::Timeout),
            _ => None,
        }
    }
}

/// Names a fault, to lift it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(u64);

/// The faults that are switched on, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    on: Vec<(FaultId, Fault)>,
    next: u64,
}

/// What one call meets.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    pub(crate) effect: Option<Effect>,
    pub(crate) retry_after: Option<String>,
}

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.on.push((id, fault));
        id
    }

    pub(crate) fn lift(&mut self, id: FaultId) {
        self.on.retain(|(other, _)| *other != id);
    }

    pub(crate) fn lift_all(&mut self) {
        self.on.clear();
    }

    /// The oldest fault that strikes this call, used up by one.
    pub(crate) fn strike(&mut self, method: &str, path: &str, holder: Option<&str>) -> Struck {
        let Some((_, fault)) = self.on.iter_mut().find(|(_, fault)| fault.strikes(method, path, holder))
        else {
            return Struck::default();
        };
        fault.left = fault.left.map(|left| left.saturating_sub(1));
        let struck = Struck { effect: Some(fault.effect.clone()), retry_after: fault.retry_after.clone() };
        self.on.retain(|(_, fault)| fault.left != Some(0));
        struck
    }
}
