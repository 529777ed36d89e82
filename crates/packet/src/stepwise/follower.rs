//! One flow, followed: how its sender stands after each instant at which that changes. Whoever follows looks after
//! every instant of the run, so that no time is coarser than the run's own, and changes nothing of it.

use forebay_congestion::packet::LossState;
use forebay_units::Time;

use crate::ends::{SimulatedFlow, is_active};

/// How a sender stands from some instant on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Since when.
    pub time: Time,
    /// Whether it has something to send or to have acknowledged.
    pub active: bool,
    /// What it knows to be lost.
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

/// How a followed flow stood since the last look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// In the order of time.
    pub standings: Vec<Standing>,
    /// How many more there were than could be kept.
    pub missed: u64,
}

/// Keeps how a flow stands until somebody looks.
#[derive(Debug)]
pub(super) struct Follower {
    /// The place of the flow among those with congestion control.
    place: usize,
    most: usize,
    last: Option<Standing>,
    course: Course,
}

impl Follower {
    /// Of the flow in this place; up to `most` changes are kept between two looks.
    pub(super) fn new(place: usize, most: usize) -> Self {
        Self {
            place,
            most,
            last: None,
            course: Course::default(),
        }
    }

    /// Looks at the flow after all that happens at `time`.
    pub(super) fn look(&mut self, time: Time, flows: &[SimulatedFlow]) {
        let Some(flow) = flows.get(self.place) else {
            return;
        };
        let standing = Standing::of(flow, time);
        let same = |last: Standing| Standing { time, ..last } == standing;
        if self.last.is_some_and(same) {
            return;
        }
        self.last = Some(standing);
        let Course { standings, missed } = &mut self.course;
        // One who begins to follow sees how it stood before anything of that instant.
        standings.pop_if(|last| last.time == time);
        if standings.len() < self.most {
            standings.push(standing);
        } else {
            *missed += 1;
        }
    }

    /// How it stood since this was asked last.
    pub(super) fn take(&mut self) -> Course {
        std::mem::take(&mut self.course)
    }
}

impl Standing {
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
