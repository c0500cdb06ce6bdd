use std::sync::Mutex;

use super::*;
use crate::cloud::{
    Held, Plain,
    testing::{Asked, Server as Double, answer},
};

fn account(server: &Double) -> Account {
    let endpoint = Endpoint::read(&server.endpoint(), Plain::ThisMachine).unwrap();
    Account::hetzner(endpoint, Token::new("t0ken").unwrap(), None).unwrap()
}

fn id(id: u64) -> ServerId {
    id.try_into().unwrap()
}

fn refusal(status: u16, code: &str) -> String {
    answer(status, &format!(r#"{{"error":{{"code":"{code}","message":"m","details":null}}}}"#))
}

fn server(labels: &BTreeMap<String, String>) -> String {
    let labels = serde_json::to_string(labels).unwrap();
    answer(200, &format!(r#"{{"server":{{"id":7,"name":"a","labels":{labels}}}}}"#))
}

fn page(ids: &[u64], next: &str) -> String {
    let servers: Vec<_> = ids.iter().map(|id| format!(r#"{{"id":{id},"name":"s{id}"}}"#)).collect();
    let servers = servers.join(",");
    answer(200, &format!(r#"{{"servers":[{servers}],"meta":{{"pagination":{{"next_page":{next}}}}}}}"#))
}

#[tokio::test]
async fn a_deletion_goes_out_while_all_else_is_held_back_and_its_success_lets_all_through() {
    let double = Double::plain(|asked: &Asked| match asked.line.as_str() {
        "DELETE /v1/servers/9" => answer(200, "{}"),
        _ => answer(502, "<html>bad gateway"),
    });
    let double = double.await;
    let account = account(&double);
    for _ in 0..5 {
        assert!(matches!(account.read(id(7), Urgency::Work).await, Err(CallError::Refused(_))));
    }
    let asked = double.lines().len();
    let held = account.read(id(7), Urgency::Work).await.unwrap_err();
    assert!(matches!(held, CallError::Held(Held::Breaker { .. })), "{held:?}");
    assert_eq!(double.lines().len(), asked, "what is held back is not sent");
    assert_eq!(account.delete(id(9)).await.unwrap().0, Outcome::Accepted);
    assert!(matches!(account.read(id(7), Urgency::Work).await, Err(CallError::Refused(_))));
}

#[tokio::test]
async fn what_is_left_of_the_rate_limit_is_kept_for_deletions() {
    let double = Double::plain(|asked: &Asked| {
        let told =
            |left| format!("HTTP/1.1 404 X\r\nratelimit-limit: 3600\r\nratelimit-remaining: {left}\r\n");
        let head = if asked.line.starts_with("DELETE") { told(1) } else { told(500) };
        let body = r#"{"error":{"code":"not_found","message":"m"}}"#;
        format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    });
    let double = double.await;
    let account = account(&double);
    assert!(account.read(id(7), Urgency::Look).await.unwrap_err().is_gone());
    let held = account.read(id(7), Urgency::Look).await.unwrap_err();
    assert!(matches!(held, CallError::Held(Held::Budget { .. })), "{held:?}");
    assert!(account.read(id(7), Urgency::Work).await.unwrap_err().is_gone());
    for _ in 0..3 {
        assert_eq!(account.delete(id(7)).await.unwrap().0, Outcome::Gone);
    }
    let held = account.read(id(7), Urgency::Work).await.unwrap_err();
    assert!(matches!(held, CallError::Held(Held::Budget { .. })), "{held:?}");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_blames_nobody() {
    let double = Double::plain(|asked: &Asked| {
        if asked.line.ends_with("/7") {
            crate::cloud::testing::NEVER_ENDS.into()
        } else {
            refusal(404, "not_found")
        }
    });
    let double = double.await;
    let account = account(&double);
    for _ in 0..10 {
        let short = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(short, account.read(id(7), Urgency::Work)).await.is_err());
    }
    assert!(account.read(id(8), Urgency::Look).await.unwrap_err().is_gone());
}

#[tokio::test]
async fn a_list_is_followed_to_its_end_and_one_without_end_is_refused() {
    let double = Double::plain(|asked: &Asked| match &asked.line {
        line if line.contains("loops") => page(&[1], "1"),
        line if line.contains("page=1") => page(&[1, 2], "2"),
        line if line.contains("page=2") => page(&[3], "3"),
        _ => page(&[], "null"),
    });
    let double = double.await;
    let account = account(&double);
    let listed = account.list(("curfew.dev/cluster", "c1"), Urgency::Look).await.unwrap();
    assert_eq!(listed.keys().map(|id| id.number()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(double.lines().len(), 3);
    assert!(account.list(("curfew.dev/cluster", "loops"), Urgency::Look).await.is_err());
}

#[tokio::test]
async fn the_write_probe_writes_a_name_over_itself_or_deletes_a_server_that_cannot_exist() {
    let double = Double::plain(|asked: &Asked| match asked.line.as_str() {
        "PUT /v1/servers/7" => answer(200, r#"{"server":{"id":7,"name":"a"}}"#),
        "PUT /v1/servers/8" | "DELETE /v1/servers/9007199254740991" => refusal(404, "not_found"),
        _ => refusal(500, "server_error"),
    });
    let double = double.await;
    let account = account(&double);
    let list =
        account.driver.listing(&Answer::new(200, |_| None, body(&page(&[7, 8], "null")))).unwrap().servers;
    assert!(account.probe(Some(&list[0])).await.is_ok());
    assert!(account.probe(Some(&list[1])).await.is_ok(), "gone since it was listed");
    assert!(account.probe(None).await.is_ok());
    let asked: Vec<_> = double.asked().into_iter().map(|asked| (asked.line, asked.body)).collect();
    let nobody = "DELETE /v1/servers/9007199254740991";
    let lines: Vec<_> = asked.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(lines, ["PUT /v1/servers/7", "PUT /v1/servers/8", nobody, nobody]);
    assert_eq!(asked[0].1, r#"{"name":"s7"}"#);
}

fn body(answer: &str) -> Vec<u8> {
    answer.split_once("\r\n\r\n").unwrap().1.into()
}

#[tokio::test]
async fn a_token_that_may_not_write_is_told_apart_from_one_that_is_refused() {
    for (status, code, outcome) in
        [(401, "token_readonly", Outcome::ReadOnly), (401, "unauthorized", Outcome::Forbidden)]
    {
        let double = Double::plain(move |_| refusal(status, code)).await;
        let account = account(&double);
        assert_eq!(account.denied(), None);
        let error = account.probe(None).await.unwrap_err();
        assert!(matches!(error, CallError::Refused(found) if found == outcome), "{error:?}");
        assert!(error.denies() && account.denied().is_some());
    }
}

#[tokio::test]
async fn labels_are_set_beside_those_that_are_there_and_read_back() {
    let labels = Mutex::new(BTreeMap::from([("pool".to_owned(), "burst".to_owned())]));
    let double = Double::plain(move |asked: &Asked| {
        let mut labels = labels.lock().unwrap();
        if asked.line.starts_with("PUT") {
            let body: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
            *labels = serde_json::from_value(body["labels"].clone()).unwrap();
        }
        server(&labels)
    });
    let double = double.await;
    let account = account(&double);
    let set = BTreeMap::from([("curfew.dev/expires-at".to_owned(), "17".to_owned())]);
    let read = account.relabel(id(7), &set).await.unwrap();
    assert_eq!(
        (read.labels["pool"].as_str(), read.labels["curfew.dev/expires-at"].as_str()),
        ("burst", "17")
    );
    account.relabel(id(7), &set).await.unwrap();
    let verbs: Vec<_> = double.lines().into_iter().map(|line| line[..3].to_owned()).collect();
    assert_eq!(verbs, ["GET", "PUT", "GET", "GET"], "what is there already is not written again");
}

#[tokio::test]
async fn labels_that_were_not_kept_are_no_success() {
    let double = Double::plain(|_| server(&BTreeMap::new())).await;
    let set = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    assert!(account(&double).relabel(id(7), &set).await.is_err());
}
