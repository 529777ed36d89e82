//! A receiver's network card that gathers packets before it hands them up, consecutive ones as one:
//! interrupt moderation (`ethtool -C rx-usecs`), and generic receive offload in the poll that
//! follows (net/core/gro.c: `dev_gro_receive`, net/ipv4/tcp_offload.c: `tcp_gro_receive` of 5.5 and
//! 6.18). A segment so merged is one arrival for the receiver's delayed acknowledgments, duplicates
//! and SACKs, so that there is one acknowledgment for each.
//!
//! Hosts that are late deal with what has arrived a random time after the card's interrupt: the
//! time until the interrupt is served and the process runs (softirq, scheduler), or an emulator's
//! lateness.

use forebay_random::{Stream, StreamKey};
use forebay_units::Time;

/// Most bytes of a merged segment (`gro_max_size`), its header once.
const LARGEST: u64 = 65_535;

/// A packet as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) packet: u64,
    pub(crate) now: Time,
    /// Whether it ends a burst, or what was written.
    pub(crate) pushed: bool,
    /// The round trip, as far as known.
    pub(crate) rtt: Time,
}

/// A packet at the network card.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingPacket {
    pub(crate) arrival: Arrival,
    /// Whether it carries a mark of congestion.
    pub(crate) marked: bool,
}

/// The largest number of packets in a merged segment. `packet` is the size of a packet and `header`
/// that of its header, in bytes.
pub(crate) fn most_merged(packet: u64, header: u64) -> usize {
    let payload = packet.saturating_sub(header).max(1);
    (LARGEST.saturating_sub(header) / payload).max(1) as usize
}

/// How late hosts deal with what arrives: a time up to the longest, drawn uniformly.
#[derive(Clone, Debug)]
pub(crate) struct HostDelay {
    longest: Time,
    random: Stream,
}

impl HostDelay {
    /// Up to so late, where hosts are late at all.
    pub(crate) fn new(longest: Time, random: StreamKey) -> Option<Self> {
        (longest > Time::ZERO).then(|| Self {
            longest,
            random: random.stream(),
        })
    }

    fn draw(&mut self) -> Time {
        Time::from_secs_f64(self.random.uniform() * self.longest.as_secs_f64())
    }
}

/// The packets at a network card.
#[derive(Clone, Debug)]
pub(super) struct ReceiveOffload {
    /// From one interrupt to the next while packets come.
    gathers: Time,
    /// Delay from the interrupt to its processing.
    pub(super) host_delay: Option<HostDelay>,
    held: Vec<PendingPacket>,
    /// When what it holds is handed up.
    due: Time,
}

impl ReceiveOffload {
    /// A network card with this interval between interrupts and this delay of their processing;
    /// none where neither takes time.
    pub(super) fn new(gathers: Time, host_delay: Option<HostDelay>) -> Option<Box<Self>> {
        (gathers > Time::ZERO || host_delay.is_some()).then(|| {
            Box::new(Self {
                gathers,
                host_delay,
                held: Vec::new(),
                due: Time::MAX,
            })
        })
    }

    pub(super) fn hold(&mut self, held: PendingPacket) {
        if self.held.is_empty() {
            let late = self.host_delay.as_mut().map_or(Time::ZERO, HostDelay::draw);
            self.due = self.interrupt(held.arrival.now).saturating_add(late);
        }
        self.held.push(held);
    }

    /// The first interrupt after `now`, at the same times for all flows that gather for so long:
    /// those of a group end at one host.
    fn interrupt(&self, now: Time) -> Time {
        if self.gathers() {
            let after = now.saturating_add(Time::from_picos(1));
            after.round_up_to(self.gathers)
        } else {
            now
        }
    }

    /// Whether it gathers, and does not only wait for a late host.
    fn gathers(&self) -> bool {
        self.gathers > Time::ZERO
    }

    /// When what it holds is handed up.
    pub(super) fn due(&self) -> Option<Time> {
        (!self.held.is_empty()).then_some(self.due)
    }

    /// At an interrupt: all that it holds, as segments of `most` packets at most that end where
    /// something is missing, and behind a PSH. A network card that does not gather merges nothing.
    pub(super) fn take(&mut self, now: Time, most: usize) -> Vec<Vec<PendingPacket>> {
        let mut segments: Vec<Vec<PendingPacket>> = Vec::new();
        if self.due().is_none_or(|due| due > now) {
            return segments;
        }
        let most = if self.gathers() { most } else { 1 };
        for held in self.held.drain(..) {
            let open = segments.last_mut().filter(|segment| {
                let joins = |last: &PendingPacket| {
                    last.arrival.packet + 1 == held.arrival.packet && !last.arrival.pushed
                };
                segment.len() < most && segment.last().is_some_and(joins)
            });
            match open {
                Some(segment) => segment.push(held),
                None => segments.push(vec![held]),
            }
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use forebay_random::{Purpose, Seed};

    use super::*;

    fn held(packet: u64, pushed: bool, now_us: u64) -> PendingPacket {
        let arrival = Arrival {
            packet,
            now: Time::from_micros(now_us),
            pushed,
            rtt: Time::from_millis(1),
        };
        PendingPacket {
            arrival,
            marked: false,
        }
    }

    fn numbers(segments: &[Vec<PendingPacket>]) -> Vec<Vec<u64>> {
        let packets =
            |segment: &Vec<PendingPacket>| segment.iter().map(|held| held.arrival.packet).collect();
        segments.iter().map(packets).collect()
    }

    #[test]
    fn segments_end_at_a_gap_a_push_and_64_kib() {
        let mut receive_offload = ReceiveOffload::new(Time::from_micros(50), None).unwrap();
        for packet in [1, 2, 4, 5, 6, 7, 8, 9] {
            receive_offload.hold(held(packet, packet == 5, packet));
        }
        assert_eq!(receive_offload.due(), Some(Time::from_micros(50)));
        assert!(receive_offload.take(Time::from_micros(49), 3).is_empty());
        let segments = receive_offload.take(Time::from_micros(50), 3);
        let expected = [vec![1, 2], vec![4, 5], vec![6, 7, 8], vec![9]];
        assert_eq!(numbers(&segments), expected);
        assert_eq!(receive_offload.due(), None);
        // A packet that arrives at the time of an interrupt waits for the next one.
        receive_offload.hold(held(10, false, 100));
        assert_eq!(receive_offload.due(), Some(Time::from_micros(150)));
    }

    /// Each wait is within the longest and half of it on average; what arrives meanwhile is handed
    /// up with the first, packet by packet.
    #[test]
    fn late_hosts_take_half_the_longest_time_and_merge_nothing() {
        let key = StreamKey::new(Seed::default(), 3, Purpose::Processing);
        let longest = Time::from_micros(100);
        let mut receive_offload =
            ReceiveOffload::new(Time::ZERO, HostDelay::new(longest, key)).unwrap();
        let mut total = 0.0;
        for k in 0..10_000 {
            let now = Time::from_micros(1000 * k);
            receive_offload.hold(held(2 * k, false, 1000 * k));
            let due = receive_offload.due().unwrap();
            assert!(due >= now && due <= now + longest);
            total += (due - now).as_secs_f64();
            receive_offload.hold(held(2 * k + 1, false, 1000 * k + 1));
            assert_eq!(receive_offload.due(), Some(due));
            let segments = receive_offload.take(due, 40);
            assert_eq!(numbers(&segments), [[2 * k], [2 * k + 1]]);
        }
        let mean = total / 10_000.0 / longest.as_secs_f64();
        assert!((0.49..0.51).contains(&mean), "{mean}");
        assert!(HostDelay::new(Time::ZERO, key).is_none());
    }

    #[test]
    fn a_merged_segment_has_64_kib_with_one_header() {
        assert_eq!([most_merged(1500, 52), most_merged(9000, 52)], [45, 7]);
        assert_eq!([most_merged(70_000, 40), most_merged(40, 40)], [1, 65_495]);
        assert!(ReceiveOffload::new(Time::ZERO, None).is_none());
    }
}
