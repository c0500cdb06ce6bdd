use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use super::{program::THIS_MACHINE, *};
use crate::args::Options;

/// The least ELF file there is: a header and one program header of type `kind`.
fn elf(machine: u8, kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; 120];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, kind);
    bytes
}

fn machine() -> u8 {
    u8::try_from(THIS_MACHINE).unwrap()
}

fn put(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn agent(root: &Path, content: impl AsRef<[u8]>) {
    put(root, AGENT, content);
    fs::set_permissions(root.join(AGENT), fs::Permissions::from_mode(0o755)).unwrap();
}

/// An image that passes.
fn image() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    agent(root, elf(machine(), 1));
    put(root, "etc/machine-id", "");
    put(root, "var/lib/curfew/bootstrap/run", "#!/bin/sh\n");
    put(root, "etc/netbird/config.json", "{\"ManagementURL\":\"https://a.example\",\"PrivateKey\":\"\"}");
    put(root, "etc/ssh/ssh_host_rsa_key.pub", "");
    for (unit, target) in [
        ("curfew-agent.service", "sysinit"),
        ("curfew-backstop.timer", "sysinit"),
        ("curfew-backstop.service", "no"),
    ] {
        put(root, &format!("{UNITS}/{unit}"), format!("[Service]\nExecStart=-/{AGENT} run\n"));
        let wants = root.join(format!("{UNITS}/{target}.target.wants"));
        fs::create_dir_all(&wants).unwrap();
        symlink(format!("../{unit}"), wants.join(unit)).unwrap();
    }
    dir
}

fn fault(root: &Path, options: &Options) -> Option<u8> {
    let (config, complaints) = Config::from_options(options);
    let root = Root::new(root.to_owned(), false);
    first_fault(&inspect(&root, &config, &complaints)).map(|fault| fault as u8)
}

#[test]
fn a_good_image_passes() {
    assert_eq!(fault(image().path(), &Options::default()), None);
}

#[test]
fn each_fault_has_its_own_exit_code() {
    type Break = fn(&Path);
    let breaks: [(u8, Break); 21] = [
        (10, |root| {
            put(root, &format!("{UNITS}/curfew-agent.service"), "ExecStart=/opt/bin/curfew-agent run");
        }),
        (10, |root| fs::remove_file(root.join(AGENT)).unwrap()),
        (10, |root| agent(root, "#!/bin/sh")),
        (10, |root| agent(root, &elf(machine(), 1)[..60])),
        (10, |root| fs::set_permissions(root.join(AGENT), fs::Permissions::from_mode(0o644)).unwrap()),
        (10, |root| fs::rename(root.join(AGENT), root.join("usr/curfew-agent")).unwrap()),
        (11, |root| agent(root, elf(machine(), 3))),
        (12, |root| agent(root, elf(40, 1))),
        (14, |root| fs::remove_file(root.join(UNITS).join("curfew-agent.service")).unwrap()),
        (14, |root| fs::remove_dir_all(root.join(UNITS).join("sysinit.target.wants")).unwrap()),
        (14, |root| mask(root, "curfew-agent.service")),
        (14, |root| put(root, "etc/systemd/system/curfew-agent.service", "")),
        (15, |root| fs::remove_file(root.join(UNITS).join("curfew-backstop.timer")).unwrap()),
        (15, |root| fs::remove_file(root.join(UNITS).join("curfew-backstop.service")).unwrap()),
        (15, |root| mask(root, "curfew-backstop.timer")),
        (15, |root| mask(root, "curfew-backstop.service")),
        (16, |root| put(root, "etc/machine-id", "b08dfa6083e7567a1921a715000001fb\n")),
        (16, |root| fs::remove_file(root.join("etc/machine-id")).unwrap()),
        (16, |root| put(root, "var/lib/dbus/machine-id", "b08dfa6083e7567a1921a715000001fb\n")),
        (17, |root| put(root, "var/lib/curfew/ledger.json", "{}")),
        (20, |root| put(root, "var/lib/curfew/bootstrap/failed", "agent: no URL answered\n")),
    ];
    for (at, (exit, break_it)) in breaks.into_iter().enumerate() {
        let image = image();
        break_it(image.path());
        assert_eq!(fault(image.path(), &Options::default()), Some(exit), "the break at {at}");
    }
}

#[test]
fn what_only_one_machine_may_have_fails_an_image() {
    for (exit, path, content) in [
        (18, "etc/ssh/ssh_host_ed25519_key", "x"),
        (19, "var/lib/tailscale/tailscaled.state", "{}"),
        (19, "var/lib/zerotier-one/identity.secret", "x"),
        (19, "var/lib/netbird/default.json", "{\n \"WgPort\": 51820,\n \"PrivateKey\": \"aGVsbG8=\"\n}"),
        (19, "etc/netbird/config.json", "{\"WgPort\":51820,\"PrivateKey\":\"aGVsbG8=\"}"),
        (19, "etc/nebula/host.key", "x"),
        (19, "etc/nebula/config.yml", "pki:\n  key: |\n    -----BEGIN NEBULA X25519 PRIVATE KEY-----\n"),
        (19, "etc/wireguard/wg0.conf", "[Interface]\nPrivateKey = aGVsbG8=\n"),
        (19, "etc/wireguard/privatekey", "aGVsbG8=\n"),
        (19, "etc/systemd/network/wg0.netdev", "[WireGuard]\nPrivateKey=aGVsbG8=\n"),
        (19, "etc/NetworkManager/system-connections/wg0", "[wireguard]\nprivate-key=aGVsbG8=\n"),
    ] {
        let image = image();
        put(image.path(), path, content);
        assert_eq!(fault(image.path(), &Options::default()), Some(exit), "{path}");
    }
}

#[test]
fn the_units_may_be_in_the_systems_own_directory() {
    let image = image();
    fs::rename(image.path().join("etc/systemd"), image.path().join("usr/systemd")).unwrap();
    fs::create_dir_all(image.path().join("usr/lib")).unwrap();
    fs::rename(image.path().join("usr/systemd"), image.path().join("usr/lib/systemd")).unwrap();
    assert_eq!(fault(image.path(), &Options::default()), None);
    mask(image.path(), "curfew-agent.service");
    assert_eq!(fault(image.path(), &Options::default()), Some(14), "/etc comes first");
}

#[test]
fn an_image_that_links_out_of_itself_is_not_judged_by_the_build_host() {
    let (units, program, host) = (image(), image(), image());
    fs::remove_dir_all(units.path().join("etc/systemd")).unwrap();
    symlink(host.path().join("etc/systemd"), units.path().join("etc/systemd")).unwrap();
    assert_eq!(fault(units.path(), &Options::default()), Some(14));
    fs::remove_file(program.path().join(AGENT)).unwrap();
    symlink(host.path().join(AGENT), program.path().join(AGENT)).unwrap();
    assert_eq!(fault(program.path(), &Options::default()), Some(10));
}

#[test]
fn a_machine_in_use_may_have_an_identity_of_its_own() {
    let (config, _) = Config::from_options(&Options::default());
    let checked = |image: bool| {
        let root = Root::new("/".into(), image);
        [
            identity::machine_id(&root),
            identity::ledger(&root, &config),
            identity::overlay(&root),
            identity::ssh(&root),
        ]
    };
    assert!(checked(false).iter().all(Result::is_ok));
    assert!(Root::new("/".into(), true).is_image() && !Root::new("//".into(), false).is_image());
    assert!(Root::new("/somewhere".into(), false).is_image());
}

#[test]
fn an_option_that_makes_no_sense_fails_the_image_though_the_agent_would_run_on() {
    let options = Options { max_lifetime: Some("forever".into()), ..Options::default() };
    assert_eq!(fault(image().path(), &options), Some(13));
}

#[test]
fn the_options_of_an_image_are_those_its_own_services_will_be_given() {
    for (text, exit) in [
        ("# a comment\n; another\n\nCURFEW_MAX_LIFETIME=\"8h\"\nCURFEW_OBSERVE=no\nHCLOUD_TOKEN=x\n", None),
        ("CURFEW_MAX_LIFETIME=forever\n", Some(13)),
        ("CURFEW_MAX_LIFETIM=8h\n", Some(13)),
        ("CURFEW_MAX_LIFETIME\n", Some(13)),
        ("CURFEW_MAX_LIFETIME=8h --observe\n", Some(13)),
    ] {
        let image = image();
        put(image.path(), "etc/curfew/agent.env", text);
        assert_eq!(fault(image.path(), &Options::default()), exit, "{text}");
    }
}

#[test]
fn what_is_no_file_does_not_hold_an_image_build_up() {
    let image = image();
    let at = |path: &str| image.path().join(path);
    fs::create_dir_all(at("etc/wireguard")).unwrap();
    // Opening a FIFO that nobody writes to does not return.
    for path in ["etc/wireguard/pipe", "etc/curfew/agent.env"] {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        nix::unistd::mkfifo(&at(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    fs::File::create(at("etc/wireguard/sparse")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(fault(image.path(), &Options::default()), Some(13));
    fs::remove_file(at("etc/curfew/agent.env")).unwrap();
    assert_eq!(fault(image.path(), &Options::default()), None);
}

#[test]
fn an_image_that_is_not_there_fails() {
    assert_eq!(fault(Path::new("/nonexistent"), &Options::default()), Some(10));
}

fn mask(root: &Path, unit: &str) {
    let path = root.join(UNITS).join(unit);
    if path.exists() {
        fs::remove_file(&path).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/dev/null", path).unwrap();
}

const AGENT: &str = "usr/local/bin/curfew-agent";
const UNITS: &str = "etc/systemd/system";
