//! No watchdog, no join: what comes between an armed machine and its cluster.

use std::fs;

use curfew_controller::cloud_init::{Download, Flavour, Options, PrivateNetwork, Secret};

use crate::{
    delivery::{agent, options, sha256},
    machine::Machine,
    mirror::{Answer, Mirror},
};

fn k3s(mirror: &Mirror, bytes: &[u8], binary: &[u8]) -> Options {
    let mut options = options(&[mirror.url("agent")], bytes);
    let urls = vec![mirror.url("k3s").parse().unwrap()];
    options.flavour = Flavour::K3s {
        server: "https://10.0.0.2:6443".parse().unwrap(),
        binary: Some(Download { urls, sha256: sha256(binary).parse().unwrap() }),
        token: Secret::OnMachine("/etc/curfew/join".parse().unwrap()),
    };
    options
}

#[test]
fn a_kubelet_of_the_image_is_held_until_the_machine_is_armed() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.write("seen/enabled-kubelet.service", "", 0o644);
    machine.write("seen/fails-curfew-armed.service", "", 0o644);
    let document = machine.take(&options(&[mirror.url("agent")], &bytes));
    machine.boot(&document);
    let hold = "run/systemd/system/kubelet.service.d/curfew-hold.conf";
    assert!(machine.read(hold).contains("[Unit]\nConditionPathExists=/run/curfew-bootstrap/armed"));
    assert!(machine.read("seen/systemctl").contains("stop --no-block kubelet.service"));

    assert!(!machine.run().succeeded);
    assert!(
        machine.read("var/lib/curfew/bootstrap/failed").starts_with("armed: not armed within 30s: first")
    );
    assert!(machine.has(hold) && !machine.has("run/curfew-bootstrap/armed"));
    assert!(!machine.has("seen/active-kubelet.service"));

    fs::remove_file(machine.path("seen/fails-curfew-armed.service")).unwrap();
    assert!(machine.run().succeeded);
    assert!(!machine.has(hold) && machine.has("run/curfew-bootstrap/armed"));
    assert!(machine.has("seen/active-kubelet.service") && !machine.has("var/lib/curfew/bootstrap/failed"));
    let waits = machine.read("etc/systemd/system/kubelet.service.d/no-watchdog-no-join.conf");
    assert!(waits.contains("Requires=curfew-armed.service"));

    // In a later boot the unit's own drop-in does it, and nothing is held twice.
    machine.boot(&document);
    assert!(!machine.has(hold));
}

#[test]
fn only_who_asks_for_it_joins_unarmed() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.write("seen/enabled-kubelet.service", "", 0o644);
    machine.write("seen/fails-curfew-armed.service", "", 0o644);
    let mut options = options(&[mirror.url("agent")], &bytes);
    options.join_unarmed = true;
    let document = machine.take(&options);
    machine.boot(&document);
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert!(machine.has("seen/active-kubelet.service"));
    assert!(
        machine.log().contains("armed retry not armed within 30s: first; it joins all the same"),
        "{}",
        machine.log()
    );
    assert!(document.warnings.iter().any(|warning| warning.contains("may bill without an end")));
}

#[test]
fn k3s_joins_with_the_pinned_binary_and_no_installer() {
    let (bytes, binary) = (agent("first"), b"#!/bin/sh\n".to_vec());
    let mirror =
        Mirror::with([("agent", Answer::Bytes(bytes.clone())), ("k3s", Answer::Bytes(binary.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    let mut options = k3s(&mirror, &bytes, &binary);
    options.private_network = Some(PrivateNetwork {
        network: "10.0.0.0/8".parse().unwrap(),
        gateway: Some("10.0.0.1".parse().unwrap()),
    });
    let ip = "#!/bin/sh\necho \"$*\" >>/seen/ip\ncase $* in *addr*) echo '3: ens10    inet 10.0.0.7/32 scope global ens10' ;; esac\n";
    fs::remove_file(machine.path("usr/bin/ip")).unwrap();
    machine.write("usr/bin/ip", ip, 0o755);
    machine.take(&options);
    let run = machine.run();
    assert!(run.succeeded, "{}", run.said);
    assert_eq!(machine.read("usr/local/bin/k3s").into_bytes(), binary);
    let config = machine.read("etc/rancher/k3s/config.yaml.d/50-curfew.yaml");
    assert!(config.contains("node-ip: \"10.0.0.7\"\nflannel-iface: \"ens10\"\n"), "{config}");
    assert!(machine.read("seen/ip").contains("route add default via 10.0.0.1 dev ens10"));
    let calls = machine.read("seen/systemctl");
    let at = |call: &str| calls.find(call).unwrap_or_else(|| panic!("{call} is not in {calls}"));
    assert!(at("start curfew-armed.service") < at("restart --no-block k3s-agent.service"));
    assert!(machine.has("etc/systemd/system/k3s-agent.service"));
}

#[test]
fn a_lie_instead_of_k3s_does_not_join() {
    let (bytes, binary) = (agent("first"), b"#!/bin/sh\n".to_vec());
    let mirror =
        Mirror::with([("agent", Answer::Bytes(bytes.clone())), ("k3s", Answer::Bytes(b"lie".to_vec()))]);
    let Some(machine) = Machine::with("curl") else { return };
    let mut options = k3s(&mirror, &bytes, &binary);
    options.patience.download = jiff::SignedDuration::from_secs(2);
    machine.take(&options);
    assert!(!machine.run().succeeded);
    assert!(
        machine.read("var/lib/curfew/bootstrap/failed").starts_with("join: no source gave the pinned file")
    );
    assert!(!machine.has("seen/active-k3s-agent.service") && !machine.has("usr/local/bin/k3s"));
    // What the stage had put in place is gone again; the machine stays armed.
    assert!(!machine.has("etc/rancher/k3s/config.yaml.d/50-curfew.yaml"));
    assert!(machine.has("usr/local/bin/curfew-agent") && machine.has("run/curfew-bootstrap/armed"));
}

#[test]
fn what_is_lost_later_comes_back_with_the_next_boot() {
    let bytes = agent("first");
    let mirror = Mirror::with([("agent", Answer::Bytes(bytes.clone()))]);
    let Some(machine) = Machine::with("curl") else { return };
    machine.take(&options(&[mirror.url("agent")], &bytes));
    assert!(machine.run().succeeded);
    for lost in [
        "usr/local/bin/curfew-agent",
        "etc/systemd/system/curfew-agent.service",
        "seen/active-curfew-agent.service",
        "run/curfew-bootstrap/armed",
    ] {
        fs::remove_file(machine.path(lost)).unwrap();
        assert!(machine.run().succeeded);
        assert!(machine.has(lost), "{lost} does not come back");
    }
}
