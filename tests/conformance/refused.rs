//! What a driver makes of every way in which a provider says no, or does not say it. Against the double only.

use std::time::Duration;

use curfew_provider::{
    Answer, Architecture, Caller, Extras, ImageRef, NotCreated, Outcome, Rental, ResidueKind,
};
use curfew_sandbox::cloud::{Access, Effect, Fault, Project, ServerSpec};
use curfew_tests::Kept;

use crate::{Case, cases, subject::Double};

pub(crate) const CASES: &[Case<Double>] = cases![
    a_read_only_token_reads_and_is_told_apart_when_it_writes,
    a_revoked_token_is_forbidden_everything,
    a_token_of_another_project_sees_and_deletes_nothing,
    a_locked_server_and_a_protected_one_have_different_remedies,
    no_stock_and_no_quota_are_told_apart,
    a_rate_limit_decides_nothing_and_says_when_if_it_does,
    a_proxys_page_decides_nothing,
    an_outage_decides_nothing,
];

/// What each reader of answers makes of this one. `None`: it took it for good.
fn readings(driver: &dyn Rental, answer: &Answer) -> [(&'static str, Option<Outcome>); 11] {
    let wanted = ImageRef::Name("any".into());
    [
        ("server", driver.server(answer, Caller::Another).err()),
        ("listing", driver.listing(answer).err()),
        (
            "created",
            match driver.created(answer) {
                Err(NotCreated::Refused(outcome)) => Some(outcome),
                _ => None,
            },
        ),
        ("deletion", Some(driver.deletion(answer).0)),
        ("progress", driver.progress(answer).err()),
        ("size_page", driver.size_page(answer).err()),
        ("region_page", driver.region_page(answer).err()),
        ("prices", driver.prices(answer).err()),
        ("image_found", driver.image_found(answer, &wanted, Architecture::Amd64).err()),
        ("found", driver.found(answer, "any").err()),
        ("residue", driver.residue(answer, ResidueKind::Volume, &Extras::default()).err()),
    ]
}

fn all_read(double: &Double, answer: &Answer, meaning: Outcome) {
    for (reader, outcome) in readings(double.subject.driver.as_ref(), answer) {
        assert_eq!(outcome, Some(meaning), "{reader} of {}", answer.status());
    }
}

fn server(double: &Double) -> Result<curfew_provider::ServerId, curfew_provider::NotAnId> {
    double.cloud.add_server(ServerSpec::new("m-1", &[("a", "b")])).try_into()
}

async fn a_read_only_token_reads_and_is_told_apart_when_it_writes(double: &Double) -> Kept {
    let id = server(double)?;
    let reader =
        double.subject.with_token(&double.cloud.issue_token(Project::OURS, Access::Read, "reader"))?;
    let known = reader.read(id).await??;
    assert_eq!(reader.delete(id).await?, Outcome::ReadOnly);
    assert_eq!(reader.delete(((1_u64 << 53) - 1).try_into()?).await?, Outcome::ReadOnly);
    let order = reader.order("never").await?;
    assert_eq!(reader.create(&order).await?, Err(NotCreated::Refused(Outcome::ReadOnly)));
    let (driver, token) = (&reader.driver, &reader.token);
    for request in [driver.probe_write(&known, token), driver.relabel(id, &known.labels, token)] {
        let answer = reader.ask(request).await?;
        assert_eq!(driver.server(&answer, Caller::TheServerItself), Err(Outcome::ReadOnly));
        all_read(double, &answer, Outcome::ReadOnly);
    }
    assert!(double.cloud.contains(id.number()));
    Ok(())
}

async fn a_revoked_token_is_forbidden_everything(double: &Double) -> Kept {
    let id = server(double)?;
    let text = double.cloud.issue_token(Project::OURS, Access::ReadWrite, "fired");
    let fired = double.subject.with_token(&text)?;
    double.cloud.revoke_token(&text);
    let answer = fired.ask(fired.driver.delete(id, &fired.token)).await?;
    all_read(double, &answer, Outcome::Forbidden);
    assert!(double.cloud.contains(id.number()));
    Ok(())
}

async fn a_token_of_another_project_sees_and_deletes_nothing(double: &Double) -> Kept {
    let id = server(double)?;
    let text = double.cloud.issue_token(Project::FOREIGN, Access::ReadWrite, "stranger");
    let stranger = double.subject.with_token(&text)?;
    assert_eq!(stranger.read(id).await?, Err(Outcome::Gone));
    assert!(stranger.list(("a", "b")).await?.0.is_empty());
    assert!(stranger.named("m-1").await?.is_empty());
    let answer = stranger.ask(stranger.driver.delete(id, &stranger.token)).await?;
    assert_eq!(stranger.driver.deleted(&answer, Caller::TheServerItself), Outcome::WrongProject);
    assert!(double.cloud.contains(id.number()));
    Ok(())
}

async fn a_locked_server_and_a_protected_one_have_different_remedies(double: &Double) -> Kept {
    let (id, subject) = (server(double)?, &double.subject);
    double.cloud.set_locked(id.number(), true);
    assert_eq!(subject.delete(id).await?, Outcome::Locked);
    double.cloud.set_locked(id.number(), false);
    double.cloud.set_protected(id.number(), true);
    assert!(subject.read(id).await??.protected);
    assert_eq!(subject.delete(id).await?, Outcome::Protected);
    let lifted = subject.ask(subject.driver.lift_protection(id, &subject.token)).await?;
    let (outcome, action) = subject.driver.deletion(&lifted);
    assert_eq!(outcome, Outcome::Accepted);
    subject.ends(action.ok_or("no action")?).await?;
    assert_eq!(subject.delete(id).await?, Outcome::Accepted);
    Ok(())
}

async fn no_stock_and_no_quota_are_told_apart(double: &Double) -> Kept {
    let order = double.subject.order("never").await?;
    double.cloud.configure(|settings| settings.in_stock = false);
    assert_eq!(double.subject.create(&order).await?, Err(NotCreated::OutOfStock));
    double.cloud.configure(|settings| (settings.in_stock, settings.server_limit) = (true, 0));
    let said = NotCreated::Quota("server limit exceeded".into());
    assert_eq!(double.subject.create(&order).await?, Err(said));
    assert!(double.cloud.servers().is_empty());
    Ok(())
}

async fn a_rate_limit_decides_nothing_and_says_when_if_it_does(double: &Double) -> Kept {
    let (id, subject) = (server(double)?, &double.subject);
    double.cloud.inject(Fault::every(Effect::RateLimited).times(1));
    let answer = subject.ask(subject.driver.delete(id, &subject.token)).await?;
    all_read(double, &answer, Outcome::Retry { after: None });
    assert!(answer.budget().is_some_and(|budget| budget.limit > 0));
    double.cloud.inject(Fault::every(Effect::RateLimited).retry_after("7").times(1));
    let answer = subject.ask(subject.driver.delete(id, &subject.token)).await?;
    all_read(double, &answer, Outcome::Retry { after: Some(Duration::from_secs(7)) });
    Ok(())
}

async fn a_proxys_page_decides_nothing(double: &Double) -> Kept {
    let (id, subject) = (server(double)?, &double.subject);
    double.cloud.inject(Fault::every(Effect::BadGateway).times(1));
    let answer = subject.ask(subject.driver.delete(id, &subject.token)).await?;
    all_read(double, &answer, Outcome::Retry { after: None });
    // A captive portal answers 200, and whatever it is asked for.
    let portal = Answer::new(200, |_| None, b"<html>sign in</html>".to_vec());
    for (reader, outcome) in readings(subject.driver.as_ref(), &portal) {
        let decided = if reader == "deletion" { Outcome::Accepted } else { Outcome::Retry { after: None } };
        assert_eq!(outcome, Some(decided), "{reader}");
    }
    Ok(())
}

async fn an_outage_decides_nothing(double: &Double) -> Kept {
    let (id, subject) = (server(double)?, &double.subject);
    for effect in [Effect::ServerError, Effect::Unavailable, Effect::Timeout] {
        double.cloud.inject(Fault::every(effect).times(1));
        let answer = subject.ask(subject.driver.delete(id, &subject.token)).await?;
        all_read(double, &answer, Outcome::Retry { after: None });
    }
    assert!(double.cloud.contains(id.number()));
    Ok(())
}
