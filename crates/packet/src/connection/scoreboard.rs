//! A scoreboard: what the sender knows of the packets between the lowest that is not acknowledged
//! and the highest that was sent (RFC 6675 section 3). It holds the counts; which packets they are
//! is with the receiver's map and with each way of recovery.

/// Counts of packets that are outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scoreboard {
    /// Packets that have arrived beyond a hole. Without SACK they are as many as the duplicate
    /// acknowledgments (Linux: tcp_add_reno_sack).
    pub(super) sacked: u64,
    /// Packets that were lost and have not arrived since.
    pub(super) lost: u64,
    /// Packets among the lost that were sent again, and not found lost again.
    pub(super) repairing: u64,
}

impl Scoreboard {
    /// The packets in flight, of `outstanding` packets (RFC 6675's pipe).
    #[inline]
    pub(super) fn in_flight(&self, outstanding: u64) -> u64 {
        (outstanding + self.repairing).saturating_sub(self.sacked + self.lost)
    }

    /// Whether a lost packet is to be sent again.
    pub(super) fn has_hole(&self) -> bool {
        self.lost > self.repairing
    }

    /// A lost packet is sent again.
    pub(super) fn repair(&mut self) {
        self.repairing += 1;
    }

    /// A packet that was lost arrives; `repaired` says whether it had been sent again.
    pub(super) fn settle(&mut self, repaired: bool) {
        self.lost -= 1;
        self.repairing -= u64::from(repaired);
    }

    /// Whether the invariant holds.
    pub(super) fn consistent(&self) -> bool {
        self.repairing <= self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The state of a packet until it is acknowledged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum PacketState {
        InFlight,
        Sacked,
        Lost,
        Repairing,
    }

    proptest! {
        /// Each packet that is outstanding is in flight, arrived beyond a hole, lost, or lost and
        /// sent again. The pipe counts the first and the last kind.
        #[test]
        fn the_pipe_is_what_is_under_way(steps in prop::collection::vec((0usize..40, 0u8..3), 1..300)) {
            let mut board = Scoreboard::default();
            let mut fates = [PacketState::InFlight; 40];
            for (packet, what) in steps {
                let fate = &mut fates[packet];
                *fate = match (*fate, what) {
                    // It is found lost.
                    (PacketState::InFlight, 0) => {
                        board.lost += 1;
                        PacketState::Lost
                    }
                    (PacketState::Lost, 1) => {
                        board.repair();
                        PacketState::Repairing
                    }
                    // It arrives.
                    (fate @ (PacketState::InFlight | PacketState::Lost | PacketState::Repairing), 2) => {
                        board.sacked += 1;
                        if fate != PacketState::InFlight {
                            board.settle(fate == PacketState::Repairing);
                        }
                        PacketState::Sacked
                    }
                    (fate, _) => fate,
                };
                let count = |of: &[PacketState]| fates.iter().filter(|fate| of.contains(fate)).count();
                let in_flight = count(&[PacketState::InFlight, PacketState::Repairing]) as u64;
                prop_assert_eq!(board.in_flight(40), in_flight);
                prop_assert_eq!(board.has_hole(), count(&[PacketState::Lost]) > 0);
                prop_assert!(board.consistent());
            }
        }
    }
}
