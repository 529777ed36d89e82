//! One followed flow: the state of its sender after each instant at which that state changes.
//! [`super`] calls it after every instant of the run, so that its times are as fine as the run's
//! own. It changes nothing of the run.

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use crate::ends::{SimulatedFlow, is_active};

/// The state of a sender from some instant on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Since when.
    pub time: Time,
    /// Whether it has something to send or to have acknowledged.
    pub active: bool,
    /// The sender's state of loss recovery.
    pub state: LossState,
    /// The congestion window in packets.
    pub cwnd_packets: f64,
    /// The slow-start threshold in packets; infinite where there is none.
    pub ssthresh_packets: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub rtt_s: f64,
    /// The lowest packet that it has no acknowledgment of.
    pub unacknowledged: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// The states of a followed flow since the last call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateHistory {
    /// In the order of time.
    pub standings: Vec<SenderState>,
    /// Number of further states for which there was no room.
    pub missed: u64,
}

/// Records the states of a flow until a caller takes them.
#[derive(Debug)]
pub(super) struct Follower {
    /// The place of the flow among those with congestion control.
    place: usize,
    most: usize,
    last: Option<SenderState>,
    course: StateHistory,
}

impl Follower {
    /// A follower of the flow in this place. It records up to `most` changes between two calls of
    /// [`Self::take`].
    pub(super) fn new(place: usize, most: usize) -> Self {
        Self {
            place,
            most,
            last: None,
            course: StateHistory::default(),
        }
    }

    /// Records the state of the flow after all events at `time`.
    pub(super) fn look(&mut self, time: Time, flows: &[SimulatedFlow]) {
        let Some(flow) = flows.get(self.place) else {
            return;
        };
        let standing = SenderState::of(flow, time);
        let same = |last: SenderState| SenderState { time, ..last } == standing;
        if self.last.is_some_and(same) {
            return;
        }
        self.last = Some(standing);
        let StateHistory { standings, missed } = &mut self.course;
        // A caller that begins to follow also records the state before the events of that instant;
        // the state after them replaces it.
        standings.pop_if(|last| last.time == time);
        if standings.len() < self.most {
            standings.push(standing);
        } else {
            *missed += 1;
        }
    }

    /// The states since the last call.
    pub(super) fn take(&mut self) -> StateHistory {
        std::mem::take(&mut self.course)
    }
}

impl SenderState {
    fn of(flow: &SimulatedFlow, time: Time) -> Self {
        let connection = &flow.ends.connection;
        let window = connection.window();
        Self {
            time,
            active: is_active(flow),
            state: connection.state(),
            cwnd_packets: window.cwnd,
            ssthresh_packets: window.ssthresh,
            rtt_s: connection.smoothed_rtt(),
            unacknowledged: connection.unacknowledged(),
            retransmissions: connection.retransmissions(),
            timeouts: connection.timeouts(),
        }
    }
}
