//! RACK-TLP (RFC 8985): a packet is lost when one sent later has arrived and a reordering window
//! has passed; a probe follows the last packets. And, as the other way to find losses from what
//! was kept of each packet, forward acknowledgement (Mathis and Mahdavi 1996, "Forward
//! acknowledgement: refining TCP congestion control", section 2.2), which goes by packet numbers.
//!
//! Links never reorder a flow's packets, so the reordering window never adapts (RFC 8985 section
//! 7.2's DSACK rule has nothing to react to), and three arrivals above a hole close it at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use forebay_congestion::packet::Signal;
use forebay_scenario::Recovery;
use forebay_units::Time;

use super::ledger::{Arrivals, Ledger, Reached, Sent};
use super::{Connection, DUP_THRESHOLD, Phase, Transmission};

/// What Linux adds to a probe timeout for the coarseness of its timers (TCP_TIMEOUT_MIN).
const PROBE_MARGIN: Time = Time::from_millis(2);

/// The delay of a lone packet's acknowledgement that a probe allows for (RFC 8985 section 7.2 and
/// Linux: the minimum RTO).
const LONE_ACK_DELAY: Time = Time::from_millis(200);

/// The probe timeout before the first round-trip time (RFC 8985 section 7.2).
const FIRST_PROBE: Time = Time::from_secs(1);

/// A tail loss probe under way.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Everything below was sent when the probe was.
    end: u64,
    /// Whether it repeats a packet; new data needs no verdict.
    repeats: bool,
}

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// From when packets were sent (RFC 8985).
    Time,
    /// From the furthest packet that arrived (snd.fack): one three packets below is lost; a
    /// repetition is when a packet first sent after it has arrived (Linux's lost_retrans).
    Forward,
}

impl Detection {
    /// That of a recovery which wants records of each packet.
    pub(super) fn of(recovery: Recovery) -> Option<Self> {
        match recovery {
            Recovery::NewReno | Recovery::Sack => None,
            Recovery::Fack => Some(Self::Forward),
            Recovery::Rack => Some(Self::Time),
        }
    }
}

/// A packet sent again.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    time: Time,
    packet: u64,
    /// The next packet to be sent for the first time then.
    next: u64,
}

/// What recovery from records of each packet keeps.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    detection: Detection,
    /// The packet beyond the furthest that arrived (snd.fack).
    forward: u64,
    /// When the packet sent last among the arrived ones was sent, and its number.
    latest: (Time, u64),
    rtt: Time,
    /// First transmissions of all packets below are judged.
    examined: u64,
    /// Packets sent again, in the order of sending.
    again: VecDeque<Repeat>,
    /// Packets to send again; some may have arrived since.
    holes: BinaryHeap<Reverse<u64>>,
    reorder_timer: Option<Time>,
    probe_timer: Option<Time>,
    probe: Option<Probe>,
    /// Whether a probe must leave now.
    probe_due: bool,
    /// The packet whose answer may be to either transmission, as F-RTO has it; `u64::MAX` for none.
    doubted: u64,
}

impl Rack {
    pub(super) fn new(detection: Detection, first: u64) -> Self {
        Self {
            detection,
            forward: first,
            latest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            examined: first,
            again: VecDeque::new(),
            holes: BinaryHeap::new(),
            reorder_timer: None,
            probe_timer: None,
            probe: None,
            probe_due: false,
            doubted: u64::MAX,
        }
    }

    /// Until the next timeout the arrival of this packet does not tell when it was sent.
    pub(super) fn doubt(&mut self, packet: u64) {
        self.doubted = packet;
    }

    pub(super) fn on_repeat(&mut self, packet: u64, next: u64, now: Time) {
        self.again.push_back(Repeat {
            time: now,
            packet,
            next,
        });
    }

    /// RFC 8985 section 6.2 step 2: the packet sent last among those that arrived.
    pub(super) fn on_arrival(&mut self, packet: u64, sent: &Sent, reached: Reached) {
        self.forward = self.forward.max(packet + 1);
        let rtt = reached.now.saturating_sub(sent.time);
        if packet == self.doubted || sent.repeated && rtt.as_secs_f64() < reached.min_rtt {
            // The answer is to an earlier transmission, or may be.
            return;
        }
        if (sent.time, packet) > self.latest {
            self.latest = (sent.time, packet);
            self.rtt = rtt;
        }
    }

    /// When one of its timers expires.
    fn alarm(&self) -> Time {
        let timers = [self.reorder_timer, self.probe_timer];
        timers.into_iter().flatten().min().unwrap_or(Time::MAX)
    }
}

impl Connection {
    /// What an acknowledgement means for recovery (RFC 8985 section 6.2).
    pub(super) fn acknowledge_by_time(
        &mut self,
        ledger: &mut Ledger,
        arrivals: &Arrivals,
        seen: Seen,
    ) {
        let now = seen.now;
        let cumulative = self.expected;
        self.unacknowledged = cumulative;
        self.next = self.next.max(cumulative);
        self.lost -= arrivals.were_lost;
        self.repairing -= arrivals.were_repaired;
        if seen.acked > 0 {
            self.restart_timer(now);
        }
        let found = self.detect(ledger, now);
        self.judge_probe(ledger, &seen);
        let exits = self.phase != Phase::Open && cumulative >= self.recover;
        if exits {
            if self.phase == Phase::Recovery {
                self.end_reduction(ledger);
            }
            self.phase = Phase::Open;
        }
        // What has just arrived counts, not what a repaired hole uncovers (Linux: acked_sacked), and
        // only where the cumulative acknowledgement moves (tcp_may_raise_cwnd).
        let arrived = if seen.acked > 0 { arrivals.count } else { 0 };
        match self.phase {
            Phase::Open if self.lost > 0 => self.enter_timed_recovery(ledger, now),
            Phase::Open => self.grow(arrived, seen.limited, now),
            Phase::Loss => self.grow(arrived, true, now),
            Phase::Recovery => {}
        }
        if self.phase == Phase::Recovery {
            let progress = seen.acked > 0 && found == 0;
            self.reduce(ledger, arrivals.count as f64, progress);
        }
        self.schedule_probe(ledger, now);
    }

    /// Finds lost packets; how many.
    fn detect(&mut self, ledger: &mut Ledger, now: Time) -> u64 {
        let Some(mut rack) = ledger.rack.take() else {
            return 0;
        };
        let before = self.losses;
        match rack.detection {
            Detection::Time => self.detect_by_time(ledger, &mut rack, now),
            Detection::Forward => self.detect_below(ledger, &mut rack),
        }
        ledger.rack = Some(rack);
        self.losses - before
    }

    /// Forward acknowledgement: what is three packets below the furthest arrival is lost.
    fn detect_below(&mut self, ledger: &mut Ledger, rack: &mut Rack) {
        let below = rack.forward.saturating_sub(u64::from(DUP_THRESHOLD));
        rack.examined = rack.examined.max(self.expected);
        while rack.examined < below.min(self.next) {
            let packet = rack.examined;
            let repeated = ledger.sent.get(packet).repeated;
            if !repeated && ledger.unjudged(packet, self.expected, &self.received) {
                self.lose(ledger, rack, packet);
            }
            rack.examined = packet + 1;
        }
        while let Some(&Repeat { time, packet, next }) = rack.again.front() {
            let arrived = packet < self.expected || self.received.get(packet);
            if !arrived && ledger.sent.get(packet).time == time {
                if rack.forward <= next {
                    break;
                }
                self.lose(ledger, rack, packet);
            }
            rack.again.pop_front();
        }
    }

    /// RFC 8985 section 6.2 step 5.
    fn detect_by_time(&mut self, ledger: &mut Ledger, rack: &mut Rack, now: Time) {
        let patience = self.patience(rack);
        rack.reorder_timer = None;
        while rack.examined < self.next {
            let packet = rack.examined.max(self.expected);
            if packet >= self.next {
                break;
            }
            let sent = *ledger.sent.get(packet);
            if !sent.repeated && ledger.unjudged(packet, self.expected, &self.received) {
                if (sent.time, packet) >= rack.latest {
                    break;
                }
                let due = sent.time + patience;
                if due > now {
                    rack.reorder_timer = Some(due);
                    break;
                }
                self.lose(ledger, rack, packet);
            }
            rack.examined = packet + 1;
        }
        while let Some(&Repeat { time, packet, .. }) = rack.again.front() {
            let arrived = packet < self.expected || self.received.get(packet);
            if !arrived && ledger.sent.get(packet).time == time {
                if (time, packet) >= rack.latest {
                    break;
                }
                let due = time + patience;
                if due > now {
                    let earlier = rack.reorder_timer.map_or(due, |timer| timer.min(due));
                    rack.reorder_timer = Some(earlier);
                    break;
                }
                self.lose(ledger, rack, packet);
            }
            rack.again.pop_front();
        }
    }

    /// How long after its sending a packet may be overtaken: the round trip and the reordering
    /// window (RFC 8985 section 6.2 step 4).
    fn patience(&self, rack: &Rack) -> Time {
        let closed = self.phase != Phase::Open || self.out_of_order >= u64::from(DUP_THRESHOLD);
        if closed {
            return rack.rtt;
        }
        let path = &self.round_trip.path;
        let window = (0.25 * path.min_rtt).min(path.smoothed_rtt);
        rack.rtt.saturating_add(Time::from_secs_f64(window))
    }

    /// A packet, or its repetition, is lost.
    fn lose(&mut self, ledger: &mut Ledger, rack: &mut Rack, packet: u64) {
        let sent = ledger.sent.get_mut(packet);
        if !sent.lost {
            sent.lost = true;
            self.lost += 1;
        } else if sent.repaired {
            self.repairing -= 1;
        }
        sent.repaired = false;
        self.losses += 1;
        rack.holes.push(Reverse(packet));
    }

    fn enter_timed_recovery(&mut self, ledger: &mut Ledger, now: Time) {
        let before = self.window.cwnd;
        self.enter_recovery(now);
        self.begin_reduction(ledger, before);
        // Where the window falls at once, only the first repetition goes out before the pipe drains.
        self.urgent = ledger.reducing.is_none();
        if let Some(rack) = &mut ledger.rack {
            rack.probe = None;
        }
    }

    /// The next packet to send again.
    pub(super) fn next_lost(&mut self, ledger: &mut Ledger) -> Option<u64> {
        let rack = ledger.rack.as_mut()?;
        while let Some(&Reverse(packet)) = rack.holes.peek() {
            let arrived = packet < self.expected || self.received.get(packet);
            if !arrived {
                let sent = ledger.sent.get(packet);
                if sent.lost && !sent.repaired {
                    return Some(packet);
                }
            }
            rack.holes.pop();
        }
        None
    }

    /// Sends the packet again that [`Self::next_lost`] named.
    pub(super) fn repair_lost(&mut self, ledger: &mut Ledger, packet: u64) -> Transmission {
        if let Some(rack) = &mut ledger.rack {
            rack.holes.pop();
        }
        self.repairing += 1;
        self.retransmissions += 1;
        Transmission {
            packet,
            again: true,
        }
    }

    // --- Timers ---

    /// Sets the probe timer where a tail might be lost unseen (RFC 8985 section 7.2), and the time
    /// at which the event loop must look again.
    pub(super) fn schedule_probe(&mut self, ledger: &mut Ledger, now: Time) {
        let wanted = self.phase == Phase::Open
            && self.out_of_order == 0
            && self.outstanding() > 0
            && !self.connecting;
        let timeout = self.probe_timeout();
        let Some(rack) = &mut ledger.rack else {
            return;
        };
        let due = now.saturating_add(timeout);
        let wanted = wanted && rack.detection == Detection::Time;
        // The retransmission timer is never put off by a probe.
        let probe = (wanted && rack.probe.is_none() && due < self.expires).then_some(due);
        rack.probe_timer = probe;
        self.alarm = rack.alarm();
    }

    fn probe_timeout(&self) -> Time {
        let path = &self.round_trip.path;
        if path.smoothed_rtt == 0.0 {
            return FIRST_PROBE;
        }
        let lone = self.outstanding() == 1;
        let margin = if lone { LONE_ACK_DELAY } else { PROBE_MARGIN };
        Time::from_secs_f64(2.0 * path.smoothed_rtt).saturating_add(margin)
    }

    /// The reordering or the probe timer has expired.
    pub(super) fn ring_alarm(&mut self, ledger: &mut Ledger, now: Time) {
        let Some(rack) = &mut ledger.rack else {
            self.alarm = Time::MAX;
            return;
        };
        if rack.probe_timer.is_some_and(|due| due <= now) {
            rack.probe_timer = None;
            rack.probe_due = true;
        }
        if rack.reorder_timer.is_some_and(|due| due <= now) {
            let found = self.detect(ledger, now);
            if found > 0 && self.phase == Phase::Open {
                self.enter_timed_recovery(ledger, now);
            }
            if found > 0 && self.phase == Phase::Recovery {
                self.reduce(ledger, 1.0, false);
            }
        }
        self.alarm = ledger.rack.as_ref().map_or(Time::MAX, Rack::alarm);
    }

    /// The probe to send, where one is due: new data, or the last packet again (RFC 8985 section
    /// 7.3). The retransmission timer starts anew.
    pub(super) fn take_probe(&mut self, ledger: &mut Ledger, now: Time) -> Option<Transmission> {
        let rack = ledger.rack.as_mut()?;
        let calm = self.phase == Phase::Open && self.lost == 0 && self.outstanding() > 0;
        if !std::mem::take(&mut rack.probe_due) || !calm {
            return None;
        }
        let fresh = self.send_another(now);
        let probe = fresh.unwrap_or(Transmission {
            packet: self.next - 1,
            again: true,
        });
        self.retransmissions += u64::from(fresh.is_none());
        rack.probe = Some(Probe {
            end: self.next,
            repeats: fresh.is_none(),
        });
        self.restart_timer(now);
        Some(probe)
    }

    /// RFC 8985 section 7.4: a repeated packet that arrived only once had been lost, and that is
    /// a congestion.
    fn judge_probe(&mut self, ledger: &mut Ledger, seen: &Seen) {
        let Some(rack) = &mut ledger.rack else {
            return;
        };
        let Some(probe) = rack.probe else {
            return;
        };
        if seen.duplicate {
            rack.probe = None;
        } else if self.unacknowledged >= probe.end {
            rack.probe = None;
            // The answer to the first transmission comes before the one to its repetition.
            let last = probe.end - 1;
            if probe.repeats && seen.packet == Some(last) && rack.latest.1 == last {
                self.congestion(Signal::Loss, seen.now);
            }
        }
    }

    /// RFC 8985 section 6.3 (and Linux): on a timeout the first packet is lost, and all that were
    /// sent a round trip ago; of these `packets`.
    pub(super) fn lose_by_timeout(&mut self, ledger: &mut Ledger, packets: Range<u64>, now: Time) {
        let Some(mut rack) = ledger.rack.take() else {
            return;
        };
        for packet in packets {
            if self.received.get(packet) {
                continue;
            }
            let sent = *ledger.sent.get(packet);
            let old = packet == self.expected
                || sent.time + rack.rtt <= now
                || rack.detection == Detection::Forward;
            if old && (!sent.lost || sent.repaired) {
                self.lose(ledger, &mut rack, packet);
            }
        }
        rack.probe = None;
        rack.probe_timer = None;
        rack.probe_due = false;
        rack.doubted = u64::MAX;
        rack.reorder_timer = None;
        self.alarm = Time::MAX;
        ledger.rack = Some(rack);
    }
}

/// An acknowledgement as recovery sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) now: Time,
    /// Packets it acknowledges in order.
    pub(super) acked: u64,
    /// The new packet that caused it.
    pub(super) packet: Option<u64>,
    /// Whether a packet caused it that had arrived before (a DSACK, RFC 2883).
    pub(super) duplicate: bool,
    pub(super) limited: bool,
}
