//! The places of segments in the sequence of a connection (RFC 9293 section 3.4). Each direction
//! classifies its bytes as new, repeated, filling a gap, or acknowledged but never seen.

/// Largest window (RFC 7323 section 2.3). Numbers that are farther apart are unrelated.
const FARTHEST: u64 = 1 << 30;
/// Offset of all numbers, so that earlier numbers are positive.
const BASE: u64 = 1 << 32;
/// Maximum number of gaps with and without spare memory.
const MOST_GAPS: usize = 1024;
const FEW_GAPS: usize = 8;

/// Extends a 32-bit number to 64 bits: the value nearest to a reference.
pub(crate) fn unwrapped(reference: u64, number: u32) -> u64 {
    let difference = number.wrapping_sub(reference as u32) as i32;
    reference.wrapping_add_signed(i64::from(difference))
}

/// The part of a sequence that was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    /// Number after the last byte that was seen; zero while unknown.
    high: u64,
    /// Highest number that the other end has acknowledged.
    acknowledged: Option<u64>,
    /// Number after the FIN.
    end: Option<u64>,
    gaps: Vec<Gap>,
}

/// A range of bytes that was not seen yet.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: u64,
    to: u64,
    /// Time of the packet after the gap, and its identification.
    time: u64,
    identification: Option<u16>,
}

/// A segment with payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) time: u64,
    pub(crate) sequence: u32,
    pub(crate) payload: u32,
    pub(crate) identification: Option<u16>,
    /// Time within which a filled gap is reordering, in nanoseconds.
    pub(crate) reordering: u64,
    /// Whether there is memory for many gaps.
    pub(crate) generous: bool,
}

/// Bytes of a segment by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Bytes beyond all bytes that were seen.
    pub(crate) new: u32,
    /// Bytes that were seen before.
    pub(crate) repeated: u32,
    /// Bytes that filled a gap late: they were lost upstream and retransmitted.
    pub(crate) filled: u32,
    /// Bytes that filled a gap in time: they were only overtaken.
    pub(crate) reordered: u32,
    /// Whether the segment is a keep-alive (RFC 9293 section 3.8.4).
    pub(crate) probe: bool,
    /// Whether the number is unrelated to those before.
    pub(crate) strange: bool,
}

/// Effect of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Bytes that were not acknowledged before.
    pub(crate) new: u64,
    /// Bytes among them that were never seen here.
    pub(crate) unseen: u64,
    /// Whether it repeats the number before while data is outstanding.
    pub(crate) same: bool,
}

impl Sequence {
    /// Processes a SYN, which takes one number.
    pub(crate) fn syn(&mut self, sequence: u32) {
        if self.high == 0 {
            self.high = BASE + u64::from(sequence) + 1;
        }
    }

    /// Processes a FIN after the payload of its segment.
    pub(crate) fn fin(&mut self, sequence: u32, payload: u32) {
        if self.high == 0 {
            self.high = BASE + u64::from(sequence.wrapping_add(payload));
        }
        self.end = Some(unwrapped(self.high, sequence.wrapping_add(payload)) + 1);
    }

    /// Bytes that were seen and not acknowledged; `None` if no acknowledgment was seen.
    pub(crate) fn flight(&self) -> Option<u64> {
        self.acknowledged
            .map(|acknowledged| self.high.saturating_sub(acknowledged))
    }

    /// Number after the last byte that was seen.
    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// Number of stored gaps.
    pub(crate) fn gaps(&self) -> usize {
        self.gaps.len()
    }

    /// Processes a segment. Returns its bytes by kind.
    pub(crate) fn take(&mut self, segment: &Segment) -> Brought {
        let payload = segment.payload;
        if self.high == 0 {
            self.high = BASE + u64::from(segment.sequence);
        }
        let from = unwrapped(self.high, segment.sequence);
        let to = from.saturating_add(u64::from(payload));
        if from.abs_diff(self.high) > FARTHEST {
            self.high = BASE + u64::from(segment.sequence) + u64::from(payload);
            self.gaps.clear();
            self.acknowledged = None;
            self.end = None;
            return Brought {
                new: payload,
                strange: true,
                ..Brought::default()
            };
        }
        let acknowledged = self.acknowledged.unwrap_or(0);
        if payload <= 1 && from.saturating_add(1) == self.high && from < acknowledged {
            return Brought {
                probe: true,
                ..Brought::default()
            };
        }
        let mut brought = Brought::default();
        if from < self.high {
            self.fill(from, to.min(self.high), segment, &mut brought);
        } else if from > self.high {
            self.pass_over(from, segment);
        }
        brought.new = to.saturating_sub(from.max(self.high)).min(to - from) as u32;
        self.high = self.high.max(to);
        brought
    }

    /// Processes an acknowledgment of all bytes before this number.
    pub(crate) fn acknowledge(&mut self, number: u32) -> Acknowledged {
        if self.high == 0 {
            self.high = BASE + u64::from(number);
        }
        let mut number = unwrapped(self.high, number);
        if self.end == Some(number) {
            number -= 1;
        }
        let before = self.acknowledged;
        if number.abs_diff(self.high) > FARTHEST {
            return Acknowledged::default();
        }
        let beyond = number.saturating_sub(self.high);
        self.high = self.high.max(number);
        let mut unseen = beyond;
        self.gaps.retain_mut(|gap| {
            if gap.from < number {
                unseen += gap.to.min(number) - gap.from;
                gap.from = number;
            }
            gap.from < gap.to
        });
        self.acknowledged = Some(before.map_or(number, |before| before.max(number)));
        // The first acknowledgment shows the edge of the window and not its content.
        let Some(before) = before else {
            return Acknowledged::default();
        };
        Acknowledged {
            new: number.saturating_sub(before),
            unseen,
            same: number == before && self.high > number,
        }
    }

    fn pass_over(&mut self, from: u64, segment: &Segment) {
        let most = if segment.generous {
            MOST_GAPS
        } else {
            FEW_GAPS
        };
        if self.gaps.len() >= most {
            self.gaps.remove(0);
        }
        self.gaps.push(Gap {
            from: self.high,
            to: from,
            time: segment.time,
            identification: segment.identification,
        });
    }

    /// Removes a range of bytes from the gaps. Bytes in no gap were seen before.
    fn fill(&mut self, from: u64, to: u64, segment: &Segment, brought: &mut Brought) {
        let mut left = to - from;
        let mut index = self.gaps.partition_point(|gap| gap.to <= from);
        while let Some(&gap) = self.gaps.get(index)
            && gap.from < to
        {
            let (begin, end) = (gap.from.max(from), gap.to.min(to));
            let bytes = end - begin;
            left -= bytes;
            if overtaken(&gap, segment) {
                brought.reordered += bytes as u32;
            } else {
                brought.filled += bytes as u32;
            }
            let before = Gap { to: begin, ..gap };
            let behind = Gap { from: end, ..gap };
            match (before.from < before.to, behind.from < behind.to) {
                (true, true) => {
                    self.gaps[index] = before;
                    self.gaps.insert(index + 1, behind);
                    break;
                }
                (true, false) => {
                    self.gaps[index] = before;
                    index += 1;
                }
                (false, true) => {
                    self.gaps[index] = behind;
                    break;
                }
                (false, false) => {
                    self.gaps.remove(index);
                }
            }
        }
        brought.repeated = left as u32;
    }
}

/// Whether the bytes that fill a gap were sent before those that passed them. The time must be
/// short, and identifications must be in order if the sender counts them (RFC 6864 permits it).
fn overtaken(gap: &Gap, segment: &Segment) -> bool {
    let in_time = segment.time.saturating_sub(gap.time) < segment.reordering;
    let counted = segment.identification.zip(gap.identification);
    let in_order = counted
        .filter(|(filling, passing)| filling != passing)
        .is_none_or(|(filling, passing)| (filling.wrapping_sub(passing) as i16) < 0);
    in_time && in_order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(time: u64, sequence: u32, payload: u32) -> Segment {
        Segment {
            time,
            sequence,
            payload,
            identification: None,
            reordering: 3,
            generous: true,
        }
    }

    proptest! {
        /// Comparison with a set of bytes: in any order of segments, each byte is new once.
        #[test]
        fn every_byte_is_new_or_fills_a_gap_once(start in any::<u32>(), segments in prop::collection::vec((0u32..300, 1u32..40), 1..80)) {
            let mut sequence = Sequence::default();
            sequence.syn(start.wrapping_sub(1));
            let (mut seen, mut high) = (std::collections::BTreeSet::new(), 0);
            for (time, &(from, payload)) in (0..).zip(&segments) {
                let brought = sequence.take(&segment(time * 10, start.wrapping_add(from), payload));
                let bytes: Vec<_> = (from..from + payload).collect();
                let again = bytes.iter().filter(|it| seen.contains(*it)).count() as u32;
                let beyond = bytes.iter().filter(|&&it| it >= high).count() as u32;
                prop_assert_eq!(brought.repeated, again);
                prop_assert_eq!(brought.new, beyond);
                prop_assert_eq!(brought.new + brought.repeated + brought.filled + brought.reordered, payload);
                seen.extend(bytes);
                high = high.max(from + payload);
            }
            let unseen = u64::from(high) - seen.len() as u64;
            sequence.acknowledge(start);
            let said = sequence.acknowledge(start.wrapping_add(high));
            prop_assert_eq!((said.new, said.unseen), (u64::from(high), unseen));
            prop_assert_eq!((sequence.flight(), sequence.gaps()), (Some(0), 0));
        }

        #[test]
        fn nothing_panics(numbers in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 0..60)) {
            let mut sequence = Sequence::default();
            for (time, (number, payload, data)) in (0..).zip(numbers) {
                if data {
                    sequence.take(&segment(time, number, payload));
                } else {
                    sequence.acknowledge(number);
                }
                sequence.fin(number, payload & 1);
                prop_assert!(sequence.gaps() <= MOST_GAPS);
            }
        }
    }

    #[test]
    fn a_gap_that_is_filled_late_is_a_loss_and_soon_reordering() {
        for (time, identification, reordered) in [
            (2, None, true),
            (3, None, false),
            (2, Some((7, 8)), true),
            (2, Some((9, 8)), false),
            (2, Some((65_535, 0)), true),
            (4, Some((7, 8)), false),
        ] {
            let mut sequence = Sequence::default();
            sequence.syn(99);
            let with = |number: Option<u16>, segment| Segment {
                identification: number,
                ..segment
            };
            let passing = identification.map(|(_, passing)| passing);
            sequence.take(&with(passing, segment(0, 200, 100)));
            let filling = identification.map(|(filling, _)| filling);
            let brought = sequence.take(&with(filling, segment(time, 100, 100)));
            let expected = if reordered { (100, 0) } else { (0, 100) };
            assert_eq!(
                (brought.reordered, brought.filled),
                expected,
                "{time} {identification:?}"
            );
        }
    }

    #[test]
    fn a_fin_takes_a_number_and_no_byte() {
        let mut sequence = Sequence::default();
        sequence.syn(u32::MAX);
        sequence.take(&segment(0, 0, 10));
        sequence.acknowledge(0);
        sequence.fin(10, 0);
        let said = sequence.acknowledge(11);
        assert_eq!((said.new, said.unseen, sequence.flight()), (10, 0, Some(0)));
    }

    #[test]
    fn a_probe_of_what_was_acknowledged_is_no_loss() {
        let mut sequence = Sequence::default();
        sequence.syn(0);
        sequence.take(&segment(0, 1, 10));
        assert!(!sequence.take(&segment(0, 10, 1)).probe);
        sequence.acknowledge(11);
        assert!(sequence.take(&segment(0, 10, 1)).probe);
    }
}
