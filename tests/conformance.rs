//! What every provider's driver promises, and what its double promises with it.
//!
//! Against the double by itself. Against the provider only if a person asks, since it rents servers there:
//!
//! ```text
//! CURFEW_CONFORMANCE_TOKEN=… cargo test -p curfew-tests --test conformance -- --ignored hetzner
//! ```
//!
//! with a token of a project that holds nothing else. A case that did not run is listed as ignored, never as ok.

#[path = "conformance/described.rs"]
mod described;
#[path = "conformance/double.rs"]
mod double;
#[path = "conformance/openapi.rs"]
mod openapi;
#[path = "conformance/refused.rs"]
mod refused;
#[path = "conformance/renting.rs"]
mod renting;
#[path = "conformance/subject.rs"]
mod subject;

use std::{
    env, panic,
    pin::Pin,
    process::{self, ExitCode},
    sync::Arc,
};

use curfew_provider::{Rental, Token, hetzner};
use curfew_tests::Kept;
use libtest_mimic::{Arguments, Failed, Trial};

use subject::{Double, Subject};

/// A promise about an `S`.
pub(crate) struct Case<S> {
    name: &'static str,
    keep: for<'s> fn(&'s S) -> Pin<Box<dyn Future<Output = Kept> + 's>>,
}

/// Lists cases by the names of their functions.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$($crate::Case { name: stringify!($name), keep: |subject| Box::pin($name(subject)) }),*]
    };
}
pub(crate) use cases;

fn main() -> ExitCode {
    let described = openapi::Description::at_hand().is_some();
    if !described {
        eprintln!(
            "NOT CHECKED against the provider's description: {} is not there",
            openapi::place().display()
        );
    }
    if token().is_none() {
        eprintln!("NOT RUN against the provider: {TOKEN} is not set");
    }
    let on_double = renting::CASES.iter().map(|case| {
        Trial::test(format!("double::{}", case.name), || {
            put_to_the_test(Double::start(hetzner_at), |double| (case.keep)(&double.subject))
        })
    });
    let of_double = double::CASES.iter().chain(refused::CASES).map(|case| {
        Trial::test(format!("double::{}", case.name), || {
            put_to_the_test(Double::start(hetzner_at), case.keep)
        })
    });
    let of_description = described::CASES.iter().map(|case| {
        let trial = || put_to_the_test(Double::start(hetzner_at), case.keep);
        Trial::test(format!("described::{}", case.name), trial).with_ignored_flag(!described)
    });
    let on_provider = renting::CASES.iter().map(|case| {
        Trial::test(format!("hetzner::{}", case.name), || on_the_provider(case)).with_ignored_flag(true)
    });
    let trials = on_double.chain(of_double).chain(of_description).chain(on_provider).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn put_to_the_test<S>(
    set: impl Future<Output = subject::Result<S>>,
    keep: impl for<'s> FnOnce(&'s S) -> Pin<Box<dyn Future<Output = Kept> + 's>>,
) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let kept = runtime.block_on(async { keep(&set.await?).await });
    kept.map_err(|error| format!("{error:?}").into())
}

/// Whatever a case rented is given back, also after a failure.
fn on_the_provider(case: &Case<Subject>) -> Result<(), Failed> {
    let token = token().ok_or_else(|| format!("{TOKEN} is not set"))?;
    let run = format!("conformance-{}", process::id());
    let region = env::var("CURFEW_CONFORMANCE_REGION").unwrap_or_else(|_| "fsn1".into());
    let endpoint = env::var("HCLOUD_ENDPOINT").unwrap_or_else(|_| hetzner::ENDPOINT.into());
    let subject = Subject::new(hetzner_at(&endpoint), token, &region, &run)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let kept = panic::catch_unwind(panic::AssertUnwindSafe(|| runtime.block_on((case.keep)(&subject))));
    runtime.block_on(subject.leave_nothing())?;
    kept.unwrap_or_else(|panic| panic::resume_unwind(panic)).map_err(|error| format!("{error:?}").into())
}

fn token() -> Option<Token> {
    Token::new(&env::var(TOKEN).ok()?).ok()
}

fn hetzner_at(endpoint: &str) -> Arc<dyn Rental> {
    Arc::new(hetzner::Hetzner::new(endpoint))
}

const TOKEN: &str = "CURFEW_CONFORMANCE_TOKEN";
