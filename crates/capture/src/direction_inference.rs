//! The direction of packets at an interface. The evidence is the capture's own statement, else the
//! two stations of the link, else a side that each address gets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use crate::packet::Packet;

/// Maximum number of addresses with a side.
const MOST_ADDRESSES: usize = 1 << 18;

/// The known sides of an interface.
#[derive(Debug, Default)]
pub(crate) struct DirectionInference {
    stations: [Option<u32>; 2],
    crowded: bool,
    addresses: HashMap<IpAddr, u8, RandomState>,
    evidence: DirectionEvidence,
}

/// Number of connections and lone packets by the evidence for their side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionEvidence {
    /// The capture states whether the packet came in.
    pub by_capture: u64,
    /// At most two stations have sent so far.
    pub by_station: u64,
    /// One of the addresses has a side, or is private while the other is not.
    pub by_address: u64,
    /// There is no evidence: the end with the higher port is on side 0.
    pub by_port: u64,
    /// Both addresses seem to be on the same side.
    pub unclear: u64,
}

impl DirectionInference {
    /// The side (0 or 1) that a packet comes from.
    pub(crate) fn of(&mut self, packet: &Packet) -> u8 {
        if let Some(inbound) = packet.inbound {
            self.evidence.by_capture += 1;
            return u8::from(inbound);
        }
        let (source, destination) = (packet.flow.source, packet.flow.destination);
        if let Some(side) = packet.stations.and_then(|(from, _)| self.of_station(from)) {
            self.evidence.by_station += 1;
            self.paint(source, side);
            self.paint(destination, 1 - side);
            return side;
        }
        let known = |address| self.addresses.get(address).copied();
        let side = match (known(&source), known(&destination)) {
            (Some(from), Some(to)) if from == to => {
                self.evidence.unclear += 1;
                return u8::from(source > destination);
            }
            (Some(from), _) => {
                self.evidence.by_address += 1;
                from
            }
            (None, Some(to)) => {
                self.evidence.by_address += 1;
                1 - to
            }
            (None, None) if private(source) != private(destination) => {
                self.evidence.by_address += 1;
                u8::from(!private(source))
            }
            (None, None) => {
                self.evidence.by_port += 1;
                u8::from(packet.flow.source_port < packet.flow.destination_port)
            }
        };
        self.paint(source, side);
        self.paint(destination, 1 - side);
        side
    }

    /// Processes the station of any packet.
    pub(crate) fn hear(&mut self, packet: &Packet) {
        if let Some((from, _)) = packet.stations {
            self.of_station(from);
        }
    }

    /// The evidence for the sides.
    pub(crate) fn evidence(&self) -> DirectionEvidence {
        self.evidence
    }

    /// The side of a station; `None` after a third station has sent.
    fn of_station(&mut self, from: u32) -> Option<u8> {
        if self.crowded {
            return None;
        }
        for (side, station) in (0..).zip(&mut self.stations) {
            if *station.get_or_insert(from) == from {
                return Some(side);
            }
        }
        self.crowded = true;
        None
    }

    fn paint(&mut self, address: IpAddr, side: u8) {
        let room = self.addresses.len() < MOST_ADDRESSES;
        if let Entry::Vacant(vacant) = self.addresses.entry(address)
            && room
        {
            vacant.insert(side);
        }
    }
}

/// Whether an address is not routed in the Internet: RFC 1918, RFC 6598, RFC 4193 and link-local.
fn private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => {
            let [first, second, ..] = it.octets();
            it.is_private() || it.is_link_local() || (first == 100 && second & 0xc0 == 64)
        }
        IpAddr::V6(it) => it.is_unique_local() || it.is_unicast_link_local(),
    }
}
