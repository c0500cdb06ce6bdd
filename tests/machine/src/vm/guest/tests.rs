use std::process::Stdio;

use super::*;
use tokio::{net::UnixListener, process::Command};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/image/overlay/usr/local/lib/curfew-machine/guest");

/// The machine's end of the port, as in the machine but for the port's kind.
async fn guest() -> (tempfile::TempDir, Guest) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("port");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (mut reader, mut writer) = listener.accept().await.unwrap().0.into_split();
        // `guest` opens its port for both directions; here that is a pair of pipes.
        let script = tokio::fs::read_to_string(SCRIPT).await.unwrap();
        let script = script.replace("exec 3<>\"$1\" || exit 1", "exec 3>&1").replace("<&3; do", "; do");
        let mut bash = Command::new("bash")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (bash.stdin.take().unwrap(), bash.stdout.take().unwrap());
        let inwards = tokio::io::copy(&mut reader, &mut stdin);
        let outwards = tokio::io::copy(&mut stdout, &mut writer);
        let _ = tokio::join!(inwards, outwards);
    });
    let guest = Guest::connect(&path).await.unwrap();
    guest.listens(PATIENCE).await.unwrap();
    (dir, guest)
}

#[tokio::test]
async fn a_command_says_what_it_printed_and_how_it_ended() {
    let (_dir, guest) = guest().await;
    let done = guest.run("printf 'a\\n7 0\\nb'; echo c >&2; exit 3", PATIENCE).await.unwrap();
    assert_eq!(done, Done { status: 3, said: "a\n7 0\nbc\n".into() });
    let done = guest.run("true", PATIENCE).await.unwrap();
    assert_eq!(done, Done { status: 0, said: String::new() });
}

#[tokio::test]
async fn what_is_left_of_a_command_that_was_given_up_is_not_the_next_ones() {
    let (_dir, guest) = guest().await;
    let given_up = guest.run("sleep 1; echo late", Duration::from_millis(100)).await;
    assert!(matches!(given_up, Err(GuestError::Silent { .. })));
    let next = guest.run("echo next", PATIENCE).await.unwrap();
    assert_eq!(next.said, "next\n");
}

const PATIENCE: Duration = Duration::from_secs(20);
