//! Requests and answers against the provider's own description.

use curfew_provider::{
    Architecture, ImageRef, Named, Order, Request, ResidueKind, ServerId, UserData, hetzner::Hetzner,
};
use curfew_provider::{Driver, Rental};
use curfew_sandbox::cloud::{Effect, Fault, ServerSpec};
use curfew_tests::Kept;
use serde_json::{Value, json};

use crate::{
    Case, cases,
    openapi::Description,
    subject::{Double, Result},
};

pub(crate) const CASES: &[Case<Double>] = cases![
    every_request_a_driver_can_make_is_described_by_the_provider,
    a_request_that_is_not_described_is_noticed,
    answers_of_the_double_have_the_shapes_that_the_provider_describes,
];

fn description() -> Result<Description> {
    Description::at_hand().ok_or_else(|| "the description is not at hand".into())
}

/// One of each: a method that is added to the traits belongs here.
fn every_request(double: &Double) -> Result<Vec<Request>> {
    let (driver, token) = (&double.subject.driver, &double.subject.token);
    let id = ServerId::try_from(4711)?;
    let server = double.cloud.add_server(ServerSpec::new("m-1", &[])).try_into()?;
    let labels = [("curfew.dev/expires-at".to_owned(), "1796083200".to_owned())].into();
    let order = Order {
        name: "burst-0a1b2c3d-0".into(),
        size: "cx33".into(),
        region: "fsn1".into(),
        image: 161_547_269.try_into()?,
        ssh_keys: vec!["sandbox".into()],
        firewalls: vec![1],
        networks: vec![2],
        public_ipv4: true,
        public_ipv6: false,
        labels,
        user_data: Some(UserData::new("#cloud-config\n".into())),
    };
    let known = curfew_provider::Server {
        id: server,
        name: "m-1".into(),
        created: None,
        labels: order.labels.clone(),
        public_ipv4: None,
        private_ipv4: Vec::new(),
        protected: false,
        size: String::new(),
        region: String::new(),
        status: curfew_provider::ServerStatus::Running,
        attached: curfew_provider::Attached::default(),
    };
    let mut requests = vec![
        driver.read(id, token),
        driver.list(("curfew.dev/managed-by", "curfew"), 2, token),
        driver.probe_write(&known, token),
        driver.delete(id, token),
        driver.lift_protection(id, token),
        driver.create(&order, token),
        driver.create(&Order { user_data: None, ..order.clone() }, token),
        driver.list_named(&order.name, token)?,
        driver.action(17.try_into()?, token),
        driver.relabel(id, &order.labels, token),
        driver.sizes(1, token),
        driver.regions(1, token),
        driver.pricing(token),
    ];
    let images =
        [ImageRef::Id(17.try_into()?), ImageRef::Name("debian-13".into()), ImageRef::Selector("a=b".into())];
    for architecture in [Architecture::Amd64, Architecture::Arm64] {
        for wanted in &images {
            requests.push(driver.find_image(wanted, architecture, token)?);
        }
    }
    for kind in [Named::Firewall, Named::Network, Named::SshKey] {
        requests.push(driver.find(kind, "sandbox", token)?);
    }
    let kinds =
        [ResidueKind::Volume, ResidueKind::PrimaryIp, ResidueKind::FloatingIp, ResidueKind::LoadBalancer];
    requests.extend(kinds.map(|kind| driver.attached(kind, 17, token)));
    Ok(requests)
}

async fn every_request_a_driver_can_make_is_described_by_the_provider(double: &Double) -> Kept {
    let description = description()?;
    for request in every_request(double)? {
        let faults = description.of_request(&request);
        assert!(faults.is_empty(), "{} {}: {faults:#?}", request.method.as_str(), request.url);
    }
    Ok(())
}

async fn a_request_that_is_not_described_is_noticed(double: &Double) -> Kept {
    let (description, token) = (description()?, &double.subject.token);
    let driver = Hetzner::new("https://api.example/v1");
    let good = driver.relabel(4711.try_into()?, &[("a".to_owned(), "b".to_owned())].into(), token);
    assert_eq!(description.of_request(&good), Vec::<String>::new());
    let with = |url: &str, body: Option<Value>| Request {
        url: format!("https://api.example/v1{url}"),
        body: body.map(|body| body.to_string()),
        ..good.clone()
    };
    for (url, body) in [
        ("/server/4711", Some(json!({}))),
        ("/servers/m-1", Some(json!({}))),
        ("/servers/9007199254740992", Some(json!({}))),
        ("/servers/4711?force=true", Some(json!({}))),
        ("/servers/4711", None),
        ("/servers/4711", Some(json!({ "labels": { "a": "2026-11-30T18:00:00Z" } }))),
        ("/servers/4711", Some(json!({ "labels": ["a"] }))),
        ("/servers/4711", Some(json!({ "label": {} }))),
        ("/servers/4711", Some(json!([]))),
    ] {
        let request = with(url, body.clone());
        assert!(!description.of_request(&request).is_empty(), "{url} {body:?}");
    }
    let listed = driver.read(4711.try_into()?, token);
    for url in ["/images?architecture=sparc", "/servers?page=two", "/servers?label=a", "/actions"] {
        let request = Request { url: format!("https://api.example/v1{url}"), ..listed.clone() };
        assert!(!description.of_request(&request).is_empty(), "{url}");
    }
    Ok(())
}

async fn answers_of_the_double_have_the_shapes_that_the_provider_describes(double: &Double) -> Kept {
    let (description, subject) = (description()?, &double.subject);
    let (driver, token) = (&subject.driver, &subject.token);
    let check = async |route: &str, request: Request| -> Result<Value> {
        let method = request.method.as_str().to_lowercase();
        let raw = subject.send(request).await?;
        let body = serde_json::from_slice(&raw.body)?;
        let faults = description.of_answer(&method, route, raw.status, &body);
        assert!(faults.is_empty(), "{method} {route} {}: {faults:#?}", raw.status);
        Ok(body)
    };
    let order = subject.order("shape").await?;
    let body = check("/servers", driver.create(&order, token)).await?;
    let id = ServerId::try_from(body["server"]["id"].as_u64().unwrap_or_default())?;
    let action = body["action"]["id"].as_u64().unwrap_or_default().try_into()?;
    check("/servers", driver.list_named(&order.name, token)?).await?;
    check("/servers/{id}", driver.read(id, token)).await?;
    check("/servers/{id}", driver.relabel(id, &order.labels, token)).await?;
    check("/actions/{id}", driver.action(action, token)).await?;
    check("/server_types", driver.sizes(1, token)).await?;
    check("/locations", driver.regions(1, token)).await?;
    check("/pricing", driver.pricing(token)).await?;
    let node = ImageRef::Selector("role=node".into());
    check("/images", driver.find_image(&node, Architecture::Amd64, token)?).await?;
    check("/firewalls", driver.find(Named::Firewall, "sandbox", token)?).await?;
    check("/networks", driver.find(Named::Network, "sandbox", token)?).await?;
    check("/ssh_keys", driver.find(Named::SshKey, "sandbox", token)?).await?;
    let own = body["server"]["public_net"]["ipv4"]["id"].as_u64().unwrap_or_default();
    check("/primary_ips/{id}", driver.attached(ResidueKind::PrimaryIp, own, token)).await?;
    check("/volumes/{id}", driver.attached(ResidueKind::Volume, 17, token)).await?;
    check("/servers/{id}/actions/change_protection", driver.lift_protection(id, token)).await?;
    double.cloud.set_locked(id.number(), true);
    check("/servers/{id}", driver.delete(id, token)).await?;
    double.cloud.set_locked(id.number(), false);
    double.cloud.inject(Fault::every(Effect::ServerError).times(1));
    // Refused, done, no longer there.
    for _ in 0..3 {
        check("/servers/{id}", driver.delete(id, token)).await?;
    }
    Ok(())
}
