//! The events that a probe records at the target link: arrivals, departures, marks and losses, up
//! to a limit between two readings. Recording changes nothing of a run.

use forebay_scenario::Segment;
use forebay_units::Time;

/// The kind of a packet's event at the target link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketEventKind {
    /// It arrives; a packet that is lost on arrival does, too.
    Arrives = 0,
    /// Its transmission ends. If the end is known at the packet's arrival, it is reported then,
    /// ahead of its time.
    Departs = 1,
    /// The same, with a mark of congestion.
    DepartsMarked = 2,
    /// It is lost.
    IsDropped = 3,
}

/// A packet at the target link, and what happened to it when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEvent {
    /// Time of the event: for departures perhaps later than the reading that reports it.
    pub time: Time,
    /// Kind of the event.
    pub kind: PacketEventKind,
    /// Number of its flow over all groups, as traces count them; for packets without
    /// acknowledgments the number of the group's first flow.
    pub flow: u32,
    /// Number of its group.
    pub group: u32,
    /// Number of the packet in its connection, or the next packet that an acknowledgment awaits.
    pub packet: u64,
    /// Kind of its segment.
    pub segment: Segment,
    /// Bytes, headers included.
    pub bytes: u32,
}

/// The events since the last reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// In the order in which the run came to know of it.
    pub packet_events: Vec<PacketEvent>,
    /// Number of further events for which there was no room.
    pub missed: u64,
}

/// A probe that records events until a caller reads them.
#[derive(Debug)]
pub(crate) struct Probe {
    seen: Seen,
    most: usize,
}

impl Probe {
    /// A probe with room for `most` events.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            seen: Seen::default(),
            most,
        }
    }

    /// Whether there is room for one more event; counts it as missed if there is none.
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        let Seen {
            packet_events,
            missed,
        } = &mut self.seen;
        let has_room = packet_events.len() < self.most;
        *missed += u64::from(!has_room);
        has_room
    }

    /// Records an event, for which there is room.
    pub(crate) fn see(&mut self, event: PacketEvent) {
        self.seen.packet_events.push(event);
    }

    /// The events since the last reading.
    pub(crate) fn look(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Recorded and missed events together are all events, in their order. No more are recorded
        /// than allowed.
        #[test]
        fn nothing_is_lost_uncounted(most in 0usize..50, between in prop::collection::vec(0u32..80, 0..8)) {
            let mut probe = Probe::new(most);
            let mut next = 0;
            for count in between {
                let numbers: Vec<u32> = (next..next + count).collect();
                next += count;
                for &flow in &numbers {
                    let time = Time::from_picos(7);
                    let (kind, group, packet, bytes) = (PacketEventKind::Arrives, 0, 0, 40);
                    let segment = Segment::Data;
                    if probe.has_room() {
                        probe.see(PacketEvent { time, kind, flow, group, packet, segment, bytes });
                    }
                }
                let seen = probe.look();
                let kept: Vec<u32> = seen.packet_events.iter().map(|event| event.flow).collect();
                prop_assert_eq!(&kept[..], &numbers[..numbers.len().min(most)]);
                prop_assert_eq!(seen.missed as usize + kept.len(), numbers.len());
            }
        }
    }
}
