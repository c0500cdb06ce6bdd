//! Keeps the [`World`] as the API server has it: Nodes as metadata only, leases one by one, and the time.
//!
//! A lease that cannot be decoded is one lease with a fault, never a watch that stops.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::http::{Request, header::DATE};
use curfew_contract::duration;
use futures::{Stream, StreamExt, pin_mut};
use k8s_openapi::api::{core::v1 as core, storage::v1::VolumeAttachment};
use kube::{
    Api, Client, ResourceExt,
    client::Body,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        WatchStreamExt,
        watcher::{self, Config, Event, watcher},
    },
};
use tracing::{info, warn};

use crate::{
    apply::root,
    clock::{self, Heard, Reading, http_date},
    crd::{CapacityLease, ProviderConfig},
    observe::{Lease, Node, Provider, World},
    shared::Shared,
};

/// Follows the Nodes, for ever.
pub(crate) async fn nodes(shared: Arc<Shared>, client: Client) {
    let api: Api<PartialObjectMeta<core::Node>> = Api::all(client);
    let apply = |world: &mut World, reading: Reading, node: PartialObjectMeta<core::Node>, relisted| {
        let known = world.nodes.get(&node.name_any());
        let node = Node::read(node.metadata, known, reading.up, relisted);
        world.nodes.insert(node.name.clone(), node);
    };
    let retain = |world: &mut World, reading: Reading, names: &BTreeSet<String>| {
        let gone = world.nodes.extract_if(.., |name, _| !names.contains(name));
        gone.for_each(|(_, node)| world.departed.note(&node, reading));
        world.nodes_listed = true;
    };
    let remove = |world: &mut World, reading: Reading, name: &str| {
        if let Some(node) = world.nodes.remove(name) {
            world.departed.note(&node, reading);
        }
    };
    follow(
        "nodes",
        watcher(api, Config::default().timeout(WATCH)).default_backoff(),
        &shared,
        apply,
        retain,
        remove,
    )
    .await;
}

/// Follows the leases, for ever.
pub(crate) async fn leases(shared: Arc<Shared>, client: Client) {
    let api: Api<DeserializeGuard<CapacityLease>> = Api::all(client);
    let apply = |world: &mut World, _: Reading, lease: DeserializeGuard<CapacityLease>, _| {
        let known = world.leases.get(&lease.name_any());
        let lease = Lease::read(lease, known);
        if let Some(error) = &lease.broken {
            warn!(lease = lease.name, error, "lease cannot be read; what was known of it stands");
        }
        world.leases.insert(lease.name.clone(), lease);
    };
    let retain = |world: &mut World, _: Reading, names: &BTreeSet<String>| {
        world.leases.retain(|name, _| names.contains(name));
        world.leases_listed = true;
    };
    let remove = |world: &mut World, _: Reading, name: &str| drop(world.leases.remove(name));
    follow(
        "leases",
        watcher(api, Config::default().timeout(WATCH)).default_backoff(),
        &shared,
        apply,
        retain,
        remove,
    )
    .await;
}

/// Follows the providers' configurations, for ever.
pub(crate) async fn providers(shared: Arc<Shared>, client: Client) {
    let api: Api<DeserializeGuard<ProviderConfig>> = Api::all(client);
    let apply = |world: &mut World, _: Reading, object: DeserializeGuard<ProviderConfig>, _| {
        let known = world.providers.get(&object.name_any());
        let provider = Provider::read(object, known);
        if let Some(error) = &provider.broken {
            warn!(
                provider = provider.name,
                error, "configuration cannot be kept; what was known of it stands"
            );
        }
        world.providers.insert(provider.name.clone(), provider);
    };
    let retain = |world: &mut World, _: Reading, names: &BTreeSet<String>| {
        world.providers.retain(|name, _| names.contains(name));
        world.providers_listed = true;
    };
    let remove = |world: &mut World, _: Reading, name: &str| drop(world.providers.remove(name));
    follow(
        "providers",
        watcher(api, Config::default().timeout(WATCH)).default_backoff(),
        &shared,
        apply,
        retain,
        remove,
    )
    .await;
}

/// Follows what is attached to which Node, for ever.
pub(crate) async fn attachments(shared: Arc<Shared>, client: Client) {
    let api: Api<VolumeAttachment> = Api::all(client);
    let apply = |world: &mut World, _: Reading, attachment: VolumeAttachment, _| {
        world.attachments.insert(attachment.name_any(), attachment.spec.node_name);
    };
    let retain = |world: &mut World, _: Reading, names: &BTreeSet<String>| {
        world.attachments.retain(|name, _| names.contains(name));
        world.attachments_listed = true;
    };
    let remove = |world: &mut World, _: Reading, name: &str| drop(world.attachments.remove(name));
    follow(
        "volume attachments",
        watcher(api, Config::default().timeout(WATCH)).default_backoff(),
        &shared,
        apply,
        retain,
        remove,
    )
    .await;
}

/// Finds out which cluster this is. It never changes, so it is asked once; until it is known nothing is rented.
pub(crate) async fn cluster(shared: Arc<Shared>, client: Client) {
    let api: Api<PartialObjectMeta<core::Namespace>> = Api::all(client);
    loop {
        let read = tokio::time::timeout(CALL, api.get_metadata(CLUSTER)).await;
        match read {
            Ok(Ok(namespace)) => {
                shared.change(|world, _| world.cluster = namespace.metadata.uid);
                return std::future::pending().await;
            }
            Ok(Err(error)) => warn!(namespace = CLUSTER, error = root(&error), "namespace cannot be read"),
            Err(_) => warn!(namespace = CLUSTER, "namespace cannot be read in time"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn follow<K: ResourceExt>(
    what: &'static str,
    stream: impl Stream<Item = watcher::Result<Event<K>>>,
    shared: &Shared,
    apply: impl Fn(&mut World, Reading, K, bool),
    retain: impl Fn(&mut World, Reading, &BTreeSet<String>),
    remove: impl Fn(&mut World, Reading, &str),
) {
    pin_mut!(stream);
    let mut listed = BTreeSet::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                listed.insert(object.name_any());
                shared.with(|world, reading| apply(world, reading, object, true));
            }
            Ok(Event::InitDone) => {
                info!(what, count = listed.len(), "listed");
                shared.change(|world, reading| retain(world, reading, &listed));
            }
            Ok(Event::Apply(object)) => shared.change(|world, reading| apply(world, reading, object, false)),
            Ok(Event::Delete(object)) => {
                shared.change(|world, reading| remove(world, reading, &object.name_any()));
            }
            Err(error) => warn!(what, error = root(&error), "watch interrupted; it is taken up again"),
        }
    }
}

/// Asks the API server for the time, for ever.
pub(crate) async fn time(shared: Arc<Shared>, client: Client) {
    let mut asked = 0;
    loop {
        let date = tokio::time::timeout(CALL, date(&client)).await.ok().flatten();
        let Some(date) = date else {
            warn!("the API server does not tell the time; the last answer is carried on");
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let first = shared.clock.read().now.is_none();
        let heard = shared.clock.hear(date);
        match heard {
            Heard::Followed => {}
            Heard::Doubted(step) => warn!(
                step = duration::format(step),
                "the API server's clock stepped; waiting for confirmation"
            ),
            Heard::Stepped(step) => {
                warn!(step = duration::format(step), "the API server's clock stepped, and time with it");
            }
        }
        if first || heard != Heard::Followed {
            shared.ring();
        }
        asked += 1;
        // At another fraction of a second each time, and the first ones soon: see `clock`.
        tokio::time::sleep(FRACTION + if asked < clock::FRACTIONS { SOON } else { EACH }).await;
    }
}

/// The `Date` of a cheap answer.
async fn date(client: &Client) -> Option<jiff::Timestamp> {
    let request = Request::get("/version").body(Body::empty()).ok()?;
    let answer = client.send(request).await.ok().filter(|answer| answer.status().is_success())?;
    let date = http_date(answer.headers().get(DATE)?.to_str().ok()?);
    // Read to its end, the connection is used again.
    drop(answer.into_body().collect_bytes().await);
    date
}

/// Seconds. A watch that says nothing for so long, and a little more, is dead, and is opened again.
const WATCH: u32 = 60;
const CALL: Duration = Duration::from_secs(8);
const SOON: Duration = Duration::from_secs(1);
const EACH: Duration = Duration::from_secs(20);
const FRACTION: Duration = Duration::from_micros(62_500);
const AGAIN: Duration = Duration::from_secs(2);
/// The namespace that every cluster has, and whose UID tells clusters apart.
const CLUSTER: &str = "kube-system";
