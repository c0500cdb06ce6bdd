//! What an order may name, what can be had where, and what becomes of an accepted one.

use std::sync::Mutex;

use serde_json::json;

use super::*;

const NETWORK: u64 = 3_000_000_301;
const FIREWALL: u64 = 3_000_000_201;

fn order(size: &str, image: &str, location: &str) -> Value {
    json!({ "name": "one", "server_type": size, "image": image, "location": location, "user_data": "#!/bin/sh\n" })
}

#[tokio::test]
async fn a_server_has_the_networks_and_firewalls_it_was_ordered_with() {
    let cloud = setting(Settings::default()).await;
    let mut order = order("cpx22", "debian-13", "fsn1");
    order["networks"] = json!([NETWORK]);
    order["firewalls"] = json!([{ "firewall": FIREWALL }]);
    order["public_net"] = json!({ "enable_ipv4": false, "enable_ipv6": false });
    let (status, body) = cloud.call(Method::POST, "/servers", Some(&order)).await;
    assert_eq!(status, 201, "{body}");
    let server = &body["server"];
    assert_eq!(server["public_net"]["firewalls"], json!([{ "id": FIREWALL, "status": "applied" }]));
    assert_eq!(
        (&server["private_net"][0]["network"], &server["public_net"]["ipv4"]),
        (&json!(NETWORK), &Value::Null)
    );
    assert!(server["private_net"][0]["ip"].as_str().unwrap().starts_with("10.0."));
}

#[tokio::test]
async fn what_is_not_sold_not_in_stock_or_not_for_that_processor_is_refused() {
    let cloud = setting(Settings::default()).await;
    let invalid = refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input");
    let sold_out = refusal(StatusCode::PRECONDITION_FAILED, "resource_unavailable");
    for (size, image, location, refused) in [
        ("cax31", "debian-13", "hel1", &invalid),
        ("cx43", "debian-13", "fsn1", &sold_out),
        // An x86 snapshot on an arm size, and one that is not ready.
        ("cax21", "3100000002", "fsn1", &invalid),
        ("cpx22", "3100000004", "fsn1", &invalid),
    ] {
        let refusal = cloud.refused(Method::POST, "/servers", Some(&order(size, image, location))).await;
        assert_eq!(refusal, *refused, "{size} {image} {location}");
    }
    let (_, body) = cloud.call(Method::POST, "/servers", Some(&order("cax21", "debian-13", "hel1"))).await;
    assert_eq!(body["server"]["image"]["architecture"], "arm");
}

#[tokio::test]
async fn snapshots_are_found_by_label_and_architecture() {
    let cloud = setting(Settings::default()).await;
    let path = "/images?label_selector=role%3D%3Dnode&architecture=x86&status=available&sort=created:desc";
    let (_, body) = cloud.get(path).await;
    let ids: Vec<_> = body["images"].as_array().unwrap().iter().map(|image| &image["id"]).collect();
    assert_eq!(ids, [&json!(3_100_000_002_u64), &json!(3_100_000_001_u64)]);
}

#[tokio::test]
async fn a_creation_can_fail_while_the_server_is_there() {
    let cloud = setting(Settings::default()).await;
    let booted = boots(&cloud.cloud);
    cloud.cloud.inject(Fault::every(Effect::CreateFails).times(1));
    assert_eq!(cloud.get("/servers").await.0, 200);
    let (status, body) =
        cloud.call(Method::POST, "/servers", Some(&order("cpx22", "debian-13", "fsn1"))).await;
    assert_eq!((status, &body["action"]["status"]), (201, &json!("running")));
    let (_, action) = cloud.get(&format!("/actions/{}", body["action"]["id"])).await;
    assert_eq!(
        (&action["action"]["status"], &action["action"]["error"]["code"]),
        (&json!("error"), &json!("action_failed"))
    );
    let id = body["server"]["id"].as_u64().unwrap();
    assert!(cloud.cloud.contains(id));
    assert_eq!(cloud.delete(id).await.0, 200);
    assert!(booted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_create_call_can_have_its_effect_and_no_answer() {
    let cloud = setting(Settings::default()).await;
    cloud.cloud.inject(Fault::every(Effect::Reset { effective: true }).on_method("POST").times(1));
    let order = order("cpx22", "debian-13", "fsn1");
    let lost = cloud.request(&cloud.token, Method::POST, "/servers", Some(&order)).send().await;
    assert!(lost.is_err());
    assert_eq!(cloud.cloud.servers().len(), 1);
    assert_eq!(cloud.refused(Method::POST, "/servers", Some(&order)).await.1, "uniqueness_error");
}

#[tokio::test]
async fn a_creation_can_take_longer_than_other_actions() {
    let cloud = setting(Settings { create_duration: Some(PATIENCE), ..Settings::default() }).await;
    let (_, body) = cloud.call(Method::POST, "/servers", Some(&order("cpx22", "debian-13", "fsn1"))).await;
    let (_, action) = cloud.get(&format!("/actions/{}", body["action"]["id"])).await;
    assert_eq!(action["action"]["status"], "running");
    let other = cloud.server("two");
    assert_eq!(cloud.delete(other).await.0, 200);
}

#[tokio::test]
async fn every_hook_learns_of_an_accepted_create_call_and_of_no_other() {
    let cloud = setting(Settings::default()).await;
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    for n in 0..2 {
        let sent = sent.clone();
        cloud.cloud.on_created(move |created| sent.send((n, created)).unwrap());
    }
    let _ = cloud.server("by-hand");
    let refused = order("cpx22", "plan9", "fsn1");
    cloud.refused(Method::POST, "/servers", Some(&refused)).await;
    let (_, body) = cloud.call(Method::POST, "/servers", Some(&order("cpx22", "debian-13", "fsn1"))).await;
    let mut told = [received.recv().await.unwrap(), received.recv().await.unwrap()];
    told.sort_by_key(|(n, _)| *n);
    for (n, (hook, created)) in told.into_iter().enumerate() {
        assert_eq!(
            (hook, created.id, created.name.as_str()),
            (n, body["server"]["id"].as_u64().unwrap(), "one")
        );
        assert_eq!(created.user_data.as_deref(), Some("#!/bin/sh\n"));
        assert!(!format!("{created:?}").contains("/bin/sh"));
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn a_servers_own_addresses_go_with_it_and_what_was_attached_is_let_go() {
    let cloud = setting(Settings::default()).await;
    let (_, body) = cloud.call(Method::POST, "/servers", Some(&order("cpx22", "debian-13", "fsn1"))).await;
    let id = body["server"]["id"].as_u64().unwrap();
    let own = format!("/primary_ips/{}", body["server"]["public_net"]["ipv4"]["id"]);
    assert_eq!(cloud.get(&own).await.1["primary_ip"]["assignee_id"], id);
    let ours = Project::OURS;
    let target = json!({ "type": "server", "server": { "id": id } });
    cloud.cloud.add_residue(ours, "load_balancers", json!({ "id": 41, "name": "lb", "targets": [target] }));
    cloud.cloud.add_residue(ours, "floating_ips", json!({ "id": 31, "name": "moves", "server": id }));
    let address =
        json!({ "id": 22, "type": "ipv4", "ip": "203.0.113.9", "assignee_id": id, "auto_delete": false });
    cloud.cloud.add_residue(ours, "primary_ips", address);
    let (_, body) = cloud.get(&format!("/servers/{id}")).await;
    assert_eq!(body["server"]["load_balancers"], json!([41]));
    assert_eq!(body["server"]["public_net"]["floating_ips"], json!([31]));
    assert_eq!(body["server"]["public_net"]["ipv4"]["id"], 22);
    cloud.delete(id).await;
    assert_eq!(cloud.get(&own).await.0, 404);
    assert_eq!(cloud.get("/load_balancers/41").await.1["load_balancer"]["targets"], json!([]));
    assert_eq!(cloud.get("/floating_ips/31").await.1["floating_ip"]["server"], Value::Null);
    assert_eq!(cloud.get("/primary_ips/22").await.1["primary_ip"]["assignee_id"], Value::Null);
}

fn boots(cloud: &Cloud) -> Arc<Mutex<Vec<Created>>> {
    let booted = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&booted);
    cloud.on_created(move |created| hook.lock().unwrap().push(created));
    booted
}
