//! The upstream of a cable modem (DOCSIS 3.1, CM-SP-MULPIv3.1 section 7.2): a turn is a MAP
//! interval, in which the modem asks for what waits and has not been asked for, and sends what was
//! granted of what it has asked for before.

use std::collections::VecDeque;

use forebay_scenario::Docsis;
use forebay_units::Time;

use crate::link::transmitter::Transmitter;

/// A modem with its requests.
#[derive(Clone, Debug)]
pub(crate) struct RequestGrant {
    docsis: Docsis,
    transmitter: Transmitter,
    /// The MAP interval of the turn at hand.
    interval: u64,
    /// The intervals in which requests are granted, and their bytes.
    requests: VecDeque<(u64, i64)>,
    /// Bytes that are granted; less than none where a last packet took more, which the next grant
    /// is short of.
    allowance: i64,
    departures: Vec<Time>,
}

impl RequestGrant {
    pub(crate) fn new(docsis: Docsis, transmitter: Transmitter) -> Self {
        Self {
            docsis,
            transmitter,
            interval: 0,
            requests: VecDeque::new(),
            allowance: 0,
            departures: Vec::new(),
        }
    }

    fn begin(&self, interval: u64) -> Time {
        self.docsis.map.saturating_mul(interval)
    }

    /// See [`crate::link::scheduler::Scheduler::next`].
    pub(crate) fn next(&mut self, now: Time) -> Time {
        self.begin(now.as_picos().div_ceil(self.docsis.map.as_picos()))
    }

    /// As an interval begins at `now`, `waiting` bytes wait: requests those that are not requested
    /// yet. If nothing may be sent in this interval, returns when the next one begins.
    pub(crate) fn ready(&mut self, now: Time, waiting: u64) -> Time {
        if waiting == 0 {
            return now;
        }
        let interval = now.as_picos() / self.docsis.map.as_picos();
        if interval > self.interval + 1 {
            // Nothing waited in between.
            self.allowance = self.allowance.min(0);
        }
        self.interval = interval;
        while let Some((interval, bytes)) = self.requests.front().copied()
            && interval <= self.interval
        {
            self.requests.pop_front();
            // A grant that was not used in its interval is lost.
            self.allowance += if interval == self.interval { bytes } else { 0 };
        }
        let asked: i64 = self.requests.iter().map(|(_, bytes)| bytes).sum();
        let more = waiting.cast_signed() - self.allowance - asked;
        if more > 0 {
            let granted = self.interval + self.docsis.grant;
            self.requests.push_back((granted, more));
        }
        if self.allowance > 0 && self.has_time() {
            now
        } else {
            self.begin(self.interval + 1)
        }
    }

    /// Whether something can still be sent in this interval.
    fn has_time(&self) -> bool {
        self.transmitter.busy_until < self.begin(self.interval + 1)
    }

    /// See [`crate::link::scheduler::Scheduler::load`].
    pub(crate) fn load(&mut self, size: u32) -> bool {
        let now = self.begin(self.interval);
        let idle = !self.transmitter.occupied(now);
        self.departures.push(self.transmitter.take(now, size, idle));
        self.allowance -= i64::from(size);
        self.allowance > 0 && self.has_time()
    }

    /// See [`crate::link::scheduler::Scheduler::serve`].
    pub(crate) fn serve(&mut self, departures: &mut Vec<Time>) -> Time {
        departures.append(&mut self.departures);
        if self.has_time() {
            // Nothing waits any more: what is left of the grants is lost.
            self.allowance = self.allowance.min(0);
        }
        self.begin(self.interval + 1)
    }

    /// The transmitter of the packets.
    pub(crate) fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::scheduler::Scheduler;
    use crate::link::scheduler::testing::{Left, play};
    use forebay_discipline::Limit;
    use forebay_scenario::{Format, Medium, Scenario};

    /// 12 Mb/s: 1,500 bytes take a millisecond, and an interval of 2 ms two packets of them.
    fn modem(medium: &str) -> Scheduler {
        Scheduler::RequestGrant(Box::new(granted(medium)))
    }

    fn granted(medium: &str) -> RequestGrant {
        let text = format!(
            "[link]\nrate = \"12Mbps\"\nbuffer = \"100p\"\nmedium = {{ kind = \"docsis\"{medium} }}\n\
             [[flows]]\nrtt = \"10ms\""
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let Some(Medium::Docsis(docsis)) = scenario.target().medium else {
            panic!("{scenario:?}");
        };
        let transmitter = Transmitter::of(scenario.target(), None);
        RequestGrant::new(docsis, transmitter)
    }

    /// Whether what was asked for is dropped before its grant or at it: what comes later asks for
    /// itself.
    #[test]
    fn a_grant_that_nobody_uses_is_lost() {
        let at = Time::from_millis;
        for waiting in [0, 3000] {
            let mut modem = granted("");
            assert_eq!(modem.ready(at(2), 3000), at(4));
            assert_eq!(modem.ready(at(4), 3000), at(6));
            assert_eq!(modem.ready(at(6), waiting), at(6));
            for (now, next) in [(100, 102), (102, 104), (104, 104)] {
                assert_eq!(modem.ready(at(now), 1500), at(next), "{waiting}");
            }
        }
    }

    /// A packet longer than an interval takes the next one, too.
    #[test]
    fn an_interval_that_is_full_is_waited_for() {
        let at = Time::from_millis;
        let mut modem = granted("");
        for (now, next) in [(2, 4), (4, 6), (6, 6)] {
            assert_eq!(modem.ready(at(now), 7500), at(next));
        }
        assert!(!modem.load(6000));
        let mut departures = Vec::new();
        assert_eq!(modem.serve(&mut departures), at(8));
        assert_eq!(departures, [at(10)]);
        assert_eq!(modem.ready(at(8), 1500), at(10));
        assert_eq!(modem.ready(at(10), 1500), at(10));
    }

    fn packets(list: &[(u64, u32)]) -> Vec<(Time, u32)> {
        let packet = |&(micros, size): &(u64, u32)| (Time::from_micros(micros), size);
        list.iter().map(packet).collect()
    }

    fn left(list: &[u64]) -> Vec<Left> {
        list.iter()
            .map(|at| Left::At(Time::from_micros(*at)))
            .collect()
    }

    /// A packet that arrives in the interval before 2 ms is requested at 2 ms and granted at 6 ms.
    /// Later packets are requested as the next interval begins. Four packets are granted in two
    /// intervals, and a grant that found no packet is lost.
    #[test]
    fn packets_are_asked_for_and_granted() {
        let all = Limit::Packets(100);
        let found = play(
            modem(""),
            all,
            &packets(&[(1, 1500), (2000, 1500), (2001, 1500)]),
        );
        assert_eq!(found, left(&[7000, 8000, 9000]));
        let four = packets(&[
            (100, 1500),
            (100, 1500),
            (100, 1500),
            (100, 1500),
            (6500, 300),
        ]);
        // The last is asked for at 8 ms, and granted at 12 ms.
        assert_eq!(
            play(modem(""), all, &four),
            left(&[7000, 8000, 9000, 10_000, 12_200])
        );
        let found = play(
            modem(", map = \"1ms\", grant = 5"),
            all,
            &packets(&[(500, 1500), (9999, 750)]),
        );
        assert_eq!(found, left(&[7000, 15_500]));
        // A packet that has begun goes on into the next interval.
        let found = play(
            modem(""),
            all,
            &packets(&[(1, 300), (1, 1950), (1, 900), (1, 1500)]),
        );
        assert_eq!(found, left(&[6200, 7500, 8100, 9100]));
    }

    proptest::proptest! {
        /// Packets that arrive in an interval are granted `grant` intervals later. They leave in
        /// order, as soon as they are granted and the packets before have left, as on a wire after
        /// a known delay.
        #[test]
        fn grants_come_when_they_must(
            arrivals in proptest::collection::vec((0u64..6_000, 40u32..1500), 1..80),
            grant in 1u64..5,
        ) {
            let mut now = 0;
            let list: Vec<_> = arrivals.iter().map(|(gap, size)| { now += gap; (now, *size) }).collect();
            let found = play(modem(&format!(", grant = {grant}")), Limit::Packets(1000), &packets(&list));
            let (map, mut at_latest) = (Time::from_millis(2), Time::ZERO);
            for ((at, size), left) in packets(&list).into_iter().zip(found) {
                let Left::At(left) = left else { panic!("dropped") };
                let takes = |picos| Time::from_picos(u64::from(size) * picos);
                let due = map * (at.as_picos().div_ceil(map.as_picos()) + grant);
                proptest::prop_assert!(left >= due + takes(666_666), "{} {}", at, left);
                // A byte takes two thirds of a microsecond.
                at_latest = at_latest.max(due) + takes(666_667);
                proptest::prop_assert!(left <= at_latest, "{} {} {}", at, left, at_latest);
            }
        }
    }
}
