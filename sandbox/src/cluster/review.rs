//! Questions about oneself: `SelfSubjectReview` and `SelfSubjectAccessReview`. Pure.

use serde_json::{Value, json};

use super::{
    api::{Ask, Rules},
    authz::{self, Act},
    refusal::Refusal,
    resource::{Target, Verb},
    selector::Selector,
    store::Store,
    write::stamp,
};

/// The review with its status filled in.
pub(crate) fn answer(ask: &Ask<'_>, mut sent: Value, store: &Store, rules: Rules) -> Result<Value, Refusal> {
    let status = if ask.target.plural == "selfsubjectreviews" {
        json!({"userInfo": {"username": ask.user.name, "groups": ask.user.groups}})
    } else {
        let allowed = may(ask, &sent["spec"], store, rules)?;
        // A selector in the question is not looked at, so the answer about a list is as misleading as the
        // real one was found to be.
        json!({"allowed": allowed})
    };
    let Value::Object(map) = &mut sent else {
        return Err(Refusal::bad_request("the body is not a JSON object"));
    };
    map.insert("metadata".into(), json!({"creationTimestamp": stamp(ask.now)}));
    map.insert("status".into(), status);
    Ok(sent)
}

fn may(ask: &Ask<'_>, spec: &Value, store: &Store, rules: Rules) -> Result<bool, Refusal> {
    let attributes = &spec["resourceAttributes"];
    if !attributes.is_object() {
        let message = "only spec.resourceAttributes is supported in a SelfSubjectAccessReview";
        return Err(Refusal::bad_request(message));
    }
    let text = |key: &str| attributes[key].as_str().unwrap_or_default();
    let some = |key: &str| Some(text(key)).filter(|t| !t.is_empty()).map(ToOwned::to_owned);
    let verbs = [
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
    ];
    let Some(verb) = verbs.into_iter().find(|v| v.as_str() == text("verb")) else { return Ok(false) };
    let target = Target {
        group: text("group").into(),
        version: text("version").into(),
        plural: text("resource").into(),
        namespace: text("namespace").into(),
        name: some("name"),
        subresource: some("subresource"),
    };
    let act = Act { user: ask.user, verb, target: &target, selector: &Selector::default() };
    Ok(authz::authorize(&act, rules.node_reads, store).is_ok())
}
