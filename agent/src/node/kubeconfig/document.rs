//! The kubeconfig's text as sections whose fields know their own names. Owns YAML; knows nothing of Kubernetes but that
//! lists of named entries are looked up by name.

use base64::{Engine, prelude::BASE64_STANDARD};
use yaml_rust2::{Event, ScanError, Yaml, YamlLoader, parser::Parser};

use super::KubeconfigError;

pub(super) struct Document(Yaml);

/// One mapping of the document. An empty text and `null` are as good as absent, as in client-go.
pub(super) struct Section<'d> {
    path: String,
    yaml: &'d Yaml,
}

impl Document {
    /// The first YAML document; JSON is YAML.
    pub(super) fn parse(text: &str) -> Result<Self, KubeconfigError> {
        let not_yaml = |error: ScanError| KubeconfigError::NotYaml {
            line: error.marker().line(),
            column: error.marker().col() + 1,
        };
        bounded(text).map_err(not_yaml)?;
        let documents = YamlLoader::load_from_str(text).map_err(not_yaml)?;
        let document = documents.into_iter().next().filter(Yaml::is_hash);
        document
            .map(Self)
            .ok_or_else(|| KubeconfigError::Invalid { field: "the whole".to_owned(), expected: "a mapping" })
    }

    pub(super) fn text(&self, field: &str) -> Result<String, KubeconfigError> {
        Section { path: String::new(), yaml: &self.0 }.text(field)
    }

    /// `kind` of the entry of `list` that is called `name`.
    pub(super) fn named(&self, list: &str, kind: &str, name: &str) -> Result<Section<'_>, KubeconfigError> {
        let entries = self.0[list].as_vec().map(Vec::as_slice).unwrap_or_default();
        let path = format!("{list}[{name}].{kind}");
        match entries.iter().find(|entry| entry["name"].as_str() == Some(name)).map(|entry| &entry[kind]) {
            Some(yaml) if yaml.is_hash() => Ok(Section { path, yaml }),
            Some(Yaml::BadValue | Yaml::Null) | None => Err(KubeconfigError::Missing(path)),
            Some(_) => Err(KubeconfigError::Invalid { field: path, expected: "a mapping" }),
        }
    }
}

/// Refuses what would exhaust the stack (nesting) or the memory (aliases of aliases) of whoever builds the document: an
/// agent that ends over a broken file saves its machine. No kubeconfig is nested deeper, or has an alias.
fn bounded(text: &str) -> Result<(), ScanError> {
    let mut parser = Parser::new_from_str(text);
    let mut depth = 0_u32;
    loop {
        let (event, marker) = parser.next_token()?;
        match event {
            Event::StreamEnd => return Ok(()),
            Event::Alias(_) => return Err(ScanError::new(marker, "an alias")),
            Event::SequenceStart(..) | Event::MappingStart(..) if depth == DEEPEST => {
                return Err(ScanError::new(marker, "nested too deeply"));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth -= 1,
            _ => {}
        }
    }
}

const DEEPEST: u32 = 64;

impl Section<'_> {
    /// The name of a field, from the document's root.
    pub(super) fn field(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    pub(super) fn missing(&self, field: &str) -> KubeconfigError {
        KubeconfigError::Missing(self.field(field))
    }

    pub(super) fn invalid(&self, field: &str, expected: &'static str) -> KubeconfigError {
        KubeconfigError::Invalid { field: self.field(field), expected }
    }

    pub(super) fn refused(&self, field: &str, instead: &'static str) -> KubeconfigError {
        KubeconfigError::Refused { field: self.field(field), instead }
    }

    pub(super) fn has(&self, field: &str) -> bool {
        !matches!(self.yaml[field], Yaml::BadValue | Yaml::Null)
    }

    pub(super) fn flag(&self, field: &str) -> Result<bool, KubeconfigError> {
        match &self.yaml[field] {
            Yaml::BadValue | Yaml::Null => Ok(false),
            Yaml::Boolean(flag) => Ok(*flag),
            _ => Err(self.invalid(field, "true or false")),
        }
    }

    pub(super) fn text(&self, field: &str) -> Result<String, KubeconfigError> {
        self.optional_text(field)?.ok_or_else(|| self.missing(field))
    }

    pub(super) fn optional_text(&self, field: &str) -> Result<Option<String>, KubeconfigError> {
        match &self.yaml[field] {
            Yaml::BadValue | Yaml::Null => Ok(None),
            Yaml::String(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            _ => Err(self.invalid(field, "a text (put it in quotes)")),
        }
    }

    pub(super) fn optional_bytes(&self, field: &str) -> Result<Option<Vec<u8>>, KubeconfigError> {
        let Some(text) = self.optional_text(field)? else { return Ok(None) };
        let text: String = text.split_ascii_whitespace().collect();
        BASE64_STANDARD.decode(text).map(Some).map_err(|_error| self.invalid(field, "base64"))
    }
}
