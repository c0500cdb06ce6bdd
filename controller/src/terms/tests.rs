use curfew_provider::{Architecture, CpuKind, ImageRef};

use super::*;
use crate::observe::Provider;

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

fn rent(rent: &str) -> Terms {
    spec(&format!(r#"{{"duration":"1h","rent":{{"providerRef":{{"name":"p"}},"region":"fsn1",{rent}}}}}"#))
}

#[test]
fn what_is_to_be_rented_is_read_into_the_providers_terms() {
    let terms = rent(r#""size":"cpx22","replicas":3"#);
    let size = RentTerms {
        provider: "p".into(),
        region: "fsn1".into(),
        want: Want::Size("cpx22".into()),
        replicas: 3,
    };
    assert_eq!((terms.rent(), terms.teardown_grace), (Some(&size), SignedDuration::from_mins(2)));
    let needs =
        rent(r#""requirements":{"minCpu":4,"minMemory":"8G","architecture":"arm64","cpuType":"shared"}"#);
    let Some(RentTerms { want: Want::Requirements(needs), replicas: 1, .. }) = needs.rent() else { panic!() };
    // 8 GB are 7629.4 MiB: a machine with 7629 would not do.
    assert_eq!((needs.min_cpu, needs.min_memory_mib), (4, 7630));
    assert_eq!((needs.architecture, needs.cpu), (Some(Architecture::Arm64), Some(CpuKind::Shared)));
}

#[test]
fn what_cannot_be_rented_holds_nothing_and_says_why() {
    for (text, word) in [
        (r#""size":"a","requirements":{}"#, "exactly one of size and requirements"),
        (r#""replicas":1"#, "exactly one of size and requirements"),
        (r#""size":"a","replicas":0"#, "spec.rent.replicas: 0 is not from 1 to 64"),
        (r#""size":"a","replicas":-1"#, "spec.rent.replicas: -1"),
        (r#""requirements":{"minCpu":65}"#, "spec.rent.requirements.minCpu: 65"),
        (r#""requirements":{"minMemory":"8"}"#, "minMemory: \"8\" is not"),
        (r#""requirements":{"minMemory":"+8Gi"}"#, "minMemory"),
        (r#""requirements":{"minMemory":"99999999999T"}"#, "minMemory"),
    ] {
        let terms = rent(text);
        assert_eq!(terms.holding, Holding::Nothing, "{text}");
        assert!(
            terms.problems.len() == 1 && terms.problems[0].contains(word),
            "{text}: {:?}",
            terms.problems
        );
    }
    let both = r#"{"duration":"1h","adopt":{"nodeSelector":{"a":"b"}},"rent":{"providerRef":{"name":"p"},"region":"r","size":"s"}}"#;
    for text in [both, r#"{"duration":"1h"}"#] {
        assert_eq!(spec(text).problems, ["spec: exactly one of adopt and rent must be set"]);
    }
}

#[test]
fn a_short_lease_that_names_no_teardown_grace_is_not_drained_from_its_first_second() {
    for (duration, seconds) in [("30s", 15), ("4m", 120), ("8h", 120)] {
        let terms = spec(&format!(r#"{{"duration":"{duration}","adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#));
        assert_eq!(terms.teardown_grace.as_secs(), seconds, "{duration}");
    }
}

#[test]
fn a_bad_teardown_grace_falls_back_to_the_usual_one() {
    for (grace, minutes, problems) in [("15m", 15, 0), ("0s", 0, 0), ("16m", 2, 1), ("soon", 2, 1)] {
        let terms = spec(&format!(
            r#"{{"duration":"1h","teardownGrace":"{grace}","adopt":{{"nodeSelector":{{"a":"b"}}}}}}"#
        ));
        assert_eq!((terms.teardown_grace.as_mins(), terms.problems.len()), (minutes, problems), "{grace}");
    }
}

fn config(change: &str) -> Result<Config, String> {
    let mut object = serde_json::json!({
        "hetzner": {"credentialsSecretRef": {"name": "hcloud"}, "image": {"name": "debian-12"}},
        "userDataSecretRef": {"name": "worker"},
    });
    merge(&mut object, &serde_json::from_str(change).unwrap());
    Config::read(&serde_json::from_value(object).unwrap())
}

fn merge(into: &mut serde_json::Value, change: &serde_json::Value) {
    for (key, value) in change.as_object().unwrap() {
        match value {
            serde_json::Value::Null => drop(into.as_object_mut().unwrap().remove(key)),
            serde_json::Value::Object(_) if into[key].is_object() => merge(&mut into[key], value),
            _ => into[key] = value.clone(),
        }
    }
}

#[test]
fn a_configuration_that_says_little_is_read_with_the_defaults_that_are_promised() {
    let config = config("{}").unwrap();
    let key = |name: &str, key: &str| SecretKey { name: name.into(), key: key.into() };
    assert_eq!(
        (&config.credential, &config.user_data),
        (&key("hcloud", "token"), &key("worker", "user-data"))
    );
    assert_eq!((config.watchdog, config.max_lifetime), (Watchdog::default(), SignedDuration::from_hours(24)));
    assert_eq!((config.public_ipv4, config.public_ipv6, config.node_credential), (true, true, None));
    assert_eq!(config.image, ImageRef::Name("debian-12".into()));
}

#[test]
fn a_configuration_that_cannot_be_kept_is_refused_whole() {
    for (change, word) in [
        (r#"{"hetzner":{"image":{"id":7}}}"#, "exactly one of name, id and selector"),
        (r#"{"hetzner":{"image":{"name":null}}}"#, "exactly one of name, id and selector"),
        (r#"{"hetzner":{"image":{"name":null,"id":9007199254740992}}}"#, "hetzner.image.id"),
        (r#"{"nodeCredential":{}}"#, "exactly one of secretRef and onImage: true"),
        (r#"{"nodeCredential":{"onImage":false}}"#, "exactly one of secretRef and onImage: true"),
        (r#"{"watchdog":{"slack":"30s"}}"#, "slack 30s is not longer than renewInterval"),
        (r#"{"watchdog":{"maxLifetime":"1m"}}"#, "watchdog.maxLifetime: 1m0s is not from 5m0s to 9600h0m0s"),
    ] {
        let said = config(change).unwrap_err();
        assert!(said.contains(word), "{change}: {said}");
    }
}

#[test]
fn a_configuration_that_became_unreadable_leaves_the_last_one_in_force() {
    let object = |image: serde_json::Value| {
        let spec = serde_json::json!({
            "hetzner": {"credentialsSecretRef": {"name": "hcloud"}, "image": image}, "userDataSecretRef": {"name": "w"},
        });
        let object = serde_json::json!({"metadata": {"name": "p", "uid": "u"}, "spec": spec});
        serde_json::from_value(object).unwrap()
    };
    let known = Provider::read(object(serde_json::json!({"id": 7})), None);
    for bad in [serde_json::json!({}), serde_json::json!("debian-12")] {
        let now = Provider::read(object(bad), Some(&known));
        assert!(now.broken.is_some() && now.config == known.config && now.config.is_some());
    }
}
