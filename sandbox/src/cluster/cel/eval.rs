//! An expression's value. Text whose schema says `format: duration` or `date-time` is a duration or a time, as
//! in the real server: `30m` equals `1800s`.

use std::cmp::Ordering;

use curfew_contract::duration;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::parse::Expr;

/// Where `self` and `oldSelf` are found.
pub(super) struct Scope<'a> {
    pub(super) schema: &'a Value,
    pub(super) value: &'a Value,
    pub(super) old: Option<&'a Value>,
}

#[derive(Clone, Copy, Debug)]
enum Val<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    Duration(SignedDuration),
    Time(Timestamp),
    /// An object or a list with its schema.
    Tree(&'a Value, &'a Value),
}

type Outcome<'a> = Result<Val<'a>, String>;

impl<'a> Scope<'a> {
    /// Whether the rule holds.
    pub(super) fn holds(&self, rule: &'a Expr) -> Result<bool, String> {
        truth(self.value(rule)?)
    }

    fn value(&self, expression: &'a Expr) -> Outcome<'a> {
        match expression {
            Expr::Bool(flag) => Ok(Val::Bool(*flag)),
            Expr::Int(number) => Ok(Val::Int(*number)),
            Expr::Text(text) => Ok(Val::Text(text)),
            Expr::Name(name) if name == "self" => Ok(typed(self.value, self.schema)),
            Expr::Name(name) => {
                self.old.map(|old| typed(old, self.schema)).ok_or_else(|| format!("no {name}"))
            }
            Expr::Field(of, name) => self.field(of, name)?.ok_or_else(|| format!("no such key: {name}")),
            Expr::Call(name, argument) => self.call(name, argument),
            Expr::Not(inner) => Ok(Val::Bool(!truth(self.value(inner)?)?)),
            Expr::Binary("&&", a, b) => self.logic(a, b, false),
            Expr::Binary("||", a, b) => self.logic(a, b, true),
            Expr::Binary(sign, a, b) => binary(sign, self.value(a)?, self.value(b)?),
            Expr::Choice(condition, yes, no) => {
                self.value(if truth(self.value(condition)?)? { yes } else { no })
            }
        }
    }

    fn field(&self, of: &'a Expr, name: &str) -> Result<Option<Val<'a>>, String> {
        let Val::Tree(tree, schema) = self.value(of)? else {
            return Err(format!("{name} of what is no object"));
        };
        let inner = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        Ok(tree.get(name).map(|value| typed(value, inner.unwrap_or(&Value::Null))))
    }

    fn call(&self, name: &str, argument: &'a Expr) -> Outcome<'a> {
        if let ("has", Expr::Field(of, field)) = (name, argument) {
            return Ok(Val::Bool(self.field(of, field)?.is_some()));
        }
        match (name, self.value(argument)?) {
            ("size", Val::Text(text)) => Ok(length(text.chars().count())),
            ("size", Val::Tree(Value::Object(map), _)) => Ok(length(map.len())),
            ("size", Val::Tree(Value::Array(list), _)) => Ok(length(list.len())),
            ("duration", Val::Text(text)) => {
                duration::parse(text).map(Val::Duration).map_err(|error| error.to_string())
            }
            ("timestamp", Val::Text(text)) => {
                text.parse().map(Val::Time).map_err(|error: jiff::Error| error.to_string())
            }
            (_, other) => Err(format!("{name} of {other:?}")),
        }
    }

    /// Either side may decide alone, even if the other has no value.
    fn logic(&self, a: &'a Expr, b: &'a Expr, decides: bool) -> Outcome<'a> {
        let side = |e| self.value(e).and_then(truth);
        match (side(a), side(b)) {
            (Ok(x), _) | (_, Ok(x)) if x == decides => Ok(Val::Bool(decides)),
            (_, Ok(y)) if y == decides => Ok(Val::Bool(decides)),
            (Err(error), _) | (_, Err(error)) => Err(error),
            _ => Ok(Val::Bool(!decides)),
        }
    }
}

fn length<'a>(count: usize) -> Val<'a> {
    Val::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn truth(value: Val<'_>) -> Result<bool, String> {
    if let Val::Bool(flag) = value { Ok(flag) } else { Err(format!("{value:?} is not a bool")) }
}

fn typed<'a>(value: &'a Value, schema: &'a Value) -> Val<'a> {
    match value {
        Value::Bool(flag) => Val::Bool(*flag),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Val::Float(number.as_f64().unwrap_or(f64::NAN)), Val::Int)
        }
        Value::String(text) => {
            let length = || duration::parse(text).ok().map(Val::Duration);
            let time = || text.parse().ok().map(Val::Time);
            match schema["format"].as_str() {
                Some("duration") => length(),
                Some("date-time") => time(),
                _ => None,
            }
            .unwrap_or(Val::Text(text))
        }
        _ => Val::Tree(value, schema),
    }
}

fn binary<'a>(sign: &str, a: Val<'a>, b: Val<'a>) -> Outcome<'a> {
    let wrong = || format!("no such overload: {a:?} {sign} {b:?}");
    match sign {
        "==" => return Ok(Val::Bool(same(a, b))),
        "!=" => return Ok(Val::Bool(!same(a, b))),
        "+" | "-" | "*" | "/" => return arithmetic(sign, a, b).ok_or_else(wrong),
        _ => {}
    }
    let order = compare(a, b).ok_or_else(wrong)?;
    Ok(Val::Bool(match sign {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn arithmetic<'a>(sign: &str, a: Val<'a>, b: Val<'a>) -> Option<Val<'a>> {
    Some(match (sign, a, b) {
        ("+", Val::Int(a), Val::Int(b)) => Val::Int(a.checked_add(b)?),
        ("-", Val::Int(a), Val::Int(b)) => Val::Int(a.checked_sub(b)?),
        ("*", Val::Int(a), Val::Int(b)) => Val::Int(a.checked_mul(b)?),
        ("/", Val::Int(a), Val::Int(b)) => Val::Int(a.checked_div(b)?),
        ("+", Val::Duration(a), Val::Duration(b)) => Val::Duration(a.checked_add(b)?),
        ("-", Val::Duration(a), Val::Duration(b)) => Val::Duration(a.checked_sub(b)?),
        ("+", Val::Time(a), Val::Duration(b)) => Val::Time(a.checked_add(b).ok()?),
        ("-", Val::Time(a), Val::Duration(b)) => Val::Time(a.checked_sub(b).ok()?),
        ("-", Val::Time(a), Val::Time(b)) => Val::Duration(a.duration_since(b)),
        _ => return None,
    })
}

fn compare(a: Val<'_>, b: Val<'_>) -> Option<Ordering> {
    #[expect(clippy::cast_precision_loss, reason = "CEL compares numbers of both kinds")]
    let float = |n: i64| n as f64;
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(&b)),
        (Val::Float(a), Val::Float(b)) => a.partial_cmp(&b),
        (Val::Int(a), Val::Float(b)) => float(a).partial_cmp(&b),
        (Val::Float(a), Val::Int(b)) => a.partial_cmp(&float(b)),
        (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(&b)),
        (Val::Time(a), Val::Time(b)) => Some(a.cmp(&b)),
        _ => None,
    }
}

fn same(a: Val<'_>, b: Val<'_>) -> bool {
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Tree(Value::Object(a), schema), Val::Tree(Value::Object(b), _)) => {
            let inner = |name: &str| {
                schema["properties"]
                    .get(name)
                    .or_else(|| schema.get("additionalProperties"))
                    .unwrap_or(&Value::Null)
            };
            let equal = |name: &String, value| {
                b.get(name).is_some_and(|other| same(typed(value, inner(name)), typed(other, inner(name))))
            };
            a.len() == b.len() && a.iter().all(|(name, value)| equal(name, value))
        }
        (Val::Tree(Value::Array(a), schema), Val::Tree(Value::Array(b), _)) => {
            let items = &schema["items"];
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(typed(x, items), typed(y, items)))
        }
        (Val::Tree(a, _), Val::Tree(b, _)) => a == b,
        _ => compare(a, b) == Some(Ordering::Equal),
    }
}
