//! Plays rows of the failure matrix, several at once, and prints each as it ends.

use std::{path::PathBuf, process::ExitCode};

use crate::{
    programs::Programs,
    scenario::{Row, Scenario},
};

/// What to play, and how to print it.
pub(crate) struct Matrix {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) programs: Programs,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) json: bool,
}

impl Matrix {
    /// Succeeds if every row held.
    pub(crate) async fn play(self) -> ExitCode {
        if !self.json {
            println!("{}", heading(self.kubeconfig.is_some()));
        }
        // On a shared API server every controller would keep every row's lease.
        let at_once = if self.kubeconfig.is_some() { 1 } else { Scenario::AT_ONCE };
        let mut playing =
            Scenario::play_all(self.scenarios, at_once, &self.programs, self.kubeconfig.as_deref());
        let mut held = true;
        while let Some(ended) = playing.join_next().await {
            let Ok((scenario, result)) = ended else {
                held = false;
                continue;
            };
            let row = result.unwrap_or_else(|error| {
                crate::report(scenario.name(), &error);
                Row::unplayed(scenario.name())
            });
            held &= row.held;
            println!("{}", if self.json { row.json() } else { line(scenario, &row) });
        }
        if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn heading(real: bool) -> String {
    let identity = if real {
        "On a real API server: every agent uses the given kubeconfig and --node-name, no kubelet's own credential.\n"
    } else {
        ""
    };
    format!(
        "Each row: a cloud, a cluster, a real controller, a real agent; something is broken; the cloud's ledger tells.\n\
         {identity}{:8} {:10} {:>12} {:>8}  {:8} WHAT FAILS",
        "ROW", "ENFORCED", "OVERSHOOT", "BOUND", "",
    )
}

fn line(scenario: Scenario, row: &Row) -> String {
    let overshoot =
        row.overshoot_seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:+.3} s"));
    let by = row
        .enforced_by
        .as_deref()
        .unwrap_or_else(|| if scenario.only_shows() { "(shown)" } else { "nobody" });
    let held = if row.held { "held" } else { "NOT HELD" };
    let (name, bound, broken) = (scenario.name(), row.bound_seconds, scenario.broken());
    let moved = row.work_moved_seconds.map(|seconds| format!(" (work moved at {seconds:+.3} s)"));
    let moved = moved.unwrap_or_default();
    let joined = row.join_seconds.iter().map(|seconds| format!(" (joined in {seconds:.1} s)"));
    let joined = joined.collect::<String>();
    format!("{name:8} {by:10} {overshoot:>12} {bound:>6} s  {held:8} {broken}{moved}{joined}")
}
