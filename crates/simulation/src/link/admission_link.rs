//! A first-in-first-out link whose discipline decides at arrival: drop, mark or take.

use forebay_discipline::{Admission, Packet, Port, Shared, Verdict};
use forebay_units::Time;

use crate::link::fifo::FifoLink;
use crate::link::statistics::Account;

/// A first-in-first-out link with a discipline that decides at arrival.
#[derive(Clone, Debug)]
pub struct GatedLink {
    pub(crate) fifo: FifoLink,
    admission: Admission,
    port: Port,
}

impl GatedLink {
    pub(crate) fn new(fifo: FifoLink, admission: Admission, port: Port) -> Self {
        Self {
            fifo,
            admission,
            port,
        }
    }

    /// A packet arrives: its departure and whether it was marked, or `None` where it is dropped.
    /// Its wait goes to an account.
    pub(crate) fn arrive(&mut self, packet: &Packet, account: Account) -> Option<(Time, bool)> {
        let now = packet.arrival;
        let arrival = self.fifo.found(now, packet.size);
        self.port.now = now;
        self.port.idle_since = arrival.idle_since;
        let verdict = self.admission.admit(packet, &arrival, &mut self.port);
        if arrival.full || verdict == Verdict::Drop {
            self.fifo.statistics.refused();
            return None;
        }
        let marked = verdict == Verdict::Mark;
        self.fifo.statistics.marks += u64::from(marked && !packet.marked());
        let departure = self.fifo.arrive(now, packet.size, account)?;
        Some((departure, marked || packet.marked()))
    }

    /// Sets the bytes that wait in the memory that the next arrival shares with other links.
    pub(crate) fn share(&mut self, shared: Shared) {
        self.port.shared = Some(shared);
    }
}

#[cfg(test)]
mod tests {
    use forebay_discipline::{Ecn, Label, Packet};
    use forebay_scenario::{Format, Scenario, Seed};
    use forebay_units::Time;

    use crate::link::statistics::Account;
    use crate::link::{Departures, Link, LinkSetup};

    /// A link that marks whatever finds it busy marks a packet that comes marked no second time.
    #[test]
    fn a_packet_is_marked_once() {
        let text = r#"
            [link]
            rate = "21Mbps"
            buffer = "1000p"
            queue = { kind = "step", threshold = "0p" }
            [[flows]]
            rtt = "20ms"
            ecn = true
            [run]
            measure = "1s"
        "#;
        let scenario = Scenario::parse(text, Format::Toml, "test", &[]).unwrap();
        let link = Link::new(LinkSetup {
            seed: Seed::default(),
            number: 0,
            scenario: &scenario,
            departures: Departures::Folded,
        });
        let Some(Link::Gated(mut link)) = link else {
            unreachable!("a step decides at arrival")
        };
        let label = Label::new(0, 0, Ecn::Classic);
        let labels = [label, label.with_mark(), label, label.with_mark()];
        for (number, label) in labels.into_iter().enumerate() {
            let packet = Packet {
                arrival: Time::from_picos(1),
                flow: 0,
                number: number as u32,
                size: 1000,
                label,
            };
            let (_, marked) = link.arrive(&packet, Account::ALL).unwrap();
            // The first finds the link idle.
            assert_eq!(marked, number > 0);
        }
        assert_eq!(link.fifo.statistics.marks, 1);
    }
}
