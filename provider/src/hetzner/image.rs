//! Images, in a list or alone.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{answer, shelf};
use crate::{Answer, Architecture, Caller, Image, ImageRef, Outcome};

/// The newest image in the answer that is wanted and can be ordered.
pub(super) fn found(
    answer: &Answer,
    wanted: &ImageRef,
    architecture: Architecture,
) -> Result<Option<Image>, Outcome> {
    let body: Body = match answer::read(answer, Caller::Another) {
        Err(Outcome::Gone) => return Ok(None),
        body => body?,
    };
    let items = body.images.into_iter().flatten().chain(body.image);
    let images = items.filter_map(|item| serde_json::from_value::<Wire>(item).ok());
    let fit = images.filter(|image| image.is(wanted, architecture)).filter_map(|i| i.parse(architecture));
    Ok(fit.max_by_key(|image| (image.created, image.id)))
}

#[derive(Deserialize)]
struct Body {
    images: Option<Vec<Value>>,
    image: Option<Value>,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    name: Option<String>,
    #[serde(default)]
    description: String,
    status: String,
    architecture: String,
    created: Option<String>,
    deprecated: Option<Value>,
    deleted: Option<Value>,
}

impl Wire {
    fn is(&self, wanted: &ImageRef, architecture: Architecture) -> bool {
        let named = match wanted {
            ImageRef::Id(id) => self.id == id.number(),
            ImageRef::Name(name) => self.name.as_deref() == Some(name.trim()),
            ImageRef::Selector(_) => true,
        };
        named
            && self.status == "available"
            && self.deleted.is_none()
            && self.architecture == shelf::architecture(architecture)
    }

    fn parse(self, architecture: Architecture) -> Option<Image> {
        Some(Image {
            id: self.id.try_into().ok()?,
            name: self.name,
            description: self.description,
            architecture,
            created: self.created.and_then(|at| at.parse::<Timestamp>().ok()),
            deprecated: self.deprecated.is_some(),
        })
    }
}
