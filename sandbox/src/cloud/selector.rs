//! Labels: what may be one, and the selector grammar `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`,
//! `k notin (a,b)`, joined by commas. `!=` and `notin` also match what lacks the key.

use std::collections::BTreeMap;

/// Labels of a resource.
pub type Labels = BTreeMap<String, String>;

/// A parsed selector. Empty selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl Selector {
    /// `None` if the text is no selector.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::default());
        }
        split_outside_parentheses(text)?
            .into_iter()
            .map(|term| Term::parse(term.trim()))
            .collect::<Option<_>>()
            .map(Self)
    }

    pub(crate) fn selects(&self, labels: &Labels) -> bool {
        self.0.iter().all(|term| match term {
            Term::Exists(key) => labels.contains_key(key),
            Term::Absent(key) => !labels.contains_key(key),
            Term::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Term::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
        })
    }
}

impl Term {
    fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix('!') {
            return Some(Self::Absent(key_of(key)?));
        }
        if let Some((key, value)) = text.split_once("!=") {
            return Some(Self::NotIn(key_of(key)?, vec![value_of(value)?]));
        }
        if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Some(Self::In(key_of(key)?, vec![value_of(value)?]));
        }
        let Some((left, list)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return Some(Self::Exists(key_of(text)?));
        };
        let values = list.split(',').map(value_of).collect::<Option<_>>()?;
        let (key, word) = left.trim_end().rsplit_once(char::is_whitespace)?;
        match word {
            "in" => Some(Self::In(key_of(key)?, values)),
            "notin" => Some(Self::NotIn(key_of(key)?, values)),
            _ => None,
        }
    }
}

fn split_outside_parentheses(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' if open => return None,
            '(' => open = true,
            ')' if !open => return None,
            ')' => open = false,
            ',' if !open => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!open).then_some(parts)
}

fn key_of(text: &str) -> Option<String> {
    let key = text.trim();
    is_key(key).then(|| key.to_owned())
}

fn value_of(text: &str) -> Option<String> {
    let value = text.trim();
    is_value(value).then(|| value.to_owned())
}

/// `[prefix/]name`, prefix at most 253 characters, name at most 63.
pub(crate) fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(|prefix| is_word(prefix, 253)) && is_word(name, 63)
}

/// Empty, or at most 63 characters.
pub(crate) fn is_value(value: &str) -> bool {
    value.is_empty() || is_word(value, 63)
}

fn is_word(word: &str, longest: usize) -> bool {
    let bytes = word.as_bytes();
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    bytes.len() <= longest
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Selector::parse(selector).unwrap().selects(&labels)
    }

    #[test]
    fn every_form_of_the_grammar_means_what_the_provider_says() {
        let labels = [("a", "1"), ("x.y/z", "")];
        for yes in [
            "",
            "a",
            "!b",
            "a=1",
            "a==1",
            "a != 2",
            "b!=1",
            "a in (1,2)",
            "a notin (2, 3)",
            "b notin (1)",
            "a in (2,1),!b , x.y/z",
            "x.y/z=",
        ] {
            assert!(selects(yes, &labels), "{yes}");
        }
        for no in ["b", "!a", "a=2", "a!=1", "a in (2)", "a notin (1)", "a,b", "b in (1)"] {
            assert!(!selects(no, &labels), "{no}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for bad in [
            "a b", "a=(", "a in 1", "a in (1", "in (1)", ",", "a,", "a of (1)", "=1", "a=b=c", "a:b", "a=1))",
        ] {
            assert_eq!(Selector::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_rfc_3339_time_is_no_label_value() {
        assert!(!is_value("2026-11-30T18:00:00Z"));
        assert!(is_value("20261130T180000Z") && is_value("1796061600"));
        assert!(!is_value(&"a".repeat(64)) && is_value(&"a".repeat(63)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_selector_or_refused(text in "[a-b!=,() ./inot-]{0,16}", value in "[ab]{0,2}") {
            if let Some(selector) = Selector::parse(&text) {
                selector.selects(&Labels::from([("a".into(), value)]));
            }
        }

        #[test]
        fn a_term_and_its_negation_split_every_set_of_labels(has in "[ab]", value in "[xyz]", listed in "[xyz](,[xyz])?") {
            let labels = Labels::from([(has, value)]);
            let selects = |text: &str| Selector::parse(text).unwrap().selects(&labels);
            proptest::prop_assert_ne!(selects(&format!("a in ({listed})")), selects(&format!("a notin ({listed})")));
            proptest::prop_assert_ne!(selects("a=x"), selects("a!=x"));
            proptest::prop_assert_ne!(selects("a"), selects("!a"));
        }
    }
}
