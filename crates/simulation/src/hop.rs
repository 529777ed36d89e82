//! One hop of a path: a link, and what is after it. The network forwards packets along hops.

use forebay_discipline::{Label, Packet};
use forebay_units::Time;

use crate::calendar::Calendar;
use crate::calendar::event::{Event, Kind, KindNumber, Mark};
use crate::ends::Ends;
use crate::flow::{Flows, InFlight, Transit};
use crate::ids::{FlowId, LaneId, LinkId};
use crate::link::host_timing::Lead;
use crate::link::statistics::Account;

/// One hop of a group's path: a link, and what is behind it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// Lane of the packets that go on from here to the next hop.
    pub lane: LaneId,
    /// The latest arrival there after a departure; at the last link the latest one at the hosts
    /// beyond their delay.
    pub latest: Time,
    /// Whether the receiver is behind this link.
    pub last: bool,
    /// Label of the group's packets for disciplines here.
    pub label: Label,
    /// Account of its packets' waits.
    pub account: Account,
    /// How much earlier packets arrive.
    pub(crate) lead: Lead,
}

/// A packet that leaves a link, and when.
#[derive(Clone, Copy, Debug)]
pub struct Departing {
    /// The packet.
    pub packet: InFlight,
    /// When it leaves.
    pub time: Time,
}

/// The event that follows a departure: its lane, its kind, and its latest delay.
#[derive(Clone, Copy, Debug)]
struct Leg {
    lane: LaneId,
    latest: Time,
    kind: KindNumber,
}

impl Hop {
    /// A packet goes on from here: to the next hop, to its receiver, or out of the simulation.
    #[expect(clippy::inline_always, reason = "as in `offer`")]
    #[inline(always)]
    pub fn forward(self, departing: Departing, transit: &Transit, calendar: &mut Calendar) {
        let Departing { packet, time } = departing;
        let number = packet.flow.number();
        if self.last
            && let FlowId::Unresponsive(_) = packet.flow
        {
            // No receiver waits for the packet, unless it is an acknowledgment: its sender waits
            // for it.
            if let Some(delay) = transit.acknowledgment_delay() {
                let kind = Kind::Delivery.number();
                let time = time.saturating_add(delay);
                calendar.push_frequent(Event::of(time, kind, number, packet.number));
            }
            return;
        }
        let leg = self.leg(packet, transit);
        let delay = self.lead.subtracted(leg.latest, time, packet.size);
        let event = Event::of(time + delay, leg.kind, number, packet.number);
        calendar.push_delivery(leg.lane, event);
    }

    /// The latest arrival of a packet at the next hop or as an acknowledgment at the sender, after
    /// its departure. Acknowledgments and background packets do not vary after their last link.
    pub(crate) fn latest_after(self, packet: InFlight, transit: &Transit) -> Option<Time> {
        let varies = !self.last || matches!(packet.flow, FlowId::Responsive(_));
        varies.then(|| self.leg(packet, transit).latest)
    }

    /// From here to the next hop, or as an acknowledgment to the sender. Choosing numbers instead
    /// of events spares a branch.
    #[inline]
    fn leg(self, packet: InFlight, transit: &Transit) -> Leg {
        if self.last {
            Leg {
                lane: transit.lane,
                latest: self.latest + transit.return_delay,
                kind: KindNumber::delivery(packet.mark),
            }
        } else {
            Leg {
                lane: self.lane,
                latest: self.latest,
                kind: KindNumber::arrival(packet.hop.index() + 1, packet.mark),
            }
        }
    }

    /// The packet as a discipline sees it here.
    #[inline]
    pub fn held<E: Ends>(self, packet: &InFlight, flows: &Flows<E>) -> Packet {
        let label = match packet.flow {
            FlowId::Responsive(flow) => flows[flow].ends.label(packet.number, self.label),
            FlowId::Unresponsive(_) => self.label,
        };
        Packet {
            arrival: packet.arrival,
            flow: packet.flow.key(),
            number: packet.number,
            size: packet.size,
            label: match packet.mark {
                Mark::Absent => label,
                Mark::Present => label.with_mark(),
            },
        }
    }
}
