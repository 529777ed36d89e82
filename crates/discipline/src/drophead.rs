//! Drop-head (Lakshman, Neidhardt and Ott 1996, "drop from front"): first in, first out. An arrival
//! at a full buffer pushes out the oldest packets. Senders then detect the congestion one queueing
//! delay earlier.

use std::collections::VecDeque;

use forebay_units::parameter::{Description, Parameters};

use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::QueueDiscipline;

/// The discipline `drophead`.
#[derive(Clone, Debug)]
pub struct DropHead {
    limit: Limit,
    packets: VecDeque<Packet>,
    backlog: Backlog,
}

impl QueueDiscipline for DropHead {
    const DESCRIPTION: Description = Description {
        name: "drophead",
        aliases: &["drop_front"],
        title: "First in, first out; an arrival at a full buffer drops the oldest packets",
        formula: &[
            "an arrival at a full buffer drops the packets that have waited longest, until it fits",
        ],
        source: "Lakshman, Neidhardt and Ott 1996",
        checked: &[],
        parameters: &[],
    };

    fn new(_parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        self.backlog.add(packet.size);
        self.packets.push_back(packet);
        while port.idle_since.is_none() && self.limit.exceeded(self.backlog) {
            let Some(oldest) = self.dequeue(port) else {
                return;
            };
            port.discard(oldest);
        }
    }

    #[inline]
    fn dequeue(&mut self, _port: &mut Port) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};

    #[test]
    fn the_oldest_are_pushed_out() {
        let parameters = Parameters::defaults(&[]);
        let mut queue = DropHead::new(&parameters, &setting(Limit::Bytes(2500)));
        let mut port = port();
        for (number, size) in [1000, 1000, 500, 1500].into_iter().enumerate() {
            queue.enqueue(packet(0, number as u32, size), &mut port);
        }
        let dropped: Vec<u32> = port.discards.iter().map(|p| p.number).collect();
        assert_eq!(dropped, [0, 1]);
        assert_eq!(queue.dequeue(&mut port).map(|p| p.number), Some(2));
    }
}
