//! Flows as the simulation keeps them: a connection with its place on the network, or a source of
//! unresponsive packets.

use forebay_random::{Purpose, Seed, Stream, key_of};
use forebay_scenario::{FlowGroup, Law, Workload};
use forebay_units::{Bytes, Rate, Time};

use crate::calendar::Event;
use crate::connection::{Connection, Opening};
use crate::prefetch::prefetch;
use crate::reverse::RemoteReceiver;

/// What one flow did at the target link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
    pub(crate) delivered: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    /// Congestion events that hit it.
    pub(crate) events: u64,
}

impl Counts {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            arrived: self.arrived - earlier.arrived,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            events: self.events - earlier.events,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.dropped += other.dropped;
        self.delivered += other.delivered;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.events += other.events;
    }
}

/// A flow's own access link: packets leave it one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessLink {
    rate: Rate,
    busy_until: Time,
    /// Work that may wait; [`Time::MAX`] for an unlimited queue.
    most_work: Time,
}

impl AccessLink {
    pub(crate) fn new(group: &FlowGroup, wire: u32) -> Option<Self> {
        let access = group.access.as_ref()?;
        let transmission = access.rate.time_to_send(Bytes::new(u64::from(wire)));
        let most_work = access
            .queue
            .map_or(Time::MAX, |queue| transmission.saturating_mul(queue));
        Some(Self {
            rate: access.rate,
            busy_until: Time::ZERO,
            most_work,
        })
    }

    /// Whether a packet would be sent at once.
    pub(crate) fn idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// When a packet of `size` bytes reaches the network; `None` where the queue is full.
    pub(crate) fn pass(&mut self, now: Time, size: u32) -> Option<Time> {
        let ahead = self.busy_until.saturating_sub(now);
        if ahead > self.most_work {
            return None;
        }
        self.busy_until = now + ahead + self.rate.time_to_send(Bytes::new(u64::from(size)));
        Some(self.busy_until)
    }
}

/// A responsive flow. As in [`Connection`] the fields are in the order of need, in whole cache
/// lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) group: u32,
    /// Where its path begins among the stops.
    pub(crate) route: u32,
    /// Lane of its deliveries.
    pub(crate) lane: u32,
    /// Bytes of a full packet.
    pub(crate) wire: u32,
    /// From leaving the last link to the acknowledgement's arrival, or to that at the receiver.
    pub(crate) return_delay: Time,
    /// The receiver, where it does not live in the connection: its acknowledgements cross links.
    pub(crate) receiver: Option<Box<RemoteReceiver>>,
    /// When a timer event is due; [`Time::MAX`] for none.
    pub(crate) timer_at: Time,
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
    /// The last congestion event that hit it.
    pub(crate) seen_event: u64,
    /// Whether its packets go straight to the first link, all of one size and not recorded.
    pub(crate) direct: bool,
    pub(crate) delayed_ack_armed: bool,
    /// Whether a pacing event is due.
    pub(crate) pacing_armed: bool,
    pub(crate) stopped: bool,

    pub(crate) connection: Connection,

    /// Packets lost before the target link.
    pub(crate) lost_elsewhere: u64,
    /// Congestion events that hit it.
    pub(crate) events: u64,
    /// What arrived, and was lost here and elsewhere, before the current transfer.
    pub(crate) arrived_before: u64,
    pub(crate) dropped_before: u64,
    pub(crate) lost_elsewhere_before: u64,
    pub(crate) access: Option<AccessLink>,
    /// Lane of what leaves its access link, where that has one.
    pub(crate) access_lane: Option<u32>,
    /// Number within its group, for draws.
    pub(crate) index: u64,
    /// Number of the current transfer among its user's, or its open-loop group's.
    pub(crate) transfer: u64,
    /// When the current transfer began.
    pub(crate) since: Time,
    /// Counts at the end of the warm-up.
    pub(crate) before: Counts,
}

impl Flow {
    /// Its round trip without the delays between links.
    pub(crate) fn trip(&self) -> Time {
        let back = self.receiver.as_ref().map_or(Time::ZERO, |r| r.delay);
        self.return_delay + back
    }

    /// Has everything that a delivery may need fetched.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.group);
        self.connection.prefetch();
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            arrived: self.arrived,
            dropped: self.dropped,
            delivered: self.connection.delivered(),
            retransmissions: self.connection.retransmissions(),
            timeouts: self.connection.timeouts(),
            events: self.events,
        }
    }
}

/// Draws of one flow or transfer, from streams of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) seed: Seed,
    /// The group's [`key_of`]: adding a group leaves the others' draws alone.
    pub(crate) group_key: u64,
}

impl Draws {
    pub(crate) fn new(seed: Seed, group: &FlowGroup) -> Self {
        let group_key = key_of(&group.name);
        Self { seed, group_key }
    }

    /// The stream for `purpose` of the flow with this number in its group.
    pub(crate) fn stream(&self, index: u64, purpose: Purpose) -> Stream {
        Stream::new(self.seed, self.group_key.wrapping_add(index), purpose)
    }

    /// The stream for one transfer of a user.
    pub(crate) fn transfer(&self, index: u64, transfer: u64, purpose: Purpose) -> Stream {
        let key = self
            .group_key
            .wrapping_add(index)
            .wrapping_add(transfer.wrapping_mul(1 << 40));
        Stream::new(self.seed, key, purpose)
    }
}

/// Number of whole packets that a transfer of `size` payload takes.
pub(crate) fn packets_of(size: Bytes, payload: Bytes) -> u64 {
    size.get().div_ceil(payload.get().max(1)).max(1)
}

/// How a connection of this group begins, with `packets` to send; its controller draws from
/// `random`.
pub(crate) fn opening(group: &FlowGroup, packets: u64, random: Stream) -> Option<Opening> {
    let chosen = &group.controller;
    let controller = forebay_congestion::controller(chosen.name(), chosen.parameters(), random)?;
    let mut stack = group.stack;
    if !group.reverse.is_empty() {
        // Acknowledgements are delayed where they set out.
        stack.delayed_ack.packets = 1;
    }
    Some(Opening {
        stack,
        controller,
        packets,
    })
}

/// What kind of unresponsive traffic a source sends.
#[derive(Clone, Debug)]
enum Pattern {
    /// Exponential gaps with this mean in ticks.
    Poisson { mean: f64 },
    /// Equal gaps in ticks, the fraction carried.
    Cbr { gap: f64, carried: f64 },
    /// Bursts with this gap between packets, until `on_until`.
    OnOff {
        gap: Time,
        on: Law<Time>,
        off: Law<Time>,
        on_until: Time,
    },
}

/// A source of unresponsive packets: a whole group (Poisson, CBR) or one flow (on-off).
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) group: u32,
    pub(crate) lane: u32,
    /// First of its flows among the unresponsive flows, and how many there are.
    first: u32,
    flows: u32,
    turn: u32,
    pattern: Pattern,
    gaps: Stream,
    choice: Stream,
    sizes: Stream,
    pub(crate) until: Time,
}

impl Source {
    /// The sources of an unresponsive group, whose flows begin at `first`.
    pub(crate) fn of_group(group: &FlowGroup, number: u32, first: u32, draws: Draws) -> Vec<Self> {
        let packet_bits = group.packet.mean() * 8.0;
        let ticks = |rate: Rate| packet_bits / rate.as_bits_per_second() as f64 * 1e12;
        let source = |pattern: Pattern, first: u32, flows: u32, index: u64| Self {
            group: number,
            lane: 0,
            first,
            flows,
            turn: 0,
            pattern,
            gaps: draws.stream(index, Purpose::Interarrival),
            choice: draws.stream(index, Purpose::Discipline),
            sizes: draws.stream(index, Purpose::Packet),
            until: Time::MAX,
        };
        let count = group.count as u32;
        match &group.workload {
            Workload::Poisson { rate } => {
                vec![source(
                    Pattern::Poisson { mean: ticks(*rate) },
                    first,
                    count,
                    0,
                )]
            }
            Workload::Cbr { rate } => {
                vec![source(
                    Pattern::Cbr {
                        gap: ticks(*rate),
                        carried: 0.0,
                    },
                    first,
                    count,
                    0,
                )]
            }
            Workload::OnOff { peak, on, off } => (0..count)
                .map(|k| {
                    let gap = Time::from_picos((ticks(*peak) as u64).max(1));
                    let (on, off) = (on.clone(), off.clone());
                    let pattern = Pattern::OnOff {
                        gap,
                        on,
                        off,
                        on_until: Time::ZERO,
                    };
                    source(pattern, first + k, 1, u64::from(k))
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The time of the first packet of a source that starts at `start`.
    pub(crate) fn first_arrival(&mut self, start: Time) -> Time {
        match &mut self.pattern {
            Pattern::Poisson { mean } => {
                start.saturating_add(ticks_of(*mean * self.gaps.exponential()))
            }
            Pattern::Cbr { .. } => start,
            Pattern::OnOff { on, on_until, .. } => {
                *on_until = start.saturating_add(on.draw(0, 1, &mut self.gaps));
                start
            }
        }
    }

    /// The time of the packet after the one at `now`.
    #[inline]
    pub(crate) fn next_arrival(&mut self, now: Time) -> Time {
        match &mut self.pattern {
            Pattern::Poisson { mean } => {
                now.saturating_add(ticks_of(*mean * self.gaps.exponential()))
            }
            Pattern::Cbr { gap, carried } => {
                let exact = *gap + *carried;
                let whole = exact.floor().max(1.0);
                *carried = (exact - whole).max(0.0);
                now.saturating_add(Time::from_picos(whole as u64))
            }
            Pattern::OnOff {
                gap,
                on,
                off,
                on_until,
            } => {
                let mut next = now.saturating_add(*gap);
                let mut periods = 0;
                while next >= *on_until && periods < 1000 {
                    let start = on_until.saturating_add(off.draw(0, 1, &mut self.gaps));
                    *on_until = start.saturating_add(on.draw(0, 1, &mut self.gaps));
                    next = next.max(start);
                    periods += 1;
                }
                next.max(now.saturating_add(Time::from_picos(1)))
            }
        }
    }

    /// Which of the unresponsive flows sends the packet.
    #[inline]
    pub(crate) fn pick(&mut self) -> u32 {
        if self.flows == 1 {
            return self.first;
        }
        if let Pattern::Poisson { .. } = self.pattern {
            self.first + self.choice.below(u64::from(self.flows)) as u32
        } else {
            self.turn = (self.turn + 1) % self.flows;
            self.first + self.turn
        }
    }

    /// Bytes of the packet.
    #[inline]
    pub(crate) fn size(&mut self, group: &FlowGroup) -> u32 {
        match &group.packet {
            Law::Value(size) => size.get() as u32,
            law => law.draw(0, 1, &mut self.sizes).get() as u32,
        }
    }
}

fn ticks_of(ticks: f64) -> Time {
    Time::from_picos((ticks as u64).max(1))
}

/// Acknowledgements of a flow, all of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acks {
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
}

/// An unresponsive flow: only its counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unresponsive {
    pub(crate) group: u32,
    /// Where its path begins among the stops.
    pub(crate) route: u32,
    /// Whose acknowledgements these are, where they are any.
    pub(crate) acks: Option<Acks>,
    pub(crate) counts: Counts,
    pub(crate) bytes_delivered: u64,
    pub(crate) before: Counts,
    pub(crate) bytes_before: u64,
}

/// An event for a source.
pub(crate) fn source_event(time: Time, source: usize) -> Event {
    Event::new(time, crate::calendar::Kind::Source, source as u32, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a flow needs at least, whatever its controller; its scoreboard comes with losses.
    #[test]
    fn a_flow_fits_into_a_kilobyte() {
        let size = size_of::<Flow>();
        assert!(size <= 960, "{size}");
    }
}
