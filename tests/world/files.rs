//! What machines and programs left on disk.

use std::{fs, path::PathBuf};

use curfew_sandbox::machine::Machine;
use serde_json::Value;

use super::{Result, World};

impl World {
    /// What the agent last said to its own machine.
    #[must_use]
    pub fn last_word(&self, machine: &Machine) -> Option<Value> {
        serde_json::from_slice(&fs::read(machine.dir().join("run/status.json")).ok()?).ok()
    }

    /// Changes the machine's ledger, both copies, while the agent is dead.
    pub fn rewrite_ledger(&self, machine: &Machine, change: impl Fn(&mut Value)) -> Result<()> {
        for path in ledgers(machine).into_iter().filter(|path| path.exists()) {
            let mut record = serde_json::from_slice(&fs::read(&path)?)?;
            change(&mut record);
            fs::write(&path, serde_json::to_vec(&record)?)?;
        }
        Ok(())
    }

    /// Waits until the ledger on disk, both copies, is as `is` says.
    pub async fn recorded(&self, machine: &Machine, what: &str, is: impl Fn(&Value) -> bool) -> Result<()> {
        let read = |part: &str| -> Option<Value> {
            serde_json::from_slice(&fs::read(machine.dir().join(part).join("ledger.json")).ok()?).ok()
        };
        let both = || ["run", "state"].iter().all(|part| read(part).is_some_and(|r| is(&r))).then_some(());
        self.becomes(what, both).await
    }

    /// Everything below the stage's directory: logs, ledgers, keys.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let (mut found, mut dirs) = (Vec::new(), vec![self.dir.path().to_owned()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.path().is_dir() { dirs.push(entry.path()) } else { found.push(entry.path()) }
            }
        }
        found
    }
}

fn ledgers(machine: &Machine) -> Vec<PathBuf> {
    let names = ["ledger.json", "ledger.previous.json"];
    ["run", "state"].iter().flat_map(|part| names.map(|name| machine.dir().join(part).join(name))).collect()
}
