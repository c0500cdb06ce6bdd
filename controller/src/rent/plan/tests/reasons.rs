//! Why machines are given back, as the status says it.

use super::*;
use crate::rent::Reason;

#[test]
fn a_machine_has_five_minutes_to_be_created_and_fifteen_to_join() {
    let waiting = |learnt: &mut Learnt, s: i64| {
        (learnt.searched, learnt.waited) = (Some(reading(s).up), reading(s).up);
    };
    let world = learning(renting(1, json!([attempt(0, 0)])), |learnt| waiting(learnt, 300));
    assert_eq!(
        (reasons(&world, 299), reasons(&world, 300)),
        (vec![None], vec![Some("LaunchTimeout".into())])
    );
    let world = learning(renting(1, json!([machine(0, 0)])), |learnt| waiting(learnt, 300));
    assert_eq!(
        (reasons(&world, 299), reasons(&world, 300)),
        (vec![None], vec![Some("LaunchTimeout".into())])
    );
    let world = learning(renting(1, json!([machine(0, 0)])), |learnt| learnt.launched = true);
    assert_eq!(
        (reasons(&world, 899), reasons(&world, 900)),
        (vec![None], vec![Some("RegistrationTimeout".into())])
    );
}

#[test]
fn a_controller_that_was_away_finds_out_before_it_calls_a_machine_late() {
    let mut world = learning(renting(2, json!([attempt(0, 0), machine(1, 0)])), |_| {});
    assert_eq!(reasons(&world, 2000), [None, None], "neither was looked for since");
    world.providers.insert("hetzner".into(), provider("hetzner"));
    assert_eq!(steps(&world, 2000)[0].1, Next::Do(Step::Find(Search::Lost)), "nothing is ordered so late");
    let mut unread = node(1, None);
    unread.full = None;
    world.nodes.insert("n1".into(), unread);
    world.leases.get_mut("burst").unwrap().learnt.entry(1).or_default().launched = true;
    assert_eq!(reasons(&world, 2000)[1], None, "its Node was not read yet");
    world.nodes.insert("n1".into(), node(1, None));
    assert_eq!(reasons(&world, 2000)[1], Some("RegistrationTimeout".into()));
    world.nodes.insert("n1".into(), node(1, Some(100)));
    assert_eq!(reasons(&world, 2000)[1], None);
}

#[test]
fn of_too_many_machines_the_newest_go_first_and_lost_ones_do_not_count() {
    let four = json!([machine(0, 5), machine(1, 9), machine(2, 9), attempt(3, 0)]);
    let go = |replicas| {
        let world = world([renting(replicas, four.clone())], []);
        let surplus = reasons(&world, 20).into_iter().enumerate().filter(|(_, why)| why.is_some());
        surplus.map(|(slot, _)| slot).collect::<Vec<_>>()
    };
    assert_eq!((go(4), go(3), go(2), go(1)), (vec![], vec![3], vec![2, 3], vec![1, 2, 3]));
    let mut lost = four.clone();
    lost[0]["releasing"] = "Gone".into();
    let world = world([renting(3, lost)], []);
    assert_eq!(reasons(&world, 20)[1..], [None, None, None], "three are left of four");
}

#[test]
fn a_slot_is_filled_once_and_only_in_a_lease_that_runs() {
    let count = |lease: Lease, s| reasons(&world([lease], []), s).len();
    assert_eq!(count(renting(3, json!([attempt(1, 0)])), 10), 3);
    assert_eq!(count(renting(3, json!([])), 3600), 0);
    let mut unfinalized = renting(3, json!([]));
    unfinalized.finalizers.clear();
    assert_eq!(count(unfinalized, 10), 0);
    let mut deleted = renting(3, json!([]));
    deleted.deleting = Some(NOW);
    assert_eq!(count(deleted, 10), 0);
}

#[test]
fn every_reason_is_told_apart_in_the_status() {
    assert!(Reason::is_loss("LaunchTimeout") && Reason::is_loss("Gone"));
    assert!(
        !Reason::is_loss("LeaseEnded") && !Reason::is_loss("LeaseDeleted") && !Reason::is_loss("Surplus")
    );
}
