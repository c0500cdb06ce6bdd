//! The lifetime of a server whose create call was ours counts from its creation, by the provider's record.

use super::*;

fn armed(created: i64, hold: Option<i64>) -> Boot {
    let now = reading(0, 0, 0, 0);
    let (mut burning, _) = Burning::new(Boot::from_millis(LIFETIME), Arc::new(BestTime::new()), now);
    burning.state.fuse.hold_until = hold.map(Boot::from_millis);
    burning.take(Tell::Created(Wall::from_millis(EPOCH + created)), now);
    assert_eq!(burning.state.fuse.lifetime, Boot::from_millis(LIFETIME), "without a time there is no age");
    burning.take(
        Tell::Answered(Answered { date: Wall::from_millis(EPOCH), sent: now.boot, received: now.boot }),
        now,
    );
    burning.state.fuse.lifetime
}

#[test]
fn a_server_we_created_has_lived_since_then() {
    assert_eq!(armed(-1_000_000, None), Boot::from_millis(LIFETIME - 1_000_000));
}

#[test]
fn a_creation_time_in_the_future_extends_nothing() {
    assert_eq!(armed(1_000_000, None), Boot::from_millis(LIFETIME));
}

#[test]
fn a_server_that_is_older_than_its_lifetime_has_a_minute_and_the_hold_of_a_first_arming() {
    assert_eq!(armed(-2 * LIFETIME, None), Boot::from_millis(60_000));
    assert_eq!(armed(-2 * LIFETIME, Some(600_000)), Boot::from_millis(600_000));
}
