use super::*;

#[test]
fn nothing_is_filled_into_a_status() {
    for definition in definitions() {
        let definition = serde_json::to_value(definition).unwrap();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert!(schema["status"]["properties"]["conditions"].is_object());
        assert!(!schema["status"].to_string().contains("\"default\""), "{}", schema["status"]);
    }
}

#[test]
fn deploy_holds_the_definitions_that_the_program_prints() {
    let committed = include_str!("../../../deploy/crd.yaml");
    assert_eq!(print().unwrap(), committed, "run: curfew-controller crd > deploy/crd.yaml");
}

#[test]
fn a_lease_needs_no_more_than_a_duration_and_a_selector() {
    let spec: CapacityLeaseSpec =
        serde_json::from_str(r#"{"duration":"8h","adopt":{"nodeSelector":{"pool":"burst"}}}"#).unwrap();
    assert_eq!((spec.watchdog, spec.teardown_grace, spec.rent), (None, None, None));
    assert_eq!(spec.adopt.unwrap().on_release, OnRelease::Expire);
}

#[test]
fn a_phase_of_a_newer_controller_leaves_the_lease_readable() {
    let status = |phase: &str| {
        serde_json::from_str::<CapacityLeaseStatus>(&format!(r#"{{"phase":{phase}}}"#)).unwrap().phase
    };
    assert_eq!((status("\"Draining\""), status("null")), (None, None));
    assert_eq!(status("\"Active\""), Some(Phase::Active));
}

#[test]
fn an_unset_field_of_the_status_is_removed_by_the_patch() {
    let patch = serde_json::to_value(CapacityLeaseStatus::default()).unwrap();
    assert!(patch["releasedAt"].is_null() && patch.get("releasedAt").is_some());
}
