//! What the rows of virtual machines share: a machine that was rented, booted and armed, and being cut off.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{
    RowError,
    stage::{Plan, Scene, Stage},
};
use crate::{
    vm::{Rtc, Vm},
    world::WorldError,
};

/// What is left of the API server when the controller is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiServer {
    /// All of it.
    Up,
    /// An address that accepts and never answers.
    Hangs,
    /// An address where nobody listens.
    Closed,
}

impl Stage {
    /// A virtual machine after its first boot by the usual document, armed, its deadline rolling `slack` ahead.
    pub(super) async fn virtual_machine(&self, rtc: Rtc, slack: Duration) -> Result<Scene<Vm>, RowError> {
        let (world, papers, spec) = self.rent(Plan::default()).await?;
        world.hold(RENEWED_EVERY, slack).await?;
        let machine = Vm::boot(&spec, papers.id, rtc, &self.site).await?;
        let scene = self.scene(world, papers, machine);
        scene.armed().await?;
        // What the bootstrap does after arming, it would do in the middle of what the row does.
        scene.says("curfew-bootstrap: join done", BOOTSTRAP_ENDS_WITHIN).await?;
        Ok(scene)
    }
}

impl Scene<Vm> {
    /// The controller dies, and with it the API server as far as `left` says. Returns the deadline that stands, which
    /// the machine knows: it was cut off a moment later.
    pub(super) async fn cut_off(&self, left: ApiServer) -> Result<Timestamp, RowError> {
        self.world.kill_controller();
        tokio::time::sleep(LEARNT_WITHIN).await;
        match left {
            ApiServer::Up => {}
            ApiServer::Hangs => self.world.cluster.hang(true),
            ApiServer::Closed => self.world.cluster.stop().await,
        }
        let deadline = self.world.api.deadline(&self.papers.name).await.map_err(WorldError::from)?;
        deadline.ok_or(RowError::NoDeadline)
    }

    /// Waits for this long after `at`.
    pub(super) async fn wait_until(&self, at: Timestamp, after: SignedDuration) {
        let left = (at + after).duration_since(crate::clock::now());
        tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
    }
}

/// How late after `deadline` a machine may fire that could do nothing before `able`: a network, or a life.
pub(super) fn bound(deadline: Timestamp, able: Timestamp, then: SignedDuration) -> Duration {
    let latest = (able + then).duration_since(deadline);
    Duration::try_from(latest).unwrap_or_default().max(ON_TIME)
}

/// What a machine that lacks nothing may be late: the second that is promised, and another for what emulation adds on a
/// machine under load. A handshake alone, milliseconds elsewhere, was seen to take 0.7 s.
pub(super) const ON_TIME: Duration = Duration::from_secs(2);
const BOOTSTRAP_ENDS_WITHIN: Duration = Duration::from_mins(2);
const RENEWED_EVERY: Duration = Duration::from_secs(10);
/// A renewal is on the Node, and the machine's watch has delivered it.
const LEARNT_WITHIN: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_able_early_must_be_on_time() {
        let deadline = Timestamp::constant(1_796_000_000, 0);
        let bound = |able: i64| {
            bound(deadline, deadline + SignedDuration::from_secs(able), SignedDuration::from_secs(15))
        };
        assert_eq!(bound(-100), ON_TIME);
        assert_eq!(bound(-5), Duration::from_secs(10));
        assert_eq!(bound(20), Duration::from_secs(35));
    }
}
