//! Each fault does what its name says, as often as it was asked to.

use super::*;

fn on_delete(effect: Effect) -> Fault {
    Fault::every(effect).on_method("DELETE").on_path("/v1/servers/").times(1)
}

#[tokio::test]
async fn a_limited_fault_strikes_so_many_matching_calls_and_no_other() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    cloud.cloud.inject(Fault::every(Effect::Locked).on_method("DELETE").on_path("/v1/servers/").times(2));
    assert_eq!(cloud.get("/servers").await.0, 200);
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
    assert_eq!(code(&cloud.delete(id).await.1), "locked");
    assert_eq!(cloud.delete(id).await.0, 200);
}

#[tokio::test]
async fn a_fault_can_strike_one_holders_calls_only_until_lifted() {
    let cloud = setting(Settings::default()).await;
    let other = cloud.cloud.issue_token(Project::OURS, Access::ReadWrite, "other");
    let fault = cloud.cloud.inject(Fault::every(Effect::Unavailable).on_holder("other"));
    assert_eq!(cloud.call_as(&other, Method::GET, "/servers", None).await.0, 503);
    assert_eq!(cloud.get("/servers").await.0, 200);
    cloud.cloud.lift(fault);
    assert_eq!(cloud.call_as(&other, Method::GET, "/servers", None).await.0, 200);
}

#[tokio::test]
async fn every_refusing_fault_answers_with_the_providers_status_and_code() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    for (effect, status, expected) in [
        (Effect::RateLimited, 429, "rate_limit_exceeded"),
        (Effect::Locked, 423, "locked"),
        (Effect::Protected, 423, "protected"),
        (Effect::NotFound, 404, "not_found"),
        (Effect::ServerError, 500, "server_error"),
        (Effect::Unavailable, 503, "unavailable"),
        (Effect::Timeout, 504, "timeout"),
    ] {
        cloud.cloud.inject(on_delete(effect.clone()));
        let (got, body) = cloud.delete(id).await;
        assert_eq!((got, code(&body).as_str()), (status, expected), "{effect:?}");
    }
    assert!(cloud.cloud.contains(id));
}

#[tokio::test]
async fn a_proxy_answers_502_in_html_and_a_wrong_retry_after_can_be_sent() {
    let cloud = setting(Settings::default()).await;
    cloud.cloud.inject(Fault::every(Effect::BadGateway).retry_after("86400").times(1));
    let answer = cloud.request(&cloud.token, Method::GET, "/servers", None).send().await.unwrap();
    assert_eq!(
        (answer.status(), &answer.headers()["Retry-After"]),
        (StatusCode::BAD_GATEWAY, &"86400".parse().unwrap())
    );
    assert_eq!(answer.headers()["Content-Type"], "text/html");
    assert!(answer.text().await.unwrap().starts_with("<html>"));
}

#[tokio::test]
async fn a_reset_connection_tells_nothing_about_the_effect() {
    let cloud = setting(Settings::default()).await;
    for effective in [false, true] {
        let id = cloud.server(if effective { "deleted" } else { "kept" });
        cloud.cloud.inject(on_delete(Effect::Reset { effective }));
        let path = format!("/servers/{id}");
        assert!(cloud.request(&cloud.token, Method::DELETE, &path, None).send().await.is_err());
        assert_eq!(cloud.cloud.contains(id), !effective);
        assert!(!cloud.cloud.ledger().last().unwrap().delivered);
    }
}

#[tokio::test]
async fn a_call_can_be_left_without_any_answer_with_and_without_effect() {
    let cloud = setting(Settings::default()).await;
    for effective in [false, true] {
        let id = cloud.server(if effective { "deleted" } else { "kept" });
        cloud.cloud.inject(on_delete(Effect::Silence { effective }));
        let path = format!("/servers/{id}");
        let request = cloud.request(&cloud.token, Method::DELETE, &path, None);
        let entered = cloud.cloud.wait_call(PATIENCE, |entry| entry.path.ends_with(&path));
        tokio::select! {
            answer = request.send() => panic!("was answered: {answer:?}"),
            entry = entered => assert!(!entry.unwrap().delivered),
        }
        assert_eq!(cloud.cloud.contains(id), !effective);
    }
}

#[tokio::test]
async fn a_slow_answer_comes_after_its_effect() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    cloud.cloud.inject(on_delete(Effect::Slow(PATIENCE)));
    tokio::select! {
        (status, _) = cloud.delete(id) => panic!("was answered {status} without delay"),
        gone = cloud.cloud.wait_gone(id, PATIENCE) => assert!(gone.is_some()),
    }
    cloud.cloud.inject(Fault::every(Effect::Slow(Duration::from_millis(5))));
    assert_eq!(cloud.get("/servers").await.0, 200);
}

#[tokio::test]
async fn an_accepted_delete_may_fail_and_leave_the_server() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    cloud.cloud.inject(Fault::every(Effect::DeleteFails).times(1));
    let (status, body) = cloud.delete(id).await;
    assert_eq!(status, 200);
    let (_, action) = cloud.get(&format!("/actions/{}", body["action"]["id"])).await;
    assert_eq!(
        (&action["action"]["status"], &action["action"]["error"]["code"]),
        (&"error".into(), &"action_failed".into())
    );
    assert!(cloud.cloud.contains(id) && cloud.cloud.gone_at(id).is_none());
    assert_eq!(cloud.delete(id).await.0, 200);
}
