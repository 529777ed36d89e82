//! A TCP connection: sender, receiver and scoreboard.
//!
//! Acknowledgements return over a constant delay and are never lost, so a receiver's state and
//! what its sender knows of it differ only by the acknowledgements that the receiver delays. Both
//! live here, and the receiver's map of out-of-order packets is the sender's SACK scoreboard. Loss
//! recovery is one machine shared by all congestion controllers.

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod contract;
mod frto;
mod ledger;
mod offload;
mod rack;
mod reduction;

use forebay_congestion::Controller;
use forebay_congestion::packet::{Ack, Idle, LossState, Pace, Sample, Samples, Signal, Window};
use forebay_scenario::{PartialAckTimer, Recovery, Stack, TimeoutCut};
use forebay_units::Time;

use self::frto::{Attempt, News};
use self::ledger::{Arrivals, Ledger, Reached, Sending, Wanted};
use self::offload::Offer;
use self::rack::Seen;
use crate::bitmap::Bitmap;
use crate::prefetch::prefetch;
use crate::timing::RoundTrip;

/// Duplicate acknowledgements that mean a loss (RFC 5681 section 3.2).
const DUP_THRESHOLD: u32 = 3;

/// Packets that one acknowledgement counts for after a timeout, when it may cover many that had
/// arrived long before (RFC 3465 section 2.3: L = 1).
const AFTER_TIMEOUT: u64 = 1;

/// What the sender is doing about losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery (RFC 6582, RFC 6675).
    Recovery,
    /// Slow start after a retransmission timeout.
    Loss,
}

/// What a sender must know to start a transfer.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) stack: Stack,
    pub(crate) controller: Controller,
    /// Data packets to send; `u64::MAX` for a flow without end.
    pub(crate) packets: u64,
}

/// What a delivery led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// An acknowledgement reached the sender: it may send.
    Acknowledged,
    /// The receiver waits before it acknowledges.
    Delayed,
    /// The packet belongs to an earlier transfer.
    Stale,
}

/// A packet to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub(crate) packet: u64,
    /// Whether it was sent before.
    pub(crate) again: bool,
}

/// What a sender may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this packet.
    Send(Transmission),
    /// Wait until then: the packet is paced.
    Pause(Time),
    /// Wait for an acknowledgement or a timer.
    Nothing,
}

/// How much faster than the window per round trip a sender with `pacing` sends, in slow start and
/// after it, so that pacing does not keep the window from growing (Linux: tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const PACING_GAINS: (f64, f64) = (2.0, 1.2);

/// How much a packet in order asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Counting: each packet is acknowledged at once, the handshake is over, there is no ledger.
    Plain,
    /// The same with delayed acknowledgements.
    Delayed,
    /// More.
    Careful,
}

/// What is rarely asked of the stack.
#[derive(Clone, Copy, Debug)]
struct Settings {
    delayed_ack_timeout: Time,
    restart_window: Option<f64>,
    timeout_cut: TimeoutCut,
    timestamps: bool,
    /// Whether timeouts are looked at before they are believed (RFC 5682).
    frto: bool,
}

impl Settings {
    fn of(stack: &Stack) -> Self {
        Self {
            delayed_ack_timeout: stack.delayed_ack.timeout,
            restart_window: stack.restart_window(),
            timeout_cut: stack.timeout_cut,
            timestamps: stack.timestamps,
            frto: stack.frto,
        }
    }
}

/// A count of packets as a real. Counts are far below 2^53, and from a signed number it is one
/// instruction.
#[inline]
fn real(count: u64) -> f64 {
    count as i64 as f64
}

/// A connection. Packets are numbered from `base` on; the numbers go on over the transfers of one
/// user, so that late packets of an earlier transfer are recognised.
///
/// The fields are in the order in which they are needed, a cache line per paragraph: with many
/// connections the time goes into fetching them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    // Every delivery.
    /// Receiver: the next packet in order.
    expected: u64,
    /// Sender: the lowest packet not acknowledged.
    unacknowledged: u64,
    /// Sender: the next packet to send in order.
    next: u64,
    /// One more than the highest packet ever sent.
    highest: u64,
    /// Packets beyond the receiver's `expected` that have arrived.
    out_of_order: u64,
    pub(crate) window: Window,
    /// The packet being timed; `u64::MAX` for none.
    timed: u64,

    /// When the retransmission timer expires, as it was last set.
    expires: Time,
    /// When time-based recovery must look again; [`Time::MAX`] for never.
    alarm: Time,
    /// First packet that must not be sent.
    end: u64,
    /// Packets the receiver's window allows beyond `unacknowledged`.
    receive_window: u64,
    /// The window limits the sender until so much is acknowledged, where pacing hides it.
    limited_until: u64,
    timed_since: Time,
    duplicates: u32,
    phase: Phase,
    recovery: Recovery,
    way: Way,
    timer_switch: PartialAckTimer,
    /// Whether the first unacknowledged packet must be sent whatever the window.
    urgent: bool,
    /// Whether the SYN is still unanswered.
    connecting: bool,
    /// Whether a connection begins with a SYN.
    handshake: bool,

    round_trip: RoundTrip,
    pub(crate) controller: Controller,

    // Deliveries that are not simply in order, and losses.
    base: u64,
    /// Recovery ends when everything below is acknowledged.
    recover: u64,
    /// Every packet below that has not arrived counts as lost.
    lost_below: u64,
    /// Packets lost and not arrived since.
    lost: u64,
    /// Every lost packet below has been sent again.
    repaired_below: u64,
    /// Packets sent again and not arrived since.
    repairing: u64,
    /// What is kept of each packet, where anybody asks.
    ledger: Option<Box<Ledger>>,
    /// In-order packets the receiver has not acknowledged yet, and how many it acknowledges at
    /// once.
    pending: u32,
    acknowledged_at_once: u32,

    /// The three highest packets that arrived out of order.
    top: [u64; 3],
    received: Bitmap,
    /// Losses found, ever; a packet may be lost more than once.
    losses: u64,

    pub(crate) pending_since: Time,
    /// Window inflation of NewReno's recovery in packets (RFC 6582 section 3.2).
    inflation: f64,
    partial_acks: u32,
    /// Packets that arrived with a mark since the last acknowledgement.
    marked: u32,
    /// No reaction to marks until everything below is acknowledged (RFC 3168 section 6.1.2).
    marked_until: u64,
    /// The packet for which the retransmission timer expired last; `u64::MAX` for none.
    timed_out: u64,
    // What is counted.
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    /// The first congestion signal of the transfer; [`Time::MAX`] for none.
    pub(crate) first_cut: Time,
    /// SYNs that were answered: the other packets delivered are data.
    handshakes: u64,
    settings: Settings,
    /// A timeout that may prove spurious.
    attempt: Option<Box<Attempt>>,
    /// First data packet of the current transfer.
    transfer: u64,
}

impl Connection {
    /// A connection that has not started.
    pub(crate) fn new(opening: Opening, first: u64) -> Self {
        let stack = opening.stack;
        let mut connection = Self {
            expected: first,
            unacknowledged: first,
            next: first,
            out_of_order: 0,
            window: Window {
                cwnd: stack.initial_window,
                ssthresh: f64::INFINITY,
            },
            phase: Phase::Open,
            recovery: stack.recovery,
            timer_switch: stack.partial_ack_timer,
            way: Way::Careful,
            timed: u64::MAX,
            timed_since: Time::ZERO,
            expires: Time::ZERO,
            alarm: Time::MAX,
            end: first,
            receive_window: stack.receive_window.map_or(u64::MAX, |w| w as u64),
            controller: opening.controller.clone(),
            round_trip: RoundTrip::new(&stack),
            received: Bitmap::default(),
            highest: first,
            recover: first,
            lost_below: first,
            lost: 0,
            repaired_below: first,
            repairing: 0,
            top: [0; 3],
            duplicates: 0,
            inflation: 0.0,
            partial_acks: 0,
            urgent: false,
            handshake: stack.handshake,
            acknowledged_at_once: stack.delayed_ack.packets,
            losses: 0,
            ledger: None,
            marked: 0,
            marked_until: 0,
            limited_until: 0,
            connecting: false,
            timed_out: u64::MAX,
            pending: 0,
            pending_since: Time::ZERO,
            base: first,
            settings: Settings::of(&stack),
            attempt: None,
            transfer: first,
            retransmissions: 0,
            timeouts: 0,
            first_cut: Time::MAX,
            handshakes: 0,
        };
        connection.open(opening);
        connection
    }

    /// Has everything that a delivery may need fetched.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.expected);
        prefetch(&self.alarm);
        prefetch(&self.round_trip);
        prefetch(&self.controller);
        prefetch(&self.base);
        prefetch(&self.top);
        prefetch(&self.marked_until);
    }

    /// Starts the next transfer with fresh state; packet numbers and counters go on.
    pub(crate) fn open(&mut self, opening: Opening) {
        let first = self.highest;
        let stack = opening.stack;
        self.expected = first;
        self.unacknowledged = first;
        self.next = first;
        self.out_of_order = 0;
        self.window = Window {
            cwnd: stack.initial_window,
            ssthresh: stack.initial_ssthresh.unwrap_or(f64::INFINITY),
        };
        self.phase = Phase::Open;
        self.timed = u64::MAX;
        self.controller = opening.controller;
        self.round_trip = RoundTrip::new(&stack);
        self.recover = first - 1;
        self.lost_below = first;
        self.lost = 0;
        self.repaired_below = first;
        self.repairing = 0;
        self.top = [0; 3];
        self.duplicates = 0;
        self.inflation = 0.0;
        self.partial_acks = 0;
        self.urgent = false;
        self.timed_out = u64::MAX;
        self.pending = 0;
        self.base = first;
        self.connecting = stack.handshake;
        self.handshake = stack.handshake;
        self.acknowledged_at_once = stack.delayed_ack.packets;
        self.settings = Settings::of(&stack);
        self.attempt = None;
        self.alarm = Time::MAX;
        self.first_cut = Time::MAX;
        self.marked = 0;
        self.marked_until = first;
        self.limited_until = first;
        self.ledger = Ledger::new(Wanted {
            needs: self.controller.needs(),
            stack,
            first,
            losses: self.losses,
        });
        self.choose_way();
        self.pace();
        let syn = u64::from(stack.handshake);
        self.transfer = first.saturating_add(syn);
        self.end = self.transfer.saturating_add(opening.packets);
    }

    /// Decides how short the way of a packet in order is.
    fn choose_way(&mut self) {
        self.way = if self.connecting || self.ledger.is_some() {
            Way::Careful
        } else if self.acknowledged_at_once > 1 {
            Way::Delayed
        } else {
            Way::Plain
        };
    }

    /// A transfer of so many packets begins on this open connection, after those written before.
    pub(crate) fn begin(&mut self, packets: u64, now: Time) {
        self.transfer = self.end;
        self.first_cut = Time::MAX;
        self.write(packets, now);
    }

    /// The application has written so many packets more of the current transfer.
    pub(crate) fn write(&mut self, packets: u64, now: Time) {
        if self.outstanding() == 0 && !self.connecting {
            let timeout = self.round_trip.timeout();
            // The timer was set last when the last packet was acknowledged.
            let time = now.saturating_sub(self.expires.saturating_sub(timeout));
            let idle = Idle {
                time,
                restart_window: self.settings.restart_window.filter(|_| time > timeout),
            };
            self.controller.on_idle(&mut self.window, &idle);
            self.pace();
        }
        self.end = self.end.saturating_add(packets);
    }

    /// Packets of the transfer that have not been sent.
    pub(crate) fn backlog(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Sends nothing new from now on.
    pub(crate) fn stop(&mut self) {
        self.end = self.end.min(self.highest.max(self.next));
    }

    /// Whether everything was delivered and acknowledged.
    pub(crate) fn finished(&self) -> bool {
        self.unacknowledged >= self.end && !self.connecting
    }

    /// Data packets delivered in order, over all transfers.
    pub(crate) fn delivered(&self) -> u64 {
        self.expected - self.handshakes
    }

    /// Whether a first transfer has begun.
    pub(crate) fn begun(&self) -> bool {
        self.transfer_packets() > 0
    }

    /// Data packets of the current transfer; none where the first has not begun.
    pub(crate) fn transfer_packets(&self) -> u64 {
        self.end.saturating_sub(self.transfer)
    }

    /// The first packet of the current transfer.
    pub(crate) fn first(&self) -> u64 {
        self.base
    }

    /// Whether `packet` is the SYN of the current transfer.
    #[inline]
    pub(crate) fn is_syn(&self, packet: u64) -> bool {
        self.handshake && packet == self.base
    }

    /// The same of a packet whose low 32 bits are `low`.
    #[inline]
    pub(crate) fn has_syn(&self, low: u32) -> bool {
        self.handshake && self.is_syn(self.full_number(low))
    }

    /// The full number of a packet whose low 32 bits are `low`: the one nearest to `expected`.
    #[inline]
    pub(crate) fn full_number(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.expected as u32) as i32;
        self.expected.wrapping_add_signed(i64::from(ahead))
    }

    /// Packets sent and not acknowledged.
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.unacknowledged
    }

    /// Smoothed round-trip time in seconds; zero before the first measurement.
    pub(crate) fn smoothed_rtt(&self) -> f64 {
        self.round_trip.path.smoothed_rtt
    }

    // --- Receiving ---

    /// A packet reaches the receiver, and what that leads to reaches the sender at `now`.
    pub(crate) fn deliver(&mut self, packet: u64, now: Time) -> Answer {
        if self.deliver_next(packet as u32, now) {
            Answer::Acknowledged
        } else {
            self.deliver_otherwise(packet, now)
        }
    }

    /// The same where the packet with these low 32 bits is the next one in order, acknowledged at
    /// once, and neither losses nor set-up are under way; otherwise does nothing and says no.
    #[inline]
    pub(crate) fn deliver_next(&mut self, low: u32, now: Time) -> bool {
        let packet = self.expected;
        let simple = low == packet as u32
            && self.out_of_order == 0
            && self.phase == Phase::Open
            && self.way == Way::Plain
            && self.duplicates == 0
            && !self.urgent;
        if !simple {
            return false;
        }
        let limited = self.limited();
        self.expected = packet + 1;
        self.unacknowledged = packet + 1;
        if packet == self.timed {
            self.measure(now);
        }
        self.restart_timer(now);
        if limited {
            let ack = Ack { acked: 1.0, now };
            self.controller
                .on_ack(&mut self.window, &ack, &self.round_trip.path);
        }
        true
    }

    /// Whether one more packet may be sent in order, after [`Self::deliver_next`].
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        let outstanding = self.outstanding();
        real(outstanding + 1) <= self.window.cwnd
            && self.next < self.end
            && outstanding < self.receive_window
    }

    /// The same for a packet that carries a mark of congestion.
    pub(crate) fn deliver_marked(&mut self, packet: u64, now: Time) -> Answer {
        if packet >= self.base {
            self.marked += 1;
        }
        self.deliver_otherwise(packet, now)
    }

    /// The cases beside one more packet in order: gaps, duplicates, delayed acknowledgements,
    /// recovery and connection set-up.
    fn deliver_otherwise(&mut self, packet: u64, now: Time) -> Answer {
        if packet < self.base {
            return Answer::Stale;
        }
        let (fresh, in_order) = self.receive(packet);
        if in_order && self.out_of_order == 0 && !self.connecting {
            self.pending += 1;
            if self.pending == 1 {
                self.pending_since = now;
            }
            if self.pending < self.acknowledged_at_once {
                return Answer::Delayed;
            }
        }
        self.acknowledge(fresh.then_some(packet), now);
        Answer::Acknowledged
    }

    /// The receiver's part: whether the packet is new, and whether it is the next one with
    /// nothing waiting behind it.
    fn receive(&mut self, packet: u64) -> (bool, bool) {
        if packet == self.expected {
            self.expected += 1;
            let alone = self.out_of_order == 0;
            if !alone {
                let next = self.received.take_run(self.expected);
                self.out_of_order -= next - self.expected;
                self.expected = next;
            }
            return (true, alone);
        }
        if packet < self.expected {
            return (false, false);
        }
        let fresh = self.received.set(packet, self.expected);
        self.out_of_order += u64::from(fresh);
        (fresh, false)
    }

    /// A delayed acknowledgement is due; says when the next one may be.
    pub(crate) fn delayed_ack_due(&mut self, now: Time) -> Option<Time> {
        if self.pending == 0 {
            return None;
        }
        let timeout = self.settings.delayed_ack_timeout;
        let due = self.pending_since.saturating_add(timeout);
        if due > now {
            return Some(due);
        }
        self.acknowledge(None, now);
        None
    }

    // --- Acknowledgements at the sender ---

    /// An acknowledgement of everything in order so far. `packet` is the new packet that caused
    /// it; none where a duplicate or a timer did.
    fn acknowledge(&mut self, packet: Option<u64>, now: Time) {
        let delayed = u64::from(std::mem::take(&mut self.pending));
        if self.connecting && self.expected > self.base {
            self.connected(now);
            return;
        }
        let verdict = if self.doubts_timeout() {
            self.judge_attempt(News { delayed, packet })
        } else {
            None
        };
        let limited = self.limited();
        let acked = self.expected - self.unacknowledged;
        let seen = Seen {
            now,
            acked,
            packet,
            duplicate: packet.is_none() && delayed == 0,
            limited,
        };
        if let Some(mut ledger) = self.ledger.take() {
            self.acknowledge_by_ledger(&mut ledger, delayed, seen);
            self.ledger = Some(ledger);
        } else {
            self.acknowledge_by_counting(delayed, &seen);
        }
        if let Some(verdict) = verdict {
            self.follow_verdict(verdict, now);
        }
    }

    /// An acknowledgement at a sender without a ledger.
    #[inline]
    fn acknowledge_by_counting(&mut self, delayed: u64, seen: &Seen) {
        self.time_answer(seen);
        match self.recovery {
            Recovery::NewReno => self.acknowledge_cumulatively(seen.acked, seen.limited, seen.now),
            Recovery::Sack | Recovery::Fack | Recovery::Rack => {
                self.settle(delayed, seen.packet);
                self.acknowledge_selectively(seen, None);
            }
        }
        if self.marked > 0 {
            self.marked = 0;
            self.heed_mark(seen.now);
        }
    }

    /// Measures the round trip where this answers the timed packet.
    fn time_answer(&mut self, seen: &Seen) {
        // With SACK the answer to the timed packet itself is seen, in order or not.
        let selective = self.recovery != Recovery::NewReno;
        if (selective && seen.packet == Some(self.timed)) || self.timed < self.expected {
            self.measure(seen.now);
        }
    }

    /// An acknowledgement at a sender that keeps a ledger.
    fn acknowledge_by_ledger(&mut self, ledger: &mut Ledger, delayed: u64, seen: Seen) {
        let now = seen.now;
        let prior_in_flight = self.pipe() as f64 + delayed as f64;
        let mut arrivals = Arrivals::default();
        let reached = Reached {
            now,
            min_rtt: self.round_trip.path.min_rtt,
        };
        let waited = self.unacknowledged + delayed;
        let direct = seen.packet.filter(|packet| *packet >= waited);
        for packet in (self.unacknowledged..waited).chain(direct) {
            ledger.on_arrival(packet, &mut arrivals, reached);
        }
        if self.settings.timestamps || ledger.rack.is_some() {
            self.timed = u64::MAX;
            if let Some(sent) = arrivals.oldest {
                self.round_trip.measure(sent, now);
            }
        } else {
            self.time_answer(&seen);
        }
        let losses = self.losses;
        match self.recovery {
            Recovery::NewReno => self.acknowledge_cumulatively(seen.acked, seen.limited, now),
            Recovery::Sack => {
                self.settle(delayed, seen.packet);
                self.acknowledge_selectively(&seen, Some(&mut *ledger));
                if self.phase == Phase::Recovery {
                    let safe = seen.acked > 0 && self.losses == losses;
                    self.reduce(ledger, arrivals.count as f64, safe);
                }
            }
            Recovery::Fack | Recovery::Rack => self.acknowledge_by_time(ledger, &arrivals, seen),
        }
        let marked = std::mem::take(&mut self.marked);
        if marked > 0 && !ledger.needs.accurate_ecn {
            self.heed_mark(now);
        }
        if ledger.needs.samples != Samples::None {
            let rtt = arrivals.newest.map(|sent| now.saturating_sub(sent));
            let answered = Reached {
                min_rtt: self.round_trip.path.min_rtt,
                ..reached
            };
            let sample = Sample {
                now,
                rtt: rtt.map(Time::as_secs_f64),
                arrived: arrivals.count as f64,
                lost: ledger.report(self.losses) as f64,
                marked: f64::from(marked),
                acknowledged: self.unacknowledged,
                next: self.next,
                prior_in_flight,
                in_flight: self.pipe() as f64,
                delivered: ledger.delivered,
                losses: self.losses,
                state: match self.phase {
                    Phase::Open => LossState::Open,
                    Phase::Recovery => LossState::Recovery,
                    Phase::Loss => LossState::Timeout,
                },
                limited: seen.limited,
                held: ledger.held(now),
                delivery: ledger.delivery(answered, self.losses),
            };
            self.controller
                .on_sample(&mut self.window, &sample, &self.round_trip.path);
        }
        self.set_pace(ledger);
    }

    /// A mark of congestion reaches a sender without accurate ECN: one reaction per round trip
    /// (RFC 3168 section 6.1.2).
    fn heed_mark(&mut self, now: Time) {
        if self.phase == Phase::Open && self.unacknowledged >= self.marked_until {
            self.congestion(Signal::Mark, now);
            self.marked_until = self.next;
        }
    }

    /// Sets the pace at the start of a transfer.
    fn pace(&mut self) {
        if let Some(mut ledger) = self.ledger.take() {
            self.set_pace(&mut ledger);
            self.ledger = Some(ledger);
        }
    }

    /// The rate of a window per round trip, and somewhat more (Linux: `tcp_update_pacing_rate`).
    fn own_rate(&self) -> f64 {
        let (starting, avoiding) = PACING_GAINS;
        let slow_start = self.window.cwnd < 0.5 * self.window.ssthresh;
        let gain = if slow_start { starting } else { avoiding };
        gain * self.window.cwnd / self.round_trip.path.smoothed_rtt
    }

    /// Sets the pace that the controller asks for, or the stack.
    fn set_pace(&self, ledger: &mut Ledger) {
        let path = &self.round_trip.path;
        let asked = self.controller.pacing(&self.window, path);
        let own = || {
            let rate = self.own_rate();
            let gathered = ledger.offload.is_some();
            Pace {
                rate,
                quantum: if gathered { offload::burst(rate) } else { 1.0 },
            }
        };
        let measured = ledger.always_paced && path.smoothed_rtt > 0.0;
        ledger.set_pace(asked.or_else(|| measured.then(own)));
    }

    /// Packets under way as far as the sender knows (RFC 6675's pipe).
    #[inline]
    fn pipe(&self) -> u64 {
        match self.recovery {
            Recovery::NewReno => {
                let arrived = u64::from(self.duplicates);
                self.outstanding().saturating_sub(arrived)
            }
            Recovery::Sack | Recovery::Fack | Recovery::Rack => {
                let missing = self.out_of_order + self.lost;
                (self.outstanding() + self.repairing).saturating_sub(missing)
            }
        }
    }

    /// The SYN is answered: data may flow.
    fn connected(&mut self, now: Time) {
        self.connecting = false;
        self.choose_way();
        self.handshakes += 1;
        self.unacknowledged = self.expected;
        self.next = self.next.max(self.expected);
        if self.timed == self.base {
            self.measure(now);
        } else {
            self.round_trip.begin_unmeasured();
        }
        self.restart_timer(now);
        self.pace();
    }

    fn grow(&mut self, acked: u64, limited: bool, now: Time) {
        if limited && acked > 0 {
            let ack = Ack {
                acked: acked as f64,
                now,
            };
            self.controller
                .on_ack(&mut self.window, &ack, &self.round_trip.path);
        }
    }

    /// Whether the window (and not the data or the receiver) limits the sender.
    #[inline]
    fn limited(&self) -> bool {
        real(self.outstanding() + 1) > self.window.cwnd || self.unacknowledged < self.limited_until
    }

    /// NewReno without SACK (RFC 6582 section 3.2).
    fn acknowledge_cumulatively(&mut self, acked: u64, limited: bool, now: Time) {
        if acked == 0 {
            if self.outstanding() > 0 {
                self.duplicate_ack(now);
            }
            return;
        }
        self.unacknowledged = self.expected;
        self.next = self.next.max(self.unacknowledged);
        match self.phase {
            Phase::Recovery if self.unacknowledged < self.recover => {
                self.partial_ack(acked, now);
                return;
            }
            Phase::Recovery => {
                // Full acknowledgement, option 2: the window is the threshold.
                if !self.controller.needs().own_recovery {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.inflation = 0.0;
                self.phase = Phase::Open;
            }
            Phase::Open => self.grow(acked, limited, now),
            Phase::Loss => self.grow(acked.min(AFTER_TIMEOUT), limited, now),
        }
        if self.phase == Phase::Loss && self.unacknowledged >= self.recover {
            self.phase = Phase::Open;
        }
        self.duplicates = 0;
        self.restart_timer(now);
    }

    fn duplicate_ack(&mut self, now: Time) {
        self.duplicates += 1;
        match self.phase {
            Phase::Recovery => self.inflation += 1.0,
            Phase::Open
                // Beyond `recover` by a new packet at least: duplicates of what was sent again after
                // a timeout must not look like a loss (RFC 6582 section 3.2 step 2).
                if self.duplicates == DUP_THRESHOLD && self.unacknowledged > self.recover =>
            {
                self.losses += 1;
                self.enter_recovery(now);
                self.inflation = f64::from(DUP_THRESHOLD);
                self.urgent = true;
            }
            Phase::Open | Phase::Loss => {}
        }
    }

    /// RFC 6582 section 3.2 step 3: repair the next hole, deflate by what was acknowledged less
    /// one packet, and restart the timer at the first partial acknowledgement or at each.
    fn partial_ack(&mut self, acked: u64, now: Time) {
        self.losses += 1;
        self.partial_acks += 1;
        self.inflation = (self.inflation - acked as f64 + 1.0).max(1.0 - self.window.cwnd);
        self.urgent = true;
        if self.partial_acks == 1 || self.timer_switch == PartialAckTimer::Every {
            self.restart_timer(now);
        }
    }

    /// SACK (RFC 6675 section 5). Rule 4 of NextSeg, the optional rescue retransmission, is left
    /// out.
    fn acknowledge_selectively(&mut self, seen: &Seen, ledger: Option<&mut Ledger>) {
        let &Seen {
            now,
            acked,
            packet,
            limited,
            ..
        } = seen;
        let cumulative = self.expected;
        self.unacknowledged = cumulative;
        self.next = self.next.max(cumulative);
        if let Some(packet) = packet.filter(|packet| *packet >= cumulative) {
            self.note_arrival_beyond(packet);
        }
        if acked > 0 {
            self.restart_timer(now);
        }
        match self.phase {
            Phase::Open if self.lost > 0 => self.enter_recovery_selectively(ledger, now),
            Phase::Open => self.grow(acked, limited, now),
            Phase::Recovery | Phase::Loss => {
                if self.phase == Phase::Loss {
                    self.grow(acked.min(AFTER_TIMEOUT), limited, now);
                }
                if cumulative >= self.recover {
                    if self.phase == Phase::Recovery
                        && let Some(ledger) = &ledger
                    {
                        self.end_reduction(ledger);
                    }
                    self.phase = Phase::Open;
                    // Losses beyond the recovery point are a new congestion.
                    if self.lost > 0 {
                        self.enter_recovery_selectively(ledger, now);
                    }
                }
            }
        }
    }

    /// Takes packets that have just become known as arrived off the counts of lost packets: the
    /// in-order ones whose acknowledgement was delayed, and the one that caused this.
    fn settle(&mut self, delayed: u64, packet: Option<u64>) {
        if self.lost == 0 {
            return;
        }
        let to = self.unacknowledged + delayed;
        for arrived in self.unacknowledged..to {
            self.settle_one(arrived);
        }
        if let Some(packet) = packet.filter(|packet| *packet >= to) {
            self.settle_one(packet);
        }
    }

    fn settle_one(&mut self, packet: u64) {
        if packet < self.lost_below {
            self.lost -= 1;
            if packet < self.repaired_below {
                self.repairing -= 1;
            }
        }
    }

    /// A packet arrived beyond a hole: packets with three arrivals above them are lost (RFC 6675
    /// section 4, IsLost).
    fn note_arrival_beyond(&mut self, packet: u64) {
        let [first, second, third] = self.top;
        if packet > first {
            self.top = [packet, first, second];
        } else if packet > second {
            self.top = [first, packet, second];
        } else if packet > third {
            self.top = [first, second, packet];
        }
        let below = self.top[2];
        let from = self.lost_below.max(self.expected);
        if below > from {
            let found = self.received.count_clear(from, below);
            self.lost += found;
            self.losses += found;
            self.lost_below = below;
        }
    }

    fn enter_recovery_selectively(&mut self, ledger: Option<&mut Ledger>, now: Time) {
        let before = self.window.cwnd;
        self.enter_recovery(now);
        if let Some(ledger) = ledger {
            self.begin_reduction(ledger, before);
        }
        // Only a hole not yet sent again may go out before the pipe has drained.
        self.urgent = self.lost > self.repairing;
    }

    fn enter_recovery(&mut self, now: Time) {
        self.congestion(Signal::Loss, now);
        self.phase = Phase::Recovery;
        self.recover = self.highest;
        self.partial_acks = 0;
        self.timed = u64::MAX;
    }

    fn congestion(&mut self, signal: Signal, now: Time) {
        let outstanding = self.outstanding() as f64;
        let cwnd = self.window.cwnd;
        // FlightSize; where the window limits, with the fraction that whole packets hide.
        let flight = if outstanding + 1.0 > cwnd {
            cwnd
        } else {
            outstanding
        };
        self.round_trip.path.flight = flight;
        self.first_cut = self.first_cut.min(now);
        self.controller
            .on_congestion(&mut self.window, signal, now, &self.round_trip.path);
        self.round_trip.forget_maximum();
    }

    // --- Sending ---

    /// How many packets may be sent now, one after the other in order; none where that must be
    /// asked of [`Self::next_to_send`] for each.
    #[inline]
    pub(crate) fn quota(&self) -> Option<u64> {
        if self.phase != Phase::Open || self.urgent || self.way == Way::Careful {
            return None;
        }
        let open = self.unacknowledged.saturating_add(self.window());
        let open = open.saturating_sub(self.next);
        Some(open.min(self.unsent()))
    }

    /// What may be sent now.
    #[inline]
    pub(crate) fn next_to_send(&mut self, now: Time) -> Next {
        match self.quota() {
            Some(0) => Next::Nothing,
            Some(_) => Next::Send(self.send_next(now)),
            None => self.next_to_send_otherwise(now),
        }
    }

    /// Packets that the window allows outside of recovery.
    #[inline]
    fn window(&self) -> u64 {
        let allowance = match self.recovery {
            // Limited transmit (RFC 3042).
            Recovery::NewReno => u64::from(self.duplicates.min(2)),
            Recovery::Sack | Recovery::Fack | Recovery::Rack => self.out_of_order,
        };
        (self.window.cwnd as u64).saturating_add(allowance)
    }

    /// Packets in order that are left to send, and that the receiver has room for.
    #[inline]
    fn unsent(&self) -> u64 {
        let room = self.unacknowledged.saturating_add(self.receive_window);
        self.end.min(room).saturating_sub(self.next)
    }

    /// The next packet in order, where there is one.
    #[inline]
    fn send_another(&mut self, now: Time) -> Option<Transmission> {
        (self.unsent() > 0).then(|| self.send_next(now))
    }

    /// Sends the next packet in order; there must be one.
    #[inline]
    pub(crate) fn send_next(&mut self, now: Time) -> Transmission {
        let packet = self.next;
        if packet == self.unacknowledged {
            self.restart_timer(now);
        }
        self.next = packet + 1;
        let again = packet < self.highest;
        if again {
            self.retransmissions += 1;
        } else {
            self.highest = packet + 1;
            if self.timed == u64::MAX {
                self.timed = packet;
                self.timed_since = now;
            }
        }
        Transmission { packet, again }
    }

    #[inline(never)]
    fn next_to_send_otherwise(&mut self, now: Time) -> Next {
        let Some(mut ledger) = self.ledger.take() else {
            let choice = if self.connecting {
                self.next_syn(now)
            } else if self.doubts_timeout() {
                self.next_of_attempt(None, now)
            } else {
                self.choose(now)
            };
            return choice.map_or(Next::Nothing, Next::Send);
        };
        let next = self.next_by_ledger(&mut ledger, now);
        self.ledger = Some(ledger);
        next
    }

    /// What may be sent by a sender that keeps a ledger.
    fn next_by_ledger(&mut self, ledger: &mut Ledger, now: Time) -> Next {
        let from = self.unacknowledged;
        let idle = self.outstanding() == 0;
        let pause = ledger.pause(now);
        let waits = |cwnd: f64, pipe: u64| pipe as f64 + 1.0 > cwnd;
        let choice = if self.connecting {
            self.next_syn(now)
        } else if self.doubts_timeout() {
            self.next_of_attempt(Some(&mut *ledger), now)
        } else if let Some(probe) = self.take_probe(ledger, now) {
            Some(probe)
        } else if pause.is_some() && !self.urgent {
            if waits(self.window.cwnd, self.pipe()) {
                self.limited_until = self.next;
                return Next::Nothing;
            }
            return pause.map_or(Next::Nothing, Next::Pause);
        } else if ledger.rack.is_some() {
            if self.defers(ledger, now) {
                // The window limits, though not all of it is used.
                self.limited_until = self.next;
                return Next::Nothing;
            }
            self.choose_by_time(ledger, now)
        } else if self.phase == Phase::Open && !self.urgent {
            (self.outstanding() < self.window())
                .then(|| self.send_another(now))
                .flatten()
        } else {
            self.choose(now)
        };
        let Some(transmission) = choice else {
            if waits(self.window.cwnd, self.pipe()) {
                self.limited_until = self.next;
            } else {
                ledger.starve(self.pipe());
            }
            return Next::Nothing;
        };
        let sending = Sending {
            from,
            again: transmission.again,
            next: self.next,
            idle,
            in_flight: self.pipe(),
            lost: self.losses,
        };
        ledger.on_send(transmission.packet, sending, now);
        self.schedule_probe(ledger, now);
        Next::Send(transmission)
    }

    /// Whether new data waits until segmentation offload has a burst together; what is sent again
    /// never does.
    fn defers(&self, ledger: &mut Ledger, now: Time) -> bool {
        let rtt = self.round_trip.path.smoothed_rtt;
        let quota = (self.window.cwnd - self.pipe() as f64).floor();
        if self.phase != Phase::Open || rtt == 0.0 || quota < 1.0 || self.unsent() == 0 {
            return false;
        }
        let waiting = self.outstanding() > 0;
        let oldest = waiting.then(|| ledger.sent.get(self.unacknowledged).time);
        let burst = ledger.paced_burst();
        let burst = burst.unwrap_or_else(|| offload::burst(self.own_rate()));
        let Some(offload) = &mut ledger.offload else {
            return false;
        };
        offload.defers(&Offer {
            now,
            quota,
            cwnd: self.window.cwnd,
            burst,
            rtt,
            oldest,
        })
    }

    /// The SYN: nothing else may be under way.
    fn next_syn(&mut self, now: Time) -> Option<Transmission> {
        (self.next == self.base)
            .then(|| self.send_another(now))
            .flatten()
    }

    /// The next packet with time-based recovery: lost ones first.
    fn choose_by_time(&mut self, ledger: &mut Ledger, now: Time) -> Option<Transmission> {
        let urgent = std::mem::take(&mut self.urgent);
        if self.pipe() as f64 + 1.0 > self.window.cwnd && !urgent {
            return None;
        }
        if let Some(packet) = self.next_lost(ledger) {
            return Some(self.repair_lost(ledger, packet));
        }
        self.send_another(now)
    }

    /// The next packet during recovery or after a timeout.
    fn choose(&mut self, now: Time) -> Option<Transmission> {
        if self.recovery == Recovery::NewReno {
            return self.next_cumulatively(now);
        }
        if std::mem::take(&mut self.urgent)
            && let Some(hole) = self.next_hole()
        {
            return Some(self.repair(hole));
        }
        if self.pipe() as f64 + 1.0 > self.window.cwnd {
            return None;
        }
        if let Some(hole) = self.next_hole() {
            return Some(self.repair(hole));
        }
        self.send_another(now).or_else(|| self.repair_suspect())
    }

    fn next_cumulatively(&mut self, now: Time) -> Option<Transmission> {
        if std::mem::take(&mut self.urgent) {
            self.retransmissions += 1;
            return Some(Transmission {
                packet: self.unacknowledged,
                again: true,
            });
        }
        let inflation = if self.phase == Phase::Recovery {
            self.inflation
        } else {
            0.0
        };
        let usable = self.window.cwnd + inflation;
        (self.outstanding() as f64 + 1.0 <= usable)
            .then(|| self.send_another(now))
            .flatten()
    }

    /// The first lost packet that has not been sent again (NextSeg rule 1).
    fn next_hole(&self) -> Option<u64> {
        if self.lost <= self.repairing {
            return None;
        }
        let from = self.repaired_below.max(self.expected);
        self.received.next_clear(from, self.lost_below)
    }

    fn repair(&mut self, hole: u64) -> Transmission {
        self.repaired_below = hole + 1;
        self.repairing += 1;
        self.retransmissions += 1;
        Transmission {
            packet: hole,
            again: true,
        }
    }

    /// NextSeg rule 3: without new data, a packet below the highest arrival although it does not
    /// count as lost yet.
    fn repair_suspect(&mut self) -> Option<Transmission> {
        if self.phase != Phase::Recovery || self.out_of_order == 0 {
            return None;
        }
        let from = self.lost_below.max(self.expected);
        let hole = self.received.next_clear(from, self.top[0])?;
        self.lost += 1;
        self.lost_below = hole + 1;
        Some(self.repair(hole))
    }

    // --- Timers ---

    /// When the retransmission timer expires; none where nothing is outstanding.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let waiting = self.outstanding() > 0 || self.highest > self.unacknowledged;
        waiting.then_some(self.expires.min(self.alarm))
    }

    /// Whether something is outstanding and its timer expires at `timer_at` at the earliest.
    #[inline]
    pub(crate) fn waits_until(&self, timer_at: Time) -> bool {
        self.next > self.unacknowledged && self.expires >= timer_at && self.alarm >= timer_at
    }

    /// The retransmission timer has expired (RFC 6298 section 5, RFC 5681 section 3.1).
    pub(crate) fn time_out(&mut self, now: Time) {
        if self.alarm <= now && self.expires > now {
            if let Some(mut ledger) = self.ledger.take() {
                self.ring_alarm(&mut ledger, now);
                self.ledger = Some(ledger);
            }
            return;
        }
        if self.expected > self.unacknowledged {
            // The receiver's delayed acknowledgement is older than the timer: it comes first.
            self.acknowledge(None, now);
            return;
        }
        self.timeouts += 1;
        let attempts = !self.connecting && self.begin_attempt();
        self.timed = u64::MAX;
        self.round_trip.back_off();
        self.restart_timer(now);
        if self.connecting {
            self.losses += 1;
            self.next = self.base;
            return;
        }
        if self.timed_out == self.unacknowledged && self.settings.timeout_cut == TimeoutCut::First {
            // The same packet again: the threshold stays (RFC 5681 section 3.1).
            self.window.cwnd = 1.0;
        } else {
            self.timed_out = self.unacknowledged;
            self.congestion(Signal::Timeout, now);
        }
        self.pace();
        self.phase = Phase::Loss;
        self.recover = self.highest;
        self.duplicates = 0;
        self.inflation = 0.0;
        self.urgent = false;
        if attempts {
            self.lose_first(now);
        } else {
            self.lose_all(now);
        }
        self.report_timeout();
    }

    /// A timeout means that everything under way is lost.
    fn lose_all(&mut self, now: Time) {
        match self.recovery {
            Recovery::NewReno => {
                self.losses += 1;
                self.next = self.unacknowledged;
            }
            Recovery::Fack | Recovery::Rack => {
                if let Some(mut ledger) = self.ledger.take() {
                    self.lose_by_timeout(&mut ledger, self.expected..self.next, now);
                    self.ledger = Some(ledger);
                }
            }
            Recovery::Sack => {
                let known = self.lost - self.repairing;
                self.lost_below = self.next;
                self.lost = self.received.count_clear(self.expected, self.next);
                self.losses += self.lost - known;
                self.repaired_below = self.expected;
                self.repairing = 0;
            }
        }
    }

    /// The controller has been told of a timeout: its losses are no news.
    fn report_timeout(&mut self) {
        if let Some(ledger) = &mut self.ledger {
            ledger.report(self.losses);
        }
    }

    #[inline]
    fn restart_timer(&mut self, now: Time) {
        self.expires = now.saturating_add(self.round_trip.timeout());
    }

    fn measure(&mut self, now: Time) {
        self.timed = u64::MAX;
        self.round_trip.measure(self.timed_since, now);
    }

    /// What must always hold; checked at the end of every run.
    pub(crate) fn consistent(&self) -> bool {
        self.unacknowledged <= self.expected
            && self.unacknowledged <= self.next
            && self.next <= self.highest
            && self.repairing <= self.lost
            && self.out_of_order + self.lost <= self.highest - self.unacknowledged
            && self.window.cwnd >= 1.0
            && self.window.cwnd.is_finite()
    }
}
