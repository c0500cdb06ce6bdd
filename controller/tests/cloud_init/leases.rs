//! A template for leases: what the controller must fill in, and that what it fills in arrives where it belongs.

use std::{fs, process::Command};

use yaml_rust2::YamlLoader;

use crate::{
    not_checked,
    rendering::{AGENT, file, printed, refused, text},
};

const K3S: &str = "--flavour k3s --server https://10.0.0.2:6443";

/// As the controller does it for one machine.
fn filled(template: &str) -> String {
    let values = [("@CURFEW_LEASE@", "burst"), ("@CURFEW_LIFETIME@", "8h0m0s"), ("@CURFEW_TOKEN@", "s3cr3t")];
    values.iter().fold(template.to_owned(), |text, (word, value)| text.replace(word, value))
}

fn words(document: &str, name: &str) -> String {
    String::from_utf8(file(document, name)).unwrap()
}

#[test]
fn each_machine_registers_with_its_lease_and_knows_its_longest_life() {
    let template = text(&format!("{K3S} {AGENT} --label pool=burst --for-leases"));
    assert!(template.contains("@CURFEW_LEASE@") && !template.contains("@CURFEW_TOKEN@"));
    let document = filled(&template);
    assert!(!document.contains("@CURFEW_"));
    let k3s = YamlLoader::load_from_str(&words(&document, "own/k3s.yaml")).unwrap().remove(0);
    let labels: Vec<_> =
        k3s["node-label"].as_vec().unwrap().iter().filter_map(|label| label.as_str()).collect();
    assert_eq!(labels, ["pool=burst", "curfew.dev/lease=burst"]);
    assert!(words(&document, "own/agent.env").contains("CURFEW_MAX_LIFETIME=8h0m0s\n"));
    let kubeadm = filled(&text(&format!("--flavour kubeadm {AGENT} --for-leases")));
    assert!(words(&kubeadm, "own/kubelet.env").contains("--node-labels=curfew.dev/lease=burst"));
}

#[test]
fn a_token_of_the_lease_arrives_in_a_file_of_root_alone() {
    let output = printed(&format!("{K3S} {AGENT} --for-leases --token-in-lease"));
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("WARNING: the provider's token is in this document, or will be"), "{warning}");
    let document = filled(&String::from_utf8(output.stdout).unwrap());
    let options = words(&document, "bootstrap/options");
    let line = options.lines().find(|line| line.ends_with(" @config/token")).expect(&options);
    let (mode, source) = line.trim_start_matches("FILES='").split_once(' ').unwrap();
    assert_eq!(mode, "600");
    assert_eq!(words(&document, source.split(' ').next().unwrap()), "s3cr3t\n");
    assert!(words(&document, "own/agent.env").contains("CURFEW_TOKEN_FILE=/etc/curfew/token\n"));
}

#[test]
fn cloud_init_takes_what_was_filled_in() {
    for line in [
        format!("{K3S} {AGENT} --for-leases --token-in-lease"),
        format!("--flavour kubeadm {AGENT} --for-leases"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("user-data");
        fs::write(&path, filled(&text(&line))).unwrap();
        match Command::new("cloud-init").args(["schema", "--config-file"]).arg(&path).output() {
            Err(_) => not_checked("there is no cloud-init on this machine"),
            Ok(output) => {
                let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                assert!(output.status.success() && words.contains("Valid"), "{words}");
            }
        }
    }
}

#[test]
fn what_no_lease_could_fill_is_refused() {
    for (line, word) in [
        (format!("--flavour none {AGENT} --for-leases"), "nothing says on the Node whose it is"),
        (format!("{K3S} {AGENT} --token-in-lease"), "--for-leases"),
        (format!("{K3S} {AGENT} --for-leases --max-lifetime 8h"), "--max-lifetime"),
        (
            format!("{K3S} {AGENT} --for-leases --token-in-lease --token-url https://example.com/t"),
            "--token-url",
        ),
        (
            format!("{K3S} {AGENT} --for-leases --token-in-lease --no-metadata-guard"),
            "needs the metadata guard",
        ),
    ] {
        let said = refused(&line);
        assert!(said.contains(word), "{line}: {said}");
    }
}
