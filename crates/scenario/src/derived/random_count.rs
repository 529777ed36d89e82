//! Draws of what is not known of the traffic: numbers of flows and common round-trip times, again
//! for each replication. The scenario itself has their means; engines only ever see draws.

use std::borrow::Cow;

use forebay_random::{Purpose, Seed, Stream};
use forebay_units::Time;

use crate::model::distribution::Distribution;
use crate::model::flow_count::FlowCount;
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

impl FlowGroup {
    /// Whether replications draw this group's number of flows or round-trip time.
    pub fn uncertain(&self) -> bool {
        self.common_rtt || !matches!(self.count_law, FlowCount::Fixed(_))
    }

    /// The group of one replication, which its `number` among the groups and the seed determine.
    fn drawn(&self, number: u64, seed: Seed) -> Self {
        let mut group = self.clone();
        let count = self.drawn_count(number, seed);
        group.count = count;
        group.count_law = FlowCount::Fixed(count);
        match &mut group.workload {
            Workload::ClosedLoop { users, .. } => *users = count,
            Workload::Incast { servers, .. } => *servers = count,
            _ => {}
        }
        if let Some(rtt) = self.drawn_rtt(number, seed) {
            group.rtt = Distribution::Value(rtt);
            group.common_rtt = false;
        }
        group
    }

    /// The number of flows that the replication of this seed draws for this group, the scenario's
    /// group of this `number`.
    pub fn drawn_count(&self, number: u64, seed: Seed) -> u64 {
        match self.count_law {
            FlowCount::Fixed(count) => count,
            _ => self
                .count_law
                .draw(&mut Stream::new(seed, number, Purpose::FlowCount)),
        }
    }

    /// The common round-trip time that the replication of this seed draws for this group, likewise;
    /// none where the flows have no common one.
    pub fn drawn_rtt(&self, number: u64, seed: Seed) -> Option<Time> {
        self.common_rtt.then(|| {
            let mut stream = Stream::new(seed, number, Purpose::CommonRoundTrip);
            self.rtt.draw(0, 1, &mut stream).max(Time::from_micros(1))
        })
    }
}

impl Scenario {
    /// Whether replications differ in more than their random traffic.
    pub fn uncertain(&self) -> bool {
        self.flows().iter().any(FlowGroup::uncertain)
    }

    /// The scenario of one replication: itself where everything is known. The buffer stays as it
    /// was resolved, whatever bandwidth-delay product the draws have.
    pub fn drawn(&self, seed: Seed) -> Cow<'_, Self> {
        if !self.uncertain() {
            return Cow::Borrowed(self);
        }
        let groups = self.flows().iter().enumerate();
        Cow::Owned(
            self.with_groups(
                groups
                    .map(|(number, group)| group.drawn(number as u64, seed))
                    .collect(),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree::Format;

    const LINK: &str = "[link]\nrate = \"50Mbps\"\nbuffer = \"0.5BDP\"\n";

    fn scenario(group: &str) -> Scenario {
        let text = format!("{LINK}[[flows]]\n{group}\n");
        Scenario::parse(&text, Format::Toml, "test.toml", &[]).unwrap()
    }

    fn refused(group: &str) -> String {
        let text = format!("{LINK}[[flows]]\n{group}\n");
        let error = Scenario::parse(&text, Format::Toml, "test.toml", &[]).unwrap_err();
        error.to_string()
    }

    fn counts(scenario: &Scenario, draws: u64) -> Vec<f64> {
        let seed = |replication| Seed {
            seed: 1,
            replication,
        };
        (0..draws)
            .map(|replication| scenario.drawn(seed(replication)).flows()[0].count as f64)
            .collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        (mean, square / (n - 1.0))
    }

    #[test]
    fn draws_have_the_moments_of_their_law() {
        let rtt = "rtt = \"50ms\"";
        // Variances: the mean; (n^2 - 1)/12; over 4,000 draws within four standard errors.
        for (distribution, mean, variance) in [
            ("{ poisson = 40 }", 40.0, 40.0),
            ("{ uniform = [20, 60] }", 40.0, (41.0 * 41.0 - 1.0) / 12.0),
            ("{ choice = [10, 70] }", 40.0, 900.0),
        ] {
            let scenario = scenario(&format!("{rtt}\ncount = {distribution}"));
            assert!(scenario.uncertain());
            assert_eq!(scenario.flows()[0].count, 40);
            let (found_mean, found_variance) = moments(&counts(&scenario, 4000));
            let error = f64::sqrt(variance / 4000.0);
            assert!(
                (found_mean - mean).abs() < 4.0 * error,
                "{distribution}: {found_mean}"
            );
            assert!(
                (found_variance / variance - 1.0).abs() < 0.1,
                "{distribution}: {found_variance}"
            );
        }
    }

    #[test]
    fn a_replication_draws_the_same_whatever_the_buffer() {
        let one = scenario("rtt = \"50ms\"\ncount = { poisson = 40 }");
        let buffer = crate::model::buffer::BufferSize::Packets(7);
        let other = one.with_buffer(buffer).unwrap();
        assert_eq!(counts(&one, 20), counts(&other, 20));
        assert_ne!(counts(&one, 2)[0], counts(&one, 2)[1]);
    }

    #[test]
    fn a_common_round_trip_is_one_for_all_flows_of_a_replication() {
        let distribution = "{ common = { uniform = [\"20ms\", \"80ms\"] } }";
        let scenario = scenario(&format!("count = 3\nrtt = {distribution}"));
        let harmonic = scenario.harmonic_rtt().unwrap();
        assert!(
            (harmonic - 0.06 / libm::log(4.0)).abs() < 1e-12,
            "from the law: {harmonic}"
        );
        let mut seen = Vec::new();
        for replication in 0..50 {
            let drawn = scenario.drawn(Seed {
                seed: 1,
                replication,
            });
            assert_eq!(drawn.buffer().bytes, scenario.buffer().bytes);
            let Distribution::Value(rtt) = drawn.flows()[0].rtt else {
                panic!("not one value")
            };
            assert!((0.02..=0.08).contains(&rtt.as_secs_f64()));
            seen.push(rtt);
        }
        seen.dedup();
        assert_eq!(seen.len(), 50);
    }

    #[test]
    fn users_of_a_closed_loop_are_drawn() {
        let workload =
            "{ closed_loop = { users = { uniform = [5, 9] }, think = \"1s\", size = \"9kB\" } }";
        let scenario = scenario(&format!("rtt = \"50ms\"\nworkload = {workload}"));
        let drawn = scenario.drawn(Seed {
            seed: 1,
            replication: 3,
        });
        let Workload::ClosedLoop { users, .. } = drawn.flows()[0].workload else {
            panic!()
        };
        assert_eq!(users, drawn.flows()[0].count);
        assert!((5..=9).contains(&users));
    }

    #[test]
    fn what_is_read_is_what_is_written() {
        for group in [
            "rtt = \"50ms\"\ncount = { poisson = 40 }",
            "rtt = { common = { choice = [\"20ms\", \"80ms\"] } }\ncount = { uniform = [2, 3] }",
            "rtt = \"50ms\"\nworkload = { closed_loop = { users = { poisson = 7 }, think = \"1s\", size = \"9kB\" } }",
        ] {
            let once = scenario(group);
            let again = Scenario::parse(&once.canonical_json(), Format::Json, "again", &[]);
            assert_eq!(once, again.unwrap(), "{}", once.canonical_json());
        }
    }

    #[test]
    fn what_is_certain_is_not_drawn() {
        let scenario = scenario("rtt = { uniform = [\"20ms\", \"80ms\"] }\ncount = 4");
        assert!(!scenario.uncertain());
        assert!(matches!(scenario.drawn(Seed::default()), Cow::Borrowed(_)));
    }

    #[test]
    fn mistakes_name_what_was_found_and_what_is_allowed() {
        for (group, complaint) in [
            (
                "rtt = \"9ms\"\ncount = { poisson = 0 }",
                "flows[0].count.poisson: found `0`",
            ),
            ("rtt = \"9ms\"\ncount = { poisson = 2e6 }", "0.1 to 1000000"),
            (
                "rtt = \"9ms\"\ncount = { uniform = [9, 3] }",
                "the smaller first",
            ),
            ("rtt = \"9ms\"\ncount = { uniform = [0, 3] }", "from 1 to"),
            (
                "rtt = \"9ms\"\ncount = { normal = 3 }",
                "unknown distribution `normal`",
            ),
            ("rtt = \"9ms\"\ncount = \"many\"", "{ poisson = 40 }"),
            ("rtt = \"9ms\"\ncount = {}", "{ poisson = 40 }"),
            (
                "rtt = [\"9ms\"]\ncount = { poisson = 3 }",
                "no list if the count is random",
            ),
            ("rtt = { common = [\"9ms\"] }", "not a list or linspace"),
            (
                "rtt = { common = { uniform = [\"0s\", \"9ms\"] } }",
                "above 0s",
            ),
        ] {
            let message = refused(group);
            assert!(message.contains(complaint), "{group}: {message}");
        }
    }
}
