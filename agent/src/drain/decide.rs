//! Whether to move work away, and whose cordon a Node bears. Pure.
//!
//! Which way it fails: towards work that is lost with its machine, and never towards a healthy machine that is emptied. A
//! machine whose end is doubtful, or not acted upon, or not to come, keeps its work.

use curfew_contract::{Cause, Grace, GraceRefusal};
use jiff::Timestamp;

use crate::{
    fuse::View,
    time::{Boot, Span, Wall},
};

/// What the Node says, as last seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// [`curfew_contract::annotation::GRACE`]; what cannot be read is no grace, and is reported.
    pub grace: Option<Grace>,
    /// Why the grace is refused, if it is.
    pub refused: Option<GraceRefusal>,
    /// [`curfew_contract::annotation::CORDONED_FOR`], if it is there.
    pub mark: Option<Mark>,
    /// The good deadline that came along, which the fuse was told of. `None`: none that is good, and the last one stands.
    pub deadline: Option<Option<Wall>>,
}

/// An agent's own cordon, and the end it was made for, if that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(Option<Wall>);

/// The end that the fuse has in view, and how much was left when it first was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    end: (Cause, Option<Wall>),
    left: Span,
}

/// All that is decided from.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// What the fuse will do.
    pub view: &'a View,
    /// What the Node says.
    pub orders: Orders,
    /// Since when the end is known.
    pub announced: Announced,
    /// The end for which this process already moves work away.
    pub underway: Option<Boot>,
    /// Nothing will be deleted.
    pub observe: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is right as it is, or nobody can tell.
    Rest,
    /// Move work away, at most until the fuse fires.
    Drain,
    /// The end is not near (any more): take the agent's own cordon off.
    Undo,
}

/// Decides at `now`.
#[must_use]
pub fn decide(situation: &Situation<'_>, now: Boot) -> Action {
    let Situation { view, orders, .. } = situation;
    if view.firing || now >= view.fires || is_doubtful(view, orders) {
        Action::Rest
    } else if drains(situation, now) {
        Action::Drain
    } else if orders.mark.is_some() {
        Action::Undo
    } else {
        Action::Rest
    }
}

/// The fuse has not yet taken in what the Node says, or goes by a memory: a renewal may be waiting to be read.
fn is_doubtful(view: &View, orders: &Orders) -> bool {
    let behind = orders.deadline.is_some_and(|told| told != view.deadline);
    behind || view.cause == Cause::Deadline && !view.confirmed
}

fn drains(situation: &Situation<'_>, now: Boot) -> bool {
    let Situation { view, orders, announced, underway, observe } = situation;
    let Some(grace) = orders.grace else { return false };
    let is_held_back = view.holding && view.cause == Cause::Deadline;
    if *observe || !view.consented || is_held_back {
        return false;
    }
    let grace = Span::from_millis(i64::try_from(grace.length().as_millis()).unwrap_or(i64::MAX));
    let marked = view.cluster.and_then(|offset| Some(orders.mark?.0?.at(offset)));
    // What was begun for this end, or for a later one, goes on; so it does in an agent that was restarted.
    let begun = (*underway).max(marked).is_some_and(|end| view.fires <= end.plus(SAME));
    if begun {
        return view.fires.plus(SAME.reversed()).since(now) < grace;
    }
    // A deadline that rolls comes with renewInterval + slack left, and slack is the longer of the two: until the next one,
    // more than half of that is left. So no grace, however wrong, empties a machine that is renewed.
    view.fires.since(now) < grace.min(Span::from_millis(announced.left.millis() / 2))
}

impl Announced {
    /// The end in view at `now`.
    #[must_use]
    pub fn new(view: &View, now: Boot) -> Self {
        let deadline = view.deadline.filter(|_| view.cause == Cause::Deadline);
        Self { end: (view.cause, deadline), left: view.fires.since(now) }
    }

    /// The same, if it still is the end in view; else the new one.
    #[must_use]
    pub fn renewed(self, view: &View, now: Boot) -> Self {
        let current = Self::new(view, now);
        if self.end == current.end { self } else { current }
    }
}

impl Mark {
    /// Reads [`curfew_contract::annotation::CORDONED_FOR`].
    #[must_use]
    pub fn read(value: &str) -> Self {
        Self(value.parse::<Timestamp>().ok().map(Wall::from))
    }

    /// Writes it for an `end`, in cluster time.
    #[must_use]
    pub fn text(end: Wall) -> String {
        let at = end.timestamp();
        Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
    }

    fn is_for(self, end: Wall) -> bool {
        self.0.is_some_and(|at| end.since(at).magnitude() <= SAME)
    }
}

/// What is to be done about a Node's cordon while draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cordon {
    /// Cordon it, and mark it as cordoned by the agent.
    Set,
    /// It is cordoned: by the agent for this end, or by somebody, which the agent then never undoes.
    Stands,
    /// The agent had cordoned it for this end, and somebody took that back. They are not fought: no pod is evicted either,
    /// since it could come back to this very Node. The machine goes all the same.
    TakenBack,
}

/// Decides about the cordon of a Node that is `unschedulable` or not, for an `end` in cluster time.
#[must_use]
pub fn cordon(unschedulable: bool, mark: Option<Mark>, end: Wall) -> Cordon {
    match mark {
        Some(mark) if mark.is_for(end) && !unschedulable => Cordon::TakenBack,
        Some(mark) if mark.is_for(end) => Cordon::Stands,
        None if unschedulable => Cordon::Stands,
        _ => Cordon::Set,
    }
}

/// An end that moves by no more is the same end: cluster time is corrected by up to 2 s, and a mark has whole seconds.
const SAME: Span = Span::from_millis(5_000);

#[cfg(test)]
mod tests;
