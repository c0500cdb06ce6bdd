use super::*;
use crate::{
    fixture::{NOW, lease, node, world},
    observe::{Full, Node},
};

fn known(name: &str, change: impl FnOnce(&mut Full)) -> Node {
    let mut node = node(name, &[]);
    change(node.full.get_or_insert_default());
    node
}

fn said(nodes: impl IntoIterator<Item = Node>) -> Vec<String> {
    let world = world([lease("a", "1h", |_| {})], nodes);
    twins(&world, NOW).iter().map(ToString::to_string).collect()
}

#[test]
fn two_nodes_from_one_image_are_named_with_what_they_share() {
    let machine = |id: &str| {
        let id = id.to_owned();
        move |full: &mut Full| full.machine_id = Some(id)
    };
    assert_eq!(said([known("n1", machine("a")), known("n2", machine("b"))]), [""; 0]);
    assert_eq!(
        said([known("n1", machine("a")), known("n2", machine("a")), known("n3", machine("a"))]),
        ["n1, n2, n3 have one machine-id a"]
    );
    let rest = |full: &mut Full| {
        full.system_uuid = Some("4c4c".into());
        full.internal_ips = vec!["10.0.0.5".into()];
        full.pod_cidrs = vec!["10.42.1.0/24".into()];
    };
    assert_eq!(
        said([known("n1", rest), known("n2", rest)]),
        [
            "n1, n2 have one system UUID 4c4c",
            "n1, n2 have one InternalIP 10.0.0.5",
            "n1, n2 have one pod CIDR 10.42.1.0/24"
        ]
    );
}

#[test]
fn one_overlay_address_is_seen_without_the_full_node() {
    for (key, value, shared) in [
        ("flannel.alpha.coreos.com/backend-data", r#"{"VNI":1,"VtepMAC":"0e:6a"}"#, true),
        ("flannel.alpha.coreos.com/backend-data", r#"{"VNI":1,"VtepMAC":""}"#, false),
        ("flannel.alpha.coreos.com/backend-data", "null", false),
        ("projectcalico.org/IPv4VXLANTunnelAddr", "10.244.3.1", true),
        ("network.cilium.io/ipv4-cilium-host", "10.0.1.7", true),
        ("example.com/anything", "10.0.1.7", false),
    ] {
        let nodes = ["n1", "n2"].map(|name| Node { full: None, ..node(name, &[(key, value)]) });
        assert_eq!(said(nodes).len(), usize::from(shared), "{key} {value}: {:?}", twins_of(key, value));
    }
}

fn twins_of(key: &str, value: &str) -> Vec<String> {
    said(["n1", "n2"].map(|name| node(name, &[(key, value)])))
}

#[test]
fn a_node_that_no_lease_holds_is_nobodys_twin_and_what_says_nothing_is_no_mark() {
    let machine = |full: &mut Full| full.machine_id = Some("a".into());
    let mut other = known("n2", machine);
    other.labels.clear();
    assert_eq!(said([known("n1", machine), other]), [""; 0]);
    let world = world([lease("a", "1h", |_| {})], [node("n1", &[]), node("n2", &[])]);
    assert_eq!(twins(&world, NOW), []);
}
