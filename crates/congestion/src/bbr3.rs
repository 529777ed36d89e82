//! BBR version 3 (draft-ietf-ccwg-bbr-06): the model of BBR, bounded by losses. Below, a section is
//! one of that draft. The other source is Google's code for Linux (github.com/google/bbr, branch
//! v3, net/ipv4/tcp_bbr.c), whose functions are named where the draft leaves room.
//!
//! These points differ from the draft's pseudo-code:
//!
//! 1. The next acknowledgment evaluates a lost packet, not the timer that finds it. Of several lost
//!    packets, the one whose flight lost the largest share counts. Acknowledged packets count, too,
//!    as in Linux (`bbr_adapt_upper_bounds`): recovery without records shows no lost packets.
//! 2. A loss event in start-up is an acknowledgment with losses, as in Linux
//!    (`bbr_check_loss_too_high_in_startup`), and no sequence range.
//! 3. A cautious probe ends when the packets in flight before an acknowledgment reach the bound, as
//!    in Linux (`bbr_update_cycle_phase`). After it they never do, because the bound is the window.
//! 4. The maximum of the aggregation covers five to ten round trips, and one or two in start-up, as
//!    in Linux (`bbr_update_ack_aggregation`). The draft has ten and one.
//! 5. `Drain` has no long-term bound, as in the draft's `BoundCwndForModel` and in Linux.
//! 6. Only timeouts are found to be spurious (F-RTO, RFC 5682), and no fast recovery.
//!
//! ECN is not used, as in the draft. The constants are those of the draft: Linux drains at 0.35 of
//! the bandwidth (0.5 in the draft), and goes down at 0.91 (0.9).

mod losses;
mod model;

use forebay_random::{Stream, StreamKey};
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Time};

use losses::Undo;
use model::{AckPhase, Bounds, Cycle, Latest, Mode, Propagation, STARTUP_GAIN};

use crate::bottleneck::{
    Aggregation, Expectation, MIN_WINDOW, PACING_MARGIN, Plateau, RoundTripProbe, Rounds,
    SavedWindow, TargetWindow, initial_rate,
};
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Delivery, Idle, LossState, Pace, Path, Requirements,
    Sample, Window,
};
use crate::registration::{Description, Registered};
use crate::segmentation::Segmentation;

/// Share of lost packets in a round that shows too large a flight (section 2, LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;

/// Acknowledgments with losses in one round that may end start-up (section 5.3.1).
const FULL_LOSSES: u32 = 6;

/// Rounds of each of two aggregation windows, before and after the pipe is full (section 5.5.9).
const AGGREGATION_ROUNDS: (u32, u32) = (1, 5);

/// Rounds after which draining ends, whatever is in flight (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

/// Most rounds between two probes, so that Reno's flows keep their share (section 5.3.3).
const RENO_ROUNDS: f64 = 63.0;

/// Seconds between two probes, and how much longer by chance (section 5.3.3).
const PROBE_WAIT: (f64, f64) = (2.0, 1.0);

/// BBR version 3 on packets.
#[derive(Clone, Debug)]
pub struct Bbr3Controller {
    probes_round_trip: bool,
    mode: Mode,
    rounds: Rounds,
    /// Largest delivery rate of the last and of this cycle of probes (section 5.5.6, MaxBwFilter).
    max_bw_filter: [f64; 2],
    bounds: Bounds,
    latest: Latest,
    propagation: Propagation,
    round_trip_probe: RoundTripProbe,
    /// Whether the flow has sent again after a pause and no answer has come (section 5.4).
    idle_restart: bool,
    /// Packets delivered so far.
    delivered: u64,
    undo: Undo,
    /// Packets sent after the first and not after the second were delivered tell nothing of the
    /// bandwidth: `ProbeRTT` held them back.
    held_back: (u64, u64),
    plateau: Plateau,
    full_bw_reached: bool,
    drain_start_round: u64,
    cycle: Cycle,
    aggregation: Aggregation,
    state: LossState,
    /// The congestion signal since the last sample, if any.
    reported_event: Option<CongestionEvent>,
    prior_cwnd: SavedWindow,
    segmentation: Segmentation,
    /// Packets per second; zero before the first estimate.
    pacing_rate: f64,
    /// Draws how long the flow waits between two probes.
    random: Stream,
}

impl Bbr3Controller {
    /// The largest delivery rate, packets per second.
    fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    /// The rate that the model allows (section 5.5.10, BoundBWForModel).
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_shortterm)
    }

    /// `gain` bandwidth-delay products at `rate`; `unknown` before the first measurements.
    fn product(&self, gain: f64, rate: f64, unknown: f64) -> f64 {
        if self.propagation.min_rtt.is_finite() && rate > 0.0 {
            gain * rate * self.propagation.min_rtt
        } else {
            unknown
        }
    }

    /// Packets sent at once (section 5.6.3).
    fn quantum(&self) -> f64 {
        self.segmentation.quantum_of_draft(self.pacing_rate)
    }

    /// Room for bursts at both ends (section 5.6.4, QuantizationBudget).
    fn with_budget(&self, packets: f64) -> f64 {
        let bounded = packets.max(3.0 * self.quantum()).max(MIN_WINDOW);
        if self.mode == Mode::Up {
            bounded + 2.0
        } else {
            bounded
        }
    }

    /// The packets to have in flight, unless congestion reduced the window (section 5.3.3).
    fn target(&self, cwnd: f64) -> f64 {
        self.product(1.0, self.bw(), cwnd).min(cwnd)
    }

    /// Whether the sample tells nothing of the bandwidth.
    fn held_back(&self, delivery: &Delivery) -> bool {
        let (from, to) = self.held_back;
        delivery.app_limited || (from..=to).contains(&delivery.prior_delivered)
    }

    // --- The model ---

    /// Section 5.5.10, UpdateLatestDeliverySignals and UpdateCongestionSignals.
    fn update_bandwidth(&mut self, sample: &Sample, cwnd: f64) {
        self.latest.loss_round_start = false;
        self.rounds.update(sample);
        self.cycle.rounds_since_bw_probe += u64::from(self.rounds.started);
        let Some(delivery) = &sample.delivery else {
            return;
        };
        self.latest.bw = self.latest.bw.max(delivery.rate);
        self.latest.inflight = self.latest.inflight.max(delivery.delivered);
        if delivery.prior_delivered >= self.latest.loss_round_delivered {
            self.latest.loss_round_delivered = sample.delivered;
            self.latest.loss_round_start = true;
        }
        if delivery.rate >= self.max_bw() || !self.held_back(delivery) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(delivery.rate);
        }
        if self.latest.loss_round_start {
            if self.latest.loss_in_round && !self.mode.accelerates() {
                let max_bw = self.max_bw();
                self.bounds.lower(&self.latest, max_bw, cwnd);
            }
            self.latest.loss_in_round = false;
        }
    }

    fn update_aggregation(&mut self, sample: &Sample, cwnd: f64) {
        let (before, after) = AGGREGATION_ROUNDS;
        let expectation = Expectation {
            bandwidth: self.bw(),
            window: cwnd,
            rounds: if self.full_bw_reached { after } else { before },
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
            self.full_bw_reached |= self.plateau.reached();
        }
        if self.mode != Mode::Startup {
            return;
        }
        let lossy = self.latest.loss_round_start
            && self.latest.loss_events_in_round >= FULL_LOSSES
            && sample.state == LossState::Recovery
            && self.too_high(sample);
        if !self.full_bw_reached && (lossy || self.blind(sample)) {
            self.full_bw_reached = true;
            self.note_startup_ended();
            let product = self.product(1.0, self.bw(), 0.0);
            self.bounds.inflight_longterm = product.max(self.latest.inflight).max(MIN_WINDOW);
        }
        if self.latest.loss_round_start {
            self.latest.loss_events_in_round = 0;
        }
        if self.full_bw_reached {
            self.mode = Mode::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// Section 5.3.2.
    fn check_drain(&mut self, sample: &Sample, cwnd: f64) {
        if self.mode != Mode::Drain {
            return;
        }
        let drained = sample.in_flight <= self.with_budget(self.product(1.0, self.bw(), cwnd));
        if drained || self.rounds.count > self.drain_start_round + DRAIN_ROUNDS {
            self.go_down(sample.now, sample.delivered);
        }
    }

    fn go_down(&mut self, now: Time, delivered: u64) {
        self.mode = Mode::Down;
        self.latest.loss_in_round = false;
        self.latest.bw = 0.0;
        self.latest.inflight = 0.0;
        self.rounds.restart(delivered);
        let (wait, more) = PROBE_WAIT;
        self.cycle.bw_probe_wait = Time::from_secs_f64(wait + more * self.random.uniform());
        self.cycle.rounds_since_bw_probe = self.random.below(2);
        self.cycle.stamp = now;
        self.cycle.probe_up_cnt = f64::INFINITY;
        self.cycle.ack_phase = AckPhase::Stopping;
    }

    fn refill(&mut self, delivered: u64) {
        self.mode = Mode::Refill;
        self.bounds.reset_shortterm();
        self.rounds.restart(delivered);
        self.cycle.bw_probe_up_acks = 0.0;
        self.cycle.bw_probe_up_rounds = 0;
        self.cycle.stopped_risky_probe = false;
        self.cycle.ack_phase = AckPhase::Refilling;
    }

    fn go_up(&mut self, sample: &Sample, cwnd: f64) {
        self.mode = Mode::Up;
        self.rounds.restart(sample.delivered);
        self.plateau.restart(rate_of(sample));
        self.cycle.bw_probe_samples = true;
        self.cycle.ack_phase = AckPhase::Starting;
        self.cycle.steepen(cwnd);
    }

    /// Section 5.3.3, UpdateProbeBWCyclePhase.
    fn update_cycle(&mut self, sample: &Sample, cwnd: f64) {
        if !self.full_bw_reached || self.adapt_long_term(sample, cwnd) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.probe_is_due(sample, cwnd) => {
                self.refill(sample.delivered);
            }
            Mode::Down => {
                let most = self.with_budget(self.product(1.0, self.max_bw(), cwnd));
                if sample.in_flight <= self.bounds.with_headroom().min(most) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.rounds.started => self.go_up(sample, cwnd),
            Mode::Up if self.probe_is_over(sample, cwnd) => {
                self.cycle.prev_probe_too_high = false;
                self.go_down(sample.now, sample.delivered);
            }
            _ => {}
        }
    }

    fn probe_is_due(&self, sample: &Sample, cwnd: f64) -> bool {
        let wait = self.cycle.bw_probe_wait;
        let waited = sample.now > self.cycle.stamp.saturating_add(wait);
        waited || self.cycle.rounds_since_bw_probe as f64 >= self.target(cwnd).min(RENO_ROUNDS)
    }

    fn probe_is_over(&mut self, sample: &Sample, cwnd: f64) -> bool {
        let risky = self.bounds.inflight_longterm.floor();
        if self.cycle.prev_probe_too_high && sample.prior_in_flight >= risky {
            self.cycle.stopped_risky_probe = true;
            return true;
        }
        if sample.limited && cwnd >= self.bounds.inflight_longterm {
            // The bound, not the path, limits the rate.
            self.plateau.restart(rate_of(sample));
            return false;
        }
        self.plateau.reached()
    }

    /// Section 5.3.3, AdaptLongTermModel: returns whether the state changed after a probe.
    fn adapt_long_term(&mut self, sample: &Sample, cwnd: f64) -> bool {
        if self.rounds.started {
            let feedback = self.cycle.ack_phase;
            match feedback {
                AckPhase::Starting => self.cycle.ack_phase = AckPhase::Probing,
                AckPhase::Stopping if self.end_feedback(sample) => return true,
                _ => {}
            }
        }
        if self.too_high(sample) {
            return self.judge_delivery(sample, cwnd);
        }
        if self.bounds.inflight_longterm.is_infinite() {
            return false;
        }
        if let Some(delivery) = &sample.delivery {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(delivery.in_flight);
        }
        if self.mode == Mode::Up {
            self.raise_bound(sample, cwnd);
        }
        false
    }

    /// The last answer to a probe has come; says whether the next one begins at once.
    fn end_feedback(&mut self, sample: &Sample) -> bool {
        self.cycle.bw_probe_samples = false;
        self.cycle.ack_phase = AckPhase::None;
        if !self.mode.probes_bandwidth() {
            return false;
        }
        let told = sample.delivery.is_some_and(|d| !self.held_back(&d));
        if told && self.max_bw_filter[1] > 0.0 {
            self.max_bw_filter = [self.max_bw_filter[1], 0.0];
        }
        let again = self.cycle.stopped_risky_probe && !self.cycle.prev_probe_too_high;
        if again {
            self.refill(sample.delivered);
        }
        again
    }

    /// Section 5.3.3, ProbeInflightLongtermUpward.
    fn raise_bound(&mut self, sample: &Sample, cwnd: f64) {
        if !sample.limited || cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.cycle.bw_probe_up_acks += sample.arrived;
        if self.cycle.bw_probe_up_acks >= self.cycle.probe_up_cnt {
            let packets = (self.cycle.bw_probe_up_acks / self.cycle.probe_up_cnt).floor();
            self.cycle.bw_probe_up_acks -= packets * self.cycle.probe_up_cnt;
            self.bounds.inflight_longterm += packets;
        }
        if self.rounds.started {
            self.cycle.steepen(cwnd);
        }
    }

    /// Section 5.3.4.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        self.propagation.update(sample);
        let due =
            self.propagation.probe_rtt_expired && self.probes_round_trip && !self.idle_restart;
        if due && self.mode != Mode::ProbeRoundTrip {
            self.save_window(window.cwnd);
            self.mode = Mode::ProbeRoundTrip;
            self.round_trip_probe = RoundTripProbe::default();
            self.cycle.ack_phase = AckPhase::Stopping;
            self.rounds.restart(sample.delivered);
            self.held_back.0 = sample.delivered;
        }
        if self.mode != Mode::ProbeRoundTrip {
            return;
        }
        self.held_back.1 = sample.delivered.saturating_add(sample.in_flight as u64);
        let few = self.probe_rtt_window(window.cwnd);
        let probe = &mut self.round_trip_probe;
        if probe.update(sample, few, &mut self.rounds) {
            self.leave_probe_rtt(window, sample.now);
        }
    }

    fn leave_probe_rtt(&mut self, window: &mut Window, now: Time) {
        self.propagation.probe_rtt_min_stamp = now;
        self.prior_cwnd.restore(window);
        self.bounds.reset_shortterm();
        if self.full_bw_reached {
            self.go_down(now, self.delivered);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    // --- What follows from it ---

    /// Section 5.6.2. The first bandwidth estimates, of a few packets, keep the initial pace.
    fn set_pace(&mut self, window: &Window, path: &Path) {
        if self.pacing_rate <= 0.0
            && let Some(rate) = initial_rate(STARTUP_GAIN, window, path)
        {
            // The draft takes no margin off this one (InitPacingRate).
            self.pacing_rate = rate;
        }
        let (gain, _) = self.mode.gains();
        self.set_pace_with_gain(gain);
    }

    fn set_pace_with_gain(&mut self, gain: f64) {
        let rate = self.bw() * gain * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn probe_rtt_window(&self, cwnd: f64) -> f64 {
        let (_, gain) = Mode::ProbeRoundTrip.gains();
        self.product(gain, self.bw(), cwnd).max(MIN_WINDOW)
    }

    /// Section 5.6.4.
    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        if sample.arrived > 0.0 {
            let (_, gain) = self.mode.gains();
            let product = self.product(gain, self.bw(), window.cwnd);
            let target = TargetWindow {
                packets: self.with_budget(product + self.aggregation.most()),
                full: self.full_bw_reached,
            };
            target.approach(window, sample);
        }
        let bound = match self.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_longterm,
            Mode::Cruise => self.bounds.with_headroom(),
            Mode::ProbeRoundTrip => {
                let probing = self.probe_rtt_window(window.cwnd);
                self.bounds.with_headroom().min(probing)
            }
        };
        let bound = bound.min(self.bounds.inflight_shortterm).max(MIN_WINDOW);
        window.cwnd = window.cwnd.min(bound);
    }

    fn save_window(&mut self, cwnd: f64) {
        let calm = self.state == LossState::Open && self.mode != Mode::ProbeRoundTrip;
        self.prior_cwnd.save(cwnd, calm);
    }
}

/// The delivery rate of a sample; zero for none.
fn rate_of(sample: &Sample) -> f64 {
    sample.delivery.map_or(0.0, |delivery| delivery.rate)
}

impl CongestionControl for Bbr3Controller {
    fn requirements(&self) -> Requirements {
        Requirements::RATES
    }

    fn on_open(&mut self, payload: Bytes) {
        self.segmentation = Segmentation::of(payload);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// Section 5.4.1: the model and the window stay, and pacing keeps the restart smooth.
    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        self.idle_restart = true;
        self.aggregation.restart(idle.now);
        if self.mode.probes_bandwidth() {
            self.set_pace_with_gain(1.0);
        } else if self.mode == Mode::ProbeRoundTrip && self.round_trip_probe.has_lasted(idle.now) {
            self.leave_probe_rtt(window, idle.now);
        }
    }

    /// A mark is no signal to this BBR; losses are judged with the next sample.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        if event == CongestionEvent::Mark {
            return;
        }
        self.save_window(window.cwnd);
        self.reported_event = Some(event);
        self.save_for_undo();
        if event == CongestionEvent::Timeout {
            self.state = LossState::Timeout;
            window.cwnd = 1.0;
        }
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        self.delivered = sample.delivered;
        let before = std::mem::replace(&mut self.state, sample.state);
        if before != LossState::Open && self.state == LossState::Open {
            self.prior_cwnd.restore(window);
        }
        self.note_losses(sample);
        self.judge_lost_packet(sample, window.cwnd);
        self.update_bandwidth(sample, window.cwnd);
        self.update_aggregation(sample, window.cwnd);
        self.check_startup(sample);
        self.check_drain(sample, window.cwnd);
        self.update_cycle(sample, window.cwnd);
        self.check_probe_rtt(window, sample);
        self.idle_restart &= sample.delivery.is_none();
        if self.latest.loss_round_start {
            self.latest.bw = rate_of(sample);
            self.latest.inflight = sample.delivery.map_or(0.0, |d| d.delivered);
        }
        self.reported_event = None;
        self.set_pace(window, path);
        self.set_window(window, sample);
    }

    fn on_undo(&mut self, _: &Self) {
        self.undo_recovery();
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        let known = (self.pacing_rate > 0.0).then_some(self.pacing_rate);
        let rate = known.or_else(|| initial_rate(STARTUP_GAIN, window, path))?;
        Some(Pace {
            rate,
            quantum: self.quantum(),
        })
    }
}

impl Registered for Bbr3Controller {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "bbr3",
        aliases: &["bbrv3"],
        title: "BBR version 3: BBR's model of the path, bounded by the losses of its probes",
        formula: &[
            "pace = gain × bw; W = 2 × bw × min_rtt, or 2.25 times while probing up, both within what losses have shown",
            "bw: largest delivery rate of this and the last cycle of probes; min_rtt: smallest round trip of the last 10 s",
            "a probe ends where a round trip loses more than 2 %: inflight_longterm is what was in flight then",
            "a loss: the short-term bounds fall to the latest delivery rate and flight, or to 0.7 of themselves if that is more",
            "between probes 15 % of inflight_longterm stays free; a probe every 2 s to 3 s, or 63 round trips",
        ],
        source: "draft-ietf-ccwg-bbr-06",
        checked: &[parameter::Evidence::Trace(
            "the draft's pseudo-code, and the test cases of its appendix A",
        )],
        parameters: &[Parameter {
            name: "probe_rtt",
            meaning: "Whether the flow drains the queue every 5 s to measure the propagation delay.",
            kind: ParameterKind::Switch,
            default: Value::Switch(true),
        }],
    })
    .with_time_based_loss_detection();

    fn new(parameters: &Parameters, random: StreamKey) -> Self {
        Self {
            probes_round_trip: parameters.switch("probe_rtt"),
            segmentation: Segmentation::default(),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            max_bw_filter: [0.0; 2],
            bounds: Bounds::default(),
            latest: Latest::default(),
            propagation: Propagation::default(),
            round_trip_probe: RoundTripProbe::default(),
            idle_restart: false,
            delivered: 0,
            undo: Undo::default(),
            held_back: (u64::MAX, 0),
            plateau: Plateau::default(),
            full_bw_reached: false,
            drain_start_round: 0,
            cycle: Cycle::default(),
            aggregation: Aggregation::default(),
            state: LossState::Open,
            reported_event: None,
            prior_cwnd: SavedWindow::default(),
            pacing_rate: 0.0,
            random: random.stream(),
        }
    }
}

#[cfg(test)]
mod appendix_tests;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;
