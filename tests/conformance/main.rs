//! What every provider's driver promises, and what its double promises with it.
//!
//! Against the double by itself. Against the provider only if a person asks, since it rents servers there:
//!
//! ```text
//! CURFEW_CONFORMANCE_TOKEN=… cargo test -p curfew-tests --test conformance -- --ignored hetzner
//! ```
//!
//! with a token of a project that holds nothing else. A case that did not run is listed as ignored, never as ok.

mod described;
mod double;
mod openapi;
mod refused;
mod renting;
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
    let mut trials = Vec::new();
    for (number, case) in renting::CASES.iter().enumerate() {
        let keep = || put_to_the_test(|double| (case.keep)(&double.subject));
        trials.push(Trial::test(format!("double::{}", case.name), keep));
        let keep = move || on_the_provider(case, number);
        trials.push(Trial::test(format!("hetzner::{}", case.name), keep).with_ignored_flag(true));
    }
    for case in double::CASES.iter().chain(refused::CASES) {
        trials.push(Trial::test(format!("double::{}", case.name), || put_to_the_test(case.keep)));
    }
    for case in described::CASES {
        let trial = Trial::test(format!("described::{}", case.name), || put_to_the_test(case.keep));
        trials.push(trial.with_ignored_flag(!described));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn put_to_the_test(
    keep: impl for<'d> FnOnce(&'d Double) -> Pin<Box<dyn Future<Output = Kept> + 'd>>,
) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let kept = runtime.block_on(async { keep(&Double::start(hetzner_at).await?).await });
    kept.map_err(|error| format!("{error:?}").into())
}

/// Whatever a case rented is given back, also after a failure. `number` keeps cases that run at once apart.
fn on_the_provider(case: &Case<Subject>, number: usize) -> Result<(), Failed> {
    let token = token().ok_or_else(|| format!("{TOKEN} is not set"))?;
    let run = format!("conformance-{}-{number}", process::id());
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
