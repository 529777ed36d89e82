//! Packets of programs in the namespaces, which belong to no flow of the scenario. They are
//! distributed over the flows of one group and take its path and round trip.

use std::hash::{DefaultHasher, Hash, Hasher};

use etherparse::{IpNumber, Ipv4HeaderSlice};
use forebay_simulation::{Ends, Flows, GroupId, ResponsiveId};

use crate::side::Side;

/// Flows that carry the connections of programs. All packets of a connection, in both directions,
/// belong to one flow.
#[derive(Clone, Debug)]
pub(crate) struct ExternalFlows(Vec<ResponsiveId>);

impl ExternalFlows {
    /// The flows of a group.
    pub(crate) fn of<E: Ends>(group: GroupId, flows: &Flows<E>) -> Self {
        let flows = flows.responsive.iter().enumerate();
        let of_group = flows.filter(|(_, flow)| flow.transit.group == group);
        Self(of_group.map(|(at, _)| ResponsiveId::new(at)).collect())
    }

    /// Whether a flow is one of them.
    pub(crate) fn have(&self, flow: ResponsiveId) -> bool {
        self.0.binary_search(&flow).is_ok()
    }

    /// The flow of a packet that a namespace has sent; `None` if it is no IPv4 packet.
    pub(crate) fn flow(&self, packet: &[u8], from: Side) -> Option<ResponsiveId> {
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        if usize::from(ip.total_len()) != packet.len() {
            return None;
        }
        let body = packet.get(ip.slice().len()..)?;
        let has_ports = [IpNumber::TCP, IpNumber::UDP].contains(&ip.protocol());
        // Only the first fragment of a packet has ports, so fragments are matched without ports.
        let ports = match body {
            &[a, b, c, d, ..] if has_ports && !ip.is_fragmenting_payload() => [a, b, c, d],
            _ => [0; 4],
        };
        let source = (ip.source(), [ports[0], ports[1]]);
        let destination = (ip.destination(), [ports[2], ports[3]]);
        let (near, far) = match from {
            Side::Near => (source, destination),
            Side::Far => (destination, source),
        };
        let mut hasher = DefaultHasher::new();
        (ip.protocol().0, near, far).hash(&mut hasher);
        let at = hasher.finish() % (self.0.len().max(1) as u64);
        self.0.get(at as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const NEAR: [u8; 4] = [198, 18, 0, 1];
    const FAR: [u8; 4] = [198, 18, 1, 1];

    fn udp(from: [u8; 4], to: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4(from, to, 64).udp(ports.0, ports.1);
        builder.write(&mut bytes, &[0; 32]).unwrap();
        bytes
    }

    fn external_flows(count: usize) -> ExternalFlows {
        ExternalFlows((10..10 + count).map(ResponsiveId::new).collect())
    }

    #[test]
    fn both_directions_of_a_connection_are_one_flow_and_others_spread() {
        let external_flows = external_flows(256);
        let mut seen = std::collections::BTreeSet::new();
        for port in 1000..2000 {
            let there = external_flows
                .flow(&udp(NEAR, FAR, (port, 53)), Side::Near)
                .unwrap();
            let back = external_flows
                .flow(&udp(FAR, NEAR, (53, port)), Side::Far)
                .unwrap();
            assert_eq!(there, back);
            assert!(external_flows.have(there));
            seen.insert(there.index());
        }
        // A thousand balls leave 256 (1 - 1/256)^1000 = 5 of 256 bins empty.
        assert!(seen.len() > 235, "{}", seen.len());
        assert!(!external_flows.have(ResponsiveId::new(9)));
    }

    #[test]
    fn fragments_stay_together_and_nonsense_is_of_nobody() {
        let external_flows = external_flows(64);
        let mut first = udp(NEAR, FAR, (7, 9));
        first[6] |= 0x20;
        let mut later = udp(NEAR, FAR, (0xffff, 3));
        later[7] = 4;
        let flow = |packet: &[u8]| external_flows.flow(packet, Side::Near);
        assert_eq!(flow(&first), flow(&later));
        assert!(flow(&first).is_some());
        for nonsense in [&[][..], &[0x45; 10], &[0x60; 60], &first[..30]] {
            assert_eq!(flow(nonsense), None);
        }
    }
}
