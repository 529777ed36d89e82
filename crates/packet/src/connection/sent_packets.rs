//! The sender's records of each packet in flight, if its recovery, its timestamps or its controller
//! need them: when the packet was sent and whether it arrived or was lost. The same structure holds
//! the parts that pace, gather and reduce. Senders that need none of this have no such records.

use forebay_congestion::packet::{Capabilities, Delivery, LostPacket, Requirements};
use forebay_congestion::segmentation::Segmentation;
use forebay_scenario::{Recovery, Stack};
use forebay_units::{Bytes, Time};

use super::delivery_rate::{Counts, RateSampler};
use super::offload::Offload;
use super::pacing::Pacer;
use super::path_telemetry::PathTelemetry;
use super::reduction::WindowReduction;
use super::ring::Ring;

/// The last transmission of a packet, and what recovery from such records thinks of it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not exclude each other"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) time: Time,
    /// Whether it was sent more than once: the answer may be to either (Karn).
    pub(super) repeated: bool,
    /// Whether it counts as lost.
    pub(super) lost: bool,
    /// Whether it was sent again since it was last found lost.
    pub(super) repaired: bool,
    /// Whether it ended a burst of segmentation offload (PSH).
    pub(super) pushed: bool,
}

/// When the packets were sent that an acknowledgment makes known to have arrived; of those only
/// that were sent once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendTimes {
    pub(super) first: Option<Time>,
    pub(super) last: Option<Time>,
}

/// The effect of an acknowledgment on the records, the marks and the scoreboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    pub(super) times: SendTimes,
    /// Packets that carried a mark.
    pub(super) marked: u32,
    /// Packets in flight before it.
    pub(super) prior_in_flight: f64,
}

/// How a packet leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) packet: u64,
    /// Whether it was sent before.
    pub(super) is_retransmission: bool,
    /// The lowest packet not acknowledged.
    pub(super) from: u64,
    /// Whether nothing was in flight.
    pub(super) idle: bool,
    /// Packets in flight, with this one.
    pub(super) in_flight: u64,
    /// Losses found so far, ever.
    pub(super) losses: u64,
}

/// The initial state of the records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<'a> {
    pub(super) needs: Requirements,
    pub(super) stack: &'a Stack,
    /// In a full packet.
    pub(super) payload: Bytes,
    /// Losses found in earlier transfers.
    pub(super) losses: u64,
}

/// The records of one sender.
#[derive(Clone, Debug)]
pub(super) struct SentPackets {
    pub(super) needs: Requirements,
    pub(super) sent: Ring<Sent>,
    rates: Option<RateSampler>,
    /// How the window falls in recovery; none where it falls at once.
    pub(super) reduction: Option<WindowReduction>,
    pub(super) pacer: Pacer,
    /// Whether the stack paces what the controller does not.
    pub(super) always_paced: bool,
    pub(super) offload: Option<Offload>,
    /// The statements of links in the packets, if the controller requires them.
    pub(super) telemetry: Option<PathTelemetry>,
    /// Packets that have arrived in this transfer.
    pub(super) delivered: u64,
    /// Losses that were reported to the controller, of all ever found.
    flow_stats: u64,
}

impl SentPackets {
    /// The records, for a sender that needs them.
    pub(super) fn new(setup: &Setup<'_>) -> Option<Box<Self>> {
        let &Setup {
            needs,
            stack,
            payload,
            losses,
        } = setup;
        let by_records = matches!(stack.recovery, Recovery::Fack | Recovery::Rack);
        let reduction = WindowReduction::new(stack.reduction());
        let asked = needs != Requirements::default();
        let wanted = asked || stack.timestamps || by_records || stack.pacing || reduction.is_some();
        let offload = || Offload::new(Segmentation::of(payload), stack.offload_grows);
        wanted.then(|| {
            Box::new(Self {
                needs,
                sent: Ring::default(),
                rates: (needs.samples == Capabilities::Rates).then(RateSampler::default),
                reduction,
                pacer: Pacer::new(),
                always_paced: stack.pacing,
                offload: (stack.offload && stack.recovery == Recovery::Rack).then(offload),
                telemetry: needs.telemetry.then(PathTelemetry::default),
                delivered: 0,
                flow_stats: losses,
            })
        })
    }

    /// A packet leaves.
    pub(super) fn on_send(&mut self, departure: &Departure, now: Time) {
        let &Departure {
            packet,
            is_retransmission,
            from,
            idle,
            in_flight,
            losses,
        } = departure;
        self.sent.reserve(from, packet, !is_retransmission);
        let sent = self.sent.get_mut(packet);
        *sent = Sent {
            time: now,
            repeated: is_retransmission,
            lost: is_retransmission && sent.lost,
            repaired: is_retransmission && sent.lost,
            pushed: false,
        };
        if let Some(rates) = &mut self.rates {
            if idle {
                rates.restart(now);
            }
            let counts = Counts {
                delivered: self.delivered,
                losses,
                in_flight,
            };
            rates.on_send(packet, from, is_retransmission, counts);
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.on_send();
        }
        self.pacer.on_send(now);
        if let Some(offload) = &mut self.offload {
            let ends = offload.on_send(now, is_retransmission);
            self.sent.get_mut(packet).pushed = ends;
        }
    }

    /// Nothing is left to send although the window would allow it.
    pub(super) fn mark_app_limited(&mut self, in_flight: u64) {
        if let Some(rates) = &mut self.rates {
            rates.mark_app_limited(self.delivered, in_flight);
        }
    }

    /// A packet is now known to have arrived.
    pub(super) fn on_arrival(&mut self, packet: u64, times: &mut SendTimes, now: Time) {
        let sent = *self.sent.get(packet);
        self.delivered += 1;
        if !sent.repeated {
            times.first = times.first.or(Some(sent.time));
            times.last = Some(sent.time);
        }
        if let Some(rates) = &mut self.rates {
            rates.on_arrival(packet, sent.time, now);
        }
    }

    /// A packet is found lost, the last of `losses` ever.
    pub(super) fn on_loss(&mut self, packet: u64, losses: u64) {
        if let Some(rates) = &mut self.rates {
            rates.on_loss(packet, losses);
        }
    }

    /// The packet found lost since the last call whose flight lost the largest share.
    pub(super) fn take_lost_packet(&mut self) -> Option<LostPacket> {
        self.rates.as_mut()?.take_lost_packet()
    }

    /// The delivery rate over the packets that arrived since the last call, of `losses` found ever.
    pub(super) fn delivery(&mut self, losses: u64, min_rtt: f64, now: Time) -> Option<Delivery> {
        let counts = Counts {
            delivered: self.delivered,
            losses,
            in_flight: 0,
        };
        self.rates.as_mut()?.sample(counts, min_rtt, now)
    }

    /// Losses found since the last report to the controller, by acknowledgments or a reordering
    /// timer. `losses` is the number of all losses ever found.
    pub(super) fn report(&mut self, losses: u64) -> u64 {
        losses - std::mem::replace(&mut self.flow_stats, losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(needs: Requirements, stack: &Stack) -> Setup<'_> {
        Setup {
            needs,
            stack,
            payload: Bytes::new(1448),
            losses: 3,
        }
    }

    #[test]
    fn only_who_asks_has_a_ledger() {
        let kept =
            |stack: &Stack| SentPackets::new(&setup(Requirements::default(), stack)).is_some();
        assert!(!kept(&Stack::RFC));
        for recovery in [Recovery::Fack, Recovery::Rack] {
            assert!(kept(&Stack {
                recovery,
                ..Stack::RFC
            }));
        }
        for stack in [
            Stack {
                timestamps: true,
                ..Stack::RFC
            },
            Stack {
                pacing: true,
                ..Stack::RFC
            },
            Stack {
                reduction: Some(forebay_scenario::Reduction::Prr),
                ..Stack::RFC
            },
        ] {
            assert!(kept(&stack));
        }
        let needs = Requirements {
            samples: Capabilities::RoundTrips,
            ..Requirements::default()
        };
        assert!(SentPackets::new(&setup(needs, &Stack::RFC)).is_some());
    }

    #[test]
    fn a_packet_sent_again_says_nothing_of_its_round_trip() {
        let needs = Requirements {
            samples: Capabilities::RoundTrips,
            ..Requirements::default()
        };
        let mut sent_packets = SentPackets::new(&setup(needs, &Stack::RFC)).unwrap();
        let mut at = 0;
        for (packet, is_retransmission) in
            [(1, false), (2, false), (3, false), (1, true), (3, true)]
        {
            at += 10;
            let departure = Departure {
                packet,
                is_retransmission,
                from: 1,
                idle: false,
                in_flight: 0,
                losses: 3,
            };
            sent_packets.on_send(&departure, Time::from_millis(at));
        }
        let mut times = SendTimes::default();
        for packet in 1..=3 {
            sent_packets.on_arrival(packet, &mut times, Time::from_millis(100));
        }
        let only = Some(Time::from_millis(20));
        assert_eq!((times.first, times.last), (only, only));
        assert_eq!(sent_packets.delivered, 3);
        assert_eq!((sent_packets.report(5), sent_packets.report(5)), (2, 0));
    }
}
