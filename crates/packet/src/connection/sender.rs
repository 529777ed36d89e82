//! The sending half of a connection: the packets in flight, the window, its own pacing and the
//! timers. [`super::recovery`] decides which packets are lost and which are sent again.

use std::num::NonZeroU64;

use forebay_congestion::Controller;
use forebay_congestion::packet::{Ack, CongestionEvent, LossState, Window};
use forebay_scenario::{AckCounting, Stack};
use forebay_units::Time;

use super::round_trip::RoundTrip;
use super::timers::{Timer, Timers};

/// How much faster than the window per round trip a sender with `pacing` sends, in slow start and
/// after it, so that pacing does not keep the window from growing (Linux: tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const PACING_GAINS: (f64, f64) = (2.0, 1.2);

/// A packet to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub(crate) packet: u64,
    /// Whether it was sent before.
    pub(crate) is_retransmission: bool,
}

/// Whether a connection begins with a SYN, and whether that is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// None is modeled: data flows at once.
    Omitted,
    /// Only the SYN may be in flight.
    Connecting,
    Done,
}

/// Whether a packet in order may take a short way (Linux: header prediction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FastPath {
    /// Each packet is acknowledged at once, the handshake is over, and packets are not recorded.
    Immediate,
    /// The same with delayed acknowledgments: only for sending.
    Delayed,
    Off,
}

/// The packet whose round trip is being timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    /// Packets count from 1, so that "none" takes no room.
    pub(super) packet: NonZeroU64,
    pub(super) since: Time,
}

/// Packets that the receiver's window allows to be outstanding.
#[derive(Clone, Copy, Debug)]
struct ReceiveWindow(u64);

impl ReceiveWindow {
    /// More than any sender has outstanding.
    const UNLIMITED: Self = Self(u64::MAX);

    fn of(stack: &Stack) -> Self {
        let packets = stack.receive_window;
        packets.map_or(Self::UNLIMITED, |packets| Self(packets as u64))
    }

    /// Whether one more packet may be sent.
    #[inline]
    fn allows(self, outstanding: u64) -> bool {
        outstanding < self.0
    }

    /// The first packet that it does not allow, where `from` is the lowest not acknowledged.
    #[inline]
    fn end(self, from: u64) -> u64 {
        from.saturating_add(self.0)
    }
}

/// Counts over all transfers of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    /// SYNs that were answered: the other packets delivered are data.
    pub(super) handshakes: u64,
    /// Losses found; a packet may be lost more than once.
    pub(super) losses: u64,
}

/// The initial state of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Its first packet, and the first that must not be sent.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Counts of earlier transfers.
    pub(super) totals: Totals,
}

/// A sender. Packets are numbered from 1 on.
///
/// The fields are in the order in which they are needed: every delivery reads all down to the
/// round trip, which with many connections is most of its cost.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sender {
    /// The lowest packet not acknowledged (SND.UNA).
    pub(super) unacknowledged: u64,
    /// The next packet to send in order (SND.NXT).
    pub(super) next: u64,
    /// One more than the highest packet ever sent.
    pub(super) highest: u64,
    pub(super) window: Window,
    pub(super) timed: Option<Timed>,
    pub(super) timers: Timers,
    /// First packet that must not be sent.
    pub(super) end: u64,
    receive_window: ReceiveWindow,
    /// Packet number up to whose acknowledgment the window limits the sender, where pacing hides
    /// it.
    limited_until: u64,
    /// Packets that an acknowledgment counts for at most.
    most_counted: u64,
    pub(super) state: LossState,
    pub(super) fast_path: FastPath,
    pub(super) handshake: Handshake,
    /// Whether a packet must be sent again whatever the window.
    pub(super) urgent: bool,

    pub(super) controller: Controller,
    pub(super) round_trip: RoundTrip,

    /// Recovery ends when everything below is acknowledged.
    pub(super) recover: u64,
    /// The first congestion signal of the transfer.
    pub(super) first_cut: Option<Time>,
    pub(super) totals: Totals,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub(super) fn new(stack: &Stack, controller: Controller, start: Start) -> Self {
        let Start { first, end, totals } = start;
        Self {
            unacknowledged: first,
            next: first,
            highest: first,
            window: Window {
                cwnd: stack.initial_window,
                ssthresh: stack.initial_ssthresh.unwrap_or(f64::INFINITY),
            },
            timed: None,
            timers: Timers::new(),
            end,
            receive_window: ReceiveWindow::of(stack),
            limited_until: first,
            most_counted: match stack.ack_counting {
                AckCounting::Packets => u64::MAX,
                AckCounting::Acknowledgments => 1,
            },
            state: LossState::Open,
            fast_path: FastPath::Off,
            handshake: if stack.handshake {
                Handshake::Connecting
            } else {
                Handshake::Omitted
            },
            urgent: false,
            controller,
            round_trip: RoundTrip::new(stack),
            recover: first - 1,
            first_cut: None,
            totals,
        }
    }

    /// Packets sent and not acknowledged.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.next - self.unacknowledged
    }

    /// Whether the SYN is still unanswered.
    #[inline]
    pub(super) fn connecting(&self) -> bool {
        self.handshake == Handshake::Connecting
    }

    // --- Acknowledgments ---

    /// Whether no packet is lost or urgent, and packets are not recorded.
    #[inline]
    pub(super) fn takes_fast_path(&self) -> bool {
        self.state == LossState::Open && self.fast_path == FastPath::Immediate && !self.urgent
    }

    /// Whether losses are under repair, and packets are neither delayed nor recorded.
    #[inline]
    pub(super) fn repairs_plainly(&self) -> bool {
        self.state == LossState::Recovery && self.fast_path == FastPath::Immediate
    }

    /// `packet`, the lowest outstanding, is acknowledged on the fast path.
    #[inline]
    pub(super) fn acknowledge_next(&mut self, packet: u64, now: Time) {
        let limited = self.limited();
        self.unacknowledged = packet + 1;
        if self.times(packet) {
            self.measure(now);
        }
        self.restart_timer(now);
        if limited {
            let ack = Ack { acked: 1.0, now };
            self.controller
                .on_ack(&mut self.window, &ack, &self.round_trip.path);
        }
    }

    /// Everything below is acknowledged.
    pub(super) fn advance_to(&mut self, cumulative: u64) {
        self.unacknowledged = cumulative;
        self.next = self.next.max(cumulative);
    }

    /// Whether the round trip of this packet is being timed.
    #[inline]
    pub(super) fn times(&self, packet: u64) -> bool {
        self.timed.map_or(0, |timed| timed.packet.get()) == packet
    }

    /// Whether that of a packet below is.
    pub(super) fn times_below(&self, packet: u64) -> bool {
        self.timed.is_some_and(|timed| timed.packet.get() < packet)
    }

    /// The timed packet is answered.
    #[cold]
    pub(super) fn measure(&mut self, now: Time) {
        if let Some(timed) = self.timed.take() {
            self.round_trip.measure(timed.since, now);
        }
    }

    /// Whether the window (and not the data or the receiver) limits the sender.
    #[inline]
    pub(super) fn limited(&self) -> bool {
        real(self.outstanding() + 1) > self.window.cwnd || self.unacknowledged < self.limited_until
    }

    /// The window limits the sender, though fewer packets than it allows may be in flight.
    pub(super) fn hide_limit(&mut self) {
        self.limited_until = self.next;
    }

    /// The controller grows the window for `acked` packets that were acknowledged outside of fast
    /// recovery.
    pub(super) fn grow(&mut self, acked: u64, limited: bool, now: Time) {
        if limited && acked > 0 {
            let ack = Ack {
                acked: acked.min(self.most_counted) as f64,
                now,
            };
            self.controller
                .on_ack(&mut self.window, &ack, &self.round_trip.path);
        }
    }

    // --- Congestion ---

    pub(super) fn congestion(&mut self, signal: CongestionEvent, now: Time) {
        let outstanding = self.outstanding() as f64;
        let cwnd = self.window.cwnd;
        // FlightSize; where the window limits, with the fraction that whole packets hide.
        let flight = if outstanding + 1.0 > cwnd {
            cwnd
        } else {
            outstanding
        };
        self.round_trip.path.flight = flight;
        self.first_cut.get_or_insert(now);
        self.controller
            .on_congestion_event(&mut self.window, signal, now, &self.round_trip.path);
        self.round_trip.forget_maximum();
    }

    /// A loss was found: fast recovery begins.
    pub(super) fn enter_recovery(&mut self, now: Time) {
        self.congestion(CongestionEvent::Loss, now);
        self.state = LossState::Recovery;
        self.recover = self.highest;
        self.timed = None;
    }

    // --- Sending ---

    /// Whether one more packet may be sent in order, on the fast path.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.window_allows(1)
            && self.next < self.end
            && self.receive_window.allows(self.outstanding())
    }

    /// Whether the window allows `more` packets, on the fast path.
    #[inline]
    pub(super) fn window_allows(&self, more: u64) -> bool {
        real(self.outstanding() + more) <= self.window.cwnd
    }

    /// Packets in order that are left to send, and that the receiver has room for.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        let room = self.receive_window.end(self.unacknowledged);
        self.end.min(room).saturating_sub(self.next)
    }

    /// Packets in order that may be sent now, where this is more than the window by `allowance`.
    #[inline]
    pub(super) fn quota(&self, allowance: u64) -> u64 {
        let window = (self.window.cwnd as u64).saturating_add(allowance);
        let open = self.unacknowledged.saturating_add(window);
        open.saturating_sub(self.next).min(self.unsent())
    }

    /// The next packet in order, where there is one.
    #[inline]
    pub(super) fn send_another(&mut self, now: Time) -> Option<Transmission> {
        (self.unsent() > 0).then(|| self.send_next(now))
    }

    /// Sends the next packet in order; there must be one.
    #[inline]
    pub(super) fn send_next(&mut self, now: Time) -> Transmission {
        let packet = self.next;
        if packet == self.unacknowledged {
            self.restart_timer(now);
        }
        self.next = packet + 1;
        let is_retransmission = packet < self.highest;
        if is_retransmission {
            self.totals.retransmissions += 1;
        } else {
            self.highest = packet + 1;
            if self.timed.is_none() {
                self.timed = NonZeroU64::new(packet).map(|packet| Timed { packet, since: now });
            }
        }
        Transmission {
            packet,
            is_retransmission,
        }
    }

    /// Sends the SYN: nothing else may be in flight.
    pub(super) fn send_syn(&mut self, now: Time) -> Option<Transmission> {
        (self.outstanding() == 0)
            .then(|| self.send_another(now))
            .flatten()
    }

    /// Sends a packet again.
    pub(super) fn retransmit(&mut self, packet: u64) -> Transmission {
        self.totals.retransmissions += 1;
        Transmission {
            packet,
            is_retransmission: true,
        }
    }

    /// The lowest packet that is outstanding again, where that is urgent. An acknowledgment that
    /// crossed links may bring both the last duplicate and an answer to everything.
    pub(super) fn repeat_urgent(&mut self) -> Option<Transmission> {
        let urgent = std::mem::take(&mut self.urgent) && self.outstanding() > 0;
        urgent.then(|| self.retransmit(self.unacknowledged))
    }

    /// The rate of a window per round trip, and somewhat more (Linux: `tcp_update_pacing_rate`), in
    /// packets per second.
    pub(super) fn own_rate(&self) -> f64 {
        let (starting, avoiding) = PACING_GAINS;
        let slow_start = self.window.cwnd < 0.5 * self.window.ssthresh;
        let gain = if slow_start { starting } else { avoiding };
        gain * self.window.cwnd / self.round_trip.path.smoothed_rtt
    }

    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time) {
        let due = now.saturating_add(self.round_trip.timeout());
        self.timers.set(Timer::Retransmission, due);
    }

    /// Whether the invariants hold.
    pub(super) fn consistent(&self) -> bool {
        self.unacknowledged <= self.next
            && self.next <= self.highest
            && self.window.cwnd >= 1.0
            && self.window.cwnd.is_finite()
    }
}

/// A count of packets as a real. Counts are far below 2^53, and from a signed number it is one
/// instruction.
#[inline]
fn real(count: u64) -> f64 {
    count as i64 as f64
}

#[cfg(test)]
mod tests {
    use forebay_units::parameter::Parameters;
    use proptest::prelude::*;

    use super::*;
    use forebay_random::{Purpose, Seed, StreamKey};

    fn sender() -> Sender {
        let mut descriptions = forebay_congestion::descriptions().iter();
        let description = descriptions.find(|known| known.name == "newreno").unwrap();
        let parameters = Parameters::defaults(description.parameters);
        let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
        let controller = forebay_congestion::controller("newreno", &parameters, random).unwrap();
        let start = Start {
            first: 1,
            end: u64::MAX,
            totals: Totals::default(),
        };
        Sender::new(&Stack::RFC, controller, start)
    }

    proptest! {
        /// The fast path checks the window packet by packet, the other paths by a quota: the same
        /// packets leave, as many as the window, the receiver and the data allow.
        #[test]
        fn room_and_quota_are_one(
            cwnd in 1.0..60.0_f64,
            outstanding in 0u64..80,
            left in 0u64..40,
            receive_window in 1u64..100,
        ) {
            let mut sender = sender();
            sender.window.cwnd = cwnd;
            sender.next = 1 + outstanding;
            sender.highest = sender.next;
            sender.end = sender.next + left;
            sender.receive_window = ReceiveWindow(receive_window);
            let quota = sender.quota(0);
            let least = [cwnd as u64, receive_window, outstanding + left];
            let allowed = least.into_iter().min().unwrap().saturating_sub(outstanding);
            prop_assert_eq!(quota, allowed);
            let mut sent = 0;
            while sender.has_room() {
                let transmission = sender.send_next(Time::from_secs(1));
                prop_assert!(!transmission.is_retransmission);
                sent += 1;
            }
            prop_assert_eq!(sent, quota);
            prop_assert!(sender.consistent());
        }
    }

    #[test]
    fn the_first_packet_of_a_round_is_timed_and_no_other() {
        let mut sender = sender();
        for packet in 1..=3 {
            assert_eq!(sender.send_next(Time::from_millis(packet)).packet, packet);
        }
        assert!(sender.times(1) && !sender.times(2) && !sender.times(0));
        assert!(sender.times_below(2) && !sender.times_below(1));
        sender.acknowledge_next(1, Time::from_millis(101));
        assert_eq!(sender.round_trip.path.min_rtt, 0.1);
        assert!(sender.timed.is_none());
        assert_eq!(sender.send_next(Time::from_millis(101)).packet, 4);
        assert!(sender.times(4));
    }
}
