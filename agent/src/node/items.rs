//! A list in JSON as its items, one by one, while it is still coming: the pods of a full machine would be most of what the
//! agent holds in memory. Pure.

/// What has come of `{…,"items":[{…},{…}],…}` and is not yet a whole item.
#[derive(Default)]
pub(super) struct Items {
    item: Vec<u8>,
    depth: usize,
    in_list: bool,
    in_item: bool,
    begun: bool,
    within: Within,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Structure,
    Text,
    /// A text, and a backslash came before.
    Escape,
}

impl Items {
    /// Takes the next bytes, wherever the network cut them, and gives each item that is whole to `on`.
    pub(super) fn push<E>(
        &mut self,
        chunk: &[u8],
        mut on: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for &byte in chunk {
            self.structure(byte);
            if self.in_item {
                self.item.push(byte);
                if self.depth == LIST {
                    self.in_item = false;
                    on(&self.item)?;
                    self.item.clear();
                }
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub(super) const fn len(&self) -> usize {
        self.item.len()
    }

    /// Whether it was JSON, and all of it is here.
    pub(super) const fn is_whole(&self) -> bool {
        self.begun && self.depth == 0
    }

    fn structure(&mut self, byte: u8) {
        match (self.within, byte) {
            (Within::Text, b'\\') => self.within = Within::Escape,
            (Within::Text, b'"') => self.within = Within::Structure,
            (Within::Structure, b'"') | (Within::Escape, _) => self.within = Within::Text,
            (Within::Structure, b'{' | b'[') => {
                self.begun = true;
                self.depth += 1;
                self.in_list |= self.depth == LIST && byte == b'[';
                self.in_item |= self.depth == LIST + 1 && self.in_list;
            }
            (Within::Structure, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                self.in_list &= self.depth >= LIST;
            }
            _ => {}
        }
    }
}

/// How deep the list lies: in the one object that is sent.
const LIST: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(text: &str, cut: usize) -> (Vec<String>, bool) {
        let (mut items, mut found) = (Items::default(), Vec::new());
        for chunk in text.as_bytes().chunks(cut.max(1)) {
            let keep = |item: &[u8]| {
                found.push(String::from_utf8_lossy(item).into_owned());
                Ok::<(), ()>(())
            };
            items.push(chunk, keep).unwrap();
        }
        assert_eq!(items.len(), 0);
        (found, items.is_whole())
    }

    #[test]
    fn a_list_is_its_items_and_nothing_else_is() {
        for (text, expected) in [
            (r#"{"kind":"List","metadata":{"a":{"b":[{}]}},"items":[]}"#, &[][..]),
            (r#"{"items":null}"#, &[]),
            (
                r#"{"items":[{"a":1} , {"b":{"c":[{"d":[]}]}}],"metadata":{}}"#,
                &[r#"{"a":1}"#, r#"{"b":{"c":[{"d":[]}]}}"#],
            ),
            (r#"{"items":[{"a":"}\"]{\\"}]}"#, &[r#"{"a":"}\"]{\\"}"#]),
        ] {
            assert_eq!(items(text, 7), (expected.iter().map(ToString::to_string).collect(), true), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_or_no_json_is_not_whole() {
        for text in [r#"{"items":[{"a":1}"#, "", "OK"] {
            assert!(!items(text, 3).1, "{text}");
        }
    }

    proptest! {
        #[test]
        fn wherever_it_is_cut_the_items_are_the_same(texts in prop::collection::vec("\\PC{0,12}", 0..5), cut in 1_usize..40) {
            let list: Vec<_> = texts.iter().map(|text| serde_json::json!({ "a": text, "b": [{ "c": text }] })).collect();
            let whole = serde_json::json!({ "metadata": { "continue": "" }, "items": list }).to_string();
            let (found, is_whole) = items(&whole, cut);
            let read: Vec<serde_json::Value> = found.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
            prop_assert!(is_whole);
            prop_assert_eq!(read, list);
        }
    }
}
