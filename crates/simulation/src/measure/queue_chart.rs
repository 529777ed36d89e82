//! The chart of the target link: its queue, losses, marks and bytes in columns of simulated time,
//! and the lists of lost and marked packets. The events of packets come in any order, some ahead of
//! their time; they are processed in the order of time once all of them are known.

use std::collections::VecDeque;

use forebay_units::Time;

use crate::measure::columns::{Count, Counts, Levels, Scale};
use crate::measure::probe::{PacketEvent, PacketEventKind};

/// The largest number of packets in a list. Older ones make room for later ones.
pub const MOST_SIGNALS: usize = 100_000;

/// The packets that a link lost or marked, in the order of time: the last [`MOST_SIGNALS`] of them.
/// The number of a packet that nothing acknowledges is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    list: VecDeque<PacketEvent>,
    total: u64,
}

impl Signals {
    fn add(&mut self, event: PacketEvent) {
        if self.list.len() == MOST_SIGNALS {
            self.list.pop_front();
        }
        self.list.push_back(event);
        self.total += 1;
    }

    /// Number of all packets since the beginning of the run.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of the first packet in the list.
    pub fn first(&self) -> u64 {
        self.total - self.list.len() as u64
    }

    /// The packet of this number since the beginning of the run; `None` if it is no longer, or not
    /// yet, in the list.
    pub fn get(&self, number: u64) -> Option<&PacketEvent> {
        let at = number.checked_sub(self.first())?;
        self.list.get(usize::try_from(at).ok()?)
    }
}

/// How a chart knows which packets at a link do not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmission {
    /// One of the packets at the link is in transmission.
    Always,
    /// All wait until they leave.
    Never,
    /// The beginning of each transmission is recorded: a pause lets all wait.
    Recorded,
}

/// The chart of a link.
#[derive(Clone, Debug)]
pub struct QueueChart {
    /// Arrivals that have not been processed.
    arrivals: VecDeque<Time>,
    /// Departures without a mark that have not been processed, with the bytes of the packet.
    departures: VecDeque<(Time, u32)>,
    /// Losses and departures with a mark that have not been processed.
    signals: VecDeque<PacketEvent>,
    /// Packets at the link, the one in transmission included unless transmissions are recorded.
    present: u64,
    /// The packets at the link that do not wait.
    transmission: Transmission,
    /// Beginnings of transmissions that have not been processed, if they are recorded.
    starts: VecDeque<Time>,
    waiting: Levels,
    counts: Counts,
    dropped: Signals,
    marked: Signals,
}

impl QueueChart {
    /// A chart of `scale` before the first event.
    pub(crate) fn new(scale: Scale, transmission: Transmission) -> Self {
        Self {
            arrivals: VecDeque::new(),
            departures: VecDeque::new(),
            signals: VecDeque::new(),
            present: 0,
            transmission,
            starts: VecDeque::new(),
            waiting: Levels::new(scale, Some(0)),
            counts: Counts::new(scale),
            dropped: Signals::default(),
            marked: Signals::default(),
        }
    }

    /// A packet arrives, also if it is lost then.
    #[inline]
    pub(crate) fn arrive(&mut self, time: Time) {
        insert(&mut self.arrivals, time, |time| *time);
    }

    /// A packet goes into transmission.
    pub(crate) fn start(&mut self, time: Time) {
        if self.transmission == Transmission::Recorded {
            insert(&mut self.starts, time, |time| *time);
        }
    }

    /// A packet of this size in bytes leaves without a mark.
    #[inline]
    pub(crate) fn depart(&mut self, time: Time, bytes: u32) {
        insert(&mut self.departures, (time, bytes), |it| *it);
    }

    /// A packet is lost, or leaves with a mark.
    pub(crate) fn signal(&mut self, event: PacketEvent) {
        insert(&mut self.signals, event, order);
    }

    /// Processes everything that happens before `now`, all of which must be known.
    pub(crate) fn extend(&mut self, now: Time) {
        loop {
            let heads = [
                self.arrivals.front().copied(),
                self.departures.front().map(|(time, _)| *time),
                self.signals.front().map(|event| event.time),
                self.starts.front().copied(),
            ];
            let next = heads.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next < now) else {
                break;
            };
            self.process(next);
        }
        self.waiting.extend(now);
        self.counts.extend(now);
    }

    /// Processes all events of one instant. Only their outcome counts, not their order.
    fn process(&mut self, instant: Time) {
        let (mut came, mut left) = (0, 0);
        let mut count = Count::default();
        while self.arrivals.front().is_some_and(|time| *time == instant) {
            self.arrivals.pop_front();
            came += 1;
        }
        while let Some(&(_, bytes)) = self.departures.front().filter(|it| it.0 == instant) {
            self.departures.pop_front();
            left += 1;
            count.bytes += u64::from(bytes);
        }
        while let Some(&event) = self.signals.front().filter(|it| it.time == instant) {
            self.signals.pop_front();
            left += 1;
            if event.kind == PacketEventKind::IsDropped {
                count.losses += 1;
                self.dropped.add(event);
            } else {
                count.marks += 1;
                count.bytes += u64::from(event.bytes);
                self.marked.add(event);
            }
        }
        let mut gone = left;
        if self.transmission == Transmission::Recorded {
            gone = count.losses;
            while self.starts.front().is_some_and(|time| *time == instant) {
                self.starts.pop_front();
                gone += 1;
            }
        }
        self.present = (self.present + came).saturating_sub(gone);
        let transmitted = u64::from(self.transmission == Transmission::Always);
        let waiting = self.present.saturating_sub(transmitted);
        if self.waiting.value() != Some(waiting) {
            self.waiting.set(instant, Some(waiting));
        }
        if left > 0 {
            self.counts.add(instant, count);
        }
    }

    /// Packets that wait at the link, without the one in transmission.
    pub fn waiting(&self) -> &Levels {
        &self.waiting
    }

    /// Losses, marks and bytes.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The lost packets.
    pub fn dropped(&self) -> &Signals {
        &self.dropped
    }

    /// The marked packets.
    pub fn marked(&self) -> &Signals {
        &self.marked
    }
}

/// Inserts an item in its order. Nearly all come at the end.
#[inline]
fn insert<T, K: Ord>(list: &mut VecDeque<T>, item: T, key: impl Fn(&T) -> K) {
    let earlier = |other: &T| key(other) <= key(&item);
    if list.back().is_none_or(&earlier) {
        list.push_back(item);
        return;
    }
    let at = list.iter().rposition(&earlier).map_or(0, |at| at + 1);
    list.insert(at, item);
}

/// The order of events, which does not depend on when the run came to know of them.
fn order(event: &PacketEvent) -> (Time, u8, u32, u32, u64, u32) {
    let PacketEvent {
        time,
        kind,
        group,
        flow,
        packet,
        bytes,
        ..
    } = *event;
    (time, kind as u8, group, flow, packet, bytes)
}

#[cfg(test)]
mod tests {
    use forebay_scenario::Segment;

    use super::*;

    fn event(time: u64, kind: PacketEventKind, packet: u64) -> PacketEvent {
        PacketEvent {
            time: Time::from_picos(time),
            kind,
            flow: 0,
            group: 0,
            packet,
            segment: Segment::Data,
            bytes: 1000,
        }
    }

    /// The list has the last packets, and numbers go on.
    #[test]
    fn old_signals_make_room() {
        let mut signals = Signals::default();
        let most = MOST_SIGNALS as u64;
        for packet in 0..most + 5 {
            signals.add(event(packet, PacketEventKind::IsDropped, packet));
        }
        assert_eq!(signals.total(), most + 5);
        assert_eq!((signals.get(4), signals.get(most + 5)), (None, None));
        for number in [5, 6, most + 4] {
            assert_eq!(signals.get(number).unwrap().packet, number);
        }
    }

    /// Events ahead of their time wait for it, and those of one instant have one outcome.
    #[test]
    fn events_are_processed_in_the_order_of_time() {
        let mut chart = QueueChart::new(Scale::new(100), Transmission::Always);
        for time in [0, 1024, 3000, 2000] {
            chart.arrive(Time::from_picos(time));
        }
        for time in [3000, 6000] {
            chart.depart(Time::from_picos(time), 1000);
        }
        chart.signal(event(2000, PacketEventKind::IsDropped, 4));
        chart.extend(Time::from_picos(4096));
        let levels: Vec<_> = chart
            .waiting()
            .columns()
            .iter()
            .map(|it| (it.least, it.most))
            .collect();
        assert_eq!(levels, [(0, 0), (1, 1), (1, 1), (1, 1)]);
        assert_eq!(chart.waiting().columns().len(), 4);
        let counts: Vec<_> = chart
            .counts()
            .columns()
            .iter()
            .map(|it| (it.losses, it.bytes))
            .collect();
        assert_eq!(counts, [(0, 0), (1, 0), (0, 1000), (0, 0)]);
        assert_eq!(chart.dropped().get(0).unwrap().packet, 4);
    }
}
