//! BBR version 3 (draft-ietf-ccwg-bbr): the model of BBR, bounded by what losses tell. Below, a
//! section is one of that draft, in the editors' copy that followed version 04; of that version
//! is the schedule of `ProbeRTT`, every 5 s, as in Linux.
//!
//! What follows differs from the draft: a loss is judged by the packet whose acknowledgement
//! shows it and not by the lost packet itself (section 5.5.10 allows for reordering between the
//! two), a restart from idle (section 5.4) is not told from a window that limits, and no
//! recovery is found to be spurious (section 5.5.11). ECN is not used, as in the draft.

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};

use crate::bottleneck::{
    Aggregation, Expectation, MIN_WINDOW, PACING_MARGIN, Plateau, RoundTripProbe, Rounds,
    SavedWindow, TargetWindow, draw, initial_rate, quantum,
};
use crate::packet::{
    Ack, CongestionControl, Delivery, Idle, LossState, Needs, Pace, Path, Sample, Samples, Signal,
    Window,
};

/// Share of lost packets in a round that means too much under way (section 2, LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;

/// The least that is left of a bound after a round with losses (section 2, Beta).
const BETA: f64 = 0.7;

/// Share of the long-term bound that is left to others (section 2, Headroom).
const HEADROOM: f64 = 0.15;

/// 4 ln 2: the smallest pacing gain that doubles the rate each round (section 5.3.1).
const STARTUP_GAIN: f64 = 2.77;

/// How long a round-trip time is believed to be the propagation time (section 5.5.7).
const MIN_RTT_LIFE: Time = Time::from_secs(10);

/// How often `ProbeRTT` drains the queue (section 5.3.4).
const PROBE_RTT_INTERVAL: Time = Time::from_secs(5);

/// Acknowledgements with losses in one round that may end start-up (section 5.3.1).
const FULL_LOSSES: u32 = 6;

/// Rounds of each of two windows of the aggregation, before and after the pipe is full; ten in
/// all after it (section 5.5.9).
const AGGREGATION_ROUNDS: (u32, u32) = (1, 5);

/// Rounds after which draining ends whatever is under way (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

/// Most rounds between two probes, so that Reno's flows keep their share (section 5.3.3).
const RENO_ROUNDS: f64 = 63.0;

/// Seconds between two probes, and how much longer by chance (section 5.3.3).
const PROBE_WAIT: (f64, f64) = (2.0, 1.0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
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
    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether more is sent than is known to be safe (section 5.5.10).
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// Gains of the pace and of the window (section 5.6.1).
    fn gains(self) -> (f64, f64) {
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

/// What acknowledgements tell about a probe for bandwidth (section 5.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// What the last round delivered, and whether it lost (section 5.5.10).
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    rate: f64,
    delivered: f64,
    end: u64,
    /// Whether the last acknowledgement ended a round of this kind.
    over: bool,
    lossy: bool,
    /// Acknowledgements with losses.
    losses: u32,
}

/// The propagation time (section 5.3.4).
#[derive(Clone, Copy, Debug)]
struct Propagation {
    min_rtt: f64,
    since: Time,
    /// The smallest since the last `ProbeRTT` became due.
    recent: f64,
    recent_since: Time,
    due: bool,
}

impl Propagation {
    fn update(&mut self, sample: &Sample) {
        let now = sample.now;
        self.due = now > self.recent_since.saturating_add(PROBE_RTT_INTERVAL);
        if let Some(rtt) = sample.rtt
            && (rtt < self.recent || self.due)
        {
            self.recent = rtt;
            self.recent_since = now;
        }
        let expired = now > self.since.saturating_add(MIN_RTT_LIFE);
        if self.recent < self.min_rtt || expired {
            self.min_rtt = self.recent;
            self.since = self.recent_since;
        }
    }
}

/// The probe for bandwidth (section 5.3.3).
#[derive(Clone, Copy, Debug)]
struct Probe {
    feedback: Feedback,
    /// Whether losses still tell about the last probe.
    judged: bool,
    /// Whether the last probe lost too much, and whether this one stopped early because of it
    /// (section 5.3.3, precautionary bandwidth probing).
    too_high: bool,
    precautionary: bool,
    /// Rounds since the last one, and when the cycle began.
    rounds: u64,
    since: Time,
    wait: Time,
    /// Packets acknowledged since the long-term bound grew, how many it takes, and rounds of growth.
    acked: f64,
    per_packet: f64,
    growths: u32,
}

/// BBR version 3 on packets.
#[derive(Clone, Debug)]
pub struct Bbr3Controller {
    probes_round_trip: bool,
    mode: Mode,
    rounds: Rounds,
    /// Largest delivery rate of the last and of this cycle of probes (section 5.5.6).
    bandwidth: [f64; 2],
    /// Short-term bounds of rate and of what is under way, by losses since the last probe.
    rate_low: f64,
    inflight_low: f64,
    /// Long-term bound of what is under way, by the losses of probes.
    inflight_high: f64,
    latest: Latest,
    propagation: Propagation,
    round_trip_probe: RoundTripProbe,
    /// Packets sent after the first and not after the second were delivered tell nothing of the
    /// bandwidth: `ProbeRTT` held them back.
    held_back: (u64, u64),
    plateau: Plateau,
    full: bool,
    drain_since: u64,
    probe: Probe,
    aggregation: Aggregation,
    state: LossState,
    /// What was signalled since the last sample.
    signalled: Option<Signal>,
    saved_window: SavedWindow,
    /// Packets per second; zero before the first estimate.
    rate: f64,
}

impl Bbr3Controller {
    /// The largest delivery rate, packets per second.
    fn most(&self) -> f64 {
        self.bandwidth[0].max(self.bandwidth[1])
    }

    /// The rate that the model allows (section 5.5.10, BoundBWForModel).
    fn allowed(&self) -> f64 {
        self.most().min(self.rate_low)
    }

    /// `gain` bandwidth-delay products at `rate`; `unknown` before the first measurements.
    fn product(&self, gain: f64, rate: f64, unknown: f64) -> f64 {
        if self.propagation.min_rtt.is_finite() && rate > 0.0 {
            gain * rate * self.propagation.min_rtt
        } else {
            unknown
        }
    }

    /// Room for bursts at both ends (section 5.6.4, QuantizationBudget).
    fn with_budget(&self, packets: f64) -> f64 {
        let bounded = packets.max(3.0 * quantum(self.rate)).max(MIN_WINDOW);
        if self.mode == Mode::Up {
            bounded + 2.0
        } else {
            bounded
        }
    }

    /// What ought to be under way, unless congestion cut the window (section 5.3.3).
    fn target(&self, cwnd: f64) -> f64 {
        self.product(1.0, self.allowed(), cwnd).min(cwnd)
    }

    /// The long-term bound less what is left to others (section 5.3.3).
    fn with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_high).max(1.0);
        if self.inflight_high.is_finite() {
            (self.inflight_high - headroom).max(MIN_WINDOW)
        } else {
            f64::INFINITY
        }
    }

    /// Whether the sample tells nothing of the bandwidth.
    fn held_back(&self, delivery: &Delivery) -> bool {
        let (from, to) = self.held_back;
        delivery.app_limited || (from..=to).contains(&delivery.prior_delivered)
    }

    /// A loss without a count: acknowledgements do not tell which packets arrived.
    fn blind(&self, sample: &Sample) -> bool {
        let counted = sample.lost + sample.delivery.map_or(0.0, |delivery| delivery.lost);
        self.signalled == Some(Signal::Loss) && counted <= 0.0
    }

    /// Whether losses say that too much was under way (section 5.5.10, IsInflightTooHigh).
    fn too_high(&self, sample: &Sample) -> bool {
        let lossy = |d: Delivery| d.lost > LOSS_THRESHOLD * d.in_flight;
        self.blind(sample) || sample.delivery.is_some_and(lossy)
    }

    // --- The model ---

    fn note_losses(&mut self, sample: &Sample) {
        if sample.lost <= 0.0 && self.signalled.is_none() {
            return;
        }
        if !self.latest.lossy {
            self.latest.end = sample.delivered;
        }
        self.latest.lossy = true;
        self.latest.losses = self.latest.losses.saturating_add(1);
    }

    /// Section 5.5.10, UpdateLatestDeliverySignals and UpdateCongestionSignals.
    fn update_bandwidth(&mut self, sample: &Sample, cwnd: f64) {
        self.latest.over = false;
        self.rounds.update(sample);
        self.probe.rounds += u64::from(self.rounds.started);
        let Some(delivery) = &sample.delivery else {
            return;
        };
        self.latest.rate = self.latest.rate.max(delivery.rate);
        self.latest.delivered = self.latest.delivered.max(delivery.delivered);
        if delivery.prior_delivered >= self.latest.end {
            self.latest.end = sample.delivered;
            self.latest.over = true;
        }
        if delivery.rate >= self.most() || !self.held_back(delivery) {
            self.bandwidth[1] = self.bandwidth[1].max(delivery.rate);
        }
        if self.latest.over {
            if self.latest.lossy && !self.mode.accelerates() {
                self.lower_bounds(cwnd);
            }
            self.latest.lossy = false;
        }
    }

    /// A round with losses outside of a probe (section 5.5.10, LossLowerBounds).
    fn lower_bounds(&mut self, cwnd: f64) {
        if self.rate_low.is_infinite() {
            self.rate_low = self.most();
        }
        if self.inflight_low.is_infinite() {
            self.inflight_low = cwnd;
        }
        self.rate_low = self.latest.rate.max(BETA * self.rate_low);
        self.inflight_low = self.latest.delivered.max(BETA * self.inflight_low);
    }

    fn forget_short_term(&mut self) {
        self.rate_low = f64::INFINITY;
        self.inflight_low = f64::INFINITY;
    }

    fn update_aggregation(&mut self, sample: &Sample, cwnd: f64) {
        let (before, after) = AGGREGATION_ROUNDS;
        let expectation = Expectation {
            bandwidth: self.allowed(),
            window: cwnd,
            rounds: if self.full { after } else { before },
            round: self.rounds.started,
        };
        self.aggregation.update(sample, expectation);
    }

    // --- The states ---

    /// Section 5.3.1: start-up ends at the plateau of the bandwidth or with losses.
    fn check_startup(&mut self, sample: &Sample) {
        let delivery = sample.delivery.filter(|d| !self.held_back(d));
        if let Some(delivery) = delivery
            && self.rounds.started
            && !self.plateau.reached()
        {
            self.plateau.update(delivery.rate);
            self.full |= self.plateau.reached();
        }
        if self.mode != Mode::Startup {
            return;
        }
        let lossy = self.latest.over
            && self.latest.losses >= FULL_LOSSES
            && sample.state == LossState::Recovery
            && self.too_high(sample);
        if !self.full && (lossy || self.blind(sample)) {
            self.full = true;
            let product = self.product(1.0, self.allowed(), 0.0);
            self.inflight_high = product.max(self.latest.delivered).max(MIN_WINDOW);
        }
        if self.latest.over {
            self.latest.losses = 0;
        }
        if self.full {
            self.mode = Mode::Drain;
            self.drain_since = self.rounds.count;
        }
    }

    /// Section 5.3.2.
    fn check_drain(&mut self, sample: &Sample, cwnd: f64) {
        if self.mode != Mode::Drain {
            return;
        }
        let drained = sample.in_flight <= self.with_budget(self.product(1.0, self.allowed(), cwnd));
        if drained || self.rounds.count > self.drain_since + DRAIN_ROUNDS {
            self.go_down(sample);
        }
    }

    fn go_down(&mut self, sample: &Sample) {
        self.mode = Mode::Down;
        self.latest.lossy = false;
        self.latest.rate = 0.0;
        self.latest.delivered = 0.0;
        self.rounds.restart(sample);
        let drawn = draw(sample.now);
        let (wait, more) = PROBE_WAIT;
        let chance = (drawn >> 1) as f64 / f64::from(1_u32 << 31);
        self.probe.wait = Time::from_secs_f64(wait + more * chance);
        self.probe.rounds = drawn & 1;
        self.probe.since = sample.now;
        self.probe.per_packet = f64::INFINITY;
        self.probe.feedback = Feedback::Stopping;
    }

    fn refill(&mut self, sample: &Sample) {
        self.mode = Mode::Refill;
        self.forget_short_term();
        self.rounds.restart(sample);
        self.probe.acked = 0.0;
        self.probe.growths = 0;
        self.probe.precautionary = false;
        self.probe.feedback = Feedback::Refilling;
    }

    fn go_up(&mut self, sample: &Sample, cwnd: f64) {
        self.mode = Mode::Up;
        self.rounds.restart(sample);
        self.plateau.restart(rate_of(sample));
        self.probe.judged = true;
        self.probe.feedback = Feedback::Starting;
        self.steepen(cwnd);
    }

    /// The long-term bound grows twice as fast each round (section 5.3.3).
    fn steepen(&mut self, cwnd: f64) {
        let growth = f64::from(1_u32 << self.probe.growths);
        self.probe.growths = (self.probe.growths + 1).min(30);
        self.probe.per_packet = (cwnd / growth).max(1.0);
    }

    /// Section 5.3.3, UpdateProbeBWCyclePhase.
    fn update_cycle(&mut self, sample: &Sample, cwnd: f64) {
        if !self.full || self.adapt_long_term(sample, cwnd) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.probe_is_due(sample, cwnd) => self.refill(sample),
            Mode::Down => {
                let most = self.with_budget(self.product(1.0, self.most(), cwnd));
                if sample.in_flight <= self.with_headroom().min(most) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.rounds.started => self.go_up(sample, cwnd),
            Mode::Up if self.probe_is_over(sample, cwnd) => {
                self.probe.too_high = false;
                self.go_down(sample);
            }
            _ => {}
        }
    }

    fn probe_is_due(&self, sample: &Sample, cwnd: f64) -> bool {
        let waited = sample.now > self.probe.since.saturating_add(self.probe.wait);
        waited || self.probe.rounds as f64 >= self.target(cwnd).min(RENO_ROUNDS)
    }

    fn probe_is_over(&mut self, sample: &Sample, cwnd: f64) -> bool {
        if self.probe.too_high && sample.in_flight >= self.inflight_high {
            self.probe.precautionary = true;
            return true;
        }
        if sample.limited && cwnd >= self.inflight_high {
            // The bound, not the path, limits the rate.
            self.plateau.restart(rate_of(sample));
            return false;
        }
        self.plateau.reached()
    }

    /// What losses and their absence tell of a probe; says whether the state changed thereby
    /// (section 5.3.3, AdaptLongTermModel).
    fn adapt_long_term(&mut self, sample: &Sample, cwnd: f64) -> bool {
        if self.rounds.started {
            let feedback = self.probe.feedback;
            match feedback {
                Feedback::Starting => self.probe.feedback = Feedback::Probing,
                Feedback::Stopping if self.end_feedback(sample) => return true,
                _ => {}
            }
        }
        if self.too_high(sample) {
            return self.probe.judged && self.reject(sample, cwnd);
        }
        if self.inflight_high.is_infinite() {
            return false;
        }
        if let Some(delivery) = &sample.delivery {
            self.inflight_high = self.inflight_high.max(delivery.in_flight);
        }
        if self.mode == Mode::Up {
            self.raise_bound(sample, cwnd);
        }
        false
    }

    /// The last answer to a probe has come; says whether the next one begins at once.
    fn end_feedback(&mut self, sample: &Sample) -> bool {
        self.probe.judged = false;
        self.probe.feedback = Feedback::None;
        if !self.mode.probes_bandwidth() {
            return false;
        }
        let told = sample.delivery.is_some_and(|d| !self.held_back(&d));
        if told && self.bandwidth[1] > 0.0 {
            self.bandwidth = [self.bandwidth[1], 0.0];
        }
        let again = self.probe.precautionary && !self.probe.too_high;
        if again {
            self.refill(sample);
        }
        again
    }

    /// The probe put too much under way (section 5.5.10, HandleInflightTooHigh); says whether it
    /// ends thereby.
    fn reject(&mut self, sample: &Sample, cwnd: f64) -> bool {
        self.probe.too_high = true;
        self.probe.judged = false;
        if let Some(delivery) = sample.delivery.filter(|d| !d.app_limited) {
            let least = BETA * self.target(cwnd);
            self.inflight_high = delivery.in_flight.max(least);
        }
        let ends = self.mode == Mode::Up;
        if ends {
            self.go_down(sample);
        }
        ends
    }

    /// Section 5.3.3, ProbeInflightLongtermUpward.
    fn raise_bound(&mut self, sample: &Sample, cwnd: f64) {
        if !sample.limited || cwnd < self.inflight_high {
            return;
        }
        self.probe.acked += sample.arrived;
        if self.probe.acked >= self.probe.per_packet {
            let packets = (self.probe.acked / self.probe.per_packet).floor();
            self.probe.acked -= packets * self.probe.per_packet;
            self.inflight_high += packets;
        }
        if self.rounds.started {
            self.steepen(cwnd);
        }
    }

    /// Section 5.3.4.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        self.propagation.update(sample);
        let due = self.propagation.due && self.probes_round_trip;
        if due && self.mode != Mode::ProbeRoundTrip {
            self.save_window(window.cwnd);
            self.mode = Mode::ProbeRoundTrip;
            self.round_trip_probe = RoundTripProbe::default();
            self.probe.feedback = Feedback::Stopping;
            self.rounds.restart(sample);
            self.held_back.0 = sample.delivered;
        }
        if self.mode != Mode::ProbeRoundTrip {
            return;
        }
        self.held_back.1 = sample.delivered.saturating_add(sample.in_flight as u64);
        let few = self.probe_rtt_window(window.cwnd);
        let probe = &mut self.round_trip_probe;
        if probe.update(sample, few, &mut self.rounds) {
            self.leave_probe_rtt(window, sample);
        }
    }

    fn leave_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        self.propagation.recent_since = sample.now;
        self.saved_window.restore(window);
        self.forget_short_term();
        if self.full {
            self.go_down(sample);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    // --- What follows from it ---

    /// Section 5.6.2.
    fn set_pace(&mut self, window: &Window, path: &Path) {
        let (gain, _) = self.mode.gains();
        let bandwidth = self.allowed();
        if bandwidth > 0.0 {
            let rate = bandwidth * gain * PACING_MARGIN;
            if self.full || rate > self.rate {
                self.rate = rate;
            }
        } else if let Some(rate) = initial_rate(STARTUP_GAIN, window, path) {
            // The draft takes no margin off this one (BBRInitPacingRate).
            self.rate = rate;
        }
    }

    fn probe_rtt_window(&self, cwnd: f64) -> f64 {
        let (_, gain) = Mode::ProbeRoundTrip.gains();
        self.product(gain, self.allowed(), cwnd).max(MIN_WINDOW)
    }

    /// Section 5.6.4.
    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        if sample.arrived > 0.0 {
            let (_, gain) = self.mode.gains();
            let product = self.product(gain, self.allowed(), window.cwnd);
            let target = TargetWindow {
                packets: self.with_budget(product + self.aggregation.most()),
                full: self.full,
            };
            target.approach(window, sample);
        }
        let bound = match self.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_high,
            Mode::Cruise => self.with_headroom(),
            Mode::ProbeRoundTrip => {
                let probing = self.probe_rtt_window(window.cwnd);
                self.with_headroom().min(probing)
            }
        };
        let bound = bound.min(self.inflight_low).max(MIN_WINDOW);
        window.cwnd = window.cwnd.min(bound);
    }

    fn save_window(&mut self, cwnd: f64) {
        let calm = self.state == LossState::Open && self.mode != Mode::ProbeRoundTrip;
        self.saved_window.save(cwnd, calm);
    }
}

/// The delivery rate of a sample; zero for none.
fn rate_of(sample: &Sample) -> f64 {
    sample.delivery.map_or(0.0, |delivery| delivery.rate)
}

impl CongestionControl for Bbr3Controller {
    const DESCRIPTION: Description = Description {
        name: "bbr3",
        title: "BBR version 3: BBR's model of the path, bounded by the losses of its probes",
        source: "draft-ietf-ccwg-bbr",
        parameters: &[Parameter {
            name: "probe_rtt",
            meaning: "whether the flow drains the queue every 5 s to measure the propagation time",
            kind: ParameterKind::Switch,
            default: Value::Switch(true),
        }],
    };

    fn new(parameters: &Parameters) -> Self {
        Self {
            probes_round_trip: parameters.switch("probe_rtt"),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: [0.0; 2],
            rate_low: f64::INFINITY,
            inflight_low: f64::INFINITY,
            inflight_high: f64::INFINITY,
            latest: Latest::default(),
            propagation: Propagation {
                min_rtt: f64::INFINITY,
                since: Time::ZERO,
                recent: f64::INFINITY,
                recent_since: Time::MAX,
                due: false,
            },
            round_trip_probe: RoundTripProbe::default(),
            held_back: (u64::MAX, 0),
            plateau: Plateau::default(),
            full: false,
            drain_since: 0,
            probe: Probe {
                feedback: Feedback::None,
                judged: false,
                too_high: false,
                precautionary: false,
                rounds: 0,
                since: Time::ZERO,
                wait: Time::ZERO,
                acked: 0.0,
                per_packet: f64::INFINITY,
                growths: 0,
            },
            aggregation: Aggregation::default(),
            state: LossState::Open,
            signalled: None,
            saved_window: SavedWindow::default(),
            rate: 0.0,
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            samples: Samples::Rates,
            own_recovery: true,
            ..Needs::default()
        }
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// The model of the path stays: pacing alone keeps the restart smooth.
    fn on_idle(&mut self, _: &mut Window, _: &Idle) {}

    /// A mark is no signal to this BBR; losses are judged with the next sample.
    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: Time, _: &Path) {
        if signal == Signal::Mark {
            return;
        }
        self.save_window(window.cwnd);
        self.signalled = Some(signal);
        if signal == Signal::Timeout {
            self.state = LossState::Timeout;
            window.cwnd = 1.0;
        }
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        let before = std::mem::replace(&mut self.state, sample.state);
        if before != LossState::Open && self.state == LossState::Open {
            self.saved_window.restore(window);
        }
        self.note_losses(sample);
        self.update_bandwidth(sample, window.cwnd);
        self.update_aggregation(sample, window.cwnd);
        self.check_startup(sample);
        self.check_drain(sample, window.cwnd);
        self.update_cycle(sample, window.cwnd);
        self.check_probe_rtt(window, sample);
        if self.latest.over {
            self.latest.rate = rate_of(sample);
            self.latest.delivered = sample.delivery.map_or(0.0, |d| d.delivered);
        }
        self.signalled = None;
        self.set_pace(window, path);
        self.set_window(window, sample);
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        let known = (self.rate > 0.0).then_some(self.rate);
        let rate = known.or_else(|| initial_rate(STARTUP_GAIN, window, path))?;
        Some(Pace {
            rate,
            quantum: quantum(self.rate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::{sample, window};

    /// A path of 1000 packets per second and 100 ms without queue, which holds `room` packets
    /// and loses what is beyond, at the rate at which the flow sends.
    struct Driven {
        bbr: Bbr3Controller,
        window: Window,
        now: Time,
        delivered: u64,
        lost: u64,
        room: f64,
        under_way: f64,
        modes: Vec<Mode>,
    }

    impl Driven {
        fn new(room: f64) -> Self {
            let parameters = Parameters::defaults(Bbr3Controller::DESCRIPTION.parameters);
            Self {
                bbr: Bbr3Controller::new(&parameters),
                window: window(10.0, f64::INFINITY),
                now: Time::from_secs(1),
                delivered: 0,
                lost: 0,
                room,
                under_way: 10.0,
                modes: vec![Mode::Startup],
            }
        }

        /// Acknowledgements for that long; in start-up and in Up more and more is under way until
        /// the window is full, otherwise a bandwidth-delay product at most.
        fn run(&mut self, seconds: f64) {
            let end = self.now + Time::from_secs_f64(seconds);
            while self.now < end {
                let under_way = match self.bbr.mode {
                    Mode::Startup => self.under_way + 1.0,
                    Mode::Up => self.under_way + 0.25,
                    _ => 100.0,
                };
                self.under_way = self.window.cwnd.min(under_way);
                self.step(self.under_way);
            }
        }

        fn step(&mut self, under_way: f64) {
            let queued = (under_way.min(self.room) - 100.0).max(0.0);
            let rtt = 0.1 + queued / 1000.0;
            let rate = (under_way / rtt).min(1000.0);
            self.now += Time::from_secs_f64(1.0 / rate);
            self.delivered += 1;
            let share = ((under_way - self.room) / under_way).max(0.0);
            let lost = (share * under_way).ceil();
            self.lost += u64::from(lost > 0.0);
            let mut seen = sample(rtt);
            seen.now = self.now;
            seen.lost = f64::from(u8::from(lost > 0.0));
            seen.in_flight = under_way;
            seen.prior_in_flight = under_way;
            seen.delivered = self.delivered;
            seen.state = if lost > 0.0 {
                LossState::Recovery
            } else {
                LossState::Open
            };
            seen.limited = under_way >= self.window.cwnd.floor();
            seen.delivery = Some(Delivery {
                rate,
                delivered: under_way.min(self.room),
                interval: rtt,
                prior_delivered: self.delivered.saturating_sub(under_way as u64),
                app_limited: false,
                in_flight: under_way,
                lost,
            });
            if lost > 0.0 && self.bbr.state == LossState::Open {
                let path = Path::default();
                self.bbr
                    .on_congestion(&mut self.window, Signal::Loss, self.now, &path);
            }
            let path = Path {
                smoothed_rtt: rtt,
                min_rtt: 0.1,
                ..Path::default()
            };
            self.bbr.on_sample(&mut self.window, &seen, &path);
            if self.modes.last() != Some(&self.bbr.mode) {
                self.modes.push(self.bbr.mode);
            }
        }
    }

    #[test]
    fn start_up_ends_at_the_plateau_and_the_states_follow_each_other() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(4.5);
        let expected = [
            Mode::Startup,
            Mode::Drain,
            // By way of Down: less than a product is under way.
            Mode::Cruise,
            Mode::Refill,
            Mode::Up,
            Mode::Down,
            Mode::Cruise,
        ];
        assert_eq!(driven.modes, expected);
        assert_eq!(driven.bbr.most(), 1000.0);
        assert_eq!(driven.bbr.inflight_high, f64::INFINITY);
    }

    #[test]
    fn gains_are_those_of_the_draft() {
        let mut driven = Driven::new(f64::INFINITY);
        let mut seen = Vec::new();
        for _ in 0..4500 {
            driven.run(1e-9);
            if driven.bbr.full {
                seen.push((driven.bbr.mode, driven.bbr.rate));
            }
        }
        let pace = |mode| {
            let of_mode = seen.iter().filter(|(m, _)| *m == mode);
            of_mode.map(|(_, rate)| *rate).next_back().unwrap()
        };
        for (mode, expected) in [
            (Mode::Drain, 495.0),
            (Mode::Down, 891.0),
            (Mode::Cruise, 990.0),
            (Mode::Up, 1237.5),
        ] {
            assert!((pace(mode) - expected).abs() < 1e-9, "{mode:?}");
        }
    }

    #[test]
    fn losses_end_start_up_and_bound_what_is_under_way() {
        let mut driven = Driven::new(150.0);
        while driven.bbr.mode == Mode::Startup && driven.now < Time::from_secs(4) {
            driven.run(1e-9);
        }
        // Two products would fit into the window.
        assert!(driven.lost > 0 && driven.bbr.full);
        let bound = driven.bbr.inflight_high;
        assert!((100.0..=150.0).contains(&bound), "{bound}");
    }

    #[test]
    fn a_probe_that_loses_lowers_the_bound_and_the_next_one_is_cautious() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(2.0);
        driven.room = 130.0;
        while !driven.bbr.probe.too_high {
            driven.run(1e-9);
        }
        assert_eq!(driven.bbr.mode, Mode::Down);
        let bound = driven.bbr.inflight_high;
        // 2 % beyond the room.
        assert!((130.0..=135.0).contains(&bound), "{bound}");
        assert!(!driven.bbr.probe.judged, "one reaction per probe");
        while driven.bbr.mode != Mode::Cruise {
            driven.run(1e-9);
        }
        driven.run(1e-3);
        assert!(driven.window.cwnd <= 0.85 * bound + 1e-9);
        while driven.bbr.mode != Mode::Up {
            driven.run(1e-9);
        }
        while driven.bbr.mode == Mode::Up {
            driven.run(1e-9);
        }
        assert!(driven.bbr.probe.precautionary || driven.bbr.probe.too_high);
    }

    #[test]
    fn the_bound_grows_by_one_two_and_four_packets_in_successive_rounds() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(2.0);
        driven.bbr.inflight_high = 90.0;
        while driven.bbr.mode != Mode::Up {
            driven.run(1e-9);
        }
        let start = driven.bbr.inflight_high;
        let mut grown = Vec::new();
        let mut round = driven.bbr.rounds.count;
        while grown.len() < 4 {
            driven.run(1e-9);
            if driven.bbr.rounds.count > round {
                round = driven.bbr.rounds.count;
                grown.push((driven.bbr.inflight_high - start).round());
            }
        }
        let steps: Vec<_> = grown.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps[1] > steps[0] && steps[2] > steps[1], "{grown:?}");
    }

    #[test]
    fn losses_while_cruising_cut_to_seven_tenths_at_most_until_the_next_probe() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(2.0);
        assert_eq!(driven.bbr.mode, Mode::Cruise);
        driven.room = 50.0;
        driven.run(0.25);
        let low = driven.bbr.inflight_low;
        assert!((50.0..200.0).contains(&low), "{low}");
        assert!(driven.window.cwnd <= low);
        assert_eq!(driven.bbr.inflight_high, f64::INFINITY);
        driven.room = f64::INFINITY;
        while driven.bbr.mode != Mode::Refill {
            driven.run(1e-9);
        }
        assert_eq!(driven.bbr.inflight_low, f64::INFINITY);
    }

    #[test]
    fn every_five_seconds_half_a_product_is_under_way() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(4.9);
        assert!(!driven.modes.contains(&Mode::ProbeRoundTrip));
        let mut least = f64::INFINITY;
        for _ in 0..2000 {
            driven.run(1e-9);
            least = least.min(driven.window.cwnd);
        }
        assert!((45.0..=55.0).contains(&least), "{least}");
        assert_eq!(driven.bbr.mode, Mode::Cruise);
        assert!(driven.window.cwnd > 150.0, "{}", driven.window.cwnd);
    }

    #[test]
    fn probes_wait_two_to_three_seconds_or_63_rounds() {
        let mut driven = Driven::new(f64::INFINITY);
        let mut waits = Vec::new();
        driven.run(2.0);
        for _ in 0..20 {
            let mut at = sample(0.1);
            at.now = driven.now;
            driven.bbr.go_down(&at);
            waits.push(driven.bbr.probe.wait.as_secs_f64());
            driven.run(0.01);
        }
        assert!(waits.iter().all(|wait| (2.0..3.0).contains(wait)));
        let (least, most) = waits
            .iter()
            .fold((3.0, 0.0), |(l, m): (f64, f64), w| (l.min(*w), m.max(*w)));
        assert!(most - least > 0.3, "{waits:?}");
        driven.bbr.probe.rounds = 63;
        let mut at = sample(0.1);
        at.now = driven.bbr.probe.since;
        assert!(driven.bbr.probe_is_due(&at, driven.window.cwnd));
        driven.bbr.probe.rounds = 62;
        assert!(!driven.bbr.probe_is_due(&at, driven.window.cwnd));
        // A small flow does not wait longer than Reno's would.
        assert!(driven.bbr.probe_is_due(&at, 40.0));
    }

    #[test]
    fn a_timeout_restarts_from_one_packet_and_the_window_returns() {
        let mut driven = Driven::new(f64::INFINITY);
        driven.run(2.0);
        let before = driven.window.cwnd;
        let (now, path) = (driven.now, Path::default());
        driven
            .bbr
            .on_congestion(&mut driven.window, Signal::Timeout, now, &path);
        assert_eq!(driven.window.cwnd, 1.0);
        driven.step(1.0);
        assert!(driven.window.cwnd >= before - 1.0);
    }
}
