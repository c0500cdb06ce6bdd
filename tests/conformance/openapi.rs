//! The provider's own description of its API, where a copy of it is at hand: `CURFEW_HCLOUD_OPENAPI` names the file
//! (JSON), or it lies in `../shared/facts` beside the workspace. It is no part of the project, and nothing needs it.
//!
//! The copy is of early 2026. Where the provider has changed since, [`SINCE`] says how.

use std::{env, fs, path::PathBuf};

use curfew_provider::Request;
use curfew_tests::root;
use regex::Regex;
use serde_json::{Value, json};

/// Field, and what became of it.
const SINCE: [(&str, Since); 4] = [
    // From every answer, and from the create call, after 1 July 2026.
    ("datacenter", Since::Dropped),
    // Of a size in a location, since April 2026.
    ("available", Since::Added),
    ("recommended", Since::Added),
    // May be "unassigned" since 1 August 2026.
    ("assignee_type", Since::Widened),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    Added,
    Dropped,
    Widened,
}

fn since(field: &str) -> Option<Since> {
    SINCE.iter().find(|(name, _)| *name == field).map(|(_, since)| *since)
}

/// The description.
pub(crate) struct Description(Value);

/// Where a copy is looked for.
pub(crate) fn place() -> PathBuf {
    env::var_os("CURFEW_HCLOUD_OPENAPI")
        .map_or_else(|| root().join("../shared/facts/hcloud-openapi.json"), PathBuf::from)
}

/// An operation of the description.
struct Operation<'d> {
    described: &'d Value,
    /// What stood for the path's parameters, by name.
    path: Vec<(String, String)>,
}

impl Description {
    /// A copy, if there is one that can be read.
    pub(crate) fn at_hand() -> Option<Self> {
        serde_json::from_slice(&fs::read(place()).ok()?).ok().map(Self)
    }

    /// Every way in which a request departs from the description.
    pub(crate) fn of_request(&self, request: &Request) -> Vec<String> {
        let Ok(url) = reqwest::Url::parse(&request.url) else {
            return vec![format!("{} is no URL", request.url)];
        };
        let path = url.path().strip_prefix("/v1").unwrap_or_default();
        let Some(operation) = self.operation(&request.method.as_str().to_lowercase(), path) else {
            return vec![format!("{} {path} is not described", request.method.as_str())];
        };
        let parameters: Vec<&Value> =
            operation.described["parameters"].as_array().into_iter().flatten().collect();
        let mut faults = Vec::new();
        let query = url.query_pairs().map(|(name, value)| ("query", name.into_owned(), value.into_owned()));
        let path = operation.path.iter().map(|(name, value)| ("path", name.clone(), value.clone()));
        let given: Vec<_> = path.chain(query).collect();
        for (place, name, value) in &given {
            match parameters.iter().find(|known| known["in"] == *place && known["name"] == **name) {
                Some(known) => faults.extend(self.of_parameter(&known["schema"], value, name)),
                None => faults.push(format!("{place} parameter {name} is unknown")),
            }
        }
        let missing = |known: &&&Value| {
            known["required"] == true && !given.iter().any(|(_, n, _)| known["name"] == **n)
        };
        faults.extend(parameters.iter().filter(missing).map(|known| format!("{} is missing", known["name"])));
        faults.extend(self.of_body(&operation.described["requestBody"], request.body.as_deref()));
        faults
    }

    fn of_body(&self, described: &Value, body: Option<&str>) -> Vec<String> {
        let schema = &described["content"]["application/json"]["schema"];
        match (body, schema.is_object()) {
            (None, _) if described["required"] == true => vec!["the body is missing".into()],
            (None, _) => Vec::new(),
            (Some(_), false) => vec!["no body is described".into()],
            (Some(text), true) => match serde_json::from_str(text) {
                Ok(body) => self.faults(schema, &body, "body"),
                Err(error) => vec![format!("the body is no JSON: {error}")],
            },
        }
    }

    /// A parameter is text; an array's comes once for each item.
    fn of_parameter(&self, schema: &Value, text: &str, name: &str) -> Vec<String> {
        let schema = self.resolve(schema);
        let schema = if schema["type"] == "array" { self.resolve(&schema["items"]) } else { schema };
        let value = match schema["type"].as_str() {
            Some("string") | None => json!(text),
            _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        self.faults(schema, &value, name)
    }

    /// Every way in which an answer departs from the description of `route`, spelled as there.
    pub(crate) fn of_answer(&self, method: &str, route: &str, status: u16, body: &Value) -> Vec<String> {
        let responses = &self.0["paths"][route][method]["responses"];
        let class = if status < 400 { status.to_string() } else { format!("{}xx", status / 100) };
        let schema = &responses[&class]["content"]["application/json"]["schema"];
        if schema.is_object() {
            self.faults(schema, body, "answer")
        } else {
            vec![format!("{method} {route} {status} is not described")]
        }
    }

    /// The most literal template that the path fits.
    fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let paths = self.0["paths"].as_object()?.iter();
        let fitting = paths.filter_map(|(template, operations)| {
            let described = operations.get(method)?;
            Some(Operation { described, path: fit(template, path)? })
        });
        fitting.min_by_key(|operation| operation.path.len())
    }

    fn resolve<'d>(&'d self, schema: &'d Value) -> &'d Value {
        let inner = schema["allOf"].get(0).unwrap_or(schema);
        let target = inner["$ref"].as_str().and_then(|name| self.0.pointer(name.strip_prefix('#')?));
        target.map_or(inner, |target| self.resolve(target))
    }

    /// Every way in which `value` departs from `schema`: missing, unknown, of a wrong type or outside an enum.
    fn faults(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let nullable = schema["nullable"] == true;
        let schema = self.resolve(schema);
        if value.is_null() && (nullable || schema["nullable"] == true) {
            return Vec::new();
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let fits = choices.iter().any(|choice| self.faults(choice, value, at).is_empty());
            return if fits {
                Vec::new()
            } else {
                vec![format!("{at}: {value} is none of {}", schema["oneOf"])]
            };
        }
        if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
            return vec![format!("{at}: {value} is not among {}", schema["enum"])];
        }
        match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(_)) => self.of_object(schema, value, at),
            (Some("array"), Value::Array(items)) => {
                let each = |(n, item)| self.faults(&schema["items"], item, &format!("{at}[{n}]"));
                items.iter().enumerate().flat_map(each).collect()
            }
            (Some("string"), Value::String(text)) => of_text(schema, text, at),
            (Some("boolean"), Value::Bool(_)) | (Some("number"), Value::Number(_)) | (None, _) => Vec::new(),
            (Some("integer"), Value::Number(n)) if n.is_u64() || n.is_i64() => {
                match schema["maximum"].as_u64() {
                    Some(most) if n.as_u64().is_some_and(|n| n > most) => {
                        vec![format!("{at}: {n} is above {most}")]
                    }
                    _ => Vec::new(),
                }
            }
            (Some(kind), _) => vec![format!("{at}: {value} is no {kind}")],
        }
    }

    fn of_object(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let (known, others) = (&schema["properties"], &schema["additionalProperties"]);
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required
            .filter(|name| since(name) != Some(Since::Dropped) && value.get(*name).is_none())
            .map(|name| format!("{at}.{name} is missing"));
        let present = value.as_object().into_iter().flatten().flat_map(|(name, value)| {
            let at = format!("{at}.{name}");
            match (known.get(name), since(name)) {
                (_, Some(Since::Dropped)) => vec![format!("{at} is no more")],
                (_, Some(Since::Added | Since::Widened)) => Vec::new(),
                (Some(schema), None) => self.faults(schema, value, &at),
                (None, None) if others.is_object() => self.faults(others, value, &at),
                (None, None) if known.is_null() => Vec::new(),
                (None, None) => vec![format!("{at} is unknown")],
            }
        });
        missing.chain(present).collect()
    }
}

fn of_text(schema: &Value, text: &str, at: &str) -> Vec<String> {
    let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
    match pattern {
        Some(pattern) if !pattern.is_match(text) => vec![format!("{at}: {text:?} does not match {pattern}")],
        _ => Vec::new(),
    }
}

/// What stands for each `{name}` of the template.
fn fit(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    if template.len() != path.len() {
        return None;
    }
    let mut found = Vec::new();
    for (wanted, given) in template.into_iter().zip(path) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => found.push((name.to_owned(), given.to_owned())),
            None if wanted == given => {}
            None => return None,
        }
    }
    Some(found)
}
