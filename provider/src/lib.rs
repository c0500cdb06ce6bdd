//! Cloud providers, without sockets: values in, [`Request`] out; [`Answer`] in, meaning out.
//!
//! Agent, controller, sweeper and tests each bring their own transport and share one reading of every status and
//! error code. This crate opens no connection, reads no file and no clock, and never deletes a server by its name:
//! names are reused, ids are not.
//!
//! ```text
//! Driver::delete(id, token) ─▶ Request ─▶ (somebody's transport) ─▶ Answer ─▶ Driver::deleted ─▶ Outcome
//! ```

mod capability;
mod catalogue;
mod choice;
mod cost;
mod exchange;
pub mod hetzner;
mod image;
mod order;
mod outcome;
mod price;
mod rental;
mod residue;
mod server;
mod token;

pub use capability::Capabilities;
pub use catalogue::{Architecture, Catalogue, CpuKind, Extras, IpKind, Offer, Pricing, Rate, Size};
pub use choice::{Choice, Pick, Requirements, Strategy, Why, choose};
pub use cost::{Cost, cost};
pub use exchange::{Answer, Method, RateBudget, Request};
pub use image::{Image, ImageId, ImageRef};
pub use order::{ActionId, Created, NotCreated, Order, Progress, UserData};
pub use outcome::{Caller, Outcome};
pub use price::{NotAPrice, Price};
pub use rental::{Blank, Named, Page, Rental};
pub use residue::{Residue, ResidueKind};
pub use server::{Attached, Listing, NotAnId, Server, ServerId, ServerStatus};
pub use token::{Token, TokenError};

/// One cloud, as a machine there needs it: how to say a thing to it, and what its answers mean. What renting needs
/// beyond that is [`Rental`].
pub trait Driver: Send + Sync {
    /// The server as a Node's `spec.providerID` names it.
    fn provider_id(&self, id: ServerId) -> String;

    /// The server a `spec.providerID` names, if it is one of this cloud's.
    fn server_id(&self, provider_id: &str) -> Option<ServerId>;

    /// Who a machine is by its own firmware: DMI `sys_vendor` and `product_serial`. Needs no network.
    fn whoami(&self, sys_vendor: &str, product_serial: &str) -> Option<ServerId>;

    /// Path below the metadata service's base address that answers with the machine's own id.
    fn metadata_path(&self) -> &'static str;

    /// Reads the metadata service's answer.
    fn whoami_metadata(&self, body: &str) -> Option<ServerId>;

    /// Asks for one server.
    fn read(&self, id: ServerId, token: &Token) -> Request;

    /// Reads the answer to [`Driver::read`], [`Driver::probe_write`].
    fn server(&self, answer: &Answer, caller: Caller) -> Result<Server, Outcome>;

    /// Asks for one page of the servers that carry `label = value`.
    fn list(&self, label: (&str, &str), page: u32, token: &Token) -> Request;

    /// Reads the answer to [`Driver::list`].
    fn listing(&self, answer: &Answer) -> Result<Listing, Outcome>;

    /// Asks for a write that changes nothing, to learn whether the token may write to this very server.
    fn probe_write(&self, server: &Server, token: &Token) -> Request;

    /// Asks for the deletion. There is no way back.
    fn delete(&self, id: ServerId, token: &Token) -> Request;

    /// Asks for the removal of whatever protects the server from deletion.
    fn lift_protection(&self, id: ServerId, token: &Token) -> Request;

    /// Reads the answer to [`Driver::delete`] or [`Driver::lift_protection`].
    fn deleted(&self, answer: &Answer, caller: Caller) -> Outcome;
}
