//! A receiver's network card that gathers packets before it hands them up, consecutive ones as one:
//! interrupt moderation (`ethtool -C rx-usecs`), and generic receive offload in the poll that
//! follows (net/core/gro.c: `dev_gro_receive`, net/ipv4/tcp_offload.c: `tcp_gro_receive` of 5.5 and
//! 6.18). A segment so merged is one arrival for the receiver's delayed acknowledgments, duplicates and
//! SACKs, so that there is one acknowledgment for each.

use forebay_units::Time;

/// Most bytes of a merged segment (`gro_max_size`), its header once.
const LARGEST: u64 = 65_535;

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) packet: u64,
    pub(crate) now: Time,
    /// Whether it ends a burst, or what was written.
    pub(crate) pushed: bool,
    /// The round trip, as far as known.
    pub(crate) rtt: Time,
}

/// A packet on the card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) arrival: Arrival,
    /// Whether it carries a mark of congestion.
    pub(crate) marked: bool,
}

/// Packets that a merged segment holds at most, of so many bytes with a header of so many.
pub(crate) fn most_merged(packet: u64, header: u64) -> usize {
    let payload = packet.saturating_sub(header).max(1);
    (LARGEST.saturating_sub(header) / payload).max(1) as usize
}

/// The packets on a card.
#[derive(Clone, Debug)]
pub(super) struct Card {
    /// From the first packet to the interrupt.
    gathers: Time,
    held: Vec<Held>,
}

impl Card {
    /// One that gathers for so long, where it does.
    pub(super) fn new(gathers: Time) -> Option<Box<Self>> {
        let held = Vec::new();
        (gathers > Time::ZERO).then(|| Box::new(Self { gathers, held }))
    }

    pub(super) fn hold(&mut self, held: Held) {
        self.held.push(held);
    }

    /// When it interrupts.
    pub(super) fn due(&self) -> Option<Time> {
        let first = self.held.first()?;
        Some(first.arrival.now.saturating_add(self.gathers))
    }

    /// At an interrupt: all that it holds, as segments of `most` packets at most that end where
    /// something is missing, and behind a PSH.
    pub(super) fn take(&mut self, now: Time, most: usize) -> Vec<Vec<Held>> {
        let mut segments: Vec<Vec<Held>> = Vec::new();
        if self.due().is_none_or(|due| due > now) {
            return segments;
        }
        for held in self.held.drain(..) {
            let open = segments.last_mut().filter(|segment| {
                let joins = |last: &Held| {
                    last.arrival.packet + 1 == held.arrival.packet && !last.arrival.pushed
                };
                segment.len() < most && segment.last().is_some_and(joins)
            });
            match open {
                Some(segment) => segment.push(held),
                None => segments.push(vec![held]),
            }
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(packet: u64, pushed: bool, now_us: u64) -> Held {
        let arrival = Arrival {
            packet,
            now: Time::from_micros(now_us),
            pushed,
            rtt: Time::from_millis(1),
        };
        Held {
            arrival,
            marked: false,
        }
    }

    fn numbers(segments: &[Vec<Held>]) -> Vec<Vec<u64>> {
        let packets =
            |segment: &Vec<Held>| segment.iter().map(|held| held.arrival.packet).collect();
        segments.iter().map(packets).collect()
    }

    #[test]
    fn segments_end_at_a_gap_a_push_and_64_kib() {
        let mut card = Card::new(Time::from_micros(50)).unwrap();
        for packet in [1, 2, 4, 5, 6, 7, 8, 9] {
            card.hold(held(packet, packet == 5, packet));
        }
        assert_eq!(card.due(), Some(Time::from_micros(51)));
        assert!(card.take(Time::from_micros(50), 3).is_empty());
        let segments = card.take(Time::from_micros(51), 3);
        let expected = [vec![1, 2], vec![4, 5], vec![6, 7, 8], vec![9]];
        assert_eq!(numbers(&segments), expected);
        assert_eq!(card.due(), None);
    }

    #[test]
    fn a_merged_segment_has_64_kib_with_one_header() {
        assert_eq!([most_merged(1500, 52), most_merged(9000, 52)], [45, 7]);
        assert_eq!([most_merged(70_000, 40), most_merged(40, 40)], [1, 65_495]);
        assert!(Card::new(Time::ZERO).is_none());
    }
}
