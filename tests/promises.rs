//! The promises, each kept by real processes over a loopback cloud and a loopback cluster.
//!
//! What cannot be had here belongs elsewhere: a reboot, a suspend and a set clock are the agent's own tests (the clocks
//! of this machine are real), a certificate's dates at the provider too.

mod authority;
mod clocks;
mod controller;
mod documents;
mod drain;
mod firing;
mod guard;
mod identity;
mod leaks;
mod life_of_a_node;
mod notify;
mod provider_config;
mod ready;
mod release;
mod rent;
mod renting;
mod secrets;
mod sweep;
mod sweep_outside;
mod units;
mod wire;
mod wrongful_deletion;

use std::process::ExitCode;

fn main() -> ExitCode {
    let promises = [
        authority::PROMISES,
        clocks::PROMISES,
        controller::PROMISES,
        documents::PROMISES,
        drain::PROMISES,
        firing::PROMISES,
        guard::PROMISES,
        identity::PROMISES,
        leaks::PROMISES,
        life_of_a_node::PROMISES,
        notify::PROMISES,
        provider_config::PROMISES,
        ready::PROMISES,
        release::PROMISES,
        rent::PROMISES,
        renting::PROMISES,
        secrets::PROMISES,
        sweep::PROMISES,
        sweep_outside::PROMISES,
        units::PROMISES,
        wire::PROMISES,
        wrongful_deletion::PROMISES,
    ];
    curfew_tests::run(promises.concat().leak().iter())
}

/// The executable of every program.
const TESTBED: &str = env!("CARGO_BIN_EXE_testbed");
