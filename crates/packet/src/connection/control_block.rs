//! The state of a connection that loss recovery reads and changes: its sender, its receiver, the
//! scoreboard and the records of packets. RFC 9293 section 3.3.1 calls it the transmission control
//! block.

use forebay_congestion::packet::{Capabilities, LossState, Pace, Sample};
use forebay_units::Time;

use super::ack::AckEvent;
use super::offload::Readiness;
use super::receiver::Receiver;
use super::reduction::{RecoveryAck, SafeAck, WindowReduction};
use super::scoreboard::Scoreboard;
use super::sender::{FastPath, Sender, Transmission};
use super::sent_packets::{Arrivals, Departure, SendTimes, Sent, SentPackets};

/// The state before a packet was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendState {
    /// The lowest packet not acknowledged.
    pub(super) from: u64,
    /// Whether nothing was in flight.
    pub(super) idle: bool,
}

/// The reason that holds a packet back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendLimit {
    /// Nothing so far.
    No,
    /// It is paced: so long.
    Pace(Time),
    /// The window, or a part of it too small for a burst.
    Window,
}

/// All of a connection but its loss recovery.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct ControlBlock {
    pub(super) receiver: Receiver,
    pub(super) scoreboard: Scoreboard,
    pub(super) sender: Sender,
    /// The records of each packet, if recovery, timestamps or the controller need them.
    pub(super) sent_packets: Option<Box<SentPackets>>,
}

impl ControlBlock {
    /// Decides how short the way of a packet in order is.
    pub(super) fn choose_path(&mut self) {
        self.sender.fast_path = if self.sender.connecting() || self.sent_packets.is_some() {
            FastPath::Off
        } else if self.receiver.delays() {
            FastPath::Delayed
        } else {
            FastPath::Immediate
        };
    }

    /// The packets in flight as far as the sender knows.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.scoreboard.in_flight(self.sender.outstanding())
    }

    /// Whether the window has no room for one more packet in flight.
    pub(super) fn window_is_full(&self) -> bool {
        self.in_flight() as f64 + 1.0 > self.sender.window.cwnd
    }

    // --- Acknowledgments ---

    /// The cumulative acknowledgment moves to what the receiver expects; the retransmission timer
    /// restarts where that is further.
    pub(super) fn advance(&mut self, ack: &AckEvent) {
        self.sender.advance_to(self.receiver.rcv_nxt());
        if ack.acked > 0 {
            self.sender.restart_timer(ack.now);
        }
    }

    /// The last transmission of a packet, if it is recorded.
    #[inline]
    pub(super) fn sent(&self, packet: u64) -> Option<Sent> {
        self.sent_packets
            .as_ref()
            .map(|sent_packets| *sent_packets.sent.get(packet))
    }

    /// A packet, or its repetition, is found lost by the records.
    pub(super) fn lose(&mut self, packet: u64) {
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let sent = sent_packets.sent.get_mut(packet);
        if !sent.lost {
            sent.lost = true;
            self.scoreboard.lost += 1;
        } else if sent.repaired {
            self.scoreboard.repairing -= 1;
        }
        sent.repaired = false;
        self.sender.totals.losses += 1;
        sent_packets.on_loss(packet, self.sender.totals.losses);
    }

    /// The controller has received the signal of a timeout, so the losses of that timeout count as
    /// reported.
    pub(super) fn report_losses(&mut self) {
        if let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.report(self.sender.totals.losses);
            sent_packets.take_lost_packet();
        }
    }

    /// Reads from the records when the packets were sent that an acknowledgment makes known to have
    /// arrived.
    pub(super) fn look_up(&mut self, ack: &AckEvent) -> SendTimes {
        let mut times = SendTimes::default();
        if let Some(sent_packets) = &mut self.sent_packets {
            ack.arrivals()
                .for_each(|packet| sent_packets.on_arrival(packet, &mut times, ack.now));
        }
        times
    }

    /// Hands a sample to a controller that asks for it.
    pub(super) fn sample(&mut self, ack: &AckEvent, arrivals: &Arrivals) {
        let in_flight = self.in_flight() as f64;
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        if sent_packets.needs.samples == Capabilities::None {
            return;
        }
        let (sender, now) = (&mut self.sender, ack.now);
        let path = &sender.round_trip.path;
        let rtt = arrivals.times.last.map(|sent| now.saturating_sub(sent));
        let losses = sender.totals.losses;
        let sample = Sample {
            now,
            rtt: rtt.map(Time::as_secs_f64),
            arrived: ack.arrived() as f64,
            lost: sent_packets.report(losses) as f64,
            lost_packet: sent_packets.take_lost_packet(),
            marked: f64::from(arrivals.marked),
            acknowledged: sender.unacknowledged,
            next: sender.next,
            prior_in_flight: arrivals.prior_in_flight,
            in_flight,
            delivered: sent_packets.delivered,
            losses,
            state: sender.state,
            limited: ack.limited,
            held: sent_packets.pacer.held(now),
            delivery: sent_packets.delivery(losses, path.min_rtt, now),
        };
        sender
            .controller
            .on_sample(&mut sender.window, &sample, path);
    }

    // --- The window in recovery ---

    /// Fast recovery begins. The window falls at once, or as the stack reduces it.
    pub(super) fn enter_recovery(&mut self, now: Time) {
        let before = self.sender.window.cwnd;
        self.sender.enter_recovery(now);
        if let Some(reduction) = reduction(&mut self.sent_packets) {
            reduction.begin(before, &mut self.sender.window);
        }
    }

    /// The window after an acknowledgment in recovery with which `delivered` packets arrived.
    pub(super) fn reduce(&mut self, delivered: u64, safe: SafeAck) {
        if self.sent_packets.is_none() {
            return;
        }
        let (in_flight, floor) = (self.in_flight(), self.recovery_floor());
        if let Some(reduction) = reduction(&mut self.sent_packets) {
            let ack = RecoveryAck {
                delivered: delivered as f64,
                pipe: in_flight as f64,
                safe: safe == SafeAck::Yes,
                floor,
            };
            reduction.on_ack(&mut self.sender.window, &ack);
        }
    }

    /// The window after recovery.
    pub(super) fn end_reduction(&mut self) {
        let (in_flight, floor) = (self.in_flight(), self.recovery_floor());
        if let Some(reduction) = reduction(&mut self.sent_packets) {
            reduction.end(&mut self.sender.window, in_flight as f64, floor);
        }
    }

    /// The window below which rate halving takes nothing away, packets.
    fn recovery_floor(&self) -> f64 {
        let Sender {
            controller, window, ..
        } = &self.sender;
        controller.recovery_floor(window).max(1.0)
    }

    // --- Sending ---

    /// How things stand.
    pub(super) fn before(&self) -> SendState {
        SendState {
            from: self.sender.unacknowledged,
            idle: self.sender.outstanding() == 0,
        }
    }

    /// Whether pacing or gathering holds back what the window may allow.
    pub(super) fn send_limit(&mut self, now: Time) -> SendLimit {
        let pacer = self
            .sent_packets
            .as_ref()
            .map(|sent_packets| &sent_packets.pacer);
        let pause = pacer.and_then(|pacer| pacer.pause(now));
        match pause.filter(|_| !self.sender.urgent) {
            Some(until) if !self.window_is_full() => return SendLimit::Pace(until),
            None if !self.defers(now) => return SendLimit::No,
            _ => {}
        }
        // The window limits, though not all of it may be used.
        self.sender.hide_limit();
        SendLimit::Window
    }

    /// Sets the pace that the controller asks for, or the stack.
    pub(super) fn set_pace(&mut self) {
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let sender = &self.sender;
        let path = &sender.round_trip.path;
        let asked = sender.controller.pacing(&sender.window, path);
        let own = || {
            let rate = sender.own_rate();
            let burst = sent_packets
                .offload
                .as_ref()
                .map(|offload| offload.burst(rate));
            Pace {
                rate,
                quantum: burst.unwrap_or(1.0),
            }
        };
        let measured = sent_packets.always_paced && path.smoothed_rtt > 0.0;
        let pace = asked.or_else(|| measured.then(own));
        sent_packets.pacer.set_pace(pace);
    }

    /// Whether new data waits until segmentation offload has a burst together; what is sent again
    /// never does.
    fn defers(&mut self, now: Time) -> bool {
        let in_flight = self.in_flight();
        let sender = &self.sender;
        let Some(sent_packets) = self.sent_packets.as_deref_mut() else {
            return false;
        };
        let Some(offload) = &mut sent_packets.offload else {
            return false;
        };
        let rtt = sender.round_trip.path.smoothed_rtt;
        let quota = (sender.window.cwnd - in_flight as f64).floor();
        if rtt == 0.0 || quota < 1.0 || sender.unsent() == 0 {
            return false;
        }
        let waiting = sender.outstanding() > 0;
        let oldest = waiting.then(|| sent_packets.sent.get(sender.unacknowledged).time);
        let paced = sent_packets.pacer.quantum();
        let burst = paced.unwrap_or_else(|| offload.burst(sender.own_rate()));
        let ready = Readiness {
            now,
            quota,
            unsent: sender.unsent() as f64,
            next: sender.next,
            cwnd: sender.window.cwnd,
            burst,
            rtt,
            oldest,
        };
        if sender.state == LossState::Open {
            return offload.defers(&ready);
        }
        offload.begin_if_idle(&ready);
        false
    }

    /// A packet leaves; `before` is the state without it.
    pub(super) fn note_departure(
        &mut self,
        transmission: Transmission,
        before: SendState,
        now: Time,
    ) {
        let in_flight = self.in_flight();
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let departure = Departure {
            packet: transmission.packet,
            is_retransmission: transmission.is_retransmission,
            from: before.from,
            idle: before.idle,
            in_flight,
            losses: self.sender.totals.losses,
        };
        sent_packets.on_send(&departure, now);
    }

    /// Nothing may leave: because of the window, where pacing or gathering hides that, or because
    /// there is nothing.
    pub(super) fn note_silence(&mut self) {
        if self.window_is_full() {
            self.sender.hide_limit();
        } else {
            let in_flight = self.in_flight();
            if let Some(sent_packets) = &mut self.sent_packets {
                sent_packets.mark_app_limited(in_flight);
            }
        }
    }

    /// Whether the invariants hold.
    pub(super) fn consistent(&self) -> bool {
        let Self {
            receiver,
            scoreboard,
            sender,
            ..
        } = self;
        let unknown = sender.highest - sender.unacknowledged;
        sender.unacknowledged <= receiver.rcv_nxt()
            && sender.consistent()
            && scoreboard.consistent()
            && receiver.out_of_order() + scoreboard.lost <= unknown + receiver.unsacked_packets()
    }
}

/// How the window falls in recovery, where that is neither at once nor for the controller to say.
fn reduction(sent_packets: &mut Option<Box<SentPackets>>) -> Option<&mut WindowReduction> {
    let sent_packets = sent_packets.as_deref_mut()?;
    let own = sent_packets.needs.own_recovery;
    sent_packets.reduction.as_mut().filter(|_| !own)
}
