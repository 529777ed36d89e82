//! The network: links one behind the other, and what becomes of a packet that is offered to one.
//!
//! Every packet on its way, whichever end sent it, comes through [`Network::offer`]: the link takes
//! it, lets it wait or drops it. A packet that a link takes goes on ([`Hop::forward`]) to the next
//! hop, to its receiver or out of the simulation. Drops are counted in one place
//! ([`Network::drop`]). A policer drops packets before the link. The losses and delays of a medium
//! after a link are in `medium.rs`.
//!
//! A first-in-first-out link knows a packet's departure when the packet arrives, and the way from
//! there to the receiver and back is a constant delay. One event per data packet is therefore
//! enough: "the acknowledgment arrives". All of a flow's propagation delay is therefore placed
//! after the last link of its path; for the link this only shifts each sender's clock.

mod pausing;
mod routes;

pub use pausing::PauseState;

use forebay_discipline::Packet;
use forebay_scenario::{Scenario, Seed};
use forebay_units::Time;

use crate::calendar::event::{Event, Mark};
use crate::departure::{AtTheEnd, Loss, Onward, Recorded, cross};
use crate::ends::Ends;
use crate::flow::{Flows, InFlight};
use crate::hop::{Departing, Hop};
use crate::ids::{FlowId, LinkId};
use crate::link::host_timing::{HostTiming, InOrder};
use crate::link::medium::Medium;
use crate::link::memory::Memories;
use crate::link::policer::Policer;
use crate::link::queued::QueuedLink;
use crate::link::{Departures, Link, LinkSetup};
use crate::measure::recorder::{Observed, PacketOutcome, Recorder};
use crate::measured::Measured;
use crate::memory_place::Place;
use crate::pause::{LinkQueue, PauseControl};
use crate::refusal::{Refusal, TOO_MANY_WAIT, too_large, unsupported};
use crate::route_table::RouteTable;
use crate::telemetry::Telemetry;
use crate::timeline::Timeline;

/// The links and the paths over them.
#[derive(Debug)]
pub struct Network {
    /// All links, in the order of the scenario.
    pub links: Vec<Link>,
    /// Medium after each link, if it loses packets.
    media: Vec<Option<Medium>>,
    /// Policer before each link, if it has one.
    policers: Vec<Option<Policer>>,
    memories: Memories,
    /// The lossless queues, if there are some.
    pauses: Option<Box<PauseControl>>,
    /// The bytes sent of the links that state their load in packets, if there are some.
    telemetry: Option<Box<Telemetry>>,
    /// Queues that paused each other in a circle when the run ended.
    pub(crate) deadlock: Option<Vec<LinkQueue>>,
    /// Whether a packet may be lost before its link's discipline sees it: to a policer or for want
    /// of memory.
    has_admission: bool,
    /// Variation of the arrivals after each link.
    pub(crate) timings: Vec<HostTiming>,
    /// Order of the packets after each link with a shaper, where arrivals vary.
    orders: Vec<Option<InOrder>>,
    /// The hops of all groups' paths, one path behind the other.
    pub hops: Vec<Hop>,
    routes: RouteTable,
    /// The link that reports speak of.
    target: LinkId,
    recorded: Recorded,
    /// Departures from links whose disciplines hold what waits.
    pub departures: u64,
}

impl Network {
    /// The links of a scenario, simulated as `departures` says.
    pub(crate) fn new(
        scenario: &Scenario,
        (seed, departures): (Seed, Departures),
        timings: Vec<HostTiming>,
    ) -> Result<Self, Refusal> {
        let links = scenario.links().iter().enumerate().map(|(number, spec)| {
            let setup = LinkSetup {
                seed,
                number,
                scenario,
                departures,
            };
            Link::new(setup)
                .ok_or_else(|| unsupported(&format!("queue `{}`", spec.discipline.name())))
        });
        let mut links = links.collect::<Result<Vec<_>, _>>()?;
        let groups = scenario.flows().len();
        if groups > 1
            || scenario
                .flows()
                .iter()
                .any(|group| !group.reverse.is_empty())
        {
            // There is an account for each group, and one for acknowledgments, which belong to no
            // group's data.
            let target = links[scenario.target_index()].statistics_mut();
            target.keep_apart(groups + 1);
        }
        let end = scenario.run().end();
        let media = scenario.links().iter().enumerate();
        let media = media.map(|(number, spec)| Medium::new(spec, number, end, seed));
        let policers = scenario.links().iter();
        let policers: Vec<_> = policers
            .map(|spec| spec.policer.map(Policer::new))
            .collect();
        let memories = Memories::new(scenario);
        let pauses = PauseControl::new(scenario).map(Box::new);
        let mut network = Self {
            links,
            media: media.collect(),
            has_admission: !memories.is_empty()
                || pauses.is_some()
                || policers.iter().any(Option::is_some),
            policers,
            memories,
            pauses,
            telemetry: Telemetry::new(scenario).map(Box::new),
            deadlock: None,
            orders: InOrder::of_links(scenario, &timings),
            timings,
            hops: Vec::new(),
            routes: RouteTable::default(),
            target: LinkId::new(scenario.target_index()),
            recorded: Recorded::NONE,
            departures: 0,
        };
        for group in 0..groups {
            network.lay_group(scenario, group);
        }
        Ok(network)
    }

    /// From now on the recorder learns of each packet at the target link, or of none.
    pub(crate) fn record_packets(&mut self, each: bool) {
        self.recorded = if each {
            Recorded(self.target)
        } else {
            Recorded::NONE
        };
    }

    /// The link that reports speak of.
    pub fn target(&self) -> &Link {
        &self.links[self.target.index()]
    }

    /// The same, to look at what its discipline holds.
    pub fn target_mut(&mut self) -> &mut Link {
        &mut self.links[self.target.index()]
    }

    /// Share of the packets that the medium behind a link lost, where it loses some.
    pub(crate) fn medium_loss_rate(&self, link: usize) -> Option<f64> {
        self.media[link].as_ref()?.loss_rate()
    }

    /// Share of the packets that the policer in front of a link dropped, where it has one.
    pub(crate) fn policer_loss_rate(&self, link: usize) -> Option<f64> {
        self.policers[link].as_ref()?.loss_rate()
    }

    // --- A packet's way, from top to bottom ---

    /// A packet is offered to the link at its next hop. Every packet comes this way, at each of its
    /// hops; nearly all meet a drop-tail link, whose part is written out where the packet's sender
    /// calls.
    #[expect(
        clippy::inline_always,
        reason = "nearly every packet of a run comes from one caller, who knows its flow and hop"
    )]
    #[inline(always)]
    pub fn offer<E: Ends>(
        &mut self,
        packet: InFlight,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        let at = flows
            .transit(packet.flow)
            .route
            .hop(packet.hop, packet.number);
        let hop = self.hops[at];
        if hop.last
            && let FlowId::Unresponsive(flow) = packet.flow
        {
            flows[flow].last_hop_arrivals.add(packet.size);
        }
        let transit = flows.transit_mut(packet.flow);
        transit.arrived += u64::from(hop.link == self.target);
        let link = match &mut self.links[hop.link.index()] {
            Link::DropTail(link) => link,
            Link::Queued(link) if link.defers() => {
                link.deferred(hop.held(&packet, flows));
                return;
            }
            _ => {
                let offered = Offered {
                    packet: hop.held(&packet, flows),
                    at,
                    link: hop.link,
                };
                self.offer_to_discipline(&offered, flows, timeline);
                return;
            }
        };
        let Some(time) = link.arrive(packet.arrival, packet.size, hop.account) else {
            self.drop(packet, at, (flows, &mut timeline.recorder));
            return;
        };
        hop.forward(Departing { packet, time }, transit, &mut timeline.calendar);
        if hop.link == self.recorded.link() {
            let outcome = PacketOutcome::Departs(time, packet.mark);
            let observed = Observed { packet, outcome };
            timeline.recorder.record_packet(observed, flows);
        }
    }

    /// The same at a link with a memory or a discipline that has more to decide.
    #[inline(never)]
    fn offer_to_discipline<E: Ends>(
        &mut self,
        offered: &Offered,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        if self.has_admission && !self.admit(offered, flows, timeline) {
            return;
        }
        if let Link::Gated(link) = &mut self.links[offered.link.index()] {
            let account = self.hops[offered.at].account;
            let outcome = match link.arrive(&offered.packet, account) {
                Some((departure, marked)) => PacketOutcome::Departs(departure, Mark::of(marked)),
                None => PacketOutcome::Dropped,
            };
            self.record_outcome(offered, outcome, (flows, timeline));
        } else {
            self.enqueue(offered, flows, timeline);
        }
    }

    /// Whether a packet passes its link's policer and finds memory; else it is lost.
    #[cold]
    #[inline(never)]
    fn admit<E: Ends>(
        &mut self,
        offered: &Offered,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) -> bool {
        let packet = &offered.packet;
        if let Some(policer) = &mut self.policers[offered.link.index()]
            && !policer.passes(packet.arrival, packet.size)
        {
            self.police(offered, (flows, &mut timeline.recorder));
            return false;
        }
        let place = if self.memories.is_empty() {
            None
        } else {
            self.place(offered, flows, timeline)
        };
        let fits = place.is_none_or(|place| place.fits);
        let has_memory = match self.pauses {
            None => fits,
            Some(_) => self.has_headroom((offered, place), flows, timeline),
        };
        if has_memory && !self.memories.is_empty() {
            self.memories.count(offered.link, packet.size, true);
        }
        if !has_memory {
            self.links[offered.link.index()].refuse();
            if self.pauses.is_some() {
                self.count_lossless(offered, flows);
            }
            self.record_outcome(offered, PacketOutcome::Dropped, (flows, timeline));
        }
        has_memory
    }

    /// The place of a packet in the memory of its link, if it has one. Longest queues lose packets
    /// for it if they must.
    #[inline(never)]
    fn place<E: Ends>(
        &mut self,
        offered: &Offered,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) -> Option<Place> {
        let now = offered.packet.arrival;
        self.catch_up(now, flows, timeline);
        let short_alpha = if self.memories.has_ages(offered.link) {
            let transfer = flows.transfer(InFlight::of(&offered.packet).flow);
            let arriving = (&offered.packet, offered.link);
            self.memories.short_alpha(arriving, transfer)
        } else {
            None
        };
        loop {
            let pauses = self.pauses.as_deref();
            let headroom = |link| pauses.map_or(0, |pauses| pauses.headroom_of(link));
            let arriving = (&offered.packet, offered.link, short_alpha);
            let place = self.memories.place(arriving, &mut self.links, headroom)?;
            let Some(longest) = place.longest else {
                return Some(place);
            };
            if let Some((link, mut sink)) = self.onward(longest, flows, timeline) {
                link.push_out(now, &mut sink);
            }
        }
    }

    /// Completes an offered packet: it goes on, or its loss is counted.
    #[inline(never)]
    fn record_outcome<E: Ends>(
        &mut self,
        offered: &Offered,
        outcome: PacketOutcome,
        (flows, timeline): (&mut Flows<E>, &mut Timeline<'_>),
    ) {
        let packet = InFlight::of(&offered.packet);
        match outcome {
            PacketOutcome::Departs(time, mark) => {
                let packet = InFlight { mark, ..packet };
                let medium = self.media[offered.link.index()].as_mut();
                let departing = Departing { packet, time };
                cross(medium, self.hops[offered.at], departing, (flows, timeline));
            }
            PacketOutcome::Dropped => {
                self.drop(packet, offered.at, (flows, &mut timeline.recorder));
                return;
            }
            PacketOutcome::Waits => {}
        }
        if offered.link == self.recorded.link() {
            let observed = Observed { packet, outcome };
            timeline.recorder.record_packet(observed, flows);
        }
    }

    /// A packet joins the queue of a link whose discipline holds what waits.
    #[inline]
    fn enqueue<E: Ends>(
        &mut self,
        offered: &Offered,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        let (at, now) = (offered.link, offered.packet.arrival);
        let recorded = at == self.recorded.link();
        if recorded {
            self.record_outcome(offered, PacketOutcome::Waits, (flows, timeline));
        }
        let watched = recorded || self.has_admission;
        if let Link::Queued(link) = &mut self.links[at.index()] {
            if link.arrive(&offered.packet, at, &mut timeline.calendar) {
                self.catch_up_link(at, now, (flows, timeline));
            } else if !watched {
                link.defer_more();
            }
        }
    }

    /// Packets that have left a link whose discipline holds what waits are soon to arrive
    /// elsewhere.
    #[inline]
    pub(crate) fn depart<E: Ends>(
        &mut self,
        event: Event,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) -> Result<(), Refusal> {
        let (at, now) = (event.link(), event.time);
        // A packet that leaves at this very instant has left: departures come last among
        // simultaneous events.
        let after = now.saturating_add(Time::from_picos(1));
        self.catch_up_link(at, after, (flows, timeline));
        if let Link::Queued(link) = &mut self.links[at.index()] {
            if link.overfull() {
                return Err(too_large(TOO_MANY_WAIT));
            }
            link.rearm(at, &mut timeline.calendar);
        }
        Ok(())
    }

    /// All that has left any link before `now` has consequences by then.
    pub(crate) fn catch_up<E: Ends>(
        &mut self,
        now: Time,
        flows: &mut Flows<E>,
        timeline: &mut Timeline<'_>,
    ) {
        for at in 0..self.links.len() {
            self.catch_up_link(LinkId::new(at), now, (flows, timeline));
        }
    }

    /// The same of one link.
    #[inline(never)]
    fn catch_up_link<E: Ends>(
        &mut self,
        at: LinkId,
        now: Time,
        (flows, timeline): (&mut Flows<E>, &mut Timeline<'_>),
    ) {
        let Some((link, mut sink)) = self.onward(at, flows, timeline) else {
            return;
        };
        let left = if sink.telemetry.is_some() {
            link.catch_up(now, &mut Measured(&mut sink))
        } else {
            link.catch_up(now, &mut sink)
        };
        link.arm(at, &mut sink.timeline.calendar);
        self.departures += left;
    }

    /// The link of this number, if its discipline holds what waits, and the destination of its
    /// packets.
    #[inline]
    fn onward<'a, 's, E: Ends>(
        &'a mut self,
        at: LinkId,
        flows: &'a mut Flows<E>,
        timeline: &'a mut Timeline<'s>,
    ) -> Option<(&'a mut QueuedLink, Onward<'a, 's, E>)> {
        let Link::Queued(link) = &mut self.links[at.index()] else {
            return None;
        };
        let pauses = self.pauses.as_deref_mut();
        let memories = &mut self.memories;
        let sink = Onward {
            at,
            memories: memories.has_cells(at).then_some(memories),
            medium: self.media[at.index()].as_mut(),
            order: self.orders[at.index()].as_mut(),
            hops: &self.hops,
            target: self.target,
            recorded: self.recorded,
            pauses: pauses.filter(|pauses| pauses.is_lossless(at) || pauses.may_pause(at.index())),
            telemetry: self.telemetry.as_deref_mut().and_then(|it| it.sent(at)),
            flows,
            timeline,
        };
        Some((link, sink))
    }

    /// A packet is lost when it arrives. It is recorded first: its ends forget what is lost.
    #[cold]
    #[inline(never)]
    fn drop<E: Ends>(
        &self,
        packet: InFlight,
        at: usize,
        (flows, recorder): (&mut Flows<E>, &mut Recorder<'_>),
    ) {
        let hop = &self.hops[at];
        if hop.link == self.recorded.link() {
            let outcome = PacketOutcome::Dropped;
            recorder.record_packet(Observed { packet, outcome }, flows);
        }
        let loss = Loss {
            packet,
            now: packet.arrival,
            counts: true,
            last: hop.last,
            at_target: hop.link == self.target,
        };
        let hit = loss.count(flows, recorder);
        if hit
            && let FlowId::Responsive(flow) = packet.flow
            && let Link::DropTail(link) = &self.links[hop.link.index()]
            && let Some(phase) = link.phase(packet.arrival)
        {
            recorder.loss_phases.add(flow, phase);
        }
    }

    /// A packet is lost in front of its link: it has not arrived there, and no queue has dropped
    /// it.
    fn police<E: Ends>(
        &self,
        offered: &Offered,
        (flows, recorder): (&mut Flows<E>, &mut Recorder<'_>),
    ) {
        let packet = InFlight::of(&offered.packet);
        let transit = flows.transit_mut(packet.flow);
        transit.arrived -= u64::from(offered.link == self.target);
        let loss = Loss {
            packet,
            now: packet.arrival,
            counts: true,
            last: self.hops[offered.at].last,
            at_target: false,
        };
        loss.count(flows, recorder);
    }

    // --- By the clock ---

    /// The warm-up ends: counting restarts.
    pub(crate) fn finish_warmup(&mut self, now: Time) {
        for link in &mut self.links {
            link.restart(now);
        }
        for medium in self.media.iter_mut().flatten() {
            medium.restart(now);
        }
        for policer in self.policers.iter_mut().flatten() {
            policer.restart();
        }
        if let Some(pauses) = &mut self.pauses {
            pauses.restart(now);
        }
    }

    /// The run ends: the waits of what is still queued are those it would have if nothing more
    /// arrived.
    pub(crate) fn finish<E: Ends>(
        &mut self,
        end: Time,
        flows: &Flows<E>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Refusal> {
        if self.links.iter().any(Link::overfull) {
            return Err(too_large(TOO_MANY_WAIT));
        }
        self.check_pauses();
        self.find_deadlock();
        self.note_paused_hosts(flows);
        for (at, link) in self.links.iter_mut().enumerate() {
            if let Link::Queued(link) = link {
                let pauses = self.pauses.as_deref_mut();
                let mut sink = AtTheEnd {
                    hops: &self.hops,
                    at: LinkId::new(at),
                    pauses: pauses.filter(|pauses| pauses.may_pause(at)),
                    recorder: (at == self.target.index()).then_some(&mut *recorder),
                    flows,
                };
                link.finish(end, &mut sink);
            }
        }
        Ok(())
    }
}

/// A packet that is offered at this one of all hops, whose link that is. Like the structures below
/// it exists for calls: what is passed in memory is put together where a rare call needs it, and
/// nearly all packets pass in registers.
#[derive(Clone, Copy, Debug)]
struct Offered {
    packet: Packet,
    at: usize,
    link: LinkId,
}
