//! Images: how one is referred to, and what is known of it.

use std::fmt;

use jiff::Timestamp;

use crate::{Architecture, NotAnId, server::id_in_range};

/// An image's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(u64);

impl ImageId {
    /// The id as a number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for ImageId {
    type Error = NotAnId;

    fn try_from(id: u64) -> Result<Self, NotAnId> {
        id_in_range(id).map(Self)
    }
}

impl fmt::Display for ImageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a person refers to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageRef {
    /// This very one.
    Id(ImageId),
    /// The provider's own, by name. A name exists once per architecture.
    Name(String),
    /// The newest that carries these labels, as a label selector.
    Selector(String),
}

/// An image that can be ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its id.
    pub id: ImageId,
    /// Its name; a snapshot has none.
    pub name: Option<String>,
    /// In the provider's or a person's words.
    pub description: String,
    /// What it runs on.
    pub architecture: Architecture,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Will be withdrawn.
    pub deprecated: bool,
}
