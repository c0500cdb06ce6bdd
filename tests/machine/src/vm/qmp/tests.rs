use super::*;
use tokio::net::UnixListener;

/// A monitor that says these lines to each command in turn, after its greeting.
async fn monitor(answers: Vec<&'static str>) -> (tempfile::TempDir, Qmp) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("qmp");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (reader, mut writer) = listener.accept().await.unwrap().0.into_split();
        writer.write_all(b"{\"QMP\": {\"version\": {}}}\n").await.unwrap();
        let mut lines = BufReader::new(reader).lines();
        for answer in ["{\"return\": {}}"].into_iter().chain(answers) {
            lines.next_line().await.unwrap().unwrap();
            writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        // Stays open until the client goes.
        let _ = lines.next_line().await;
    });
    let qmp = Qmp::connect(&path).await.unwrap();
    (dir, qmp)
}

#[tokio::test]
async fn an_event_between_command_and_answer_is_no_answer() {
    let said = "{\"event\": \"SUSPEND\"}\n{\"event\": \"RTC_CHANGE\"}\n{\"return\": {}}";
    let (_dir, qmp) = monitor(vec![said]).await;
    let before = qmp.mark();
    qmp.execute(Command::Stop).await.unwrap();
    qmp.sees(Event::Suspend, before, Duration::from_secs(5)).await.unwrap();
    let missed = qmp.sees(Event::Suspend, qmp.mark(), Duration::from_millis(50)).await;
    assert!(matches!(missed, Err(QmpError::Unseen { event: Event::Suspend, .. })), "seen before the mark");
}

#[tokio::test]
async fn a_command_that_is_refused_says_why() {
    let (_dir, qmp) =
        monitor(vec!["{\"error\": {\"class\": \"GenericError\", \"desc\": \"not suspended\"}}"]).await;
    let refused = qmp.execute(Command::SystemWakeup).await.unwrap_err();
    assert!(refused.to_string().contains("not suspended"), "{refused}");
}
