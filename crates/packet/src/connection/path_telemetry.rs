//! The statements of links in the packets of one flow (in-band telemetry), from the departures at
//! the links until the acknowledgment reaches the sender.

use std::collections::BTreeMap;

use forebay_congestion::telemetry::LinkTelemetry;
use forebay_simulation::HopTelemetry;

/// The statements in one packet.
#[derive(Clone, Debug, Default)]
struct Statements {
    links: Vec<LinkTelemetry>,
    /// Whether all links of the path have stated their load.
    complete: bool,
}

/// The statements in the packets of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTelemetry {
    /// The statements so far in each packet, by the low bits of its number.
    packets: BTreeMap<u32, Statements>,
    /// Empty statements for the next packets.
    spare: Vec<Statements>,
}

impl PathTelemetry {
    /// A link states its load in a packet. A packet that is sent again while it is on its way has
    /// the statements of the later one, up to where that is.
    pub(crate) fn note(&mut self, packet: u32, hop: HopTelemetry) {
        let spare = &mut self.spare;
        let statements = self
            .packets
            .entry(packet)
            .or_insert_with(|| spare.pop().unwrap_or_default());
        let number = hop.number.index();
        if number == 0 {
            statements.clear();
        }
        if statements.links.len() == number {
            statements.links.push(hop.link);
            statements.complete = hop.is_last;
        }
    }

    /// A packet has arrived: `read` gets the statements of all links. It gets nothing if some are
    /// missing.
    pub(crate) fn take(&mut self, packet: u32, read: impl FnOnce(&[LinkTelemetry])) {
        if let Some(statements) = self.packets.remove(&packet) {
            if statements.complete {
                read(&statements.links);
            }
            self.reuse(statements);
        }
    }

    /// A packet is lost.
    pub(crate) fn forget(&mut self, packet: u32) {
        if let Some(statements) = self.packets.remove(&packet) {
            self.reuse(statements);
        }
    }

    fn reuse(&mut self, mut statements: Statements) {
        statements.clear();
        self.spare.push(statements);
    }
}

impl Statements {
    fn clear(&mut self) {
        self.links.clear();
        self.complete = false;
    }
}

#[cfg(test)]
mod tests {
    use forebay_simulation::HopNumber;
    use forebay_units::{Rate, Time};

    use super::*;

    /// The statement of the link at this position of a path of two.
    fn link(hop: usize, queue: u64) -> HopTelemetry {
        HopTelemetry {
            number: HopNumber::new(hop),
            is_last: hop == 1,
            link: LinkTelemetry {
                queue,
                sent: 0,
                time: Time::ZERO,
                rate: Rate::from_bits_per_second(1),
            },
        }
    }

    fn taken(path: &mut PathTelemetry, packet: u32) -> Option<Vec<u64>> {
        let mut found = None;
        path.take(packet, |links| {
            found = Some(links.iter().map(|link| link.queue).collect());
        });
        found
    }

    #[test]
    fn a_packet_carries_the_statements_of_all_links_once() {
        let mut path = PathTelemetry::default();
        path.note(7, link(0, 1));
        path.note(8, link(0, 2));
        path.note(7, link(1, 3));
        assert_eq!(taken(&mut path, 7), Some(vec![1, 3]));
        assert_eq!(taken(&mut path, 7), None);
        // The second link has stated nothing.
        assert_eq!(taken(&mut path, 8), None);
    }

    #[test]
    fn a_lost_packet_carries_nothing() {
        let mut path = PathTelemetry::default();
        path.note(7, link(0, 1));
        path.note(7, link(1, 2));
        path.forget(7);
        assert_eq!(taken(&mut path, 7), None);
        assert!(path.packets.is_empty());
    }

    #[test]
    fn a_packet_sent_again_carries_its_own_statements() {
        let mut path = PathTelemetry::default();
        for queue in [1, 2] {
            path.note(7, link(0, queue));
        }
        path.note(7, link(1, 3));
        assert_eq!(taken(&mut path, 7), Some(vec![2, 3]));
        // The earlier one arrives too, and has passed the first link before the later one.
        path.note(7, link(1, 4));
        assert_eq!(taken(&mut path, 7), None);
    }
}
