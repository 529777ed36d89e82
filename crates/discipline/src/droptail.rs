//! Drop-tail: first in, first out; arrivals at a full buffer are dropped. The link enforces the
//! limit, so this discipline decides nothing.

use forebay_units::parameter::{Description, Evidence, Parameters};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::Packet;
use crate::port::{Port, Setting};

/// The discipline `droptail`.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl AdmissionControl for DropTail {
    const DESCRIPTION: Description = Description {
        name: "droptail",
        aliases: &["fifo", "taildrop", "tail_drop"],
        title: "First in, first out; arrivals at a full buffer are dropped",
        formula: &["an arrival is dropped where it does not fit into the buffer"],
        source: "the classical router queue",
        checked: &[
            Evidence::Program("ns-2.35"),
            Evidence::Program("Linux 6.18 through an emulated link"),
            Evidence::Program("Linux 5.5 over a switch port"),
            Evidence::Trend("ns-3.48: FifoQueueDisc"),
            Evidence::Theory("M/D/1, M/D/1/K and M/M/1/K"),
        ],
        parameters: &[],
    };

    fn new(_parameters: &Parameters, _setting: &Setting) -> Self {
        Self
    }

    #[inline]
    fn admit(&mut self, _packet: &Packet, _arrival: &Arrival, _port: &mut Port) -> Verdict {
        Verdict::Accept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Fifo;
    use crate::packet::testing::packet;
    use crate::port::Limit;
    use crate::port::testing::port;
    use crate::registry::Admission;

    #[test]
    fn the_last_to_arrive_is_dropped_and_the_order_kept() {
        let mut fifo = Fifo::new(Admission::DropTail(DropTail), Limit::Bytes(2500));
        let mut port = port();
        for number in 0..3 {
            fifo.enqueue(packet(number, number, 1000), &mut port);
        }
        fifo.enqueue(packet(9, 9, 500), &mut port);
        let dropped: Vec<u32> = port.discards.iter().map(|p| p.number).collect();
        assert_eq!(dropped, [2]);
        let order: Vec<u32> = std::iter::from_fn(|| fifo.dequeue(&mut port))
            .map(|p| p.number)
            .collect();
        assert_eq!(order, [0, 1, 9]);
    }
}
