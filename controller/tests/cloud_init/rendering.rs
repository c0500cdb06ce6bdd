//! What is printed: valid everywhere, small enough, without secrets, and saying the same to YAML and shell as to us.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use curfew_controller::cloud_init::{Content, Error, ExtraFile, LIMIT, Options, Secret, render};
use proptest::prelude::*;
use yaml_rust2::{Yaml, YamlLoader};

use crate::{
    delivery::{agent, options, said},
    not_checked,
};

pub(crate) const AGENT: &str = "--agent-url https://example.com/curfew-agent --agent-sha256 \
                     0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The program, with a line of options.
pub(crate) fn printed(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curfew-controller"));
    command.arg("cloud-init").args(line.split_whitespace()).env_clear().output().unwrap()
}

pub(crate) fn text(line: &str) -> String {
    let Output { status, stdout, stderr } = printed(line);
    assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

pub(crate) fn refused(line: &str) -> String {
    let Output { status, stdout, stderr } = printed(line);
    assert!(!status.success() && stdout.is_empty(), "{line} was taken");
    String::from_utf8(stderr).unwrap()
}

/// A file of the document, by the end of its path.
pub(crate) fn file(document: &str, name: &str) -> Vec<u8> {
    let yaml = YamlLoader::load_from_str(document).unwrap().remove(0);
    let files = yaml["write_files"].as_vec().unwrap();
    let found = files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with(name)));
    let found = found.unwrap_or_else(|| panic!("no {name} in the document"));
    let content = found["content"].as_str().unwrap();
    if found["encoding"] == Yaml::BadValue { content.into() } else { decoded(content) }
}

fn decoded(base64: &str) -> Vec<u8> {
    said(Command::new("/usr/bin/base64").arg("-d"), base64.as_bytes())
}

/// One of each flavour, with everything there is to say.
fn documents() -> Vec<String> {
    let all = "--label pool=burst --taint burst=yes:NoSchedule --kubelet-arg max-pods=50 --max-lifetime 8h --observe \
               --private-network 10.0.0.0/8 --private-gateway 10.0.0.1 --early-command true --post-command true";
    let k3s = "--server https://10.0.0.2:6443 --k3s-url https://example.com/k3s --k3s-sha256 \
               0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    vec![
        text(&format!("--flavour none {AGENT}")),
        text(&format!("--flavour k3s {k3s} {AGENT} {all} --token-url https://example.com/once")),
        text(&format!(
            "--flavour kubeadm {AGENT} {all} --join-unarmed --transient-units --no-metadata-guard"
        )),
        text("--flavour none --agent-on-image /opt/bin/curfew-agent --token-on-machine /etc/burst/token"),
    ]
}

#[test]
fn cloud_init_takes_every_flavour_and_it_fits() {
    for document in documents() {
        assert!(document.starts_with("#cloud-config\n"));
        assert!(
            document.len() <= LIMIT - 3 * 1024,
            "{} bytes leave no room for a person's own",
            document.len()
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("user-data");
        fs::write(&path, &document).unwrap();
        match Command::new("cloud-init").args(["schema", "--config-file"]).arg(&path).output() {
            Err(_) => not_checked("there is no cloud-init on this machine"),
            Ok(output) => {
                let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
                assert!(output.status.success() && words.contains("Valid"), "{words}\n{document}");
            }
        }
    }
}

#[test]
fn shellcheck_finds_nothing_in_the_script_as_written_nor_as_shipped() {
    if Command::new("shellcheck").arg("--version").output().is_err() {
        return not_checked("there is no shellcheck on this machine");
    }
    let check = |paths: &[std::path::PathBuf], excluded: &str| {
        let output = Command::new("shellcheck")
            .args(["--shell=sh", "--exclude", excluded])
            .args(paths)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cloud-init");
    let written = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let written: Vec<_> = written.filter(|path| path.extension().is_some_and(|end| end == "sh")).collect();
    assert!(written.len() > 5);
    check(&written, "SC9999");
    // As shipped it has lost its comments, and with them what they told shellcheck.
    let dir = tempfile::tempdir().unwrap();
    for name in ["run", "place", "fetch", "join", "options"] {
        fs::write(dir.path().join(name), file(&documents()[1], &format!("bootstrap/{name}"))).unwrap();
    }
    let shipped: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.path()).collect();
    check(&shipped, "SC1090,SC1091,SC2034,SC2046,SC2154");
}

#[test]
fn no_secret_comes_into_a_document_that_nobody_asked_for() {
    let document = text(&format!("--flavour none {AGENT}"));
    assert!(
        !document.contains("token\"")
            && String::from_utf8(file(&document, "options")).unwrap().contains("SECRETS=''")
    );
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "t0ken\n").unwrap();
    let asked = format!("--flavour none {AGENT} --token-in-user-data {}", token.display());
    let output = printed(&asked);
    assert!(output.status.success());
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(
        warning.contains("WARNING: the provider's token is in this document") && !warning.contains("t0ken")
    );
    assert!(String::from_utf8(output.stdout).unwrap().contains("t0ken"));
    // Without the guard every pod could read it.
    assert!(refused(&format!("{asked} --no-metadata-guard")).contains("needs the metadata guard"));
    let plain = format!("--flavour none {AGENT} --token-url http://example.com/once");
    assert!(refused(&plain).contains("must not come over plain http"));
}

#[test]
fn what_makes_no_sense_is_refused_before_a_machine_is_rented() {
    for (line, word) in [
        ("--flavour none", "--agent-url"),
        ("--flavour none --agent-url https://example.com/a", "--agent-sha256"),
        ("--flavour none --agent-url https://example.com/a --agent-sha256 abc", "SHA-256"),
        ("--flavour none --agent-url ftp://example.com/a --agent-sha256 abc", "address"),
        ("--flavour none --agent-url https://me:pw@example.com/a --agent-sha256 abc", "address"),
        ("--flavour k3s --agent-on-image /a", "--server"),
        ("--flavour kubeadm --agent-on-image /a --server https://10.0.0.2:6443", "k3s only"),
        ("--flavour none --agent-on-image a", "path"),
        ("--flavour none --agent-on-image /a --label =x", "label"),
        ("--flavour none --agent-on-image /a --taint a=b:Never", "taint"),
        ("--flavour none --agent-on-image /a --agent-option HCLOUD_TOKEN=x", "option"),
        ("--flavour none --agent-on-image /a --max-lifetime 1m", "5m"),
        ("--flavour none --agent-on-image /a --max-lifetime 8", "duration"),
        ("--flavour none --agent-on-image /a --file 0644:/etc/../x=y", "path"),
        ("--flavour none --agent-on-image /a --file 0999:/etc/x=y", "mode"),
        ("--flavour none --agent-on-image /a --file 0644:/etc/x=/no/such", "/no/such"),
        ("--flavour none --agent-on-image /a --private-network 10.0.0.0", "network"),
        ("--flavour none --agent-on-image /home/a", "hidden from the agent"),
        ("--flavour none --agent-on-image /a --bin-dir /root", "hidden from the agent"),
        ("--flavour none --agent-on-image /a --token-on-machine /var/tmp/token", "hidden from the agent"),
    ] {
        let said = refused(line);
        assert!(said.contains(word), "{line}: {said}");
    }
}

#[test]
fn a_document_that_is_too_big_names_what_is_too_big() {
    let mut options = options(&["https://example.com/a".into()], b"");
    options.files = vec![given("/etc/huge", vec![b'x'; 40_000])];
    let Err(error) = render(&options) else { panic!("it was taken") };
    assert!(matches!(error, Error::TooBig { .. }));
    assert!(error.to_string().contains("files/0 (5"), "{error}");
}

#[test]
fn k3s_and_kubelet_are_told_the_same() {
    let documents = documents();
    let k3s = String::from_utf8(file(&documents[1], "own/k3s.yaml")).unwrap();
    let yaml = YamlLoader::load_from_str(&k3s).unwrap().remove(0);
    assert_eq!(yaml["server"].as_str(), Some("https://10.0.0.2:6443"));
    assert_eq!(yaml["token-file"].as_str(), Some("/etc/curfew/join"));
    assert_eq!(yaml["node-label"][0].as_str(), Some("pool=burst"));
    assert_eq!(yaml["node-taint"][0].as_str(), Some("burst=yes:NoSchedule"));
    assert_eq!(yaml["kubelet-arg"][0].as_str(), Some("max-pods=50"));
    let kubelet = String::from_utf8(file(&documents[2], "own/kubelet.env")).unwrap();
    assert_eq!(
        kubelet,
        "KUBELET_EXTRA_ARGS=\"--max-pods=50 --node-labels=pool=burst --register-with-taints=burst=yes:NoSchedule \
         --node-ip=@NODE_ADDRESS@\"\n"
    );
}

fn given(path: &str, content: Vec<u8>) -> ExtraFile {
    ExtraFile { path: path.parse().unwrap(), mode: "0600".parse().unwrap(), content: Content(content) }
}

fn with(content: &[u8], command: &str) -> Options {
    let mut options = options(&["https://example.com/a".into()], &agent("x"));
    options.token = Secret::InUserData(Content(content.to_vec()));
    options.files = vec![given("/etc/given", content.to_vec())];
    options.pre_commands = vec![command.into()];
    options
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_file_holds_yaml_gives_it_back(
        content in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "[ \t]{0,3}[-:#|>!&*%@`'\"{}\\[\\],?a-c \t\n]{0,60}\n{0,3}".prop_map(String::into_bytes),
            "([ -~]{0,20}\n){0,5}".prop_map(String::into_bytes),
        ],
        command in "[ -~]{1,40}",
    ) {
        let document = render(&with(&content, &command)).unwrap().text;
        prop_assert_eq!(file(&document, "files/0"), content.clone());
        prop_assert_eq!(file(&document, "files/1"), content);
        prop_assert_eq!(file(&document, "bootstrap/pre"), format!("{command}\n").into_bytes());
    }
}

#[test]
fn cloud_inits_own_parser_reads_what_ours_reads() {
    let python = "import base64, sys, yaml
for file in yaml.safe_load(sys.stdin.read())['write_files']:
    text = file['content'].encode()
    sys.stdout.buffer.write(base64.b64decode(text) if 'encoding' in file else text)";
    if !Command::new("/usr/bin/python3")
        .args(["-c", "import yaml"])
        .output()
        .is_ok_and(|out| out.status.success())
    {
        return not_checked("this machine's python3 has no yaml");
    }
    for content in [
        "a\tb\n\tc\n",
        "- x: 'y'\n\n# z\n",
        "é\n",
        "no end",
        "\n",
        "",
        " lead\n",
        "a\n\n",
        "%YAML\n---\n...\n",
    ] {
        let document = render(&with(content.as_bytes(), "true")).unwrap().text;
        let mut read = Command::new("/usr/bin/python3");
        let bytes = said(read.args(["-c", python]), document.as_bytes());
        let ours = YamlLoader::load_from_str(&document).unwrap().remove(0);
        let names = ours["write_files"].as_vec().unwrap().iter();
        let ours: Vec<u8> =
            names.flat_map(|entry| file(&document, entry["path"].as_str().unwrap())).collect();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&ours), "{content:?}");
    }
}
