//! A TCP connection: a [`Sender`], a [`Receiver`], a [`Scoreboard`] and a [`LossRecovery`], for any
//! congestion controller.
//!
//! Acknowledgments return after a constant delay and are never lost. Therefore the sender lacks
//! only the acknowledgments that the receiver delays. Both ends are in this module. The arrival of
//! a data packet is processed when its acknowledgment would reach the sender.
//!
//! # The path of an acknowledgment
//!
//! 1. [`Connection::deliver`]: a data packet reaches the `receiver`, which orders it and decides
//!    whether to acknowledge at once. If a packet is in order and nothing is missing,
//!    [`Connection::deliver_next`] does all of the following steps.
//! 2. [`Connection::acknowledge`] creates an `AckEvent`: the packets that it acknowledges in order,
//!    and the packet that it selects. After a timeout that may be spurious, `frto` evaluates it.
//! 3. `round_trip` measures the timed packet, or each packet with a time in `sent_packets`.
//! 4. `recovery` (a file per algorithm) updates the `scoreboard`, detects losses, enters or leaves
//!    fast recovery, and lets the controller increase the `sender`'s window. During recovery,
//!    `reduction` limits the window.
//! 5. The sender reacts to `marks`. A controller that requires samples gets one with its
//!    `delivery_rate`.
//! 6. [`Connection::next_to_send`] returns packets until none may leave: the SYN, a packet of
//!    `frto`, a probe, a retransmission of `recovery` or the next packet of the `sender`. `pacing`
//!    and `offload` may defer it. `sent_packets` records the time of departure.
//!
//! A timer ([`Connection::time_out`]) goes through `timeout` or `recovery`, and on at 6.

mod ack;
#[cfg(test)]
mod behavior_tests;
mod bitmap;
mod compression;
#[cfg(test)]
mod contract_tests;
mod control_block;
mod delivery_rate;
mod events;
mod flow_stats;
mod frto;
mod in_band_telemetry;
mod marks;
mod nic_coalescing;
#[cfg(test)]
mod ns2_agent_tests;
mod offload;
mod pacing;
mod path_telemetry;
mod receiver;
mod recovery;
mod reduction;
#[cfg(test)]
mod rfc_reference_tests;
mod ring;
mod round_trip;
mod scoreboard;
mod sender;
mod sent_packets;
mod timeout;
mod timers;

use forebay_congestion::packet::{Idle, LossState};
use forebay_units::Time;

use self::ack::AckEvent;
use self::control_block::{ControlBlock, SendLimit};
pub(crate) use self::events::{Next, Reception, TransferSetup};
use self::marks::Marks;
pub(crate) use self::nic_coalescing::{Arrival, HostDelay, PendingPacket, most_merged};
pub(crate) use self::receiver::{AckDecision, Receiver};
use self::recovery::LossRecovery;
use self::scoreboard::Scoreboard;
use self::sender::{FastPath, Handshake, Sender, Start, Totals, Transmission};
use self::sent_packets::{Arrivals, SentPackets, Setup};
use self::timeout::Timeout;
use self::timers::Timer;
use forebay_simulation::prefetch;

/// A connection. Packets are numbered from 1 on over all transfers of one user, so that late
/// packets of an earlier transfer are recognized. The fields are in the order of need, because the
/// time of many connections goes into fetching them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    control: ControlBlock,
    recovery: LossRecovery,
    timeout: Timeout,
    marks: Marks,
    /// The first packet since the connection was opened: the SYN, where there is one.
    first: u64,
    /// First data packet of the current transfer.
    transfer: u64,
    /// The window after idle times, packets; none where it stays.
    restart_window: Option<f64>,
    /// Whether each round trip is measured by a timestamp (RFC 7323) or one packet per round.
    timestamps: bool,
}

impl Connection {
    /// A connection whose packets are numbered from `first` on.
    pub(crate) fn new(opening: TransferSetup, first: u64) -> Self {
        Self::with_totals(opening, first, Totals::default())
    }

    /// Starts the next transfer with fresh state; packet numbers and totals go on.
    pub(crate) fn open(&mut self, opening: TransferSetup) {
        let Sender {
            highest, totals, ..
        } = self.control.sender;
        *self = Self::with_totals(opening, highest, totals);
    }

    fn with_totals(opening: TransferSetup, first: u64, totals: Totals) -> Self {
        let TransferSetup {
            stack,
            mut controller,
            payload,
            packets,
            host_delay,
        } = opening;
        controller.on_open(payload);
        let transfer = first.saturating_add(u64::from(stack.handshake));
        let sent_packets = SentPackets::new(&Setup {
            needs: controller.requirements(),
            stack: &stack,
            payload,
            losses: totals.losses,
        });
        let start = Start {
            first,
            // No flow reaches the largest number.
            end: packets.map_or(u64::MAX, |packets| transfer.saturating_add(packets)),
            totals,
        };
        let mut connection = Self {
            control: ControlBlock {
                receiver: Receiver::new(first, stack.acknowledgments(), host_delay)
                    .with(stack.recovery),
                scoreboard: Scoreboard::default(),
                sender: Sender::new(&stack, controller, start),
                sent_packets,
            },
            recovery: LossRecovery::new(&stack, first),
            timeout: Timeout::new(&stack),
            marks: Marks::new(first),
            first,
            transfer,
            restart_window: stack.restart_window(),
            timestamps: stack.timestamps,
        };
        connection.control.choose_path();
        connection.control.set_pace();
        connection
    }

    /// Has everything that a delivery may need fetched.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let sender = &self.control.sender;
        prefetch(&self.control.receiver);
        prefetch(&self.control.scoreboard);
        prefetch(&sender.timers);
        prefetch(&sender.controller);
        prefetch(&sender.round_trip);
        prefetch(&sender.recover);
        prefetch(&self.recovery);
    }

    // --- Transfers ---

    /// A transfer of this many packets begins on this open connection, after those written before.
    pub(crate) fn begin(&mut self, packets: u64, now: Time) {
        self.transfer = self.control.sender.end;
        self.control.sender.first_cut = None;
        self.write(packets, now);
    }

    /// The application has written this many more packets of the current transfer.
    pub(crate) fn write(&mut self, packets: u64, now: Time) {
        let sender = &mut self.control.sender;
        if sender.outstanding() == 0 && !sender.connecting() {
            let timeout = sender.round_trip.timeout();
            // The timer was set last when the last packet was acknowledged.
            let since = sender.timers.retransmission().saturating_sub(timeout);
            let time = now.saturating_sub(since);
            let idle = Idle {
                time,
                now,
                restart_window: self.restart_window.filter(|_| time > timeout),
            };
            sender.controller.on_idle(&mut sender.window, &idle);
            self.control.set_pace();
        }
        let sender = &mut self.control.sender;
        sender.end = sender.end.saturating_add(packets);
    }

    /// Sends nothing new from now on.
    pub(crate) fn stop(&mut self) {
        let sender = &mut self.control.sender;
        sender.end = sender.end.min(sender.highest);
    }

    /// Whether `packet` is the SYN of the current transfer.
    #[inline]
    pub(crate) fn is_syn(&self, packet: u64) -> bool {
        self.control.sender.handshake != Handshake::Omitted && packet == self.first
    }

    /// The same of a packet with these low 32 bits.
    #[inline]
    pub(crate) fn has_syn(&self, low: u32) -> bool {
        self.control.sender.handshake != Handshake::Omitted && self.is_syn(self.full_number(low))
    }

    /// The full number of a packet whose low 32 bits are `low`.
    #[inline]
    pub(crate) fn full_number(&self, low: u32) -> u64 {
        self.control.receiver.full_number(low)
    }

    // --- At the receiver ---

    /// A packet reaches the receiver, and what that leads to reaches the sender at `now`.
    #[inline]
    pub(crate) fn deliver(&mut self, packet: u64, now: Time) -> Reception {
        if self.deliver_next(packet as u32, now) || self.deliver_beyond(packet, now) {
            Reception::Acknowledged
        } else {
            self.deliver_slow_path(packet, now)
        }
    }

    /// Does the same if the packet with these low 32 bits is the next one, acknowledged at once,
    /// and neither loss recovery nor the handshake is in progress; else it only returns false.
    #[inline]
    pub(crate) fn deliver_next(&mut self, low: u32, now: Time) -> bool {
        let ControlBlock {
            receiver,
            scoreboard,
            sender,
            ..
        } = &mut self.control;
        if !receiver.is_next(low) || !sender.takes_fast_path() {
            return false;
        }
        let packet = receiver.receive_next();
        // Duplicate acknowledgments, if there were any, are void.
        scoreboard.sacked = 0;
        sender.acknowledge_next(packet, now);
        true
    }

    /// The same if a packet arrives for the first time beyond a hole, losses are under repair with
    /// SACK, and the acknowledgment reports only that packet.
    #[inline]
    pub(crate) fn deliver_beyond(&mut self, packet: u64, now: Time) -> bool {
        let ControlBlock {
            receiver, sender, ..
        } = &mut self.control;
        let LossRecovery::Sack(sack) = &mut self.recovery else {
            return false;
        };
        if !sender.repairs_plainly() || self.marks.are_due() || !receiver.receive_beyond(packet) {
            return false;
        }
        if sender.times(packet) {
            sender.measure(now);
        }
        sack.on_one_beyond(&mut self.control, packet);
        true
    }

    /// Whether one more packet may be sent in order, after [`Self::deliver_next`].
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.control.sender.has_room()
    }

    /// Whether the window allows `more` packets.
    #[inline]
    pub(crate) fn window_allows(&self, more: u64) -> bool {
        self.control.sender.window_allows(more)
    }

    /// The same as [`Self::deliver`] for a packet that carries a mark of congestion.
    pub(crate) fn deliver_marked(&mut self, packet: u64, now: Time) -> Reception {
        if packet >= self.first {
            self.marks.on_arrival();
        }
        self.deliver_slow_path(packet, now)
    }

    /// The cases beside one more packet in order: gaps, duplicates, delayed acknowledgments,
    /// recovery and connection set-up.
    #[inline(never)]
    fn deliver_slow_path(&mut self, packet: u64, now: Time) -> Reception {
        if packet < self.first {
            return Reception::Stale;
        }
        let arrival = self.arrival(packet, now);
        if self.gathers() {
            let held = PendingPacket {
                arrival,
                marked: false,
            };
            self.control.receiver.gather(held);
            return Reception::Delayed;
        }
        let new = match self.control.receiver.receive(arrival) {
            AckDecision::Immediate { new } => new,
            // A SYN is answered at once.
            AckDecision::Delayed if self.control.sender.connecting() => true,
            AckDecision::Delayed | AckDecision::Discarded => return Reception::Delayed,
        };
        self.acknowledge(new.then_some(packet), now);
        Reception::Acknowledged
    }

    /// A packet as it arrives now at a receiver.
    pub(crate) fn arrival(&self, packet: u64, now: Time) -> Arrival {
        let sender = &self.control.sender;
        let last = packet + 1 == sender.end;
        let sent = || self.control.sent(packet);
        let ends_burst = packet < sender.next && sent().is_some_and(|sent| sent.pushed);
        Arrival {
            packet,
            now,
            pushed: last || ends_burst,
            rtt: Time::from_secs_f64(sender.round_trip.path.smoothed_rtt),
        }
    }

    /// The packets that the receiver's card delivers now, in segments of `most` packets at most.
    pub(crate) fn take_gathered(&mut self, now: Time, most: usize) -> Vec<Vec<PendingPacket>> {
        self.control.receiver.take_gathered(now, most)
    }

    /// Consecutive packets reach the receiver as one.
    pub(crate) fn deliver_merged(&mut self, segment: &[PendingPacket], now: Time) -> Reception {
        let last = segment.last().map(|held| held.arrival.packet);
        let AckDecision::Immediate { new } = self.control.receiver.receive_merged(segment) else {
            return Reception::Delayed;
        };
        self.acknowledge(last.filter(|_| new), now);
        Reception::Acknowledged
    }

    /// A delayed acknowledgment is due.
    pub(crate) fn acknowledge_delayed(&mut self, now: Time) {
        self.acknowledge(None, now);
    }

    // --- Acknowledgments at the sender ---

    /// An acknowledgment of everything in order so far. `packet` is the new packet that caused
    /// it; none where a duplicate or a timer did.
    fn acknowledge(&mut self, packet: Option<u64>, now: Time) {
        let control = &mut self.control;
        let info = control.receiver.acknowledge();
        let rcv_nxt = control.receiver.rcv_nxt();
        if control.sender.connecting() && rcv_nxt > self.first {
            self.connected(now);
            return;
        }
        if self.recovery.is_selective() {
            control.scoreboard.sacked = control.receiver.out_of_order();
        }
        let mut ack = AckEvent {
            now,
            from: control.sender.unacknowledged,
            acked: rcv_nxt - control.sender.unacknowledged,
            delayed: u64::from(info.in_order),
            sack_blocks: &info.sack_blocks,
            packet,
            limited: false,
            min_rtt: control.sender.round_trip.path.min_rtt,
        };
        let verdict = self.timeout.evaluate(control, &self.recovery, &ack);
        ack.limited = self.control.sender.limited();
        if self.control.sent_packets.is_some() {
            self.acknowledge_sent_packets(&ack);
        } else {
            self.time_answer(&ack);
            self.recovery.on_ack(&mut self.control, &ack);
            if self.marks.acknowledge() > 0 {
                self.marks.reduce_window(&mut self.control, now);
            }
        }
        if let Some(verdict) = verdict {
            let Self {
                timeout,
                control,
                recovery,
                ..
            } = self;
            timeout.follow(verdict, control, recovery, now);
        }
    }

    /// The SYN is answered: data may flow.
    fn connected(&mut self, now: Time) {
        let control = &mut self.control;
        let sender = &mut control.sender;
        sender.handshake = Handshake::Done;
        sender.totals.handshakes += 1;
        sender.advance_to(control.receiver.rcv_nxt());
        if sender.times(self.first) {
            sender.measure(now);
        } else {
            sender.round_trip.begin_unmeasured();
        }
        sender.restart_timer(now);
        self.control.choose_path();
        self.control.set_pace();
    }

    /// Measures the round trip where this answers the timed packet.
    fn time_answer(&mut self, ack: &AckEvent) {
        let sender = &mut self.control.sender;
        // With SACK the answer to the timed packet itself is seen, in order or not, except by
        // ns-2's Sack1 (tcp-sack1.cc: `recv` calls `newack` for what moves on in order only).
        let selected = || ack.packet.is_some_and(|packet| sender.times(packet));
        let answered = sender.times_below(self.control.receiver.rcv_nxt());
        if answered || self.recovery.times_beyond_holes() && selected() {
            sender.measure(ack.now);
        }
    }

    /// An acknowledgment at a sender that records its sent packets.
    #[inline(never)]
    fn acknowledge_sent_packets(&mut self, ack: &AckEvent) {
        let control = &mut self.control;
        let prior_in_flight = control.in_flight() as f64 + ack.delayed as f64;
        let times = control.look_up(ack);
        if self.timestamps || self.recovery.keeps_records() {
            control.sender.timed = None;
            if let Some(sent) = times.first {
                control.sender.round_trip.measure(sent, ack.now);
            }
        } else {
            self.time_answer(ack);
        }
        self.recovery.on_ack(&mut self.control, ack);
        let marked = self.marks.acknowledge();
        if marked > 0 {
            self.marks.reduce_window(&mut self.control, ack.now);
        }
        let arrivals = Arrivals {
            times,
            marked,
            prior_in_flight,
        };
        self.control.sample(ack, &arrivals);
        self.control.set_pace();
    }

    // --- Sending ---

    /// How many packets may be sent now, one after the other in order; none where that must be
    /// asked of [`Self::next_to_send`] for each.
    #[inline]
    pub(crate) fn quota(&self) -> Option<u64> {
        let sender = &self.control.sender;
        let simple = sender.state == LossState::Open && !sender.urgent;
        if !simple || sender.fast_path == FastPath::Off {
            return None;
        }
        let sacked = self.control.scoreboard.sacked;
        let allowance = if sacked == 0 {
            0
        } else {
            self.recovery.limited_transmit(sacked)
        };
        Some(sender.quota(allowance))
    }

    /// The packet that may be sent now, if any.
    #[inline]
    pub(crate) fn next_to_send(&mut self, now: Time) -> Next {
        match self.quota() {
            Some(0) => Next::Nothing,
            Some(_) => Next::Send(self.send_next(now)),
            None if self.is_held() => Next::Nothing,
            None => self.next_slow_path(now),
        }
    }

    /// Whether losses are under repair with SACK, nothing is urgent, and the window is full.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.control.sender.repairs_plainly()
            && !self.control.sender.urgent
            && matches!(self.recovery, LossRecovery::Sack(_))
            && self.control.window_is_full()
    }

    /// The packet that may be sent first after [`Self::deliver_beyond`].
    #[inline]
    pub(crate) fn repair(&mut self, now: Time) -> Option<Transmission> {
        if self.is_held() {
            return None;
        }
        self.recovery.next_packet(&mut self.control, now)
    }

    /// Sends the next packet in order.
    #[inline]
    pub(crate) fn send_next(&mut self, now: Time) -> Transmission {
        self.control.sender.send_next(now)
    }

    /// The packet that may be sent in recovery, or where recorded packets or pacing decide, too.
    #[inline(never)]
    fn next_slow_path(&mut self, now: Time) -> Next {
        if self.control.sent_packets.is_some() {
            return self.next_from_sent_packets(now);
        }
        self.choose(now).map_or(Next::Nothing, Next::Send)
    }

    /// The packet to send, whatever the pace.
    #[expect(
        clippy::inline_always,
        reason = "a call for each packet in recovery is 2 % of benches/W4.toml"
    )]
    #[inline(always)]
    fn choose(&mut self, now: Time) -> Option<Transmission> {
        if self.control.sender.connecting() {
            self.control.sender.send_syn(now)
        } else if let Some(attempt) = self.timeout.spurious_candidate(self.control.sender.state) {
            attempt.next_packet(&mut self.control, &mut self.recovery, now)
        } else {
            self.recovery.next_packet(&mut self.control, now)
        }
    }

    /// The packet that may be sent by a sender that records its sent packets.
    #[inline(never)]
    fn next_from_sent_packets(&mut self, now: Time) -> Next {
        let before = self.control.before();
        let sender = &self.control.sender;
        let doubts = self.timeout.spurious_candidate(sender.state).is_some();
        let mut probe = None;
        if !sender.connecting() && !doubts {
            probe = self.recovery.take_probe(&mut self.control, now);
            if probe.is_none() {
                match self.control.send_limit(now) {
                    SendLimit::No => {}
                    SendLimit::Pace(until) => return Next::Pause(until),
                    SendLimit::Window => return Next::Nothing,
                }
            }
        }
        let Some(transmission) = probe.or_else(|| self.choose(now)) else {
            self.control.note_silence();
            return Next::Nothing;
        };
        self.control.note_departure(transmission, before, now);
        self.recovery.on_send(&mut self.control, transmission, now);
        Next::Send(transmission)
    }

    // --- Timers ---

    /// When the first timer expires; none where nothing is outstanding.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let sender = &self.control.sender;
        let waiting = sender.outstanding() > 0 || sender.highest > sender.unacknowledged;
        waiting.then(|| sender.timers.next())
    }

    /// Whether something is outstanding and its timer expires at `timer_at` at the earliest, after
    /// [`Self::deliver_next`]: on the fast path no other timer runs.
    #[inline]
    pub(crate) fn waits_until(&self, timer_at: Time) -> bool {
        let sender = &self.control.sender;
        debug_assert_eq!(sender.timers.next(), sender.timers.retransmission());
        sender.next > sender.unacknowledged && sender.timers.retransmission() >= timer_at
    }

    /// A timer has expired: whether an acknowledgment has come of it.
    pub(crate) fn time_out(&mut self, now: Time) -> bool {
        let timers = &self.control.sender.timers;
        let other = timers.expired(Timer::Reordering, now) || timers.expired(Timer::Probe, now);
        if other && !timers.expired(Timer::Retransmission, now) {
            self.recovery.on_timer(&mut self.control, now);
            return false;
        }
        let receiver = &self.control.receiver;
        if receiver.rcv_nxt() > self.control.sender.unacknowledged
            || receiver.unsacked_packets() > 0
        {
            // The receiver's delayed acknowledgment is older than the timer: it comes first.
            self.acknowledge(None, now);
            return true;
        }
        self.timeout
            .expire(&mut self.control, &mut self.recovery, now);
        false
    }
}
