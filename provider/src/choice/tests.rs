use proptest::{prelude::*, strategy::Strategy as Gives};

use super::{Strategy, *};
use crate::{Extras, Price};

const HERE: &str = "fsn1";

fn price(text: &str) -> Price {
    text.parse().unwrap()
}

fn offer(hourly: &str) -> Offer {
    Offer { hourly: price(hourly), monthly: price("9"), available: true, deprecated: false }
}

fn size(name: &str, cores: u32, memory_gib: u64, hourly: &str) -> Size {
    Size {
        name: name.into(),
        cores,
        memory_mib: memory_gib * 1024,
        disk_gb: 40,
        architecture: Architecture::Amd64,
        cpu: CpuKind::Shared,
        deprecated: false,
        offers: [(HERE.to_owned(), offer(hourly))].into(),
    }
}

fn shop(sizes: Vec<Size>) -> Catalogue {
    Catalogue { currency: "EUR".into(), sizes, regions: vec![HERE.into()], extras: Extras::default() }
}

const NEEDS: Requirements = Requirements {
    min_cpu: 4,
    min_memory_mib: 8 * 1024,
    architecture: Some(Architecture::Amd64),
    cpu: Some(CpuKind::Shared),
    strategy: Strategy::LowestPrice,
};

fn chosen<'c>(catalogue: &'c Catalogue, requirements: &Requirements) -> Option<&'c str> {
    choose(catalogue, HERE, requirements).chosen.map(|pick| pick.size.name.as_str())
}

#[test]
fn the_cheapest_that_does_is_chosen_and_the_next_is_named() {
    let shop =
        shop(vec![size("big", 16, 32, "0.06"), size("fits", 4, 8, "0.02"), size("small", 2, 4, "0.01")]);
    let choice = choose(&shop, HERE, &NEEDS);
    assert_eq!(choice.chosen.unwrap().size.name, "fits");
    assert_eq!(choice.chosen.unwrap().offer.hourly, price("0.02"));
    assert_eq!(choice.runner_up.unwrap().size.name, "big");
    assert_eq!(choice.rejected, [("small", Why::TooFewCores(2))]);
}

#[test]
fn a_price_per_core_can_prefer_the_larger() {
    let shop = shop(vec![size("big", 16, 32, "0.06"), size("fits", 4, 8, "0.02")]);
    assert_eq!(chosen(&shop, &NEEDS), Some("fits"));
    let per_core = Requirements { strategy: Strategy::LowestPricePerCore, ..NEEDS };
    assert_eq!(chosen(&shop, &per_core), Some("big"));
}

#[test]
fn equal_prices_are_decided_by_less_memory_and_then_by_name() {
    let equal = |name, memory| size(name, 4, memory, "0.02");
    assert_eq!(chosen(&shop(vec![equal("a", 16), equal("z", 8)]), &NEEDS), Some("z"));
    assert_eq!(chosen(&shop(vec![equal("b", 8), equal("a", 8)]), &NEEDS), Some("a"));
}

#[test]
fn every_size_that_does_not_do_says_why() {
    let arm = Size { architecture: Architecture::Arm64, ..size("arm", 4, 8, "0.01") };
    let own = Size { cpu: CpuKind::Dedicated, ..size("own", 4, 8, "0.01") };
    let old = Size { deprecated: true, ..size("old", 4, 8, "0.01") };
    let elsewhere = Size { offers: [("ash".to_owned(), offer("0.01"))].into(), ..size("us", 4, 8, "0.01") };
    let of = |name, change: fn(&mut Offer)| {
        let mut size = size(name, 4, 8, "0.01");
        size.offers.values_mut().for_each(change);
        size
    };
    let sold_out = of("sold-out", |offer| offer.available = false);
    let leaving = of("leaving", |offer| offer.deprecated = true);
    let shop = shop(vec![
        arm,
        own,
        old,
        elsewhere,
        sold_out,
        leaving,
        size("few", 2, 8, "1"),
        size("tight", 4, 4, "1"),
    ]);
    let choice = choose(&shop, HERE, &NEEDS);
    assert_eq!((choice.chosen, choice.runner_up), (None, None));
    let said: Vec<String> = choice.rejected.iter().map(|(name, why)| format!("{name} {why}")).collect();
    assert_eq!(
        said,
        [
            "arm is arm64",
            "few has too few cores: 2",
            "leaving is deprecated",
            "old is deprecated",
            "own has dedicated cores",
            "sold-out is out of stock",
            "tight has too little memory: 4096 MiB",
            "us is not sold in this region",
        ]
    );
}

fn any_size() -> impl Gives<Value = Size> {
    let offer =
        (0..6_u32, any::<bool>(), prop::bool::weighted(0.1)).prop_map(|(cents, available, deprecated)| {
            Offer { hourly: price(&format!("0.0{cents}")), monthly: price("9"), available, deprecated }
        });
    let offers =
        prop::collection::btree_map(prop::sample::select(vec![HERE.to_owned(), "ash".into()]), offer, 0..3);
    let kinds = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1));
    (1..6_u32, 1..6_u64, kinds, offers).prop_map(|(cores, memory, (arm, own, deprecated), offers)| Size {
        name: String::new(),
        cores,
        memory_mib: memory * 1024,
        disk_gb: 40,
        architecture: if arm { Architecture::Arm64 } else { Architecture::Amd64 },
        cpu: if own { CpuKind::Dedicated } else { CpuKind::Shared },
        deprecated,
        offers,
    })
}

fn any_shop() -> impl Gives<Value = Catalogue> {
    prop::collection::vec(any_size(), 0..12).prop_map(|mut sizes| {
        sizes.iter_mut().enumerate().for_each(|(n, size)| size.name = format!("s{n}"));
        shop(sizes)
    })
}

fn any_needs() -> impl Gives<Value = Requirements> {
    let architecture = prop::option::of(prop::sample::select(vec![Architecture::Amd64, Architecture::Arm64]));
    let cpu = prop::option::of(prop::sample::select(vec![CpuKind::Shared, CpuKind::Dedicated]));
    let strategy = prop::sample::select(vec![Strategy::LowestPrice, Strategy::LowestPricePerCore]);
    (1..6_u32, 1..6_u64, architecture, cpu, strategy).prop_map(
        |(min_cpu, memory, architecture, cpu, strategy)| Requirements {
            min_cpu,
            min_memory_mib: memory * 1024,
            architecture,
            cpu,
            strategy,
        },
    )
}

/// Written down a second time, without an order of checks.
fn does<'s>(size: &'s Size, needs: &Requirements) -> Option<&'s Offer> {
    size.offers.get(HERE).filter(|offer| {
        offer.available
            && !offer.deprecated
            && !size.deprecated
            && size.cores >= needs.min_cpu
            && size.memory_mib >= needs.min_memory_mib
            && needs.architecture.is_none_or(|wanted| wanted == size.architecture)
            && needs.cpu.is_none_or(|wanted| wanted == size.cpu)
    })
}

proptest! {
    #[test]
    fn what_is_chosen_does_and_nothing_that_does_is_cheaper(shop in any_shop(), needs in any_needs()) {
        let choice = choose(&shop, HERE, &needs);
        let fit: Vec<_> = shop.sizes.iter().filter_map(|size| Some((size, does(size, &needs)?))).collect();
        prop_assert_eq!(choice.chosen.is_some(), !fit.is_empty());
        prop_assert_eq!(choice.runner_up.is_some(), fit.len() > 1);
        prop_assert_eq!(choice.rejected.len() + fit.len(), shop.sizes.len());
        for pick in choice.chosen.iter().chain(&choice.runner_up) {
            prop_assert_eq!(does(pick.size, &needs), Some(pick.offer));
        }
        if let Some(chosen) = choice.chosen {
            for (size, offer) in fit {
                let cheaper = match needs.strategy {
                    Strategy::LowestPrice => offer.hourly < chosen.offer.hourly,
                    Strategy::LowestPricePerCore => {
                        let total = |price: Price, times: u32| price.checked_mul(times.into()).unwrap();
                        total(offer.hourly, chosen.size.cores) < total(chosen.offer.hourly, size.cores)
                    }
                };
                prop_assert!(!cheaper, "{} is cheaper than {}", size.name, chosen.size.name);
            }
        }
    }

    #[test]
    fn the_order_of_the_catalogue_does_not_matter(
        (shop, shuffled) in any_shop().prop_flat_map(|shop| {
            let shuffled = Just(shop.sizes.clone()).prop_shuffle();
            (Just(shop), shuffled)
        }),
        needs in any_needs(),
    ) {
        let shuffled = Catalogue { sizes: shuffled, ..shop.clone() };
        prop_assert_eq!(choose(&shop, HERE, &needs), choose(&shuffled, HERE, &needs));
    }
}
