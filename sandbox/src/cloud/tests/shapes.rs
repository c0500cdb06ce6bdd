//! Answers against the provider's own description, where a copy of it is at hand: `CURFEW_HCLOUD_OPENAPI` names
//! the file (JSON). Without it this says so and passes.

use serde_json::json;

use super::*;

/// In the description of early 2026, and dropped from every answer after 1 July 2026.
const DROPPED: &str = "datacenter";

struct Description(Value);

impl Description {
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let inner = schema["allOf"].get(0).unwrap_or(schema);
        match inner["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            Some(pointer) => self.resolve(self.0.pointer(pointer).unwrap()),
            None => inner,
        }
    }

    /// Every way in which `value` departs from `schema`: missing, unknown, of a wrong type or outside an enum.
    fn faults(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let nullable = schema["nullable"] == true;
        let schema = self.resolve(schema);
        if value.is_null() && (nullable || schema["nullable"] == true) {
            return Vec::new();
        }
        if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
            return vec![format!("{at}: {value} is not among {}", schema["enum"])];
        }
        match (schema["type"].as_str(), value) {
            (Some("object"), Value::Object(_)) => self.object(schema, value, at),
            (Some("array"), Value::Array(items)) => {
                let each = |(n, item)| self.faults(&schema["items"], item, &format!("{at}[{n}]"));
                items.iter().enumerate().flat_map(each).collect()
            }
            (Some("string"), Value::String(_))
            | (Some("boolean"), Value::Bool(_))
            | (Some("number"), Value::Number(_))
            | (None, _) => Vec::new(),
            (Some("integer"), Value::Number(number)) if !number.is_f64() => Vec::new(),
            (Some(kind), _) => vec![format!("{at}: {value} is no {kind}")],
        }
    }

    fn object(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let known = &schema["properties"];
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = required
            .filter(|name| *name != DROPPED && value.get(*name).is_none())
            .map(|name| format!("{at}.{name} is missing"));
        let present = value.as_object().into_iter().flatten().flat_map(|(name, value)| {
            let at = format!("{at}.{name}");
            match known.get(name) {
                Some(schema) => self.faults(schema, value, &at),
                None if known.is_null() || name == "available" || name == "recommended" => Vec::new(),
                None => vec![format!("{at} is unknown")],
            }
        });
        missing.chain(present).collect()
    }

    /// `route`: as the description spells it.
    fn check(&self, method: &str, route: &str, (status, body): &(u16, Value)) {
        let responses = &self.0["paths"][route][method]["responses"];
        let class = if *status < 400 { status.to_string() } else { format!("{}xx", status / 100) };
        let schema = &responses[&class]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {route} {status} is not described");
        assert_eq!(self.faults(schema, body, "answer"), Vec::<String>::new(), "{method} {route} {status}");
    }
}

#[tokio::test]
async fn answers_have_the_shapes_that_the_provider_describes() {
    let Some(path) = std::env::var_os("CURFEW_HCLOUD_OPENAPI") else {
        eprintln!("skipped: CURFEW_HCLOUD_OPENAPI does not name the provider's OpenAPI description");
        return;
    };
    let description = Description(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
    let cloud = setting(Settings::default()).await;
    let order =
        json!({ "name": "one", "server_type": "cpx22", "image": "debian-13", "user_data": "#!/bin/sh\n" });
    let created = cloud.call(Method::POST, "/servers", Some(&order)).await;
    description.check("post", "/servers", &created);
    let (id, action) = (&created.1["server"]["id"], &created.1["action"]["id"]);
    for route in [
        "/servers",
        "/server_types",
        "/images",
        "/locations",
        "/ssh_keys",
        "/volumes",
        "/primary_ips",
        "/pricing",
    ] {
        description.check("get", route, &cloud.get(route).await);
    }
    let server = format!("/servers/{id}");
    description.check("get", "/servers/{id}", &cloud.get(&server).await);
    description.check(
        "put",
        "/servers/{id}",
        &cloud.call(Method::PUT, &server, Some(&json!({ "name": "two" }))).await,
    );
    description.check("get", "/actions/{id}", &cloud.get(&format!("/actions/{action}")).await);
    description.check("get", "/servers/{id}/actions", &cloud.get(&format!("{server}/actions")).await);
    for verb in ["poweroff", "poweron", "shutdown", "reboot", "reset"] {
        let answer = cloud.call(Method::POST, &format!("{server}/actions/{verb}"), None).await;
        description.check("post", &format!("/servers/{{id}}/actions/{verb}"), &answer);
    }
    let id = id.as_u64().unwrap();
    cloud.cloud.set_locked(id, true);
    description.check("delete", "/servers/{id}", &cloud.delete(id).await);
    cloud.cloud.set_locked(id, false);
    cloud.cloud.inject(Fault::every(Effect::ServerError).times(1));
    description.check("delete", "/servers/{id}", &cloud.delete(id).await);
    description.check("delete", "/servers/{id}", &cloud.delete(id).await);
    description.check("delete", "/servers/{id}", &cloud.delete(id).await);
}
