//! The bootstrap script, run as it is shipped, on machines that lack this or that.

mod again;
mod delivery;
mod machine;
mod mirror;
