//! Calls that look: what there is to be had, what a name means, what was left behind. All of them can wait.

use curfew_provider::{Architecture, Catalogue, Extras, Image, ImageRef, Named, Residue, ResidueKind};

use super::Account;
use crate::cloud::{CallError, Urgency};

impl Account {
    /// Everything on sale, with its prices.
    pub(crate) async fn catalogue(&self) -> Result<Catalogue, CallError> {
        let driver = &self.driver;
        let sizes = self.pages(
            Urgency::Look,
            |page| driver.sizes(page, &self.token),
            |answer| driver.size_page(answer).map(|page| (page.items, page.next_page)),
        );
        let sizes = sizes.await?;
        let regions = self.pages(
            Urgency::Look,
            |page| driver.regions(page, &self.token),
            |answer| driver.region_page(answer).map(|page| (page.items, page.next_page)),
        );
        let regions = regions.await?;
        let answer = self.call(&driver.pricing(&self.token), Urgency::Look).await?;
        let pricing = driver.prices(&answer).map_err(CallError::Refused)?;
        Ok(Catalogue::new(pricing, sizes, regions))
    }

    /// The newest image that is wanted, if there is one for the architecture.
    pub(crate) async fn image(
        &self,
        wanted: &ImageRef,
        architecture: Architecture,
        urgency: Urgency,
    ) -> Result<Option<Image>, CallError> {
        let request = self.driver.find_image(wanted, architecture, &self.token)?;
        let answer = self.call(&request, urgency).await?;
        self.driver.image_found(&answer, wanted, architecture).map_err(CallError::Refused)
    }

    /// The id of what has exactly this name.
    pub(crate) async fn find(
        &self,
        kind: Named,
        name: &str,
        urgency: Urgency,
    ) -> Result<Option<u64>, CallError> {
        let answer = self.call(&self.driver.find(kind, name, &self.token)?, urgency).await?;
        self.driver.found(&answer, name).map_err(CallError::Refused)
    }

    /// What was attached to a server that is gone, if it is still there and serves nobody.
    pub(crate) async fn attached(
        &self,
        kind: ResidueKind,
        id: u64,
        prices: &Extras,
        urgency: Urgency,
    ) -> Result<Option<Residue>, CallError> {
        let answer = self.call(&self.driver.attached(kind, id, &self.token), urgency).await?;
        self.driver.residue(&answer, kind, prices).map_err(CallError::Refused)
    }
}
