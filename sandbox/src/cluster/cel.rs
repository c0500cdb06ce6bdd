//! Placeholder.
use serde_json::Value;

pub(crate) fn check(_: &Value, _: &Value, _: &str, _: &mut Vec<(String, String)>) {}

pub(crate) fn refuse_unknown(_: &Value, _: &str, _: &mut Vec<(String, String)>) {}
