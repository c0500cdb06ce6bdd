//! What a person does to the labels of a server that a lease holds.

use super::*;

#[test]
fn a_machine_whose_slot_label_a_person_edits_is_no_stray() {
    for edited in [None, Some("7"), Some("1"), Some("?")] {
        let mut known = server(0, 3600);
        known.labels.remove(label::SLOT);
        known.labels.extend(edited.map(|edited| (label::SLOT.to_owned(), edited.to_owned())));
        let world = listing(renting(2, json!([machine(0, 0), machine(1, 0)])), &[known, server(1, 3600)], 0);
        let rest = [0, 1].map(|slot| (Machine::Slot(slot), Next::Rest));
        assert_eq!(steps(&world, 1), rest, "{edited:?}");
    }
}

#[test]
fn an_expiry_that_a_person_puts_back_is_put_right_before_a_sweeper_acts_by_it() {
    let listed = |until: i64, s: i64| {
        let mut world = listing(renting(1, json!([machine(0, 0)])), &[server(0, until)], s);
        let learnt = world.leases.get_mut("burst").unwrap().learnt.entry(0).or_default();
        learnt.hear(Heard::Read(Box::new(server(0, 3600))), reading(60).up, reading(61));
        first(&world, 130)
    };
    assert_eq!(listed(-7200, 120), Next::Do(Step::Label(id(0), NOW + secs(3600))));
    assert_eq!(listed(-7200, 30), Next::Rest, "the list is older than what was read since");
    assert_eq!(listed(3600, 120), Next::Rest);
}
