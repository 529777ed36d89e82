//! The contents of a connection's TCP headers beside the packet numbers, if they are recorded:
//! timestamps (RFC 7323), arrivals beyond a hole (RFC 2018) or twice (RFC 2883), and the end.
//!
//! No packet goes another way for it: the simulated ends know more than headers tell.

use std::collections::{BTreeMap, HashMap};

use forebay_scenario::{HeaderFields, MAX_BLOCKS};
use forebay_units::Time;

/// The headers that both ends of a connection have sent, and those that are still on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpOptions {
    // --- The sender ---
    /// Data packets that have neither arrived nor been lost, by their numbers and by the counts of
    /// all transmissions.
    data: BTreeMap<(u64, u64), Sent>,
    transmissions: u64,
    /// The newest timestamp that it has had from the receiver.
    ts_recent_sender: Option<u32>,
    /// The packet behind the last one, where the connection ends with that.
    end: Option<u64>,

    // --- The receiver ---
    /// The timestamp that it echoes (`TS.Recent`).
    recent: Option<u32>,
    /// The packet that it awaited when it acknowledged last (`Last.ACK.sent`).
    acknowledged: u64,
    /// The first packet of the connection.
    first: u64,
    arrivals: Arrivals,
    /// Acknowledgments that cross links and have neither arrived nor been lost, by their numbers.
    ack_fields: HashMap<u32, HeaderFields>,
}

/// A transmission of a data packet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    timestamp: u32,
    echo: Option<u32>,
    /// Whether it has come to the target link.
    seen: bool,
}

impl TcpOptions {
    /// A connection begins. Its packets are numbered from `first` on, and it ends before packet
    /// `end`, if it ends. Headers of an earlier connection may still be on their way.
    pub(crate) fn begin(&mut self, first: u64, end: Option<u64>) {
        (self.first, self.end, self.acknowledged) = (first, end, first);
        (self.ts_recent_sender, self.recent) = (None, None);
        self.arrivals = Arrivals::new(first);
    }

    // --- Data ---

    /// The sender sends a packet.
    pub(crate) fn send(&mut self, packet: u64, now: Time) {
        let sent = Sent {
            timestamp: milliseconds(now),
            echo: self.ts_recent_sender,
            seen: false,
        };
        self.transmissions += 1;
        self.data.insert((packet, self.transmissions), sent);
    }

    /// The header of a packet that comes to the target link: that of the first transmission that
    /// has not come there yet.
    pub(crate) fn at_link(&mut self, packet: u64) -> Option<HeaderFields> {
        let mut transmissions = self.data.range_mut((packet, 0)..=(packet, u64::MAX));
        let (_, sent) = transmissions.find(|(_, sent)| !sent.seen)?;
        sent.seen = true;
        Some(HeaderFields {
            timestamp: sent.timestamp,
            echo: sent.echo,
            finishes: self.end == Some(packet + 1),
            ..HeaderFields::default()
        })
    }

    /// A packet is lost: of its transmissions the first.
    pub(crate) fn lose(&mut self, packet: u64) {
        self.take(packet);
    }

    /// A packet reaches the receiver.
    pub(crate) fn arrive(&mut self, packet: u64) {
        let sent = self.take(packet);
        if packet < self.first {
            return;
        }
        self.arrivals.add(packet);
        // RFC 7323 section 4.3, (2): a delayed acknowledgment answers the first packet that it is
        // for, and what arrives beyond a hole is not answered.
        let Some(Sent { timestamp, .. }) = sent else {
            return;
        };
        let newer = self.recent.is_none_or(|recent| recent <= timestamp);
        if newer && packet <= self.acknowledged {
            self.recent = Some(timestamp);
        }
    }

    /// The first transmission of a packet is no longer on its way.
    fn take(&mut self, packet: u64) -> Option<Sent> {
        let mut transmissions = self.data.range((packet, 0)..=(packet, u64::MAX));
        let (&first, _) = transmissions.next()?;
        self.data.remove(&first)
    }

    // --- Acknowledgments ---

    /// The receiver acknowledges what has arrived, with a selective acknowledgment of the rest or
    /// without.
    pub(crate) fn acknowledge(&mut self, now: Time, selects: Selects) -> HeaderFields {
        let blocks = match selects {
            Selects::Blocks => self.arrivals.blocks(),
            Selects::Nothing => [(0, 0); MAX_BLOCKS],
        };
        self.arrivals.repeated = None;
        self.acknowledged = self.arrivals.rcv_nxt;
        HeaderFields {
            timestamp: milliseconds(now),
            echo: self.recent,
            blocks,
            finishes: self.end.is_some_and(|end| end <= self.acknowledged),
        }
    }

    /// An acknowledgment reaches the sender.
    pub(crate) fn read_ack(&mut self, fields: &HeaderFields) {
        self.ts_recent_sender = self.ts_recent_sender.max(Some(fields.timestamp));
    }

    /// The packet that has arrived last, and the next one that is awaited.
    pub(crate) fn latest(&self) -> (u64, u64) {
        (self.arrivals.latest, self.arrivals.rcv_nxt)
    }

    /// An acknowledgment with this number sets out over links.
    pub(crate) fn set_out(&mut self, number: u32, fields: HeaderFields) {
        self.ack_fields.insert(number, fields);
    }

    /// The header of this acknowledgment.
    pub(crate) fn answer(&self, number: u32) -> Option<HeaderFields> {
        self.ack_fields.get(&number).copied()
    }

    /// It has reached the sender, or was lost.
    pub(crate) fn take_ack_fields(&mut self, number: u32) -> Option<HeaderFields> {
        self.ack_fields.remove(&number)
    }
}

/// Whether an acknowledgment tells of packets beyond a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selects {
    Blocks,
    Nothing,
}

/// Which packets have arrived.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// The next packet in order.
    rcv_nxt: u64,
    /// Those beyond it, in blocks from a packet up to another that has not arrived; the one that
    /// changed last is the first (RFC 2018 section 4).
    sack_blocks: Vec<(u64, u64)>,
    /// The end of the furthest block.
    furthest: u64,
    latest: u64,
    /// The latest one, where it had arrived before (RFC 2883).
    repeated: Option<u64>,
}

impl Arrivals {
    /// Nothing has arrived, and `first` is awaited.
    fn new(first: u64) -> Self {
        Self {
            rcv_nxt: first,
            furthest: first,
            ..Self::default()
        }
    }

    /// A packet arrives.
    fn add(&mut self, packet: u64) {
        self.latest = packet;
        if packet < self.rcv_nxt {
            self.repeated = Some(packet);
            return;
        }
        let block = self.join(packet);
        if block.0 <= self.rcv_nxt {
            self.rcv_nxt = block.1;
        } else {
            self.sack_blocks.insert(0, block);
        }
        self.furthest = self.furthest.max(block.1);
    }

    /// The block that a packet makes of its neighbors, which are taken out.
    fn join(&mut self, packet: u64) -> (u64, u64) {
        let mut joined = (packet, packet + 1);
        if packet > self.furthest {
            return joined;
        }
        // At most one ends here and one begins here.
        for _ in 0..2 {
            let touches = |block: &(u64, u64)| block.0 <= joined.1 && joined.0 <= block.1;
            let Some(at) = self.sack_blocks.iter().position(touches) else {
                break;
            };
            let block = self.sack_blocks.remove(at);
            if (block.0..block.1).contains(&packet) {
                self.repeated = Some(packet);
            }
            joined = (joined.0.min(block.0), joined.1.max(block.1));
        }
        joined
    }

    /// The blocks of a selective acknowledgment: the low bits of the numbers.
    fn blocks(&self) -> [(u32, u32); MAX_BLOCKS] {
        let repeated = self.repeated.map(|packet| (packet, packet + 1));
        let mut blocks = repeated.into_iter().chain(self.sack_blocks.iter().copied());
        std::array::from_fn(|_| {
            let block = blocks.next();
            block.map_or((0, 0), |(from, to)| (from as u32, to as u32))
        })
    }
}

/// Whole milliseconds since the run began, as 32 bits hold them.
fn milliseconds(now: Time) -> u32 {
    (now.as_picos() / Time::from_millis(1).as_picos()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ms(time: u64) -> Time {
        Time::from_millis(time)
    }

    fn tcp_options(first: u64) -> TcpOptions {
        let mut tcp_options = TcpOptions::default();
        tcp_options.begin(first, None);
        tcp_options
    }

    fn echo(tcp_options: &mut TcpOptions) -> Option<u32> {
        tcp_options.acknowledge(ms(999), Selects::Blocks).echo
    }

    /// The examples of RFC 7323 section 4.3: segments A to E with timestamps 1 to 5.
    #[test]
    fn what_is_echoed_is_as_of_the_rfc() {
        // (A): in order, all with one acknowledgment.
        let mut all = tcp_options(1);
        for packet in 1..=3 {
            all.send(packet, ms(packet));
            all.arrive(packet);
        }
        assert_eq!(echo(&mut all), Some(1));
        // (B) and (C): A, C, B, E, D arrive, each acknowledged at once.
        let mut hole = tcp_options(1);
        for packet in 1..=5 {
            hole.send(packet, ms(packet));
        }
        let echoes = [1, 3, 2, 5, 4].map(|packet| {
            hole.arrive(packet);
            echo(&mut hole)
        });
        assert_eq!(echoes, [1, 1, 2, 2, 4].map(Some));
    }

    #[test]
    fn each_transmission_says_its_own_time() {
        let mut tcp_options = tcp_options(1);
        tcp_options.send(1, ms(10));
        tcp_options.read_ack(&HeaderFields {
            timestamp: 77,
            ..HeaderFields::default()
        });
        tcp_options.send(1, ms(250));
        let seen: Vec<_> = (0..3)
            .map(|_| {
                tcp_options
                    .at_link(1)
                    .map(|fields| (fields.timestamp, fields.echo))
            })
            .collect();
        assert_eq!(seen, [Some((10, None)), Some((250, Some(77))), None]);
        tcp_options.lose(1);
        tcp_options.arrive(1);
        assert_eq!(
            echo(&mut tcp_options),
            Some(250),
            "the one that was not lost"
        );
        assert_eq!(tcp_options.data.len(), 0);
    }

    #[test]
    fn a_connection_knows_nothing_of_the_one_before() {
        let mut tcp_options = tcp_options(1);
        for packet in [1, 2, 4] {
            tcp_options.send(packet, ms(packet));
        }
        tcp_options.arrive(1);
        tcp_options.arrive(4);
        let fields = tcp_options.acknowledge(ms(5), Selects::Blocks);
        tcp_options.read_ack(&fields);
        tcp_options.begin(10, Some(12));
        // One of the earlier is late.
        tcp_options.arrive(2);
        tcp_options.send(10, ms(20));
        tcp_options.send(11, ms(20));
        let fields = tcp_options.at_link(10).unwrap();
        assert_eq!((fields.echo, fields.finishes), (None, false));
        assert!(tcp_options.at_link(11).unwrap().finishes);
        tcp_options.arrive(10);
        let fields = tcp_options.acknowledge(ms(21), Selects::Blocks);
        assert_eq!(fields.blocks, [(0, 0); MAX_BLOCKS]);
        assert_eq!((fields.echo, fields.finishes), (Some(20), false));
        tcp_options.arrive(11);
        assert!(tcp_options.acknowledge(ms(22), Selects::Blocks).finishes);
    }

    #[test]
    fn without_selective_acknowledgments_no_blocks_are_told() {
        let mut tcp_options = tcp_options(1);
        tcp_options.arrive(5);
        assert_eq!(
            tcp_options.acknowledge(ms(1), Selects::Nothing).blocks,
            [(0, 0); MAX_BLOCKS]
        );
        assert_eq!(
            tcp_options.acknowledge(ms(1), Selects::Blocks).blocks,
            [(5, 6), (0, 0), (0, 0)]
        );
    }

    #[test]
    fn what_arrives_twice_is_told_first_and_once() {
        let mut tcp_options = tcp_options(1);
        for packet in [1, 3, 5, 3] {
            tcp_options.arrive(packet);
        }
        let mut blocks = || tcp_options.acknowledge(ms(1), Selects::Blocks).blocks;
        assert_eq!(blocks(), [(3, 4), (3, 4), (5, 6)]);
        assert_eq!(blocks(), [(3, 4), (5, 6), (0, 0)]);
        tcp_options.arrive(1);
        let mut blocks = || tcp_options.acknowledge(ms(1), Selects::Blocks).blocks;
        assert_eq!(blocks(), [(1, 2), (3, 4), (5, 6)]);
    }

    proptest! {
        /// Whatever arrives in whatever order: what is awaited is the lowest that has not arrived,
        /// the blocks are the maximal runs beyond it, and the first one holds what arrived last.
        #[test]
        fn blocks_are_what_has_arrived_beyond_the_hole(packets in prop::collection::vec(1u64..60, 1..200)) {
            let (mut arrivals, mut set) = (Arrivals::new(1), BTreeSet::new());
            for packet in packets {
                let fresh = set.insert(packet);
                arrivals.repeated = None;
                arrivals.add(packet);
                prop_assert_eq!(arrivals.repeated, (!fresh).then_some(packet));
                let rcv_nxt = (1..=60).find(|p| !set.contains(p)).unwrap();
                prop_assert_eq!(arrivals.rcv_nxt, rcv_nxt);
                let starts = set.iter().filter(|&&p| p > rcv_nxt && !set.contains(&(p - 1)));
                let runs = starts.map(|&from| (from, (from..=60).find(|p| !set.contains(p)).unwrap()));
                let mut found = arrivals.sack_blocks.clone();
                found.sort_unstable();
                prop_assert_eq!(found, runs.collect::<Vec<_>>());
                if packet > rcv_nxt {
                    let (from, to) = arrivals.sack_blocks[0];
                    prop_assert!((from..to).contains(&packet));
                }
            }
        }
    }
}
