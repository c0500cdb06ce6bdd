//! What a person sees of machines: a table, and a terminal on which it is redrawn in place. The table is pure.

use std::io::{IsTerminal, Write, stdout};

use jiff::Timestamp;

use crate::{api::Shown, stage::Gone};

/// One machine as the cluster and the cloud show it.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    pub(crate) name: String,
    pub(crate) server: u64,
    pub(crate) shown: Shown,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) gone: Option<Gone>,
}

/// The table at `now`; without it, without countdown.
pub(crate) fn table(sights: &[Sight], now: Option<Timestamp>) -> Vec<String> {
    let longest = sights.iter().map(|sight| sight.name.len()).max().unwrap_or_default();
    // Where the names are the controller's own, they tell servers apart, and leave no room for numbers.
    let machine = |name: &str, server: &str| {
        if longest > 9 { format!("{name:longest$}") } else { format!("{name:9} {server:<11}") }
    };
    let head = format!("  {} {:9} {:>8}  {}", machine("MACHINE", "SERVER"), "DEADLINE", "LEFT", "ARMED");
    let line = |sight: &Sight| line(sight, &machine(&sight.name, &sight.server.to_string()), now);
    std::iter::once(head).chain(sights.iter().map(line)).collect()
}

fn line(sight: &Sight, machine: &str, now: Option<Timestamp>) -> String {
    let Sight { name: _, server: _, shown, deadline, gone } = sight;
    let armed = match (shown.status.as_str(), gone) {
        (_, Some(gone)) => {
            let late = gone.overshoot().unwrap_or_default();
            format!("gone: by the {}, {late:.3} s late", gone.by)
        }
        ("", None) => "not yet".to_owned(),
        (status, None) => format!("{status} {}", shown.reason),
    };
    let at = deadline.map_or_else(|| "-".to_owned(), |at| at.strftime("%H:%M:%S").to_string());
    let left = match (deadline, gone, now) {
        (Some(at), None, Some(now)) => format!("{:.1} s", at.duration_since(now).as_secs_f64()),
        _ => String::new(),
    };
    format!("  {machine} {at:9} {left:>8}  {armed}")
}

/// Standard output: redrawn on a terminal, elsewhere each new state once.
pub(crate) struct Screen {
    terminal: bool,
    drawn: usize,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { terminal: stdout().is_terminal(), drawn: 0 }
    }

    /// Whether what was drawn can be drawn over.
    pub(crate) const fn redraws(&self) -> bool {
        self.terminal
    }

    /// A line that stays.
    pub(crate) fn say(&mut self, text: &str) {
        self.erase();
        println!("{text}");
    }

    /// Lines that the next call replaces, where the screen can.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        self.erase();
        for line in lines {
            println!("{line}");
        }
        self.drawn = if self.terminal { lines.len() } else { 0 };
    }

    /// What was drawn last stays.
    pub(crate) const fn keep(&mut self) {
        self.drawn = 0;
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            // Cursor up so many lines, and clear from there to the end of the screen.
            print!("\x1b[{}A\x1b[J", self.drawn);
            // A terminal that is gone has nobody who looks.
            let _ = stdout().flush();
            self.drawn = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[test]
    fn a_machine_that_is_gone_names_who_enforced_and_how_late() {
        let deadline = Timestamp::constant(1_796_068_800, 0);
        let gone = Gone {
            at: deadline + SignedDuration::from_millis(12),
            by: "agent".into(),
            deadline: Some(deadline),
        };
        let alive = Sight {
            name: "burst-1".into(),
            server: 3_000_000_001,
            shown: Shown { status: "True".into(), reason: "Armed".into() },
            deadline: Some(deadline),
            gone: None,
        };
        let now = Some(deadline - SignedDuration::from_millis(4_500));
        assert!(table(std::slice::from_ref(&alive), now)[1].contains("True Armed"));
        assert!(table(std::slice::from_ref(&alive), now)[1].contains("20:00:00     4.5 s"));
        let rented = Sight {
            name: "lab-1a2b3c4d-0".into(),
            gone: Some(Gone { by: "controller".into(), ..gone.clone() }),
            ..alive.clone()
        };
        assert!(table(&[rented], now).iter().all(|line| line.len() < 80));
        let line = table(&[Sight { gone: Some(gone), ..alive }], now)[1].clone();
        assert!(line.ends_with("gone: by the agent, 0.012 s late"), "{line}");
        assert!(line.len() < 80, "a terminal that wraps cannot be redrawn");
    }
}
