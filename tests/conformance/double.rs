//! What only a provider that can be made to fail, or be filled, can show.

use curfew_provider::{
    Architecture, Caller, ImageRef, NotCreated, Outcome, Price, Progress, Residue, ResidueKind, ServerId,
    ServerStatus,
};
use curfew_sandbox::cloud::{Effect, Fault, Project, ServerSpec};
use curfew_tests::Kept;
use serde_json::{Value, json};

use crate::{
    Case, cases,
    subject::{Double, Result},
};

pub(crate) const CASES: &[Case<Double>] = cases![
    a_server_whose_create_call_was_never_answered_is_found_by_its_name,
    a_failed_creation_is_told_and_its_server_can_be_deleted,
    a_failed_deletion_is_told_and_its_server_is_still_there,
    every_server_is_listed_once_however_many_pages_there_are,
    what_the_catalogue_offers_can_be_had_and_nothing_else,
    the_newest_ready_image_of_the_right_architecture_is_found_by_label,
    what_a_server_leaves_behind_is_named_with_what_it_costs,
    a_server_has_the_networks_and_firewalls_it_was_ordered_with,
    fields_and_values_that_nobody_knows_yet_are_tolerated,
];

async fn a_server_whose_create_call_was_never_answered_is_found_by_its_name(double: &Double) -> Kept {
    let subject = &double.subject;
    let order = subject.order("lost").await?;
    double.cloud.inject(Fault::every(Effect::Reset { effective: true }).on_method("POST").times(1));
    assert!(subject.create(&order).await.is_err(), "the answer is lost");
    let found = subject.named(&order.name).await?;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].labels, order.labels, "whose it is can be told");
    assert_eq!(subject.create(&order).await?, Err(NotCreated::NameTaken));
    assert_eq!(double.cloud.servers().len(), 1);
    Ok(())
}

async fn a_failed_creation_is_told_and_its_server_can_be_deleted(double: &Double) -> Kept {
    let subject = &double.subject;
    double.cloud.inject(Fault::every(Effect::CreateFails).times(1));
    let created = subject.create(&subject.order("broken").await?).await??;
    let creation = *created.actions.first().ok_or("no action")?;
    assert!(
        matches!(subject.ends(creation).await?, Progress::Failed { code, .. } if code == "action_failed")
    );
    assert!(subject.read(created.server.id).await?.is_ok());
    assert_eq!(subject.delete(created.server.id).await?, Outcome::Accepted);
    assert_eq!(subject.read(created.server.id).await?, Err(Outcome::Gone));
    Ok(())
}

async fn a_failed_deletion_is_told_and_its_server_is_still_there(double: &Double) -> Kept {
    let subject = &double.subject;
    let id = ServerId::try_from(double.cloud.add_server(ServerSpec::new("m-1", &[])))?;
    double.cloud.inject(Fault::every(Effect::DeleteFails).times(1));
    let answer = subject.ask(subject.driver.delete(id, &subject.token)).await?;
    let (outcome, action) = subject.driver.deletion(&answer);
    assert_eq!(outcome, Outcome::Accepted);
    assert!(matches!(subject.ends(action.ok_or("no action")?).await?, Progress::Failed { .. }));
    assert!(subject.read(id).await?.is_ok());
    Ok(())
}

async fn every_server_is_listed_once_however_many_pages_there_are(double: &Double) -> Kept {
    let mut added: Vec<u64> = (0..120)
        .map(|n| double.cloud.add_server(ServerSpec::new(&format!("m-{n}"), &[("pool", "many")])))
        .collect();
    let _ = double.cloud.add_server(ServerSpec::new("other", &[("pool", "few")]));
    let (servers, pages) = double.subject.list(("pool", "many")).await?;
    let mut listed: Vec<u64> = servers.iter().map(|server| server.id.number()).collect();
    listed.sort_unstable();
    added.sort_unstable();
    assert_eq!((listed, pages), (added, 3));
    Ok(())
}

async fn what_the_catalogue_offers_can_be_had_and_nothing_else(double: &Double) -> Kept {
    let subject = &double.subject;
    let catalogue = subject.catalogue().await?;
    let usual = subject.order("usual").await?;
    // Had, out of stock, not sold there.
    let mut seen = [0; 3];
    for (size, region) in catalogue.sizes.iter().flat_map(|s| catalogue.regions.iter().map(move |r| (s, r))) {
        let image = subject.image(&ImageRef::Name("debian-13".into()), size.architecture).await?;
        let order = curfew_provider::Order {
            name: format!("{}-{region}", size.name),
            size: size.name.clone(),
            region: region.clone(),
            image: image.ok_or("no image")?,
            ..usual.clone()
        };
        let expected = match size.offers.get(region) {
            Some(offer) if offer.available => 0,
            Some(_) => 1,
            None => 2,
        };
        let came = match subject.create(&order).await? {
            Ok(_) => 0,
            Err(NotCreated::OutOfStock) => 1,
            Err(NotCreated::Invalid { .. }) => 2,
            Err(other) => return Err(other.into()),
        };
        assert_eq!(came, expected, "{}", order.name);
        seen[came] += 1;
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    Ok(())
}

async fn the_newest_ready_image_of_the_right_architecture_is_found_by_label(double: &Double) -> Kept {
    let wanted = ImageRef::Selector("role=node".into());
    for (architecture, id) in [(Architecture::Amd64, 3_100_000_002), (Architecture::Arm64, 3_100_000_003)] {
        let found = double.subject.image(&wanted, architecture).await?;
        assert_eq!(found.map(curfew_provider::ImageId::number), Some(id));
    }
    let unready = ImageRef::Id(3_100_000_004.try_into()?);
    assert_eq!(double.subject.image(&unready, Architecture::Amd64).await?, None);
    Ok(())
}

async fn what_a_server_leaves_behind_is_named_with_what_it_costs(double: &Double) -> Kept {
    let (subject, cloud) = (&double.subject, &double.cloud);
    let server = subject.create(&subject.order("holder").await?).await??.server;
    let (id, other) = (server.id.number(), cloud.add_server(ServerSpec::new("other", &[])));
    let place = json!({ "name": "fsn1" });
    for (collection, item) in [
        ("volumes", json!({ "id": 11, "name": "data", "server": id, "size": 10 })),
        (
            "primary_ips",
            json!({ "id": 21, "name": "kept", "type": "ipv4", "ip": "203.0.113.9", "assignee_id": id, "auto_delete": false, "location": place }),
        ),
        (
            "floating_ips",
            json!({ "id": 31, "name": "moves", "type": "ipv6", "server": id, "home_location": place }),
        ),
        (
            "load_balancers",
            json!({ "id": 41, "name": "lb", "load_balancer_type": { "name": "lb11" }, "location": place,
            "targets": [{ "type": "server", "server": { "id": id } }] }),
        ),
    ] {
        cloud.add_residue(Project::OURS, collection, item);
    }
    let attached = subject.read(server.id).await??.attached;
    assert_eq!((&attached.volumes, &attached.floating_ips), (&vec![11], &vec![31]));
    assert_eq!((attached.primary_ips.first(), &attached.load_balancers), (Some(&21), &vec![41]));
    assert_eq!(residue(double, ResidueKind::Volume, 11).await?, None, "in use");
    subject.be_rid_of(server.id).await?;
    // As the driver for volumes of Kubernetes does when the Pod moves on.
    cloud.add_residue(
        Project::OURS,
        "volumes",
        json!({ "id": 13, "name": "moved", "server": other, "size": 10 }),
    );
    for (kind, id, name, monthly) in [
        (ResidueKind::Volume, 11, "data", "0.44"),
        (ResidueKind::PrimaryIp, 21, "kept", "0.50"),
        (ResidueKind::FloatingIp, 31, "moves", "3.00"),
        (ResidueKind::LoadBalancer, 41, "lb", "5.39"),
    ] {
        let left = Residue { kind, id, name: name.into(), monthly: Some(monthly.parse::<Price>()?) };
        assert_eq!(residue(double, kind, id).await?, Some(left));
    }
    assert_eq!(residue(double, ResidueKind::Volume, 13).await?, None, "serves another server");
    let own = attached.primary_ips.get(1).ok_or("no IPv6 network of its own")?;
    assert_eq!(residue(double, ResidueKind::PrimaryIp, *own).await?, None, "went with the server");
    Ok(())
}

async fn residue(double: &Double, kind: ResidueKind, id: u64) -> Result<Option<Residue>> {
    let subject = &double.subject;
    let extras = subject.catalogue().await?.extras;
    let answer = subject.ask(subject.driver.attached(kind, id, &subject.token)).await?;
    Ok(subject.driver.residue(&answer, kind, &extras)?)
}

async fn a_server_has_the_networks_and_firewalls_it_was_ordered_with(double: &Double) -> Kept {
    let subject = &double.subject;
    let mut order = subject.order("netted").await?;
    for kind in [curfew_provider::Named::Firewall, curfew_provider::Named::Network] {
        let answer = subject.ask(subject.driver.find(kind, "sandbox", &subject.token)?).await?;
        let id = subject.driver.found(&answer, "sandbox")?.ok_or("not found")?;
        let to =
            if kind == curfew_provider::Named::Network { &mut order.networks } else { &mut order.firewalls };
        to.push(id);
    }
    order.ssh_keys.push("sandbox".into());
    (order.public_ipv4, order.public_ipv6) = (false, false);
    let server = subject.create(&order).await??.server;
    assert_eq!((server.private_ipv4.len(), server.public_ipv4), (1, None));
    let kept = double.cloud.servers().pop().ok_or("no server")?;
    assert_eq!((kept.networks, kept.firewalls), (order.networks, order.firewalls));
    Ok(())
}

async fn fields_and_values_that_nobody_knows_yet_are_tolerated(double: &Double) -> Kept {
    let (subject, driver, token) = (&double.subject, &double.subject.driver, &double.subject.token);
    let created = subject.create(&subject.order("odd").await?).await??;
    let id = created.server.id;
    let strange = async |request, change: &[(&str, Value)]| -> Result<curfew_provider::Answer> {
        let raw = subject.send(request).await?;
        let mut body = serde_json::from_slice(&raw.body)?;
        invent(&mut body, change);
        Ok(curfew_provider::Answer::new(raw.status, |_| None, serde_json::to_vec(&body)?))
    };
    let odd = json!("newly-invented");
    let answer = strange(driver.read(id, token), &[("status", odd.clone())]).await?;
    let server = driver.server(&answer, Caller::Another)?;
    assert_eq!((server.id, server.status), (id, ServerStatus::Other));
    let answer = strange(driver.list(("curfew.dev/conformance", &subject.run), 1, token), &[]).await?;
    assert_eq!(driver.listing(&answer)?.servers.len(), 1);
    let answer = strange(driver.action(created.actions[0], token), &[("status", odd.clone())]).await?;
    assert_eq!(driver.progress(&answer)?, Progress::Running);
    let all = driver.size_page(&strange(driver.sizes(1, token), &[]).await?)?.items.len();
    assert!(all > 5);
    let answer = strange(driver.sizes(1, token), &[("architecture", odd.clone())]).await?;
    assert_eq!(driver.size_page(&answer)?.items, [], "of a processor that nobody knows, nothing is bought");
    assert!(
        driver.region_page(&strange(driver.regions(1, token), &[]).await?)?.items.contains(&"fsn1".into())
    );
    let answer = strange(driver.pricing(token), &[("type", odd)]).await?;
    assert!(driver.prices(&answer)?.extras.volume_gb_month.is_some());
    let wanted = ImageRef::Selector("role=node".into());
    let answer = strange(driver.find_image(&wanted, Architecture::Amd64, token)?, &[]).await?;
    assert!(driver.image_found(&answer, &wanted, Architecture::Amd64)?.is_some());
    Ok(())
}

/// Gives every object a field that nobody knows, and the fields named in `change` that value.
fn invent(value: &mut Value, change: &[(&str, Value)]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| invent(item, change)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match change.iter().find(|(changed, _)| changed == name) {
                    Some((_, odd)) => *field = odd.clone(),
                    None => invent(field, change),
                }
            }
            // The map from label to value has no fields to be unknown.
            if fields.contains_key("id") || fields.contains_key("pagination") {
                fields.insert("invented".into(), json!({ "deep": [1, null, "x"] }));
            }
        }
        _ => {}
    }
}
