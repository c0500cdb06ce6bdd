//! The metadata guard, with a machine, a pod behind it and a cloud in network namespaces of their own.

use std::{collections::BTreeMap, process::Command};

use curfew_tests::{Kept, Promise, promises, root};

pub(crate) const PROMISES: &[Promise] = promises![a_pod_cannot_read_metadata_and_roots_agent_can];

async fn a_pod_cannot_read_metadata_and_roots_agent_can() -> Kept {
    let Some(answers) = answers()? else { return Ok(()) };
    let reached = |when: &str, who: &str, address: &str| {
        let question = format!("{when} {who} {address}");
        answers[&question] == "yes"
    };
    for when in ["before", "guarded", "allowed", "again", "wrong", "gone"] {
        let guarded = !matches!(when, "before" | "gone");
        // A file that is wrong leaves the rules as they were.
        let allowed = when == "allowed";
        assert_eq!(reached(when, "pod", V4), !guarded || allowed, "{when}");
        assert_eq!(reached(when, "pod", V6), !guarded, "{when}");
        for address in [V4, V6, LINK_LOCAL] {
            assert!(reached(when, "root", address), "{when}: root's agent and {address}");
            assert_eq!(reached(when, "nobody", address), !guarded || allowed, "{when}: {address}");
        }
        for other in ["pod 10.1.0.2", "pod fd01::2", "root 10.1.0.2", "nobody 10.1.0.2"] {
            assert_eq!(answers[&format!("{when} {other}")], "yes", "{when}: what is not metadata");
        }
    }
    assert_eq!(answers["reloaded tables"], "2", "its own, once, and the other");
    assert_eq!(answers["reloaded rules"], "4");
    Ok(())
}

/// What the script found: question and answer. None where this machine cannot ask, which is said loudly.
fn answers() -> Result<Option<BTreeMap<String, String>>, Box<dyn std::error::Error + Send + Sync>> {
    let tried = Command::new("sh").args(["-c", NEEDED]).output()?;
    if !tried.status.success() {
        let why = String::from_utf8_lossy(&tried.stderr).into_owned();
        eprintln!(
            "NOT CHECKED: the metadata guard wants root, nft, ip, python3 and namespaces: {}",
            why.trim()
        );
        return Ok(None);
    }
    let mut script = Command::new("unshare");
    script.args(["--net", "--mount", "sh"]).arg(root().join("tests/guard/netns.sh"));
    let output = script.arg(root().join("systemd/metadata-guard.nft")).output()?;
    let (said, errors) =
        (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{said}\n{errors}");
    let lines = said.lines().filter_map(|line| line.rsplit_once(' '));
    Ok(Some(lines.map(|(question, answer)| (question.to_owned(), answer.to_owned())).collect()))
}

const NEEDED: &str =
    "test \"$(id -u)\" = 0 && command -v ip python3 && unshare --net --mount nft add table inet probe";
const V4: &str = "169.254.169.254";
const V6: &str = "fd00:ec2::254";
const LINK_LOCAL: &str = "fe80::a9fe:a9fe%to-cloud";
