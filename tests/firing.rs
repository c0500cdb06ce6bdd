//! Once it is time, nothing the provider answers keeps the machine alive.

use curfew_contract::Note;
use curfew_sandbox::cloud::{Effect, Entry, Fault, Project};
use curfew_tests::{Kept, Promise, World, agent_deletes, is_in_time, promises, told};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_provider_that_accepts_and_never_answers_is_given_up_and_tried_again,
    retry_after_is_honoured,
    retry_after_is_never_obeyed_for_longer_than_a_minute,
    not_found_while_alive_is_not_success,
    a_locked_then_protected_server_is_deleted,
    an_accepted_deletion_that_fails_is_tried_again,
    firing_is_resumed_after_a_kill,
    firing_is_never_taken_back,
];

async fn a_provider_that_accepts_and_never_answers_is_given_up_and_tried_again() -> Kept {
    let world = World::alone(TESTBED).await?;
    world.cloud.inject(on_delete(Effect::Silence { effective: false }).times(1));
    let deadline = world.deadline_in(world.machine(), 5).await?;
    let gone = world.gone(world.machine()).await?;
    let deletes = world.deletes(world.machine());
    assert!(deletes.len() == 2 && !deletes[0].delivered, "{deletes:?}");
    assert!(is_in_time(deletes[0].at, deadline));
    // One time-out of 10 s and one pause of at most 5 s, and room for a machine under load.
    assert!(gone.duration_since(deadline).as_secs() < 30, "{deletes:?}");
    Ok(())
}

async fn retry_after_is_honoured() -> Kept {
    let apart = apart_with_retry_after("7").await?;
    assert!((6.9..20.0).contains(&apart), "{apart} s");
    Ok(())
}

async fn retry_after_is_never_obeyed_for_longer_than_a_minute() -> Kept {
    let apart = apart_with_retry_after("86400").await?;
    assert!((40.0..70.0).contains(&apart), "{apart} s");
    Ok(())
}

/// Seconds between the first DELETE, which is told to wait, and the second.
async fn apart_with_retry_after(value: &str) -> Result<f64, Box<dyn std::error::Error + Send + Sync>> {
    let world = World::alone(TESTBED).await?;
    world.cloud.inject(on_delete(Effect::RateLimited).times(1).retry_after(value));
    world.deadline_in(world.machine(), 5).await?;
    world.gone(world.machine()).await?;
    let deletes = world.deletes(world.machine());
    Ok(deletes[1].at.duration_since(deletes[0].at).as_secs_f64())
}

async fn not_found_while_alive_is_not_success() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 5).await?;
    world.sees(machine, deadline).await?;
    world.cloud.move_to(machine.id, Project::FOREIGN);
    let refused = world.deletes_reach(machine, 2).await?;
    assert!(refused.iter().all(|delete| delete.status == 404), "{refused:?}");
    assert!(machine.agent_id().is_some());
    world.cloud.move_to(machine.id, Project::OURS);
    world.gone(machine).await?;
    Ok(())
}

async fn a_locked_then_protected_server_is_deleted() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.set_locked(machine.id, true);
    world.deadline_in(machine, 5).await?;
    let refused = world.deletes_reach(machine, 2).await?;
    // Locks last for seconds: no doubling of the pause.
    assert!(refused[1].at.duration_since(refused[0].at).as_secs() < 10, "{refused:?}");
    world.cloud.set_protected(machine.id, true);
    world.cloud.set_locked(machine.id, false);
    world.gone(machine).await?;
    Ok(())
}

async fn an_accepted_deletion_that_fails_is_tried_again() -> Kept {
    let world = World::alone(TESTBED).await?;
    world.cloud.inject(on_delete(Effect::DeleteFails).times(1));
    world.deadline_in(world.machine(), 5).await?;
    world.gone(world.machine()).await?;
    assert_eq!(world.deletes(world.machine()).len(), 2);
    Ok(())
}

async fn firing_is_resumed_after_a_kill() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.set_locked(machine.id, true);
    world.deadline_in(machine, 5).await?;
    world.deletes_reach(machine, 1).await?;
    // A later deadline, which the new process can read, changes nothing of what was begun.
    world.deadline_in(machine, 3600).await?;
    machine.kill_agent(true);
    let before = world.deletes(machine).len();
    let after = world.deletes_reach(machine, before + 1).await?;
    assert!(after.iter().all(agent_deletes));
    world.cloud.set_locked(machine.id, false);
    world.gone(machine).await?;
    Ok(())
}

async fn firing_is_never_taken_back() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.set_locked(machine.id, true);
    world.deadline_in(machine, 5).await?;
    world.deletes_reach(machine, 1).await?;
    world.deadline_in(machine, 3600).await?;
    world.cloud.set_labels(machine.id, [].into());
    let firing = |beat: &curfew_contract::Heartbeat| beat.phase == curfew_contract::Phase::Firing;
    world.beats(machine, "a heartbeat that says so", firing).await?;
    assert!(!told::note(Note::ObserveOnly)(&world.next_beat(machine).await?));
    let cordoned =
        || world.cluster().node(&machine.name).filter(|node| node["spec"]["unschedulable"] == true);
    world.becomes("a cordoned Node", cordoned).await?;
    let before: Vec<Entry> = world.deletes(machine);
    world.deletes_reach(machine, before.len() + 1).await?;
    world.cloud.set_locked(machine.id, false);
    world.gone(machine).await?;
    Ok(())
}

fn on_delete(effect: Effect) -> Fault {
    Fault::every(effect).on_method("DELETE")
}
