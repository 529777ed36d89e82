//! Laws of the overload of the target link; that it is the overload of a run of packets is tested
//! with the packet engine.

use forebay_scenario::Format;

use super::*;
use crate::random_states::RandomStates;

/// A burst of 5 s that begins within 20 s and never again.
const ONCE: &str = "start = { uniform = [\"0s\", \"20s\"] }\n\
                    workload = { on_off = { peak = \"8Mbps\", on = \"5s\", off = \"1000s\" } }";

/// A scenario with this link and these groups, which measures 30 s after 5 of warm-up.
fn scenario(link: &str, groups: &[&str]) -> Scenario {
    let groups: Vec<String> = groups
        .iter()
        .map(|group| format!("[[flows]]\n{group}\n"))
        .collect();
    let link = format!("[link]\n{link}\nbuffer = \"50p\"");
    let run = "[run]\nwarmup = \"5s\"\nmeasure = \"30s\"";
    let text = format!("{link}\n{}\n{run}", groups.concat());
    let read = Scenario::parse(&text, Format::Toml, "test.toml", &[]);
    read.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The overload of `count` replications, if the scenario has the state.
fn overloads(scenario: &Scenario, count: u64) -> Option<Vec<f64>> {
    let states = RandomStates::of(scenario);
    let last = states.list().last()?;
    if last.kind != StateKind::Overload {
        return None;
    }
    assert_eq!((&*last.key, last.sampled), ("link.rate", true));
    let seeds = (0..count).map(|replication| Seed {
        seed: 1,
        replication,
    });
    let value = |seed| states.values(seed).last().copied();
    seeds.map(value).collect()
}

/// Two bursts of length L within T overlap for (L^2 T - L^3 / 3) / T^2 on average. The window from
/// 5 s on has all of it but what overlaps before: bursts that begin within 5 s overlap for L / 3
/// with the probability 1 / 16 there.
#[test]
fn the_mean_overload_of_two_bursts_is_that_of_their_overlap() {
    const COUNT: u64 = 40_000;
    let (length, within) = (5.0, 20.0);
    let whole = (length * length * within - length * length * length / 3.0) / (within * within);
    let overlap = whole - 5.0 / 3.0 / 16.0;
    let idle = "workload = { poisson = { rate = \"1Mbps\" } }";
    let cbr = "workload = { cbr = { rate = \"500kbps\" } }\nstart = \"0s\"";
    let twice = format!("count = 2\n{ONCE}");
    for (groups, above) in [
        (vec![ONCE, ONCE], 6.0),
        (vec![&*twice], 6.0),
        (vec![ONCE, idle, ONCE], 7.0),
        (vec![cbr, &*twice, idle], 7.5),
    ] {
        let values = overloads(&scenario("rate = \"10Mbps\"", &groups), COUNT).expect("a state");
        let mean = values.iter().sum::<f64>() / COUNT as f64;
        let squares: f64 = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        let error = squares.sqrt() / COUNT as f64;
        let expected = overlap * above / 10.0;
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{groups:?}: {mean} {expected} {error}"
        );
        // Starts at least 5 s apart overlap never: (15 / 20)^2.
        let none = values.iter().filter(|value| **value == 0.0).count() as f64 / COUNT as f64;
        assert!((none - 0.5625).abs() < 0.01, "{none}");
        assert!(values.iter().all(|value| *value <= 5.0 * above / 10.0));
    }
}

#[test]
fn a_replication_whose_sources_never_exceed_the_rate_has_no_overload() {
    let group = format!("count = {{ choice = [1, 2] }}\n{ONCE}");
    let scenario = scenario("rate = \"8Mbps\"", &[&group]);
    let states = RandomStates::of(&scenario);
    let seeds = (0..2000).map(|replication| Seed {
        seed: 3,
        replication,
    });
    let (mut alone, mut overloaded) = (0, 0);
    for seed in seeds {
        let values = states.values(seed);
        let (count, overload) = (values[0], values[values.len() - 1]);
        if count == 1.0 {
            assert_eq!(overload, 0.0);
            alone += 1;
        } else {
            overloaded += i32::from(overload > 0.0);
        }
    }
    assert!(alone > 500 && overloaded > 200, "{alone} {overloaded}");
}

#[test]
fn the_overload_is_a_state_only_if_sources_matter_together() {
    let link = "rate = \"10Mbps\"";
    let markov = "rate = { markov = [{ rate = \"9Mbps\", mean_time = \"60s\" }, { rate = \"10Mbps\", mean_time = \"60s\" }] }";
    let late = "start = { choice = [\"0s\", \"9s\"] }\nworkload = { cbr = { rate = \"8Mbps\" } }";
    let known =
        "start = \"0s\"\nworkload = { on_off = { peak = \"8Mbps\", on = \"5s\", off = \"9s\" } }";
    let steady = |rate: &str| format!("workload = {{ poisson = {{ rate = \"{rate}\" }} }}");
    let open = "rtt = \"9ms\"\nworkload = { open_loop = { interarrival = { exponential = \"10ms\" }, size = \"10kB\" } }";
    let many = "count = 4\nworkload = { on_off = { peak = \"3Mbps\", on = { exponential = \"35ms\" }, off = { exponential = \"35ms\" } } }";
    let framed = "rate = \"16Mbps\"\nrate_layer = \"l1\"";
    let outages = "rate = \"10Mbps\"\noutages = [[\"7s\", \"1s\"]]";
    for (link, groups, expected) in [
        (link, vec![ONCE, ONCE], true),
        (link, vec![ONCE, late], true),
        (link, vec![ONCE, known], true),
        (link, vec![late, late], true),
        (link, vec![late, &*many.replace("35ms", "71ms")], true),
        (outages, vec![ONCE, ONCE], true),
        // The mean load of transfers counts: 8 Mb/s of payload.
        ("rate = \"24Mbps\"", vec![ONCE, ONCE, open], true),
        // 8 Mb/s are 8.2 Mb/s on the wire.
        (framed, vec![ONCE, ONCE], true),
        ("rate = \"16Mbps\"", vec![ONCE, ONCE], false),
        ("rate = \"25Mbps\"", vec![ONCE, ONCE, open], false),
        (link, vec![ONCE], false),
        (link, vec![ONCE, &*steady("9Mbps")], false),
        (link, vec![known, known], false),
        (link, vec![ONCE, ONCE, &*steady("10Mbps")], false),
        // More than a thousand periods in 35 s.
        (link, vec![late, &*many.replace("35ms", "69ms")], false),
        (markov, vec![ONCE, ONCE], false),
        (link, vec![ONCE, &*format!("count = 1000\n{ONCE}")], false),
    ] {
        let found = overloads(&scenario(link, &groups), 1);
        assert_eq!(found.is_some(), expected, "{link} {groups:?}");
    }
}

#[test]
fn sources_that_do_not_cross_the_target_do_not_overload_it() {
    let group = |path: &str| format!("[[flows]]\npath = [\"{path}\"]\n{ONCE}\n");
    for (second, expected) in [("near", true), ("far", false)] {
        let text = format!(
            "[[links]]\nname = \"near\"\nrate = \"10Mbps\"\nbuffer = \"9p\"\ntarget = true\n\
             [[links]]\nname = \"far\"\nrate = \"10Mbps\"\nbuffer = \"9p\"\n{}{}",
            group("near"),
            group(second)
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test.toml", &[]).unwrap();
        assert_eq!(overloads(&scenario, 1).is_some(), expected, "{second}");
    }
}
