use std::time::Duration;

use super::*;

fn answer(status: u16, body: &str) -> Answer {
    Answer::new(status, |_| None, body.into())
}

fn error(status: u16, code: &str) -> Answer {
    answer(status, &format!(r#"{{"error":{{"code":"{code}","message":"m","details":null}}}}"#))
}

fn token() -> Token {
    Token::new("t0ken").unwrap()
}

fn id() -> ServerId {
    "4711".parse().unwrap()
}

const SERVER: &str = r#"{"server":{"id":4711,"name":"burst-1","created":"2026-11-30T20:00:00+00:00","status":"newly-invented",
    "labels":{"curfew.dev/managed-by":"curfew"},"protection":{"delete":true,"rebuild":true},"moon":null,
    "public_net":{"ipv4":{"ip":"203.0.113.7"},"ipv6":null}}}"#;

#[test]
fn a_server_is_deleted_by_its_id() {
    let request = Hetzner::new("https://api.example/v1/").delete(id(), &token());
    assert_eq!(
        (request.method, request.url.as_str()),
        (Method::Delete, "https://api.example/v1/servers/4711")
    );
    assert_eq!(request.body, None);
    assert!(!format!("{request:?}").contains("t0ken"));
}

#[test]
fn the_write_probe_changes_nothing() {
    let driver = Hetzner::new(ENDPOINT);
    let server = driver.server(&answer(200, SERVER), Caller::TheServerItself).unwrap();
    let probe = driver.probe_write(&server, &token());
    assert_eq!((probe.method, probe.body.as_deref()), (Method::Put, Some(r#"{"name":"burst-1"}"#)));
    assert_eq!(probe.url, "https://api.hetzner.cloud/v1/servers/4711");
}

#[test]
fn both_protection_flags_are_lifted_since_they_must_be_equal() {
    let lift = Hetzner::new(ENDPOINT).lift_protection(id(), &token());
    assert_eq!(lift.body.as_deref(), Some(r#"{"delete":false,"rebuild":false}"#));
    assert!(lift.url.ends_with("/servers/4711/actions/change_protection"));
}

#[test]
fn a_list_always_carries_a_selector_and_follows_its_pages() {
    let driver = Hetzner::new(ENDPOINT);
    let url = driver.list(("curfew.dev/cluster", "a&b"), 3, &token()).url;
    assert!(
        url.ends_with("/servers?label_selector=curfew.dev%2Fcluster%3D%3Da%26b&page=3&per_page=50"),
        "{url}"
    );
    let one = SERVER.replace("{\"server\":", "{\"servers\":[").replacen("}}}", "}}],", 1);
    let page = format!(r#"{one}"meta":{{"pagination":{{"page":3,"next_page":4,"last_page":4}}}}}}"#);
    let listing = driver.listing(&answer(200, &page)).unwrap();
    assert_eq!((listing.servers.len(), listing.next_page), (1, Some(4)));
}

#[test]
fn a_server_is_read_with_unknown_fields_and_enum_values() {
    let server = Hetzner::new(ENDPOINT).server(&answer(200, SERVER), Caller::Another).unwrap();
    assert_eq!((server.id, server.name.as_str(), server.protected), (id(), "burst-1", true));
    assert_eq!(server.public_ipv4.as_deref(), Some("203.0.113.7"));
    assert_eq!(server.created.unwrap().to_string(), "2026-11-30T20:00:00Z");
}

#[test]
fn every_refusal_has_one_meaning() {
    let driver = Hetzner::new(ENDPOINT);
    let retry = Outcome::Retry { after: None };
    for (given, meaning) in [
        (answer(200, "{}"), Outcome::Accepted),
        (answer(201, ""), Outcome::Accepted),
        (error(401, "unauthorized"), Outcome::Forbidden),
        (error(401, "token_readonly"), Outcome::ReadOnly),
        (error(403, "forbidden"), Outcome::Forbidden),
        (error(403, "maintenance"), retry),
        (error(404, "not_found"), Outcome::Gone),
        (error(409, "conflict"), retry),
        (error(423, "locked"), Outcome::Locked),
        (error(423, "protected"), Outcome::Protected),
        (error(429, "rate_limit_exceeded"), retry),
        (error(500, "server_error"), retry),
        (error(418, "newly_invented"), retry),
        (answer(401, "<html>"), Outcome::Forbidden),
        (answer(404, "<html>not here"), retry),
        (answer(410, ""), retry),
        (answer(502, "<html>bad gateway</html>"), retry),
        (answer(302, ""), retry),
    ] {
        assert_eq!(driver.deleted(&given, Caller::Another), meaning, "{given:?}");
    }
}

#[test]
fn not_found_means_the_wrong_project_to_a_server_that_is_alive() {
    let driver = Hetzner::new(ENDPOINT);
    let gone = error(404, "not_found");
    assert_eq!(driver.deleted(&gone, Caller::TheServerItself), Outcome::WrongProject);
    assert_eq!(driver.server(&gone, Caller::TheServerItself), Err(Outcome::WrongProject));
    assert_eq!(driver.server(&gone, Caller::Another), Err(Outcome::Gone));
}

#[test]
fn an_answer_that_is_no_server_decides_nothing() {
    let driver = Hetzner::new(ENDPOINT);
    for body in
        ["", "<html>", "{}", r#"{"server":{"id":0,"name":"x"}}"#, r#"{"server":{"id":"4711","name":"x"}}"#]
    {
        let read = driver.server(&answer(200, body), Caller::Another);
        assert_eq!(read, Err(Outcome::Retry { after: None }), "{body}");
    }
}

#[test]
fn retry_after_and_the_rate_budget_are_read_from_the_headers() {
    let headers = |name: &str| match name {
        "retry-after" => Some("7"),
        "ratelimit-limit" => Some("3600"),
        "ratelimit-remaining" => Some("899"),
        _ => None,
    };
    let answer = Answer::new(429, headers, Vec::new());
    let outcome = Hetzner::new(ENDPOINT).deleted(&answer, Caller::Another);
    assert_eq!(outcome, Outcome::Retry { after: Some(Duration::from_secs(7)) });
    assert!(answer.budget().unwrap().is_low());
}

#[test]
fn a_machine_knows_itself_by_its_firmware_and_only_on_hetzner() {
    let driver = Hetzner::new(ENDPOINT);
    assert_eq!(driver.whoami("Hetzner\n", "4711\n"), Some(id()));
    assert_eq!(driver.whoami("QEMU", "4711"), None);
    assert_eq!(driver.whoami("Hetzner", "Not Specified"), None);
    assert_eq!(driver.whoami_metadata("4711\n"), Some(id()));
    assert_eq!(driver.whoami_metadata("<html>login</html>"), None);
}

#[test]
fn provider_ids_are_read_back_and_those_of_others_are_not() {
    let driver = Hetzner::new(ENDPOINT);
    assert_eq!(driver.server_id(&driver.provider_id(id())), Some(id()));
    for other in ["hrobot://4711", "aws:///eu/i-1", "hcloud://", "hcloud://x", "4711"] {
        assert_eq!(driver.server_id(other), None);
    }
}
