//! The front desk: who calls, what fault the call meets, what is answered and how it is delivered.
//!
//! Pure: a call and a `now` go in, an answer comes out. What a route means is in [`super::routes`].

use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::error::Refusal;
use super::fault::{Effect, Struck};
use super::ledger::Entry;
use super::list::Query;
use super::state::State;
use super::token::{Access, Budget, Caller, Project};
use super::{metadata, routes};

/// One call, read in full.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// With the query, as sent.
    pub(crate) target: String,
    pub(crate) query: Query,
    pub(crate) bearer: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) peer: SocketAddr,
}

impl Call {
    pub(crate) fn json(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.body).map_err(|_| Refusal::Json)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Json(Value),
    Html(&'static str),
    Text(String),
}

/// How the answer reaches the caller, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Now,
    After(Duration),
    Never,
    Reset,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
    pub(crate) code: Option<&'static str>,
    pub(crate) budget: Option<Budget>,
    pub(crate) retry_after: Option<String>,
    /// Quoted in logs and to support.
    pub(crate) correlation: String,
    pub(crate) delivery: Delivery,
}

impl Answer {
    fn new(status: u16, content: Content) -> Self {
        Self {
            status,
            content,
            code: None,
            budget: None,
            retry_after: None,
            correlation: String::new(),
            delivery: Delivery::Now,
        }
    }
}

const PROXY_ERROR: &str =
    "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>";

impl State {
    /// Answers one call and enters it in the ledger.
    pub(crate) fn handle(&mut self, call: &Call, now: Timestamp) -> Answer {
        self.advance(now);
        let caller = self.identify(call);
        let holder = match &caller {
            Caller::Known { holder, .. } | Caller::Revoked { holder } => Some(holder.as_str()),
            _ => None,
        };
        let struck = self.faults.strike(&call.method, &call.path, holder);
        let mut answer = self.meet(call, &caller, &struck, now);
        // What was accepted with no duration is over before anybody can ask for it.
        self.advance(now);
        answer.retry_after = struck.retry_after;
        answer.correlation = format!("{:016x}", self.ledger.len() + 1);
        self.ledger.push(Entry {
            at: now,
            method: call.method.clone(),
            path: call.target.clone(),
            caller,
            status: answer.status,
            code: answer.code,
            delivered: !matches!(answer.delivery, Delivery::Never | Delivery::Reset),
            peer: call.peer,
            user_agent: call.user_agent.clone(),
        });
        answer
    }

    fn identify(&self, call: &Call) -> Caller {
        let Some(bearer) = &call.bearer else { return Caller::Anonymous };
        match self.tokens.get(bearer) {
            None => Caller::Unknown,
            Some(token) if token.revoked => Caller::Revoked { holder: token.holder.clone() },
            Some(token) => {
                Caller::Known { holder: token.holder.clone(), project: token.project, access: token.access }
            }
        }
    }

    /// Faults of the wire come before the call is understood, or after it had its effect.
    fn meet(&mut self, call: &Call, caller: &Caller, struck: &Struck, now: Timestamp) -> Answer {
        let (delivery, effective) = match struck.effect {
            Some(Effect::BadGateway) => {
                return Answer { code: None, ..Answer::new(502, Content::Html(PROXY_ERROR)) };
            }
            Some(Effect::Reset { effective }) => (Delivery::Reset, effective),
            Some(Effect::Silence { effective }) => (Delivery::Never, effective),
            Some(Effect::Slow(delay)) => (Delivery::After(delay), true),
            _ => (Delivery::Now, true),
        };
        let answer = if !effective {
            Answer::new(0, Content::Text(String::new()))
        } else if let Some(path) = call.path.strip_prefix(metadata::PREFIX) {
            let (status, text) = metadata::read(self, &call.method, path);
            Answer::new(status, Content::Text(text))
        } else {
            self.api(call, caller, struck.effect.as_ref(), now)
        };
        Answer { delivery, ..answer }
    }

    fn api(&mut self, call: &Call, caller: &Caller, fault: Option<&Effect>, now: Timestamp) -> Answer {
        let result = self.admit(call, caller, fault, now);
        let limit = self.settings.rate_limit;
        let budget = match caller {
            Caller::Known { project, .. } => self.buckets.entry(*project).or_default().budget(limit, now),
            _ => Budget { limit, remaining: limit, reset: now.as_second() },
        };
        let answer = match result {
            Ok((status, body)) => Answer::new(status, Content::Json(body)),
            Err(refusal) => Answer {
                code: Some(refusal.code()),
                ..Answer::new(refusal.status(), Content::Json(refusal.body()))
            },
        };
        Answer { budget: Some(budget), ..answer }
    }

    /// Authentication, budget, write permission, then the route.
    fn admit(
        &mut self,
        call: &Call,
        caller: &Caller,
        fault: Option<&Effect>,
        now: Timestamp,
    ) -> Result<(u16, Value), Refusal> {
        let Caller::Known { project, access, .. } = caller else { return Err(Refusal::Unauthorized) };
        let limit = self.settings.rate_limit;
        if !self.buckets.entry(*project).or_default().take(limit, now) {
            return Err(Refusal::RateLimit(limit));
        }
        if let Some(refusal) = fault.and_then(|fault| fault.refusal(limit)) {
            return Err(refusal);
        }
        let fails = matches!(fault, Some(Effect::CreateFails | Effect::DeleteFails));
        if *access == Access::ReadWrite || call.method == "GET" {
            return routes::serve(self, call, *project, fails, now);
        }
        if !self.settings.readonly_checked_first {
            // What a writer would have been told, without its effect.
            routes::serve(&mut self.clone(), call, *project, fails, now)?;
        }
        Err(Refusal::TokenReadonly)
    }

    /// A new token: 64 alphanumeric characters, as the provider's are.
    pub(crate) fn issue(&mut self, project: Project, access: Access, holder: &str) -> String {
        let secret = format!("{:x>64}", format!("sandbox{:016x}{}", self.salt, self.tokens.len()));
        let token = super::token::Token { project, access, holder: holder.into(), revoked: false };
        self.tokens.insert(secret.clone(), token);
        secret
    }
}
