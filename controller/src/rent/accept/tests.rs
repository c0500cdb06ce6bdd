use std::{collections::BTreeMap, sync::Arc};

use curfew_provider::{Architecture, CpuKind, Extras, Token};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::*;
use crate::{
    cloud::{Account, Endpoint, Plain},
    fixture::{NOW, lease, world},
    observe::IN_USE,
    provider::fixture::provider,
    terms::NodeCredential,
};

fn size(name: &str, cores: u32, hourly: &str, regions: &[&str]) -> Size {
    let offer = Offer {
        hourly: hourly.parse().unwrap(),
        monthly: "10".parse().unwrap(),
        available: !name.ends_with("sold-out"),
        deprecated: false,
    };
    Size {
        name: name.into(),
        cores,
        memory_mib: 4096,
        disk_gb: 40,
        architecture: Architecture::Amd64,
        cpu: CpuKind::Shared,
        deprecated: false,
        offers: regions.iter().map(|region| ((*region).to_owned(), offer)).collect::<BTreeMap<_, _>>(),
    }
}

/// A provider that is ready, and that sells three sizes.
fn ready() -> Provider {
    drop(rustls::crypto::ring::default_provider().install_default());
    let endpoint = Endpoint::read("http://127.0.0.1:1", Plain::AsNamed).unwrap();
    let account = Account::hetzner(endpoint, Token::new("t0ken").unwrap(), None).unwrap();
    let mut provider = provider("hetzner");
    provider.status.conditions = vec![Condition {
        type_: READY.into(),
        status: "True".into(),
        reason: "Ready".into(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(NOW),
    }];
    provider.finalizers = vec![IN_USE.into()];
    provider.account = Some(Arc::new(account));
    if let Some(config) = &mut provider.config {
        config.node_credential = Some(NodeCredential::OnImage);
    }
    provider.catalogue = Some(Arc::new(Catalogue {
        currency: "EUR".into(),
        sizes: vec![
            size("big", 8, "0.03", &["fsn1"]),
            size("far", 2, "0.01", &["hel1"]),
            size("small", 2, "0.01", &["fsn1"]),
            size("sold-out", 2, "0.005", &["fsn1"]),
        ],
        regions: vec!["fsn1".into(), "hel1".into()],
        extras: Extras::default(),
    }));
    provider
}

/// The verdict on a lease that rents `want`, of a world that `change` has changed.
fn verdict_on(want: &Value, change: impl FnOnce(&mut World)) -> Result<Selection, Refusal> {
    let lease = lease("burst", "1h", |object| {
        object["spec"] = json!({
            "duration": want.get("duration").cloned().unwrap_or_else(|| json!("1h")),
            "rent": { "providerRef": { "name": "hetzner" }, "region": "fsn1", "replicas": 2 },
        });
        for (key, value) in want.as_object().into_iter().flatten().filter(|(key, _)| *key != "duration") {
            object["spec"]["rent"][key] = value.clone();
        }
        object["status"] = json!({});
    });
    let mut world = world([], []);
    world.cluster = Some("uid-of-kube-system".into());
    world.providers.insert("hetzner".into(), ready());
    change(&mut world);
    verdict(&lease, &world).unwrap_or_else(|| panic!("not judged: {lease:?}"))
}

fn refused(want: &Value, change: impl FnOnce(&mut World)) -> &'static str {
    verdict_on(want, change).map_or_else(|refusal| refusal.reason(), |chosen| panic!("{chosen:?}"))
}

#[test]
fn a_size_that_is_named_is_taken_with_its_price() {
    let chosen = verdict_on(&json!({ "size": "big" }), |_| {}).unwrap();
    assert_eq!((chosen.chosen.as_str(), chosen.hourly.as_deref()), ("big", Some("0.03")));
    assert_eq!((chosen.currency.as_deref(), chosen.strategy), (Some("EUR"), None));
}

#[test]
fn requirements_choose_the_cheapest_that_is_to_be_had_and_say_why_nothing_else() {
    let chosen = verdict_on(&json!({ "requirements": { "minCpu": 2 } }), |_| {}).unwrap();
    assert_eq!((chosen.chosen.as_str(), chosen.runner_up.as_deref()), ("small", Some("big")));
    let rejected: Vec<_> =
        chosen.rejected.iter().map(|size| (size.size.as_str(), size.reason.as_str())).collect();
    assert_eq!(rejected, [("far", "is not sold in this region"), ("sold-out", "is out of stock")]);
}

#[test]
fn what_cannot_be_rented_is_refused_with_the_reason() {
    let small = json!({ "size": "small" });
    for (want, reason) in [
        (json!({ "size": "cpx999" }), "NoSuchSize"),
        (json!({ "size": "far" }), "NotInRegion"),
        (json!({ "size": "sold-out" }), "OutOfStock"),
        (json!({ "size": "small", "region": "mars1" }), "NoSuchRegion"),
        (json!({ "requirements": { "minCpu": 64 } }), "NothingFits"),
        (json!({ "size": "small", "duration": "25h" }), "BeyondMaxLifetime"),
        (json!({ "size": "small", "providerRef": { "name": "other" } }), "NoSuchProvider"),
    ] {
        assert_eq!(refused(&want, |_| {}), reason, "{want}");
    }
    assert!(verdict_on(&small, |_| {}).is_ok());
}

#[test]
fn nothing_is_rented_that_could_not_end_its_own_bill() {
    let without = |world: &mut World| {
        let config = world.providers.get_mut("hetzner").and_then(|provider| provider.config.as_mut());
        config.unwrap().node_credential = None;
    };
    assert_eq!(refused(&json!({ "size": "small" }), without), "NoNodeCredential");
}

#[test]
fn what_a_provider_can_do_decides_whether_it_is_rented_from() {
    let without = Config { node_credential: None, ..ready().config.unwrap() };
    let able = ready().account.unwrap().capabilities();
    let verdict = |able| can_end(able, &without, "hetzner").map_err(|refusal| refusal.reason());
    assert_eq!(verdict(able), Err("NoNodeCredential"));
    assert_eq!(verdict(Capabilities { powering_off_stops_billing: true, ..able }), Ok(()));
    assert_eq!(verdict(Capabilities { labels: false, ..able }), Err("NoLabels"));
}

#[test]
fn nothing_is_rented_from_a_provider_that_is_not_known_to_be_ready() {
    let changes: [fn(&mut Provider); 6] = [
        |provider| provider.status.conditions[0].status = "False".into(),
        |provider| provider.status.conditions.clear(),
        |provider| provider.account = None,
        |provider| provider.catalogue = None,
        |provider| provider.config = None,
        // Whoever deleted it would take away the means to end a bill.
        |provider| provider.finalizers.clear(),
    ];
    for change in changes {
        let change = |world: &mut World| change(world.providers.get_mut("hetzner").unwrap());
        assert_eq!(refused(&json!({ "size": "small" }), change), "ProviderNotReady");
    }
    assert_eq!(refused(&json!({ "size": "small" }), |world| world.cluster = None), "ProviderNotReady");
}

#[test]
fn a_lease_that_was_taken_on_is_not_judged_again() {
    let accepted = lease("burst", "1h", |object| {
        object["spec"] = json!({
            "duration": "1h",
            "rent": { "providerRef": { "name": "gone" }, "region": "fsn1", "size": "small", "replicas": 1 },
        });
    });
    assert_eq!(verdict(&accepted, &world([], [])), None);
    assert_eq!(verdict(&lease("adopts", "1h", |_| {}), &world([], [])), None);
}
