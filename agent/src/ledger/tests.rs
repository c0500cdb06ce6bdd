use std::fs;

use super::*;
use crate::{
    fuse::{Answered, ClusterClock, Fuse},
    time::{Boot, Reading, Span, Wall},
};

const DAY: Span = Span::from_secs(86_400);
const NOON: i64 = 1_796_068_800_000;

fn reading(boot: i64, real: i64) -> Reading {
    Reading { boot: Boot::from_millis(boot), real: Wall::from_millis(real), suspended: Span::ZERO }
}

fn machine() -> Machine {
    Machine {
        product_uuid: Some("u".into()),
        server: Some("hcloud://42".into()),
        consented: true,
        provider_address: None,
    }
}

/// A machine armed at boot + 10 s, whose deadline in 600 s was learnt at boot + 20 s.
fn burning() -> Restored {
    let mut clock = ClusterClock::guessing(None);
    let at = Boot::from_millis(20_000);
    clock.answered(Answered { date: Wall::from_millis(NOON), sent: at, received: at }, reading(20_000, NOON));
    let mut fuse = Fuse::lit(Boot::from_millis(10_000).plus(DAY), Span::ZERO);
    fuse.learn(Some(Wall::from_millis(NOON + 600_000)), Some(at), &clock, reading(20_000, NOON));
    Restored { fuse, clock, born: Some(Wall::from_millis(NOON - 10_000)), max_lifetime: DAY }
}

fn record(boot: &str, now: i64) -> Record {
    Record::of(&burning(), machine(), Some(boot.into()), Boot::from_millis(now))
}

#[test]
fn a_restart_in_the_same_boot_resets_nothing() {
    let restored = record("a", 30_000).restore(Some(DAY), Some("a"), reading(40_000, NOON));
    assert_eq!(restored.fuse.lifetime, burning().fuse.lifetime);
    assert_eq!(restored.fuse.deadline, burning().fuse.deadline);
    assert!(restored.clock.is_authenticated());
    assert!(!restored.fuse.confirmed, "a memory is confirmed before it is acted upon");
}

#[test]
fn a_reboot_goes_on_from_the_lifetime_that_was_spent() {
    let restored = record("a", 3_610_000).restore(Some(DAY), Some("b"), reading(5_000, NOON));
    assert_eq!(restored.fuse.lifetime, Boot::START.plus(Span::from_secs(86_400 - 3600)));
    assert_eq!(restored.fuse.deadline.unwrap().deadline, Wall::from_millis(NOON + 600_000));
    assert!(!restored.clock.is_authenticated());
}

#[test]
fn after_a_reboot_a_clock_that_says_1970_cannot_buy_more_than_the_time_powered_off() {
    let record = record("a", 320_000); // 300 s after NOON
    let restored = record.restore(Some(DAY), Some("b"), reading(5_000, 5_000));
    // A second more: no clock says the fraction of the second at which it was switched on.
    assert_eq!(restored.fuse.deadline.unwrap().fires, Boot::from_millis(301_000));
}

#[test]
fn an_upgrade_with_a_larger_lifetime_extends_nothing_and_a_smaller_one_counts() {
    let record = record("a", 30_000);
    let with = |max| record.restore(max, Some("a"), reading(40_000, NOON)).fuse.lifetime;
    assert_eq!(with(Some(Span::from_secs(10 * 86_400))), burning().fuse.lifetime);
    let hour = Span::from_secs(3600);
    assert_eq!(with(Some(hour)), Boot::from_millis(10_000).plus(hour));
}

#[test]
fn a_lifetime_that_is_not_given_or_makes_no_sense_leaves_the_ledgers() {
    let days = |n: i64| Span::from_secs(n * 86_400);
    let ends = Boot::from_millis(10_000).plus(days(30));
    let burning = Restored { fuse: Fuse::lit(ends, Span::ZERO), max_lifetime: days(30), ..burning() };
    let after = Boot::from_millis(10_000).plus(days(5));
    let record = Record::of(&burning, machine(), Some("a".into()), after);
    let restored = record.restore(None, Some("a"), reading(after.millis(), NOON));
    assert_eq!((restored.fuse.lifetime, restored.max_lifetime), (ends, days(30)));
}

#[test]
fn a_ledger_of_an_unknown_boot_is_read_as_another_boots() {
    let mut record = record("a", 30_000);
    record.boot_id = None;
    assert!(!record.restore(Some(DAY), None, reading(40_000, NOON)).clock.is_authenticated());
}

#[test]
fn firing_is_final_across_restarts_and_reboots() {
    let mut burning = burning();
    burning.fuse.firing = Some(curfew_contract::Cause::Deadline);
    let record = Record::of(&burning, machine(), Some("a".into()), Boot::from_millis(30_000));
    for boot in ["a", "b"] {
        assert!(record.restore(Some(DAY), Some(boot), reading(40_000, NOON)).fuse.firing.is_some());
    }
}

fn ledger(dir: &tempfile::TempDir) -> Ledger {
    Ledger { live: dir.path().join("run"), kept: dir.path().join("lib") }
}

#[test]
fn a_torn_ledger_falls_back_to_the_generation_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir);
    for seq in [1, 2] {
        ledger.write_live(&Record { seq, ..record("a", 30_000) }).unwrap();
    }
    let current = ledger.live.join("ledger.json");
    let whole = fs::read(&current).unwrap();
    for length in 0..whole.len() - 1 {
        fs::write(&current, &whole[..length]).unwrap();
        let found = ledger.read(&machine());
        assert_eq!(found.record.map(|r| r.seq), Some(1), "cut to {length} bytes");
        assert!(found.torn);
    }
}

#[test]
fn the_last_record_counts_whichever_place_it_is_in() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir);
    ledger.write_kept(&Record { seq: 7, ..record("a", 30_000) }).unwrap();
    ledger.write_live(&Record { seq: 6, ..record("a", 30_000) }).unwrap();
    assert_eq!(ledger.read(&machine()).record.map(|r| r.seq), Some(7));
}

#[test]
fn a_clones_ledger_is_discarded_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir);
    ledger.write_kept(&record("a", 30_000)).unwrap();
    let clone = Machine { product_uuid: Some("other".into()), ..Machine::default() };
    let found = ledger.read(&clone);
    assert!(found.record.is_none() && found.alien);
    let renumbered = Machine { server: Some("hcloud://43".into()), ..machine() };
    assert!(ledger.read(&renumbered).record.is_none());
}

#[test]
fn a_ledger_that_cannot_be_written_is_an_error_and_not_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("run"), b"a file where the directory should be").unwrap();
    assert!(ledger(&dir).write_live(&record("a", 30_000)).is_err());
    assert!(ledger(&dir).read(&machine()).record.is_none());
}

#[test]
fn a_record_whose_numbers_cannot_be_is_as_good_as_torn() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir);
    let good = record("a", 30_000);
    for bad in [
        Record { seq: u64::MAX, ..good.clone() },
        Record { max_lifetime: Span::ZERO, ..good.clone() },
        Record { max_lifetime: Span::from_secs(i64::MAX), ..good.clone() },
        Record { spent: Span::from_secs(-1), ..good.clone() },
        Record { written: Boot::from_millis(-1), ..good.clone() },
        Record { v: 2, ..good },
    ] {
        ledger.write_live(&bad).unwrap();
        let found = ledger.read(&machine());
        assert!(found.record.is_none() && found.torn, "{bad:?}");
        fs::remove_file(ledger.live.join("ledger.json")).unwrap();
    }
}

#[test]
fn a_disk_that_hangs_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = ledger(&dir);
    ledger.write_live(&record("a", 30_000)).unwrap();
    fs::create_dir(&ledger.kept).unwrap();
    // Opening a FIFO that nobody writes to does not return.
    nix::unistd::mkfifo(&ledger.kept.join("ledger.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let found = ledger.read(&machine());
    assert!(found.record.is_some() && found.torn);
}
