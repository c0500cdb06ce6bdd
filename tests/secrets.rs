//! Secrets stay where they were put.

use std::{fs, path::Path};

use curfew_sandbox::{
    cloud::Effect,
    cloud::Fault,
    machine::{AGENT, BACKSTOP},
};
use curfew_tests::{Kept, Promise, World, promises};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] =
    promises![no_secret_leaves_its_own_file, a_token_that_is_none_is_never_repeated,];

async fn no_secret_leaves_its_own_file() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    let machine = world.machine();
    world.shows(machine, "True", "").await?;
    // Every kind of refusal, so that there are errors to look into.
    world.cloud.inject(Fault::every(Effect::BadGateway).times(2));
    world.cloud.inject(Fault::every(Effect::Reset { effective: false }).times(2));
    world.cloud.revoke_token(&machine.token);
    world.shows(machine, "False", "AuthorityDenied").await?;
    machine.kill_agent(true);
    world.next_beat(machine).await?;
    let secrets = secrets(machine.dir())?;
    assert!(secrets.len() >= 3, "two tokens and a key at least");
    let public =
        [world.cluster().objects("nodes"), world.cluster().objects("events"), leases(&world)].concat();
    let mut places = vec![("the API server".to_owned(), serde_json::to_string(&public)?)];
    places.extend(world.files().into_iter().filter(|path| !is_own(path, machine.dir())).map(|path| {
        (
            path.display().to_string(),
            String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned(),
        )
    }));
    places.extend(processes());
    assert!(
        places.iter().any(|(_, text)| text.contains("--token-file")),
        "the agent's own arguments were read"
    );
    for (place, text) in places {
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "a secret is in {place}");
    }
    Ok(())
}

async fn a_token_that_is_none_is_never_repeated() -> Kept {
    let world = World::with(TESTBED, |_| {}).await?;
    let machine = world.machine();
    let secret = "not-a-header s3cr3t";
    fs::write(machine.dir().join(AGENT), secret)?;
    let denied = |beat: &curfew_contract::Heartbeat| beat.authority == curfew_contract::Authority::Denied;
    world.beats(machine, "a token that is none", denied).await?;
    assert!(!machine.log().contains("s3cr3t"), "{}", machine.log());
    let node = world.api.node(&machine.name).await?.to_string();
    assert!(!node.contains("s3cr3t"));
    Ok(())
}

/// Tokens, and a line out of the middle of each key.
fn secrets(machine: &Path) -> Result<Vec<String>, std::io::Error> {
    let mut secrets =
        vec![fs::read_to_string(machine.join(AGENT))?, fs::read_to_string(machine.join(BACKSTOP))?];
    for entry in fs::read_dir(machine.join("kubelet/pki"))? {
        let text = fs::read_to_string(entry?.path())?;
        let key = text.split_once("PRIVATE KEY-----\n").map(|(_, key)| key);
        secrets.extend(key.and_then(|key| key.lines().next()).map(str::to_owned));
    }
    Ok(secrets)
}

fn is_own(path: &Path, machine: &Path) -> bool {
    [AGENT, BACKSTOP, "kubelet"].iter().any(|own| path.starts_with(machine.join(own)))
}

fn leases(world: &World) -> Vec<serde_json::Value> {
    world.cluster().objects("capacityleases.curfew.dev")
}

/// Arguments and environment of every process that can be looked into.
fn processes() -> Vec<(String, String)> {
    let dirs = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |path: std::path::PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(&path).ok()?).into_owned();
        Some((path.display().to_string(), text))
    };
    dirs.flat_map(|dir| ["cmdline", "environ"].map(|part| dir.join(part))).filter_map(read).collect()
}
