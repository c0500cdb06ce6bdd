//! Where cloud-init does not reach: NixOS, Flatcar, Talos. What is shipped for them is at least what they read.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use yaml_rust2::{Yaml, YamlLoader};

use crate::{delivery::said, not_checked};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cloud-init")
}

fn yaml(name: &str) -> Yaml {
    YamlLoader::load_from_str(&fs::read_to_string(folder().join(name)).unwrap()).unwrap().remove(0)
}

#[test]
fn the_nixos_module_has_the_same_units() {
    let mut evaluate = Command::new("nix-instantiate");
    evaluate.args(["--eval", "--strict", "--json"]).arg(folder().join("nixos/check.nix"));
    let dir = tempfile::tempdir().unwrap();
    evaluate.env("NIX_STATE_DIR", dir.path().join("state")).env("NIX_STORE_DIR", dir.path().join("store"));
    let Ok(output) = evaluate.output() else {
        return not_checked("there is no nix-instantiate on this machine");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let module: Value = serde_json::from_slice(&output.stdout).unwrap();
    let units = module["systemd"]["units"].as_object().unwrap();
    assert_eq!(units.len(), 5);
    for (name, unit) in units {
        let ours = fs::read_to_string(folder().join("../systemd").join(name)).unwrap();
        let theirs = unit["text"].as_str().unwrap();
        let program = theirs
            .replace("/nix/store/curfew/bin/", "/usr/local/bin/")
            .replace("/nix/store/nftables/bin/", "");
        assert_eq!(program, ours, "{name}");
        assert!(!theirs.contains("/usr/local"), "{name}");
        assert_eq!(
            ours.contains("WantedBy=sysinit.target"),
            unit["wantedBy"] == json!(["sysinit.target"]),
            "{name}"
        );
    }
    assert_eq!(module["systemd"]["services"]["kubelet"]["requires"], json!(["curfew-armed.service"]));
    let options = module["environment"]["etc"]["curfew/agent.env"]["text"].as_str().unwrap();
    assert_eq!(options, "CURFEW_MAX_LIFETIME=8h\nCURFEW_TOKEN_FILE=/etc/curfew/token\n");
}

#[test]
fn flatcars_ignition_takes_what_is_shipped() {
    let butane = yaml("flatcar/curfew.bu");
    let files: Vec<_> = butane["storage"]["files"].as_vec().unwrap().iter().map(ignition_file).collect();
    let units: Vec<_> = butane["systemd"]["units"].as_vec().unwrap().iter().map(ignition_unit).collect();
    let config =
        json!({"ignition": {"version": "3.3.0"}, "storage": {"files": files}, "systemd": {"units": units}});
    // Every unit of ours that belongs on a machine is there, by its name. The sweeper runs elsewhere.
    for entry in fs::read_dir(folder().join("../systemd")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let is_unit = matches!(name.rsplit_once('.'), Some((_, "service" | "timer")));
        if is_unit && !name.starts_with("curfew-sweep.") {
            assert!(config.to_string().contains(&format!("/etc/systemd/system/{name}")), "{name} is missing");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("curfew.ign");
    fs::write(&path, config.to_string()).unwrap();
    let Ok(output) = Command::new("ignition-validate").arg(&path).output() else {
        return not_checked("there is no ignition-validate on this machine");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// As butane would write it.
fn ignition_file(file: &Yaml) -> Value {
    let contents = &file["contents"];
    let data = |bytes: &[u8]| {
        let base64 = said(Command::new("/usr/bin/base64").arg("-w0"), bytes);
        json!({"source": format!("data:;base64,{}", String::from_utf8(base64).unwrap())})
    };
    let contents = match (
        contents["local"].as_str(),
        contents["inline"].as_str(),
        contents["source"].as_str(),
    ) {
        (Some(local), ..) => data(&fs::read(folder().join("../systemd").join(local)).unwrap()),
        (_, Some(inline), _) => data(inline.as_bytes()),
        (.., source) => {
            json!({"source": source.unwrap(), "verification": {"hash": contents["verification"]["hash"].as_str()}})
        }
    };
    // YAML 1.1, which butane reads, writes octal numbers so; our parser takes them as decimal.
    let mode = i64::from_str_radix(&file["mode"].as_i64().unwrap().to_string(), 8).unwrap();
    json!({"path": file["path"].as_str().unwrap(), "mode": mode, "contents": contents})
}

fn ignition_unit(unit: &Yaml) -> Value {
    let dropin =
        |dropin: &Yaml| json!({"name": dropin["name"].as_str(), "contents": dropin["contents"].as_str()});
    let dropins: Vec<_> = unit["dropins"].as_vec().into_iter().flatten().map(dropin).collect();
    json!({"name": unit["name"].as_str(), "enabled": unit["enabled"].as_bool(), "dropins": dropins})
}

#[test]
fn taloss_service_names_what_the_agent_reads() {
    let manifest = yaml("talos/manifest.yaml");
    assert_eq!(manifest["version"].as_str(), Some("v1alpha1"));
    let service = yaml("talos/curfew-agent.yaml");
    assert_eq!(service["name"], manifest["metadata"]["name"]);
    assert_eq!(service["restart"].as_str(), Some("always"));
    let mounts = service["container"]["mounts"].as_vec().unwrap();
    let mounted: Vec<_> = mounts.iter().map(|mount| mount["destination"].as_str().unwrap()).collect();
    for option in service["container"]["environment"].as_vec().unwrap() {
        let (name, path) = option.as_str().unwrap().split_once('=').unwrap();
        assert!(
            mounted.iter().any(|place| path.starts_with(place)),
            "{name} names {path}, which is not mounted"
        );
    }
}
