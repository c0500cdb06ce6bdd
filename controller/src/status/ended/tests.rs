use serde_json::json;

use super::*;
use crate::{
    distinct::{Mark, Twins},
    fixture::{NOW, lease, node, reading},
};

fn residue(id: u64, monthly: Option<&str>) -> Residue {
    let (name, monthly) = (Some(format!("v{id}")), monthly.map(Into::into));
    Residue { kind: "Volume".into(), id, name, monthly }
}

fn said(lease: &Lease, left: &[Residue]) -> Option<(bool, String, String)> {
    let said = residue_free(lease, &lease.status.instances, left, reading(60))?;
    Some((said.holds, said.reason, said.message))
}

#[test]
fn residue_is_named_with_what_it_costs() {
    let lease = lease("burst", "10m", |_| {});
    assert_eq!(said(&lease, &[]), None, "nothing is gone yet");
    let (holds, reason, message) =
        said(&lease, &[residue(1, Some("4.40 EUR")), residue(2, Some("0.60 EUR"))]).unwrap();
    assert_eq!((holds, reason.as_str()), (false, "ResidueLeft"));
    assert_eq!(
        message,
        "costs 5.00 EUR a month until somebody deletes it at the provider: Volume 1 (v1), 4.40 EUR, Volume 2 (v2), 0.60 EUR"
    );
    let (.., message) = said(&lease, &[residue(1, Some("4.40 EUR")), residue(2, None)]).unwrap();
    assert!(message.starts_with("costs at least 4.40 EUR a month"), "{message}");
    let (.., message) = said(&lease, &[residue(1, None)]).unwrap();
    assert!(message.starts_with("costs an unknown sum a month"), "{message}");
}

#[test]
fn attachments_left_are_named_and_nothing_left_is_said_only_once_it_is_known() {
    let gone = |attachments: serde_json::Value, attached: serde_json::Value| {
        lease("burst", "10m", |object| {
            object["status"]["instances"] = json!([{ "slot": 0, "volumeAttachments": attachments,
                "attached": attached, "receipt": { "absentAt": NOW.to_string() } }]);
        })
    };
    let (holds, reason, message) = said(&gone(json!(["csi-1"]), json!([])), &[]).unwrap();
    assert_eq!((holds, reason.as_str()), (false, "VolumeAttachmentsLeft"));
    assert_eq!(message, "1 VolumeAttachments outlived their machines, first csi-1");
    assert!(said(&gone(json!([]), json!([])), &[]).is_some_and(|(holds, ..)| holds));
    assert_eq!(said(&gone(json!([]), json!([{ "kind": "Volume", "id": 1 }])), &[]), None);
}

#[test]
fn twins_are_named_on_the_leases_that_hold_one_and_on_no_other() {
    let twins = [Twins { mark: Mark::MachineId("a"), nodes: vec!["n1", "n2"] }];
    let (n1, n3) = (node("n1", &[]), node("n3", &[]));
    let ours = machines_distinct(&[&n1], &twins).unwrap();
    assert_eq!((ours.holds, ours.reason.as_str()), (false, "SharedIdentity"));
    assert!(
        ours.message.starts_with("n1, n2 have one machine-id a: the image was taken"),
        "{}",
        ours.message
    );
    assert!(machines_distinct(&[&n3], &twins).unwrap().holds);
    assert!(machines_distinct(&[], &twins).is_none());
}
