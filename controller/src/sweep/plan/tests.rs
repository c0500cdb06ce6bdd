use std::ops::Not;

use proptest::prelude::*;

use super::*;
use crate::{
    fixture::{NOW, lease, secs},
    sweep::fixture::{CLUSTER, labelled, leases, released, server},
};

const PATIENCE: Patience =
    Patience { overdue: SignedDuration::from_mins(5), unreadable: Some(SignedDuration::from_mins(15)) };
const OURS: Whose<'_> = Whose::Cluster(CLUSTER);

fn inside(server: &Server, leases: &Leases, s: i64) -> Verdict {
    judge(server, OURS, Some(leases), NOW + secs(s), PATIENCE)
}

fn outside(server: &Server, s: i64) -> Verdict {
    judge(server, Whose::Any, None, NOW + secs(s), Patience { unreadable: None, ..PATIENCE })
}

#[test]
fn an_orphan_goes_five_minutes_after_its_own_deadline() {
    let (orphan, deadline) = (server(1, "burst", 600), NOW + secs(600));
    let waits = Verdict::Wait(NOW + secs(900), Basis::Label(deadline));
    let goes = Verdict::Delete(Basis::Label(deadline));
    for leases in [leases(&[]), leases(&["other"]), released("burst")] {
        assert_eq!(inside(&orphan, &leases, 899), waits);
        assert_eq!(inside(&orphan, &leases, 900), goes);
    }
    assert_eq!((outside(&orphan, 899), outside(&orphan, 900)), (waits, goes));
}

#[test]
fn a_living_lease_shields_its_servers_however_late_it_is() {
    let shielded = Verdict::Shielded("burst".into());
    assert_eq!(inside(&server(1, "burst", 600), &leases(&["burst"]), 1_000_000), shielded);
    let deleted = lease("burst", "1h", |object| {
        object["metadata"]["deletionTimestamp"] = NOW.to_string().into();
        object["spec"] = "cannot be decoded".into();
    });
    let leases = [(deleted.uid.clone(), deleted)].into();
    assert_eq!(inside(&server(1, "burst", 600), &leases, 1_000_000), shielded, "while its finalizer is on");
}

#[test]
fn a_lease_of_the_same_name_shields_only_what_names_its_own_uid() {
    let mut old = server(1, "burst", 600);
    old.labels.insert(label::LEASE_UID.into(), "uid-of-the-one-before".into());
    assert!(matches!(inside(&old, &leases(&["burst"]), 900), Verdict::Delete(_)));
}

#[test]
fn what_is_not_ours_is_left_alone_for_good() {
    let mut foreign = server(1, "burst", 600);
    foreign.labels.insert(label::CLUSTER.into(), "another".into());
    let theirs = Verdict::NotOurs(NotOurs::OtherCluster("another".into()));
    assert_eq!(inside(&foreign, &leases(&[]), 1_000_000), theirs);
    assert!(matches!(outside(&foreign, 1_000_000), Verdict::Delete(_)), "outside, any cluster is meant");
    let mut autoscaled = server(1, "burst", 600);
    autoscaled.labels.insert(label::HETZNER_AUTOSCALER.into(), "pool".into());
    let adopted = labelled(1, &[(label::MANAGED_BY, label::CURFEW), (label::EXPIRES_AT, "1796068800")]);
    for (server, why) in [
        (autoscaled, NotOurs::NoConsent(NoConsent::Autoscaled)),
        (adopted, NotOurs::Adopted),
        (labelled(1, &[(label::CLUSTER, CLUSTER)]), NotOurs::NoConsent(NoConsent::NotManaged)),
    ] {
        assert_eq!(inside(&server, &leases(&[]), 1_000_000), Verdict::NotOurs(why.clone()));
        assert_eq!(outside(&server, 1_000_000), Verdict::NotOurs(why));
    }
}

#[test]
fn without_a_readable_deadline_it_goes_a_quarter_of_an_hour_after_creation_and_only_in_the_cluster() {
    let beyond = (NOW + FURTHEST * 2).as_second().to_string();
    let before = (NOW - secs(1)).as_second().to_string();
    for value in
        [None, Some(""), Some("soon"), Some("0"), Some("-5"), Some("2026-11-30T20:00:00Z"), Some("1e9")]
            .into_iter()
            .chain([Some("99999999999999999999"), Some(beyond.as_str()), Some(before.as_str())])
    {
        let mut server = server(1, "burst", 600);
        server.labels.remove(label::EXPIRES_AT);
        server.labels.extend(value.map(|value| (label::EXPIRES_AT.to_owned(), value.to_owned())));
        let basis = Basis::Created(Some(NOW), value.map(Into::into));
        let waits = Verdict::Wait(NOW + secs(900), basis.clone());
        assert_eq!(inside(&server, &leases(&[]), 899), waits, "{value:?}");
        assert_eq!(inside(&server, &leases(&[]), 900), Verdict::Delete(basis.clone()), "{value:?}");
        assert_eq!(inside(&server, &leases(&["burst"]), 900), Verdict::Shielded("burst".into()));
        assert_eq!(outside(&server, 900), Verdict::Unclear(basis), "{value:?}");
        server.created = None;
        let readable = value == Some(&before);
        let unclear = matches!(inside(&server, &leases(&[]), 1_000_000), Verdict::Unclear(_));
        assert!(unclear != readable, "{value:?}, and nobody knows since when");
    }
}

#[test]
fn a_deadline_that_passed_years_ago_has_passed() {
    assert!(matches!(outside(&server(1, "burst", 600), 3 * 365 * 86_400), Verdict::Delete(_)));
}

prop_compose! {
    fn any_labels()(
        managed in prop_oneof![Just(None), Just(Some("curfew")), Just(Some("terraform"))],
        cluster in prop_oneof![Just(None), Just(Some("")), Just(Some(CLUSTER)), Just(Some("another"))],
        uid in prop_oneof![Just(None), Just(Some("uid-a")), Just(Some("uid-b")), Just(Some("uid-c"))],
        autoscaled in proptest::bool::weighted(0.1),
        expires in prop_oneof![Just(None), "\\PC{0,12}".prop_map(Some),
            (-100_000_i64..100_000).prop_map(|s| Some((NOW + secs(s)).as_second().to_string()))],
    ) -> BTreeMap<String, String> {
        let pairs = [(label::MANAGED_BY, managed), (label::CLUSTER, cluster), (label::LEASE_UID, uid),
            (label::HETZNER_AUTOSCALER, autoscaled.then_some("pool")), (label::EXPIRES_AT, expires.as_deref())];
        pairs.into_iter().filter_map(|(key, value)| Some((key.into(), value?.into()))).collect()
    }
}

prop_compose! {
    fn any_server()(labels in any_labels(), created in proptest::option::of(-100_000_i64..100_000)) -> Server {
        Server { labels, created: created.map(|s| NOW + secs(s)), ..labelled(1, &[]) }
    }
}

/// `a` lives, `b` is released, `c` is gone.
fn some_leases() -> Leases {
    leases(&["a"]).into_iter().chain(released("b")).collect()
}

proptest! {
    #[test]
    fn nothing_is_deleted_without_consent_nor_another_clusters_nor_while_its_lease_lives(
        server in any_server(), s in -200_000_i64..200_000,
    ) {
        let has = |key: &str, value: &str| server.labels.get(key).is_some_and(|it| it == value);
        if let Verdict::Delete(_) = inside(&server, &some_leases(), s) {
            prop_assert!(has(label::MANAGED_BY, label::CURFEW) && has(label::CLUSTER, CLUSTER));
            prop_assert!(!server.labels.contains_key(label::HETZNER_AUTOSCALER) && !has(label::LEASE_UID, "uid-a"));
        }
        if let Verdict::Delete(_) = outside(&server, s) {
            prop_assert!(has(label::MANAGED_BY, label::CURFEW) && !server.labels[label::CLUSTER].is_empty());
            prop_assert!(!server.labels.contains_key(label::HETZNER_AUTOSCALER));
        }
    }

    #[test]
    fn nothing_is_deleted_early_and_an_orphan_always_goes(server in any_server(), near in -2_000_i64..2_000) {
        let label = server.labels.get(label::EXPIRES_AT).and_then(|value| value.parse::<i64>().ok());
        let created = server.created.map(Timestamp::as_second);
        let s = label.or(created).map_or(0, |at| at.saturating_sub(NOW.as_second())).saturating_add(near);
        let s = s.clamp(-1_000_000, 1_000_000);
        let now = NOW + secs(s);
        for (verdict, is_outside) in [(inside(&server, &some_leases(), s), false), (outside(&server, s), true)] {
            match &verdict {
                Verdict::Delete(Basis::Label(deadline)) => {
                    prop_assert_eq!(Some(deadline.as_second()), label);
                    prop_assert!(now >= *deadline + secs(300));
                }
                Verdict::Delete(Basis::Created(created, _)) => {
                    prop_assert!(!is_outside && now >= created.unwrap() + secs(900));
                }
                Verdict::Wait(due, _) => prop_assert!(now < *due),
                _ => {}
            }
            let orphan = !matches!(verdict, Verdict::NotOurs(_) | Verdict::Shielded(_));
            let readable = label.zip(server.created).is_some_and(|(at, created)| at >= created.as_second());
            if orphan && readable && label.is_some_and(|at| now.as_second() >= at + 300) {
                prop_assert!(matches!(verdict, Verdict::Delete(_)), "{verdict:?}");
            }
        }
    }

    #[test]
    fn a_living_lease_can_only_save(server in any_server(), s in -200_000_i64..200_000) {
        let with = inside(&server, &some_leases(), s);
        let without = inside(&server, &leases(&[]), s);
        prop_assert!(matches!(with, Verdict::Shielded(_)) || with == without);
        prop_assert!(matches!(without, Verdict::Shielded(_)).not());
    }
}
