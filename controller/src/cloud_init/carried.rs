//! What every document carries out of this repository, and the places it goes to.

use super::options::Flavour;

macro_rules! repository {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path))
    };
}

/// Where curfew's own configuration goes, unless that is read-only: the script then writes another place into it.
pub(super) const CONFIG: &str = "/etc/curfew";
pub(super) const TOKEN: &str = "@config/token";
pub(super) const JOIN_SECRET: &str = "@config/join";
/// Read by k3s after `config.yaml`. Source: k3s's documentation, "Configuration File".
pub(super) const K3S_CONFIG: &str = "/etc/rancher/k3s/config.yaml.d/50-curfew.yaml";
/// After the distributions' own drop-in, which sets the same variable.
pub(super) const KUBELET_DROP_IN: &str = "[Service]\nEnvironmentFile=-/etc/curfew/kubelet.env\n";

/// What must not start before the machine is armed.
pub(super) const HELD: [&str; 5] = ["kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent"];
pub(super) const HELD_BY: &str = "no-watchdog-no-join.conf";
pub(super) const HELD_BY_TEXT: &str = repository!("systemd/no-watchdog-no-join.conf");

pub(super) const RUN: &str = repository!("cloud-init/bootstrap.sh");
pub(super) const PLACE: &str = repository!("cloud-init/place.sh");
pub(super) const FETCH: &str = repository!("cloud-init/fetch.sh");
pub(super) const HOLD: &str = repository!("cloud-init/hold.sh");
pub(super) const K3S_UNIT: &str = repository!("cloud-init/k3s-agent.service");

pub(super) const UNITS: [(&str, &str); 5] = [
    ("curfew-agent.service", repository!("systemd/curfew-agent.service")),
    ("curfew-armed.service", repository!("systemd/curfew-armed.service")),
    ("curfew-backstop.service", repository!("systemd/curfew-backstop.service")),
    ("curfew-backstop.timer", repository!("systemd/curfew-backstop.timer")),
    ("curfew-bootstrap.service", repository!("cloud-init/curfew-bootstrap.service")),
];
pub(super) const GUARD: &str = repository!("systemd/curfew-metadata-guard.service");
pub(super) const GUARD_RULES: &str = repository!("systemd/metadata-guard.nft");

/// The script's part that joins.
pub(super) fn join(flavour: &Flavour) -> &'static str {
    match flavour {
        Flavour::None => repository!("cloud-init/join-none.sh"),
        Flavour::K3s { .. } => repository!("cloud-init/join-k3s.sh"),
        Flavour::Kubeadm { .. } => repository!("cloud-init/join-kubeadm.sh"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_held_is_held_everywhere() {
        let list = HELD.join(" ");
        assert_eq!(HOLD.matches(&format!("for service in {list}; do")).count(), 2);
        let before = GUARD.lines().find(|line| line.starts_with("Before=kubelet")).unwrap();
        assert_eq!(before, HELD.map(|name| format!("{name}.service")).join(" ").replacen("", "Before=", 1));
    }
}
