//! Sources of packets without acknowledgments: Poisson arrivals, constant bit rate, and bursts.

use forebay_random::{Purpose, Stream};
use forebay_scenario::{Distribution, FlowGroup, Workload};
use forebay_units::{Rate, Time};

use crate::ids::{GroupId, LaneId, UnresponsiveId};
use crate::refusal::{Refusal, too_large};
use crate::sampling::Sampling;
use crate::traffic::on_periods::{OnPeriod, OnPeriods};

/// A source of unresponsive packets: a whole group (Poisson, CBR) or one flow (on-off).
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) group: GroupId,
    pub(crate) lane: LaneId,
    /// Its number in the group, where each flow is a source; else 0.
    pub(crate) index: u64,
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

/// The shared parameters of a group's sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceSetup {
    pub(crate) group: GroupId,
    /// First of the group's flows.
    pub(crate) first: UnresponsiveId,
    pub(crate) draws: Sampling,
    /// When the run ends.
    pub(crate) end: Time,
}

/// On/off periods follow each other so fast that the next packet is out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyPeriods;

impl TooManyPeriods {
    /// Refuses the group of this name.
    pub(crate) fn refusal(group: &str) -> Refusal {
        too_large(&format!(
            "in group `{group}` more than ten million on/off periods pass between two packets"
        ))
    }
}

/// The most on/off periods that may pass between two packets: a second of computing.
const MAX_PERIODS: u32 = 10_000_000;

/// The kind of unresponsive traffic that a source sends.
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
    periods: OnPeriods,
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
            index: index as u64,
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
                    periods: OnPeriods {
                        on: on.clone(),
                        off: off.clone(),
                    },
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
                bursts.on_until = bursts.periods.first(start, &mut self.gaps).end;
                start
            }
        }
    }

    /// The time of the first packet of a source that is active when the run begins. The source has
    /// sent for ever, and the beginning is an instant like any other, which `phase` chooses.
    pub(crate) fn next_of_many(&mut self, phase: &mut Stream) -> Result<Time, TooManyPeriods> {
        match &mut self.pattern {
            // It has no memory.
            Pattern::Poisson { .. } => Ok(self.first_arrival(Time::ZERO)),
            Pattern::Cbr { gap, .. } => Ok(ticks_of(*gap * phase.uniform())),
            Pattern::OnOff(bursts) => bursts.resume(self.until, &mut self.gaps, phase),
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
            Distribution::Value(size) => size.get() as u32,
            distribution => distribution.draw(0, 1, &mut self.sizes).get() as u32,
        }
    }
}

impl Bursts {
    /// The time of the packet after the one at `now`: one gap later if that is still in an on
    /// period, else the start of the first on period that reaches that far. Searches no further
    /// than `until`.
    fn next(&mut self, now: Time, until: Time, draws: &mut Stream) -> Result<Time, TooManyPeriods> {
        self.reach(now.saturating_add(self.gap), until, draws)
    }

    /// The time of the first packet where the periods have followed each other for ever: in an on
    /// period with the probability E[on] / (E[on] + E[off]), and somewhere in that. The packet
    /// before lies up to a gap back, or that far before the end of the last on period.
    fn resume(
        &mut self,
        until: Time,
        draws: &mut Stream,
        phase: &mut Stream,
    ) -> Result<Time, TooManyPeriods> {
        let found = self.periods.under_way(draws, phase);
        let OnPeriod { begin, end } = found.period;
        self.on_until = end;
        let gap = Time::from_secs_f64(self.gap.as_secs_f64() * found.gap_share);
        let next = match found.silence {
            None => gap,
            Some(silence) => gap.saturating_sub(silence).max(begin),
        };
        self.reach(next, until, draws)
    }

    /// The first instant of an on period from `next` on, or `until` where that comes before.
    fn reach(
        &mut self,
        mut next: Time,
        until: Time,
        draws: &mut Stream,
    ) -> Result<Time, TooManyPeriods> {
        let mut periods = 0;
        while next >= self.on_until && self.on_until < until {
            if periods == MAX_PERIODS {
                return Err(TooManyPeriods);
            }
            let period = self.periods.after(self.on_until, draws);
            self.on_until = period.end;
            next = next.max(period.begin);
            periods += 1;
        }
        // A packet that the periods do not reach before the end is not sent.
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

    fn bursts(gap: Time, on: Distribution<Time>, off: Distribution<Time>) -> (Bursts, Stream) {
        let bursts = Bursts {
            gap,
            periods: OnPeriods { on, off },
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
        let (mut bursts, mut draws) =
            bursts(gap, Distribution::Value(on), Distribution::Value(off));
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
            Distribution::Value(Time::ZERO),
            Distribution::Value(Time::from_secs(1)),
        );
        let end = Time::from_secs(5000);
        assert_eq!(bursts.next(Time::ZERO, end, &mut draws), Ok(end));
    }

    #[test]
    fn periods_without_end_are_refused() {
        let tick = Time::from_picos(1);
        let (mut bursts, mut draws) = bursts(
            Time::from_secs(1),
            Distribution::Value(tick),
            Distribution::Value(tick),
        );
        let next = bursts.next(Time::ZERO, Time::from_secs(100), &mut draws);
        assert_eq!(next, Err(TooManyPeriods));
    }

    /// Packets per source in each slice of a run, for sources that are active when it begins: the
    /// mean of each slice and its standard error.
    fn per_slice(bursts: &Bursts, slice: Time, slices: usize) -> Vec<(f64, f64)> {
        const SOURCES: u64 = 4000;
        let end = Time::from_picos(slice.as_picos() * slices as u64);
        let mut sums = vec![(0.0, 0.0); slices];
        for source in 0..SOURCES {
            let stream = |purpose| Stream::new(Seed::default(), source, purpose);
            let (mut gaps, mut phase) = (stream(Purpose::Interarrival), stream(Purpose::Phase));
            let mut bursts = bursts.clone();
            let mut counts = vec![0.0; slices];
            let mut now = bursts.resume(end, &mut gaps, &mut phase).unwrap();
            while now < end {
                counts[(now.as_picos() / slice.as_picos()) as usize] += 1.0;
                now = bursts.next(now, end, &mut gaps).unwrap();
            }
            for (sum, count) in sums.iter_mut().zip(counts) {
                sum.0 += count;
                sum.1 += count * count;
            }
        }
        let n = SOURCES as f64;
        let estimate = |(sum, squares): (f64, f64)| {
            let mean = sum / n;
            (mean, ((squares / n - mean * mean) / n).sqrt())
        };
        sums.into_iter().map(estimate).collect()
    }

    /// From the first instant on, sources that are active when the run begins send at their mean
    /// rate, whatever the laws of their periods. No slice of the run differs from the others.
    #[test]
    fn sources_that_are_under_way_send_at_their_mean_rate_from_the_beginning() {
        let ms = Time::from_millis;
        let pareto = Distribution::Pareto {
            shape: 1.5,
            minimum: ms(100),
            maximum: Some(ms(3000)),
        };
        for (on, off) in [
            (Distribution::Value(ms(100)), Distribution::Value(ms(300))),
            (
                Distribution::Exponential(ms(352)),
                Distribution::Exponential(ms(650)),
            ),
            (
                Distribution::Choice(vec![ms(50), ms(1000)]),
                Distribution::Uniform(ms(0), ms(900)),
            ),
            (pareto.clone(), pareto),
        ] {
            let share = on.mean() / (on.mean() + off.mean());
            let (bursts, _) = bursts(ms(1), on.clone(), off.clone());
            for (at, (mean, error)) in per_slice(&bursts, ms(25), 40).into_iter().enumerate() {
                // A burst has up to a packet more than its length has gaps.
                let most = share * 25.0 + 25e-3 / (on.mean() + off.mean());
                let low = share * 25.0 - 4.0 * error;
                let inside = (low..most + 4.0 * error).contains(&mean);
                assert!(inside, "{on:?} {off:?}: slice {at}: {mean} {share} {error}");
            }
        }
    }

    /// The same holds for periods much shorter than the gap: a packet about each gap, at any time.
    #[test]
    fn sources_of_short_periods_do_not_begin_together() {
        let us = Time::from_micros;
        let (bursts, _) = bursts(
            Time::from_millis(1),
            Distribution::Value(us(3)),
            Distribution::Value(us(7)),
        );
        for (mean, error) in per_slice(&bursts, us(100), 30) {
            assert!((mean - 0.1).abs() < 4.0 * error + 0.001, "{mean} {error}");
        }
    }

    /// A source is on at the beginning with its share of the time.
    #[test]
    fn a_source_is_on_at_the_beginning_as_often_as_at_any_time() {
        const SOURCES: u64 = 10_000;
        let ms = Time::from_millis;
        let distribution = |mean| Distribution::Weibull {
            shape: 0.7,
            scale: ms(mean),
        };
        let (bursts, _) = bursts(Time::from_picos(1), distribution(200), distribution(600));
        let on = (0..SOURCES).filter(|source| {
            let stream = |purpose| Stream::new(Seed::default(), *source, purpose);
            let (mut gaps, mut phase) = (stream(Purpose::Interarrival), stream(Purpose::Phase));
            let mut bursts = bursts.clone();
            bursts.resume(Time::MAX, &mut gaps, &mut phase).unwrap() <= Time::from_picos(1)
        });
        let share = on.count() as f64 / SOURCES as f64;
        let error = (0.25_f64 * 0.75 / SOURCES as f64).sqrt();
        assert!((share - 0.25).abs() < 4.0 * error, "{share}");
    }
}
