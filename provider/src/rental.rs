//! The renting half of a cloud: what a controller needs beyond what a machine needs to delete itself.
//!
//! A trait of its own, so that the agent, which never names it, carries none of it.

use std::collections::BTreeMap;

use crate::{
    ActionId, Answer, Architecture, Capabilities, Created, Driver, Extras, Image, ImageRef, NotCreated,
    Order, Outcome, Pricing, Progress, Request, Residue, ResidueKind, ServerId, Size, Token,
};

/// A text that must not be sent: an empty filter is no filter, and everything would come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an empty name or selector would select everything; give one")]
pub struct Blank;

/// What is looked up by its name to learn its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A firewall.
    Firewall,
    /// A private network.
    Network,
    /// A key that may log in.
    SshKey,
}

/// One page of anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// The number of the next page, if there is one. Ask until there is none.
    pub next_page: Option<u32>,
}

/// One cloud, as one rents there. Every caller here knows an id from an earlier answer: 404 means gone.
pub trait Rental: Driver {
    /// What this cloud can do.
    fn capabilities(&self) -> Capabilities;

    /// Orders a server. Bills from the moment it is accepted.
    fn create(&self, order: &Order, token: &Token) -> Request;

    /// Reads the answer to [`Rental::create`].
    fn created(&self, answer: &Answer) -> Result<Created, NotCreated>;

    /// Asks for the servers of that name; read with [`Driver::listing`]. Compare the names in the answer: whoever
    /// acts upon the wrong server cannot take it back.
    fn list_named(&self, name: &str, token: &Token) -> Result<Request, Blank>;

    /// Asks how an action fares.
    fn action(&self, id: ActionId, token: &Token) -> Request;

    /// Reads the answer to [`Rental::action`].
    fn progress(&self, answer: &Answer) -> Result<Progress, Outcome>;

    /// Reads the answer to [`Driver::delete`] as [`Driver::deleted`] does, with the action it started.
    fn deletion(&self, answer: &Answer) -> (Outcome, Option<ActionId>);

    /// Replaces the labels, **all of them**; read with [`Driver::server`].
    fn relabel(&self, id: ServerId, labels: &BTreeMap<String, String>, token: &Token) -> Request;

    /// Asks for a page of what is on sale.
    fn sizes(&self, page: u32, token: &Token) -> Request;

    /// Reads the answer to [`Rental::sizes`]. What cannot be read is left out: it cannot be ordered either.
    fn size_page(&self, answer: &Answer) -> Result<Page<Size>, Outcome>;

    /// Asks for a page of the regions.
    fn regions(&self, page: u32, token: &Token) -> Request;

    /// Reads the answer to [`Rental::regions`].
    fn region_page(&self, answer: &Answer) -> Result<Page<String>, Outcome>;

    /// Asks for the prices.
    fn pricing(&self, token: &Token) -> Request;

    /// Reads the answer to [`Rental::pricing`].
    fn prices(&self, answer: &Answer) -> Result<Pricing, Outcome>;

    /// Asks for an image.
    fn find_image(
        &self,
        wanted: &ImageRef,
        architecture: Architecture,
        token: &Token,
    ) -> Result<Request, Blank>;

    /// Reads the answer to [`Rental::find_image`]: the newest that is wanted, of that architecture, and ready.
    fn image_found(
        &self,
        answer: &Answer,
        wanted: &ImageRef,
        architecture: Architecture,
    ) -> Result<Option<Image>, Outcome>;

    /// Asks for what has that name.
    fn find(&self, kind: Named, name: &str, token: &Token) -> Result<Request, Blank>;

    /// Reads the answer to [`Rental::find`]: the id of what has exactly that name.
    fn found(&self, answer: &Answer, name: &str) -> Result<Option<u64>, Outcome>;

    /// Asks for a thing that was attached to a server.
    fn attached(&self, kind: ResidueKind, id: u64, token: &Token) -> Request;

    /// Reads the answer to [`Rental::attached`]: `None` if it is gone, or serves somebody else by now.
    fn residue(
        &self,
        answer: &Answer,
        kind: ResidueKind,
        prices: &Extras,
    ) -> Result<Option<Residue>, Outcome>;
}
