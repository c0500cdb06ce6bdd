//! A machine's clock may say anything, and an API server's may be wrong for a while.

use curfew_contract::Note;
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs, told, without_backstop};
use jiff::SignedDuration;
use tokio::time::sleep;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_machine_whose_clock_is_three_hours_behind_is_gone_on_time,
    a_machine_whose_clock_is_three_hours_ahead_is_gone_on_time,
    an_api_server_whose_clock_jumps_for_a_moment_takes_no_machine_with_it,
    a_controller_that_starts_beside_a_wrong_clock_writes_nothing_by_it,
];

async fn a_machine_whose_clock_is_three_hours_behind_is_gone_on_time() -> Kept {
    off_by(SignedDuration::from_hours(3)).await
}

async fn a_machine_whose_clock_is_three_hours_ahead_is_gone_on_time() -> Kept {
    off_by(SignedDuration::from_hours(-3)).await
}

/// The cluster's clock is ahead of the machine's by so much. Deadlines are cluster time; the cloud's ledger is not.
async fn off_by(ahead: SignedDuration) -> Kept {
    let mut world = World::empty(TESTBED).await?;
    world.cluster().skew(ahead);
    world.rent("m-1", without_backstop).await?;
    let machine = world.machine();
    world.proves_itself(machine).await?;
    let deadline = world.deadline_in(machine, 12).await?;
    let beat = world.sees(machine, deadline).await?;
    assert!(beat.clock_skew.is_some(), "{beat:?}");
    assert_eq!(beat.fires_at, Some(deadline));
    machine.kill_agent(false);
    // And as its ledger remembers it, nobody being there to ask.
    world.cluster().stop().await;
    machine.start_agent();
    let gone = world.gone(machine).await?;
    assert!(is_in_time(gone + ahead, deadline), "{gone}, which is {} there, for {deadline}", gone + ahead);
    Ok(())
}

async fn an_api_server_whose_clock_jumps_for_a_moment_takes_no_machine_with_it() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let deadline = world.deadline_in(machine, 1_200).await?;
    world.sees(machine, deadline).await?;
    world.cluster().skew(SignedDuration::from_hours(3));
    world.beats(machine, "the step in the heartbeat", told::note(Note::ClusterTimeStepping)).await?;
    sleep(secs(10)).await;
    world.cluster().skew(SignedDuration::ZERO);
    let calm = |beat: &_| !told::note(Note::ClusterTimeStepping)(beat);
    let beat = world.beats(machine, "a calm heartbeat", calm).await?;
    assert_eq!((beat.deadline_seen, beat.fires_at), (Some(deadline), Some(deadline)));
    assert!(world.deletes(machine).is_empty());
    Ok(())
}

async fn a_controller_that_starts_beside_a_wrong_clock_writes_nothing_by_it() -> Kept {
    for hours in [-3, 3] {
        let mut world = World::armed(TESTBED).await?;
        let node = world.machine().name.clone();
        world.cluster().skew(SignedDuration::from_hours(hours));
        world.start_controller()?;
        world.lease("burst", "30m").await?;
        sleep(secs(4)).await;
        assert_eq!(world.api.deadline(&node).await?, None, "{hours} h");
        world.cluster().skew(SignedDuration::ZERO);
        let deadline = loop {
            if let Some(deadline) = world.api.deadline(&node).await? {
                break deadline;
            }
            sleep(secs(1)).await;
        };
        let ahead = deadline.duration_since(world.cluster().now());
        assert!(ahead.is_positive() && ahead < SignedDuration::from_mins(1), "{hours} h: {deadline}");
    }
    Ok(())
}
