//! `x-kubernetes-validations`: the part of CEL that definitions here use. Pure.
//!
//! Known: literals, `self`, `oldSelf`, fields, `has`, `size`, `duration`, `timestamp`, comparison, arithmetic of numbers,
//! durations and times, `&&`, `||`, `!`, `?:`. A definition that uses more is refused when it is created
//! ([`unreadable`]), so no rule is ever taken and then not checked.

mod eval;
mod parse;

use serde_json::Value;

use super::schema::Found;
use eval::Scope;

/// Checks every rule of a schema. `old` is what a transition rule (one that names `oldSelf`) compares with; such
/// rules are skipped where there is none.
pub(crate) fn check(schema: &Value, value: &Value, old: Option<&Value>, path: &str, found: &mut Found) {
    for rule in rules(schema) {
        let text = rule["rule"].as_str().unwrap_or_default();
        let Ok(expression) = parse::expression(text) else { continue };
        if expression.names("oldSelf") && old.is_none() {
            continue;
        }
        let scope = Scope { schema, value, old };
        let fault = match scope.holds(&expression) {
            Ok(true) => continue,
            Ok(false) => rule["message"].as_str().map_or_else(|| format!("failed rule: {text}"), Into::into),
            Err(error) => format!("rule {text:?} could not be evaluated: {error}"),
        };
        let kind = schema["type"].as_str().unwrap_or("object");
        let at = format!("{path}{}", rule["fieldPath"].as_str().unwrap_or_default());
        found.push((at, format!("Invalid value: {kind:?}: {fault}")));
    }
    for (name, child) in value.as_object().into_iter().flatten() {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(inner) = schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
            check(inner, child, old.and_then(|o| o.get(name)), &below, found);
        }
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        check(&schema["items"], item, None, &format!("{path}[{at}]"), found);
    }
}

/// The rules of a schema that could not be checked. `in_list`: items have no old value to be compared with.
pub(crate) fn unreadable(schema: &Value, in_list: bool, path: &str, found: &mut Found) {
    for (at, rule) in rules(schema).iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{at}]");
        match parse::expression(rule["rule"].as_str().unwrap_or_default()) {
            Err(error) => {
                found.push((format!("{path}.rule"), format!("Invalid value: compilation failed: {error}")));
            }
            Ok(rule) if in_list && rule.names("oldSelf") => {
                found
                    .push((format!("{path}.rule"), "Invalid value: oldSelf cannot be used in a list".into()));
            }
            Ok(_) => {}
        }
        for word in ["messageExpression", "optionalOldSelf"] {
            if rule.get(word).is_some() {
                found.push((format!("{path}.{word}"), "Forbidden: not supported by this sandbox".into()));
            }
        }
    }
}

fn rules(schema: &Value) -> &[Value] {
    schema["x-kubernetes-validations"].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(rule: &str) -> Value {
        let duration = json!({"type": "string", "format": "duration"});
        json!({"type": "object", "properties": {
            "slack": duration, "renewInterval": duration, "grace": duration, "count": {"type": "integer"},
            "names": {"type": "object", "additionalProperties": {"type": "string"}},
        }, "x-kubernetes-validations": [{"rule": rule, "message": "no"}]})
    }

    fn holds(rule: &str, value: &Value, old: Option<&Value>) -> bool {
        let mut found = Vec::new();
        unreadable(&schema(rule), false, "", &mut found);
        assert_eq!(found, [], "{rule}");
        check(&schema(rule), value, old, "", &mut found);
        found.is_empty()
    }

    #[test]
    fn durations_are_compared_by_value_and_not_by_text() {
        let watchdog = json!({"slack": "10m", "renewInterval": "90s", "grace": "300s", "count": 3});
        for (rule, expected) in [
            ("self.slack > self.renewInterval", true),
            ("self.slack == duration('600s')", true),
            ("self.slack < duration('24h') && self.renewInterval >= duration('10s')", true),
            (
                "!has(self.grace) || (self.grace >= duration('0s') && self.grace + self.grace <= self.slack)",
                true,
            ),
            ("self.grace + self.grace < self.slack", false),
            ("has(self.missing)", false),
            ("has(self.missing) ? self.missing : self.count == 1 + 2", true),
            ("size(self) == 4 && self.count * 2 - 1 == 5", true),
        ] {
            assert_eq!(holds(rule, &watchdog, None), expected, "{rule}");
        }
    }

    #[test]
    fn a_missing_field_fails_the_rule_unless_the_other_side_decides() {
        assert!(!holds("self.grace > duration('1s')", &json!({}), None));
        assert!(holds("self.grace > duration('1s') || true", &json!({}), None));
        assert!(!holds("self.grace > duration('1s') && true", &json!({}), None));
    }

    #[test]
    fn a_transition_rule_is_checked_only_where_there_was_something() {
        let (now, same, other) = (json!({"slack": "30m"}), json!({"slack": "1800s"}), json!({"slack": "1h"}));
        let rule = "self == oldSelf";
        assert!(holds(rule, &now, None));
        assert!(holds(rule, &now, Some(&same)));
        assert!(!holds(rule, &now, Some(&other)));
        assert!(!holds(rule, &now, Some(&json!({"slack": "30m", "count": 1}))));
    }

    #[test]
    fn what_is_not_known_is_refused_with_the_definition() {
        for rule in
            ["self.names.all(n, n != 'x')", "self.slack >", "format.dns1123Label()", "self.a in [1]", "x'"]
        {
            let mut found = Vec::new();
            unreadable(&schema(rule), false, "", &mut found);
            assert_eq!(found.len(), 1, "{rule}");
        }
    }
}
