//! A machine knows which server it is, whatever else it is given.

use curfew_contract::{Identity, Note};
use curfew_sandbox::cluster::NodeForm;
use curfew_tests::{Kept, Promise, World, is_in_time, promises, secs, told, without_backstop};

use crate::TESTBED;

pub(crate) const PROMISES: &[Promise] = promises![
    metadata_alone_deletes_no_server_whose_address_this_machine_has_not,
    metadata_that_contradicts_the_firmware_proves_nothing,
    a_k3s_credential_is_as_good_as_kubeadms,
    a_node_created_anew_for_another_server_destroys_nothing,
];

async fn metadata_alone_deletes_no_server_whose_address_this_machine_has_not() -> Kept {
    // As a proxy that answers for another machine would have it. Here the firmware says nothing.
    let world = World::with(TESTBED, |spec| {
        spec.options.insert("--dmi", "/nonexistent".into());
    })
    .await?;
    let machine = world.machine();
    let beat = world.beats(machine, "a conflict", told::note(Note::IdentityConflict)).await?;
    assert_eq!(beat.identity, Identity::Unproven);
    world.deadline_in(machine, 4).await?;
    tokio::time::sleep(secs(15)).await;
    assert!(world.deletes(machine).is_empty());
    Ok(())
}

async fn metadata_that_contradicts_the_firmware_proves_nothing() -> Kept {
    let mut world = World::with(TESTBED, without_backstop).await?;
    let others = world.cloud.metadata_endpoint(world.machine().id);
    world
        .rent("m-2", |spec| {
            without_backstop(spec);
            spec.options.insert("--metadata", others);
        })
        .await?;
    let confused = &world.machines[1];
    let beat = world.beats(confused, "a conflict", told::note(Note::IdentityConflict)).await?;
    assert_eq!(beat.identity, Identity::Unproven);
    Ok(())
}

async fn a_k3s_credential_is_as_good_as_kubeadms() -> Kept {
    let world = World::with(TESTBED, |spec| {
        without_backstop(spec);
        spec.form = NodeForm::K3s;
    })
    .await?;
    world.proves_itself(world.machine()).await?;
    let deadline = world.deadline_in(world.machine(), 5).await?;
    assert!(is_in_time(world.gone(world.machine()).await?, deadline));
    Ok(())
}

async fn a_node_created_anew_for_another_server_destroys_nothing() -> Kept {
    let mut world = World::with(TESTBED, |_| {}).await?;
    world.cluster().delete(("", "v1", "nodes"), "", "m-1")?;
    world.cluster().delete(("coordination.k8s.io", "v1", "leases"), "kube-node-lease", "m-1")?;
    world.api.add_node("m-1", "hcloud://4711", &[("pool".to_owned(), "test".to_owned())].into()).await?;
    world.start_controller()?;
    world.lease("burst", "20s").await?;
    let machine = world.machine();
    world.shows(machine, "False", "IdentityMismatch").await?;
    let refused = told::note(Note::DeadlineForAnotherServer);
    world.beats(machine, "a refused deadline", refused).await?;
    tokio::time::sleep(secs(25)).await;
    assert!(world.deletes(machine).is_empty());
    Ok(())
}
