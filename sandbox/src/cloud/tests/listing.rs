//! Lists, tokens, budget, metadata.

use serde_json::json;

use super::*;

fn names(body: &Value) -> Vec<&str> {
    body["servers"].as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_cover_every_server_once() {
    let cloud = setting(Settings::default()).await;
    let ids: Vec<u64> = (0..7).map(|n| cloud.server(&format!("s{n}"))).collect();
    assert!(ids.is_sorted() && ids[0] > 1 << 31);
    let (mut page, mut seen) = (json!(1), Vec::new());
    while !page.is_null() {
        let (_, body) = cloud.get(&format!("/servers?per_page=3&page={page}")).await;
        seen.extend(names(&body).into_iter().map(str::to_owned));
        assert_eq!(body["meta"]["pagination"]["total_entries"], 7);
        page = body["meta"]["pagination"]["next_page"].clone();
    }
    assert_eq!(seen, ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]);
    let invalid = refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input");
    assert_eq!(cloud.refused(Method::GET, "/servers?per_page=51", None).await, invalid);
    assert_eq!(cloud.refused(Method::GET, "/servers?page=0", None).await, invalid);
    assert_eq!(cloud.refused(Method::GET, "/servers?nmae=s1", None).await, invalid);
}

#[tokio::test]
async fn a_list_is_filtered_by_name_label_and_status_and_sorted() {
    let cloud = setting(Settings::default()).await;
    let _ = cloud.cloud.add_server(ServerSpec::new("a", &[("pool", "x"), ("k/z", "1")]));
    let off = cloud.cloud.add_server(ServerSpec::new("b", &[("pool", "y")]));
    let _ = cloud.server("c");
    assert_eq!(cloud.call(Method::POST, &format!("/servers/{off}/actions/poweroff"), None).await.0, 201);
    for (query, expected) in [
        ("name=b", vec!["b"]),
        ("name=", vec!["a", "b", "c"]),
        ("name=none", vec![]),
        ("label_selector=pool", vec!["a", "b"]),
        ("label_selector=%21pool", vec!["c"]),
        ("label_selector=pool%20in%20(x,y),pool!=y", vec!["a"]),
        ("label_selector=pool+notin+(x)", vec!["b", "c"]),
        ("label_selector=k%2Fz%3D1", vec!["a"]),
        ("label_selector=", vec!["a", "b", "c"]),
        ("status=off", vec!["b"]),
        ("status=off&status=running&sort=name:desc", vec!["c", "b", "a"]),
    ] {
        assert_eq!(names(&cloud.get(&format!("/servers?{query}")).await.1), expected, "{query}");
    }
    let bad = cloud.refused(Method::GET, "/servers?label_selector=a%20b", None).await;
    assert_eq!(bad, refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input"));
}

#[tokio::test]
async fn another_projects_server_does_not_exist_for_us() {
    let cloud = setting(Settings::default()).await;
    let theirs =
        cloud.cloud.add_server(ServerSpec { project: Project::FOREIGN, ..ServerSpec::new("theirs", &[]) });
    assert_eq!(code(&cloud.get(&format!("/servers/{theirs}")).await.1), "not_found");
    assert_eq!(code(&cloud.delete(theirs).await.1), "not_found");
    assert!(names(&cloud.get("/servers").await.1).is_empty());
    assert!(cloud.cloud.contains(theirs));
}

#[tokio::test]
async fn a_bad_token_is_401_and_a_read_token_cannot_write() {
    let cloud = setting(Settings::default()).await;
    let id = cloud.server("one");
    let reader = cloud.cloud.issue_token(Project::OURS, Access::Read, "reader");
    let (path, nowhere) = (format!("/servers/{id}"), "/servers/9007199254740991");
    assert_eq!(cloud.call_as(&reader, Method::GET, &path, None).await.0, 200);
    let (status, body) = cloud.call_as(&reader, Method::DELETE, nowhere, None).await;
    assert_eq!((status, code(&body).as_str()), (401, "token_readonly"));
    assert_eq!(code(&cloud.call_as("made-up", Method::GET, &path, None).await.1), "unauthorized");
    cloud.cloud.revoke_token(&cloud.token);
    assert_eq!(code(&cloud.delete(id).await.1), "unauthorized");
    assert!(cloud.cloud.contains(id));
}

#[tokio::test]
async fn the_order_of_the_write_check_can_be_switched_and_never_lets_a_write_through() {
    let cloud = setting(Settings { readonly_checked_first: false, ..Settings::default() }).await;
    let id = cloud.server("one");
    let reader = cloud.cloud.issue_token(Project::OURS, Access::Read, "reader");
    let delete = async |id: u64| {
        code(&cloud.call_as(&reader, Method::DELETE, &format!("/servers/{id}"), None).await.1)
    };
    assert_eq!(delete(9_007_199_254_740_991).await, "not_found");
    assert_eq!(delete(id).await, "token_readonly");
    assert!(cloud.cloud.contains(id) && cloud.cloud.gone_at(id).is_none());
}

#[tokio::test]
async fn every_answer_shows_the_budget_and_an_empty_one_is_429() {
    let cloud = setting(Settings { rate_limit: 2, ..Settings::default() }).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = cloud.request(&cloud.token, Method::GET, "/servers/1", None).send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert!(!header("X-Correlation-Id").is_empty() && header("RateLimit-Reset").parse::<i64>().is_ok());
        seen.push((answer.status().as_u16(), header("RateLimit-Limit"), header("RateLimit-Remaining")));
    }
    let row = |status: u16, left: &str| (status, "2".to_owned(), left.to_owned());
    assert_eq!(seen, [row(404, "1"), row(404, "0"), row(429, "0")]);
}

#[tokio::test]
async fn metadata_is_served_for_each_machine_until_it_is_deleted() {
    let cloud = setting(Settings { rate_limit: 1, ..Settings::default() }).await;
    let spec = ServerSpec { user_data: Some("#cloud-config\n".into()), ..ServerSpec::new("one", &[]) };
    let id = cloud.cloud.add_server(spec);
    let base = cloud.cloud.metadata_endpoint(id) + "/hetzner/v1";
    let read = async |path: &str| {
        let answer = cloud.client.get(format!("{base}{path}")).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    cloud.cloud.set_api(Mode::Refuse).await.unwrap();
    assert_eq!(read("/metadata/instance-id").await, (200, id.to_string()));
    assert_eq!(read("/metadata/hostname").await, (200, "one".into()));
    assert_eq!(read("/userdata").await, (200, "#cloud-config\n".into()));
    assert!(read("/metadata").await.1.contains(&format!("instance-id: {id}\n")));
    assert_eq!(read("/metadata/invented").await.0, 404);
    cloud.cloud.set_api(Mode::Up).await.unwrap();
    assert_eq!(cloud.delete(id).await.0, 200);
    assert_eq!(read("/metadata/instance-id").await.0, 404);
}
