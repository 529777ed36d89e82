//! A link whose discipline holds the packets that wait: what leaves next is known only when the
//! packet before has left. Nobody asks for that at once: departures are caught up with when the next
//! packet arrives, and when the first that has left in the meantime could arrive elsewhere.

use forebay_discipline::{Backlog, Packet, Port, Queue, Shared};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::event::Event;
use crate::ids::{LaneId, LinkId};
use crate::statistics::{Account, LinkStatistics};
use crate::transmitter::Transmitter;

/// The most packets that may wait: 4 GB of 32 bytes each.
const MAX_WAITING: u64 = 1 << 27;

/// A link with its discipline.
#[derive(Clone, Debug)]
pub(crate) struct QueuedLink {
    queue: Queue,
    port: Port,
    transmitter: Transmitter,
    /// Packets waiting, summed over the ticks up to `summed_until`.
    occupancy: u128,
    summed_until: Time,
    /// Lane of its events in the calendar.
    pub(crate) lane: LaneId,
    /// How long after a departure its event may come: all ways from here are longer.
    pub(crate) slack: Time,
    /// Whether an event is in the calendar.
    pub(crate) armed: bool,
    /// Measured transmission time, once the run has ended.
    busy_at_end: Option<Time>,
    pub(crate) statistics: LinkStatistics,
}

/// A packet goes into transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) packet: Packet,
    pub(crate) departure: Time,
}

impl QueuedLink {
    pub(crate) fn new(queue: Queue, transmitter: Transmitter, port: Port) -> Self {
        Self {
            queue,
            port,
            transmitter,
            occupancy: 0,
            summed_until: Time::ZERO,
            lane: LaneId::default(),
            slack: Time::ZERO,
            armed: false,
            busy_at_end: None,
            statistics: LinkStatistics::new(),
        }
    }

    /// A packet arrives. Where the link is idle the caller must let it serve.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: &Packet) {
        self.statistics.arrivals += 1;
        self.sum(packet.arrival);
        self.port.now = packet.arrival;
        self.queue.enqueue(*packet, &mut self.port);
        let drops = self.count();
        if drops > 0 {
            let arrivals = self.statistics.arrivals;
            self.statistics.bursts.at_arrival(arrivals, drops);
        }
    }

    /// Sees that there is an event by which the packet in transmission has left, where there is one.
    #[inline]
    pub(crate) fn arm(&mut self, number: LinkId, calendar: &mut Calendar) {
        if !self.armed {
            self.push_event(number, calendar);
        }
    }

    #[inline(never)]
    fn push_event(&mut self, number: LinkId, calendar: &mut Calendar) {
        if !self.idle() {
            self.armed = true;
            let due = self.departure().saturating_add(self.slack);
            calendar.push_delivery(self.lane, Event::departure(due, number));
        }
    }

    /// Whether nothing is in transmission.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.port.idle_since.is_some()
    }

    /// Whether more packets wait than a run may keep.
    #[inline]
    pub(crate) fn overfull(&self) -> bool {
        self.queue.backlog().packets > MAX_WAITING
    }

    /// The time of the last call.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.port.now
    }

    /// When the packet in transmission will have left, or when the last one had.
    #[inline]
    fn departure(&self) -> Time {
        self.transmitter.busy_until
    }

    /// Whether the next packet was to go into transmission before `now`, or that of an idle link at once.
    #[inline]
    pub(crate) fn is_behind(&self, now: Time) -> bool {
        if self.idle() {
            self.queue.backlog().packets > 0
        } else {
            self.departure() < now
        }
    }

    /// The packet in transmission, if there is one, has left: the next one goes.
    #[inline]
    pub(crate) fn serve(&mut self) -> Option<Service> {
        let idle = self.idle();
        let now = if idle { self.now() } else { self.departure() };
        self.serve_at(now, idle)
    }

    #[expect(clippy::inline_always, reason = "a call would pass the packet in memory")]
    #[inline(always)]
    fn serve_at(&mut self, now: Time, was_idle: bool) -> Option<Service> {
        self.sum(now);
        self.port.now = now;
        let packet = self.queue.dequeue(&mut self.port);
        let drops = self.count();
        if drops > 0 && self.busy_at_end.is_none() {
            self.statistics.bursts.at_departure(drops);
        }
        let Some(packet) = packet else {
            self.port.idle_since.get_or_insert(now);
            return None;
        };
        self.port.idle_since = None;
        let departure = self.transmitter.take(now, packet.size, was_idle);
        Some(Service { packet, departure })
    }

    /// The wait of the packet that has just gone into transmission goes to an account.
    #[inline]
    pub(crate) fn count_wait(&mut self, packet: &Packet, account: Account) {
        if packet.arrival >= self.statistics.since {
            let wait = self.port.now - packet.arrival;
            self.statistics.accepted(account, wait);
        }
    }

    /// Whether the discipline has discarded packets.
    #[inline]
    pub(crate) fn has_discarded(&self) -> bool {
        !self.port.discards.is_empty()
    }

    /// The next packet that the discipline discarded.
    #[inline]
    pub(crate) fn discarded(&mut self) -> Option<Packet> {
        self.port.discards.pop()
    }

    /// Takes over what the discipline has counted since; says how many it dropped.
    #[inline]
    fn count(&mut self) -> u64 {
        if self.port.discards.is_empty() && self.port.marks == 0 {
            return 0;
        }
        let since = self.statistics.since;
        let counted = |packet: &&Packet| packet.arrival >= since;
        let drops = self.port.discards.iter().filter(counted).count() as u64;
        self.statistics.drops += drops;
        self.statistics.marks += std::mem::take(&mut self.port.marks);
        drops
    }

    #[inline]
    fn sum(&mut self, now: Time) {
        let waiting = u128::from(self.queue.backlog().packets);
        self.occupancy += waiting * u128::from((now - self.summed_until).as_picos());
        self.summed_until = now;
    }

    /// The end of the run: the sums end here, but the waits of what is still here are those it
    /// would have if nothing more arrived. Tells the fate of each and learns its account.
    pub(crate) fn finish(
        &mut self,
        end: Time,
        mut fate: impl FnMut(&Packet, Option<Time>) -> Account,
    ) {
        self.sum(end);
        self.busy_at_end = Some(self.transmitter.busy(end));
        let (occupancy, drops, marks) =
            (self.occupancy, self.statistics.drops, self.statistics.marks);
        while !self.idle() {
            let now = self.transmitter.busy_until.max(end);
            if let Some(service) = self.serve_at(now, false) {
                let account = fate(&service.packet, Some(service.departure));
                self.count_wait(&service.packet, account);
            }
            while let Some(packet) = self.discarded() {
                fate(&packet, None);
            }
        }
        self.occupancy = occupancy;
        self.statistics.drops = drops;
        self.statistics.marks = marks;
    }

    /// Time spent transmitting until `now`.
    pub(crate) fn busy(&self, now: Time) -> Time {
        self.busy_at_end
            .unwrap_or_else(|| self.transmitter.busy(now))
    }

    /// Time until everything here has left.
    pub(crate) fn backlog(&self, now: Time) -> Time {
        let backlog = self.queue.backlog();
        let waiting = self
            .transmitter
            .time_to_send(backlog.packets, backlog.bytes);
        self.transmitter
            .busy_until
            .saturating_sub(now)
            .saturating_add(waiting)
    }

    /// Packets waiting, without the one in transmission. A departure due now has happened.
    pub(crate) fn waiting(&self, now: Time) -> u64 {
        let packets = self.queue.backlog().packets;
        packets - u64::from(packets > 0 && self.transmitter.busy_until <= now)
    }

    /// Packets and bytes waiting.
    pub(crate) fn what_waits(&self) -> Backlog {
        self.queue.backlog()
    }

    /// What waits in the memory that the next arrival shares with other links.
    pub(crate) fn share(&mut self, shared: Shared) {
        self.port.shared = Some(shared);
    }

    /// The warm-up ends: counting starts anew.
    pub(crate) fn restart(&mut self, now: Time) {
        self.occupancy = 0;
        self.summed_until = now;
        self.port.since = now;
        let busy = self.busy(now);
        self.statistics.restart(now, busy);
    }

    /// Packets waiting, summed over the ticks from the warm-up's end to the end of the run.
    pub(crate) fn occupancy(&self) -> u128 {
        self.occupancy
    }
}
