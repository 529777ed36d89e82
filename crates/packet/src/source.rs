//! Sources of packets that nobody acknowledges: Poisson arrivals, constant bit rate, and bursts.

use forebay_random::{Purpose, Stream};
use forebay_scenario::{FlowGroup, Law, Workload};
use forebay_units::{Rate, Time};

use crate::draws::Draws;
use crate::ids::{GroupId, LaneId, UnresponsiveId};

/// A source of unresponsive packets: a whole group (Poisson, CBR) or one flow (on-off).
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) group: GroupId,
    pub(crate) lane: LaneId,
    /// First of its flows among the unresponsive flows, and how many there are.
    first: usize,
    flows: usize,
    turn: usize,
    pattern: Pattern,
    gaps: Stream,
    choice: Stream,
    sizes: Stream,
    /// It sends nothing from then on.
    until: Time,
}

/// What a group's sources share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceSetup {
    pub(crate) group: GroupId,
    /// First of the group's flows.
    pub(crate) first: UnresponsiveId,
    pub(crate) draws: Draws,
    /// When the run ends.
    pub(crate) end: Time,
}

/// On/off periods follow each other so fast that the next packet is out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyPeriods;

/// The most on/off periods that may pass between two packets: a second of computing.
const MAX_PERIODS: u32 = 10_000_000;

/// What kind of unresponsive traffic a source sends.
#[derive(Clone, Debug)]
enum Pattern {
    /// Exponential gaps with this mean in ticks.
    Poisson {
        mean: f64,
    },
    /// Equal gaps in ticks, the fraction carried.
    Cbr {
        gap: f64,
        carried: f64,
    },
    OnOff(Bursts),
}

/// Packets with this gap between them during on periods, of which the current one ends at
/// `on_until`.
#[derive(Clone, Debug)]
struct Bursts {
    gap: Time,
    on: Law<Time>,
    off: Law<Time>,
    on_until: Time,
}

impl Source {
    /// The sources of an unresponsive group.
    pub(crate) fn of_group(spec: &FlowGroup, setup: SourceSetup) -> Vec<Self> {
        let SourceSetup { draws, first, .. } = setup;
        let packet_bits = spec.packet.mean() * 8.0;
        let ticks = |rate: Rate| packet_bits / rate.as_bits_per_second() as f64 * 1e12;
        let source = |pattern: Pattern, index: usize, flows: usize| Self {
            group: setup.group,
            lane: LaneId::default(),
            first: first.index() + index,
            flows,
            turn: 0,
            pattern,
            gaps: draws.stream(index as u64, Purpose::Interarrival),
            choice: draws.stream(index as u64, Purpose::Discipline),
            sizes: draws.stream(index as u64, Purpose::Packet),
            until: setup.end,
        };
        let count = spec.count as usize;
        match &spec.workload {
            Workload::Poisson { rate } => {
                let mean = ticks(*rate);
                vec![source(Pattern::Poisson { mean }, 0, count)]
            }
            Workload::Cbr { rate } => {
                let (gap, carried) = (ticks(*rate), 0.0);
                vec![source(Pattern::Cbr { gap, carried }, 0, count)]
            }
            Workload::OnOff { peak, on, off } => {
                let bursts = Bursts {
                    gap: ticks_of(ticks(*peak)),
                    on: on.clone(),
                    off: off.clone(),
                    on_until: Time::ZERO,
                };
                let pattern = |_| Pattern::OnOff(bursts.clone());
                (0..count).map(|k| source(pattern(k), k, 1)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The source stops at `stop`.
    pub(crate) fn stop_at(&mut self, stop: Time) {
        self.until = self.until.min(stop);
    }

    /// Whether it sends nothing any more.
    #[inline]
    pub(crate) fn is_over(&self, now: Time) -> bool {
        now >= self.until
    }

    /// The time of the first packet of a source that starts at `start`.
    pub(crate) fn first_arrival(&mut self, start: Time) -> Time {
        match &mut self.pattern {
            Pattern::Poisson { mean } => {
                start.saturating_add(ticks_of(*mean * self.gaps.exponential()))
            }
            Pattern::Cbr { .. } => start,
            Pattern::OnOff(bursts) => {
                let on = bursts.on.draw(0, 1, &mut self.gaps);
                bursts.on_until = start.saturating_add(on);
                start
            }
        }
    }

    /// The time of the packet after the one at `now`; none where the source is over before.
    #[inline]
    pub(crate) fn next_arrival(&mut self, now: Time) -> Result<Option<Time>, TooManyPeriods> {
        let next = match &mut self.pattern {
            Pattern::Poisson { mean } => {
                now.saturating_add(ticks_of(*mean * self.gaps.exponential()))
            }
            Pattern::Cbr { gap, carried } => {
                let exact = *gap + *carried;
                let whole = exact.floor().max(1.0);
                *carried = (exact - whole).max(0.0);
                now.saturating_add(Time::from_picos(whole as u64))
            }
            Pattern::OnOff(bursts) => bursts.next(now, self.until, &mut self.gaps)?,
        };
        Ok((next < self.until).then_some(next))
    }

    /// Which of the unresponsive flows sends the packet.
    #[inline]
    pub(crate) fn pick(&mut self) -> UnresponsiveId {
        if self.flows == 1 {
            return UnresponsiveId::new(self.first);
        }
        let chosen = if let Pattern::Poisson { .. } = self.pattern {
            self.choice.below(self.flows as u64) as usize
        } else {
            self.turn = (self.turn + 1) % self.flows;
            self.turn
        };
        UnresponsiveId::new(self.first + chosen)
    }

    /// Bytes of the packet.
    #[inline]
    pub(crate) fn size(&mut self, spec: &FlowGroup) -> u32 {
        match &spec.packet {
            Law::Value(size) => size.get() as u32,
            law => law.draw(0, 1, &mut self.sizes).get() as u32,
        }
    }
}

impl Bursts {
    /// The time of the packet after the one at `now`: one gap later where that is still in an on
    /// period, else the start of the first on period that reaches so far. Looks no further than
    /// `until`.
    fn next(&mut self, now: Time, until: Time, draws: &mut Stream) -> Result<Time, TooManyPeriods> {
        let mut next = now.saturating_add(self.gap);
        let mut periods = 0;
        while next >= self.on_until && self.on_until < until {
            if periods == MAX_PERIODS {
                return Err(TooManyPeriods);
            }
            let start = self.on_until.saturating_add(self.off.draw(0, 1, draws));
            self.on_until = start.saturating_add(self.on.draw(0, 1, draws));
            next = next.max(start);
            periods += 1;
        }
        // What the periods do not reach before the end is not sent.
        Ok(if next < self.on_until { next } else { until })
    }
}

fn ticks_of(ticks: f64) -> Time {
    Time::from_picos((ticks as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_random::Seed;

    fn bursts(gap: Time, on: Law<Time>, off: Law<Time>) -> (Bursts, Stream) {
        let bursts = Bursts {
            gap,
            on,
            off,
            on_until: Time::ZERO,
        };
        (
            bursts,
            Stream::new(Seed::default(), 1, Purpose::Interarrival),
        )
    }

    /// Periods of 3 and 7 us, a packet each 100 ms: ten thousand periods pass between two packets,
    /// and each packet falls into an on period.
    #[test]
    fn every_packet_falls_into_an_on_period_however_many_periods_lie_between() {
        let (on, off) = (Time::from_micros(3), Time::from_micros(7));
        let gap = Time::from_picos(100_000_001_234);
        let (mut bursts, mut draws) = bursts(gap, Law::Value(on), Law::Value(off));
        bursts.on_until = on;
        let mut now = Time::ZERO;
        for _ in 0..200 {
            let next = bursts.next(now, Time::MAX, &mut draws).unwrap();
            let within = Time::from_picos(next.as_picos() % (on + off).as_picos());
            assert!(within < on && next >= now + gap && next < now + gap + on + off);
            now = next;
        }
    }

    #[test]
    fn a_source_that_is_never_on_sends_nothing_and_ends() {
        let (mut bursts, mut draws) = bursts(
            Time::from_millis(1),
            Law::Value(Time::ZERO),
            Law::Value(Time::from_secs(1)),
        );
        let end = Time::from_secs(5000);
        assert_eq!(bursts.next(Time::ZERO, end, &mut draws), Ok(end));
    }

    #[test]
    fn periods_without_end_are_refused() {
        let tick = Time::from_picos(1);
        let (mut bursts, mut draws) =
            bursts(Time::from_secs(1), Law::Value(tick), Law::Value(tick));
        let next = bursts.next(Time::ZERO, Time::from_secs(100), &mut draws);
        assert_eq!(next, Err(TooManyPeriods));
    }
}
