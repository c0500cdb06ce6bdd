//! The annotation keys on a Node. Owns their spelling; holds no behaviour.

/// When the machine must be gone.
///
/// * Written by: the controller (a person may, by hand).
/// * Read by: the agent.
/// * Format: [`crate::deadline`].
/// * If unreadable: refused and reported in the heartbeat; the last good deadline stands.
pub const DEADLINE: &str = "curfew.dev/deadline";

/// Which server [`DEADLINE`] is meant for.
///
/// * Written by: the controller, in the same patch as the deadline.
/// * Read by: the agent.
/// * Format: the Node's `spec.providerID`, for example `hcloud://42`.
/// * If it names another server: the deadline is refused, since the Node was re-created under the same name. If
///   absent (a deadline written by hand) the deadline counts.
pub const DEADLINE_FOR: &str = "curfew.dev/deadline-for";

/// With less than this left, the machine moves its work away.
///
/// * Written by: the controller, in the same patch as the deadline.
/// * Read by: the agent.
/// * Format: [`crate::grace`].
/// * If unreadable: refused and reported in the heartbeat; no work is moved. If absent: none is either.
pub const GRACE: &str = "curfew.dev/grace";

/// The agent has cordoned this Node itself, for the end that is named here.
///
/// * Written by: the agent, in the same patch as `spec.unschedulable`, and taken away with it.
/// * Read by: the agent, also one that was restarted: only a Node that carries it is uncordoned when a renewal comes.
///   A person who wants the Node to stay cordoned takes it away.
/// * Format: the time at which the machine was to be deleted, RFC 3339, UTC, whole seconds.
/// * If unreadable: it is a mark all the same, for an end that is not known.
pub const CORDONED_FOR: &str = "curfew.dev/cordoned-for";

/// The controller has cordoned this Node, to move its work away before it deletes the machine at the end named here.
///
/// Not [`CORDONED_FOR`]: the agent takes its own mark off, and the cordon with it, whenever *its* end is not near, and a
/// lease may ask for more time to drain than the agent's grace. Neither ever takes off the other's cordon, nor a person's.
///
/// * Written by: the controller, in the same patch as `spec.unschedulable`, and taken away with it.
/// * Read by: the controller, also one that was restarted: only a Node that carries it is uncordoned when the lease is
///   extended. A person who wants the Node to stay cordoned takes it away.
/// * Format: the time at which the machine is to be deleted, RFC 3339, UTC, whole seconds.
/// * If unreadable: it is a mark all the same, for an end that is not known.
pub const DRAINED_FOR: &str = "curfew.dev/drained-for";

/// What the agent will do, and whether it can.
///
/// * Written by: the agent, with the kubelet's credential.
/// * Read by: the controller.
/// * Format: [`crate::Heartbeat`] as one JSON object.
/// * If unreadable: the machine is shown as unarmed.
pub const HEARTBEAT: &str = "curfew.dev/heartbeat";

/// Type of the condition on Nodes and on `CapacityLease`s.
///
/// * Written by: the controller.
/// * Read by: people. Nothing gates scheduling or teardown on it: the layers stay independent.
pub const WATCHDOG_ARMED: &str = "WatchdogArmed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_spelled_as_promised() {
        assert_eq!(
            [DEADLINE, DEADLINE_FOR, GRACE, CORDONED_FOR, DRAINED_FOR, HEARTBEAT, WATCHDOG_ARMED],
            [
                "curfew.dev/deadline",
                "curfew.dev/deadline-for",
                "curfew.dev/grace",
                "curfew.dev/cordoned-for",
                "curfew.dev/drained-for",
                "curfew.dev/heartbeat",
                "WatchdogArmed"
            ]
        );
    }
}
