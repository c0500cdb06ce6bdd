//! What `run`, `check`, `fire` and `status` are built from: one place, so that all act upon the same options.

use std::sync::Arc;

use curfew_provider::{Driver, hetzner::Hetzner};

use crate::{
    config::Config,
    credential::Credential,
    fire::Weapon,
    identity::Dmi,
    journal,
    ledger::{Ledger, Machine},
    net::{BestTime, Dates, DatesIgnored, Options, Proxies},
    prober::Prober,
};

/// The parts.
pub struct Parts {
    /// The provider's language.
    pub driver: Arc<dyn Driver>,
    /// The token.
    pub credential: Arc<Credential>,
    /// The firmware.
    pub dmi: Dmi,
    /// The ledger.
    pub ledger: Ledger,
    /// How to connect to the provider: strict about dates.
    pub transport: Options,
    /// Whether the API server was believed in spite of its certificate's dates.
    pub cluster_dates_ignored: Arc<DatesIgnored>,
    metadata: String,
}

impl Parts {
    /// Builds them. Opens nothing.
    #[must_use]
    pub fn new(config: &Config, best_time: Arc<BestTime>) -> Self {
        let proxies = Proxies::from_variables(|name| std::env::var(name).ok()).unwrap_or_else(|error| {
            tracing::error!(error = journal::chain(&error), "the proxy from the environment is not used");
            Proxies::none()
        });
        Self {
            driver: Arc::new(Hetzner::new(&config.endpoint)),
            credential: Arc::new(Credential::new(config.token.clone())),
            dmi: Dmi(config.dmi.clone()),
            ledger: Ledger { live: config.run_dir.clone(), kept: config.state_dir.clone() },
            transport: Options {
                authorities: config.provider_ca.clone(),
                proxies,
                fallback: Vec::new(),
                dates: Dates::Strict,
                best_time,
                dates_ignored: Arc::new(DatesIgnored::default()),
            },
            cluster_dates_ignored: Arc::new(DatesIgnored::default()),
            metadata: config.metadata.clone(),
        }
    }

    /// Whether a certificate was accepted in spite of its dates.
    #[must_use]
    pub fn dates_ignored(&self) -> bool {
        self.transport.dates_ignored.is_current() || self.cluster_dates_ignored.is_current()
    }

    /// The machine by its firmware's word.
    #[must_use]
    pub fn machine(&self) -> Machine {
        let server = self.dmi.server(self.driver.as_ref()).map(|id| self.driver.provider_id(id));
        Machine { product_uuid: self.dmi.product_uuid(), server, ..Machine::default() }
    }

    /// What to fire with.
    #[must_use]
    pub fn weapon(&self, observe: bool) -> Weapon {
        let prober = self.prober();
        let transport = Options { dates: Dates::ClampedIfOnlyFault, ..prober.transport };
        Weapon { prober: Prober { transport, ..prober }, observe }
    }

    /// What to ask the provider with, while nothing is deleted.
    #[must_use]
    pub fn prober(&self) -> Prober {
        Prober {
            driver: Arc::clone(&self.driver),
            credential: Arc::clone(&self.credential),
            dmi: self.dmi.clone(),
            metadata: self.metadata.clone(),
            transport: self.transport.clone(),
        }
    }
}
