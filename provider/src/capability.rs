//! What a provider can do that another cannot. Branches are driven by these, never by a provider's name.

/// What a provider can do.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, each with its own branch")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A server that is switched off costs nothing, so a machine could end its own bill without a credential.
    pub powering_off_stops_billing: bool,
    /// A create call can say when the provider itself deletes the server.
    pub server_side_ttl: bool,
    /// Servers carry labels, given in the create call and searched by.
    pub labels: bool,
    /// A credential can be cut down to one server.
    pub per_server_credential: bool,
}
