//! A `ProviderConfig` says what its credential can do, and neither a fault of it nor one of the provider's takes
//! anything away that was there.

use std::{fs, time::Duration};

use curfew_contract::{annotation, label};
use curfew_sandbox::{
    api::{LEASES, NAMESPACE, PROVIDERS, SECRETS},
    cloud::{Access, Caller, Effect, Entry, Fault, Mode, Project, ServerSpec},
    machine::TEMPLATE,
    stage::{CONTROLLER, Credentials, Rental, provider},
};
use curfew_tests::{Kept, Promise, World, promises};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    a_provider_whose_token_is_good_is_ready_and_can_delete,
    a_token_that_may_only_read_is_ready_and_cannot_delete,
    a_token_revoked_in_mid_life_is_shown_and_a_new_one_taken,
    an_image_that_nobody_has_is_named,
    a_secret_that_comes_later_is_taken_up,
    a_machine_that_could_not_be_made_is_said_before_one_is_wanted,
    a_secret_in_another_namespace_is_not_read,
    a_secret_that_vanishes_leaves_its_account_in_force,
    a_token_of_another_project_does_not_make_machines_look_gone,
    a_provider_that_hangs_or_is_down_delays_no_renewal,
    a_configuration_in_use_outlives_its_deletion,
    a_providers_token_is_shown_nowhere,
];

async fn a_provider_whose_token_is_good_is_ready_and_can_delete() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    rented(&world, "ours", &world.cluster().uid());
    rented(&world, "theirs", "another-cluster");
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.start_controller()?;
    for condition in ["Ready", "CanDelete", "Catalogue"] {
        says(&world, condition, "True", "").await?;
    }
    let status = object(&world)["status"].clone();
    assert_eq!(status["servers"], 1, "{status:#}");
    assert_eq!(status["catalogue"]["currency"], "EUR", "{status:#}");
    assert_eq!(status["catalogue"]["regions"], json!(["fsn1", "hel1", "nbg1"]), "{status:#}");
    let names: Vec<_> = world.cloud.servers().into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["ours", "theirs"], "a probe changes nothing");
    Ok(())
}

async fn a_token_that_may_only_read_is_ready_and_cannot_delete() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let issued = Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.cloud.set_access(&issued.controller, Access::Read);
    world.start_controller()?;
    says(&world, "Ready", "True", "").await?;
    let message = says(&world, "CanDelete", "False", "CredentialReadOnly").await?;
    assert!(message.contains("read and write"), "{message}");
    Ok(())
}

async fn a_token_revoked_in_mid_life_is_shown_and_a_new_one_taken() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let issued = Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.start_controller()?;
    says(&world, "Ready", "True", "").await?;
    world.cloud.revoke_token(&issued.controller);
    let message = says(&world, "Ready", "False", "CredentialRefused").await?;
    assert!(message.contains("Secret"), "{message}");
    let token = world.cloud.issue_token(Project::OURS, Access::ReadWrite, "successor");
    give(&world, &token).await?;
    says(&world, "Ready", "True", "").await?;
    Ok(())
}

async fn an_image_that_nobody_has_is_named() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    image(&world, "debian-99").await?;
    world.start_controller()?;
    let message = says(&world, "Ready", "False", "NotFound").await?;
    assert!(message.contains("debian-99"), "{message}");
    image(&world, "debian-13").await?;
    says(&world, "Ready", "True", "").await?;
    Ok(())
}

async fn a_secret_that_comes_later_is_taken_up() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    world.api.add_provider_config(NAME, &provider(NAME, &world.cloud.endpoint())).await?;
    world.start_controller()?;
    let message = says(&world, "Ready", "False", "CredentialMissing").await?;
    assert!(message.contains(&format!("kubectl -n {NAMESPACE} create secret generic {NAME}")), "{message}");
    let token = world.cloud.issue_token(Project::OURS, Access::ReadWrite, CONTROLLER);
    world.api.add_secret(NAME, &[("token", &token)]).await?;
    says(&world, "Ready", "False", "SecretMissing").await?;
    Ok(())
}

async fn a_machine_that_could_not_be_made_is_said_before_one_is_wanted() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    let machine = format!("{NAME}-machine");
    world.api.delete(SECRETS, NAMESPACE, &machine).await?;
    world.start_controller()?;
    let message = says(&world, "Ready", "False", "SecretMissing").await?;
    assert!(message.contains(&machine), "{message}");
    says(&world, "CanDelete", "True", "").await?;
    // Its machines would never be known as anybody's.
    world.api.add_secret(&machine, &[("user-data", "#cloud-config\n"), ("token", "t0ken")]).await?;
    let message = says(&world, "Ready", "False", "UserDataUnfit").await?;
    assert!(message.contains("--for-leases"), "{message}");
    world.api.delete(SECRETS, NAMESPACE, &machine).await?;
    world.api.add_secret(&machine, &[("user-data", TEMPLATE), ("token", "t0ken")]).await?;
    says(&world, "Ready", "True", "").await?;
    Ok(())
}

async fn a_secret_in_another_namespace_is_not_read() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let token = world.cloud.issue_token(Project::OURS, Access::ReadWrite, CONTROLLER);
    world.api.add_secret(NAME, &[("token", &token)]).await?;
    let data = world.api.object(SECRETS, NAMESPACE, NAME).await?["data"].clone();
    for namespace in ["default", "kube-system"] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "data": data});
        world.api.create(SECRETS, namespace, &secret).await?;
    }
    world.api.delete(SECRETS, NAMESPACE, NAME).await?;
    world.api.add_provider_config(NAME, &provider(NAME, &world.cloud.endpoint())).await?;
    world.start_controller()?;
    says(&world, "Ready", "False", "CredentialMissing").await?;
    let calls = world.cluster().calls();
    let secrets: Vec<_> = calls.iter().filter(|call| call.resource == "secrets").collect();
    assert!(
        !secrets.is_empty() && secrets.iter().all(|call| call.verb == "get" && call.namespace == NAMESPACE)
    );
    Ok(())
}

async fn a_secret_that_vanishes_leaves_its_account_in_force() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.start_controller()?;
    says(&world, "Ready", "True", "").await?;
    world.api.delete(SECRETS, NAMESPACE, NAME).await?;
    let message = says(&world, "Ready", "False", "CredentialMissing").await?;
    assert!(message.contains("is used on"), "{message}");
    image(&world, "debian-13").await?;
    let asked = |entry: &Entry| entry.path.contains("debian-13") && entry.status == 200;
    assert!(world.cloud.wait_call(PATIENCE, asked).await.is_some(), "the account is no longer used");
    Ok(())
}

async fn a_token_of_another_project_does_not_make_machines_look_gone() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    rented(&world, "ours", &world.cluster().uid());
    let issued = Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.start_controller()?;
    says(&world, "Ready", "True", "").await?;
    let foreign = world.cloud.issue_token(Project::FOREIGN, Access::ReadWrite, "foreigner");
    give(&world, &foreign).await?;
    says(&world, "Ready", "False", "AnotherProject").await?;
    assert_eq!(object(&world)["status"]["servers"], 1);
    give(&world, &issued.controller).await?;
    says(&world, "Ready", "True", "").await?;
    let by_foreigner =
        |entry: &Entry| matches!(&entry.caller, Caller::Known { holder, .. } if holder == "foreigner");
    let asked: Vec<_> = world.cloud.ledger().into_iter().filter(by_foreigner).collect();
    assert!(asked.iter().all(|entry| entry.path.starts_with("/v1/servers?label_selector=")), "{asked:?}");
    Ok(())
}

async fn a_provider_that_hangs_or_is_down_delays_no_renewal() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.api.add_node("m-1", "hcloud://1", &[("pool".to_owned(), "test".to_owned())].into()).await?;
    world.cloud.set_api(Mode::Hang).await?;
    world.start_controller()?;
    world.lease("burst", "30m").await?;
    for mode in [Mode::Hang, Mode::Refuse] {
        world.cloud.set_api(mode).await?;
        for _ in 0..2 {
            let before = world.cluster().now();
            // Renewed each 10 s, for 21 s.
            let due = before + Duration::from_secs(20);
            world.becomes("a renewal", || written(&world).filter(|at| *at >= due)).await?;
            let took = world.cluster().now().duration_since(before);
            assert!(took.as_secs() < 15, "{mode:?}: renewed after {took}");
        }
    }
    says(&world, "Ready", "False", "Unreachable").await?;
    world.cloud.set_api(Mode::Up).await?;
    says(&world, "Ready", "True", "").await?;
    Ok(())
}

async fn a_configuration_in_use_outlives_its_deletion() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    Credentials::issue(NAME, &world.cloud, &world.api).await?;
    world.start_controller()?;
    let mut spec = Rental::new(NAME, Duration::from_mins(30)).spec();
    // Never rented: what is looked at here is the configuration.
    spec["rent"]["size"] = "sold-by-nobody".into();
    world.api.add_lease("burst", &spec).await?;
    let held = |object: &Value| object["metadata"]["finalizers"].to_string().contains("curfew.dev/in-use");
    world.becomes("the finalizer", || held(&object(&world)).then_some(())).await?;
    world.api.delete(PROVIDERS, "", NAME).await?;
    let message = says(&world, "Ready", "False", "Deleting").await?;
    assert!(message.contains("burst"), "{message}");
    world.api.delete(LEASES, "", "burst").await?;
    world.becomes("the deletion", || object(&world).is_null().then_some(())).await?;
    Ok(())
}

async fn a_providers_token_is_shown_nowhere() -> Kept {
    let mut world = World::empty(TESTBED).await?;
    let issued = Credentials::issue(NAME, &world.cloud, &world.api).await?;
    // Every kind of refusal, so that there are errors to look into.
    world.cloud.inject(Fault::every(Effect::BadGateway).times(2));
    world.cloud.inject(Fault::every(Effect::Reset { effective: false }).times(2));
    world.cloud.inject(Fault::every(Effect::RateLimited).times(2));
    world.start_controller()?;
    says(&world, "CanDelete", "True", "").await?;
    // A second token in the line: what cannot be a header must not be repeated either.
    give(&world, &format!("{} {}", issued.controller, issued.node)).await?;
    says(&world, "Ready", "False", "CredentialMissing").await?;
    world.cloud.revoke_token(&issued.controller);
    give(&world, &issued.node[1..]).await?;
    says(&world, "Ready", "False", "CredentialRefused").await?;
    let shown = ["events", "events.events.k8s.io", "providerconfigs.curfew.dev"];
    let shown = shown.map(|kind| Value::from(world.cluster().objects(kind)).to_string()).concat();
    assert!(shown.contains("CredentialRefused"));
    let files = world.files().into_iter().map(|path| {
        (
            path.display().to_string(),
            String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned(),
        )
    });
    for (place, text) in files.chain([("the API server".into(), shown)]) {
        for token in [&issued.controller, &issued.node[1..]] {
            assert!(!text.contains(token), "a token is in {place}");
        }
    }
    Ok(())
}

/// A server that carries a cluster's label.
fn rented(world: &World, name: &str, cluster: &str) {
    let labels = [(label::MANAGED_BY, label::CURFEW), (label::CLUSTER, cluster)];
    let _ = world.cloud.add_server(ServerSpec::new(name, &labels));
}

/// Another content for the Secret.
async fn give(world: &World, token: &str) -> Kept {
    world.api.delete(SECRETS, NAMESPACE, NAME).await?;
    Ok(world.api.add_secret(NAME, &[("token", token)]).await?)
}

async fn image(world: &World, name: &str) -> Kept {
    let patch = json!({"spec": {"hetzner": {"image": {"name": name}}}});
    Ok(world.api.patch(PROVIDERS, "", NAME, &patch).await?)
}

fn object(world: &World) -> Value {
    world.cluster().object("providerconfigs.curfew.dev", "", NAME).unwrap_or_default()
}

fn written(world: &World) -> Option<jiff::Timestamp> {
    let node = world.cluster().node("m-1")?;
    node["metadata"]["annotations"][annotation::DEADLINE].as_str()?.parse().ok()
}

/// Waits until a condition has this status and, unless empty, this reason. Returns its message.
async fn says(
    world: &World,
    condition: &str,
    status: &str,
    reason: &str,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let begun = Instant::now();
    loop {
        let object = object(world);
        let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = conditions.iter().find(|found| found["type"] == condition);
        if let Some(found) = found
            && found["status"] == status
            && (reason.is_empty() || found["reason"] == reason)
        {
            return Ok(found["message"].as_str().unwrap_or_default().into());
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{condition}={status} {reason} did not come; it shows {found:?}").into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

const NAME: &str = "hetzner";
/// Of a look that is due each minute, and a pause after it.
const PATIENCE: Duration = Duration::from_mins(2);
