//! BBR version 1 (Cardwell et al. 2016): a model of the path, its bottleneck bandwidth and its
//! round-trip propagation time, sets the pace and the window; losses hardly matter, until a fifth
//! of the packets is lost. As in Linux (net/ipv4/tcp_bbr.c), whose functions are named below.

use forebay_random::{Stream, StreamKey};
use forebay_units::parameter::{self, Parameter, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Time};

use crate::bottleneck::{
    Aggregation, Expectation, MIN_WINDOW, PACING_MARGIN, Plateau, RoundTripProbe, Rounds,
    SavedWindow, TargetWindow, initial_rate,
};
use crate::filter::WindowedMaximum;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Delivery, Idle, LossState, Pace, Path, Requirements,
    Sample, Window,
};
use crate::policer::{Evidence, Policer};
use crate::registration::{Description, Registered};
use crate::segmentation::Segmentation;

/// 2/ln 2: the smallest gain that doubles the rate of delivery each round.
const HIGH_GAIN: f64 = 2.885;

/// Gains of the pace over the phases of PROBE_BW, a round-trip time each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Window gain outside of start-up.
const WINDOW_GAIN: f64 = 2.0;

/// Rounds over which the bandwidth is the maximum.
const BANDWIDTH_ROUNDS: u64 = 10;

/// How long a round-trip time is believed to be the propagation time.
const MIN_RTT_LIFE: Time = Time::from_secs(10);

/// Rounds of each of the two windows in which the aggregation of acknowledgments is measured,
/// and the longest aggregation that the window allows for, in seconds.
const AGGREGATION_ROUNDS: u32 = 5;
const MOST_AGGREGATION: f64 = 0.1;

/// Below this rate in bytes per second packets leave one by one (`bbr_min_tso_rate`, 1.2 Mbit/s).
const SINGLE_RATE: f64 = 1.2e6 / 8.0;

/// Most packets of a burst that the window has room for.
const MOST_OF_BURST: f64 = 127.0;

/// Packets sent at once at this pace (`bbr_tso_segs_goal`); the draft's rule, for version 3, lets
/// no packet go alone.
fn quantum(segmentation: Segmentation, rate: f64) -> f64 {
    let slow = rate * segmentation.payload() < SINGLE_RATE;
    let least = if slow { 1.0 } else { 2.0 };
    segmentation.burst(rate, least).min(MOST_OF_BURST)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// BBR version 1 on packets.
#[derive(Clone, Debug)]
pub struct BbrController {
    probes_round_trip: bool,
    mode: Mode,
    /// Maximum of the delivery rate, packets per second.
    max_bw: WindowedMaximum,
    rounds: Rounds,
    policer: Policer,
    /// Whether a timeout has come since the last acknowledgment.
    timed_out: bool,
    min_rtt: f64,
    min_rtt_stamp: Time,
    round_trip_probe: RoundTripProbe,
    /// Packets sent after the first and not after the second were delivered tell nothing of the
    /// bandwidth: `PROBE_RTT` held them back.
    held_back: (u64, u64),
    /// Start-up ends there.
    plateau: Plateau,
    cycle_idx: usize,
    cycle_stamp: Time,
    state: LossState,
    packet_conservation: bool,
    prior_cwnd: SavedWindow,
    aggregation: Aggregation,
    pacing_gain: f64,
    cwnd_gain: f64,
    segmentation: Segmentation,
    /// Packets per second; zero before the first estimate.
    pacing_rate: f64,
    /// Draws where in its cycle the probing begins.
    random: Stream,
}

impl BbrController {
    /// The bandwidth to send at (`bbr_bw`): the maximum, or what a policer seems to allow.
    fn sending_bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.max_bw.get())
    }

    /// Packets of `gain` times the product of this bandwidth and the round-trip time (`bbr_bdp`);
    /// none before both are known.
    fn product(&self, gain: f64, bandwidth: f64) -> Option<f64> {
        let known = self.min_rtt.is_finite() && bandwidth > 0.0;
        known.then(|| (gain * bandwidth * self.min_rtt).ceil())
    }

    /// Packets sent at once.
    fn quantum(&self) -> f64 {
        quantum(self.segmentation, self.pacing_rate)
    }

    /// Adds room for bursts at both ends (`bbr_quantization_budget`).
    fn with_bursts(&self, product: f64) -> f64 {
        let bare = product + 3.0 * self.quantum();
        let even = 2.0 * (0.5 * bare).ceil();
        if self.mode == Mode::ProbeBandwidth && self.cycle_idx == 0 {
            even + 2.0
        } else {
            even
        }
    }

    /// The packets in flight at `gain` times the maximum of the bandwidth (`bbr_inflight`).
    fn under_way(&self, gain: f64) -> f64 {
        let product = self.product(gain, self.max_bw.get());
        product.map_or(0.0, |product| self.with_bursts(product))
    }

    /// Packets that will be in the network when the next one leaves.
    fn in_network(&self, in_flight: f64, sample: &Sample) -> f64 {
        let burst = if self.pacing_gain > 1.0 {
            self.quantum()
        } else {
            0.0
        };
        (in_flight + burst - self.sending_bandwidth() * sample.held).max(0.0)
    }

    /// Whether the application or `PROBE_RTT` limited the rate, not the network.
    fn held_back(&self, sample: &Sample) -> bool {
        let (from, to) = self.held_back;
        let probed = |delivery: &Delivery| (from..=to).contains(&delivery.prior_delivered);
        let delivery = sample.delivery.as_ref();
        delivery.is_some_and(|delivery| delivery.app_limited || probed(delivery))
    }

    fn update_bandwidth(&mut self, sample: &Sample) {
        self.rounds.update(sample);
        let Some(delivery) = &sample.delivery else {
            return;
        };
        if self.rounds.started {
            self.packet_conservation = false;
        }
        self.suspect_policer(sample);
        if !self.held_back(sample) || delivery.rate >= self.max_bw.get() {
            self.max_bw
                .update(self.rounds.count, delivery.rate, BANDWIDTH_ROUNDS);
        }
    }

    /// `bbr_lt_bw_sampling`, also for a timeout since the last acknowledgment.
    fn suspect_policer(&mut self, sample: &Sample) {
        let probing = self.mode == Mode::ProbeBandwidth;
        let mut anew = false;
        if std::mem::take(&mut self.timed_out) {
            anew |= self.policer.update(&Evidence::of_timeout(sample, probing));
        }
        if self.held_back(sample) && self.policer.rate().is_none() {
            self.policer.starve();
        } else {
            let evidence = Evidence::new(sample, self.rounds.started, probing);
            anew |= self.policer.update(&evidence);
        }
        if anew {
            self.probe_bandwidth(sample.now);
        }
    }

    fn update_phase(&mut self, sample: &Sample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let elapsed = sample.now.saturating_sub(self.cycle_stamp).as_secs_f64();
        let long = elapsed > self.min_rtt;
        let in_flight = self.in_network(sample.prior_in_flight, sample);
        let over = if self.pacing_gain > 1.0 {
            long && (sample.lost > 0.0 || in_flight >= self.under_way(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            long || in_flight <= self.under_way(1.0)
        } else {
            long
        };
        if over {
            self.cycle_idx = (self.cycle_idx + 1) % CYCLE.len();
            self.cycle_stamp = sample.now;
        }
    }

    fn check_full(&mut self, sample: &Sample) {
        if self.full() || !self.rounds.started || self.held_back(sample) {
            return;
        }
        self.plateau.update(self.max_bw.get());
    }

    /// Whether the bandwidth has stopped growing.
    fn full(&self) -> bool {
        self.plateau.reached()
    }

    fn check_drain(&mut self, sample: &Sample) {
        if self.mode == Mode::Startup && self.full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.in_network(sample.in_flight, sample) <= self.under_way(1.0)
        {
            self.probe_bandwidth(sample.now);
        }
    }

    /// Begins PROBE_BW in any phase but the draining one, at random so that flows that share a
    /// queue probe at different times (`bbr_reset_probe_bw_mode`).
    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        let drawn = self.random.below(CYCLE.len() as u64 - 1) as usize;
        self.cycle_idx = (CYCLE.len() - drawn) % CYCLE.len();
        self.cycle_stamp = now;
    }

    fn update_min_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let now = sample.now;
        let expired = now > self.min_rtt_stamp.saturating_add(MIN_RTT_LIFE);
        if let Some(rtt) = sample.rtt
            && (rtt < self.min_rtt || expired)
        {
            self.min_rtt = rtt;
            self.min_rtt_stamp = now;
        }
        if expired && self.probes_round_trip && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save_window(window.cwnd);
            self.round_trip_probe = RoundTripProbe::default();
            self.held_back.0 = sample.delivered;
        }
        if self.mode != Mode::ProbeRoundTrip {
            return;
        }
        // Low rates tell nothing now: the packets that leave until these have arrived.
        self.held_back.1 = sample.delivered + sample.in_flight as u64;
        let few = MIN_WINDOW;
        if self.round_trip_probe.update(sample, few, &mut self.rounds) {
            self.min_rtt_stamp = now;
            self.prior_cwnd.restore(window);
            if self.full() {
                self.probe_bandwidth(now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn save_window(&mut self, cwnd: f64) {
        let calm = self.state == LossState::Open && self.mode != Mode::ProbeRoundTrip;
        self.prior_cwnd.save(cwnd, calm);
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            // BBR does not probe beyond the rate of a policer.
            Mode::ProbeBandwidth if self.policer.rate().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.cycle_idx], WINDOW_GAIN),
            Mode::ProbeRoundTrip => (1.0, 1.0),
        };
    }

    fn set_pace(&mut self, window: &Window, path: &Path) {
        let bandwidth = self.sending_bandwidth();
        if bandwidth > 0.0 {
            let rate = bandwidth * self.pacing_gain * PACING_MARGIN;
            if self.full() || rate > self.pacing_rate {
                self.pacing_rate = rate;
            }
        } else if let Some(rate) = initial_rate(HIGH_GAIN, window, path) {
            // Linux takes the margin off this one, too (`bbr_init_pacing_rate_from_rtt`).
            self.pacing_rate = rate * PACING_MARGIN;
        }
    }

    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        if sample.arrived > 0.0 && !self.follow_losses(window, sample) {
            let bandwidth = self.sending_bandwidth();
            let extra = if self.full() {
                let most = bandwidth * MOST_AGGREGATION;
                self.aggregation.most().min(most).floor()
            } else {
                0.0
            };
            let product = self.product(self.cwnd_gain, bandwidth);
            let target = TargetWindow {
                packets: product.map_or(window.cwnd, |product| self.with_bursts(product + extra)),
                full: self.full(),
            };
            target.approach(window, sample);
        }
        if self.mode == Mode::ProbeRoundTrip {
            window.cwnd = window.cwnd.min(MIN_WINDOW);
        }
    }

    /// The first round of a recovery sends what has arrived, later ones more; says whether the
    /// window is set thereby.
    fn follow_losses(&mut self, window: &mut Window, sample: &Sample) -> bool {
        if sample.lost > 0.0 {
            window.cwnd = (window.cwnd - sample.lost).max(1.0);
        }
        let before = std::mem::replace(&mut self.state, sample.state);
        if sample.state == LossState::Recovery && before != LossState::Recovery {
            self.packet_conservation = true;
            self.rounds.restart(sample.delivered);
            window.cwnd = sample.in_flight + sample.arrived;
        } else if before != LossState::Open && sample.state == LossState::Open {
            self.prior_cwnd.restore(window);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            window.cwnd = window.cwnd.max(sample.in_flight + sample.arrived).max(1.0);
        }
        self.packet_conservation
    }
}

impl CongestionControl for BbrController {
    fn requirements(&self) -> Requirements {
        Requirements::RATES
    }

    fn on_open(&mut self, payload: Bytes) {
        self.segmentation = Segmentation::of(payload);
        self.policer.on_open(self.segmentation);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack, _: &Path) {}

    /// The model of the path stays: pacing alone keeps the restart smooth.
    fn on_idle(&mut self, _: &mut Window, _: &Idle) {}

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        _: Time,
        _: &Path,
    ) {
        self.save_window(window.cwnd);
        if event == CongestionEvent::Timeout {
            self.state = LossState::Timeout;
            self.timed_out = true;
            self.plateau.forget_baseline();
            self.rounds.started = true;
            window.cwnd = 1.0;
        }
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if self.min_rtt.is_infinite() {
            // The handshake's round trip, where there was one (`bbr_init`).
            self.min_rtt = path.min_rtt;
            self.min_rtt_stamp = sample.now;
        }
        self.update_bandwidth(sample);
        let expectation = Expectation {
            bandwidth: self.sending_bandwidth(),
            window: window.cwnd,
            rounds: AGGREGATION_ROUNDS,
            round: self.rounds.started,
        };
        self.aggregation.update(sample, expectation);
        self.update_phase(sample);
        self.check_full(sample);
        self.check_drain(sample);
        self.update_min_rtt(window, sample);
        self.update_gains();
        self.set_pace(window, path);
        self.set_window(window, sample);
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        let known = (self.pacing_rate > 0.0).then_some(self.pacing_rate);
        let initial = || initial_rate(HIGH_GAIN, window, path).map(|rate| rate * PACING_MARGIN);
        let rate = known.or_else(initial)?;
        Some(Pace {
            rate,
            quantum: self.quantum(),
        })
    }
}

impl Registered for BbrController {
    const DESCRIPTION: Description = Description::classic(parameter::Description {
        name: "bbr",
        aliases: &["bbr1", "bbrv1"],
        title: "BBR version 1: paces at the estimated bandwidth, at most two bandwidth-delay products in flight",
        formula: &[
            "pace = gain × BtlBw; W = 2 × BtlBw × RTprop",
            "BtlBw: largest delivery rate of the last 10 round trips; RTprop: smallest round trip of the last 10 s",
            "startup: gain 2/ln 2 until the bandwidth no longer grows by a quarter in three round trips, then drain",
            "probing for bandwidth: gains 1.25, 0.75 and six times 1, a round trip each",
            "every 10 s without a smaller round trip: 4 packets in flight for 200 ms, to measure RTprop",
        ],
        source: "Cardwell, Cheng, Gunn, Yeganeh and Jacobson 2016; draft-cardwell-iccrg-bbr-congestion-control-00",
        checked: &[
            parameter::Evidence::Program("Linux 6.18: bbr"),
            parameter::Evidence::Program("Linux 5.5 over a switch port: bbr"),
            parameter::Evidence::Trend("ns-3.48: TcpBbr"),
        ],
        parameters: &[Parameter {
            name: "probe_rtt",
            meaning: "Whether the flow drains the queue every 10 s to measure the propagation delay.",
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
            max_bw: WindowedMaximum::default(),
            rounds: Rounds::default(),
            policer: Policer::default(),
            timed_out: false,
            min_rtt: f64::INFINITY,
            min_rtt_stamp: Time::ZERO,
            round_trip_probe: RoundTripProbe::default(),
            held_back: (u64::MAX, 0),
            plateau: Plateau::default(),
            cycle_idx: 0,
            cycle_stamp: Time::ZERO,
            state: LossState::Open,
            packet_conservation: false,
            prior_cwnd: SavedWindow::default(),
            aggregation: Aggregation::in_whole_packets(),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0.0,
            random: random.stream(),
        }
    }
}

#[cfg(test)]
mod tests;
