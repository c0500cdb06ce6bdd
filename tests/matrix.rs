//! The failure matrix as promises, each kept by real processes. Bounds are the rows' own: nothing here is tighter.
//!
//! All rows are started together when the first test asks for its own: one after the other they would take minutes.

#![expect(clippy::unwrap_used, reason = "what fails here fails the tests")]

use std::{
    collections::BTreeMap,
    sync::{Condvar, LazyLock, Mutex},
    thread,
};

use curfew_sandbox::{
    programs::Programs,
    scenario::{Row, Scenario},
};

#[derive(Default)]
struct Results {
    ended: Mutex<BTreeMap<&'static str, Result<Row, String>>>,
    news: Condvar,
}

static RESULTS: LazyLock<Results> = LazyLock::new(|| {
    thread::spawn(play_all);
    Results::default()
});

fn play_all() {
    let programs = Programs::all_in(env!("CARGO_BIN_EXE_testbed"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut playing = Scenario::play_all(Scenario::ALL, Scenario::AT_ONCE, &programs, None);
        while let Some(ended) = playing.join_next().await {
            let (scenario, result) = ended.unwrap();
            let result = result.map_err(|error| format!("{error:?}"));
            RESULTS.ended.lock().unwrap().insert(scenario.name(), result);
            RESULTS.news.notify_all();
        }
    });
}

fn holds(scenario: Scenario) {
    let ended = RESULTS.ended.lock().unwrap();
    let ended = RESULTS.news.wait_while(ended, |ended| !ended.contains_key(scenario.name())).unwrap();
    let row = ended[scenario.name()].clone();
    drop(ended);
    assert!(row.as_ref().is_ok_and(|row| row.held), "{row:?}");
}

#[test]
fn a_machine_whose_lease_ends_is_gone() {
    holds(Scenario::F0);
}

#[test]
fn a_machine_that_a_lease_rented_is_given_back_at_its_end() {
    holds(Scenario::F0Rent);
}

#[test]
fn a_machine_whose_controller_is_dead_is_gone_at_its_last_deadline() {
    holds(Scenario::F1);
}

#[test]
fn work_is_moved_before_a_machine_whose_controller_is_dead_is_gone() {
    holds(Scenario::F1Drain);
}

#[test]
fn a_machine_with_neither_agent_nor_backstop_is_gone_at_its_leases_end() {
    holds(Scenario::F2);
}

#[test]
fn a_dead_agent_is_shown_while_there_is_time() {
    holds(Scenario::F2Seen);
}

#[test]
fn a_machine_whose_controller_and_agent_are_dead_is_gone() {
    holds(Scenario::F3);
}

#[test]
fn a_machine_whose_token_can_no_longer_delete_is_gone_at_its_leases_end() {
    holds(Scenario::F4);
}

#[test]
fn a_token_that_can_no_longer_delete_is_shown_before_it_matters() {
    holds(Scenario::F4Seen);
}

#[test]
fn a_ledger_that_cannot_be_written_neither_saves_nor_kills_a_machine() {
    holds(Scenario::F8);
}

#[test]
fn a_provider_that_is_down_at_the_deadline_is_asked_until_it_is_back() {
    holds(Scenario::F9);
}

#[test]
fn a_locked_and_then_protected_server_is_still_deleted() {
    holds(Scenario::F10);
}

#[test]
fn an_api_server_that_never_answers_does_not_save_a_machine() {
    holds(Scenario::F11);
}

#[test]
fn a_machine_of_a_cluster_in_which_everything_is_dead_is_swept_from_outside() {
    holds(Scenario::F12);
}
