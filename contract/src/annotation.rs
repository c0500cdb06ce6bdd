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
            [DEADLINE, DEADLINE_FOR, HEARTBEAT, WATCHDOG_ARMED],
            ["curfew.dev/deadline", "curfew.dev/deadline-for", "curfew.dev/heartbeat", "WatchdogArmed"]
        );
    }
}
