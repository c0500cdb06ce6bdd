use std::sync::Arc;

use curfew_provider::{Catalogue, Token};
use serde_json::json;

use super::*;
use crate::{
    cloud::{Account, Endpoint, Plain},
    fixture::{lease, reading, world},
    observe::Listed,
    provider::fixture::provider,
};

fn known() -> Provider {
    drop(rustls::crypto::ring::default_provider().install_default());
    let endpoint = Endpoint::read("http://127.0.0.1:1/v1", Plain::ThisMachine).unwrap();
    let account = Account::hetzner(endpoint, Token::new("t0ken").unwrap(), None).unwrap();
    let mut provider = provider("hetzner");
    provider.account = Some(Arc::new(account));
    provider.catalogue = Some(Arc::new(Catalogue::default()));
    provider.servers = Some(Listed::default());
    provider.checks.catalogue_at = reading(0).now;
    for check in [Of::Credential, Of::Secrets, Of::References, Of::Authority, Of::Catalogue, Of::Servers] {
        put(&mut provider, check, 0, Ok(()));
    }
    provider
}

#[derive(Clone, Copy)]
enum Of {
    Credential,
    Secrets,
    References,
    Authority,
    Catalogue,
    Servers,
}

/// Certain at `s` unless it is undecided, which leaves what was certain at 0.
fn put(provider: &mut Provider, of: Of, s: i64, found: Result<(), Fault>) {
    let at = reading(s).up;
    let certain = if matches!(found, Err(Fault::Undecided(_))) { reading(0).up } else { at };
    let checks = &mut provider.checks;
    let slot = match of {
        Of::Credential => &mut checks.credential,
        Of::Secrets => &mut checks.secrets,
        Of::References => &mut checks.references,
        Of::Authority => &mut checks.authority,
        Of::Catalogue => &mut checks.catalogue,
        Of::Servers => &mut checks.servers,
    };
    *slot = Some(Checked { at, generation: 3, found, certain: Some(certain) });
}

fn down() -> Fault {
    Fault::Undecided("down".into())
}

fn status(provider: &Provider, s: i64) -> ProviderConfigStatus {
    let mut world = world([], []);
    world.cluster = Some("c1".into());
    of(provider, &world, reading(s)).unwrap_or_else(|| provider.status.clone())
}

fn said(provider: &Provider, type_: &str, s: i64) -> (String, String, String) {
    let condition = status(provider, s).conditions.into_iter().find(|found| found.type_ == type_).unwrap();
    (condition.status, condition.reason, condition.message)
}

fn short(provider: &Provider, type_: &str, s: i64) -> (String, String) {
    let (status, reason, _) = said(provider, type_, s);
    (status, reason)
}

fn is(status: &str, reason: &str) -> (String, String) {
    (status.into(), reason.into())
}

#[test]
fn all_is_well_when_all_was_found() {
    let provider = known();
    assert_eq!(short(&provider, READY, 1), is("True", "Ready"));
    assert_eq!(short(&provider, CAN_DELETE, 1), is("True", "Proven"));
    assert_eq!(short(&provider, CATALOGUE, 1), is("True", "Fetched"));
}

#[test]
fn what_was_said_is_not_written_again() {
    let mut provider = known();
    provider.status = status(&provider, 1);
    let mut world = world([], []);
    world.cluster = Some("c1".into());
    assert_eq!(of(&provider, &world, reading(30)), None);
}

#[test]
fn a_short_outage_changes_nothing_and_a_long_one_is_said() {
    let mut provider = known();
    put(&mut provider, Of::Servers, 170, Err(down()));
    put(&mut provider, Of::Authority, 170, Err(down()));
    provider.status = status(&known(), 0);
    assert_eq!(short(&provider, READY, 179), is("True", "Ready"));
    assert_eq!(short(&provider, READY, 180), is("False", "Unreachable"));
    assert_eq!(short(&provider, CAN_DELETE, 180), is("True", "Proven"), "an outage takes no right away");
    assert_eq!(changes_at(&provider, reading(170)), Some(reading(180).up));
}

#[test]
fn a_denied_token_is_said_at_once() {
    let mut provider = known();
    let refused = refused(&CallError::Refused(Outcome::Forbidden));
    put(&mut provider, Of::Servers, 1, Err(refused.clone()));
    put(&mut provider, Of::Authority, 1, Err(refused));
    assert_eq!(short(&provider, READY, 1), is("False", "CredentialRefused"));
    assert_eq!(short(&provider, CAN_DELETE, 1), is("False", "CredentialRefused"));
}

#[test]
fn a_token_that_may_only_read_is_ready_and_cannot_delete() {
    let mut provider = known();
    put(&mut provider, Of::Authority, 1, Err(refused(&CallError::Refused(Outcome::ReadOnly))));
    assert_eq!(short(&provider, READY, 1), is("True", "Ready"));
    let (status, reason, message) = said(&provider, CAN_DELETE, 1);
    assert_eq!((status, reason), is("False", "CredentialReadOnly"));
    assert!(message.contains("read and write"), "{message}");
}

#[test]
fn a_secret_that_vanished_is_said_and_so_is_what_stands() {
    let mut provider = known();
    put(&mut provider, Of::Credential, 1, Err(unusable("Secret curfew/hetzner does not exist".into())));
    let (_, reason, message) = said(&provider, READY, 1);
    assert_eq!(reason, "CredentialMissing");
    assert!(message.ends_with("; what was read before is used on"), "{message}");
    provider.account = None;
    assert!(!said(&provider, READY, 1).2.contains("used on"));
}

#[test]
fn a_machine_that_could_not_be_made_is_said_before_one_is_wanted() {
    let mut provider = known();
    put(&mut provider, Of::Secrets, 1, Err(secrets_missing("Secret curfew/x does not exist".into())));
    assert_eq!(short(&provider, READY, 1), is("False", "SecretMissing"));
    assert_eq!(short(&provider, CAN_DELETE, 1), is("True", "Proven"));
}

#[test]
fn a_catalogue_of_an_hour_ago_is_stale() {
    let mut provider = known();
    put(&mut provider, Of::Catalogue, 3590, Err(down()));
    assert_eq!(short(&provider, CATALOGUE, 3599), is("True", "Fetched"));
    let (status, reason, message) = said(&provider, CATALOGUE, 3600);
    assert_eq!((status, reason), is("False", "Stale"));
    assert!(message.contains("2026-11-30T20:00:00Z") && message.contains("down"), "{message}");
}

#[test]
fn after_a_restart_nothing_is_said_anew_until_it_has_been_looked_at() {
    let mut restarted = provider("hetzner");
    assert_eq!(short(&restarted, READY, 0), is("Unknown", "Checking"));
    restarted.status = status(&known(), 0);
    assert_eq!(short(&restarted, READY, 9), is("True", "Ready"));
    assert_eq!(short(&restarted, CATALOGUE, 9), is("True", "Fetched"));
    assert_eq!(status(&restarted, 9), restarted.status);
}

#[test]
fn a_deletion_waits_and_says_for_whom() {
    let mut provider = known();
    provider.deleting = reading(0).now;
    let renting = lease("burst", "1h", |object| {
        object["spec"] = json!({
            "duration": "1h",
            "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "size": "cpx22", "replicas": 1 }
        });
    });
    let status = of(&provider, &world([renting], []), reading(1)).unwrap();
    assert_eq!(status.conditions[0].reason, "Deleting");
    assert!(status.conditions[0].message.contains("burst"));
}

#[test]
fn conditions_of_others_are_kept_and_dates_are_those_of_the_change() {
    let mut provider = known();
    provider.status = status(&provider, 0);
    let others = Condition {
        type_: "Sweep".into(),
        status: "True".into(),
        reason: "Swept".into(),
        ..provider.status.conditions[0].clone()
    };
    provider.status.conditions.push(others.clone());
    put(&mut provider, Of::References, 5, Err(missing(&["no image \"debian-99\"".into()])));
    let status = status(&provider, 5);
    assert!(status.conditions.contains(&others));
    let dates: Vec<_> = status.conditions.iter().map(|c| c.last_transition_time.0).collect();
    let (then, now) = (reading(0).now.unwrap(), reading(5).now.unwrap());
    assert_eq!(dates, [now, then, then, then]);
}

#[test]
fn words_do_not_change_while_nothing_changes() {
    let held = |wait| {
        refused(&CallError::Held(crate::cloud::Held::Breaker { wait: SignedDuration::from_secs(wait) }))
    };
    assert_eq!(held(3), held(17));
}
