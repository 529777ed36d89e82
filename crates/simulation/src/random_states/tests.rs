//! Laws of random states and their values. The packet engine's tests compare them with its runs.

use forebay_scenario::{BufferSize, Format, Scenario};

use super::*;

const BURST: &str = "workload = { on_off = { peak = \"1Mbps\", on = { exponential = \"1s\" }, \
                     off = { exponential = \"300s\" } } }";

/// A scenario with this link, this group and this run.
fn scenario(link: &str, group: &str, run: &str) -> Scenario {
    let text = format!(
        "[link]\n{link}\nbuffer = \"50p\"\n[[flows]]\nname = \"some\"\n{group}\n[run]\n{run}"
    );
    let read = Scenario::parse(&text, Format::Toml, "test.toml", &[]);
    read.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The same at a constant rate, with 20 measured seconds after 5 of warm-up.
fn plain(group: &str) -> Scenario {
    scenario("rate = \"10Mbps\"", group, RUN)
}

const RUN: &str = "warmup = \"5s\"\nmeasure = \"20s\"";

fn seeds(count: u64) -> impl Iterator<Item = Seed> {
    (0..count).map(|replication| Seed {
        seed: 1,
        replication,
    })
}

/// The values of the last state in `count` replications.
fn values(scenario: &Scenario, count: u64) -> Vec<f64> {
    let states = RandomStates::of(scenario);
    let value = |seed| *states.values(seed).last().expect("a sampled state");
    seeds(count).map(value).collect()
}

/// Mean and standard error.
fn mean_of(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Keys, kinds, whether sampled, and phrases.
fn listed(scenario: &Scenario) -> Vec<(String, &'static str, bool, String)> {
    let states = RandomStates::of(scenario);
    let of = |state: &RandomState| {
        let RandomState { key, phrase, .. } = state.clone();
        (key, state.kind.word(), state.sampled, phrase)
    };
    states.list().iter().map(of).collect()
}

fn only(scenario: &Scenario) -> RandomState {
    match RandomStates::of(scenario).list() {
        [state] => state.clone(),
        other => panic!("not one state: {other:?}"),
    }
}

#[test]
fn means_over_replications_are_those_of_the_distributions() {
    const COUNT: u64 = 20_000;
    let on_off = |rest: &str| plain(&format!("{BURST}\n{rest}"));
    let link = |link: &str| scenario(link, "workload = { poisson = { rate = \"1Mbps\" } }", RUN);
    // Outages are a renewal process that begins with an exponential time without one. An outage
    // at t has probability a (1 - exp(-t / c)): a is the share, 1/c the sum of the rates.
    let (up, out) = (30.0_f64, 3.0_f64);
    let (share, c) = (out / (up + out), 1.0 / (1.0 / up + 1.0 / out));
    let integral = |t: f64| share * (t - c * -libm::expm1(-t / c));
    let outages = integral(25.0) - integral(2.0);
    // An on-off source that starts on is off with probability a' (1 - exp(-t / c)).
    let (off_share, d) = (300.0 / 301.0, 1.0 / (1.0 + 1.0 / 300.0));
    let off_time = |t: f64| off_share * (t - d * -libm::expm1(-t / d));
    let started = 21.0 - (off_time(25.0) - off_time(4.0));
    let third = 1.0 / 3.0;
    for (scenario, expected) in [
        (on_off(""), 21.0 / 301.0),
        (on_off("count = 7"), 7.0 * 21.0 / 301.0),
        (on_off("count = { choice = [1, 9] }"), 5.0 * 21.0 / 301.0),
        (on_off("start = \"0s\""), started),
        // Half of the window, on average.
        (
            on_off("stop = { uniform = [\"4s\", \"25s\"] }"),
            10.5 / 301.0,
        ),
        // The window of pauses begins a pause before the measured time.
        (
            plain(
                "workload = { on_off = { peak = \"1Mbps\", on = { uniform = [\"10s\", \"50s\"] }, off = \"2s\" } }",
            ),
            22.0 * 30.0 / 32.0,
        ),
        (
            link(
                "rate = { markov = [{ rate = \"20Mbps\", mean_time = \"60s\" }, { rate = \"2Mbps\", mean_time = \"3s\" }] }",
            ),
            (20e6 * 60.0 + 2e6 * 3.0) / 63.0,
        ),
        (
            link(
                "rate = \"10Mbps\"\noutages = { between = { exponential = \"30s\" }, lasting = { exponential = \"3s\" } }",
            ),
            outages,
        ),
        // A transfer of 1 MB takes a second at least: 21 s of arrivals.
        (
            plain(
                "rtt = \"9ms\"\nworkload = { open_loop = { interarrival = { exponential = \"5s\" }, size = { choice = [\"500kB\", \"2MB\"] } } }",
            ),
            21.0 / 5.0 * 1.25e6,
        ),
        (
            plain(
                "rtt = \"9ms\"\ncount = 9\nworkload = { periodic = { every = { exponential = \"90s\" }, size = \"125kB\" } }",
            ),
            9.0 * 20.1 / 90.0,
        ),
        (
            plain("rtt = \"9ms\"\ncount = { choice = [1, 1, 30] }"),
            32.0 * third,
        ),
        (plain("rtt = \"9ms\"\ncount = { uniform = [3, 9] }"), 6.0),
        (
            plain("rtt = \"9ms\"\ncount = { poisson = 7 }"),
            7.0 + libm::exp(-7.0),
        ),
        (
            plain(
                "count = 20\nrtt = { common = { mixture = [{ weight = 0.1, value = \"300ms\" }, { weight = 0.9, uniform = [\"10ms\", \"30ms\"] }] } }",
            ),
            0.048,
        ),
        (
            plain("count = 3\nrtt = { choice = [\"20ms\", \"20ms\", \"80ms\"] }"),
            0.04,
        ),
        (
            plain(
                "count = 3\nrtt = \"20ms\"\nworkload = { finite = { size = { mixture = [{ weight = 0.5, value = \"1MB\" }, { weight = 0.5, exponential = \"3MB\" }] } } }",
            ),
            2e6,
        ),
    ] {
        let (mean, error) = mean_of(&values(&scenario, COUNT));
        let state = RandomStates::of(&scenario).list().last().cloned();
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{state:?}: {mean} ± {error}, {expected}"
        );
    }
}

/// A run without a burst: the source stays off. The states of several sources are independent.
#[test]
fn bursts_are_as_rare_as_their_share_and_cycle_say() {
    const COUNT: u64 = 40_000;
    for flows in [1_i32, 5] {
        let text = format!("{BURST}\ncount = {flows}");
        let instant = scenario(
            "rate = \"10Mbps\"",
            &text,
            "warmup = \"0s\"\nmeasure = \"1us\"",
        );
        let state = only(&instant);
        let quiet = libm::pow(300.0 / 301.0, f64::from(flows));
        assert!((state.share.unwrap() - (1.0 - quiet)).abs() < 1e-12);
        assert!((state.cycle_s.unwrap() - 301.0 / f64::from(flows)).abs() < 1e-12);
        assert_eq!(state.duration_s, Some(1.0));
        let still = libm::exp(-f64::from(flows) * 21.0 / 300.0);
        for (scenario, expected) in [(instant, 1.0 - quiet), (plain(&text), 1.0 - quiet * still)] {
            let bursts = values(&scenario, COUNT)
                .iter()
                .filter(|on| **on > 0.0)
                .count();
            let found = bursts as f64 / COUNT as f64;
            let error = (expected * (1.0 - expected) / COUNT as f64).sqrt();
            assert!((found - expected).abs() < 4.0 * error, "{found} {expected}");
        }
    }
}

#[test]
fn the_share_of_a_draw_is_the_probability_of_its_rarest_value() {
    let rtt = "{ choice = [\"20ms\", \"20ms\", \"20ms\", \"20ms\", \"80ms\"] }";
    let mixture = "{ mixture = [{ weight = 0.05, value = \"90ms\" }, { weight = 0.95, uniform = [\"10ms\", \"20ms\"] }] }";
    for (group, common, share) in [
        (
            "rtt = \"9ms\"\ncount = { choice = [1, 1, 1, 30] }".to_owned(),
            1.0,
            0.25,
        ),
        (
            "rtt = \"9ms\"\ncount = { uniform = [1, 20] }".to_owned(),
            1.0,
            0.05,
        ),
        (format!("rtt = {{ common = {rtt} }}"), 0.02, 0.2),
        // A mean of 20 ms has none of the rarest.
        (
            format!("count = 3\nrtt = {rtt}"),
            0.02,
            1.0 - 0.8 * 0.8 * 0.8,
        ),
        (format!("rtt = {{ common = {mixture} }}"), 0.05, 0.05),
    ] {
        let scenario = plain(&group);
        let found = only(&scenario).share.unwrap();
        assert!((found - share).abs() < 1e-12, "{group}: {found}");
        let all = values(&scenario, 20_000);
        let is_rare = |value: &&f64| match &*group {
            text if text.contains("uniform = [1, 20]") => **value == 20.0,
            _ => **value > common + 1e-9,
        };
        let found = all.iter().filter(is_rare).count() as f64 / 20_000.0;
        let error = (share * (1.0 - share) / 20_000.0).sqrt();
        assert!(
            (found - share).abs() < 4.0 * error,
            "{group}: {found} {share}"
        );
    }
}

#[test]
fn values_depend_on_neither_the_buffer_nor_other_groups() {
    let alone = plain(&format!("{BURST}\ncount = {{ choice = [1, 9] }}"));
    let larger = alone.with_buffer(BufferSize::Packets(777)).unwrap();
    let text = format!(
        "{BURST}\ncount = {{ choice = [1, 9] }}\n[[flows]]\nname = \"more\"\nrtt = \"40ms\"\ncount = 3"
    );
    let accompanied = plain(&text);
    let found = values(&alone, 3000);
    assert_eq!(found, values(&larger, 3000));
    assert_eq!(found, values(&accompanied, 3000));
    assert!(found.iter().any(|value| *value > 0.0));
    let other = RandomStates::of(&alone).values(Seed {
        seed: 2,
        replication: 1 << 63,
    });
    assert_eq!(other.len(), 2);
}

#[test]
fn states_are_named_by_their_keys_and_cycles() {
    let state =
        |key: &str, kind, sampled, phrase: &str| (key.to_owned(), kind, sampled, phrase.to_owned());
    let outage =
        "rate = \"9Mbps\"\noutages = { between = { exponential = \"1min\" }, lasting = \"2s\" }";
    let lossy = "rate = \"12Mbps\"\nloss = { gilbert_elliott = { to_bad = \"0.001%\", to_good = \"10%\" } }";
    let markov = "rate = { markov = [{ rate = \"20Mbps\", mean_time = \"300s\" }, { rate = \"0bps\", mean_time = \"3s\" }] }";
    let steps = |rest: &str| format!("rate = {{ steps = [[\"0s\", \"9Mbps\"], {rest} }}");
    let load = "workload = { poisson = { rate = \"1Mbps\" } }";
    for (link, group, expected) in [
        (
            "",
            BURST,
            vec![state(
                "flows.some.workload.on_off",
                "on_off",
                true,
                "A burst of group `some` every 301 s",
            )],
        ),
        (
            "",
            "workload = { on_off = { peak = \"1Mbps\", on = { exponential = \"40s\" }, off = { exponential = \"500ms\" } } }",
            vec![state(
                "flows.some.workload.on_off",
                "on_off",
                true,
                "A pause of group `some` every 40.5 s",
            )],
        ),
        (
            "",
            "workload = { on_off = { peak = \"1Mbps\", on = \"1s\", off = \"99s\" } }\nstart = \"0s\"",
            vec![state(
                "flows.some.workload.on_off",
                "schedule",
                false,
                "A burst of group `some` every 100 s",
            )],
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { closed_loop = { users = { uniform = [3, 5] }, think = { exponential = \"400s\" }, size = \"1MB\" } }",
            vec![
                state(
                    "flows.some.workload.closed_loop.users",
                    "count",
                    true,
                    "The number of flows of group `some`",
                ),
                state(
                    "flows.some.workload.closed_loop",
                    "closed_loop",
                    false,
                    "A transfer of group `some` every 100 s",
                ),
            ],
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { incast = { servers = 4, pause = \"30s\", size = \"1MB\" } }",
            vec![state(
                "flows.some.workload.incast",
                "incast",
                false,
                "A round of group `some` every 30 s",
            )],
        ),
        (
            "",
            "rtt = \"9ms\"\nstart = \"3s\"\nworkload = { periodic = { every = \"45s\", size = \"1MB\" } }",
            vec![state(
                "flows.some.workload.periodic",
                "schedule",
                false,
                "A transfer of group `some` every 45 s",
            )],
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { periodic = { every = \"45s\", size = \"1MB\" } }",
            vec![state(
                "flows.some.workload.periodic",
                "periodic",
                true,
                "A transfer of group `some` every 45 s",
            )],
        ),
        (
            "",
            "rtt = { common = { uniform = [\"9ms\", \"90ms\"] } }\nstart = \"25s\"\nstop = \"40s\"",
            vec![
                state(
                    "flows.some.rtt.common",
                    "common_rtt",
                    true,
                    "The common round-trip time of group `some`",
                ),
                state(
                    "flows.some.start",
                    "schedule",
                    false,
                    "The start of group `some` at 25 s",
                ),
                state(
                    "flows.some.stop",
                    "schedule",
                    false,
                    "The stop of group `some` at 40 s",
                ),
            ],
        ),
        (
            outage,
            load,
            vec![state(
                "link.outages",
                "outages",
                true,
                "An outage of link `link` every 62 s",
            )],
        ),
        (
            "rate = \"9Mbps\"\noutages = [[\"7s\", \"1s\"], [\"33s\", \"1s\"]]",
            load,
            vec![state(
                "link.outages",
                "schedule",
                false,
                "An outage of link `link` at 33 s",
            )],
        ),
        (
            markov,
            load,
            vec![state(
                "link.rate.markov",
                "markov_rate",
                true,
                "A rate of 0bps on link `link` every 303 s",
            )],
        ),
        // 100,010 packets of 1 ms.
        (
            lossy,
            load,
            vec![state(
                "link.loss.gilbert_elliott",
                "gilbert_elliott",
                false,
                "A burst of losses on link `link` every 100 s",
            )],
        ),
        // 125 packets a second, one of 5,000 lost.
        (
            "rate = \"12Mbps\"\nloss = { random = \"0.02%\" }",
            "packet = \"1000B\"\nworkload = { poisson = { rate = \"1Mbps\" } }",
            vec![state(
                "link.loss.random",
                "random_loss",
                false,
                "A random loss on link `link` every 40 s",
            )],
        ),
        (
            &steps("[\"290s\", \"1Mbps\"]], repeat = \"5min\""),
            load,
            vec![state(
                "link.rate.steps",
                "schedule",
                false,
                "The cycle of 300 s of the rate of link `link`",
            )],
        ),
        (
            &steps("[\"30s\", \"1Mbps\"]]"),
            load,
            vec![state(
                "link.rate.steps",
                "schedule",
                false,
                "A step of the rate of link `link` at 30 s",
            )],
        ),
        (
            "rate = \"9Mbps\"\ndelay = { steps = [[\"0s\", \"2ms\"], [\"30s\", \"3ms\"]], repeat = \"40s\" }",
            "rtt = \"9ms\"",
            vec![state(
                "link.delay.steps",
                "schedule",
                false,
                "The cycle of 40 s of the delay of link `link`",
            )],
        ),
        (
            "rate = { opportunities = \"1 6000 26000\" }",
            load,
            vec![state(
                "link.rate.opportunities",
                "schedule",
                false,
                "The cycle of 26 s of the rate of link `link`",
            )],
        ),
    ] {
        let link = if link.is_empty() {
            "rate = \"10Mbps\""
        } else {
            link
        };
        assert_eq!(
            listed(&scenario(link, group, RUN)),
            expected,
            "{link}\n{group}"
        );
    }
}

/// States that average out, that a run sees whole, or that never vary are not listed.
#[test]
fn states_that_no_run_misses_are_left_out() {
    let load = "workload = { poisson = { rate = \"1Mbps\" } }";
    for (link, group) in [
        ("", load),
        ("", "rtt = \"9ms\"\ncount = { choice = [5, 5] }"),
        ("", "rtt = \"9ms\"\ncount = { poisson = 1001 }"),
        ("", "rtt = { common = { choice = [\"9ms\", \"9ms\"] } }"),
        ("", "count = 9\nrtt = { choice = [\"9ms\", \"90ms\"] }"),
        ("", "rtt = { uniform = [\"9ms\", \"90ms\"] }"),
        // 25 s of 100 flows with a cycle of two seconds: 1250 bursts.
        (
            "",
            "count = 100\nworkload = { on_off = { peak = \"1Mbps\", on = { exponential = \"1s\" }, off = \"1s\" } }",
        ),
        (
            "",
            "workload = { on_off = { peak = \"1Mbps\", on = { exponential = \"1s\" }, off = \"0s\" } }",
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { closed_loop = { users = 40, think = \"400s\", size = \"9kB\" } }",
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { periodic = { every = \"20s\", size = \"9kB\" } }",
        ),
        (
            "",
            "rtt = \"9ms\"\nworkload = { open_loop = { interarrival = { exponential = \"20ms\" }, size = \"9kB\" } }",
        ),
        ("", "rtt = \"9ms\"\nstart = \"24s\"\nstop = \"25s\""),
        (
            "rate = \"9Mbps\"\noutages = [[\"3s\", \"1s\"], [\"24s\", \"1s\"]]",
            load,
        ),
        (
            "rate = \"9Mbps\"\noutages = { between = \"10ms\", lasting = { exponential = \"5ms\" } }",
            load,
        ),
        (
            "rate = { steps = [[\"0s\", \"9Mbps\"], [\"24s\", \"1Mbps\"]] }",
            load,
        ),
        (
            "rate = { steps = [[\"0s\", \"9Mbps\"], [\"24s\", \"1Mbps\"]], repeat = \"25s\" }",
            load,
        ),
        (
            "rate = { markov = [{ rate = \"2Mbps\", mean_time = \"20ms\" }, { rate = \"3Mbps\", mean_time = \"20ms\" }] }",
            load,
        ),
        (
            "rate = \"12Mbps\"\nloss = { gilbert_elliott = { to_bad = \"1%\", to_good = \"10%\" } }",
            load,
        ),
        // Some in each run, and one in a thousand runs.
        ("rate = \"12Mbps\"\nloss = { random = \"1%\" }", load),
        ("rate = \"12Mbps\"\nloss = { random = 1e-7 }", load),
        (
            "rate = \"12Mbps\"\nloss = { gilbert_elliott = { to_bad = \"0%\", to_good = \"0.0001%\" } }",
            load,
        ),
    ] {
        let link = if link.is_empty() {
            "rate = \"10Mbps\""
        } else {
            link
        };
        assert_eq!(listed(&scenario(link, group, RUN)), [], "{link}\n{group}");
    }
}

/// A link beside the path and the second of two links.
#[test]
fn links_that_no_group_crosses_have_no_states() {
    let markov = "{ markov = [{ rate = \"2Mbps\", mean_time = \"60s\" }, { rate = \"3Mbps\", mean_time = \"60s\" }] }";
    let link = |name: &str, rest: &str| {
        format!("[[links]]\nname = \"{name}\"\nrate = {markov}\nbuffer = \"9p\"\n{rest}\n")
    };
    let text = [
        link("up", ""),
        link("beside", ""),
        link("down", "target = true"),
        "[[flows]]\nrtt = \"9ms\"\npath = [\"down\"]\nreverse = [\"up\"]".to_owned(),
    ];
    let scenario = Scenario::parse(&text.concat(), Format::Toml, "test.toml", &[]).unwrap();
    let keys: Vec<String> = listed(&scenario).into_iter().map(|(key, ..)| key).collect();
    assert_eq!(keys, ["links.up.rate.markov", "link.rate.markov"]);
    let states = RandomStates::of(&scenario);
    let values: Vec<Vec<f64>> = seeds(200).map(|seed| states.values(seed)).collect();
    assert!(values.iter().any(|values| values[0] != values[1]));
}

/// More flows than a thousand are not drawn one by one; periods that a mean hides are not drawn
/// without end.
#[test]
fn a_value_takes_a_bounded_time() {
    let many = plain(&format!("{BURST}\ncount = 1001").replace("300s", "300000s"));
    assert!(!only(&many).sampled);
    assert!(RandomStates::of(&many).values(Seed::default()).is_empty());
    let clustered = plain(
        "start = \"0s\"\nworkload = { on_off = { peak = \"1Mbps\", on = \"1ns\", off = { mixture = [{ weight = 0.99999999, \
         value = \"1ps\" }, { weight = 0.00000001, value = \"100d\" }] } } }",
    );
    assert!(only(&clustered).sampled);
    assert_eq!(values(&clustered, 20).len(), 20);
}

/// A size that one transfer in 2,000 has comes every 400 s of five users who begin a transfer a
/// second each; a size that is frequent is no state of a run.
#[test]
fn a_size_that_few_transfers_have_is_a_state() {
    let sized = |weight: f64| {
        plain(&format!(
            "rtt = \"9ms\"\nworkload = {{ closed_loop = {{ users = 5, think = \"1s\", size = {{ mixture = [ \
             {{ weight = {}, value = \"1B\" }}, {{ weight = {weight}, value = \"2B\" }}] }} }} }}",
            1.0 - weight
        ))
    };
    let rare = sized(0.0005);
    let [state] = RandomStates::of(&rare)
        .list()
        .to_vec()
        .try_into()
        .expect("one state");
    assert_eq!(state.key, "flows.some.workload.closed_loop.size");
    assert!((state.cycle_s.expect("a cycle") - 400.0).abs() < 1.0);
    assert!(!state.sampled);
    assert!(RandomStates::of(&sized(0.1)).list().is_empty());
}
