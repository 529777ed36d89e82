//! Strict priority: the flow groups of the scenario, in the order of the file, are bands. A packet
//! leaves only if no band before its own has a packet. The bands share the buffer.

use std::collections::VecDeque;

use forebay_units::parameter::{Description, Parameter, ParameterKind, Parameters, Value};

use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::QueueDiscipline;

/// The packet that a full buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The last packet of the last band that has one.
    Lowest,
    /// The arriving packet.
    Arrival,
}

/// The discipline `priority`.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    limit: Limit,
    victim: Victim,
    bands: Vec<VecDeque<Packet>>,
    backlog: Backlog,
}

impl QueueDiscipline for StrictPriority {
    const DESCRIPTION: Description = Description {
        name: "priority",
        aliases: &["prio"],
        title: "Strict priority: flow groups go first in the order of the file",
        formula: &[
            "a packet leaves only where no band before its own has one; band = number of the flow group",
        ],
        source: "RFC 3246 section 1.4; Linux's sch_prio with one shared buffer",
        checked: &[],
        parameters: &[
            Parameter {
                name: "bands",
                meaning: "Number of priorities; groups beyond them share the last one.",
                kind: ParameterKind::Number {
                    min: 1.0,
                    max: 256.0,
                    unit: "bands",
                },
                default: Value::Number(2.0),
            },
            Parameter {
                name: "drop",
                meaning: "Packet that is dropped at a full buffer: the last one of the lowest band, or the arrival (tail).",
                kind: ParameterKind::Choice {
                    words: &["lowest", "tail"],
                },
                default: Value::Word("lowest"),
            },
        ],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            victim: match parameters.word("drop") {
                "tail" => Victim::Arrival,
                _ => Victim::Lowest,
            },
            bands: vec![VecDeque::new(); parameters.number("bands") as usize],
            backlog: Backlog::default(),
        }
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let idle = port.idle_since.is_some();
        if !idle && self.victim == Victim::Arrival && !self.limit.fits(self.backlog, packet.size) {
            port.discard(packet);
            return;
        }
        let band = usize::from(packet.group()).min(self.bands.len() - 1);
        self.bands[band].push_back(packet);
        self.backlog.add(packet.size);
        while !idle && self.limit.exceeded(self.backlog) {
            let Some(lowest) = self.bands.iter_mut().rev().find_map(VecDeque::pop_back) else {
                return;
            };
            self.backlog.remove(lowest.size);
            port.discard(lowest);
        }
    }

    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        let packet = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::packet::{Ecn, Label};
    use crate::port::testing::{port, setting};

    fn of_group(group: u16, number: u32) -> Packet {
        Packet {
            label: Label::new(0, group, Ecn::NotCapable),
            ..packet(u32::from(group), number, 1000)
        }
    }

    #[test]
    fn the_first_band_goes_first_and_the_last_is_dropped() {
        let description = StrictPriority::DESCRIPTION;
        let mut parameters = Parameters::defaults(description.parameters);
        for (word, dropped) in [("lowest", (1, 1)), ("tail", (0, 9))] {
            parameters.set("drop", Value::Word(word));
            let mut queue = StrictPriority::new(&parameters, &setting(Limit::Packets(3)));
            let mut port = port();
            for packet in [of_group(1, 0), of_group(1, 1), of_group(0, 0)] {
                queue.enqueue(packet, &mut port);
            }
            queue.enqueue(of_group(0, 9), &mut port);
            let lost = (port.discards[0].group(), port.discards[0].number);
            assert_eq!(lost, dropped, "{word}");
            assert_eq!(queue.dequeue(&mut port).map(|p| p.group()), Some(0));
        }
    }

    #[test]
    fn classes_beyond_the_last_band_share_it() {
        let description = StrictPriority::DESCRIPTION;
        let parameters = Parameters::defaults(description.parameters);
        let mut queue = StrictPriority::new(&parameters, &setting(Limit::Packets(9)));
        let mut port = port();
        queue.enqueue(of_group(200, 0), &mut port);
        queue.enqueue(of_group(1, 1), &mut port);
        queue.enqueue(of_group(0, 2), &mut port);
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue(&mut port))
            .map(|p| p.number)
            .collect();
        assert_eq!(order, [2, 0, 1]);
    }
}
