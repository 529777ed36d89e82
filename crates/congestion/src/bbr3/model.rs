//! The state of BBR version 3 about the path and its probes. Sections and names are those of the
//! draft.

use forebay_units::Time;

use crate::bottleneck::MIN_WINDOW;
use crate::packet::Sample;

/// The least that is left of a bound after a round with losses (section 2, Beta).
pub(super) const BETA: f64 = 0.7;

/// Share of the long-term bound that is left to others (section 2, Headroom).
const HEADROOM: f64 = 0.15;

/// 4 ln 2: the smallest pacing gain that doubles the rate each round (section 5.3.1).
pub(super) const STARTUP_GAIN: f64 = 2.77;

/// How long a round-trip time is believed to be the propagation time (section 5.5.7).
const MIN_RTT_LIFE: Time = Time::from_secs(10);

/// How often `ProbeRTT` drains the queue (section 5.3.4).
const PROBE_RTT_INTERVAL: Time = Time::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRoundTrip,
}

impl Mode {
    /// Whether it is one of those of `ProbeBW`.
    pub(super) fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether more is sent than is known to be safe (section 5.5.10).
    pub(super) fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// Gains of the pace and of the window (section 5.6.1).
    pub(super) fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_GAIN, 2.0),
            Self::Drain => (0.5, 2.0),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRoundTrip => (1.0, 0.5),
        }
    }
}

/// The deliveries and losses of the last round (section 5.5.10).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// Packets per second (`bw_latest`).
    pub(super) bw: f64,
    /// Packets (`inflight_latest`).
    pub(super) inflight: f64,
    pub(super) loss_round_delivered: u64,
    /// Whether the last acknowledgment ended a round of this kind.
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    /// Acknowledgments with losses.
    pub(super) loss_events_in_round: u32,
}

/// Bounds by losses (sections 5.5.10 and 5.3.3); infinite where there are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bound of the rate, in packets per second, by losses since the last probe.
    pub(super) bw_shortterm: f64,
    /// Bound of the packets in flight, by losses since the last probe.
    pub(super) inflight_shortterm: f64,
    /// Bound of the packets in flight, by the losses of probes.
    pub(super) inflight_longterm: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
        }
    }
}

impl Bounds {
    /// A round with losses outside of a probe (section 5.5.10, LossLowerBounds), at this rate and
    /// window.
    pub(super) fn lower(&mut self, latest: &Latest, max_bw: f64, cwnd: f64) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = max_bw;
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = cwnd;
        }
        self.bw_shortterm = latest.bw.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = latest.inflight.max(BETA * self.inflight_shortterm);
    }

    /// Each bound is at least the other one (section 5.5.11.2).
    pub(super) fn raise_to(&mut self, other: &Self) {
        self.bw_shortterm = self.bw_shortterm.max(other.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(other.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(other.inflight_longterm);
    }

    /// Section 5.5.10, ResetShortTermModel.
    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// The long-term bound less what is left to others (section 5.3.3).
    pub(super) fn with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        if self.inflight_longterm.is_finite() {
            (self.inflight_longterm - headroom).max(MIN_WINDOW)
        } else {
            f64::INFINITY
        }
    }
}

/// The propagation time (section 5.3.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Propagation {
    pub(super) min_rtt: f64,
    min_rtt_stamp: Time,
    /// The smallest since the last `ProbeRTT` became due.
    probe_rtt_min_delay: f64,
    pub(super) probe_rtt_min_stamp: Time,
    /// Whether a `ProbeRTT` is due.
    pub(super) probe_rtt_expired: bool,
}

impl Default for Propagation {
    fn default() -> Self {
        Self {
            min_rtt: f64::INFINITY,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: f64::INFINITY,
            probe_rtt_min_stamp: Time::MAX,
            probe_rtt_expired: false,
        }
    }
}

impl Propagation {
    pub(super) fn update(&mut self, sample: &Sample) {
        let now = sample.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp.saturating_add(PROBE_RTT_INTERVAL);
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp.saturating_add(MIN_RTT_LIFE);
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }
}

/// The state of the feedback about a probe for bandwidth (section 5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// A cycle of `ProbeBW` (section 5.3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// Whether losses still tell about the last probe.
    pub(super) bw_probe_samples: bool,
    /// Whether the last probe lost too much, and whether this one stopped early because of it
    /// (precautionary bandwidth probing).
    pub(super) prev_probe_too_high: bool,
    pub(super) stopped_risky_probe: bool,
    pub(super) rounds_since_bw_probe: u64,
    /// When it began (`cycle_stamp`).
    pub(super) stamp: Time,
    pub(super) bw_probe_wait: Time,
    /// Packets acknowledged since the long-term bound grew, how many it takes, and rounds of
    /// growth.
    pub(super) bw_probe_up_acks: f64,
    pub(super) probe_up_cnt: f64,
    pub(super) bw_probe_up_rounds: u32,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::None,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            rounds_since_bw_probe: 0,
            stamp: Time::ZERO,
            bw_probe_wait: Time::ZERO,
            bw_probe_up_acks: 0.0,
            probe_up_cnt: f64::INFINITY,
            bw_probe_up_rounds: 0,
        }
    }
}

impl Cycle {
    /// The long-term bound grows twice as fast each round (RaiseInflightLongtermSlope).
    pub(super) fn steepen(&mut self, cwnd: f64) {
        let growth = f64::from(1_u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_cnt = (cwnd / growth).max(1.0);
    }
}
