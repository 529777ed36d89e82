//! The way of packets after a queue: to the next hop, to the receiver, or to the counts of losses.
//! The network passes the departures and discards of links with a discipline here.

use forebay_units::Time;

use crate::ends::{Direction, Ends};
use crate::flow::{Flows, InFlight};
use crate::hop::{Departing, Hop};
use crate::ids::{FlowId, HopNumber, LinkId};
use crate::link::host_timing::{InOrder, Lead};
use crate::link::medium::Medium;
use crate::link::memory::Memories;
use crate::link::queued::{Departures, Discarded, Service};
use crate::link::statistics::Account;
use crate::measure::recorder::{Observed, PacketOutcome, Recorder};
use crate::pause::{MaybeHeld, PauseControl};
use crate::timeline::Timeline;

/// A packet that is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub(crate) packet: InFlight,
    pub(crate) now: Time,
    /// Whether it arrived since the warm-up.
    pub(crate) counts: bool,
    /// Whether that was the last link of its path.
    pub(crate) last: bool,
    pub(crate) at_target: bool,
}

impl Loss {
    /// A packet is lost: the one place where that is counted. Losses are those of packets that
    /// arrived since the warm-up, so that no more are lost than arrived. Says whether a new
    /// congestion event hits the flow.
    pub(crate) fn count<E: Ends>(self, flows: &mut Flows<E>, recorder: &mut Recorder<'_>) -> bool {
        let Self {
            counts, at_target, ..
        } = self;
        match self.packet.flow {
            FlowId::Responsive(flow) => {
                let flow = &mut flows[flow];
                flow.ends.lose(self.packet.number, Direction::Data);
                if at_target {
                    let transit = &mut flow.transit;
                    transit.dropped += u64::from(counts);
                    let hit = recorder.loss(transit.group, self.now, &mut transit.seen_event);
                    flow.congestion_events += u64::from(hit);
                    return hit;
                }
                flow.drops_off_target += 1;
            }
            FlowId::Unresponsive(flow) => {
                let flow = &mut flows[flow];
                flow.transit.dropped += u64::from(at_target && counts);
                if self.last && counts {
                    flow.last_hop_drops.add(self.packet.size);
                }
                if let Some(of) = flow.acks_of {
                    let number = self.packet.number;
                    flows[of].ends.lose(number, Direction::Acknowledgment);
                }
            }
        }
        false
    }
}

/// A packet that has left a link: on its way from there, or lost on the medium.
#[inline]
pub(crate) fn cross<E: Ends>(
    medium: Option<&mut Medium>,
    hop: Hop,
    mut departing: Departing,
    (flows, timeline): (&mut Flows<E>, &mut Timeline<'_>),
) {
    let packet = departing.packet;
    if let Some(medium) = medium {
        if medium.loses(packet.arrival, departing.time) {
            let loss = Loss {
                packet,
                now: departing.time,
                counts: medium.counts(packet.arrival),
                last: hop.last,
                // No queue has dropped it.
                at_target: false,
            };
            loss.count(flows, &mut timeline.recorder);
            return;
        }
        departing.time = departing.time.saturating_add(medium.later(departing.time));
    }
    let transit = flows.transit(packet.flow);
    hop.forward(departing, transit, &mut timeline.calendar);
}

/// The destination of packets that leave a queue.
pub(crate) struct Onward<'a, 's, E> {
    pub(crate) at: LinkId,
    /// The medium after the link, if it loses packets.
    pub(crate) medium: Option<&'a mut Medium>,
    /// Order of its packets, where hosts vary and bursts could change it.
    pub(crate) order: Option<&'a mut InOrder>,
    pub(crate) hops: &'a [Hop],
    pub(crate) target: LinkId,
    pub(crate) recorded: Recorded,
    /// The memories, if packets of the link occupy cells.
    pub(crate) memories: Option<&'a mut Memories>,
    /// The lossless queues, if the link has one or may be paused.
    pub(crate) pauses: Option<&'a mut PauseControl>,
    /// The bytes that the link has sent, if it states its load in packets.
    pub(crate) telemetry: Option<&'a mut u64>,
    pub(crate) flows: &'a mut Flows<E>,
    pub(crate) timeline: &'a mut Timeline<'s>,
}

impl<E: Ends> Onward<'_, '_, E> {
    #[inline(never)]
    fn settle(&mut self, packet: InFlight, outcome: PacketOutcome, now: Time) {
        let observed = Observed { packet, outcome };
        let recorder = &mut self.timeline.recorder;
        recorder.settle_packet(observed, now, self.flows);
    }

    /// A packet of a group no longer waits. Says whether its queue is lossless.
    #[inline(never)]
    fn release(&mut self, packet: InFlight, group: u16, now: Time) -> bool {
        let before = before(self.hops, packet, self.flows);
        let Some(pauses) = &mut self.pauses else {
            return false;
        };
        let ingoing = pauses.ingoing(self.at, (packet.flow, group), before);
        if let Some(ingoing) = ingoing {
            let calendar = &mut self.timeline.calendar;
            let memories = self.memories.as_ref();
            let size = memories.map_or(packet.size, |it| it.occupied(self.at, packet.size));
            pauses.release(ingoing, (size, now), calendar);
        }
        ingoing.is_some()
    }
}

impl<E: Ends> Onward<'_, '_, E> {
    /// A packet of a group leaves, which a pause of the link may have held.
    #[inline(never)]
    fn note_held(&mut self, packet: InFlight, group: u16) {
        if let Some(pauses) = &mut self.pauses
            && let Some(held) = maybe_held(packet.flow, group, self.flows)
        {
            pauses.note_packet(pauses.place(self.at, group), packet.arrival, held);
        }
    }
}

/// A flow of a group as one that a pause may hold; none for acknowledgments.
pub(crate) fn maybe_held<E: Ends>(flow: FlowId, group: u16, flows: &Flows<E>) -> Option<MaybeHeld> {
    let transfer = match flow {
        FlowId::Responsive(flow) => flows[flow].transfer.number,
        FlowId::Unresponsive(flow) => flows[flow].acks_of.is_none().then_some(0)?,
    };
    Some(MaybeHeld {
        flow,
        group,
        transfer,
    })
}

/// The link before the one at which a packet is, if there is one on its path.
pub(crate) fn before<E: Ends>(hops: &[Hop], packet: InFlight, flows: &Flows<E>) -> Option<LinkId> {
    let at = flows
        .transit(packet.flow)
        .route
        .hop(packet.hop, packet.number);
    (packet.hop != HopNumber::FIRST).then(|| hops[at - 1].link)
}

impl<E: Ends> Departures for Onward<'_, '_, E> {
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn send(&mut self, service: &Service) -> Account {
        let packet = InFlight::of(&service.packet);
        let time = service.departure;
        if let Some(memories) = &mut self.memories {
            memories.count(self.at, packet.size, false);
        }
        if self.pauses.is_some() {
            self.release(packet, service.packet.group(), service.start);
            self.note_held(packet, service.packet.group());
        }
        if self.at == self.recorded.link() {
            self.timeline.recorder.start_packet(service.start);
            self.settle(packet, PacketOutcome::Departs(time, packet.mark), time);
        }
        let mut hop = self.hops[self
            .flows
            .transit(packet.flow)
            .route
            .hop(packet.hop, packet.number)];
        let mut departing = Departing { packet, time };
        if let Some(order) = &mut self.order
            && let Some(latest) = hop.latest_after(packet, self.flows.transit(packet.flow))
        {
            departing.time = order.varied(hop.lead, time, packet.size, latest);
            hop.lead = Lead::ZERO;
        }
        let medium = self.medium.as_deref_mut();
        cross(medium, hop, departing, (self.flows, self.timeline));
        hop.account
    }

    fn discard(&mut self, discarded: &Discarded) {
        let packet = InFlight::of(&discarded.packet);
        if let Some(memories) = &mut self.memories {
            memories.count(self.at, packet.size, false);
        }
        if self.pauses.is_some()
            && self.release(packet, discarded.packet.group(), discarded.now)
            && discarded.counts
            && let Some(pauses) = &mut self.pauses
        {
            pauses.lose(self.at);
        }
        if self.at == self.recorded.link() {
            self.settle(packet, PacketOutcome::Dropped, discarded.now);
        }
        let hop = self
            .flows
            .transit(packet.flow)
            .route
            .hop(packet.hop, packet.number);
        let loss = Loss {
            packet,
            now: discarded.now,
            counts: discarded.counts,
            last: self.hops[hop].last,
            at_target: self.at == self.target,
        };
        loss.count(self.flows, &mut self.timeline.recorder);
    }
}

/// Where packets go from a queue once the run has ended: their fates are recorded, and no more.
pub(crate) struct AtTheEnd<'a, 'r, 's, E> {
    pub(crate) hops: &'a [Hop],
    pub(crate) at: LinkId,
    /// The lossless queues, if the link may be paused.
    pub(crate) pauses: Option<&'r mut PauseControl>,
    /// Where this is the target link.
    pub(crate) recorder: Option<&'r mut Recorder<'s>>,
    pub(crate) flows: &'a Flows<E>,
}

impl<E: Ends> AtTheEnd<'_, '_, '_, E> {
    fn settle(&mut self, packet: InFlight, outcome: PacketOutcome, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.settle_packet(Observed { packet, outcome }, now, self.flows);
        }
    }
}

impl<E: Ends> Departures for AtTheEnd<'_, '_, '_, E> {
    fn send(&mut self, service: &Service) -> Account {
        let packet = InFlight::of(&service.packet);
        let departure = service.departure;
        if let Some(pauses) = &mut self.pauses
            && let Some(held) = maybe_held(packet.flow, service.packet.group(), self.flows)
        {
            let place = pauses.place(self.at, service.packet.group());
            pauses.note_packet(place, packet.arrival, held);
        }
        self.settle(
            packet,
            PacketOutcome::Departs(departure, packet.mark),
            departure,
        );
        let route = self.flows.transit(packet.flow).route;
        self.hops[route.hop(packet.hop, packet.number)].account
    }

    fn discard(&mut self, discarded: &Discarded) {
        let packet = InFlight::of(&discarded.packet);
        self.settle(packet, PacketOutcome::Dropped, discarded.now);
    }
}

/// The link whose packets are recorded, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded(pub(crate) LinkId);

impl Recorded {
    /// There is none: no link has this number.
    pub(crate) const NONE: Self = Self(LinkId::new(usize::MAX));

    #[inline]
    pub(crate) fn link(self) -> LinkId {
        self.0
    }
}
