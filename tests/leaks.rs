//! What has made other dead man's switches let a machine live.

use curfew_contract::{Cause, Note};
use curfew_sandbox::{cloud::ServerSpec, cluster::Validity};
use curfew_tests::{Kept, Promise, World, agent_deletes, is_in_time, promises, secs, told, without_backstop};
use jiff::SignedDuration;

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_renamed_server_is_still_deleted,
    a_state_directory_that_cannot_be_written_blocks_no_deletion,
    a_restart_remembers_the_renewed_deadline,
    a_restart_does_not_reset_the_lifetime,
    a_lifetime_that_ended_while_the_agent_was_dead_fires_at_its_next_start,
    the_lifetime_runs_without_token_provider_metadata_or_cluster,
    an_agent_with_every_duration_wrong_arms_all_the_same,
    a_hung_api_server_delays_no_deadline,
    an_api_server_that_is_gone_delays_no_deadline,
    a_label_removed_after_arming_does_not_save_the_machine,
    a_lost_token_file_does_not_save_the_machine,
    an_expired_api_server_certificate_does_not_cut_the_agent_off,
    a_rotated_kubelet_certificate_is_picked_up,
];

async fn a_renamed_server_is_still_deleted() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.rename(machine.id, "renamed");
    let namesake = world.cloud.add_server(ServerSpec::new(&machine.name, &[]));
    let deadline = world.deadline_in(machine, 5).await?;
    assert!(is_in_time(world.gone(machine).await?, deadline));
    assert!(world.cloud.contains(namesake), "the server that has the name now is another one");
    Ok(())
}

async fn a_state_directory_that_cannot_be_written_blocks_no_deletion() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    machine.freeze_ledger()?;
    machine.kill_agent(true);
    let shown = |beat: &_| told::note(Note::LedgerUnwritable)(beat) && told::proven(beat);
    world.beats(machine, "an unwritable ledger in the heartbeat", shown).await?;
    let deadline = world.deadline_in(machine, 5).await?;
    assert!(is_in_time(world.gone(machine).await?, deadline));
    Ok(())
}

async fn a_restart_remembers_the_renewed_deadline() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let first = world.deadline_in(machine, 10).await?;
    world.sees(machine, first).await?;
    let renewed = world.deadline_in(machine, 25).await?;
    world.sees(machine, renewed).await?;
    let says = |record: &serde_json::Value| record["deadline"]["deadline"] == renewed.as_millisecond();
    world.recorded(machine, "the renewed deadline in the ledger", says).await?;
    machine.kill_agent(false);
    world.cluster().stop().await;
    machine.start_agent();
    let gone = world.gone(machine).await?;
    assert!(is_in_time(gone, renewed), "{gone} instead of {renewed}");
    Ok(())
}

async fn a_restart_does_not_reset_the_lifetime() -> Kept {
    let world = World::with(TESTBED, |spec| {
        without_backstop(spec);
        spec.options.insert("--max-lifetime", LIFETIME.into());
    })
    .await?;
    let machine = world.machine();
    let ends = || {
        let last = world.last_word(machine).filter(|last| last["heartbeat"]["identity"] == "Proven")?;
        last["lifetime"].as_i64()
    };
    let first = world.becomes("a lifetime", ends).await?;
    // Long enough for a fresh lifetime to be told from this one.
    tokio::time::sleep(secs(5)).await;
    machine.kill_agent(false);
    std::fs::remove_dir_all(machine.dir().join("run"))?;
    std::fs::create_dir(machine.dir().join("run"))?;
    machine.start_agent();
    let second = world.becomes("a lifetime after the restart", ends).await?;
    assert!((first - 3_000..=first + 1_000).contains(&second), "{second} after {first}");
    Ok(())
}

async fn a_lifetime_that_ended_while_the_agent_was_dead_fires_at_its_next_start() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    let consented = |record: &serde_json::Value| record["machine"]["consented"] == true;
    world.recorded(machine, "the consent in the ledger", consented).await?;
    machine.kill_agent(false);
    world.rewrite_ledger(machine, |record| record["spent"] = record["maxLifetime"].clone())?;
    world.cluster().stop().await;
    assert!(world.deletes(machine).is_empty());
    machine.start_agent();
    world.gone(machine).await?;
    Ok(())
}

async fn the_lifetime_runs_without_token_provider_metadata_or_cluster() -> Kept {
    let world = World::with(TESTBED, |spec| {
        spec.check_every = None;
        for (option, value) in [
            ("--max-lifetime", LIFETIME),
            ("--token-file", "/nonexistent/token"),
            ("--endpoint", "http://127.0.0.1:1/v1"),
            ("--metadata", "http://127.0.0.1:1"),
            ("--dmi", "/nonexistent/dmi"),
            ("--kubeconfig", "/nonexistent/kubelet.conf"),
            ("--state-dir", "/dev/null/state"),
        ] {
            spec.options.insert(option, value.into());
        }
    })
    .await?;
    // Its very first word may be from before its options were read.
    let armed = |word: &serde_json::Value| {
        let at = |field: &str| word[field].as_i64().unwrap_or_default();
        let by_lifetime = at("fires") == at("lifetime") && word["heartbeat"]["cause"] == "Lifetime";
        by_lifetime && (7_180_000..=7_200_000).contains(&(at("lifetime") - at("at")))
    };
    world.becomes("a lifetime", || world.last_word(world.machine()).filter(armed)).await?;
    Ok(())
}

async fn an_agent_with_every_duration_wrong_arms_all_the_same() -> Kept {
    let world = World::with(TESTBED, |spec| {
        for (option, value) in [
            ("--max-lifetime", "never"),
            ("--heartbeat", "soon"),
            ("--probe", "-1s"),
            ("--first-hold", "99h"),
        ] {
            spec.options.insert(option, value.into());
        }
        spec.arguments.push("--no-such-flag".into());
    })
    .await?;
    let beat = world.arms(world.machine()).await?;
    assert!(told::note(Note::ConfigInvalid)(&beat), "{beat:?}");
    assert_eq!((beat.every, beat.cause), (SignedDuration::from_secs(30), Cause::Lifetime));
    let left = beat.fires_at.zip(beat.at).map(|(fires, at)| fires.duration_since(at).as_secs());
    assert!(left.is_some_and(|left| (86_300..=86_400).contains(&left)), "{beat:?}");
    Ok(())
}

async fn a_hung_api_server_delays_no_deadline() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = world.deadline_in(world.machine(), 8).await?;
    world.sees(world.machine(), deadline).await?;
    world.api.hang(true);
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn an_api_server_that_is_gone_delays_no_deadline() -> Kept {
    let world = World::alone(TESTBED).await?;
    let deadline = world.deadline_in(world.machine(), 8).await?;
    world.sees(world.machine(), deadline).await?;
    world.cluster().stop().await;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn a_label_removed_after_arming_does_not_save_the_machine() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    world.cloud.set_labels(machine.id, [].into());
    world.beats(machine, "a machine that is no longer managed", told::note(Note::NotManaged)).await?;
    // A restart does not forget what was consented to, either.
    machine.kill_agent(true);
    world.next_beat(machine).await?;
    let deadline = world.deadline_in(machine, 5).await?;
    assert!(is_in_time(world.gone(machine).await?, deadline));
    assert!(world.deletes(machine).iter().all(agent_deletes));
    Ok(())
}

async fn a_lost_token_file_does_not_save_the_machine() -> Kept {
    let world = World::alone(TESTBED).await?;
    let machine = world.machine();
    std::fs::remove_file(machine.dir().join(curfew_sandbox::machine::AGENT))?;
    world.beats(machine, "the loss in the heartbeat", told::note(Note::CredentialUnreadable)).await?;
    let deadline = world.deadline_in(machine, 5).await?;
    assert!(is_in_time(world.gone(machine).await?, deadline));
    Ok(())
}

async fn an_expired_api_server_certificate_does_not_cut_the_agent_off() -> Kept {
    let world = World::alone(TESTBED).await?;
    world.cluster().set_server_validity(expired(&world))?;
    world.cluster().restart().await?;
    world.beats(world.machine(), "ignored dates in the heartbeat", told::note(Note::TlsDatesIgnored)).await?;
    let deadline = world.deadline_in(world.machine(), 5).await?;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn a_rotated_kubelet_certificate_is_picked_up() -> Kept {
    let world = World::alone(TESTBED).await?;
    let (machine, cluster) = (world.machine(), world.cluster());
    let form = curfew_sandbox::cluster::NodeForm::Kubeadm(curfew_sandbox::cluster::KeyForm::Pkcs8);
    let files = machine.dir().join("kubelet");
    cluster.kubelet_files(&machine.name, &files, form, Some(expired(&world)))?;
    cluster.restart().await?;
    let refused = || cluster.calls().iter().any(|call| call.code == 401).then_some(());
    world.becomes("a refused certificate", refused).await?;
    cluster.kubelet_files(&machine.name, &files, form, None)?;
    let deadline = world.deadline_in(machine, 20).await?;
    world.sees(machine, deadline).await?;
    Ok(())
}

fn expired(world: &World) -> Validity {
    let ago = |hours| world.cluster().now() - SignedDuration::from_hours(hours);
    Validity { from: ago(48), until: ago(24) }
}

/// Not the built-in one, 24 h.
const LIFETIME: &str = "2h";
