//! What a person changes at the provider by hand, behind every caller's back.

use serde_json::Value;

use super::{Cloud, Labels, Project, server::Server};

impl Cloud {
    /// Adds what the API shows under `collection` (`volumes`, `primary_ips`, `floating_ips`, `load_balancers`),
    /// as it shows it. Deleting a server lets go of it, or takes it along if `auto_delete`.
    pub fn add_residue(&self, project: Project, collection: &str, item: Value) {
        self.shared
            .with(|state, _| state.residue.entry(collection.into()).or_default().push((project, item)));
    }

    /// Locks a server until released, as a long-running action would.
    pub fn set_locked(&self, id: u64, locked: bool) {
        self.change(id, |server| server.held = locked);
    }

    /// Switches delete protection.
    pub fn set_protected(&self, id: u64, protected: bool) {
        self.change(id, |server| server.protected = protected);
    }

    /// As a person would in the Console.
    pub fn rename(&self, id: u64, name: &str) {
        self.change(id, |server| server.name = name.into());
    }

    /// Replaces all labels.
    pub fn set_labels(&self, id: u64, labels: Labels) {
        self.change(id, |server| server.labels = labels);
    }

    /// What metadata serves as user-data: what a create call would have carried.
    pub fn set_user_data(&self, id: u64, user_data: &str) {
        self.change(id, |server| server.user_data = Some(user_data.into()));
    }

    /// Gives the server to another project, so that our tokens see 404.
    pub fn move_to(&self, id: u64, project: Project) {
        self.change(id, |server| server.project = project);
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Server)) {
        self.shared.with(|state, _| state.servers.get_mut(&id).map(change));
    }
}
