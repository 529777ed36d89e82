//! Links of any kind; the network offers packets to them. If packets leave first in, first out, a
//! packet's departure is known when it arrives ([`fifo`], [`admission_link`]). A discipline that
//! holds its packets has an event for each departure ([`queued`]).

pub(crate) mod admission_link;
pub(crate) mod bursts;
pub(crate) mod delivery_trace;
pub(crate) mod drain_time;
pub(crate) mod fifo;
pub(crate) mod flow_ages;
pub(crate) mod flush_on_outage;
pub(crate) mod host_timing;
pub(crate) mod media;
pub(crate) mod medium;
pub(crate) mod memory;
pub(crate) mod pauses;
pub(crate) mod piecewise_rate;
pub(crate) mod policer;
pub(crate) mod queued;
pub(crate) mod scheduler;
pub(crate) mod service_curve;
pub(crate) mod shaper;
pub(crate) mod statistics;
pub(crate) mod token_bucket;
pub(crate) mod transmitter;

use std::borrow::Cow;
use std::sync::Arc;

use forebay_discipline::{
    Admission, Backlog, ClassSetting, Classes, Discipline, Packet, Port, Queue, Setting, Shared,
    discipline,
};
use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Distribution, Link as LinkSpec, Scenario};
use forebay_units::{Opportunities, Rate, RateSteps, Time};

use crate::link::admission_link::GatedLink;
use crate::link::fifo::{FifoLink, limit_of};
use crate::link::medium::Medium;
use crate::link::queued::QueuedLink;
use crate::link::scheduler::Scheduler;
use crate::link::statistics::LinkStatistics;
use crate::link::transmitter::{Transmitter, Usage};
use crate::pause::{may_be_paused, takes_part};
use crate::telemetry::states_load;

/// Any link.
// Each packet asks which it is: a tag of its own is quicker to compare than a niche.
#[derive(Clone, Debug)]
#[repr(u8)]
#[expect(
    clippy::large_enum_variant,
    reason = "the common link is not behind a pointer"
)]
pub enum Link {
    /// Drop-tail behind no policer and in front of a medium that loses nothing: nothing to decide.
    DropTail(FifoLink),
    /// Departures known at arrival.
    Gated(Box<GatedLink>),
    /// A discipline that holds its packets.
    Queued(Box<QueuedLink>),
}

/// How a link is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Without events of their own where they are known at arrival.
    Folded,
    /// As an event each, whatever the discipline.
    Events,
}

/// The parameters with which a link is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSetup<'a> {
    pub(crate) seed: Seed,
    /// The link's number, in the scenario and for its draws.
    pub(crate) number: usize,
    pub(crate) scenario: &'a Scenario,
    pub(crate) departures: Departures,
}

impl Link {
    /// The link of this number; `None` where its discipline has no such name.
    pub(crate) fn new(setup: LinkSetup<'_>) -> Option<Self> {
        let spec = &setup.scenario.links()[setup.number];
        let overhead = spec.overhead();
        let end = setup.scenario.run().end();
        let steps = spec.realized(setup.seed, setup.number, end);
        let mut random = Stream::new(setup.seed, setup.number as u64, Purpose::Discipline);
        let packet = setup.scenario.packet_bytes().max(1.0);
        // The rate at which bytes leave as they are counted in the queue, without framing; a shaper
        // sends no faster for long than its own, whatever the line behind it does.
        let share = packet / (packet + f64::from(overhead));
        let counted = |rate: Rate| {
            let rate = spec.shaper.map_or(rate, |shaper| rate.min(shaper.rate));
            let bits = rate.as_bits_per_second() as f64 * share;
            Rate::from_bits_per_second(bits.max(1.0) as u64)
        };
        let setting = Setting {
            limit: limit_of(spec.buffer),
            rate: counted(spec.rate),
            steps: measurable(spec, steps.as_deref()).map(|steps| steps.map(counted).into()),
            delay: spec.delay,
            packet,
            salt: random.bits(),
        };
        let chosen = if spec.classes.is_empty() {
            discipline(
                spec.discipline.name(),
                spec.discipline.parameters(),
                &setting,
            )?
        } else {
            Discipline::Queued(Queue::Classes(classes(spec, &setup, &setting)?))
        };
        let transmitter = Transmitter::of(spec, steps);
        let uniform = uniform_size(setup.scenario);
        let port = Port::new(random);
        let turns = Scheduler::of(
            spec,
            &transmitter,
            (setup.seed, setup.number, end),
            setup.scenario.largest_packet(setup.number),
        );
        let departures = match turns {
            Some(_) => Departures::Events,
            None if takes_part(setup.scenario, setup.number) => Departures::Events,
            None if shares_departures(&setup) => Departures::Events,
            None if states_load(setup.scenario, setup.number) => Departures::Events,
            None => setup.departures,
        };
        Some(match (chosen, departures) {
            (Discipline::AtArrival(Admission::DropTail(_)), Departures::Folded)
                if spec.memory.is_none() && !Medium::any(spec) && spec.policer.is_none() =>
            {
                Self::DropTail(FifoLink::new(transmitter, spec.buffer, uniform))
            }
            (Discipline::AtArrival(admission), Departures::Folded) => {
                // A discipline asks for each packet what waits: at a rate that changes records tell
                // it sooner.
                let uniform = uniform.filter(|_| !spec.changes());
                let fifo = FifoLink::new(transmitter, spec.buffer, uniform);
                Self::Gated(Box::new(GatedLink::new(fifo, admission, port)))
            }
            (chosen, _) => {
                let queue = chosen.queued(&setting);
                let paused = may_be_paused(setup.scenario, setup.number);
                let classes = if paused { spec.classes.len() } else { 0 };
                let link = QueuedLink::new(queue, transmitter, port).with_turns(turns);
                Self::Queued(Box::new(link.with_paused_classes(classes)))
            }
        })
    }

    /// The transmitter of its packets, if each packet takes a time of its own.
    pub(crate) fn transmitter(&self) -> Option<&Transmitter> {
        match self {
            Self::DropTail(link) => Some(link.transmitter()),
            Self::Gated(link) => Some(link.fifo.transmitter()),
            Self::Queued(link) => link.transmitter(),
        }
    }

    /// The transmitter that follows its rate over time, also if a medium sends in its own way.
    pub(crate) fn line(&self) -> &Transmitter {
        match self {
            Self::DropTail(link) => link.transmitter(),
            Self::Gated(link) => link.fifo.transmitter(),
            Self::Queued(link) => link.line(),
        }
    }

    /// The counts of the link.
    pub fn statistics(&self) -> &LinkStatistics {
        match self {
            Self::DropTail(link) => &link.statistics,
            Self::Gated(link) => &link.fifo.statistics,
            Self::Queued(link) => link.statistics(),
        }
    }

    pub(crate) fn statistics_mut(&mut self) -> &mut LinkStatistics {
        match self {
            Self::DropTail(link) => &mut link.statistics,
            Self::Gated(link) => &mut link.fifo.statistics,
            Self::Queued(link) => link.statistics_mut(),
        }
    }

    /// Whether each departure is an event.
    pub fn has_departures(&self) -> bool {
        matches!(self, Self::Queued(_))
    }

    /// Whether arrivals and departures are deferred until a caller needs them.
    pub fn defers_arrivals(&self) -> bool {
        matches!(self, Self::Queued(link) if link.slack > Time::ZERO)
    }

    /// Packets that a discipline holds and whose departure is not known yet.
    pub fn held(&self) -> u64 {
        match self {
            Self::DropTail(_) | Self::Gated(_) => 0,
            Self::Queued(link) => link.what_waits().packets,
        }
    }

    /// The usage until `now`.
    pub fn usage(&self, now: Time) -> Usage {
        match self {
            Self::DropTail(link) => link.usage(now),
            Self::Gated(link) => link.fifo.usage(now),
            Self::Queued(link) => link.usage(now),
        }
    }

    /// Whether more packets wanted to wait than there may be records of: the run is void.
    pub(crate) fn overfull(&self) -> bool {
        match self {
            Self::DropTail(link) => link.overfull(),
            Self::Gated(link) => link.fifo.overfull(),
            Self::Queued(link) => link.overfull(),
        }
    }

    /// Time until everything here has left.
    pub fn backlog(&self, now: Time) -> Time {
        match self {
            Self::DropTail(link) => link.backlog(now),
            Self::Gated(link) => link.fifo.backlog(now),
            Self::Queued(link) => link.backlog(now),
        }
    }

    /// Packets waiting, without the one in transmission.
    pub fn waiting(&self, now: Time) -> u64 {
        match self {
            Self::DropTail(link) => link.waiting(now).0,
            Self::Gated(link) => link.fifo.waiting(now).0,
            Self::Queued(link) => link.waiting(now),
        }
    }

    /// Packets and bytes waiting, without the one in transmission.
    pub(crate) fn what_waits(&mut self, now: Time) -> Backlog {
        match self {
            Self::DropTail(link) => link.found(now, 0).backlog,
            Self::Gated(link) => link.fifo.found(now, 0).backlog,
            Self::Queued(link) => link.what_waits(),
        }
    }

    /// Whether a packet is sent as it arrives.
    pub(crate) fn sends_at_once(&self, packet: &Packet) -> bool {
        let now = packet.arrival;
        match self {
            Self::DropTail(link) => link.backlog(now) == Time::ZERO,
            Self::Gated(link) => link.fifo.backlog(now) == Time::ZERO,
            Self::Queued(link) => link.sends_at_once(packet.group()),
        }
    }

    /// Tells a discipline about the memory that its link shares.
    pub(crate) fn share(&mut self, shared: Shared) {
        match self {
            Self::DropTail(_) => {}
            Self::Gated(link) => link.share(shared),
            Self::Queued(link) => link.share(shared),
        }
    }

    /// A packet arrives for which there is no memory.
    pub(crate) fn refuse(&mut self) {
        self.statistics_mut().refused();
    }

    /// Packets waiting, without the one in transmission, in few steps.
    pub fn count_waiting(&mut self, now: Time) -> u64 {
        match self {
            Self::DropTail(link) => link.count_waiting(now),
            Self::Gated(link) => link.fifo.count_waiting(now),
            Self::Queued(link) => link.waiting(now),
        }
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        match self {
            Self::DropTail(link) => link.restart(now),
            Self::Gated(link) => link.fifo.restart(now),
            Self::Queued(link) => link.restart(now),
        }
    }

    /// Packets waiting, summed over the ticks from the warm-up's end to `end`.
    pub fn occupancy(&self, end: Time) -> u128 {
        match self {
            Self::DropTail(link) => link.occupancy(end),
            Self::Gated(link) => link.fifo.occupancy(end),
            Self::Queued(link) => link.occupancy(),
        }
    }
}

/// Whether the memory of a link needs to know of each departure.
fn shares_departures(setup: &LinkSetup<'_>) -> bool {
    let memory = setup.scenario.links()[setup.number].memory;
    memory.is_some_and(|number| setup.scenario.memories()[number].needs_departures())
}

/// The classes of a link.
fn classes(spec: &LinkSpec, setup: &LinkSetup<'_>, setting: &Setting) -> Option<Classes> {
    let classes = spec.classes.iter().enumerate().map(|(at, class)| {
        let packet = setup.scenario.class_packet_bytes(setup.number, at);
        ClassSetting {
            discipline: class.discipline.name(),
            parameters: class.discipline.parameters(),
            weight: class.weight,
            priority: class.priority,
            limit: class.buffer.map(limit_of),
            packet: packet.max(1.0),
        }
    });
    let classes: Vec<_> = classes.collect();
    let of_groups = setup.scenario.flows().iter();
    let of_groups = of_groups.map(|group| spec.class_of(&group.name).unwrap_or_default() as u8);
    let all = Classes::of(spec.discipline.parameters(), setting, &classes)?;
    Some(all.for_groups(of_groups.collect()))
}

/// Whether packets that leave a link one after the other arrive one after the other, after a
/// constant delay.
pub fn in_turn(link: &LinkSpec) -> bool {
    link.opportunities().is_none() && link.delays.is_none()
}

/// Whether packets leave this link at certain instants only.
pub fn takes_turns(link: &LinkSpec) -> bool {
    Scheduler::are_of(link)
}

/// Whether a link whose departures are known at arrival keeps a record of each packet.
pub fn is_counted(scenario: &Scenario, at: usize) -> bool {
    let spec = &scenario.links()[at];
    let transmitter = Transmitter::of(spec, None);
    let link = FifoLink::new(transmitter, spec.buffer, uniform_size(scenario));
    spec.changes() || link.is_counted()
}

/// The rate that a discipline would measure at its link: opportunities count as their average over
/// a time.
fn measurable<'a>(spec: &LinkSpec, steps: Option<&'a RateSteps>) -> Option<Cow<'a, RateSteps>> {
    let smoothed = |list: &Arc<Opportunities>| list.smoothed(Opportunities::WINDOW).map(Cow::Owned);
    steps
        .map(Cow::Borrowed)
        .or_else(|| spec.opportunities().and_then(smoothed))
}

/// The one packet size of the scenario, where there is only one.
fn uniform_size(scenario: &Scenario) -> Option<u32> {
    let mut size = None;
    for group in scenario.flows() {
        let Distribution::Value(packet) = &group.packet else {
            return None;
        };
        if !group.reverse.is_empty() {
            return None;
        }
        if (group.responsive() && group.stack.handshake) || size.is_some_and(|size| size != *packet)
        {
            return None;
        }
        size = Some(*packet);
    }
    size.map(|size| size.get() as u32)
}
