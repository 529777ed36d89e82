//! The ages of flows in the queues of a memory: FAB asks whether an arriving packet belongs to a
//! short flow, and `link::memory` then compares its queue with a higher threshold.
//!
//! Source: Apostolaki, Vanbever and Ghobadi, FAB: Toward Flow-aware Buffer Sharing on Programmable
//! Switches, Workshop on Buffer Sizing 2019. The rule is that of the public ns-3 code of ABM, whose
//! authors include those of FAB (inet-tub/ns3-datacenter, `FlowAwareBuffer` in
//! `gen-queue-disc.cc`). A queue counts the bytes that each flow has sent into it, dropped packets
//! included. While the count with the arriving packet is below a threshold, the flow is short. A
//! flow that was away for longer than a window counts from zero.
//!
//! A switch has a sketch of the flows. Here each flow is known exactly, and each new connection
//! counts from zero.

use std::collections::HashMap;

use forebay_discipline::Packet;
use forebay_scenario::Memory;
use forebay_units::Time;

use crate::flow::Transfer;
use crate::ids::LinkId;

/// The count of a flow at a queue.
#[derive(Clone, Copy, Debug)]
struct Age {
    /// The number of the transfer that the flow was at when its last packet arrived.
    transfer: u64,
    /// Arrival of its last packet.
    last: Time,
    /// Bytes that it has sent into the queue.
    bytes: u64,
}

/// The ages of all flows in the queues of a memory.
#[derive(Clone, Debug)]
pub(crate) struct FlowAges {
    /// Alpha for packets of short flows.
    pub(crate) short_alpha: f64,
    /// Bytes of the smallest flow that is not short.
    short_flow: u64,
    short_idle: Time,
    /// By queue and flow. Nothing depends on their order.
    ages: HashMap<(LinkId, u32), Age>,
}

impl FlowAges {
    pub(crate) fn new(memory: &Memory) -> Self {
        Self {
            short_alpha: memory.short_alpha,
            short_flow: memory.short_flow.get(),
            short_idle: memory.short_idle,
            ages: HashMap::new(),
        }
    }

    /// Counts an arriving packet at the queue of a link. Returns whether its flow is short.
    /// `transfer` is that of the packet, if it belongs to a responsive flow.
    pub(crate) fn count(
        &mut self,
        (packet, at): (&Packet, LinkId),
        transfer: Option<&Transfer>,
    ) -> bool {
        let new = Age {
            transfer: transfer.map_or(0, |transfer| transfer.number),
            last: packet.arrival,
            bytes: 0,
        };
        let age = self.ages.entry((at, packet.flow)).or_insert(new);
        let was_away = packet.arrival.saturating_sub(age.last) > self.short_idle;
        let is_new = transfer.is_some_and(|it| it.opens && it.number != age.transfer);
        let before = if was_away || is_new { 0 } else { age.bytes };
        *age = Age {
            bytes: before + u64::from(packet.size),
            ..new
        };
        age.bytes < self.short_flow
    }
}

#[cfg(test)]
mod tests {
    use forebay_discipline::Label;

    use super::*;
    use crate::flow::Losses;

    fn ages(short_flow: u64, short_idle: Time) -> FlowAges {
        FlowAges {
            short_alpha: 8.0,
            short_flow,
            short_idle,
            ages: HashMap::new(),
        }
    }

    fn packet(flow: u32, micros: u64) -> Packet {
        Packet {
            arrival: Time::from_micros(micros),
            flow,
            number: 0,
            size: 1000,
            label: Label::default(),
        }
    }

    const LINK: LinkId = LinkId::new(0);

    /// The packet that reaches the threshold is not short any more.
    #[test]
    fn a_flow_is_short_below_the_threshold() {
        let mut ages = ages(3000, Time::from_millis(5));
        let mut count = |flow| ages.count((&packet(flow, 0), LINK), None);
        assert_eq!([count(1), count(1), count(1)], [true, true, false]);
        assert!(count(2), "flows count by themselves");
    }

    #[test]
    fn each_queue_of_a_memory_counts_by_itself() {
        let mut ages = ages(2000, Time::from_millis(5));
        for (link, short) in [(0, true), (1, true), (0, false), (1, false)] {
            let at = LinkId::new(link);
            let is_short = ages.count((&packet(1, 0), at), None);
            assert_eq!(is_short, short, "{link}");
        }
    }

    #[test]
    fn a_flow_that_was_away_is_short_again() {
        let mut ages = ages(2000, Time::from_micros(50));
        // The last gap is one microsecond longer than the window.
        for (micros, short) in [(0, true), (50, false), (100, false), (151, true)] {
            let is_short = ages.count((&packet(1, micros), LINK), None);
            assert_eq!(is_short, short, "{micros}");
        }
    }

    #[test]
    fn a_new_connection_is_a_new_flow_and_a_transfer_over_an_old_one_is_not() {
        let mut ages = ages(2000, Time::from_millis(5));
        let mut count = |number, opens| {
            let transfer = Transfer {
                number,
                since: None,
                opens,
                before: Losses::default(),
            };
            ages.count((&packet(1, 0), LINK), Some(&transfer))
        };
        assert!(count(0, true));
        assert!(!count(0, true));
        assert!(!count(1, false));
        assert!(count(2, true));
        assert!(!count(2, true));
    }
}
