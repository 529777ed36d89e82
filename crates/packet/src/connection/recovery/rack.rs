//! RACK-TLP (RFC 8985): a packet is lost when one sent later has arrived and a reordering window
//! has passed; a probe follows the last packets.
//!
//! Links reorder no packets of a flow, except if their delay falls. Therefore the reordering window
//! never adapts (RFC 8985 section 7.2, DSACK), and three arrivals above a hole close it at once.
//! Sprayed packets overtake each other by design: their window is the largest of the RFC from the
//! beginning, a smoothed round trip, and no arrivals close it.

use std::num::NonZeroU64;

use forebay_congestion::packet::{CongestionEvent, LossState};
use forebay_scenario::Stack;
use forebay_units::Time;

use super::algorithm::{Algorithm, DUP_THRESHOLD, Genuine};
use super::records::{self, Entry, Records};
use crate::connection::ack::AckEvent;
use crate::connection::control_block::ControlBlock;
use crate::connection::reduction::SafeAck;
use crate::connection::sender::Transmission;
use crate::connection::timers::Timer;

/// The time that Linux adds to a probe timeout for the coarseness of its timers (TCP_TIMEOUT_MIN).
const PROBE_MARGIN: Time = Time::from_millis(2);

/// The delay of a lone packet's acknowledgment that a probe allows for (RFC 8985 section 7.2 and
/// Linux: the minimum RTO).
const LONE_ACK_DELAY: Time = Time::from_millis(200);

/// The probe timeout before the first round-trip time (RFC 8985 section 7.2).
const FIRST_PROBE: Time = Time::from_secs(1);

/// A tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Everything below was sent when the probe was.
    end: u64,
    /// Whether it repeats a packet; new data needs no verdict.
    repeats: bool,
}

/// The state of RACK-TLP.
#[derive(Clone, Debug)]
pub(in crate::connection) struct Rack {
    /// When the packet sent last among the arrived ones was sent, and its number.
    latest: (Time, u64),
    /// Its round trip.
    rtt: Time,
    /// Whether packets are sprayed.
    reorders: bool,
    records: Records,
    probe: Option<Probe>,
    /// Whether a probe must leave now.
    probe_due: bool,
    /// The packet whose answer may be to either transmission, as F-RTO has it.
    spurious_candidate: Option<NonZeroU64>,
}

impl Rack {
    pub(super) fn new(stack: &Stack, first: u64) -> Self {
        Self {
            latest: (Time::ZERO, 0),
            rtt: Time::ZERO,
            reorders: stack.reorders,
            records: Records::new(first),
            probe: None,
            probe_due: false,
            spurious_candidate: None,
        }
    }

    /// RFC 8985 section 6.2 step 2: the packet sent last among those that arrived.
    fn on_arrivals(&mut self, control: &ControlBlock, ack: &AckEvent) {
        for packet in ack.arrivals() {
            let Some(sent) = control.sent(packet) else {
                return;
            };
            let rtt = ack.now.saturating_sub(sent.time);
            let spurious_candidate = self.spurious_candidate.is_some()
                && self.spurious_candidate == NonZeroU64::new(packet);
            if spurious_candidate || sent.repeated && rtt.as_secs_f64() < ack.min_rtt {
                // The answer is to an earlier transmission, or may be.
                continue;
            }
            if (sent.time, packet) > self.latest {
                self.latest = (sent.time, packet);
                self.rtt = rtt;
            }
        }
    }

    /// Finds lost packets (RFC 8985 section 6.2 step 5); how many.
    fn detect(&mut self, control: &mut ControlBlock, now: Time) -> u64 {
        let (rack_timeout, latest) = (self.rack_timeout(control), self.latest);
        let mut reordering: Option<Time> = None;
        let found = self.records.detect(control, |candidate| {
            if (candidate.time, candidate.packet) >= latest {
                return false;
            }
            let due = candidate.time + rack_timeout;
            if due > now {
                reordering = Some(reordering.map_or(due, |timer| timer.min(due)));
            }
            due <= now
        });
        match reordering {
            Some(due) => control.sender.timers.set(Timer::Reordering, due),
            None => control.sender.timers.stop(Timer::Reordering),
        }
        found
    }

    /// How long after its sending a packet may be overtaken: the round trip and the reordering
    /// window (RFC 8985 section 6.2 step 4).
    fn rack_timeout(&self, control: &ControlBlock) -> Time {
        let path = &control.sender.round_trip.path;
        if self.reorders {
            return self
                .rtt
                .saturating_add(Time::from_secs_f64(path.smoothed_rtt));
        }
        let many = control.scoreboard.sacked >= DUP_THRESHOLD;
        if many || control.sender.state != LossState::Open {
            return self.rtt;
        }
        let window = (0.25 * path.min_rtt).min(path.smoothed_rtt);
        self.rtt.saturating_add(Time::from_secs_f64(window))
    }

    /// RFC 8985 section 6.3 (and Linux): on a timeout the first packet is lost, and all that were
    /// sent a round trip ago. The timers restart with what is sent.
    fn lose_by_timeout(
        &mut self,
        control: &mut ControlBlock,
        packets: std::ops::Range<u64>,
        now: Time,
    ) {
        let (lowest, rtt) = (control.receiver.last_ack_sent(), self.rtt);
        self.records.mark_lost(control, packets, |packet, sent| {
            packet == lowest || sent.time + rtt <= now
        });
        self.probe = None;
        self.probe_due = false;
        self.spurious_candidate = None;
        control.sender.timers.stop(Timer::Probe);
        control.sender.timers.stop(Timer::Reordering);
    }

    // --- Tail loss probes ---

    /// A packet leaves.
    pub(super) fn on_send(
        &mut self,
        control: &mut ControlBlock,
        transmission: Transmission,
        now: Time,
    ) {
        self.records.on_send(transmission, control.sender.next, now);
        self.schedule_probe(control, now);
    }

    /// Sets the probe timer where a tail might be lost unseen (RFC 8985 section 7.2).
    fn schedule_probe(&self, control: &mut ControlBlock, now: Time) {
        let sender = &control.sender;
        let wanted = sender.state == LossState::Open
            && control.scoreboard.sacked == 0
            && sender.outstanding() > 0
            && !sender.connecting()
            && self.probe.is_none();
        let due = wanted.then(|| now.saturating_add(probe_timeout(control)));
        // The retransmission timer is never put off by a probe.
        match due.filter(|due| *due < sender.timers.retransmission()) {
            Some(due) => control.sender.timers.set(Timer::Probe, due),
            None => control.sender.timers.stop(Timer::Probe),
        }
    }

    /// The reordering or the probe timer may have expired.
    pub(super) fn on_timer(&mut self, control: &mut ControlBlock, now: Time) {
        if control.sender.timers.expired(Timer::Probe, now) {
            control.sender.timers.stop(Timer::Probe);
            self.probe_due = true;
        }
        if control.sender.timers.expired(Timer::Reordering, now) {
            let found = self.detect(control, now);
            if found > 0 && control.sender.state == LossState::Open {
                self.enter_recovery(control, now);
            }
            if found > 0 && control.sender.state == LossState::Recovery {
                control.reduce(1, SafeAck::No);
            }
        }
    }

    fn enter_recovery(&mut self, control: &mut ControlBlock, now: Time) {
        records::enter_recovery(control, now);
        self.probe = None;
    }

    /// The probe to send, where one is due: new data, or the last packet again (RFC 8985 section
    /// 7.3). The retransmission timer restarts.
    pub(super) fn take_probe(
        &mut self,
        control: &mut ControlBlock,
        now: Time,
    ) -> Option<Transmission> {
        let due = std::mem::take(&mut self.probe_due);
        let sender = &mut control.sender;
        let calm = sender.state == LossState::Open && control.scoreboard.lost == 0;
        if !due || !calm || sender.outstanding() == 0 {
            return None;
        }
        let fresh = sender.send_another(now);
        let probe = fresh.unwrap_or_else(|| sender.retransmit(sender.next - 1));
        self.probe = Some(Probe {
            end: sender.next,
            repeats: fresh.is_none(),
        });
        sender.restart_timer(now);
        Some(probe)
    }

    /// RFC 8985 section 7.4: a repeated packet that arrived only once had been lost, and that is
    /// a congestion.
    fn process_tlp_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        let Some(probe) = self.probe else {
            return;
        };
        if ack.duplicate() {
            self.probe = None;
        } else if control.sender.unacknowledged >= probe.end {
            self.probe = None;
            // The answer to the first transmission comes before the one to its repetition.
            let last = probe.end - 1;
            if probe.repeats && ack.packet == Some(last) && self.latest.1 == last {
                control.sender.congestion(CongestionEvent::Loss, ack.now);
            }
        }
    }
}

fn probe_timeout(control: &ControlBlock) -> Time {
    let path = &control.sender.round_trip.path;
    if path.smoothed_rtt == 0.0 {
        return FIRST_PROBE;
    }
    let lone = control.sender.outstanding() == 1;
    let margin = if lone { LONE_ACK_DELAY } else { PROBE_MARGIN };
    Time::from_secs_f64(2.0 * path.smoothed_rtt).saturating_add(margin)
}

impl Algorithm for Rack {
    /// RFC 8985 section 6.2.
    fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        self.on_arrivals(control, ack);
        records::settle(control, ack);
        let found = self.detect(control, ack.now);
        self.process_tlp_ack(control, ack);
        if records::react(control, ack, found) == Entry::Begins {
            self.probe = None;
        }
        self.schedule_probe(control, ack.now);
    }

    fn on_timeout(&mut self, control: &mut ControlBlock, now: Time) {
        let packets = control.receiver.last_ack_sent()..control.sender.next;
        self.lose_by_timeout(control, packets, now);
    }

    fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, now: Time) {
        let first = control.sender.unacknowledged;
        self.lose_by_timeout(control, first..first + 1, now);
        // Until the next timeout its arrival does not tell when it was sent.
        self.spurious_candidate = NonZeroU64::new(first);
    }

    fn on_genuine_timeout(&mut self, control: &mut ControlBlock, genuine: Genuine, now: Time) {
        let packets = genuine.missing(control.receiver.last_ack_sent());
        self.lose_by_timeout(control, packets, now);
    }

    fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        self.records.repeat_first(control, packet)
    }

    fn next_packet(&mut self, control: &mut ControlBlock, now: Time) -> Option<Transmission> {
        self.records.next_packet(control, now)
    }
}
