//! Who is held to the promises: a driver, where it calls, and the token it calls with.
//!
//! Every request it sends is held against the provider's own description, where that is at hand.

use std::{collections::BTreeMap, error::Error, sync::Arc, time::Duration};

use curfew_provider::{
    Answer, Architecture, Caller, Catalogue, Created, ImageRef, Method, NotCreated, Order, Outcome, Progress,
    Rental, Request, Requirements, Server, ServerId, Strategy, Token, UserData, choose,
};
use curfew_sandbox::cloud::{Access, Cloud, Options, Project};
use tokio::time::sleep;

use crate::openapi::Description;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// On every server of a run.
pub(crate) const RUN: &str = "curfew.dev/conformance";

/// A driver as a caller has it.
pub(crate) struct Subject {
    pub(crate) driver: Arc<dyn Rental>,
    pub(crate) token: Token,
    pub(crate) region: String,
    /// The value of [`RUN`], and what every name begins with.
    pub(crate) run: String,
    client: reqwest::Client,
    description: Option<Description>,
}

impl Subject {
    pub(crate) fn new(driver: Arc<dyn Rental>, token: Token, region: &str, run: &str) -> Result<Self> {
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls).timeout(PATIENCE).build()?;
        let (region, run, description) = (region.to_owned(), run.to_owned(), Description::at_hand());
        Ok(Self { driver, token, region, run, client, description })
    }

    /// The same with another token.
    pub(crate) fn with_token(&self, token: &str) -> Result<Self> {
        Self::new(Arc::clone(&self.driver), Token::new(token)?, &self.region, &self.run)
    }

    /// Sends a request: status, headers, body.
    pub(crate) async fn send(&self, request: Request) -> Result<Raw> {
        if let Some(description) = &self.description {
            let faults = description.of_request(&request);
            assert!(faults.is_empty(), "{} {}: {faults:#?}", request.method.as_str(), request.url);
        }
        let method = match request.method {
            Method::Delete => reqwest::Method::DELETE,
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
        };
        let mut sent = self.client.request(method, request.url);
        sent = sent.header("Authorization", request.token.authorization());
        if let Some(body) = request.body {
            sent = sent.header("Content-Type", "application/json").body(body);
        }
        let answer = sent.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Raw { status, headers, body: answer.bytes().await?.to_vec() })
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<Answer> {
        Ok(self.send(request).await?.answer())
    }

    /// Every server that carries the label, and how many pages that took.
    pub(crate) async fn list(&self, label: (&str, &str)) -> Result<(Vec<Server>, u32)> {
        let (mut servers, mut next, mut pages) = (Vec::new(), Some(1), 0);
        while let Some(page) = next {
            let answer = self.ask(self.driver.list(label, page, &self.token)).await?;
            let listing = self.driver.listing(&answer)?;
            servers.extend(listing.servers);
            (next, pages) = (listing.next_page, pages + 1);
        }
        Ok((servers, pages))
    }

    /// Servers of exactly this name.
    pub(crate) async fn named(&self, name: &str) -> Result<Vec<Server>> {
        let answer = self.ask(self.driver.list_named(name, &self.token)?).await?;
        let mut servers = self.driver.listing(&answer)?.servers;
        servers.retain(|server| server.name == name);
        Ok(servers)
    }

    pub(crate) async fn read(&self, id: ServerId) -> Result<std::result::Result<Server, Outcome>> {
        let answer = self.ask(self.driver.read(id, &self.token)).await?;
        Ok(self.driver.server(&answer, Caller::Another))
    }

    pub(crate) async fn catalogue(&self) -> Result<Catalogue> {
        let driver = &self.driver;
        let pricing = driver.prices(&self.ask(driver.pricing(&self.token)).await?)?;
        let (mut sizes, mut next) = (Vec::new(), Some(1));
        while let Some(page) = next {
            let page = driver.size_page(&self.ask(driver.sizes(page, &self.token)).await?)?;
            sizes.extend(page.items);
            next = page.next_page;
        }
        let regions = driver.region_page(&self.ask(driver.regions(1, &self.token)).await?)?;
        Ok(Catalogue::new(pricing, sizes, regions.items))
    }

    /// The smallest thing that can be had, under a name of this run.
    pub(crate) async fn order(&self, name: &str) -> Result<Order> {
        let catalogue = self.catalogue().await?;
        let choice = choose(&catalogue, &self.region, &ANY);
        let size = choice.chosen.ok_or("nothing can be had there")?.size;
        Ok(Order {
            name: format!("{}-{name}", self.run),
            size: size.name.clone(),
            region: self.region.clone(),
            image: self.image(&ImageRef::Name(IMAGE.into()), size.architecture).await?.ok_or("no image")?,
            ssh_keys: Vec::new(),
            firewalls: Vec::new(),
            networks: Vec::new(),
            public_ipv4: true,
            public_ipv6: true,
            labels: BTreeMap::from([(RUN.to_owned(), self.run.clone())]),
            user_data: Some(UserData::new("#cloud-config\n".into())),
        })
    }

    pub(crate) async fn image(
        &self,
        wanted: &ImageRef,
        architecture: Architecture,
    ) -> Result<Option<curfew_provider::ImageId>> {
        let answer = self.ask(self.driver.find_image(wanted, architecture, &self.token)?).await?;
        Ok(self.driver.image_found(&answer, wanted, architecture)?.map(|image| image.id))
    }

    pub(crate) async fn create(&self, order: &Order) -> Result<std::result::Result<Created, NotCreated>> {
        Ok(self.driver.created(&self.ask(self.driver.create(order, &self.token)).await?))
    }

    /// How an action ends.
    pub(crate) async fn ends(&self, action: curfew_provider::ActionId) -> Result<Progress> {
        loop {
            let answer = self.ask(self.driver.action(action, &self.token)).await?;
            match self.driver.progress(&answer)? {
                Progress::Running => sleep(LOOK).await,
                ended => return Ok(ended),
            }
        }
    }

    pub(crate) async fn delete(&self, id: ServerId) -> Result<Outcome> {
        let answer = self.ask(self.driver.delete(id, &self.token)).await?;
        Ok(self.driver.deletion(&answer).0)
    }

    /// Deletes until it is gone.
    pub(crate) async fn be_rid_of(&self, id: ServerId) -> Result<()> {
        while self.read(id).await? != Err(Outcome::Gone) {
            self.delete(id).await?;
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Nothing of this run stays.
    pub(crate) async fn leave_nothing(&self) -> Result<()> {
        for server in self.list((RUN, &self.run)).await?.0 {
            self.be_rid_of(server.id).await?;
        }
        Ok(())
    }
}

/// An answer as it came.
pub(crate) struct Raw {
    pub(crate) status: u16,
    headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    pub(crate) fn answer(self) -> Answer {
        let header = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        Answer::new(self.status, header, self.body)
    }
}

/// The subject whose provider is the double, and the double.
pub(crate) struct Double {
    pub(crate) cloud: Cloud,
    pub(crate) subject: Subject,
}

impl Double {
    /// `driver`: speaks to the given endpoint.
    pub(crate) async fn start(driver: fn(&str) -> Arc<dyn Rental>) -> Result<Self> {
        let cloud = Cloud::start(Options::default()).await?;
        let token = Token::new(&cloud.issue_token(Project::OURS, Access::ReadWrite, "subject"))?;
        let subject = Subject::new(driver(&cloud.endpoint()), token, "fsn1", "double")?;
        Ok(Self { cloud, subject })
    }
}

const ANY: Requirements = Requirements {
    min_cpu: 1,
    min_memory_mib: 1024,
    architecture: None,
    cpu: None,
    strategy: Strategy::LowestPrice,
};

/// Of the provider's own.
pub(crate) const IMAGE: &str = "debian-13";

const PATIENCE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(200);
