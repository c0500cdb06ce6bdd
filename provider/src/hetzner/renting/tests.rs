use super::*;
use crate::{Caller, Driver, Offer, Price, UserData};

fn answer(status: u16, body: &str) -> Answer {
    Answer::new(status, |_| None, body.into())
}

fn refusal(status: u16, code: &str, details: &str) -> Answer {
    let body = format!(r#"{{"error":{{"code":"{code}","message":"m","details":{details}}}}}"#);
    answer(status, &body)
}

fn driver() -> Hetzner {
    Hetzner::new("https://api.example/v1")
}

fn token() -> Token {
    Token::new("t0ken").unwrap()
}

fn order() -> Order {
    Order {
        name: "burst-0a1b2c3d-0".into(),
        size: "cx33".into(),
        region: "fsn1".into(),
        image: 161_547_269.try_into().unwrap(),
        ssh_keys: vec!["ops".into()],
        firewalls: vec![7],
        networks: vec![8],
        public_ipv4: false,
        public_ipv6: true,
        labels: [("curfew.dev/managed-by".to_owned(), "curfew".to_owned())].into(),
        user_data: Some(UserData::new("#cloud-config s3cr3t".into())),
    }
}

#[test]
fn an_order_carries_its_labels_and_its_document_from_the_first_call() {
    let request = driver().create(&order(), &token());
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "https://api.example/v1/servers"));
    let body: serde_json::Value = serde_json::from_str(&request.body.unwrap()).unwrap();
    assert_eq!(
        body,
        json!({
            "name": "burst-0a1b2c3d-0", "server_type": "cx33", "location": "fsn1", "image": "161547269",
            "ssh_keys": ["ops"], "firewalls": [{ "firewall": 7 }], "networks": [8],
            "public_net": { "enable_ipv4": false, "enable_ipv6": true },
            "labels": { "curfew.dev/managed-by": "curfew" }, "start_after_create": true,
            "user_data": "#cloud-config s3cr3t",
        })
    );
}

#[test]
fn neither_an_order_nor_its_request_shows_the_document() {
    assert!(!format!("{:?}", order()).contains("s3cr3t"));
    let request = driver().create(&order(), &token());
    assert!(!format!("{request:?}").contains("s3cr3t"), "{request:?}");
}

#[test]
fn every_refusal_of_an_order_has_one_meaning() {
    let invalid = |field: &str| NotCreated::Invalid { field: field.into(), message: "m".into() };
    let retry = NotCreated::Refused(Outcome::Retry { after: None });
    let named = |name: &str| format!(r#"{{"fields":[{{"name":"{name}","messages":["m"]}}]}}"#);
    for (given, meaning) in [
        (refusal(409, "uniqueness_error", &named("name")), NotCreated::NameTaken),
        (refusal(409, "uniqueness_error", "null"), NotCreated::NameTaken),
        (refusal(409, "uniqueness_error", &named("alias")), invalid("alias")),
        (refusal(412, "resource_unavailable", "null"), NotCreated::OutOfStock),
        (refusal(422, "placement_error", "null"), NotCreated::OutOfStock),
        (
            refusal(403, "resource_limit_exceeded", r#"{"limits":[{"name":"project_limit"}]}"#),
            NotCreated::Quota("m".into()),
        ),
        (refusal(422, "invalid_input", &named("location")), invalid("location")),
        (refusal(422, "invalid_input", r#""as nobody expects""#), invalid("")),
        (refusal(422, "newly_invented", "null"), invalid("")),
        (refusal(404, "not_found", "null"), invalid("")),
        (refusal(400, "json_error", "null"), invalid("")),
        (refusal(401, "unauthorized", "null"), NotCreated::Refused(Outcome::Forbidden)),
        (refusal(401, "token_readonly", "null"), NotCreated::Refused(Outcome::ReadOnly)),
        (refusal(403, "forbidden", "null"), NotCreated::Refused(Outcome::Forbidden)),
        (refusal(423, "locked", "null"), NotCreated::Refused(Outcome::Locked)),
        (refusal(403, "maintenance", "null"), retry.clone()),
        (refusal(409, "conflict", "null"), retry.clone()),
        (refusal(422, "service_error", "null"), retry.clone()),
        (refusal(429, "rate_limit_exceeded", "null"), retry.clone()),
        (refusal(500, "server_error", "null"), retry.clone()),
        (answer(422, "<html>"), retry.clone()),
        (answer(502, "<html>"), retry.clone()),
        // The server exists: it is found by its name.
        (answer(201, "{}"), retry.clone()),
        (answer(201, "<html>"), retry),
    ] {
        assert_eq!(driver().created(&given), Err(meaning), "{given:?}");
    }
}

#[test]
fn the_creation_is_the_first_of_a_new_servers_actions() {
    let body = r#"{"server":{"id":4711,"name":"m"},"action":{"id":9,"command":"create_server"},
        "next_actions":[{"id":3,"command":"start_server"}],"root_password":null}"#;
    let created = driver().created(&answer(201, body)).unwrap();
    assert_eq!(created.server.id.number(), 4711);
    assert_eq!(created.actions.iter().map(|action| action.number()).collect::<Vec<_>>(), [9, 3]);
}

#[test]
fn labels_are_replaced_as_a_whole_and_nothing_else_is() {
    let request = driver().relabel(4711.try_into().unwrap(), &order().labels, &token());
    assert_eq!((request.method, request.url.as_str()), (Method::Put, "https://api.example/v1/servers/4711"));
    assert_eq!(request.body.unwrap(), r#"{"labels":{"curfew.dev/managed-by":"curfew"}}"#);
}

#[test]
fn a_lookup_always_carries_its_filter_and_prefers_the_newest() {
    let name = driver().list_named(" a&b ", &token()).unwrap().url;
    assert_eq!(name, "https://api.example/v1/servers?name=a%26b&per_page=50");
    let wanted = ImageRef::Selector("role=node,!old".into());
    let image = driver().find_image(&wanted, Architecture::Arm64, &token()).unwrap().url;
    assert!(
        image.contains("label_selector=role%3Dnode%2C%21old&architecture=arm&status=available"),
        "{image}"
    );
    assert!(image.contains("&sort=created:desc"), "{image}");
}

/// Only a size of an unknown processor, or whose prices cannot be read, is missing.
#[test]
fn a_size_that_cannot_be_read_costs_no_other_its_place() {
    let size = |name: &str, more: &str| {
        format!(
            r#"{{"name":"{name}","cores":4,"memory":7.5,"disk":80,"architecture":"x86","cpu_type":"shared",
            "prices":[{{"location":"fsn1","price_hourly":{{"net":"0.0088","gross":"0.0104720000000000"}},
                        "price_monthly":{{"net":"5.49","gross":"6.5331"}}}},
                      {{"location":"hel1","price_hourly":"free","price_monthly":null}}]{more}}}"#
        )
    };
    let places = r#","locations":[{"name":"fsn1","deprecation":{"announced":"x"},"available":false}]"#;
    let body = format!(
        r#"{{"server_types":[{},{},{{"name":"odd"}},null,{}],"meta":{{"pagination":{{"next_page":null}}}}}}"#,
        size("old-api", ""),
        size("new-api", places),
        size("elsewhere", r#","locations":[{"name":"ash"}]"#),
    );
    let sizes = driver().size_page(&answer(200, &body)).unwrap().items;
    let offers: Vec<_> =
        sizes.iter().map(|size| (size.name.as_str(), size.offers.get("fsn1").copied())).collect();
    let price = |text: &str| text.parse::<Price>().unwrap();
    let gross = |available, deprecated| {
        Some(Offer { hourly: price("0.010472"), monthly: price("6.5331"), available, deprecated })
    };
    assert_eq!(
        offers,
        [("old-api", gross(true, false)), ("new-api", gross(false, true)), ("elsewhere", None)]
    );
    assert_eq!((sizes[0].memory_mib, sizes[0].offers.len()), (7680, 1));
}

#[test]
fn an_action_that_ended_in_an_error_is_an_answer_and_not_a_refusal() {
    let action = |status: &str| {
        answer(
            200,
            &format!(r#"{{"action":{{"id":1,"status":"{status}","error":{{"code":"c","message":"m"}}}}}}"#),
        )
    };
    let failed = Progress::Failed { code: "c".into(), message: "m".into() };
    for (status, progress) in [
        ("running", Progress::Running),
        ("success", Progress::Done),
        ("error", failed),
        ("new", Progress::Running),
    ] {
        assert_eq!(driver().progress(&action(status)), Ok(progress));
    }
    assert_eq!(driver().progress(&refusal(404, "not_found", "null")), Err(Outcome::Gone));
}

#[test]
fn what_is_attached_to_a_server_is_noted_with_it() {
    let body = r#"{"server":{"id":4711,"name":"m","status":"running","volumes":[1,2],"load_balancers":[3],
        "server_type":{"name":"cx33"},"location":{"name":"fsn1"},"private_net":[{"ip":"10.0.0.7"}],
        "public_net":{"ipv4":{"id":4,"ip":"203.0.113.7"},"ipv6":{"id":5,"ip":"2001:db8::/64"},"floating_ips":[6]}}}"#;
    let server = driver().server(&answer(200, body), Caller::Another).unwrap();
    let attached = server.attached;
    assert_eq!((attached.volumes, attached.load_balancers), (vec![1, 2], vec![3]));
    assert_eq!((attached.primary_ips, attached.floating_ips), (vec![4, 5], vec![6]));
    assert_eq!((server.size.as_str(), server.region.as_str()), ("cx33", "fsn1"));
    assert_eq!(server.private_ipv4, ["10.0.0.7"]);
}
