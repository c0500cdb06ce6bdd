use proptest::prelude::*;

use super::*;

fn price(text: &str) -> Price {
    text.parse().unwrap()
}

#[test]
fn prices_are_read_as_the_provider_writes_them_and_shown_in_full() {
    for (written, shown) in [
        ("0.0128", "0.0128"),
        ("7.99", "7.99"),
        ("3", "3.00"),
        ("1.1900000000000000", "1.19"),
        ("0.5000", "0.50"),
        ("0.0000000001", "0.0000000001"),
        ("1844674407.3709551615", "1844674407.3709551615"),
    ] {
        assert_eq!(price(written).to_string(), shown);
    }
}

#[test]
fn digits_beyond_the_tenth_decimal_round_up() {
    assert_eq!(price("0.00000000001"), price("0.0000000001"));
    assert_eq!(price("0.99999999999"), price("1"));
}

#[test]
fn what_is_no_price_is_refused() {
    for text in [
        "",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1,5",
        "1e3",
        "NaN",
        " 1",
        "1844674408",
        "1844674407.3709551616",
        "٤",
    ] {
        assert!(text.parse::<Price>().is_err(), "{text}");
    }
}

#[test]
fn too_much_is_none_and_never_little() {
    assert_eq!(Price::MAX.checked_add(price("0.0000000001")), None);
    assert_eq!(Price::MAX.checked_mul(2), None);
    assert_eq!(price("0.0128").checked_mul(3), Some(price("0.0384")));
}

proptest! {
    #[test]
    fn every_price_is_read_back_as_it_is_shown(units: u64) {
        let one = Price(units);
        prop_assert_eq!(one.to_string().parse::<Price>(), Ok(one));
    }

    #[test]
    fn a_share_is_compared_as_exactly_as_fractions_are(a: u32, b: u32, own in 1..512_u32, others in 1..512_u32) {
        let exact = (u64::from(a) * u64::from(others)).cmp(&(u64::from(b) * u64::from(own)));
        prop_assert_eq!(Price(a.into()).cmp_per(own, Price(b.into()), others), exact);
    }
}
