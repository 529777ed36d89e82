//! The record of pauses that `[trace]` asks for: an interval for each pause of a sender, from the
//! frame that begins it until the frame that ends it. [`crate::pause::PauseControl::hold`] notes
//! both.

use std::collections::BTreeMap;

use forebay_scenario::TraceOptions;
use forebay_units::Time;

use crate::pause_frame::Sender;

/// A pause of a sender; without an end it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracedPause {
    pub(crate) sender: Sender,
    pub(crate) begun: Time,
    pub(crate) ended: Option<Time>,
}

/// The pauses that overlap the traced time.
#[derive(Clone, Debug)]
pub(super) struct PauseTrace {
    from: Time,
    until: Time,
    /// The number of each pause that goes on.
    open: BTreeMap<Sender, usize>,
    /// All pauses, in the order in which they began.
    found: Vec<TracedPause>,
}

impl PauseTrace {
    pub(super) fn new(options: &TraceOptions) -> Self {
        Self {
            from: options.from,
            until: options.until.unwrap_or(Time::MAX),
            open: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// A sender is paused, or may send again.
    pub(super) fn change(&mut self, sender: Sender, is_paused: bool, now: Time) {
        if !is_paused {
            if let Some(number) = self.open.remove(&sender) {
                self.found[number].ended = Some(now);
            }
            return;
        }
        if now <= self.until {
            self.open.insert(sender, self.found.len());
            let (begun, ended) = (now, None);
            self.found.push(TracedPause {
                sender,
                begun,
                ended,
            });
        }
    }

    /// The pauses that last for some time and overlap the traced time.
    pub(super) fn pauses(&self) -> impl Iterator<Item = &TracedPause> {
        self.found.iter().filter(|pause| {
            pause
                .ended
                .is_none_or(|ended| ended > pause.begun && ended >= self.from)
        })
    }
}
