//! Two leases, played for somebody who sees them for the first time. The first holds machines: armed, the controller is
//! killed, gone. The second rents them (`rented`): armed, and given back with a receipt.

mod rented;

use std::{process::ExitCode, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    clock,
    machine::Machine,
    stage::{Gone, Setup, Stage, StageError},
    view::{Screen, Sight, table},
};

/// Plays it. Succeeds if every machine was gone in time.
pub(crate) async fn play(setup: Setup) -> Result<ExitCode, StageError> {
    let mut show = Show { screen: Screen::new(), last: Vec::new() };
    show.screen.say(INTRODUCTION);
    let stage = Stage::set(setup).await?;
    let result = show.acts(&stage).await;
    stage.clear().await?;
    result
}

struct Show {
    screen: Screen,
    last: Vec<String>,
}

impl Show {
    async fn acts(&mut self, stage: &Stage) -> Result<ExitCode, StageError> {
        self.screen.say("\n1. The machines boot. Each agent finds out which server it is, and proves that it can delete it.");
        let begun = Instant::now();
        while !armed(&self.look(stage, &stage.lease, &stage.machines).await?) {
            if begun.elapsed() > PATIENCE {
                stage.armed().await?;
            }
        }
        self.screen.keep();
        self.screen
            .say("   Armed, all of them: whoever looks at the Node sees that it will be gone in time.");
        let (last, others) = stage.machines.split_last().unzip();
        let others: &[_] = others.unwrap_or_default();
        if let (Some(last), false) = (last, others.is_empty()) {
            stage.kill_controller();
            last.kill_agent(false);
            self.screen.say(&format!(
                "\n2. kill -9 of the controller: nobody renews the deadlines any more. And kill -9 of the agent of\n   {}: \
                 there, only PID 1's timer is left. What the Nodes show is from before.",
                last.name
            ));
        } else {
            stage.kill_controller();
            self.screen.say("\n2. kill -9 of the controller: nobody renews the deadlines any more.");
        }
        let begun = Instant::now();
        let sights = loop {
            let sights = self.look(stage, &stage.lease, &stage.machines).await?;
            if sights.iter().all(|sight| sight.gone.is_some()) || begun.elapsed() > PATIENCE {
                break sights;
            }
        };
        self.screen.keep();
        let late = |sight: &Sight| sight.gone.as_ref().and_then(Gone::overshoot);
        let held =
            sights.iter().all(|sight| late(sight).is_some_and(|s| (0.0..=BACKSTOP_BOUND).contains(&s)));
        self.screen.say(if held {
            "   Gone, with nobody left to ask for it."
        } else {
            "   NOT all of them are gone in time: the guarantee is broken."
        });
        let held = held && self.rented(stage).await?;
        if held {
            self.screen.say(NEXT);
        }
        Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Draws a lease's machines, and waits a moment.
    async fn look(
        &mut self,
        stage: &Stage,
        lease: &str,
        machines: &[Arc<Machine>],
    ) -> Result<Vec<Sight>, StageError> {
        let mut sights = Vec::new();
        for machine in machines {
            let (name, server) = (machine.name.clone(), machine.id);
            let shown = stage.api.shown(&name).await?;
            let gone = stage.gone_with(lease, machine, Duration::ZERO).await?;
            let deadline = match &gone {
                Some(gone) => gone.deadline,
                None => stage.api.deadline(&name).await?,
            };
            sights.push(Sight { name, server, shown, deadline, gone });
        }
        // Where nothing can be drawn over, only what changed is told: no countdown.
        let now = if self.screen.redraws() { Some(clock::now()) } else { None };
        let lines = table(&sights, now);
        if lines != self.last {
            self.screen.draw(&lines);
            self.last = lines;
        }
        sleep(FRAME).await;
        Ok(sights)
    }
}

fn armed(sights: &[Sight]) -> bool {
    sights.iter().all(|sight| sight.shown.status == "True")
}

const INTRODUCTION: &str = "\
curfew: when the deadline passes, the machine is gone; and at every moment
before, anyone can see whether it will be. Below: a loopback cloud with rented
servers, a loopback cluster, and real processes: a controller, and on each
server an agent and a backstop. The times are those of the cloud's own ledger.";

const NEXT: &str = "\nNext:\n   cargo run --release -p sandbox -- --all   plays every failure,\n   cargo run --release -p sandbox -- up      leaves it running.";

const FRAME: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_mins(1);
/// As in F3.
const BACKSTOP_BOUND: f64 = 20.0;
