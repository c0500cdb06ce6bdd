//! Structural schemas of custom resources: prune, default, validate. Pure.
//!
//! `x-kubernetes-validations` are evaluated by [`super::cel`], which knows a part of the language. A definition
//! that asks for more than is checked here is refused when it is created ([`unsupported`]), never taken and
//! then ignored.

use curfew_contract::duration;
use regex::Regex;
use serde_json::{Map, Value};

use super::{cel, resource::strings};

/// Pairs of field path and message.
pub(crate) type Found = Vec<(String, String)>;

/// What one version of a definition says beyond names.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    pub(crate) schema: Value,
    /// `additionalPrinterColumns`.
    pub(crate) columns: Vec<Value>,
}

impl Custom {
    pub(crate) fn of_version(version: &Value) -> Self {
        Self {
            schema: version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default(),
            columns: version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default(),
        }
    }

    /// Whether `status.conditions` is a map by `type` for server-side apply.
    pub(crate) fn merges_conditions(&self) -> bool {
        let list = "/properties/status/properties/conditions/x-kubernetes-list-map-keys";
        self.schema.pointer(list).is_some_and(|keys| keys == &serde_json::json!(["type"]))
    }

    /// Removes unknown fields (their paths are returned) and fills in defaults.
    pub(crate) fn prune_and_default(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        prune(&self.schema, object, "", &mut dropped);
        default(&self.schema, object);
        dropped
    }

    /// Pairs of field path and message; empty if the object is valid.
    pub(crate) fn validate(&self, object: &Value, before: &Value) -> Found {
        let mut found = Vec::new();
        check(&self.schema, object, "", &mut found);
        // Rules are about well-formed values only.
        if found.is_empty() {
            cel::check(&self.schema, object, Some(before).filter(|b| !b.is_null()), "", &mut found);
        }
        found
    }
}

fn keeps_unknown(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true)
}

fn prune(schema: &Value, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                prune(&schema["items"], item, &format!("{path}[{at}]"), dropped);
            }
        }
        Value::Object(map) => {
            let known = schema["properties"].as_object();
            let others = schema.get("additionalProperties");
            let mut unknown = Vec::new();
            for (name, child) in map.iter_mut() {
                let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let is_meta = path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                if is_meta {
                    continue;
                }
                match known.and_then(|known| known.get(name)).or_else(|| others.filter(|o| o.is_object())) {
                    Some(inner) => prune(inner, child, &at, dropped),
                    None if keeps_unknown(schema) || others.is_some() => {}
                    None => unknown.push((name.clone(), at)),
                }
            }
            for (name, at) in unknown {
                map.remove(&name);
                dropped.push(at);
            }
        }
        _ => {}
    }
}

fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(value) = inner.get("default")
                    && (!map.contains_key(name)
                        || map[name].is_null() && inner["nullable"] != Value::Bool(true))
                {
                    map.insert(name.clone(), value.clone());
                }
                if let Some(child) = map.get_mut(name) {
                    default(inner, child);
                }
            }
            if let Some(others) = schema.get("additionalProperties").filter(|o| o.is_object()) {
                map.values_mut().for_each(|child| default(others, child));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(&schema["items"], item)),
        _ => {}
    }
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Found) {
    if value.is_null() && schema["nullable"] == Value::Bool(true) || !schema.is_object() {
        return;
    }
    if !type_fits(schema, value) {
        let kind = schema["type"].as_str().unwrap_or_default();
        found.push((path.into(), format!("Invalid value: {value}: must be of type {kind}")));
        return;
    }
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.contains(value)) {
        let told: Vec<String> = choices.iter().map(ToString::to_string).collect();
        found.push((
            path.into(),
            format!("Unsupported value: {value}: supported values: {}", told.join(", ")),
        ));
    }
    check_numbers(schema, value, path, found);
    match value {
        Value::String(text) => check_text(schema, text, path, found),
        Value::Array(items) => {
            check_count(schema, ("minItems", "maxItems"), items.len(), path, found);
            for (at, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{at}]"), found);
            }
        }
        Value::Object(map) => check_object(schema, map, path, found),
        _ => {}
    }
    check_combined(schema, value, path, found);
}

fn check_combined(schema: &Value, value: &Value, path: &str, found: &mut Found) {
    let among = |word: &str| schema[word].as_array().cloned().unwrap_or_default();
    let fits = |inner: &Value| {
        let mut faults = Vec::new();
        check(inner, value, path, &mut faults);
        faults.is_empty()
    };
    let (any, one) = (among("anyOf"), among("oneOf"));
    let fitting = one.iter().filter(|inner| fits(inner)).count();
    for (wrong, message) in [
        (!any.is_empty() && !any.iter().any(fits), "must validate at least one schema (anyOf)"),
        (!one.is_empty() && fitting != 1, "must validate one and only one schema (oneOf)"),
        (!among("allOf").iter().all(fits), "must validate all the schemas (allOf)"),
        (schema.get("not").is_some_and(fits), "must not validate the schema (not)"),
    ] {
        if wrong {
            found.push((path.into(), format!("Invalid value: {message}")));
        }
    }
}

fn type_fits(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == Value::Bool(true) {
        return value.is_i64() || value.is_u64() || value.is_string();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    }
}

fn check_numbers(schema: &Value, value: &Value, path: &str, found: &mut Found) {
    let Some(number) = value.as_f64() else { return };
    if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
        found.push((
            path.into(),
            format!("Invalid value: {value}: should be greater than or equal to {least}"),
        ));
    }
    if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
        found.push((path.into(), format!("Invalid value: {value}: should be less than or equal to {most}")));
    }
}

fn check_text(schema: &Value, text: &str, path: &str, found: &mut Found) {
    check_count(schema, ("minLength", "maxLength"), text.chars().count(), path, found);
    if let Some(pattern) = schema["pattern"].as_str()
        && Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text))
    {
        found
            .push((path.into(), format!("Invalid value: {text:?}: {path} in body should match '{pattern}'")));
    }
    let fits = match schema["format"].as_str() {
        Some("duration") => duration::parse(text).is_ok(),
        Some("date-time") => text.parse::<jiff::Timestamp>().is_ok(),
        // Other formats are ignored by the real server too, or are about numbers.
        _ => true,
    };
    if !fits {
        let format = schema["format"].as_str().unwrap_or_default();
        found.push((path.into(), format!("Invalid value: {text:?}: must be of type {format}: {text:?}")));
    }
}

fn check_count(schema: &Value, keys: (&str, &str), count: usize, path: &str, found: &mut Found) {
    let bound = |key: &str| schema[key].as_u64().and_then(|n| usize::try_from(n).ok());
    if let Some(least) = bound(keys.0).filter(|least| count < *least) {
        found.push((path.into(), format!("Invalid value: {count}: {} is {least}", keys.0)));
    }
    if let Some(most) = bound(keys.1).filter(|most| count > *most) {
        found.push((path.into(), format!("Too many: {count}: {} is {most}", keys.1)));
    }
}

fn check_object(schema: &Value, map: &Map<String, Value>, path: &str, found: &mut Found) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    check_count(schema, ("minProperties", "maxProperties"), map.len(), path, found);
    for name in strings(schema.get("required")) {
        if !map.contains_key(&name) {
            found.push((below(&name), "Required value".into()));
        }
    }
    for (name, child) in map {
        let known = schema["properties"].get(name);
        if let Some(inner) = known.or_else(|| schema.get("additionalProperties")) {
            check(inner, child, &below(name), found);
        }
    }
}

/// What a definition asks for and nothing here does: it is refused whole, so that no object passes unchecked.
pub(crate) fn unsupported(crd: &Value) -> Found {
    let mut found = Vec::new();
    for (at, version) in crd["spec"]["versions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("spec.versions[{at}].schema.openAPIV3Schema");
        refuse_unknown(&version["schema"]["openAPIV3Schema"], false, &path, &mut found);
    }
    found
}

fn refuse_unknown(schema: &Value, in_list: bool, path: &str, found: &mut Found) {
    if let Some(Err(error)) = schema["pattern"].as_str().map(Regex::new) {
        found.push((format!("{path}.pattern"), format!("Invalid value: {error}")));
    }
    for word in ["multipleOf", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"] {
        if schema.get(word).is_some_and(|value| *value != Value::Bool(false)) {
            found.push((format!("{path}.{word}"), "Forbidden: not supported by this sandbox".into()));
        }
    }
    cel::unreadable(schema, in_list, path, found);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        refuse_unknown(inner, in_list, &format!("{path}.properties[{name}]"), found);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(word) {
            refuse_unknown(inner, in_list || word == "items", &format!("{path}.{word}"), found);
        }
    }
}

#[cfg(test)]
mod tests;
