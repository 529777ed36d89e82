//! The packet face of a congestion controller: what it does with acknowledgments and with
//! signals of congestion. Loss recovery, timers and sending belong to the packet engine; a
//! controller holds only what varies.
//!
//! Windows are in packets, as reals: the remainder of every increase is carried.

use forebay_units::{Bytes, Rate, Time};

use crate::telemetry::LinkTelemetry;

/// Congestion window and slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Slow-start threshold, packets; infinite before the first congestion unless configured.
    pub ssthresh: f64,
}

impl Window {
    /// The smallest threshold after a cut (RFC 5681 equation 4).
    pub const MIN_SSTHRESH: f64 = 2.0;

    /// Grows the window in slow start by the packets acknowledged (RFC 5681 section 3.1 with
    /// L unlimited, as RFC 9406 recommends where packets are paced or acknowledged singly), and
    /// returns the packets left once the threshold is reached.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let grown = self.cwnd + acked;
        if grown <= self.ssthresh {
            self.cwnd = grown;
            return 0.0;
        }
        let rest = grown - self.ssthresh;
        self.cwnd = self.ssthresh;
        rest
    }

    /// Cuts to `ssthresh`; after a timeout the window restarts from one packet (RFC 5681).
    #[inline]
    pub fn cut(&mut self, ssthresh: f64, event: CongestionEvent) {
        self.ssthresh = ssthresh.max(Self::MIN_SSTHRESH);
        self.cwnd = if event == CongestionEvent::Timeout {
            1.0
        } else {
            self.ssthresh
        };
    }
}

/// An acknowledgment outside of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Packets newly acknowledged.
    pub acked: f64,
    /// When it arrives.
    pub now: Time,
}

/// The sender's measurements of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// Smoothed round-trip time in seconds; zero before the first measurement.
    pub smoothed_rtt: f64,
    /// Smallest round-trip time in seconds; infinite before the first measurement.
    pub min_rtt: f64,
    /// Largest round-trip time since the last congestion, in seconds.
    pub max_rtt: f64,
    /// Window in use when congestion was noticed: the lesser of the congestion window and the
    /// packets outstanding (RFC 5681's FlightSize).
    pub flight: f64,
}

/// The capabilities that a controller requires of every acknowledgment's sample. The engine neither
/// stores nor computes the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capabilities {
    /// Nothing: only [`CongestionControl::on_ack`] is called.
    #[default]
    None,
    /// The round-trip time of the newest packet that arrived.
    RoundTrips,
    /// That, and the rate of delivery (draft-ietf-ccwg-bbr section 4.1).
    Rates,
}

/// The requirements of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Calls of [`CongestionControl::on_sample`].
    pub samples: Capabilities,
    /// Whether it reacts to the count of marks by itself (accurate ECN) instead of receiving one
    /// congestion signal per round trip (RFC 3168).
    pub accurate_ecn: bool,
    /// Whether it sets the window during loss recovery, too.
    pub own_recovery: bool,
    /// The largest rate of a controller that sets a rate and has no window of its own.
    pub line_rate: Option<Rate>,
    /// Whether links state their load in its packets: calls of [`CongestionControl::on_telemetry`].
    pub telemetry: bool,
}

impl Requirements {
    /// Nothing.
    pub const NONE: Self = Self {
        samples: Capabilities::None,
        accurate_ecn: false,
        own_recovery: false,
        line_rate: None,
        telemetry: false,
    };

    /// The round-trip time of every acknowledgment.
    pub const ROUND_TRIPS: Self = Self {
        samples: Capabilities::RoundTrips,
        ..Self::NONE
    };

    /// The rate of delivery, to set the window during loss recovery, too.
    pub const RATES: Self = Self {
        samples: Capabilities::Rates,
        own_recovery: true,
        ..Self::NONE
    };
}

/// The sender's state of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossState {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Timeout,
}

/// How fast the network delivered (draft-ietf-ccwg-bbr section 4.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Packets per second over `interval`.
    pub rate: f64,
    /// Packets delivered over `interval`.
    pub delivered: f64,
    /// Seconds over which they were sent or acknowledged, whichever took longer.
    pub interval: f64,
    /// Packets delivered in all when the newest of them was sent.
    pub prior_delivered: u64,
    /// Whether the application, not the network, limited the rate.
    pub app_limited: bool,
    /// Packets in flight when the newest of them was sent, itself included.
    pub in_flight: f64,
    /// Packets found lost since then.
    pub lost: f64,
}

/// The flight of a packet that was found lost (draft-ietf-ccwg-bbr section 5.5.10.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostPacket {
    /// Packets in flight when it was sent, itself included.
    pub in_flight: f64,
    /// Packets found lost since it was sent, itself included.
    pub lost: f64,
    /// Whether the application, not the network, limited the rate when it was sent.
    pub app_limited: bool,
}

impl LostPacket {
    /// Share of its flight that was lost.
    pub fn share(&self) -> f64 {
        self.lost / self.in_flight.max(1.0)
    }
}

/// The measurements of one acknowledgment, in and out of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it arrives.
    pub now: Time,
    /// Round-trip time in seconds of the newest packet that arrived; none where it was sent twice.
    pub rtt: Option<f64>,
    /// Packets that newly arrived, in order or not.
    pub arrived: f64,
    /// Packets newly found lost, by acknowledgments or a reordering timer; those of a timeout come
    /// with [`CongestionEvent::Timeout`].
    pub lost: f64,
    /// The packet among those whose flight lost the largest share; none without
    /// [`Capabilities::Rates`], and where loss recovery counts losses without telling the packets.
    pub lost_packet: Option<LostPacket>,
    /// Packets among `arrived` that carried a mark of congestion.
    pub marked: f64,
    /// Lowest packet not acknowledged.
    pub acknowledged: u64,
    /// Next packet to be sent in order: a round ends when it is acknowledged.
    pub next: u64,
    /// Packets in flight before the acknowledgment.
    pub prior_in_flight: f64,
    /// Packets in flight after it.
    pub in_flight: f64,
    /// Packets that arrived since the connection began.
    pub delivered: u64,
    /// Packets found lost since the connection began, a packet as often as it was.
    pub losses: u64,
    /// The sender's state of loss recovery after this acknowledgment.
    pub state: LossState,
    /// Whether the window limited the sender before it.
    pub limited: bool,
    /// Seconds until pacing lets the next packet go.
    pub held: f64,
    /// Delivery rate, where asked for and valid.
    pub delivery: Option<Delivery>,
}

impl Sample {
    /// Whether no loss is under repair.
    #[inline]
    pub fn calm(&self) -> bool {
        self.state == LossState::Open
    }
}

/// Marks the rounds: one ends when what was next to send at its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Whether this acknowledgment begins a new round.
    #[inline]
    pub fn begins(&mut self, sample: &Sample) -> bool {
        let begins = sample.acknowledged >= self.end;
        if begins {
            self.end = sample.next;
        }
        begins
    }
}

/// The rate at which packets may leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Packets per second.
    pub rate: f64,
    /// Packets that may leave back to back.
    pub quantum: f64,
}

/// Why the window must be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// A loss found by duplicate or selective acknowledgments.
    Loss,
    /// A mark of congestion (RFC 3168 section 6.1.2), at most once per round trip.
    Mark,
    /// A retransmission timeout.
    Timeout,
}

/// The sender's state when it sends again after a time with nothing in flight.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Time for which nothing was in flight.
    pub time: Time,
    /// When that ends.
    pub now: Time,
    /// The restart window in packets, where that was longer than the retransmission timeout.
    pub restart_window: Option<f64>,
}

impl Idle {
    /// After a long pause the window restarts (RFC 5681 section 4.1).
    pub fn restart(&self, window: &mut Window) {
        if let Some(restart_window) = self.restart_window {
            window.cwnd = window.cwnd.min(restart_window);
        }
    }
}

/// A congestion controller for packets.
pub trait CongestionControl: Sized {
    /// Its requirements of the engine.
    fn requirements(&self) -> Requirements {
        Requirements::NONE
    }

    /// The connection opens. A full packet carries this payload; controllers that count bytes use
    /// it.
    fn on_open(&mut self, _payload: Bytes) {}

    /// An acknowledgment arrived, whatever the state; where [`Requirements::samples`] asks for it,
    /// after [`Self::on_ack`] and [`Self::on_congestion_event`].
    fn on_sample(&mut self, _window: &mut Window, _sample: &Sample, _path: &Path) {}

    /// An acknowledgment carries what the links of the path stated in a packet, in their order;
    /// where [`Requirements::telemetry`] asks for it, before [`Self::on_sample`].
    fn on_telemetry(&mut self, _links: &[LinkTelemetry]) {}

    /// The window below which rate halving takes nothing more away in recovery, packets (Linux up
    /// to 3.4: `min_cwnd`, half of the threshold as `tcp_reno_min_cwnd` has it).
    fn recovery_floor(&self, window: &Window) -> f64 {
        0.5 * window.ssthresh
    }

    /// The rate at which packets may leave; without one, acknowledgments set it.
    fn pacing(&self, _window: &Window, _path: &Path) -> Option<Pace> {
        None
    }

    /// New data was acknowledged while the window limits and no loss is under repair.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path);

    /// The application writes again after nothing was in flight: after a long pause the window
    /// restarts (RFC 5681 section 4.1).
    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        idle.restart(window);
    }

    /// Congestion: reduce the window once.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    );

    /// The last timeout was spurious; `before` is the controller before it. The engine restores the
    /// window, except with [`Requirements::own_recovery`]: what is left is state that the timeout
    /// changed.
    fn on_undo(&mut self, _before: &Self) {}
}

/// A controller on the heap: those with much state, so that a connection with another one is small.
impl<C: CongestionControl> CongestionControl for Box<C> {
    fn requirements(&self) -> Requirements {
        (**self).requirements()
    }

    fn on_open(&mut self, payload: Bytes) {
        (**self).on_open(payload);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        (**self).on_sample(window, sample, path);
    }

    fn on_telemetry(&mut self, links: &[LinkTelemetry]) {
        (**self).on_telemetry(links);
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        (**self).recovery_floor(window)
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        (**self).pacing(window, path)
    }

    // The call is not inlined, so that controllers outside of the heap do not carry its code.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        (**self).on_ack(window, ack, path);
    }

    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        (**self).on_idle(window, idle);
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        (**self).on_congestion_event(window, event, now, path);
    }

    fn on_undo(&mut self, before: &Self) {
        (**self).on_undo(before);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::registration::tests::default_controller;

    /// A controller behind a pointer is the controller.
    #[test]
    fn a_pointer_passes_everything_on() {
        let (mut direct, mut boxed): (crate::bbr::BbrController, Box<crate::bbr::BbrController>) =
            (default_controller(), Box::new(default_controller()));
        let (mut one, mut other) = (window(10.0, f64::INFINITY), window(10.0, f64::INFINITY));
        rounds(&mut direct, &mut one, 0.1, &[0.1; 5]);
        rounds(&mut boxed, &mut other, 0.1, &[0.1; 5]);
        let before = (direct.clone(), boxed.clone());
        let (now, path) = (Time::from_secs(9), Path::default());
        direct.on_congestion_event(&mut one, CongestionEvent::Timeout, now, &path);
        boxed.on_congestion_event(&mut other, CongestionEvent::Timeout, now, &path);
        assert_eq!(
            (one.cwnd, format!("{direct:?}")),
            (other.cwnd, format!("{:?}", *boxed))
        );
        direct.on_undo(&before.0);
        boxed.on_undo(&before.1);
        assert_eq!(format!("{direct:?}"), format!("{:?}", *boxed));
        assert_eq!(direct.requirements(), boxed.requirements());
    }

    pub(crate) fn window(cwnd: f64, ssthresh: f64) -> Window {
        Window { cwnd, ssthresh }
    }

    /// One packet acknowledged with this round-trip time.
    pub(crate) fn sample(rtt: f64) -> Sample {
        Sample {
            now: Time::from_secs(1),
            rtt: Some(rtt),
            arrived: 1.0,
            lost: 0.0,
            lost_packet: None,
            marked: 0.0,
            acknowledged: 0,
            next: 0,
            prior_in_flight: 1.0,
            in_flight: 1.0,
            delivered: 1,
            losses: 0,
            state: LossState::Open,
            limited: true,
            held: 0.0,
            delivery: None,
        }
    }

    /// Rounds of twenty acknowledgments each, with these round-trip times; what a round shows is
    /// judged when the next one begins, so one more acknowledgment follows.
    pub(crate) fn rounds<C: CongestionControl>(
        controller: &mut C,
        window: &mut Window,
        min_rtt: f64,
        rtts: &[f64],
    ) {
        let path = Path {
            min_rtt,
            smoothed_rtt: min_rtt,
            ..Path::default()
        };
        let mut seen = sample(min_rtt);
        // Whatever was left of an earlier round ends.
        seen.acknowledged = 1 << 40;
        seen.next = 21;
        seen.rtt = None;
        seen.state = LossState::Recovery;
        controller.on_sample(window, &seen, &path);
        seen.state = LossState::Open;
        for (number, &rtt) in rtts.iter().enumerate() {
            let first = number as u64 * 20;
            for k in 1..=20 {
                seen.rtt = Some(rtt);
                seen.acknowledged = first + k;
                seen.next = first + k + 20;
                seen.now = seen.now.saturating_add(Time::from_secs_f64(rtt / 20.0));
                controller.on_sample(window, &seen, &path);
            }
        }
        seen.acknowledged += 1;
        controller.on_sample(window, &seen, &path);
    }

    /// The mean window of a flow whose packets are each marked with this probability,
    /// independently, over 40,000 round trips of 50 ms.
    pub(crate) fn mean_window_with_marks<C: CongestionControl>(
        controller: &mut C,
        probability: f64,
    ) -> f64 {
        let mut window = window(2.0 / probability, 1.0);
        let path = Path::default();
        let mut seen = sample(0.05);
        let (mut random, mut sum, mut acked) = (1_u64, 0.0, 0_u64);
        let count = 40_000;
        for _ in 0..count {
            let packets = window.cwnd as u64;
            for _ in 0..packets {
                acked += 1;
                seen.now = seen
                    .now
                    .saturating_add(Time::from_secs_f64(0.05 / packets as f64));
                seen.acknowledged = acked;
                seen.next = acked + packets;
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let drawn = (random >> 11) as f64 / (1_u64 << 53) as f64;
                seen.marked = f64::from(u8::from(drawn < probability));
                let ack = Ack {
                    acked: 1.0,
                    now: seen.now,
                };
                controller.on_ack(&mut window, &ack, &path);
                controller.on_sample(&mut window, &seen, &path);
            }
            sum += window.cwnd;
        }
        sum / f64::from(count)
    }

    /// x = W p of a flow that grows by `growth` packets per window and cuts by half of the marked
    /// share: a cut holds for W packets, and the next mark comes 1/p packets later, so growth (W +
    /// 1/p) / W = W p / 2. Without the wait for a mark it is the 2 of W = 2 / p (De Schepper et al.
    /// 2016).
    pub(crate) fn marks_per_window(growth: f64) -> f64 {
        growth + (growth * growth + 2.0 * growth).sqrt()
    }

    #[test]
    fn slow_start_hands_on_what_passes_the_threshold() {
        let mut window = window(9.5, 10.0);
        assert_eq!(window.slow_start(2.0), 1.5);
        assert_eq!(window.cwnd, 10.0);
    }

    #[test]
    fn cuts_keep_two_packets_and_timeouts_restart_from_one() {
        let mut window = window(3.0, 10.0);
        window.cut(1.5, CongestionEvent::Loss);
        assert_eq!((window.cwnd, window.ssthresh), (2.0, 2.0));
        window.cut(5.0, CongestionEvent::Timeout);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 5.0));
    }
}
