//! What only one machine may have, and all machines made from an image would share.

use super::{Checked, Fault, Root};
use crate::config::Config;

/// machine-id(5): an image must ship it empty, or with the word `uninitialized`. Without the file, a root that is mounted
/// read-only at first gets none. systemd takes the id that D-Bus left, if there is one: machine-id-setup(1).
pub(super) fn machine_id(root: &Root) -> Checked {
    let fault = |why: &str| Err((Fault::MachineId, why.to_owned()));
    let holds_one = |id: &[u8]| !matches!(id.trim_ascii(), b"" | b"uninitialized");
    match root.read("/etc/machine-id") {
        _ if !root.is_image() => Ok(()),
        Ok(id) if holds_one(&id) => fault("empty /etc/machine-id before the image is taken"),
        Err(_) => fault("make an empty /etc/machine-id"),
        Ok(_) if root.read("/var/lib/dbus/machine-id").is_ok_and(|id| holds_one(&id)) => {
            fault("remove /var/lib/dbus/machine-id, or link it to /etc/machine-id")
        }
        Ok(_) => Ok(()),
    }
}

/// The bootstrap's files may be there; whatever else is was left by an agent that ran.
pub(super) fn ledger(root: &Root, config: &Config) -> Checked {
    let dir = config.state_dir.to_string_lossy();
    let left = root.names(&dir).into_iter().find(|name| name != "bootstrap");
    match left.filter(|_| root.is_image()) {
        Some(name) => Err((Fault::Ledger, format!("remove {dir}/{name}"))),
        None => Ok(()),
    }
}

/// Its marker would show on every machine, and name what is none of theirs.
pub(super) fn bootstrap(root: &Root, config: &Config) -> Checked {
    let marker = config.state_dir.join("bootstrap/failed");
    let marker = marker.to_string_lossy();
    if root.is_image() && root.contains(&marker) {
        return Err((Fault::Bootstrap, format!("mend what {marker} names, then remove the file")));
    }
    Ok(())
}

/// sshd makes new ones where there are none.
pub(super) fn ssh(root: &Root) -> Checked {
    let is_host_key = |name: &String| name.starts_with("ssh_host_") && name.ends_with("_key");
    match root.names("/etc/ssh").into_iter().find(is_host_key) {
        Some(name) if root.is_image() => Err((Fault::SshHostKey, format!("remove /etc/ssh/{name}"))),
        _ => Ok(()),
    }
}

/// Two machines with one identity in an overlay network take each other's traffic.
pub(super) fn overlay(root: &Root) -> Checked {
    let inside = |dir: &str| {
        let path = |name: String| format!("{dir}/{name}");
        let is_key = |path: &str| [".key", "privatekey"].iter().any(|end| path.ends_with(end));
        root.names(dir).into_iter().map(path).find(|path| is_key(path) || holds_private_key(root, path))
    };
    let whole = || IDENTITIES.iter().find(|path| root.read(path).is_ok_and(|text| !text.is_empty()));
    let found =
        whole().map(|path| (*path).to_owned()).or_else(|| PRIVATE_KEYS.iter().find_map(|dir| inside(dir)));
    match found.filter(|_| root.is_image()) {
        Some(path) => Err((Fault::Overlay, format!("remove the identity in {path}"))),
        None => Ok(()),
    }
}

/// `PrivateKey = …` of WireGuard and systemd-networkd, `"PrivateKey": "…"` of NetBird, `private-key=…` of NetworkManager,
/// with something after it, or a key in PEM. Settings without a key may be baked.
fn holds_private_key(root: &Root, path: &str) -> bool {
    let Ok(text) = root.read(path) else { return false };
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    let settings = text.split(['\n', '{', ',']).map(|setting| setting.trim().trim_start_matches('"'));
    let mut keys =
        settings.filter_map(|s| s.strip_prefix("privatekey").or_else(|| s.strip_prefix("private-key")));
    text.contains("private key-----")
        || keys.any(|key| {
            key.starts_with([' ', '=', '"', ':']) && key.bytes().any(|b| b.is_ascii_alphanumeric())
        })
}

/// Files that are an identity.
const IDENTITIES: [&str; 3] = [
    "/var/lib/tailscale/tailscaled.state",
    "/var/snap/tailscale/common/tailscaled.state",
    "/var/lib/zerotier-one/identity.secret",
];
/// Directories whose files hold one if they hold a key. NetBird's older name was Wiretrustee.
const PRIVATE_KEYS: [&str; 8] = [
    "/etc/wireguard",
    "/etc/nebula",
    "/etc/systemd/network",
    "/etc/NetworkManager/system-connections",
    "/var/lib/netbird",
    "/etc/netbird",
    "/var/lib/wiretrustee",
    "/etc/wiretrustee",
];
