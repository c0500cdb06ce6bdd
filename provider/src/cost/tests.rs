use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3600;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn price(text: &str) -> Price {
    text.parse().unwrap()
}

fn usual(created: &str, ended: &str) -> (u64, String) {
    let cost = cost(at(created), at(ended), price("0.0128"), price("7.99"));
    (cost.hours, cost.amount.to_string())
}

#[test]
fn every_started_hour_counts_in_full_and_at_least_one() {
    for (ended, hours, amount) in [
        ("2026-12-01T08:00:00Z", 1, "0.0128"),
        ("2026-12-01T07:00:00Z", 1, "0.0128"),
        ("2026-12-01T08:00:01Z", 1, "0.0128"),
        ("2026-12-01T09:00:00Z", 1, "0.0128"),
        ("2026-12-01T09:00:00.000000001Z", 2, "0.0256"),
        ("2026-12-01T16:30:00Z", 9, "0.1152"),
    ] {
        assert_eq!(usual("2026-12-01T08:00:00Z", ended), (hours, amount.into()), "{ended}");
    }
}

#[test]
fn a_month_never_costs_more_than_its_price() {
    assert_eq!(usual("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"), (744, "7.99".into()));
    // 7.99 / 0.0128 = 624.2…
    assert_eq!(usual("2026-12-01T00:00:00Z", "2026-12-27T00:00:00Z").1, "7.9872");
    assert_eq!(usual("2026-12-01T00:00:00Z", "2026-12-27T00:30:00Z").1, "7.99");
}

#[test]
fn an_hour_belongs_to_the_month_in_which_it_starts() {
    let (hours, amount) = usual("2026-12-31T23:30:00Z", "2027-01-01T02:00:00Z");
    assert_eq!((hours, amount.as_str()), (3, "0.0384"));
    // A full December, and one hour of January that starts half past.
    assert_eq!(usual("2026-11-30T23:30:00Z", "2027-01-01T00:31:00Z").1, "8.0156");
}

#[test]
fn what_is_more_than_can_be_held_is_shown_as_the_most() {
    let cost = cost(at("1000-01-01T00:00:00Z"), at("9999-01-01T00:00:00Z"), Price::MAX, Price::MAX);
    assert_eq!(cost.amount, Price::MAX);
}

fn moment() -> impl Strategy<Value = Timestamp> {
    (1_700_000_000..2_000_000_000_i64).prop_map(|second| Timestamp::from_second(second).unwrap())
}

proptest! {
    #[test]
    fn time_never_makes_it_cheaper(created in moment(), ran in 0..400 * 24 * HOUR, more in 0..100 * HOUR) {
        let after = |seconds| created + SignedDuration::from_secs(seconds);
        let (hourly, monthly) = (price("0.0128"), price("7.99"));
        let (before, later) =
            (cost(created, after(ran), hourly, monthly), cost(created, after(ran + more), hourly, monthly));
        prop_assert!(before.hours <= later.hours && before.amount <= later.amount);
    }

    #[test]
    fn it_is_never_less_than_an_hour_nor_more_than_every_hour(created in moment(), ran in -HOUR..90 * 24 * HOUR) {
        let (hourly, monthly) = (price("0.0128"), price("7.99"));
        let cost = cost(created, created + SignedDuration::from_secs(ran), hourly, monthly);
        prop_assert!(cost.amount >= hourly);
        prop_assert!(cost.amount <= hourly.checked_mul(cost.hours).unwrap());
        prop_assert_eq!(cost.hours, u64::try_from((ran + HOUR - 1) / HOUR).unwrap_or(0).max(1));
    }

    #[test]
    fn it_is_at_most_the_monthly_price_for_each_month_begun(created in moment(), ran in 0..400 * 24 * HOUR) {
        let ended = created + SignedDuration::from_secs(ran);
        let months = |t: Timestamp| {
            let day = t.to_zoned(TimeZone::UTC).date();
            i64::from(day.year()) * 12 + i64::from(day.month())
        };
        let begun = u64::try_from(months(ended) - months(created)).unwrap() + 1;
        let most = price("7.99").checked_mul(begun).unwrap();
        prop_assert!(cost(created, ended, price("0.0128"), price("7.99")).amount <= most);
    }

    #[test]
    fn it_is_the_sum_over_its_hours(created in moment(), hours in 1..2_000_i64) {
        let (hourly, monthly) = (price("0.0128"), price("3.00"));
        let mut months = std::collections::BTreeMap::<_, u64>::new();
        for hour in 0..hours {
            let day = (created + SignedDuration::from_hours(hour)).to_zoned(TimeZone::UTC).date();
            *months.entry((day.year(), day.month())).or_default() += 1;
        }
        let sum = months.values().map(|&n| hourly.checked_mul(n).unwrap().min(monthly));
        let sum = sum.fold(Price::ZERO, |sum, month| sum.checked_add(month).unwrap());
        let cost = cost(created, created + SignedDuration::from_hours(hours), hourly, monthly);
        prop_assert_eq!(cost.amount, sum);
    }
}
