//! What is refused, and with which words: each row of `tests/verdicts/rows.json`, to which a real API server is held too
//! (`tests/verdicts/real.py`).

use std::collections::BTreeMap;

use curfew_controller::crd;
use curfew_sandbox::cluster::{Cluster, Error};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::Bench;

const KINDS: [(&str, &str); 2] = [("CapacityLease", "capacityleases"), ("ProviderConfig", "providerconfigs")];

#[derive(Deserialize)]
struct Table {
    bases: BTreeMap<String, Base>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Base {
    kind: String,
    spec: Value,
}

/// An object, `with` changed in it when it is created and `then` afterwards, and what the last of the two is answered.
#[derive(Debug, Deserialize)]
struct Row {
    base: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    with: Option<Value>,
    #[serde(default)]
    then: Option<Value>,
    says: Option<String>,
}

#[tokio::test]
async fn every_verdict_is_that_of_the_real_server() {
    let table: Table = serde_json::from_str(include_str!("../../../tests/verdicts/rows.json")).unwrap();
    let definitions = crd::definitions().map(|definition| serde_json::to_value(definition).unwrap());
    let bench = Bench::with(|options| options.definitions = definitions.into()).await;
    let mut wrong = Vec::new();
    for (at, row) in table.rows.iter().enumerate() {
        let said = verdict(&bench.cluster, &table.bases[&row.base], row, at);
        if row.says.is_some() != said.is_some()
            || said.iter().zip(&row.says).any(|(said, expected)| !said.contains(expected))
        {
            wrong.push(format!("{row:?}\n  says: {said:?}"));
        }
    }
    assert!(table.rows.len() > 100 && wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn verdict(cluster: &Cluster, base: &Base, row: &Row, at: usize) -> Option<String> {
    let plural = KINDS.iter().find(|(kind, _)| *kind == base.kind).unwrap().1;
    let resource = ("curfew.dev", "v1alpha1", plural);
    let numbered = format!("row-{at}");
    let name = row.name.as_ref().unwrap_or(&numbered);
    let mut spec = base.spec.clone();
    if let Some(with) = &row.with {
        json_patch::merge(&mut spec, with);
    }
    let made = cluster.create(resource, "", &json!({"metadata": {"name": name}, "spec": spec}));
    let refused = |answer: Result<Value, Error>| match answer {
        Ok(_) => None,
        Err(Error::Refused { message, code: 422, .. }) => Some(message),
        Err(other) => panic!("{row:?}: {other}"),
    };
    match &row.then {
        None => refused(made),
        Some(then) => {
            made.unwrap();
            refused(cluster.merge_patch(resource, "", name, &json!({"spec": then})))
        }
    }
}
