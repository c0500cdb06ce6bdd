use serde_json::json;

use super::*;
use crate::fixture::{NOW, lease, reading};

/// One machine that is gone since [`NOW`], and one that is not, with what is attached to each.
fn two() -> Lease {
    let attached = |id: u64| json!([{ "kind": "Volume", "id": id }, { "kind": "PrimaryIP", "id": id + 1 }]);
    lease("burst", "10m", |object| {
        object["status"]["instances"] = json!([
            { "slot": 0, "attached": attached(10), "receipt": { "absentAt": NOW.to_string() } },
            { "slot": 1, "attached": attached(20) }
        ]);
    })
}

fn residue(id: u64) -> crd::Residue {
    crd::Residue { kind: "Volume".into(), id, name: Some("data".into()), monthly: Some("4.40 EUR".into()) }
}

const VOLUME: Thing = (ResidueKind::Volume, 10);
const ADDRESS: Thing = (ResidueKind::PrimaryIp, 11);

#[test]
fn what_a_machine_that_is_gone_had_is_looked_up_soon_and_only_that() {
    let lease = two();
    assert_eq!(due(&lease, reading(9)), (vec![], Some(reading(10).up)));
    assert_eq!(due(&lease, reading(10)), (vec![VOLUME, ADDRESS], None));
    assert!(!is_known(&lease, reading(15)));
}

#[test]
fn what_still_exists_is_looked_up_again_each_ten_minutes_for_a_day() {
    let mut lease = two();
    lease.looked.note(VOLUME, Some(residue(10)), reading(15).up);
    lease.looked.note(ADDRESS, None, reading(15).up);
    assert!(is_known(&lease, reading(15)));
    assert_eq!(left(&lease), [residue(10)]);
    assert_eq!(due(&lease, reading(74)), (vec![], Some(reading(75).up)), "it may have been on its way out");
    lease.looked.note(VOLUME, Some(residue(10)), reading(75).up);
    assert_eq!(due(&lease, reading(674)), (vec![], Some(reading(675).up)));
    assert_eq!(due(&lease, reading(675)), (vec![VOLUME], None));
    assert_eq!(due(&lease, reading(24 * 3600 + 1)), (vec![], None));
    assert_eq!(left(&lease), [residue(10)], "what was known last stands");
    lease.looked.note(VOLUME, None, reading(615).up);
    assert_eq!(left(&lease), []);
    assert_eq!(due(&lease, reading(2000)), (vec![], None));
}

#[test]
fn what_nobody_can_tell_of_is_asked_once_a_minute_and_keeps_nothing_else_from_being_named() {
    let mut lease = two();
    lease.looked.failed(VOLUME, reading(10).up);
    lease.looked.note(ADDRESS, None, reading(10).up);
    assert_eq!(due(&lease, reading(69)), (vec![], Some(reading(70).up)));
    assert_eq!(due(&lease, reading(70)), (vec![VOLUME], None));
    assert!(!is_known(&lease, reading(70)));
    lease.looked.note(VOLUME, Some(residue(10)), reading(70).up);
    assert_eq!(left(&lease), [residue(10)]);
}

#[test]
fn a_new_controller_believes_the_status_until_it_has_looked_itself() {
    let mut lease = two();
    lease.status.residue = vec![residue(10)];
    assert_eq!(left(&lease), [residue(10)]);
    assert!(!is_known(&lease, reading(15)));
    lease.looked.note(VOLUME, None, reading(20).up);
    assert_eq!(left(&lease), []);
}

#[test]
fn a_deleted_lease_waits_for_the_look_but_not_for_ever() {
    let mut lease = two();
    assert!(!was_told(&lease, reading(60)));
    assert!(was_told(&lease, reading(61)));
    for thing in [VOLUME, ADDRESS] {
        lease.looked.note(thing, None, reading(20).up);
    }
    assert!(was_told(&lease, reading(20)));
}

#[test]
fn everything_that_may_outlive_a_server_is_noted() {
    let attached =
        Attached { volumes: vec![1], floating_ips: vec![2], primary_ips: vec![3], load_balancers: vec![4] };
    let noted = attachments(&attached);
    let kinds: Vec<_> = noted.iter().map(|noted| (noted.kind.as_str(), noted.id)).collect();
    assert_eq!(kinds, [("Volume", 1), ("PrimaryIP", 3), ("FloatingIP", 2), ("LoadBalancer", 4)]);
    assert!(kinds.iter().all(|(kind, _)| read(kind).is_some()));
}
