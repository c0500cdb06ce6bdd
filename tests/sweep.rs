//! The sweep in the cluster: a server that outlived its lease goes, whatever a lease that lives says of its own; and a world
//! that suddenly looks empty is not believed.

use curfew_contract::label;
use curfew_sandbox::{
    api::{LEASES, NODES},
    cloud::{Access, ServerSpec},
    stage::CONTROLLER,
};
use curfew_tests::{Kept, PROVIDER, Promise, World, promises, secs};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_server_that_outlived_its_lease_is_swept_and_no_other,
    a_cluster_without_any_lease_is_not_believed_at_once,
    servers_that_vanish_all_at_once_are_not_believed,
    a_server_that_cannot_be_swept_is_said_and_holds_up_no_other,
    a_node_goes_with_its_lease_and_its_machine_and_not_before,
];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A server of this cluster whose deadline passed so many seconds ago, with these labels besides.
fn rent(world: &World, name: &str, ended: i64, labels: &[(&str, &str)]) -> u64 {
    let now = world.cluster().now();
    let deadline = (now - SignedDuration::from_secs(ended)).as_second().to_string();
    let cluster = world.cluster().uid();
    let own =
        [(label::MANAGED_BY, label::CURFEW), (label::CLUSTER, &cluster), (label::EXPIRES_AT, &deadline)];
    let mut spec = ServerSpec::new(name, &own);
    spec.labels.extend(labels.iter().map(|(key, value)| ((*key).into(), (*value).into())));
    let created: Timestamp = now - SignedDuration::from_hours(24);
    world.cloud.add_server(ServerSpec { created: Some(created), ..spec })
}

/// A lease that lives, and its UID.
async fn lives(world: &World, name: &str) -> Result<String> {
    world.lease(name, "2h").await?;
    let lease = world.api.object(LEASES, "", name).await?;
    Ok(lease["metadata"]["uid"].as_str().ok_or("a lease without a UID")?.to_owned())
}

/// Waits until the condition `Sweep` has this status and reason.
async fn says(world: &World, status: &str, reason: &str) -> Result<Value> {
    let condition = || {
        let provider = world.cluster().object("providerconfigs.curfew.dev", "", PROVIDER)?;
        let conditions = provider["status"]["conditions"].as_array()?;
        conditions
            .iter()
            .find(|it| it["type"] == "Sweep" && it["status"] == status && it["reason"] == reason)
            .cloned()
    };
    world.becomes_within(secs(200), &format!("Sweep={status} {reason}"), condition).await
}

async fn a_server_that_outlived_its_lease_is_swept_and_no_other() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let uid = lives(&world, "burst").await?;
    let of = |uid: &'static str| [(label::LEASE, "burst"), (label::LEASE_UID, uid)];
    let gone = "11111111-1111-4111-8111-111111111111";
    let orphan = rent(&world, "orphan", 400, &of(gone));
    let unreadable = rent(&world, "unreadable", 0, &[&of(gone)[..], &[(label::EXPIRES_AT, "soon")]].concat());
    let spared = [
        rent(&world, "lives", 7_200, &[(label::LEASE, "burst"), (label::LEASE_UID, &uid)]),
        rent(&world, "due-later", 200, &of(gone)),
        rent(&world, "theirs", 7_200, &[&of(gone)[..], &[(label::CLUSTER, "another")]].concat()),
        rent(&world, "autoscaled", 7_200, &[&of(gone)[..], &[(label::HETZNER_AUTOSCALER, "pool")]].concat()),
        rent(&world, "unmanaged", 7_200, &[&of(gone)[..], &[(label::MANAGED_BY, "terraform")]].concat()),
    ];
    world.rents().await?;
    for id in [orphan, unreadable] {
        world.cloud.wait_gone(id, secs(60)).await.ok_or("it was not swept")?;
    }
    says(&world, "True", "Swept").await?;
    let deleted = |id: &u64| !world.cloud.contains(*id);
    assert!(!spared.iter().any(deleted), "{spared:?}, {:?}", world.cloud.servers());
    Ok(())
}

async fn a_cluster_without_any_lease_is_not_believed_at_once() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let (lease, uid) = ("burst", "11111111-1111-4111-8111-111111111111");
    let orphan = rent(&world, "orphan", 7_200, &[(label::LEASE, lease), (label::LEASE_UID, uid)]);
    world.rents().await?;
    let said = says(&world, "False", "LeasesVanished").await?;
    assert!(said["message"].as_str().is_some_and(|it| it.contains("no known lease")), "{said:#}");
    assert!(world.cloud.contains(orphan));
    // A lease that is back ends the doubt with the next sweep.
    lives(&world, "another").await?;
    world.cloud.wait_gone(orphan, secs(120)).await.ok_or("the doubt did not end")?;
    says(&world, "True", "Swept").await?;
    Ok(())
}

async fn servers_that_vanish_all_at_once_are_not_believed() -> Kept {
    let (world, _) = World::renting(TESTBED).await?;
    world.rent_for("burst", 7_200, 1, |_| {}).await?;
    let machine = world.moved_in(1).await?.remove(0);
    world.ready("burst", 1).await?;
    // It has settled once it is older than three minutes. A step of the cluster's clock counts after one.
    world.cluster().skew(SignedDuration::from_mins(4));
    says(&world, "True", "Swept").await?;
    // A list that tells nothing, while the machine runs, and is there for whoever asks for its id.
    world.cloud.set_labels(machine.id, [].into());
    says(&world, "False", "ServersVanished").await?;
    assert!(world.cluster().node(&machine.name).is_some());
    Ok(())
}

async fn a_server_that_cannot_be_swept_is_said_and_holds_up_no_other() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    lives(&world, "another").await?;
    let of = [(label::LEASE, "burst"), (label::LEASE_UID, "11111111-1111-4111-8111-111111111111")];
    let locked = rent(&world, "locked", 7_200, &of);
    world.cloud.set_locked(locked, true);
    let protected = rent(&world, "protected", 400, &of);
    world.cloud.set_protected(protected, true);
    let credentials = world.rents().await?;
    world.cloud.wait_gone(protected, secs(60)).await.ok_or("it was held up")?;
    let said = says(&world, "False", "ServersStay").await?;
    assert!(said["message"].as_str().is_some_and(|it| it.contains("locked")), "{said:#}");
    world.cloud.set_access(&credentials.controller, Access::ReadWrite);
    world.cloud.set_locked(locked, false);
    world.cloud.wait_gone(locked, secs(120)).await.ok_or("it was not tried again")?;
    assert_eq!(world.deleted_by(locked).ok_or("by nobody")?.0, CONTROLLER);
    Ok(())
}

async fn a_node_goes_with_its_lease_and_its_machine_and_not_before() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    lives(&world, "lives").await?;
    let running = rent(&world, "running", -3_600, &[(label::LEASE, "gone")]);
    for (name, lease, server) in
        [("orphan", "gone", 42), ("machine-runs", "gone", running), ("lease-lives", "lives", 43)]
    {
        let labels = [(label::LEASE.to_owned(), lease.to_owned())].into();
        world.api.add_node(name, &format!("hcloud://{server}"), &labels).await?;
    }
    world.api.add_node("not-rented", "hcloud://44", &[].into()).await?;
    world.rents().await?;
    let gone = || world.cluster().node("orphan").is_none().then_some(());
    world.becomes_within(secs(150), "the end of the orphan Node", gone).await?;
    for name in ["machine-runs", "lease-lives", "not-rented"] {
        assert!(!world.api.object(NODES, "", name).await?.is_null(), "{name}");
    }
    Ok(())
}
