//! Lists: filters, order, pages, as every collection of the API has them.

use serde_json::{Value, json};

use super::error::Refusal;
use super::selector::{Labels, Selector};

/// The decoded query, in order; keys may repeat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(pub(crate) Vec<(String, String)>);

impl Query {
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The last value of the key, unless empty: an empty `name=` is no filter, as at the provider.
    pub(crate) fn one<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.all(key).last().filter(|value| !value.is_empty())
    }

    fn number(&self, key: &str, default: usize, most: usize) -> Result<usize, Refusal> {
        let Some(text) = self.one(key) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| Refusal::invalid(key, format!("must be an integer from 1 to {most}")))
    }
}

/// One page of `items` under `name`, with `meta.pagination`.
pub(crate) fn page(
    name: &str,
    mut items: Vec<Value>,
    query: &Query,
    sortable: &[&str],
) -> Result<Value, Refusal> {
    filter(&mut items, query)?;
    sort(&mut items, query, sortable)?;
    let (page, per_page) = (query.number("page", 1, usize::MAX)?, query.number("per_page", 25, 50)?);
    let total = items.len();
    let last = total.div_ceil(per_page).max(1);
    let shown: Vec<Value> =
        items.into_iter().skip((page - 1).saturating_mul(per_page)).take(per_page).collect();
    Ok(json!({
        name: shown,
        "meta": { "pagination": {
            "page": page, "per_page": per_page,
            "previous_page": (page > 1).then(|| page - 1),
            "next_page": (page < last).then(|| page + 1),
            "last_page": last, "total_entries": total,
        } },
    }))
}

/// Refuses every query parameter that is neither about pages nor in `known`.
pub(crate) fn only(query: &Query, known: &[&str]) -> Result<(), Refusal> {
    let strange =
        |name: &&String| !known.contains(&name.as_str()) && !["page", "per_page"].contains(&name.as_str());
    match query.0.iter().map(|(name, _)| name).find(strange) {
        Some(name) => Err(Refusal::invalid(name, "unknown parameter")),
        None => Ok(()),
    }
}

fn filter(items: &mut Vec<Value>, query: &Query) -> Result<(), Refusal> {
    for key in ["name", "type", "architecture", "ip"] {
        if let Some(wanted) = query.one(key) {
            items.retain(|item| item[key] == wanted);
        }
    }
    let ids: Vec<&str> = query.all("id").collect();
    if !ids.is_empty() {
        items.retain(|item| item["id"].as_u64().is_some_and(|id| ids.contains(&id.to_string().as_str())));
    }
    let statuses: Vec<&str> = query.all("status").collect();
    if !statuses.is_empty() {
        items.retain(|item| item["status"].as_str().is_some_and(|status| statuses.contains(&status)));
    }
    if let Some(text) = query.one("label_selector") {
        let selector = Selector::parse(text)
            .ok_or_else(|| Refusal::invalid("label_selector", "is not a label selector"))?;
        items.retain(|item| selector.selects(&labels_of(item)));
    }
    Ok(())
}

fn labels_of(item: &Value) -> Labels {
    let labels = item["labels"].as_object().into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// The first `sort` weighs most; a stable sort from the last to the first does that.
fn sort(items: &mut [Value], query: &Query, sortable: &[&str]) -> Result<(), Refusal> {
    let wanted: Vec<&str> = query.all("sort").collect();
    for text in wanted.into_iter().rev() {
        let (key, order) = text.split_once(':').unwrap_or((text, "asc"));
        if !sortable.contains(&key) || !["asc", "desc"].contains(&order) {
            return Err(Refusal::invalid("sort", format!("cannot sort by '{text}'")));
        }
        let rank = |item: &Value| (item[key].as_u64(), item[key].as_str().map(str::to_owned));
        items.sort_by(|a, b| if order == "asc" { rank(a).cmp(&rank(b)) } else { rank(b).cmp(&rank(a)) });
    }
    Ok(())
}
