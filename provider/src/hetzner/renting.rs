//! Hetzner Cloud: the requests of a controller.
//!
//! An empty filter is no filter here: the whole project comes back. No request of this file is ever made with one.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Hetzner, answer, encode, image, order, residue, shelf};
use crate::{
    ActionId, Answer, Architecture, Blank, Caller, Capabilities, Created, Extras, Image, ImageRef, Method,
    Named, NotCreated, Order, Outcome, Page, Pricing, Progress, Rental, Request, Residue, ResidueKind,
    ServerId, Size, Token,
};

impl Hetzner {
    fn get(&self, path: &str, token: &Token) -> Request {
        self.request(Method::Get, path, None, token)
    }

    /// What has this name in a collection. A name is unique there, images apart.
    fn by_name(&self, collection: &str, name: &str, token: &Token) -> Result<Request, Blank> {
        Ok(self.get(&format!("/{collection}?name={}&per_page=50", encode(filled(name)?)), token))
    }
}

impl Rental for Hetzner {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            powering_off_stops_billing: false,
            server_side_ttl: false,
            labels: true,
            per_server_credential: false,
        }
    }

    fn create(&self, order: &Order, token: &Token) -> Request {
        self.request(Method::Post, "/servers", Some(&order::body(order)), token)
    }

    fn created(&self, answer: &Answer) -> Result<Created, NotCreated> {
        order::created(answer)
    }

    fn list_named(&self, name: &str, token: &Token) -> Result<Request, Blank> {
        self.by_name("servers", name, token)
    }

    fn action(&self, id: ActionId, token: &Token) -> Request {
        self.get(&format!("/actions/{id}"), token)
    }

    fn progress(&self, answer: &Answer) -> Result<Progress, Outcome> {
        order::progress(answer)
    }

    fn deletion(&self, answer: &Answer) -> (Outcome, Option<ActionId>) {
        (answer::outcome(answer, Caller::Another), order::started(answer))
    }

    fn relabel(&self, id: ServerId, labels: &BTreeMap<String, String>, token: &Token) -> Request {
        self.request(Method::Put, &format!("/servers/{id}"), Some(&json!({ "labels": labels })), token)
    }

    fn sizes(&self, page: u32, token: &Token) -> Request {
        self.get(&format!("/server_types?page={page}&per_page=50"), token)
    }

    fn size_page(&self, answer: &Answer) -> Result<Page<Size>, Outcome> {
        shelf::sizes(answer)
    }

    fn regions(&self, page: u32, token: &Token) -> Request {
        self.get(&format!("/locations?page={page}&per_page=50"), token)
    }

    fn region_page(&self, answer: &Answer) -> Result<Page<String>, Outcome> {
        shelf::regions(answer)
    }

    fn pricing(&self, token: &Token) -> Request {
        self.get("/pricing", token)
    }

    fn prices(&self, answer: &Answer) -> Result<Pricing, Outcome> {
        shelf::pricing(answer)
    }

    /// The newest come first, so that one page is enough.
    fn find_image(
        &self,
        wanted: &ImageRef,
        architecture: Architecture,
        token: &Token,
    ) -> Result<Request, Blank> {
        let filter = match wanted {
            ImageRef::Id(id) => return Ok(self.get(&format!("/images/{id}"), token)),
            ImageRef::Name(name) => format!("name={}", encode(filled(name)?)),
            ImageRef::Selector(selector) => format!("label_selector={}", encode(filled(selector)?)),
        };
        let architecture = shelf::architecture(architecture);
        let path = format!(
            "/images?{filter}&architecture={architecture}&status=available&include_deprecated=true\
             &sort=created:desc&per_page=50"
        );
        Ok(self.get(&path, token))
    }

    fn image_found(
        &self,
        answer: &Answer,
        wanted: &ImageRef,
        architecture: Architecture,
    ) -> Result<Option<Image>, Outcome> {
        image::found(answer, wanted, architecture)
    }

    fn find(&self, kind: Named, name: &str, token: &Token) -> Result<Request, Blank> {
        let collection = match kind {
            Named::Firewall => "firewalls",
            Named::Network => "networks",
            Named::SshKey => "ssh_keys",
        };
        self.by_name(collection, name, token)
    }

    fn found(&self, answer: &Answer, name: &str) -> Result<Option<u64>, Outcome> {
        shelf::found(answer, name)
    }

    fn attached(&self, kind: ResidueKind, id: u64, token: &Token) -> Request {
        self.get(&format!("/{}/{id}", residue::collection(kind)), token)
    }

    fn residue(
        &self,
        answer: &Answer,
        kind: ResidueKind,
        prices: &Extras,
    ) -> Result<Option<Residue>, Outcome> {
        residue::read(answer, kind, prices)
    }
}

fn filled(text: &str) -> Result<&str, Blank> {
    let text = text.trim();
    if text.is_empty() { Err(Blank) } else { Ok(text) }
}

#[cfg(test)]
mod tests;
