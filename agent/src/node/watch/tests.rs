use std::time::Duration;

use super::*;
use crate::{
    net::testing::{Reply, Server},
    node::testing::{Machine, n1, node, status},
};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nDate: Fri, 01 May 2026 12:00:07 GMT\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn at(time: &str) -> String {
    format!(r#"{{"curfew.dev/deadline":"{time}"}}"#)
}

/// The pieces of a watch: its head, then these chunks.
fn stream(chunks: &[&str]) -> Vec<Vec<u8>> {
    std::iter::once(HEAD.as_bytes().to_vec()).chain(chunks.iter().map(|text| chunk(text))).collect()
}

/// In good order, as a server ends a watch whose time is up.
fn closed(chunks: &[&str]) -> Reply {
    let mut pieces = stream(chunks);
    pieces.push(b"0\r\n\r\n".to_vec());
    Reply::Pieces(pieces, Duration::from_millis(5))
}

struct Watched {
    outcome: Result<Ended, ApiError>,
    events: Vec<Event>,
    server: Server,
}

impl Watched {
    fn deadlines(&self) -> Vec<Option<&str>> {
        let seen = self
            .events
            .iter()
            .filter_map(|event| if let Event::Seen(seen) = event { Some(seen) } else { None });
        seen.map(|seen| seen.deadline.as_deref()).collect()
    }
}

async fn watch(reply: Reply, silence: Duration) -> Watched {
    let machine = Machine::new();
    let server = machine.api_server(move |_| reply.clone()).await;
    let api = NodeApi::new(crate::node::Options { silence, ..machine.options() });
    let mut events = Vec::new();
    let outcome = api.watch(&n1(), "17", |event| events.push(event)).await;
    Watched { outcome, events, server }
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn changes_are_told_in_order_with_the_time_the_watch_was_opened_at() {
    let (first, second) = ("2026-05-01T13:00:00Z", "2026-05-01T14:00:00Z");
    let watched = watch(
        closed(&[
            &event("MODIFIED", &node("18", &at(first))),
            &(event("MODIFIED", &node("19", &at(second))) + &event("DELETED", &node("20", &at(second)))),
        ]),
        LONG,
    )
    .await;
    assert_eq!(watched.outcome.as_ref().unwrap(), &Ended::Closed);
    assert_eq!(watched.deadlines(), [Some(first), Some(second), Some(second)]);
    assert!(matches!(&watched.events[0], Event::Opened(Some(_))), "{:?}", watched.events);
    assert!(matches!(watched.events.last(), Some(Event::Seen(Seen { deleted: true, answered: None, .. }))));
    let head = &watched.server.asked()[0].head;
    for part in [
        "watch=true",
        "fieldSelector=metadata.name%3Dn1",
        "resourceVersion=17",
        "timeoutSeconds=",
        "allowWatchBookmarks=true",
        "as=PartialObjectMetadata",
    ] {
        assert!(head.contains(part), "{head}");
    }
}

#[tokio::test]
async fn an_event_may_be_cut_anywhere_by_the_network() {
    let time = "2026-05-01T13:00:00Z";
    let text = event("ADDED", &node("18", &at(time))) + "\n" + &event("MODIFIED", &node("19", "null"));
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let mut pieces = stream(&letters.iter().map(String::as_str).collect::<Vec<_>>());
    pieces.push(b"0\r\n\r\n".to_vec());
    let watched = watch(Reply::Pieces(pieces, Duration::ZERO), LONG).await;
    assert_eq!(watched.outcome.as_ref().unwrap(), &Ended::Closed);
    assert_eq!(watched.deadlines(), [Some(time), None]);
}

#[tokio::test]
async fn a_bookmark_moves_the_place_to_continue_from_and_nothing_else() {
    let object =
        r#"{"kind":"PartialObjectMetadata","metadata":{"resourceVersion":"99","creationTimestamp":null}}"#;
    let watched = watch(closed(&[&event("BOOKMARK", object), &event("LATER", "{}")]), LONG).await;
    assert_eq!(watched.outcome.unwrap(), Ended::Closed);
    assert_eq!(watched.events[1..], [Event::Bookmark { resource_version: "99".to_owned() }]);
}

#[tokio::test]
async fn a_resource_version_that_is_too_old_is_told_as_such_however_the_server_says_it() {
    let gone = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}"#;
    assert_eq!(watch(closed(&[&event("ERROR", gone)]), LONG).await.outcome.unwrap(), Ended::Expired);
    assert_eq!(watch(status("410 Gone", "too old"), LONG).await.outcome.unwrap(), Ended::Expired);
    let ill = r#"{"kind":"Status","code":500,"message":"etcd"}"#;
    let failed = Ended::Failed { code: 500, message: "etcd".to_owned() };
    assert_eq!(watch(closed(&[&event("ERROR", ill)]), LONG).await.outcome.unwrap(), failed);
}

#[tokio::test]
async fn silence_ends_a_watch_even_if_bytes_still_dribble() {
    let silence = Duration::from_millis(300);
    let silent = watch(Reply::Hang(stream(&[])), silence).await;
    assert_eq!(silent.outcome.unwrap(), Ended::Silent);
    assert_eq!(silent.events.len(), 1);
    let dribble = stream(&vec![" "; 1000]);
    let watched = watch(Reply::Pieces(dribble, Duration::from_millis(50)), silence).await;
    assert_eq!(watched.outcome.unwrap(), Ended::Silent);
}

#[tokio::test]
async fn a_watch_that_breaks_or_makes_no_sense_is_an_error() {
    let cut = Reply::Pieces(stream(&["{\"type\":"]), Duration::ZERO);
    let outcome = watch(cut, LONG).await.outcome;
    assert!(matches!(outcome, Err(ApiError::Reach(HttpError::Broken { .. }))), "{outcome:?}");
    let endless = stream(&vec!["x".repeat(1 << 16).as_str(); 20]);
    let outcome = watch(Reply::Pieces(endless, Duration::ZERO), LONG).await.outcome;
    assert!(matches!(outcome, Err(ApiError::Reach(HttpError::TooLarge { .. }))), "{outcome:?}");
    for text in ["what?\n", "{}\n", "{\"type\":\"MODIFIED\",\"object\":{}}\n"] {
        let outcome = watch(closed(&[text]), LONG).await.outcome;
        assert!(matches!(outcome, Err(ApiError::Malformed { .. })), "{text} {outcome:?}");
    }
    let outcome = watch(status("403 Forbidden", "no"), LONG).await.outcome;
    assert!(matches!(outcome, Err(ApiError::Forbidden { .. })), "{outcome:?}");
}
