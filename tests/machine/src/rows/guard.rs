//! The guard: whatever is in user-data, pods cannot read it; root's agent can ask who it is.

use std::time::Duration;

use super::{Played, RowError, Stage};
use crate::bed::Bed;

pub(super) async fn play(stage: &Stage) -> Played {
    let scene = stage.container().await?;
    scene.proven(BOUND).await?;
    let after = scene.booted.elapsed();
    // The bootstrap loads it after the agent has armed, and before anything joins.
    scene.says("curfew-bootstrap: guard done", BOUND).await?;
    scene.machine.run(POD).await?;
    let ask = |who: &str| {
        format!(
            "{who} curl -s -m 5 -w ' %{{http_code}}' http://169.254.169.254/hetzner/v1/userdata | tail -c 5"
        )
    };
    let own = scene.machine.run(&ask("")).await?;
    let pod = scene.machine.run(&ask("ip netns exec pod")).await?;
    // Without the guard the pod could: it is the guard, and not the cable, that refuses.
    scene.machine.run("nft delete table inet curfew_metadata_guard").await?;
    let unguarded = scene.machine.run(&ask("ip netns exec pod")).await?;
    if (own.contains("200"), pod.contains("200"), unguarded.contains("200")) == (true, false, true) {
        return Ok(scene.seen(after, BOUND));
    }
    Err(RowError::Unexpected(format!("root reads:{own}; a pod:{pod}; a pod without the guard:{unguarded}")))
}

/// A network namespace behind a bridge and an address translation, as a pod's is.
const POD: &str = "ip netns add pod && ip link add cni0 type bridge && ip addr add 10.244.0.1/24 dev cni0 && \
    ip link set cni0 up && ip link add veth0 type veth peer name eth0 netns pod && ip link set veth0 master cni0 up && \
    ip -n pod addr add 10.244.0.2/24 dev eth0 && ip -n pod link set eth0 up && ip -n pod route add default via 10.244.0.1 && \
    echo 1 >/proc/sys/net/ipv4/ip_forward && nft add table ip nat && \
    nft 'add chain ip nat post { type nat hook postrouting priority 100; }' && \
    nft 'add rule ip nat post ip saddr 10.244.0.0/24 oifname != \"cni0\" masquerade'";
const BOUND: Duration = Duration::from_secs(45);
