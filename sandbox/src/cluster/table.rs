//! Tables for people, as `kubectl get` prints them. Pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{resource::Resource, shape::partial};

/// A column: name, type, cell.
type Column<'a> = (String, String, Box<dyn Fn(&Value) -> Value + 'a>);

/// `meta.k8s.io/v1` `Table`.
pub(crate) fn of(
    resource: &Resource,
    objects: &[Value],
    revision: &Value,
    headed: bool,
    now: Timestamp,
) -> Value {
    let columns = columns(resource);
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let shown = |(_, kind, cell): &Column<'_>| match cell(object) {
                value if kind == "date" => age(&value, now),
                value => value,
            };
            let cells: Vec<Value> = columns.iter().map(shown).collect();
            json!({"cells": cells, "object": partial(object)})
        })
        .collect();
    let head: Vec<Value> = columns
        .iter()
        .map(|(name, kind, _)| {
            let format = if name == "Name" { "name" } else { "" };
            // Ages are told as text, reckoned by the server.
            let kind = if kind == "date" { "string" } else { kind };
            json!({"name": name, "type": kind, "format": format, "description": "", "priority": 0})
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": if revision.is_null() { json!({}) } else { json!({"resourceVersion": revision}) },
        "columnDefinitions": if headed { Value::from(head) } else { Value::Null }, "rows": rows,
    })
}

fn columns(resource: &Resource) -> Vec<Column<'_>> {
    let mut all: Vec<Column<'_>> = vec![text("Name", "/metadata/name")];
    match (&resource.custom, resource.plural.as_str()) {
        (Some(custom), _) if !custom.columns.is_empty() => {
            all.extend(custom.columns.iter().map(printed));
            return all;
        }
        (None, "nodes") => all.extend([
            computed("Status", node_status),
            computed("Roles", node_roles),
            text("Version", "/status/nodeInfo/kubeletVersion"),
        ]),
        (None, "pods") => all.extend([text("Status", "/status/phase"), text("Node", "/spec/nodeName")]),
        (None, "events") => all.extend([
            text("Type", "/type"),
            text("Reason", "/reason"),
            text("Object", "/involvedObject/name"),
            text("Message", "/message"),
        ]),
        (None, "namespaces") => all.push(text("Status", "/status/phase")),
        (None, "leases") => all.push(text("Holder", "/spec/holderIdentity")),
        _ => {}
    }
    all.push((
        "Age".into(),
        "date".into(),
        Box::new(|object| object["metadata"]["creationTimestamp"].clone()),
    ));
    all
}

/// How long ago, in the two largest units that matter, as the real server abbreviates it.
fn age(since: &Value, now: Timestamp) -> Value {
    let Some(since) = since.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else {
        return "<unknown>".into();
    };
    let seconds = now.duration_since(since).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..=-2 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s").into(),
        120..600 => format!("{minutes}m{}s", seconds % 60).into(),
        600..10_800 => format!("{minutes}m").into(),
        10_800..28_800 => format!("{hours}h{}m", minutes % 60).into(),
        28_800..172_800 => format!("{hours}h").into(),
        _ => format!("{days}d").into(),
    }
}

fn text(name: &str, pointer: &'static str) -> Column<'static> {
    let cell = move |object: &Value| object.pointer(pointer).cloned().unwrap_or_else(|| "".into());
    (name.into(), "string".into(), Box::new(cell))
}

fn computed(name: &str, cell: fn(&Value) -> String) -> Column<'static> {
    (name.into(), "string".into(), Box::new(move |object| cell(object).into()))
}

/// One of `additionalPrinterColumns`.
fn printed(column: &Value) -> Column<'_> {
    let word = |key: &str| column[key].as_str().unwrap_or_default().to_owned();
    let path = word("jsonPath");
    (
        word("name"),
        word("type"),
        Box::new(move |object| at_path(object, &path).cloned().unwrap_or(Value::Null)),
    )
}

fn node_status(node: &Value) -> String {
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions.into_iter().flatten().find(|c| c["type"] == "Ready");
    let ready = match ready.and_then(|c| c["status"].as_str()) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if node["spec"]["unschedulable"] == true { format!("{ready},SchedulingDisabled") } else { ready.into() }
}

fn node_roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object();
    let roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    if roles.is_empty() { "<none>".into() } else { roles.join(",") }
}

/// `JSONPath` as printer columns use it: `.a.b`, `.a[0]`, `.a[?(@.type=="X")].status`, `.a.b\.c`. Anything else
/// finds nothing.
pub(crate) fn at_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut at = object;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (picked, after) = inside.split_once(']')?;
            at = picked_item(at, picked)?;
            rest = after;
        } else {
            let (name, after) = field(rest.strip_prefix('.').unwrap_or(rest))?;
            at = at.get(name)?;
            rest = after;
        }
    }
    Some(at)
}

/// A name up to the next `.` or `[`; `\.` is part of it.
fn field(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            '.' | '[' => return Some((name, &text[at..])).filter(|(name, _)| !name.is_empty()),
            _ => name.push(c),
        }
    }
    Some((name, "")).filter(|(name, _)| !name.is_empty())
}

fn picked_item<'a>(list: &'a Value, picked: &str) -> Option<&'a Value> {
    if let Ok(index) = picked.parse::<usize>() {
        return list.get(index);
    }
    if let Some(key) = picked.strip_prefix('\'').and_then(|p| p.strip_suffix('\'')) {
        return list.get(key);
    }
    let filter = picked.strip_prefix("?(@.")?.strip_suffix(')')?;
    let (key, value) = filter.split_once("==")?;
    let value = value.trim().trim_matches(['"', '\'']);
    list.as_array()?.iter().find(|item| item[key.trim()] == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printer_columns_find_what_their_path_names() {
        let object = json!({
            "spec": {"duration": "1h", "nodes": ["a", "b"]},
            "metadata": {"annotations": {"curfew.dev/deadline": "x"}},
            "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "WatchdogArmed", "status": "True"}]},
        });
        for (path, found) in [
            (".spec.duration", Some("1h")),
            (".spec.nodes[1]", Some("b")),
            (r#".status.conditions[?(@.type=="WatchdogArmed")].status"#, Some("True")),
            (r".metadata.annotations.curfew\.dev/deadline", Some("x")),
            (".spec.missing", None),
            (".spec..duration", None),
        ] {
            assert_eq!(at_path(&object, path).and_then(Value::as_str), found, "{path}");
        }
    }
}
