//! DELETE: the call that everything else exists for.

use std::sync::Mutex;

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_deleted_server_is_gone_at_once_and_its_action_outlives_it() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    let (status, body) = cloud.delete(id).await;
    assert_eq!((status, &body["action"]["command"]), (200, &json!("delete_server")));
    assert_eq!(code(&cloud.delete(id).await.1), "not_found");
    let action = &body["action"]["id"];
    assert_eq!(cloud.get(&format!("/actions/{action}")).await.1["action"]["status"], "success");
    assert_eq!(cloud.get(&format!("/actions?id={action}")).await.1["actions"][0]["id"], *action);
    let entry = cloud.cloud.ledger().into_iter().find(|entry| entry.method == "DELETE").unwrap();
    assert_eq!(cloud.cloud.gone_at(id), Some(entry.at));
    assert!(matches!(entry.caller, Caller::Known { holder, .. } if holder == "writer"));
}

#[tokio::test]
async fn a_deleted_server_may_linger_as_deleting_while_its_machine_is_dead() {
    let cloud = setting(Settings { vanish_after: PATIENCE, ..Settings::default() }).await;
    let id = cloud.server("one");
    cloud.delete(id).await;
    assert_eq!(cloud.get(&format!("/servers/{id}")).await.1["server"]["status"], "deleting");
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
    assert!(cloud.cloud.contains(id) && cloud.cloud.gone_at(id).is_some());
}

#[tokio::test]
async fn protection_and_lock_share_a_status_and_differ_in_code() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    cloud.cloud.set_protected(id, true);
    cloud.cloud.set_locked(id, true);
    let (status, body) = cloud.delete(id).await;
    assert_eq!((status, code(&body).as_str()), (423, "protected"));
    cloud.cloud.configure(|settings| settings.lock_checked_first = true);
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
    let path = format!("/servers/{id}/actions/change_protection");
    let lift = json!({ "delete": false, "rebuild": false });
    assert_eq!(code(&cloud.call(Method::POST, &path, Some(&lift)).await.1), "locked");
    cloud.cloud.set_locked(id, false);
    let unequal = json!({ "delete": false, "rebuild": true });
    assert_eq!(code(&cloud.call(Method::POST, &path, Some(&unequal)).await.1), "invalid_input");
    assert_eq!(code(&cloud.delete(id).await.1), "protected");
    assert_eq!(cloud.call(Method::POST, &path, Some(&lift)).await.0, 201);
    assert_eq!(cloud.delete(id).await.0, 200);
}

#[tokio::test]
async fn a_poweroff_locks_the_server_against_an_immediate_delete() {
    let cloud = setting(Settings { action_duration: PATIENCE, ..Settings::default() }).await;
    let id = cloud.server("one");
    assert_eq!(cloud.call(Method::POST, &format!("/servers/{id}/actions/poweroff"), None).await.0, 201);
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
    let (_, body) = cloud.get(&format!("/servers/{id}/actions")).await;
    assert_eq!(
        (&body["actions"][0]["command"], &body["actions"][0]["status"]),
        (&json!("stop_server"), &json!("running"))
    );
}

#[tokio::test]
async fn a_machine_is_killed_before_its_delete_is_answered() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    let killed = kills(&cloud.cloud);
    cloud.delete(id).await;
    assert_eq!(*killed.lock().unwrap(), [id]);
}

#[tokio::test]
async fn a_machine_can_be_killed_after_the_answer_was_written() {
    let cloud = setting(Settings { kill: Kill::AfterAnswer, ..Settings::default() }).await;
    let id = cloud.server("one");
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    // The hook cannot finish before the caller has read the answer: were it called first, this would hang.
    let (answered, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    cloud.cloud.on_gone(move |id| {
        let answered = wait.lock().unwrap().recv_timeout(PATIENCE).is_ok();
        sent.send((id, answered)).unwrap();
    });
    let (status, _) = cloud.delete(id).await;
    answered.send(()).unwrap();
    assert_eq!(status, 200);
    assert_eq!(received.recv().await, Some((id, true)));
}

fn kills(cloud: &Cloud) -> Arc<Mutex<Vec<u64>>> {
    let killed = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&killed);
    cloud.on_gone(move |id| hook.lock().unwrap().push(id));
    killed
}

#[tokio::test]
async fn whoever_waits_for_a_deletion_is_woken_by_it() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    assert_eq!(cloud.cloud.wait_gone(id, Duration::from_millis(1)).await, None);
    let (gone, _) = tokio::join!(cloud.cloud.wait_gone(id, PATIENCE), cloud.delete(id));
    assert!(gone.is_some() && gone == cloud.cloud.gone_at(id));
    let call = cloud.cloud.wait_call(PATIENCE, |entry| entry.method == "DELETE").await.unwrap();
    assert_eq!((call.status, call.delivered), (200, true));
}

#[tokio::test]
async fn what_outlives_a_server_is_let_go_and_what_belongs_to_it_goes_along() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    let ours = Project::OURS;
    cloud.cloud.add_residue(ours, "volumes", json!({ "id": 11, "name": "data", "server": id }));
    let address = |n: u64, auto: bool| json!({ "id": n, "assignee_id": id, "auto_delete": auto });
    cloud.cloud.add_residue(ours, "primary_ips", address(21, true));
    cloud.cloud.add_residue(ours, "primary_ips", address(22, false));
    assert_eq!(cloud.get(&format!("/servers/{id}")).await.1["server"]["volumes"], json!([11]));
    cloud.delete(id).await;
    assert_eq!(cloud.get("/volumes/11").await.1["volume"]["server"], Value::Null);
    let (_, body) = cloud.get("/primary_ips").await;
    assert_eq!(
        body["primary_ips"],
        json!([{ "id": 22, "assignee_id": null, "assignee_type": "unassigned", "auto_delete": false }])
    );
}
