//! What must never be deleted, and what must never be taken for a deadline.

use curfew_contract::{Cause, Note, annotation, label};
use curfew_sandbox::machine::Spec;
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs, told, without_backstop};
use jiff::Timestamp;
use tokio::time::sleep;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    nonsense_on_the_node_destroys_nothing,
    another_servers_deadline_destroys_nothing,
    an_absent_annotation_or_a_deleted_node_keeps_the_last_good_deadline,
    a_deadline_first_learnt_when_already_past_waits_for_its_replacement,
    a_deadline_first_learnt_when_already_past_fires_a_minute_later,
    a_first_arming_without_a_ledger_holds_back,
    the_word_none_leaves_only_the_lifetime,
    a_clone_with_anothers_ledger_starts_afresh,
    a_server_without_consent_is_never_deleted,
    an_autoscalers_server_is_never_deleted,
    observe_deletes_nothing_and_never_shows_as_armed,
    only_the_machine_that_is_due_is_deleted,
    the_backstop_reads_the_node_before_it_acts_upon_an_old_ledger,
];

async fn nonsense_on_the_node_destroys_nothing() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let good = world.deadline_in(machine, 30).await?;
    world.sees(machine, good).await?;
    for (nonsense, note) in [
        ("0", Note::DeadlineTooEarly),
        ("9223372036854775807", Note::DeadlineUnparsable),
        ("-5", Note::DeadlineTooEarly),
        ("tomorrow", Note::DeadlineUnparsable),
        ("2019-12-31T23:59:59Z", Note::DeadlineTooEarly),
        ("", Note::DeadlineUnparsable),
        ("2999-01-01T00:00:00Z", Note::DeadlineTooFar),
    ] {
        world.annotate(machine, annotation::DEADLINE, Some(nonsense))?;
        let beat = world.beats(machine, nonsense, told::note(note)).await?;
        assert_eq!((beat.deadline_seen, beat.fires_at), (Some(good), Some(good)), "{nonsense}");
        assert!(world.deletes(machine).is_empty(), "{nonsense}");
    }
    assert!(is_in_time(world.gone(machine).await?, good), "the last good one stands");
    Ok(())
}

async fn another_servers_deadline_destroys_nothing() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.annotate(machine, annotation::DEADLINE_FOR, Some("hcloud://4711"))?;
    world.deadline_in(machine, 2).await?;
    let note = told::note(Note::DeadlineForAnotherServer);
    let beat = world.beats(machine, "a refused deadline", note).await?;
    assert_eq!((beat.deadline_seen, beat.cause), (None, Cause::Lifetime));
    sleep(secs(6)).await;
    assert!(world.deletes(machine).is_empty());
    Ok(())
}

async fn an_absent_annotation_or_a_deleted_node_keeps_the_last_good_deadline() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 12).await?;
    world.sees(machine, deadline).await?;
    world.annotate(machine, annotation::DEADLINE, None)?;
    let beat = world.beats(machine, "the loss in the heartbeat", told::note(Note::DeadlineVanished)).await?;
    assert_eq!(beat.fires_at, Some(deadline));
    world.cluster().delete(("", "v1", "nodes"), "", &machine.name)?;
    assert!(is_in_time(world.gone(machine).await?, deadline));
    Ok(())
}

async fn a_deadline_first_learnt_when_already_past_waits_for_its_replacement() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.deadline_in(machine, -30).await?;
    world.beats(machine, "a respite", told::note(Note::DeadlineInThePast)).await?;
    let replacement = world.deadline_in(machine, 8).await?;
    world.sees(machine, replacement).await?;
    assert!(is_in_time(world.gone(machine).await?, replacement));
    Ok(())
}

async fn a_deadline_first_learnt_when_already_past_fires_a_minute_later() -> Kept {
    let world = World::alone(TESTBED).await?;
    let written = world.cluster().now();
    world.deadline_in(world.machine(), -30).await?;
    let after = world.gone(world.machine()).await?.duration_since(written).as_secs();
    assert!((60..75).contains(&after), "{after} s");
    Ok(())
}

async fn a_first_arming_without_a_ledger_holds_back() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let booted = world.cluster().now();
    let holds = |spec: &mut Spec| {
        without_backstop(spec);
        spec.options.insert("--first-hold", "25s".into());
    };
    world.rent("m-1", holds).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 6).await?;
    let beat = world.sees(machine, deadline).await?;
    assert!(told::note(Note::FirstArming)(&beat), "{beat:?}");
    let after = world.gone(machine).await?.duration_since(booted).as_secs();
    assert!((25..45).contains(&after), "{after} s");
    Ok(())
}

async fn the_word_none_leaves_only_the_lifetime() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 8).await?;
    world.sees(machine, deadline).await?;
    world.annotate(machine, annotation::DEADLINE, Some("none"))?;
    world.beats(machine, "no deadline", |beat| beat.deadline_seen.is_none()).await?;
    until(&world, deadline, 6).await;
    assert!(world.deletes(machine).is_empty());
    assert_eq!(world.next_beat(machine).await?.cause, Cause::Lifetime);
    Ok(())
}

async fn a_clone_with_anothers_ledger_starts_afresh() -> Kept {
    let mut world = World::alone(TESTBED).await?;
    let deadline = world.deadline_in(world.machine(), 15).await?;
    let says = |record: &serde_json::Value| record["deadline"]["deadline"] == deadline.as_millisecond();
    world.recorded(world.machine(), "the deadline in the ledger", says).await?;
    // The image is taken while the original runs; the ledger is there before the clone's agent first starts.
    let from = world.machine().dir().join("state/ledger.json");
    world.rent("m-2", without_backstop).await?;
    let clone = &world.machines[1];
    std::fs::copy(from, clone.dir().join("state/ledger.json"))?;
    let beat = world.beats(clone, "a refused ledger", told::note(Note::LedgerAlien)).await?;
    assert_eq!(beat.deadline_seen, None);
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    until(&world, deadline, 5).await;
    assert!(world.deletes(clone).is_empty());
    assert_eq!(world.proves_itself(clone).await?.server, Some(format!("hcloud://{}", clone.id)));
    Ok(())
}

async fn a_server_without_consent_is_never_deleted() -> Kept {
    is_never_deleted(vec![], Note::NotManaged).await
}

async fn an_autoscalers_server_is_never_deleted() -> Kept {
    let both = vec![(label::MANAGED_BY, label::CURFEW), (label::HETZNER_AUTOSCALER, "pool")];
    is_never_deleted(both, Note::Autoscaled).await
}

/// With these labels, not even if agent and backstop think that it is due.
async fn is_never_deleted(labels: Vec<(&'static str, &'static str)>, note: Note) -> Kept {
    let world = World::with(TESTBED, |spec| spec.consent = labels).await?;
    let machine = world.machine();
    let beat = world.beats(machine, "a refused identity", told::note(note)).await?;
    assert!(!told::armed(&beat), "{beat:?}");
    let deadline = world.deadline_in(machine, 4).await?;
    let fires = || machine.log().contains("this server will not be deleted").then_some(());
    world.becomes("a refusal to delete", fires).await?;
    until(&world, deadline, 15).await;
    assert!(world.deletes(machine).is_empty() && world.cloud.contains(machine.id));
    Ok(())
}

async fn observe_deletes_nothing_and_never_shows_as_armed() -> Kept {
    let mut world = World::with(TESTBED, |spec| spec.arguments.push("--observe".into())).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    world.shows(world.machine(), "False", "ObserveOnly").await?;
    world.kill_controller();
    let deadline = world.deadline_in(world.machine(), 4).await?;
    until(&world, deadline, 12).await;
    assert!(world.deletes(world.machine()).is_empty());
    assert!(world.machine().log().contains("would delete this machine now"));
    assert!(!world.controller_log().contains("WatchdogArmed=True"));
    Ok(())
}

async fn only_the_machine_that_is_due_is_deleted() -> Kept {
    let mut world = World::alone(TESTBED).await?;
    world.rent("m-2", without_backstop).await?;
    let (due, other) = (world.machine(), &world.machines[1]);
    world.proves_itself(other).await?;
    let later = world.deadline_in(other, 3_600).await?;
    world.sees(other, later).await?;
    let deadline = world.deadline_in(due, 5).await?;
    assert!(is_in_time(world.gone(due).await?, deadline));
    sleep(secs(3)).await;
    assert!(world.cloud.contains(other.id) && world.deletes(other).is_empty());
    world.next_beat(other).await?;
    Ok(())
}

async fn the_backstop_reads_the_node_before_it_acts_upon_an_old_ledger() -> Kept {
    let world = World::armed(TESTBED).await?;
    let machine = world.machine();
    let old = world.deadline_in(machine, 8).await?;
    let says = |record: &serde_json::Value| record["deadline"]["deadline"] == old.as_millisecond();
    world.recorded(machine, "the deadline in the ledger", says).await?;
    machine.kill_agent(false);
    let renewed = world.deadline_in(machine, 26).await?;
    until(&world, old, 7).await;
    assert!(world.deletes(machine).is_empty());
    let gone = world.gone(machine).await?;
    assert!(gone >= renewed, "{gone} instead of {renewed}");
    // One period of the timer, 5 s here, and 15 s to look, to ask the Node and to delete.
    assert!(gone.duration_since(renewed).as_secs() < 20, "{gone} instead of {renewed}");
    Ok(())
}

/// So many seconds after `at`.
async fn until(world: &World, at: Timestamp, seconds: i64) {
    let left = at.duration_since(world.cluster().now()).as_secs() + seconds;
    sleep(secs(left.max(0).unsigned_abs())).await;
}
