//! What Kubernetes is told on the machine: k3s by its configuration, a kubelet by its arguments.

use super::{
    carried::{CONFIG, JOIN_SECRET, K3S_CONFIG, KUBELET_DROP_IN},
    options::{Flavour, Options},
    parts::{Placed, at, own, texts},
};

/// What is in place before the join, with the Node's address filled in by the script.
pub(super) fn joined(options: &Options) -> Vec<Placed> {
    match &options.flavour {
        Flavour::None => Vec::new(),
        Flavour::K3s { .. } => vec![own("k3s.yaml", K3S_CONFIG, &k3s(options))],
        Flavour::Kubeadm { .. } => vec![
            own("kubelet.env", "@config/kubelet.env", &kubelet_env(options)),
            own("curfew-node.conf", "@units/kubelet.service.d/50-curfew-node.conf", KUBELET_DROP_IN),
        ],
    }
}

fn k3s(options: &Options) -> String {
    let Flavour::K3s { server, token, .. } = &options.flavour else { return String::new() };
    let mut text = format!(
        "server: \"{server}\"\ntoken-file: \"{}\"\n",
        at(token, JOIN_SECRET).replace("@config", CONFIG)
    );
    let mut list = |name: &str, values: Vec<String>| {
        if !values.is_empty() {
            let lines: Vec<_> = values.iter().map(|value| format!("  - \"{value}\"\n")).collect();
            text.extend([name, ":\n", &lines.concat()]);
        }
    };
    list("node-label", texts(&options.labels));
    list("node-taint", texts(&options.taints));
    list("kubelet-arg", texts(&options.kubelet_args));
    if options.private_network.is_some() {
        text.push_str("node-ip: \"@NODE_ADDRESS@\"\nflannel-iface: \"@NODE_INTERFACE@\"\n");
    }
    text
}

fn kubelet_env(options: &Options) -> String {
    let mut args = texts(&options.kubelet_args);
    for (name, values) in
        [("node-labels", texts(&options.labels)), ("register-with-taints", texts(&options.taints))]
    {
        if !values.is_empty() {
            args.push(format!("{name}={}", values.join(",")));
        }
    }
    if options.private_network.is_some() {
        args.push("node-ip=@NODE_ADDRESS@".into());
    }
    let args: Vec<_> = args.iter().map(|arg| format!("--{arg}")).collect();
    format!("KUBELET_EXTRA_ARGS=\"{}\"\n", args.join(" "))
}
