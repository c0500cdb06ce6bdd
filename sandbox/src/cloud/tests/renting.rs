//! POST and PUT: what is created, and everything that is refused.

use serde_json::json;

use super::*;

fn order(name: &str) -> Value {
    json!({ "name": name, "server_type": "cpx22", "image": "ubuntu-24.04", "location": "hel1", "labels": { "a": "b" } })
}

#[tokio::test]
async fn a_created_server_boots_step_by_step_and_is_locked_meanwhile() {
    let settings = Settings { action_duration: PATIENCE, ..Settings::default() };
    let cloud = setting(settings).await;
    let (status, body) = cloud.call(Method::POST, "/servers", Some(&order("one"))).await;
    assert_eq!(status, 201);
    assert_eq!(
        (&body["server"]["status"], &body["server"]["locked"]),
        (&json!("initializing"), &json!(true))
    );
    assert_eq!(body["action"]["command"], "create_server");
    assert_eq!(body["next_actions"][0]["command"], "start_server");
    assert!(body["root_password"].is_string());
    assert!(body["server"]["id"].as_u64().unwrap() > 1 << 31);
    let id = body["server"]["id"].as_u64().unwrap();
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
}

#[tokio::test]
async fn a_created_server_runs_once_its_actions_have_ended() {
    let cloud = setting(Settings::default()).await;
    let (_, body) = cloud.call(Method::POST, "/servers", Some(&order("one"))).await;
    let (id, action) = (&body["server"]["id"], &body["next_actions"][0]["id"]);
    assert_eq!(body["action"]["status"], "running");
    assert_eq!(cloud.get(&format!("/actions/{action}")).await.1["action"]["status"], "success");
    let (_, body) = cloud.get(&format!("/servers/{id}")).await;
    assert_eq!((&body["server"]["status"], &body["server"]["locked"]), (&json!("running"), &json!(false)));
    assert_eq!(body["server"]["location"]["name"], "hel1");
}

#[tokio::test]
async fn every_field_that_cannot_be_honoured_is_refused() {
    let cloud = setting(Settings::default()).await;
    for (field, value) in [
        ("name", json!("under_score")),
        ("name", json!("-dash")),
        ("name", json!("a".repeat(64))),
        ("name", json!("")),
        ("name", Value::Null),
        ("server_type", json!("cx1")),
        ("image", json!("plan9")),
        ("location", json!("mars")),
        ("ssh_keys", json!(["nobody"])),
        ("labels", json!({ "time": "2026-11-30T18:00:00Z" })),
        ("labels", json!({ "hetzner.cloud/x": "y" })),
        ("labels", json!(["a"])),
        ("user_data", json!("x".repeat(32_769))),
        ("placement_group", json!(1)),
        ("volumes", json!([1])),
        ("networks", json!([1])),
        ("firewalls", json!([{ "firewall": 1 }])),
        ("public_net", json!({ "ipv4": 1 })),
        ("public_net", json!({ "enable_ipv4": false, "enable_ipv6": false })),
        ("datacenter", json!("fsn1-dc14")),
        ("invented", json!(true)),
    ] {
        let mut body = order("one");
        body[field] = value.clone();
        let refused = cloud.refused(Method::POST, "/servers", Some(&body)).await;
        assert_eq!(refused, refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input"), "{field}: {value}");
    }
    assert!(cloud.cloud.servers().is_empty());
}

#[tokio::test]
async fn a_name_is_unique_in_its_project_and_free_again_after_deletion() {
    let cloud = setting(Settings::default()).await;
    let foreign = cloud.cloud.issue_token(Project::FOREIGN, Access::ReadWrite, "stranger");
    let (_, first) = cloud.call(Method::POST, "/servers", Some(&order("one"))).await;
    let taken = refusal(StatusCode::CONFLICT, "uniqueness_error");
    assert_eq!(cloud.refused(Method::POST, "/servers", Some(&order("one"))).await, taken);
    assert_eq!(cloud.call_as(&foreign, Method::POST, "/servers", Some(&order("one"))).await.0, 201);
    cloud.delete(first["server"]["id"].as_u64().unwrap()).await;
    assert_eq!(cloud.call(Method::POST, "/servers", Some(&order("one"))).await.0, 201);
}

#[tokio::test]
async fn quota_and_stock_are_refused_as_the_provider_does() {
    let cloud = setting(Settings { server_limit: 0, ..Settings::default() }).await;
    let limited = refusal(StatusCode::FORBIDDEN, "resource_limit_exceeded");
    assert_eq!(cloud.refused(Method::POST, "/servers", Some(&order("one"))).await, limited);
    cloud.cloud.configure(|settings| (settings.server_limit, settings.in_stock) = (1, false));
    let empty = refusal(StatusCode::PRECONDITION_FAILED, "resource_unavailable");
    assert_eq!(cloud.refused(Method::POST, "/servers", Some(&order("one"))).await, empty);
}

#[tokio::test]
async fn put_replaces_the_whole_label_map_and_leaves_what_it_does_not_name() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.cloud.add_server(ServerSpec::new("one", &[("a", "1"), ("b", "2")]));
    let other = cloud.server("two");
    let path = format!("/servers/{id}");
    let (status, body) = cloud.call(Method::PUT, &path, Some(&json!({ "name": "one" }))).await;
    assert_eq!((status, &body["server"]["labels"]), (200, &json!({ "a": "1", "b": "2" })));
    let (_, body) = cloud.call(Method::PUT, &path, Some(&json!({ "labels": { "c": "" } }))).await;
    assert_eq!((&body["server"]["labels"], &body["server"]["name"]), (&json!({ "c": "" }), &json!("one")));
    let taken =
        cloud.refused(Method::PUT, &format!("/servers/{other}"), Some(&json!({ "name": "one" }))).await;
    assert_eq!(taken, refusal(StatusCode::CONFLICT, "uniqueness_error"));
}

#[tokio::test]
async fn unknown_routes_methods_and_bodies_are_refused_each_in_its_own_way() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    let server = format!("/servers/{id}");
    for (method, path, refused) in [
        (Method::GET, "/placement_groups".to_owned(), refusal(StatusCode::NOT_FOUND, "not_found")),
        (Method::GET, "/servers/abc".to_owned(), refusal(StatusCode::NOT_FOUND, "not_found")),
        (Method::POST, format!("{server}/actions/rebuild"), refusal(StatusCode::NOT_FOUND, "not_found")),
        (Method::PATCH, server.clone(), refusal(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed")),
        (
            Method::DELETE,
            "/servers".to_owned(),
            refusal(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        ),
        (Method::POST, "/volumes".to_owned(), refusal(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed")),
        (Method::POST, "/servers".to_owned(), refusal(StatusCode::BAD_REQUEST, "json_error")),
        (Method::GET, "/actions".to_owned(), refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input")),
    ] {
        assert_eq!(cloud.refused(method.clone(), &path, None).await, refused, "{method} {path}");
    }
}
