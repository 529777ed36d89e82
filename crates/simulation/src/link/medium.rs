//! The medium behind a link: what it loses of the packets that have left, and how long the others
//! take where that changes.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Delays, GilbertElliott, Link, MediumLoss};
use forebay_units::Time;

/// The medium behind one link.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    distribution: MediumLoss,
    /// How the delay changes, where it does, and the shortest.
    delays: Option<(Delays, Time)>,
    /// When the last packet arrives behind it.
    last: Time,
    /// Whether a medium with bursts of losses is bad.
    bad: bool,
    draws: Stream,
    /// When counting began, and when the run ends.
    since: Time,
    end: Time,
    /// Packets that came to it, of those that arrived at the link since counting began, and that it
    /// lost.
    carried: u64,
    lost: u64,
}

impl Medium {
    /// Whether there is anything to tell of the medium behind a link: it loses packets, or its
    /// delay changes.
    pub(crate) fn any(link: &Link) -> bool {
        link.loss.rate() > 0.0 || link.delays.is_some()
    }

    /// The medium behind link number `number`; `None` where there is nothing to tell of it. Whether
    /// it is bad at the beginning is drawn, so that each packet is lost as often as any other.
    pub(crate) fn new(link: &Link, number: usize, end: Time, seed: Seed) -> Option<Self> {
        if !Self::any(link) {
            return None;
        }
        let distribution = link.loss;
        let mut draws = Stream::new(seed, number as u64, Purpose::Medium);
        let share = distribution
            .gilbert_elliott
            .map_or(0.0, |distribution| distribution.bad_share());
        Some(Self {
            distribution,
            delays: link.delays.clone().map(|delays| (delays, link.delay)),
            last: Time::ZERO,
            bad: draws.uniform() < share,
            draws,
            since: Time::ZERO,
            end,
            carried: 0,
            lost: 0,
        })
    }

    /// The excess of a packet's time over the shortest, if it leaves the link at `departure`.
    pub(crate) fn later(&mut self, departure: Time) -> Time {
        let Some((Delays { steps, in_order }, least)) = &self.delays else {
            return Time::ZERO;
        };
        let later = steps.at(departure).saturating_sub(*least);
        if !in_order {
            return later;
        }
        self.last = self.last.max(departure.saturating_add(later));
        self.last - departure
    }

    /// A packet that arrived at the link at `arrival` comes to the medium at `departure`. Returns
    /// whether it is lost. No packet after the end of the run is lost: where departures are known
    /// at arrival, the packet is seen before.
    pub(crate) fn loses(&mut self, arrival: Time, departure: Time) -> bool {
        if departure > self.end || self.distribution.rate() <= 0.0 {
            return false;
        }
        let at_random =
            self.distribution.random > 0.0 && self.draws.uniform() < self.distribution.random;
        let distribution = self.distribution.gilbert_elliott;
        let lost = distribution.is_some_and(|distribution| self.loses_in_bursts(distribution))
            || at_random;
        let counts = self.counts(arrival);
        self.carried += u64::from(counts);
        self.lost += u64::from(counts && lost);
        lost
    }

    /// The state before the packet decides whether it is lost; then the medium may change.
    fn loses_in_bursts(&mut self, distribution: GilbertElliott) -> bool {
        let (loses, turns) = if self.bad {
            (distribution.bad, distribution.to_good)
        } else {
            (distribution.good, distribution.to_bad)
        };
        self.bad ^= self.draws.uniform() < turns;
        self.draws.uniform() < loses
    }

    /// Whether a packet that arrived then is one of those that are counted.
    pub(crate) fn counts(&self, arrival: Time) -> bool {
        arrival >= self.since
    }

    /// Share of the packets that it lost; `None` where none came.
    pub(crate) fn loss_rate(&self) -> Option<f64> {
        (self.carried > 0).then(|| self.lost as f64 / self.carried as f64)
    }

    /// The warm-up ends: counting restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        (self.since, self.carried, self.lost) = (now, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::{Format, Scenario};

    const SEED: Seed = Seed {
        seed: 7,
        replication: 0,
    };

    const END: Time = Time::from_secs(2);

    fn link(keys: &str) -> Link {
        let text =
            format!("[link]\nrate = \"1Mbps\"\nbuffer = \"1p\"\n{keys}\n[[flows]]\nrtt = \"1s\"");
        let scenario = Scenario::parse(&text, Format::Toml, "x", &[]);
        scenario.expect("a scenario").target().clone()
    }

    fn behind(distribution: MediumLoss, number: usize, seed: Seed) -> Option<Medium> {
        let link = Link {
            loss: distribution,
            ..link("")
        };
        Medium::new(&link, number, END, seed)
    }

    /// A handover from 30 to 20 ms: what leaves later overtakes, or arrives with what left before.
    #[test]
    fn delays_are_those_of_their_time_or_in_order() {
        let steps = "steps = [[\"0s\", \"30ms\"], [\"15ms\", \"20ms\"]], repeat = \"30ms\"";
        for (order, expected) in [
            ("", [40, 44, 36, 44, 60]),
            (", in_order = true", [40, 44, 44, 44, 60]),
        ] {
            let link = link(&format!("delay = {{ {steps}{order} }}"));
            assert_eq!(link.delay, Time::from_millis(20));
            let mut medium = Medium::new(&link, 0, END, SEED).unwrap();
            let arrivals = [10, 14, 16, 24, 30].map(|left| {
                let left = Time::from_millis(left);
                left + link.delay + medium.later(left)
            });
            assert_eq!(arrivals, expected.map(Time::from_millis));
            assert!(!medium.loses(Time::ZERO, Time::ZERO) && medium.loss_rate().is_none());
        }
    }

    fn losses(distribution: MediumLoss, packets: usize) -> Vec<bool> {
        let mut medium = behind(distribution, 0, SEED).unwrap();
        (0..packets)
            .map(|_| medium.loses(Time::ZERO, Time::ZERO))
            .collect()
    }

    fn share(of: impl Iterator<Item = bool>) -> (f64, f64) {
        let (all, lost) = of.fold((0.0, 0.0), |(all, lost), one| {
            (all + 1.0, lost + f64::from(u8::from(one)))
        });
        (lost / all, all)
    }

    #[test]
    fn packets_are_lost_one_by_one_at_random() {
        let distribution = MediumLoss {
            random: 0.02,
            ..MediumLoss::NONE
        };
        let lost = losses(distribution, 400_000);
        let (found, n) = share(lost.iter().copied());
        assert!(
            (found - 0.02).abs() < 4.0 * (0.02 * 0.98 / n).sqrt(),
            "{found}"
        );
        // Behind a lost packet no other share is lost.
        let behind = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]);
        let (found, n) = share(behind);
        assert!(
            (found - 0.02).abs() < 4.0 * (0.02 * 0.98 / n).sqrt(),
            "{found}"
        );
    }

    /// Gilbert 1960: bad for a share p / (p + r) of the packets, for 1 / r packets each time.
    #[test]
    fn bursts_are_as_long_and_as_frequent_as_in_closed_form() {
        for (to_bad, to_good) in [(0.01, 0.25), (0.002, 0.05), (0.2, 1.0)] {
            let distribution = MediumLoss {
                gilbert_elliott: Some(GilbertElliott {
                    to_bad,
                    to_good,
                    bad: 1.0,
                    good: 0.0,
                }),
                ..MediumLoss::NONE
            };
            let lost = losses(distribution, 2_000_000);
            let (found, n) = share(lost.iter().copied());
            // Packets of one burst are not independent: its length scales the variance.
            let error = (distribution.rate() * 2.0 / to_good / n).sqrt();
            assert!((found - distribution.rate()).abs() < 4.0 * error, "{found}");
            let ends = lost.windows(2).filter(|pair| pair[0]).map(|pair| !pair[1]);
            let (found, n) = share(ends);
            let error = (to_good * (1.0 - to_good) / n).sqrt();
            assert!((found - to_good).abs() <= 4.0 * error, "{found}");
        }
    }

    /// Elliott 1963: either state loses by its own probability.
    #[test]
    fn both_states_may_lose_and_random_losses_come_beside() {
        let distribution = MediumLoss {
            random: 0.05,
            gilbert_elliott: Some(GilbertElliott {
                to_bad: 0.1,
                to_good: 0.3,
                bad: 0.6,
                good: 0.02,
            }),
        };
        let bursts = 0.25 * 0.6 + 0.75 * 0.02;
        assert!((distribution.rate() - (0.05 + 0.95 * bursts)).abs() < 1e-12);
        let (found, n) = share(losses(distribution, 1_000_000).into_iter());
        assert!(
            (found - distribution.rate()).abs() < 8.0 * (distribution.rate() / n).sqrt(),
            "{found}"
        );
        // Two in a row: P(bad, bad) = 0.25 x 0.7, P(bad, good) = 0.25 x 0.3 = P(good, bad), the
        // rest good.
        let lost = losses(distribution, 1_000_000);
        let pairs = lost.windows(2).map(|pair| pair[0] && pair[1]);
        let of = |loses: f64| 0.05 + 0.95 * loses;
        let (bad, good) = (of(0.6), of(0.02));
        let both = 0.175 * bad * bad + 0.15 * bad * good + 0.675 * good * good;
        let (found, n) = share(pairs);
        assert!(
            (found - both).abs() < 8.0 * (both / n).sqrt(),
            "{found} {both}"
        );
    }

    #[test]
    fn what_came_before_the_restart_does_not_count() {
        let distribution = MediumLoss {
            random: 1.0,
            ..MediumLoss::NONE
        };
        let mut medium = behind(distribution, 0, SEED).unwrap();
        assert_eq!(medium.loss_rate(), None);
        assert!(medium.loses(Time::ZERO, Time::ZERO));
        assert_eq!(medium.loss_rate(), Some(1.0));
        medium.restart(Time::from_secs(1));
        assert!(medium.loses(Time::from_millis(999), Time::from_secs(1)));
        assert_eq!(medium.loss_rate(), None);
        assert!(medium.loses(Time::from_secs(1), Time::from_secs(1)));
        assert_eq!((medium.carried, medium.lost), (1, 1));
        // Nor does what comes after the end.
        assert!(!medium.loses(Time::from_secs(1), END + Time::from_picos(1)));
        assert!(medium.loses(Time::from_secs(1), END));
        assert_eq!((medium.carried, medium.lost), (2, 2));
    }

    #[test]
    fn links_and_replications_draw_apart_and_nothing_is_nothing() {
        assert!(behind(MediumLoss::NONE, 0, SEED).is_none());
        let distribution = MediumLoss {
            random: 0.5,
            ..MediumLoss::NONE
        };
        let draws = |number, seed| -> Vec<bool> {
            let mut medium = behind(distribution, number, seed).unwrap();
            (0..64)
                .map(|_| medium.loses(Time::ZERO, Time::ZERO))
                .collect()
        };
        let other = Seed {
            replication: 1,
            ..SEED
        };
        assert_ne!(draws(0, SEED), draws(1, SEED));
        assert_ne!(draws(0, SEED), draws(0, other));
        assert_eq!(draws(0, SEED), draws(0, SEED));
    }
}
