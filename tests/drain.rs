//! Work is moved away before the machine goes: when it is near its end, and then only.

mod node;
mod pods;

use curfew_contract::{Note, Phase, annotation};
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs, told, without_backstop};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;

use crate::TESTBED;
use node::{
    a_mark_that_somebody_keeps_putting_back_is_not_fought_busily, cordon, cordoned, draining, is_uncordoned,
    is_untouched, lease, near, processor_time, text, until,
};
use pods::{add, allow, budget, evictions, runs, slow};

pub(crate) const PROMISES: &[Promise] = promises![
    work_moves_when_the_controller_is_dead,
    work_moves_before_a_lease_ends_and_the_machine_shows_as_armed,
    what_belongs_to_the_machine_stays,
    a_budget_that_refuses_is_asked_until_it_allows,
    a_machine_whose_budget_refuses_for_ever_is_gone_at_its_deadline,
    a_pod_that_would_outlive_its_machine_must_hurry,
    a_renewal_that_comes_back_uncordons_what_the_agent_cordoned,
    a_node_that_a_person_cordoned_stays_cordoned,
    a_person_who_uncordons_in_mid_drain_is_not_fought,
    an_agent_killed_in_mid_drain_goes_on,
    an_agent_that_was_dead_when_the_renewal_came_uncordons,
    a_mark_that_somebody_keeps_putting_back_is_not_fought_busily,
    a_grace_that_makes_no_sense_moves_no_work,
    no_grace_empties_a_machine_that_is_renewed,
    without_a_grace_no_work_is_moved,
    observe_moves_no_work,
    a_machine_without_consent_keeps_its_work,
    waiting_for_the_end_takes_no_processor,
];

async fn work_moves_when_the_controller_is_dead() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    add(&world, "web", &json!({})).await?;
    world.start_controller()?;
    lease(&world, "30m").await?;
    world.shows(world.machine(), "True", "").await?;
    let grace = world.becomes("a grace", || text(&world, annotation::GRACE)).await?;
    assert_eq!(grace, "12s");
    assert!(runs(&world, "web") && !cordoned(&world), "while it is renewed, it works");
    world.kill_controller();
    let moved =
        world.becomes("an eviction", || (!runs(&world, "web")).then(|| world.cluster().now())).await?;
    let deadline = world.api.deadline("m-1").await?.ok_or("no deadline")?;
    assert!(moved < deadline && deadline.duration_since(moved).as_secs() <= 13, "{moved}, {deadline}");
    assert!(cordoned(&world));
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn work_moves_before_a_lease_ends_and_the_machine_shows_as_armed() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    add(&world, "web", &json!({})).await?;
    world.start_controller()?;
    lease(&world, "45s").await?;
    world.shows(world.machine(), "True", "").await?;
    world.beats(world.machine(), "a draining machine", draining).await?;
    let deadline = world.api.deadline("m-1").await?.ok_or("no deadline")?;
    while deadline.duration_since(world.cluster().now()).as_secs() > 1 {
        let shown = world.api.shown("m-1").await?;
        assert_eq!(shown.status, "True", "{shown:?}");
        sleep(secs(1)).await;
    }
    assert!(!runs(&world, "web"));
    Ok(())
}

async fn what_belongs_to_the_machine_stays() -> Kept {
    let world = World::alone(TESTBED).await?;
    let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "cni", "uid": "u", "controller": true}]);
    add(&world, "cni", &json!({"metadata": {"ownerReferences": owner}})).await?;
    let mirror = json!({"kubernetes.io/config.mirror": "d1"});
    add(&world, "static", &json!({"metadata": {"annotations": mirror}})).await?;
    add(&world, "web", &json!({})).await?;
    let deadline = near(&world).await?;
    world.gone(world.machine()).await?;
    assert!(runs(&world, "cni") && runs(&world, "static") && !runs(&world, "web"));
    assert_eq!(evictions(&world).len(), 1, "{:?}", evictions(&world));
    assert!(evictions(&world)[0].at < deadline);
    Ok(())
}

async fn a_budget_that_refuses_is_asked_until_it_allows() -> Kept {
    let world = World::alone(TESTBED).await?;
    add(&world, "web", &json!({})).await?;
    budget(&world)?;
    let deadline = near(&world).await?;
    // Its status is not up to date: the server says when to come back.
    world.becomes("a refusal", || evictions(&world).first().map(|call| assert_eq!(call.code, 429))).await?;
    allow(&world, 1).await?;
    world.becomes("an eviction", || (!runs(&world, "web")).then_some(())).await?;
    assert!(world.cluster().now() < deadline);
    let calls = evictions(&world);
    assert!(calls.last().is_some_and(|call| call.code == 201) && calls.len() <= 4, "{calls:?}");
    Ok(())
}

async fn a_machine_whose_budget_refuses_for_ever_is_gone_at_its_deadline() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = near_and_held(&world).await?;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    let calls = evictions(&world);
    assert!(
        runs(&world, "web") && calls.len() >= 2 && calls.iter().all(|call| call.code == 429),
        "{calls:?}"
    );
    assert!(calls.iter().all(|call| call.at <= deadline), "asked after the deadline: {calls:?}");
    Ok(())
}

async fn a_pod_that_would_outlive_its_machine_must_hurry() -> Kept {
    let world = World::alone(TESTBED).await?;
    add(&world, "slow", &slow()).await?;
    let deadline = near(&world).await?;
    world.becomes("the end of the pod", || (!runs(&world, "slow")).then_some(())).await?;
    world.becomes("its removal", || pods::of(&world, "slow").is_none().then_some(())).await?;
    assert!(world.cluster().now() < deadline);
    Ok(())
}

async fn a_renewal_that_comes_back_uncordons_what_the_agent_cordoned() -> Kept {
    // No beat comes by itself: begin and end of a drain are told at once.
    let world = World::with(TESTBED, |spec| {
        without_backstop(spec);
        spec.heartbeat = secs(300);
    })
    .await?;
    world.proves_itself(world.machine()).await?;
    let deadline = near_and_held(&world).await?;
    world.beats(world.machine(), "a draining machine", draining).await?;
    assert!(cordoned(&world));
    assert_eq!(text(&world, annotation::CORDONED_FOR), Some(deadline.to_string()));
    world.deadline_in(world.machine(), 600).await?;
    is_uncordoned(&world).await?;
    world.beats(world.machine(), "an armed machine", |beat| beat.phase == Phase::Armed).await?;
    let asked = evictions(&world).len();
    sleep(secs(8)).await;
    assert!(runs(&world, "web") && evictions(&world).len() == asked, "{:?}", evictions(&world));
    Ok(())
}

async fn a_node_that_a_person_cordoned_stays_cordoned() -> Kept {
    let world = World::alone(TESTBED).await?;
    add(&world, "web", &json!({})).await?;
    cordon(&world, true)?;
    near(&world).await?;
    world.becomes("an eviction", || (!runs(&world, "web")).then_some(())).await?;
    world.deadline_in(world.machine(), 600).await?;
    world.beats(world.machine(), "an armed machine", |beat| beat.phase == Phase::Armed).await?;
    sleep(secs(3)).await;
    assert!(cordoned(&world) && text(&world, annotation::CORDONED_FOR).is_none());
    Ok(())
}

async fn a_person_who_uncordons_in_mid_drain_is_not_fought() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = near_and_held(&world).await?;
    world.becomes("a refusal", || evictions(&world).pop()).await?;
    cordon(&world, false)?;
    allow(&world, 1).await?;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline), "and it goes all the same");
    // What was on its way when the person came may still arrive.
    assert!(evictions(&world).iter().filter(|call| call.code == 201).count() == 0, "{:?}", evictions(&world));
    Ok(())
}

async fn an_agent_killed_in_mid_drain_goes_on() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = near_and_held(&world).await?;
    world.becomes("a refusal", || evictions(&world).pop()).await?;
    world.machine().kill_agent(true);
    let refused = evictions(&world).len();
    let goes_on = || {
        assert!(cordoned(&world), "it had begun, and took it back");
        (evictions(&world).len() > refused).then_some(())
    };
    world.becomes("another refusal", goes_on).await?;
    allow(&world, 1).await?;
    world.becomes("an eviction", || (!runs(&world, "web")).then_some(())).await?;
    assert!(world.cluster().now() < deadline && cordoned(&world));
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn an_agent_that_was_dead_when_the_renewal_came_uncordons() -> Kept {
    let world = World::alone(TESTBED).await?;
    near(&world).await?;
    world.becomes("a cordoned Node", || cordoned(&world).then_some(())).await?;
    world.machine().kill_agent(false);
    world.deadline_in(world.machine(), 600).await?;
    sleep(secs(2)).await;
    assert!(cordoned(&world));
    world.machine().start_agent();
    is_uncordoned(&world).await
}

async fn a_grace_that_makes_no_sense_moves_no_work() -> Kept {
    let world = World::alone(TESTBED).await?;
    add(&world, "web", &json!({})).await?;
    for nonsense in ["soon", "-12s", "12h1s", "12"] {
        world.annotate(world.machine(), annotation::GRACE, Some(nonsense))?;
        world.beats(world.machine(), nonsense, told::note(Note::GraceRefused)).await?;
        world.annotate(world.machine(), annotation::GRACE, None)?;
        let refused = told::note(Note::GraceRefused);
        world.beats(world.machine(), "no complaint", move |beat| !refused(beat)).await?;
    }
    world.annotate(world.machine(), annotation::GRACE, Some("99h"))?;
    keeps_its_work(&world).await
}

async fn no_grace_empties_a_machine_that_is_renewed() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    add(&world, "web", &json!({})).await?;
    world.annotate(machine, annotation::GRACE, Some("12h"))?;
    // As a controller rolls it with renewInterval 10s and slack 20s.
    for _ in 0..4 {
        world.deadline_in(machine, 30).await?;
        sleep(secs(10)).await;
        assert!(runs(&world, "web") && !cordoned(&world));
    }
    assert!(evictions(&world).is_empty());
    Ok(())
}

async fn without_a_grace_no_work_is_moved() -> Kept {
    let world = World::alone(TESTBED).await?;
    add(&world, "web", &json!({})).await?;
    keeps_its_work(&world).await
}

async fn observe_moves_no_work() -> Kept {
    let world = World::with(TESTBED, |spec| spec.arguments.push("--observe".into())).await?;
    world.proves_itself(world.machine()).await?;
    add(&world, "web", &json!({})).await?;
    let deadline = near(&world).await?;
    until(&world, deadline, 2).await;
    assert!(is_untouched(&world));
    Ok(())
}

async fn a_machine_without_consent_keeps_its_work() -> Kept {
    let world = World::with(TESTBED, |spec| {
        without_backstop(spec);
        spec.consent = vec![];
    })
    .await?;
    world.beats(world.machine(), "a refused identity", told::note(Note::NotManaged)).await?;
    add(&world, "web", &json!({})).await?;
    let deadline = near(&world).await?;
    until(&world, deadline, 2).await;
    assert!(is_untouched(&world));
    Ok(())
}

async fn waiting_for_the_end_takes_no_processor() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = near(&world).await?;
    world.sees(world.machine(), deadline).await?;
    let id = world.machine().agent_id().ok_or("no agent")?;
    // Before the drain, and in it.
    for _ in 0..2 {
        let before = processor_time(id)?;
        sleep(secs(6)).await;
        let spent = processor_time(id)? - before;
        assert!(spent < 200, "{spent} hundredths of a second in six seconds");
        world.beats(world.machine(), "a draining machine", draining).await?;
    }
    Ok(())
}

/// As [`near`], with one pod, whose budget does not let it go.
async fn near_and_held(world: &World) -> Result<Timestamp, Box<dyn std::error::Error + Send + Sync>> {
    add(world, "web", &json!({})).await?;
    budget(world)?;
    allow(world, 0).await?;
    near(world).await
}

/// Up to its deadline.
async fn keeps_its_work(world: &World) -> Kept {
    let deadline = world.deadline_in(world.machine(), 12).await?;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    assert!(runs(world, "web") && evictions(world).is_empty());
    assert!(text(world, annotation::CORDONED_FOR).is_none());
    Ok(())
}
