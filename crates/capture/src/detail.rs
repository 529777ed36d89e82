//! Measurements of one direction that only longer transfers need: round trips, losses, windows and
//! pauses over time. A `ConnectionDirection` creates them with its second packet of payload.

use crate::budget::Budget;
use crate::pacing::Pacing;
use crate::pauses::{Trip, Watch};
use crate::round_trip::{Least, Outstanding, Times};
use crate::sequence::Brought;
use crate::series::Series;
use crate::stream::{Loss, Stream};
use crate::window_rounds::WindowRounds;

/// Number of packets with payload above which a stream has a time series.
const SERIES: u64 = 64;
/// Distance below which losses are one event if no round trip is known, in nanoseconds.
const UNKNOWN_ROUND_TRIP: u64 = 200_000_000;
/// Maximum number of loss events that are stored with their times.
const LOSSES: usize = 256;
/// Longest spin period that is a round trip, in nanoseconds.
const LONGEST_SPIN: u64 = 10_000_000_000;

/// Measurements that only longer transfers need.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) sent: Outstanding,
    pub(crate) behind: Times,
    pub(crate) before: Times,
    pub(crate) window_rounds: WindowRounds,
    pub(crate) watch: Watch,
    pub(crate) pacing: Pacing,
    pub(crate) series: Series,
    pub(crate) repeated: (u64, u64),
    pub(crate) filled: (u64, u64),
    pub(crate) reordered: u64,
    pub(crate) losses: u64,
    pub(crate) loss_times: Vec<Loss>,
    pub(crate) last_loss: Option<u64>,
    pub(crate) largest_flight: Option<u64>,
    /// Value of the spin bit, and the time of its last change.
    pub(crate) spin: Option<(bool, Option<u64>)>,
    pub(crate) spins: Least,
}

impl Detail {
    /// Counts losses and reordering.
    pub(crate) fn note(
        &mut self,
        time: u64,
        brought: Brought,
        base: Option<u64>,
        budget: &mut Budget,
    ) {
        self.reordered += u64::from(brought.reordered > 0);
        if brought.repeated == 0 && brought.filled == 0 {
            return;
        }
        let before = brought.filled > 0;
        let counted = if before {
            &mut self.filled
        } else {
            &mut self.repeated
        };
        counted.0 += 1;
        self.repeated.1 += u64::from(brought.repeated);
        self.filled.1 += u64::from(brought.filled);
        let window = self.series.at(time, budget);
        window.repeated = window.repeated.saturating_add(brought.repeated);
        window.filled = window.filled.saturating_add(brought.filled);
        let smoothed = self.behind.smoothed() as u64;
        let apart = base.map_or(UNKNOWN_ROUND_TRIP, |base| base.max(smoothed));
        if self
            .last_loss
            .is_none_or(|last| time.saturating_sub(last) > apart)
        {
            self.last_loss = Some(time);
            self.losses += 1;
            if self.loss_times.len() < LOSSES {
                self.loss_times.push(Loss { time, before });
            }
        }
    }

    /// Processes the spin bit of a packet, which changes once per round trip (RFC 9000 section
    /// 17.4).
    pub(crate) fn spin(&mut self, time: u64, bit: bool) {
        match self.spin {
            Some((last, _)) if last == bit => {}
            Some((_, changed)) => {
                let period = changed.map(|changed| time - changed);
                if let Some(period) = period.filter(|&it| it <= LONGEST_SPIN) {
                    self.spins.add(period);
                }
                self.spin = Some((bit, Some(time)));
            }
            None => self.spin = Some((bit, None)),
        }
    }

    /// Writes the results into the stream. Returns the memory to the budget, except that of the
    /// windows.
    pub(crate) fn finish(mut self, stream: &mut Stream, trip: Trip, budget: &mut Budget) {
        (stream.repeated_packets, stream.repeated) = self.repeated;
        (stream.filled_packets, stream.filled) = self.filled;
        stream.reordered_packets = self.reordered;
        stream.losses = self.losses;
        self.loss_times.shrink_to_fit();
        stream.loss_times = self.loss_times;
        stream.spin = self.spins;
        stream.behind_quantiles = self.behind.quantiles();
        stream.before_quantiles = self.before.quantiles();
        stream.largest_flight = self.largest_flight;
        (stream.spent, stream.pauses) = self.watch.finish(trip);
        stream.evenness = self.pacing.evenness();
        stream.windows = self.window_rounds.finish();
        if stream.data_packets > SERIES {
            self.series.shrink();
            stream.series = Some(self.series);
        } else {
            self.series.clear(budget);
        }
    }
}
