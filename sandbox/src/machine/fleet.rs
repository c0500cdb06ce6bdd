//! Machines that nobody rents by hand: each server that is created over the API boots one, as its user-data says. What
//! could go wrong with a machine before it works can be made to go wrong here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

use super::{Machine, MachineError, Site, Spec, user_data::UserData};
use crate::{api::Joining, cloud::Created};
use curfew_contract::label;

/// How a machine turns out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// It boots, joins, and is ready.
    #[default]
    Works,
    /// Nothing of it ever runs.
    NeverBoots,
    /// Its agent runs; the kubelet does not.
    NeverJoins,
    /// Its Node carries another lease's label.
    WrongLabel,
    /// Its Node names another server.
    WrongProviderId,
    /// Its Node stays `NotReady`.
    NeverReady,
}

/// How machines boot from now on.
#[derive(Clone, Debug)]
pub struct Boots {
    /// From the create call to the start of the agent.
    pub takes: Duration,
    /// From the Node's registration to its being ready.
    pub ready_after: Duration,
    /// How a machine turns out, by the end of its name (`-0` is the first of a lease): [`Turn::Works`] if not in here.
    pub turns: BTreeMap<String, Turn>,
    /// Everything else; name, labels and lifetime are the user-data's.
    pub like: Spec,
}

impl Default for Boots {
    fn default() -> Self {
        Self {
            takes: Duration::from_millis(500),
            ready_after: Duration::from_millis(500),
            turns: BTreeMap::new(),
            like: Spec::fast("", BTreeMap::new()),
        }
    }
}

impl Boots {
    fn turn(&self, name: &str) -> Turn {
        self.turns.iter().find(|(end, _)| name.ends_with(*end)).map(|(_, turn)| *turn).unwrap_or_default()
    }
}

/// All machines that booted by themselves. Dropped, nothing of them runs any more.
pub struct Fleet {
    shared: Arc<Shared>,
    booting: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    boots: Mutex<Boots>,
    created: Mutex<Vec<Created>>,
    machines: Mutex<BTreeMap<u64, Arc<Machine>>>,
}

impl Fleet {
    /// From now on a server that is created boots. Must be called within a tokio runtime, and once for a cloud.
    #[must_use]
    pub fn attend(site: Site) -> Self {
        let (created, servers) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::default());
        let books = Arc::clone(&shared);
        site.cloud.on_created(move |server| {
            lock(&books.created).push(server.clone());
            // Nobody is left to boot it once the fleet is gone.
            drop(created.send(server));
        });
        let booting = tokio::spawn(boot_all(servers, Arc::clone(&shared), site));
        Self { shared, booting }
    }

    /// Changes how machines boot. What was read of it for a machine at its creation stands.
    pub fn configure(&self, change: impl FnOnce(&mut Boots)) {
        change(&mut lock(&self.shared.boots));
    }

    /// Every machine that booted so far, also those that are gone, in the order of their servers.
    #[must_use]
    pub fn machines(&self) -> Vec<Arc<Machine>> {
        lock(&self.shared.machines).values().cloned().collect()
    }

    /// Every server that was ever created, as it was then.
    #[must_use]
    pub fn created(&self) -> Vec<Created> {
        lock(&self.shared.created).clone()
    }

    /// The machine of a server, once it has booted.
    #[must_use]
    pub fn machine(&self, id: u64) -> Option<Arc<Machine>> {
        lock(&self.shared.machines).get(&id).cloned()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.booting.abort();
        lock(&self.shared.machines).clear();
    }
}

/// In one task: the kernel ends what a thread started when that thread ends.
async fn boot_all(mut servers: mpsc::UnboundedReceiver<Created>, shared: Arc<Shared>, site: Site) {
    let mut booting = JoinSet::new();
    while let Some(server) = servers.recv().await {
        let (shared, site, boots) = (Arc::clone(&shared), site.clone(), lock(&shared.boots).clone());
        booting.spawn(async move {
            if let Err(error) = boot(server, boots, &shared, &site).await {
                crate::report("sandbox", &error);
            }
        });
        while booting.try_join_next().is_some() {}
    }
}

async fn boot(server: Created, boots: Boots, shared: &Shared, site: &Site) -> Result<(), MachineError> {
    sleep(boots.takes).await;
    let turn = boots.turn(&server.name);
    let Some(told) = server.user_data.as_deref().and_then(UserData::read) else {
        return Err(MachineError::UserData { name: server.name });
    };
    if turn == Turn::NeverBoots || !site.cloud.contains(server.id) {
        return Ok(());
    }
    let UserData { lease, lifetime, token } = told;
    let mut spec = Spec { name: server.name.clone(), ..boots.like };
    spec.labels.insert(label::LEASE.into(), lease);
    spec.options.entry("--max-lifetime").or_insert(lifetime);
    let mut joining = Joining::new(&server.name, server.id, spec.labels.clone());
    let machine = Arc::new(Machine::boot(&spec, server.id, token, site)?);
    lock(&shared.machines).insert(server.id, Arc::clone(&machine));
    match turn {
        Turn::NeverJoins => return Ok(()),
        Turn::WrongLabel => drop(joining.labels.insert(label::LEASE.into(), "another".into())),
        Turn::WrongProviderId => joining.provider_id = format!("hcloud://{}", server.id + 1),
        _ => {}
    }
    let failed = |source| MachineError::Join { name: server.name.clone(), source };
    site.api.join(&joining).await.map_err(failed)?;
    sleep(boots.ready_after).await;
    if turn != Turn::NeverReady && site.cloud.contains(server.id) {
        site.api.mark_ready(&server.name, true).await.map_err(failed)?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
