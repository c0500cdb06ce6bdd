//! F6: an armed machine boots again in mid-lease, and the API server is gone. What it fires by is its ledger: at the
//! deadline, or as soon after the boot as it has a network.

use std::time::Duration;

use curfew_sandbox::scenario::Layer;
use jiff::SignedDuration;

use super::{
    Played, RowError, Stage,
    virtual_machine::{ApiServer, ON_TIME, bound},
};
use crate::{bed::Bed, clock, vm::Rtc};

/// How the first boot ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In good order, and back before the deadline.
    Reboot,
    /// By the reset button, and back after it.
    Reset,
}

impl End {
    const fn slack(self) -> Duration {
        match self {
            Self::Reboot => Duration::from_mins(1),
            Self::Reset => Duration::from_secs(11),
        }
    }
}

pub(super) async fn play(stage: &Stage, end: End) -> Played {
    let scene = stage.virtual_machine(Rtc::Utc, end.slack()).await?;
    let deadline = scene.cut_off(ApiServer::Hangs).await?;
    let began = clock::now();
    match end {
        End::Reboot => scene.machine.reboot().await?,
        End::Reset => scene.machine.reset().await?,
    }
    let network = scene.machine.console().says(NETWORK, began, BACK_WITHIN).await;
    let network = network.ok_or(RowError::Unsaid(NETWORK))?;
    let bound = bound(deadline, network, THEN).max(ON_TIME + HARDWARE_CLOCK);
    // Agent and backstop begin in the same second, read the Node equally long, and fire together.
    scene.ends(Layer::Any, DEADLINE_WITHIN, bound).await
}

/// What `systemd-networkd` says when there is an address.
const NETWORK: &str = "eth0: DHCPv4 address";
const BACK_WITHIN: Duration = Duration::from_secs(150);
/// The Node is read for 10 s before a remembered deadline is acted upon.
const THEN: SignedDuration = SignedDuration::from_secs(15);
/// Its clock was set at boot from the hardware's, which tells whole seconds. It waits that second out, to be never early.
const HARDWARE_CLOCK: Duration = Duration::from_secs(1);
const DEADLINE_WITHIN: Duration = Duration::from_mins(2);
