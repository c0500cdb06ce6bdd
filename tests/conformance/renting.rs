//! What a driver promises wherever it is used. These rent, and pay for, up to one hour each of the smallest server.

use curfew_provider::{
    Architecture, Blank, Caller, ImageRef, Named, NotCreated, Outcome, Progress, ServerId,
};
use curfew_tests::Kept;

use crate::{
    Case, cases,
    subject::{IMAGE, RUN, Subject},
};

pub(crate) const CASES: &[Case<Subject>] = cases![
    a_server_is_created_listed_read_relabelled_and_deleted,
    a_name_that_is_taken_is_told_apart_and_found_by_name,
    an_empty_name_or_selector_never_reaches_the_wire,
    an_image_is_found_by_its_name_for_each_architecture_and_by_its_id,
    an_unknown_image_is_none,
    what_has_no_such_name_is_none,
    the_catalogue_has_sizes_prices_and_regions,
    an_order_for_what_does_not_exist_is_invalid,
    a_server_that_never_was_is_gone_to_others_and_a_wrong_project_to_itself,
];

async fn a_server_is_created_listed_read_relabelled_and_deleted(subject: &Subject) -> Kept {
    let driver = &subject.driver;
    let order = subject.order("life").await?;
    let created = subject.create(&order).await??;
    for action in &created.actions {
        assert_eq!(subject.ends(*action).await?, Progress::Done);
    }
    let id = created.server.id;
    let (listed, _) = subject.list((RUN, &subject.run)).await?;
    assert!(listed.iter().any(|server| server.id == id && server.name == order.name), "{listed:?}");
    let server = subject.read(id).await??;
    assert_eq!((&server.size, &server.region, &server.labels), (&order.size, &order.region, &order.labels));
    assert!(server.created.is_some() && server.public_ipv4.is_some() && !server.protected, "{server:?}");
    let probed = subject.ask(driver.probe_write(&server, &subject.token)).await?;
    assert_eq!(driver.server(&probed, Caller::TheServerItself)?.name, order.name);
    let mut labels = order.labels.clone();
    labels.insert("curfew.dev/expires-at".into(), "1796083200".into());
    let relabelled = subject.ask(driver.relabel(id, &labels, &subject.token)).await?;
    assert_eq!(driver.server(&relabelled, Caller::Another)?.labels, labels);
    assert_eq!(subject.read(id).await??.labels, labels);
    let (outcome, action) = driver.deletion(&subject.ask(driver.delete(id, &subject.token)).await?);
    assert_eq!(outcome, Outcome::Accepted);
    assert_eq!(subject.ends(action.ok_or("no action")?).await?, Progress::Done);
    subject.be_rid_of(id).await?;
    assert!(subject.named(&order.name).await?.is_empty());
    Ok(())
}

async fn a_name_that_is_taken_is_told_apart_and_found_by_name(subject: &Subject) -> Kept {
    let order = subject.order("twice").await?;
    let first = subject.create(&order).await??;
    assert_eq!(subject.create(&order).await?, Err(NotCreated::NameTaken));
    let found = subject.named(&order.name).await?;
    assert_eq!(found.iter().map(|server| server.id).collect::<Vec<_>>(), [first.server.id]);
    subject.be_rid_of(first.server.id).await
}

async fn an_empty_name_or_selector_never_reaches_the_wire(subject: &Subject) -> Kept {
    let (driver, token) = (&subject.driver, &subject.token);
    for blank in ["", " ", "\n"] {
        assert_eq!(driver.list_named(blank, token), Err(Blank));
        for kind in [Named::Firewall, Named::Network, Named::SshKey] {
            assert_eq!(driver.find(kind, blank, token), Err(Blank));
        }
        for wanted in [ImageRef::Name(blank.into()), ImageRef::Selector(blank.into())] {
            assert_eq!(driver.find_image(&wanted, Architecture::Amd64, token), Err(Blank));
        }
    }
    Ok(())
}

async fn an_image_is_found_by_its_name_for_each_architecture_and_by_its_id(subject: &Subject) -> Kept {
    let name = ImageRef::Name(IMAGE.into());
    let x86 = subject.image(&name, Architecture::Amd64).await?.ok_or("none for amd64")?;
    let arm = subject.image(&name, Architecture::Arm64).await?.ok_or("none for arm64")?;
    assert_ne!(x86, arm);
    assert_eq!(subject.image(&ImageRef::Id(arm), Architecture::Arm64).await?, Some(arm));
    assert_eq!(subject.image(&ImageRef::Id(arm), Architecture::Amd64).await?, None);
    Ok(())
}

async fn an_unknown_image_is_none(subject: &Subject) -> Kept {
    let never = (1_u64 << 53) - 1;
    for wanted in [
        ImageRef::Name("plan9".into()),
        ImageRef::Id(never.try_into()?),
        ImageRef::Selector("curfew.dev/nobody=has-this".into()),
    ] {
        assert_eq!(subject.image(&wanted, Architecture::Amd64).await?, None, "{wanted:?}");
    }
    Ok(())
}

async fn what_has_no_such_name_is_none(subject: &Subject) -> Kept {
    for kind in [Named::Firewall, Named::Network, Named::SshKey] {
        let answer = subject.ask(subject.driver.find(kind, "curfew-nobody", &subject.token)?).await?;
        assert_eq!(subject.driver.found(&answer, "curfew-nobody"), Ok(None), "{kind:?}");
    }
    Ok(())
}

async fn the_catalogue_has_sizes_prices_and_regions(subject: &Subject) -> Kept {
    let catalogue = subject.catalogue().await?;
    assert_eq!(catalogue.currency.len(), 3);
    assert!(catalogue.regions.contains(&subject.region));
    for size in &catalogue.sizes {
        assert!(size.cores > 0 && size.memory_mib >= 512, "{size:?}");
        assert!(size.offers.keys().all(|region| catalogue.regions.contains(region)), "{size:?}");
        assert!(size.offers.values().all(|offer| offer.hourly < offer.monthly), "{size:?}");
    }
    for architecture in [Architecture::Amd64, Architecture::Arm64] {
        assert!(catalogue.sizes.iter().any(|size| size.architecture == architecture), "{architecture}");
    }
    let extras = &catalogue.extras;
    assert!(
        extras.volume_gb_month.is_some() && !extras.primary_ips.is_empty() && !extras.floating_ips.is_empty()
    );
    Ok(())
}

async fn an_order_for_what_does_not_exist_is_invalid(subject: &Subject) -> Kept {
    let usual = subject.order("never").await?;
    let mut orders = vec![usual.clone(), usual.clone(), usual.clone(), usual];
    orders[0].size = "cx0".into();
    orders[1].region = "mars1".into();
    orders[2].image = ((1_u64 << 53) - 1).try_into()?;
    orders[3].name = "no_host_name".into();
    for order in orders {
        let created = subject.create(&order).await?;
        assert!(matches!(created, Err(NotCreated::Invalid { .. })), "{order:?}: {created:?}");
    }
    Ok(())
}

async fn a_server_that_never_was_is_gone_to_others_and_a_wrong_project_to_itself(subject: &Subject) -> Kept {
    let driver = &subject.driver;
    let never = ServerId::try_from((1_u64 << 53) - 1)?;
    let answer = subject.ask(driver.read(never, &subject.token)).await?;
    assert_eq!(driver.server(&answer, Caller::Another), Err(Outcome::Gone));
    assert_eq!(driver.server(&answer, Caller::TheServerItself), Err(Outcome::WrongProject));
    assert_eq!(subject.delete(never).await?, Outcome::Gone);
    Ok(())
}
