use super::*;

/// The truth in these tests: cluster time is boot time plus this.
const TRUTH: Offset = Offset::between(Wall::from_millis(1_796_068_800_300), Boot::START);

fn reading(boot: i64, real_ahead: i64) -> Reading {
    let boot = Boot::from_millis(boot);
    Reading { boot, real: TRUTH.plus(Span::from_millis(real_ahead)).wall(boot), suspended: Span::ZERO }
}

fn answer(boot: i64, server_ahead: i64) -> Answered {
    let (sent, received) = (Boot::from_millis(boot), Boot::from_millis(boot + 4));
    let stamped = TRUTH.plus(Span::from_millis(server_ahead)).wall(sent).millis();
    Answered { date: Wall::from_millis(stamped.div_euclid(1000) * 1000), sent, received }
}

fn error(clock: &ClusterClock, now: Reading) -> i64 {
    clock.offset(now).ahead_of(TRUTH).millis()
}

#[test]
fn a_wrong_wall_clock_is_ignored_once_an_answer_has_come() {
    let mut clock = ClusterClock::guessing(None);
    assert_eq!(error(&clock, reading(0, -10_800_000)), -10_800_000);
    clock.answered(answer(0, 0), reading(0, 0));
    for wrong in [-10_800_000, 10_800_000, -1_796_068_800_000] {
        let error = error(&clock, reading(10_000, wrong));
        assert!(
            (-1010..=0).contains(&error),
            "{error} ms: never ahead, and behind by the resolution at most"
        );
    }
}

#[test]
fn a_right_wall_clock_supplies_the_fraction_of_the_second() {
    let mut clock = ClusterClock::guessing(None);
    clock.answered(answer(0, 0), reading(0, 0));
    assert_eq!(error(&clock, reading(5, 0)), 0);
}

#[test]
fn the_fractions_of_several_answers_narrow_each_other() {
    let mut clock = ClusterClock::guessing(None);
    for beat in 0..12 {
        clock.answered(answer(beat * 31_070, 0), reading(0, 0));
    }
    let error = error(&clock, reading(350_000, -3_600_000));
    assert!((-150..=0).contains(&error), "{error} ms");
}

#[test]
fn one_wrong_api_server_among_others_moves_nothing() {
    let mut clock = ClusterClock::guessing(None);
    for beat in 0..20 {
        clock.answered(answer(beat * 30_000, if beat % 2 == 1 { 10_800_000 } else { 0 }), reading(0, 0));
    }
    assert!(error(&clock, reading(600_000, 0)).abs() < 1010);
}

#[test]
fn a_step_is_believed_once_it_was_confirmed_for_a_minute() {
    let mut clock = ClusterClock::guessing(None);
    clock.answered(answer(0, 0), reading(0, 0));
    for (boot, believed) in [(30_000, false), (60_000, false), (89_000, false), (90_010, true)] {
        clock.answered(answer(boot, 3_600_000), reading(boot, 0));
        assert_eq!(error(&clock, reading(boot, 3_600_000)) > 3_000_000, believed, "at {boot}");
        assert_eq!(clock.is_stepping(), !believed);
    }
}

#[test]
fn after_a_reboot_one_api_server_that_is_hours_ahead_is_not_believed_at_once() {
    let floor = TRUTH.plus(Span::from_secs(-60));
    let mut clock = ClusterClock::guessing(Some(floor));
    clock.answered(answer(5_000, 10_800_000), reading(5_000, 0));
    assert_eq!(error(&clock, reading(5_010, 0)), 0, "the machine's own clock stands");
    clock.answered(answer(35_000, 0), reading(35_000, 0));
    assert!(clock.is_authenticated() && error(&clock, reading(35_010, 0)) == 0);
}

#[test]
fn after_a_reboot_a_clock_in_local_time_fires_nothing_early() {
    let floor = TRUTH.plus(Span::from_secs(-60));
    let mut clock = ClusterClock::guessing(Some(floor));
    for boot in [5_000, 35_000, 66_000] {
        clock.answered(answer(boot, 0), reading(boot, 7_200_000));
        assert!(error(&clock, reading(boot, 7_200_000)) <= 0, "the earlier of the two counts");
    }
    assert!(clock.is_authenticated(), "and the answers, once confirmed for a minute");
}

#[test]
fn the_ledgers_high_water_mark_bounds_a_clock_that_says_1970() {
    let floor = Offset::between(Wall::from_millis(1_796_068_800_000), Boot::START);
    let clock = ClusterClock::guessing(Some(floor));
    let now =
        Reading { boot: Boot::from_millis(7_000), real: Wall::from_millis(7_000), suspended: Span::ZERO };
    assert_eq!(clock.wall(now), Wall::from_millis(1_796_068_807_000));
}
