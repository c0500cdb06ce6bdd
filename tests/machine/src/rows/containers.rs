//! What the rows of containers share: a machine that was rented and booted from its document.

use curfew_sandbox::machine;

use super::{
    RowError,
    stage::{Plan, Scene, Stage},
};
use crate::{
    container::{Change, Container},
    document::Extra,
};

impl Stage {
    /// A container that got the usual document.
    pub(super) async fn container(&self) -> Result<Scene<Container>, RowError> {
        self.container_by(Plan::default(), |_| Ok(())).await
    }

    /// A container that got its document. `change`: of its image.
    pub(super) async fn container_by(
        &self,
        plan: Plan,
        change: Change,
    ) -> Result<Scene<Container>, RowError> {
        let (files, options) = (|id| firmware(id).to_vec(), "CURFEW_DMI=/etc/curfew/firmware\n");
        let (world, papers, spec) = self.rent(Plan { options, files, ..plan }).await?;
        let machine = Container::boot(&spec, &self.site.image.join("tree"), self.site.dir(), change).await?;
        Ok(self.scene(world, papers, machine))
    }
}

/// What a Hetzner server's firmware says. A container has the firmware of the machine it runs on, so these stand for it.
fn firmware(id: u64) -> [Extra; 3] {
    machine::firmware(id).map(|(file, text)| Extra::new(format!("/etc/curfew/firmware/{file}"), "0644", text))
}
