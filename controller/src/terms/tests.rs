use super::*;

fn spec(json: &str) -> Terms {
    Terms::read(&serde_json::from_str(json).unwrap())
}

#[test]
fn a_bad_edit_of_the_watchdog_leaves_the_duration_in_force() {
    let terms = spec(
        r#"{"duration":"1h","watchdog":{"renewInterval":"1m","slack":"1m"},"adopt":{"nodeSelector":{"a":"b"}}}"#,
    );
    assert_eq!(terms.duration, Some(SignedDuration::from_hours(1)));
    assert_eq!(terms.watchdog, None, "the default holds");
    assert_eq!(
        terms.problems,
        ["spec.watchdog: slack 1m0s is not longer than renewInterval; the default (1m, 10m) is in force"]
    );
}

#[test]
fn a_lease_that_names_no_grace_has_the_usual_one_and_zero_means_none() {
    for (watchdog, grace) in [
        ("{}", Some("2m0s")),
        (r#"{"slack":"2m"}"#, Some("1m0s")),
        (r#"{"slack":"2m","grace":"10s"}"#, Some("10s")),
        (r#"{"grace":"0s"}"#, None),
    ] {
        let json =
            format!(r#"{{"duration":"1h","watchdog":{watchdog},"adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#);
        let terms = spec(&json);
        assert_eq!(
            terms.watchdog.unwrap().grace().map(|grace| grace.to_string()).as_deref(),
            grace,
            "{watchdog}"
        );
        assert!(terms.problems.is_empty(), "{:?}", terms.problems);
    }
}

#[test]
fn durations_that_the_schema_would_refuse_are_refused_here_too() {
    for text in ["4s", "721h", "1 day", "-1h", "", "1e3h"] {
        let terms = spec(&format!(r#"{{"duration":"{text}","adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#));
        assert_eq!((terms.duration, terms.problems.len()), (None, 1), "{text}");
    }
}

#[test]
fn an_empty_selector_holds_no_node() {
    let terms = spec(r#"{"duration":"1h","adopt":{"nodeSelector":{}}}"#);
    assert!(!terms.selects(&BTreeMap::from([("a".into(), "b".into())])));
    assert_eq!(terms.problems.len(), 1);
}
