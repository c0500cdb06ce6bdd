//! Field and label selectors: parsing and matching, pure. A field the real server does not index is refused,
//! never ignored: ignoring it would answer with more than was asked.

use serde_json::Value;

use super::{refusal::Refusal, resource::Resource};

/// Both selectors of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Path, whether it must be equal, value.
    fields: Vec<(String, bool, String)>,
    labels: Vec<(String, Label)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Label {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Selector {
    pub(crate) fn parse(resource: &Resource, fields: &str, labels: &str) -> Result<Self, Refusal> {
        let fields =
            fields.split(',').filter(|part| !part.is_empty()).map(field).collect::<Result<Vec<_>, _>>()?;
        if let Some((path, ..)) = fields.iter().find(|(path, ..)| !indexed(resource, path)) {
            return Err(Refusal::bad_request(format!("field label not supported: {path}")));
        }
        let labels = split_outside_brackets(labels).into_iter().map(label).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { fields, labels })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.fields.iter().all(|(path, equal, value)| (field_value(object, path) == *value) == *equal)
            && self.labels.iter().all(|(key, rule)| {
                let value = object["metadata"]["labels"][key].as_str();
                match rule {
                    Label::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
                    Label::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| x != v)),
                    Label::Exists => value.is_some(),
                    Label::Absent => value.is_none(),
                }
            })
    }

    /// The value a field is pinned to, which is what the Node authorizer looks at.
    pub(crate) fn pinned(&self, path: &str) -> Option<&str> {
        self.fields.iter().find(|(p, equal, _)| p == path && *equal).map(|(.., value)| value.as_str())
    }

    /// Narrows to one object: `GET …/NAME?watch=1`.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.fields.push(("metadata.name".into(), true, name.into()));
        self
    }
}

fn field(part: &str) -> Result<(String, bool, String), Refusal> {
    let (path, equal, value) = if let Some((path, value)) = part.split_once("!=") {
        (path, false, value)
    } else if let Some((path, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        (path, true, value)
    } else {
        return Err(Refusal::bad_request(format!("invalid field selector: {part:?}; can't understand it")));
    };
    Ok((path.into(), equal, value.into()))
}

fn indexed(resource: &Resource, path: &str) -> bool {
    let own: &[&str] = match resource.storage().as_str() {
        "nodes" => &["spec.unschedulable"],
        "namespaces" => &["status.phase"],
        "secrets" => &["type"],
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "reason",
            "type",
        ],
        _ => &[],
    };
    path == "metadata.name" || path == "metadata.namespace" && resource.namespaced || own.contains(&path)
}

fn field_value(object: &Value, path: &str) -> String {
    // Events are kept in the form of `v1`, whatever group is asked.
    let path = path.replace("regarding.", "involvedObject.");
    match object.pointer(&format!("/{}", path.replace('.', "/"))) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ if matches!(path.as_str(), "spec.unschedulable" | "spec.hostNetwork") => "false".into(),
        _ => String::new(),
    }
}

/// `a in (x,y),b` has two requirements.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

fn label(part: &str) -> Result<(String, Label), Refusal> {
    let refuse = || Refusal::bad_request(format!("unable to parse requirement: {part:?}"));
    let key = |key: &str| {
        let key = key.trim();
        let fine = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if fine { Ok(key.to_owned()) } else { Err(refuse()) }
    };
    if let Some((before, inside)) = part.split_once('(') {
        let inside = inside.trim_end().strip_suffix(')').ok_or_else(refuse)?;
        let values = inside.split(',').map(|value| value.trim().to_owned()).collect();
        return match before.split_whitespace().collect::<Vec<_>>().as_slice() {
            [name, "in"] => Ok((key(name)?, Label::In(values))),
            [name, "notin"] => Ok((key(name)?, Label::NotIn(values))),
            _ => Err(refuse()),
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Ok((key(name)?, Label::NotIn(vec![value.trim().into()])));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok((key(name)?, Label::In(vec![value.trim().into()])));
    }
    Ok(match part.strip_prefix('!') {
        Some(name) => (key(name)?, Label::Absent),
        None => (key(part)?, Label::Exists),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nodes() -> Resource {
        Resource::built_in().into_iter().find(|r| r.is("", "nodes")).unwrap()
    }

    #[test]
    fn labels_select_as_kubectl_writes_them() {
        let node = json!({"metadata": {"labels": {"pool": "gpu", "curfew.dev/x": "1"}}});
        for (text, expected) in [
            ("pool=gpu", true),
            ("pool==cpu", false),
            ("pool!=gpu", false),
            ("missing!=x", true),
            ("pool in (cpu,gpu),curfew.dev/x", true),
            ("pool notin (cpu, gpu)", false),
            ("missing notin (a)", true),
            ("!pool", false),
            ("!missing", true),
            ("missing", false),
            ("", true),
        ] {
            let selector = Selector::parse(&nodes(), "", text).unwrap();
            assert_eq!(selector.matches(&node), expected, "{text}");
        }
        assert!(Selector::parse(&nodes(), "", "pool in gpu").is_err());
    }

    #[test]
    fn a_field_that_is_not_indexed_is_refused() {
        let node = json!({"metadata": {"name": "n1"}, "spec": {"unschedulable": true}});
        let matches = |text| Selector::parse(&nodes(), text, "").map(|s| s.matches(&node));
        assert_eq!(matches("metadata.name=n1"), Ok(true));
        assert_eq!(matches("metadata.name!=n1"), Ok(false));
        assert_eq!(matches("spec.unschedulable=true"), Ok(true));
        assert_eq!(matches("spec.providerID=x").unwrap_err().code, 400);
    }
}
