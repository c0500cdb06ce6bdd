use std::sync::Arc;

use curfew_provider::{Server, ServerStatus, Token};
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::{
    cloud::{Endpoint, Plain},
    fixture::{lease, reading, secs, world},
    observe::{IN_USE, Listed},
    provider::fixture::provider,
};

fn account() -> Arc<Account> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let endpoint = Endpoint::read("http://127.0.0.1:1/v1", Plain::ThisMachine).unwrap();
    Arc::new(Account::hetzner(endpoint, Token::new("t0ken").unwrap(), None).unwrap())
}

fn with(change: impl FnOnce(&mut Provider), leases: Vec<Lease>) -> World {
    let mut provider = provider("hetzner");
    change(&mut provider);
    let mut world = world(leases, []);
    world.cluster = Some("c1".into());
    world.providers_listed = true;
    world.providers.insert(provider.name.clone(), provider);
    world
}

fn keys(world: &World, s: i64) -> Vec<String> {
    let mut keys: Vec<_> = plan(world, reading(s)).jobs.into_iter().map(|(key, _)| key).collect();
    keys.retain(|key| !key.starts_with("write/"));
    keys
}

fn checked(s: i64, found: Result<(), Fault>) -> Checked {
    let at = reading(s).up;
    Checked { at, generation: 3, certain: Some(at), found }
}

fn all_well(provider: &mut Provider, s: i64) {
    provider.account = Some(account());
    let checks = &mut provider.checks;
    for check in [
        &mut checks.credential,
        &mut checks.secrets,
        &mut checks.references,
        &mut checks.authority,
        &mut checks.catalogue,
        &mut checks.servers,
    ] {
        *check = Some(checked(s, Ok(())));
    }
}

fn renting(name: &str, provider: &str) -> Lease {
    lease(name, "1h", |object| {
        object["spec"] = json!({
            "duration": "1h",
            "rent": { "providerRef": { "name": provider }, "region": "fsn1", "size": "cpx22", "replicas": 1 }
        });
    })
}

#[test]
fn at_first_the_secret_is_read_and_with_its_account_all_else() {
    assert_eq!(keys(&with(|_| {}, vec![]), 0), ["credential/hetzner", "secrets/hetzner"]);
    let known = with(|provider| provider.account = Some(account()), vec![]);
    let all = ["credential", "secrets", "references", "authority", "catalogue", "servers"];
    assert_eq!(keys(&known, 0), all.map(|what| format!("{what}/hetzner")));
}

#[test]
fn what_is_well_is_looked_at_again_in_its_own_time() {
    let world = with(|provider| all_well(provider, 0), vec![]);
    assert_eq!(keys(&world, 29), [""; 0]);
    assert_eq!(keys(&world, 30), ["credential/hetzner", "secrets/hetzner"]);
    assert_eq!(keys(&world, 60), ["credential/hetzner", "secrets/hetzner", "servers/hetzner"]);
    assert_eq!(keys(&world, 600).len(), 6);
}

#[test]
fn another_configuration_is_looked_at_at_once() {
    let change = |provider: &mut Provider| {
        all_well(provider, 0);
        provider.generation = 4;
    };
    assert_eq!(keys(&with(change, vec![]), 1).len(), 6);
}

#[test]
fn a_secret_that_is_missing_is_looked_for_sooner_than_a_token_that_is_refused_is_tried() {
    for (reason, soon) in [("CredentialMissing", 5), ("CredentialRefused", 20), ("AnotherProject", 20)] {
        let change = |provider: &mut Provider| {
            all_well(provider, 0);
            let fault = Fault::Certain { reason, message: String::new() };
            provider.checks.credential = Some(checked(0, Err(fault)));
        };
        let world = with(change, vec![]);
        assert_eq!((keys(&world, soon - 1), keys(&world, soon).len()), (vec![], 1), "{reason}");
    }
}

#[test]
fn a_token_must_also_see_what_was_rented_since_the_last_list() {
    let rented = |instance: serde_json::Value| {
        let mut lease = renting("a", "hetzner");
        lease.status.instances = serde_json::from_value(json!([instance])).unwrap();
        let world = with(|provider| all_well(provider, 0), vec![lease]);
        plan(&world, reading(30)).jobs.into_iter().find_map(|(_, job)| match job {
            Job::Credential(subject) => Some(subject),
            _ => None,
        })
    };
    let at_home = |instance| rented(instance).unwrap().is_at_home(&BTreeMap::new());
    assert!(!at_home(json!({ "slot": 0, "providerID": "hcloud://7" })), "of another project, perhaps");
    assert!(at_home(json!({ "slot": 0 })), "there is nothing to be seen yet");
    let gone = json!({ "absentAt": "2026-11-30T20:00:00Z" });
    assert!(
        at_home(json!({ "slot": 0, "providerID": "hcloud://7", "receipt": gone })),
        "it is known to be gone"
    );
}

#[test]
fn a_large_project_is_listed_less_often() {
    let server = |n: u64| Server {
        id: n.try_into().unwrap(),
        name: format!("s{n}"),
        created: None,
        labels: BTreeMap::new(),
        public_ipv4: None,
        private_ipv4: vec![],
        protected: false,
        size: String::new(),
        region: String::new(),
        status: ServerStatus::Running,
        attached: curfew_provider::Attached::default(),
    };
    for (servers, every) in [(0, 60), (49, 60), (120, 180), (1000, 900)] {
        let change = |provider: &mut Provider| {
            all_well(provider, 0);
            let servers = (1..=servers).map(|n| (n.try_into().unwrap(), server(n))).collect();
            provider.servers = Some(Listed { servers, at: reading(0).up });
        };
        let world = with(change, vec![]);
        let due = |s| keys(&world, s).contains(&"servers/hetzner".to_owned());
        assert_eq!((due(every - 1), due(every)), (false, true), "{servers}");
    }
}

#[test]
fn nothing_is_asked_without_knowing_which_cluster_this_is_but_what_needs_no_cluster() {
    let mut world = with(|provider| provider.account = Some(account()), vec![]);
    world.cluster = None;
    assert!(!keys(&world, 0).contains(&"servers/hetzner".to_owned()));
}

#[test]
fn our_finalizer_is_there_while_a_lease_that_is_not_released_rents_with_it() {
    let held = |provider: &mut Provider| provider.finalizers = vec![IN_USE.into(), "another".into()];
    let decided = |world: &World| holding(&world.providers["hetzner"], world);
    let adopting = lease("adopts", "1h", |_| {});
    assert_eq!(decided(&with(|_| {}, vec![adopting, renting("b", "another")])), None);
    assert_eq!(decided(&with(|_| {}, vec![renting("a", "hetzner")])), Some(true));
    assert_eq!(decided(&with(held, vec![renting("a", "hetzner")])), None);
    assert_eq!(decided(&with(held, vec![])), Some(false));
    let mut released = renting("a", "hetzner");
    released.status.released_at = released.status.accepted_at.clone();
    assert_eq!(decided(&with(held, vec![released])), Some(false));
}

#[test]
fn a_lease_whose_terms_cannot_be_read_holds_whatever_it_may_rent_with() {
    let unreadable = lease("a", "1h", |object| {
        object["spec"] = json!({ "duration": "1h" });
        object["status"]["instances"] = json!([{ "slot": 0, "name": "a-0" }]);
    });
    let world = with(|_| {}, vec![unreadable]);
    assert_eq!(holding(&world.providers["hetzner"], &world), Some(true));
}

#[test]
fn nothing_is_concluded_about_its_use_before_the_leases_are_known() {
    let mut world = with(|provider| provider.finalizers = vec![IN_USE.into()], vec![]);
    world.leases_listed = false;
    assert_eq!(holding(&world.providers["hetzner"], &world), None);
}

#[test]
fn a_finalizer_is_never_added_to_what_is_being_deleted() {
    let deleting = |provider: &mut Provider| provider.deleting = reading(0).now;
    let world = with(deleting, vec![renting("a", "hetzner")]);
    assert_eq!(holding(&world.providers["hetzner"], &world), None);
}

#[test]
fn a_fault_shorter_than_a_pass_does_not_make_a_loop() {
    let change = |provider: &mut Provider| {
        all_well(provider, 0);
        provider.checks.servers = Some(checked(0, Err(Fault::Undecided("down".into()))));
    };
    let world = with(change, vec![]);
    let plan = plan(&world, reading(0));
    assert_eq!(plan.wake, Some(reading(0).up.after(SignedDuration::from_secs(10))));
    assert_eq!(secs(10), AGAIN);
}
