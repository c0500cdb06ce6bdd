//! What goes between the two programs: how often, how fresh, and how little.

use std::time::Duration;

use curfew_contract::annotation;
use curfew_sandbox::{cloud::Caller, cluster::Call};
use curfew_tests::{Kept, Promise, World, promises, secs, without_backstop};
use jiff::SignedDuration;
use tokio::time::sleep;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    the_heartbeat_comes_as_often_as_the_option_says,
    an_agent_at_rest_asks_next_to_nothing,
    a_renewal_is_seen_however_the_watch_ended,
    a_deleted_node_is_not_created_again_by_a_heartbeat,
    a_future_dated_heartbeat_does_not_stay_fresh,
    a_heartbeat_that_cannot_be_read_shows_as_missing,
];

async fn the_heartbeat_comes_as_often_as_the_option_says() -> Kept {
    let world = World::with(TESTBED, |spec| {
        without_backstop(spec);
        spec.heartbeat = secs(3);
        spec.probe = secs(3_600);
    })
    .await?;
    let beat = world.proves_itself(world.machine()).await?;
    assert_eq!(beat.every, SignedDuration::from_secs(3));
    let before = beats(&world).len();
    sleep(secs(21)).await;
    let came = beats(&world).len() - before;
    // Seven at most: jitter and load only make them rarer.
    assert!((4..=8).contains(&came), "{came} in 21 s");
    Ok(())
}

async fn an_agent_at_rest_asks_next_to_nothing() -> Kept {
    let world = World::with(TESTBED, |spec| {
        spec.heartbeat = secs(30);
        spec.probe = secs(3_600);
    })
    .await?;
    let machine = world.machine();
    world.arms(machine).await?;
    world.annotate(machine, annotation::GRACE, Some("2m0s"))?;
    let deadline = world.deadline_in(machine, 3_600).await?;
    world
        .becomes("a deadline that has been seen", || {
            let last = world.last_word(machine)?;
            (last["heartbeat"]["deadlineSeen"] == deadline.to_string()).then_some(())
        })
        .await?;
    sleep(secs(3)).await;
    let (from, provider) = (world.cluster().now(), world.cloud.ledger().len());
    sleep(WINDOW).await;
    let asked: Vec<Call> = of_kubelets(&world).filter(|call| call.at >= from).collect();
    // Two a minute, and the one that falls into the window's start.
    assert!(asked.len() as u64 <= WINDOW.as_secs() * 2 / 60 + 1, "{asked:#?}");
    assert_eq!(world.cluster().open_watches(), 1);
    let provider = world.cloud.ledger().split_off(provider);
    assert!(provider.is_empty(), "{provider:?}");
    // Since its start: two calls of the agent, two of the backstop. The metadata service is the machine's own host.
    let api = world.cloud.ledger().into_iter().filter(|entry| entry.caller != Caller::Anonymous).count();
    assert!(api <= 4, "{:?}", world.cloud.ledger());
    Ok(())
}

async fn a_renewal_is_seen_however_the_watch_ended() -> Kept {
    let world = World::alone(TESTBED).await?;
    let (machine, cluster) = (world.machine(), world.cluster());
    for (seconds, broken) in [(600, "restart"), (700, "end"), (800, "forget"), (900, "mute")] {
        match broken {
            "restart" => cluster.restart().await?,
            "end" => cluster.end_watches(),
            "forget" => cluster.forget_history(),
            _ => cluster.mute_watches(),
        }
        let renewed = world.deadline_in(machine, seconds).await?;
        world.sees(machine, renewed).await.map_err(|error| format!("{broken}: {error}"))?;
    }
    Ok(())
}

async fn a_deleted_node_is_not_created_again_by_a_heartbeat() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cluster().delete(("", "v1", "nodes"), "", &machine.name)?;
    let refused = || beats(&world).iter().any(|call| call.code == 404).then_some(());
    world.becomes("a refused heartbeat", refused).await?;
    assert!(world.cluster().node(&machine.name).is_none());
    Ok(())
}

async fn a_future_dated_heartbeat_does_not_stay_fresh() -> Kept {
    let mut world = World::alone(TESTBED).await?;
    world.machine().kill_agent(false);
    let ahead = |world: &World, hours| -> Kept {
        let mut beat = world.beat(world.machine()).ok_or("no heartbeat")?;
        beat.at = Some(world.cluster().now() + SignedDuration::from_hours(hours));
        world.annotate(world.machine(), annotation::HEARTBEAT, Some(&beat.write()))
    };
    ahead(&world, 1)?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "False", "HeartbeatStale").await?;
    // A change is a sign of life, whatever it says; without another it is none for long.
    ahead(&world, 2)?;
    world.shows(world.machine(), "False", "BackstopMissing").await?;
    world.shows(world.machine(), "False", "HeartbeatStale").await?;
    Ok(())
}

async fn a_heartbeat_that_cannot_be_read_shows_as_missing() -> Kept {
    let mut world = World::alone(TESTBED).await?;
    world.machine().kill_agent(false);
    world.annotate(world.machine(), annotation::HEARTBEAT, Some("{\"v\":1,"))?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "False", "HeartbeatMissing").await?;
    Ok(())
}

fn of_kubelets(world: &World) -> impl Iterator<Item = Call> {
    let calls = world.cluster().calls().into_iter();
    calls.filter(|call| call.user.starts_with("system:node:") && call.verb != "watch")
}

/// Heartbeats that were asked to be written.
fn beats(world: &World) -> Vec<Call> {
    of_kubelets(world).filter(|call| call.verb == "patch").collect()
}

const WINDOW: Duration = Duration::from_secs(75);
