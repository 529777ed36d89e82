//! The demand of a run, counted by hand: each need of a scenario is a count times the memory of an
//! item in an engine.

use forebay_scenario::{EngineError, FlowGroup, Footprint, Format, Need, Scenario, Waiting};
use forebay_units::Bytes;

/// An engine with this memory for each item, in bytes.
#[derive(Default)]
pub(crate) struct Each {
    pub(crate) flow: f64,
    pub(crate) source: f64,
    pub(crate) waiting: f64,
    pub(crate) outstanding: f64,
    pub(crate) under_way: f64,
}

/// Sizes that differ enough for the need to show what it counts.
pub(crate) const APART: Each = Each {
    flow: 1e3,
    source: 1e6,
    waiting: 1.0,
    outstanding: 0.0,
    under_way: 0.0,
};

impl Footprint for Each {
    fn flow(&self, _: &FlowGroup) -> f64 {
        self.flow
    }

    fn source(&self, _: &FlowGroup) -> f64 {
        self.source
    }

    fn waiting(&self, _: &Scenario, _: usize, waiting: Waiting) -> f64 {
        assert!(waiting.go_on <= waiting.packets, "{waiting:?}");
        self.waiting * waiting.packets
    }

    fn outstanding(&self, _: &FlowGroup) -> f64 {
        self.outstanding
    }

    fn under_way(&self, _: &Scenario) -> f64 {
        self.under_way
    }
}

/// Ten seconds of a link of 8 Mb/s, which sends 1000 packets of 1000 bytes in each.
pub(crate) fn scenario(link: &str, flows: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"8Mbps\"\n{link}\n{flows}\n[run]\nwarmup = \"2s\"\nmeasure = \"8s\"\n"
    );
    Scenario::parse(&text, Format::Toml, "test", &[]).unwrap()
}

pub(crate) fn group(name: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nrtt = \"100ms\"\npacket = \"1000B\"\n{more}\n")
}

/// Key and count of each need.
pub(crate) fn counted(scenario: &Scenario, traces: bool) -> Vec<(String, f64)> {
    let needs = scenario.needs(&APART, traces);
    needs
        .into_iter()
        .map(|need| (need.key, need.bytes))
        .collect()
}

pub(crate) fn of(scenario: &Scenario, key: &str) -> f64 {
    let found: Vec<f64> = counted(scenario, true)
        .into_iter()
        .filter(|(name, _)| name == key)
        .map(|(_, bytes)| bytes)
        .collect();
    assert_eq!(found.len(), 1, "{key}");
    found[0]
}

#[test]
fn no_more_waits_than_the_buffer_holds_or_than_comes() {
    let endless = "buffer = \"1e12p\"";
    let cbr = |rate: &str| {
        group(
            "steady",
            &format!("workload = {{ cbr = {{ rate = \"{rate}\" }} }}"),
        )
    };
    let bulk = |more: &str| group("bulk", &format!("count = 3\n{more}"));
    // One packet more than the limit is there before another is dropped for it.
    for (link, flows, least, most) in [
        ("buffer = \"50p\"", bulk(""), 50.0, 51.0),
        // 10 kB of packets of 1000 bytes.
        ("buffer = \"10kB\"", bulk(""), 10.0, 11.0),
        // Below the link's rate nothing is left over but swings; at twice the rate as much as the
        // link sends.
        (endless, cbr("4Mbps"), 0.0, 1000.0),
        (endless, cbr("16Mbps"), 10_000.0, 11_000.0),
        // Two packets for each that has left, the first windows of three flows, and those of
        // timers.
        (
            endless,
            bulk("initial_window = \"10p\""),
            10_030.0,
            10_400.0,
        ),
        // A window of three flows, and another copy of each packet.
        (endless, bulk("receive_window = \"20p\""), 60.0, 130.0),
        // Beside others nothing of a source is known to leave.
        (
            endless,
            bulk("receive_window = \"20p\"") + &cbr("4Mbps"),
            5060.0,
            5800.0,
        ),
        // Packets that come through an access link wait there, and not here.
        (endless, bulk("access = { rate = \"1Mbps\" }"), 0.0, 10.0),
        // Classes have buffers of their own beside the link's.
        (
            "buffer = \"50p\"\nqueue = { kind = \"classes\", classes = [{ name = \"a\", groups = [\"bulk\"], buffer = \"30p\" }, { name = \"b\" }] }",
            bulk(""),
            80.0,
            81.0,
        ),
        // A transfer has no more packets than it has, twice.
        (
            endless,
            bulk("workload = { closed_loop = { users = 4, think = \"1s\", size = \"5p\" } }")
                .replace("count = 3\n", ""),
            20.0,
            70.0,
        ),
    ] {
        let scenario = scenario(link, &flows);
        let found = of(&scenario, "link.buffer");
        assert!((least..=most).contains(&found), "{found}: {link} {flows}");
    }
}

/// Links that share a memory hold no more than that, whatever buffers they have.
#[test]
fn a_shared_memory_bounds_what_waits() {
    let text = |size: &str| {
        format!(
            "[[memories]]\nname = \"chip\"\nsize = \"{size}\"\n[[links]]\nname = \"a\"\nrate = \"8Mbps\"\nbuffer = \"1000p\"\n\
             memory = \"chip\"\ntarget = true\n{}path = [\"a\"]\n",
            group("bulk", "")
        )
    };
    for (size, most) in [("40p", 41.0), ("40kB", 41.0), ("4000p", 1001.0)] {
        let scenario = Scenario::parse(&text(size), Format::Toml, "test", &[]).unwrap();
        assert_eq!(of(&scenario, "link.buffer"), most, "{size}");
    }
}

#[test]
fn flows_are_counted_under_the_key_that_asks_for_them() {
    let link = "buffer = \"50p\"";
    for (flows, key, least, most) in [
        (group("bulk", "count = 7"), "flows.bulk.count", 7e3, 7e3),
        (
            group(
                "steady",
                "count = 5\nworkload = { poisson = { rate = \"1Mbps\" } }",
            ),
            "flows.steady.count",
            5e6,
            5e6,
        ),
        (
            group(
                "web",
                "workload = { closed_loop = { users = 9, think = \"1s\", size = \"3p\" } }",
            ),
            "flows.web.workload",
            9e3,
            9e3,
        ),
        // A thousand transfers, half of what the link carries: those of two round trips at least,
        // and far from all.
        (
            group(
                "web",
                "workload = { open_loop = { interarrival = \"10ms\", size = \"5p\" } }",
            ),
            "flows.web.workload",
            1000.0 * (0.2 / 10.0) * 1e3,
            500e3,
        ),
        // At four times the rate three quarters are left over, too; no more than all.
        (
            group(
                "web",
                "workload = { open_loop = { interarrival = \"1ms\", size = \"4p\" } }",
            ),
            "flows.web.workload",
            10_000.0 * (0.75 + 0.2 / 10.0) * 1e3,
            10_700e3,
        ),
    ] {
        let scenario = scenario(link, &flows);
        let found = of(&scenario, key);
        assert!((least..=most).contains(&found), "{found} {flows}");
    }
}

#[test]
fn records_are_counted_by_samples_flows_and_packets() {
    let traced = |trace: &str, flows: &str| {
        scenario(
            "buffer = \"50p\"",
            &format!("{flows}\n[trace]\nevery = \"10ms\"\n{trace}"),
        )
    };
    let bulk = group("bulk", "count = 3");
    let steady = group("steady", "workload = { cbr = { rate = \"2Mbps\" } }");
    // Per record three times its size, whatever that is: ratios tell the counts.
    let one = of(
        &traced("record = [\"queue\"]\nuntil = \"0s\"", &bulk),
        "trace.every",
    );
    let queue = of(&traced("record = [\"queue\"]", &bulk), "trace.every");
    assert!((queue / one - 1001.0).abs() < 1e-9);
    let late = of(
        &traced("record = [\"queue\"]\nfrom = \"4s\"\nuntil = \"5s\"", &bulk),
        "trace.every",
    );
    assert!((late / one - 101.0).abs() < 1e-9);
    let beyond = of(
        &traced("record = [\"queue\"]\nuntil = \"99s\"", &bulk),
        "trace.every",
    );
    assert_eq!(beyond, queue);
    let windows = of(&traced("record = [\"cwnd\"]", &bulk), "trace.every");
    let with_source = of(
        &traced("record = [\"cwnd\"]", &(bulk.clone() + &steady)),
        "trace.every",
    );
    assert_eq!(windows, with_source);
    let single = of(
        &traced("record = [\"cwnd\"]", &group("bulk", "count = 1")),
        "trace.every",
    );
    assert!((windows / single - 3.0).abs() < 1e-9);
    // A group with acknowledgments counts twice the packets that the link sends, 2000 a second. A
    // source counts the packets that it sends, 250 a second.
    let packets = |flows: &str| of(&traced("record = [\"packets\"]", flows), "trace.record");
    let (responsive, source) = (packets(&bulk), packets(&steady));
    assert!(
        (7.0..10.0).contains(&(responsive / source)),
        "{responsive} {source}"
    );
    let both = packets(&(bulk.clone() + &steady));
    assert!((both / (responsive + source) - 1.0).abs() < 0.01);
    let part = of(
        &traced(
            "record = [\"packets\"]\nfrom = \"4s\"\nuntil = \"5s\"",
            &bulk,
        ),
        "trace.record",
    );
    // First windows, and what timers send, may come at any time.
    assert!(
        (7.0..10.0).contains(&(responsive / part)),
        "{responsive} {part}"
    );
    // Nothing is recorded without a request.
    let plain = traced("record = [\"queue\", \"cwnd\", \"packets\"]", &bulk);
    let keys: Vec<String> = counted(&plain, false)
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["flows.bulk.count", "link.buffer"]);
}

#[test]
fn a_run_that_needs_more_than_twice_the_limit_is_refused_by_the_sum() {
    let scenario = scenario("buffer = \"50p\"", &group("bulk", "count = 7"));
    let needs = scenario.needs(&APART, false);
    // 7 flows of 1000 bytes and 51 packets are 7,051 bytes.
    let least = 3_526;
    assert!(
        scenario
            .afford("packet", &needs, Some(Bytes::new(least)))
            .is_ok()
    );
    assert!(scenario.afford("packet", &needs, None).is_ok());
    let refused = scenario
        .afford("packet", &needs, Some(Bytes::new(least - 1)))
        .unwrap_err();
    assert_eq!(
        refused.to_string().split_once(": ").unwrap().1,
        "it may need 7.1 kB of memory, 7.0 kB of it for `flows.bulk.count` (7 flows); allowed: 3.5 kB (`--memory` allows more)"
    );
}

#[test]
fn ten_thousand_million_arrivals_are_the_most() {
    for (workload, rate) in [
        // 8 bits times 1000 bytes: packets a second of the rate.
        ("cbr = { rate = \"7.9Tbps\" }", true),
        ("cbr = { rate = \"8.1Tbps\" }", false),
        (
            "open_loop = { interarrival = \"1.01ns\", size = \"1p\" }",
            true,
        ),
    ] {
        let flows = group("many", &format!("workload = {{ {workload} }}"));
        let checked = scenario("buffer = \"50p\"", &flows).check_arrivals("packet");
        assert_eq!(checked.is_ok(), rate, "{workload} {checked:?}");
        if let Err(error) = checked {
            assert!(matches!(error, EngineError::TooLarge { .. }), "{error}");
            assert!(
                error
                    .to_string()
                    .contains("`flows.many.workload` sends about 1.0e10 "),
                "{error}"
            );
        }
    }
}

pub(crate) fn room_for_ten(flows: &str, more: &str) -> Scenario {
    scenario("buffer = \"10p\"", &format!("{flows}\n{more}"))
}

pub(crate) fn bulk(more: &str) -> String {
    group("bulk", more)
}

pub(crate) fn only(needs: Vec<Need>) -> Need {
    assert_eq!(needs.len(), 1, "{needs:?}");
    needs.into_iter().next().unwrap()
}

/// Forty for each packet that links carry, sources send, flows begin with or push to no avail, and
/// ten thousand of the run's own.
#[test]
fn events_are_a_few_for_each_packet() {
    let begun = |more: &str| bulk(&format!("initial_window = \"10p\"\n{more}"));
    let wide = |cca: &str| bulk(&format!("initial_window = \"50000p\"\ncca = \"{cca}\""));
    let steady = "[[flows]]\nname = \"steady\"\nworkload = { cbr = { rate = \"4Mbps\" } }\npacket = \"500B\"\n";
    for (flows, packets) in [
        (begun(""), 10_000.0 + 110.0),
        (begun("count = 3"), 10_000.0 + 330.0),
        // A first window leaves in one event, unless each of its packets is paced.
        (wide("cubic"), 10_000.0 + 10_000.0 + 100.0),
        (
            wide("cubic\"\npacing = true #"),
            10_000.0 + 50_000.0 + 100.0,
        ),
        (wide("bbr"), 10_000.0 + 50_000.0 + 100.0),
        // With packets of 500 bytes the link carries twice as many.
        (
            begun("") + steady,
            20_000.0 + 10_000.0 + 110.0 + first_of(steady),
        ),
        // A hundred round trips, in each of which each window grows by fifty.
        (
            begun("count = 3\ncca = { kind = \"aimd\", increase = 50 }"),
            10_000.0 + 330.0 + 3.0 * 100.0 * 50.0,
        ),
        (
            begun("count = 3\ncca = { kind = \"aimd\", increase = 50 }").replace("100ms", "200ms"),
            10_000.0 + 330.0 + 3.0 * 50.0 * 50.0,
        ),
    ] {
        let found = room_for_ten(&flows, "").most_events();
        assert!(
            (found - (40.0 * packets + 1e4)).abs() < 1e-3,
            "{} packets for {packets}: {flows}",
            (found - 1e4) / 40.0
        );
    }
}

/// The first window of a source, and the times that it may set a timer.
fn first_of(group: &str) -> f64 {
    room_for_ten(group, "").flows()[0].stack.initial_window + 100.0
}

/// A lossless queue drops nothing: what its buffer does not hold waits at the hosts, with and
/// without access links.
#[test]
fn packets_that_a_lossless_queue_holds_back_wait_at_their_hosts() {
    let needed = |link: &str, more: &str| {
        let flows = group(
            "bulk",
            &format!("count = 3\nreceive_window = \"5000p\"\n{more}"),
        );
        let scenario = scenario(link, &flows);
        let each = Each {
            under_way: 1.0,
            ..Each::default()
        };
        let needs = scenario.needs(&each, false);
        let of_packets = needs.iter().filter(|need| need.key == "flows.bulk.rtt");
        of_packets.map(|need| need.bytes).sum::<f64>()
    };
    let lossy = "buffer = \"60kB\"";
    let pfc = "pfc = { xoff = \"10kB\", xon = \"5kB\", headroom = \"9kB\" }";
    let lossless = format!("{lossy}\n{pfc}");
    for access in ["", "access = { rate = \"80Mbps\" }"] {
        let (held, dropped) = (needed(&lossless, access), needed(lossy, access));
        // Three windows grow by each of the 10,000 packets that the link carries.
        assert!((10_000.0..=10_600.0).contains(&held), "{access}: {held}");
        assert!(dropped < 0.1 * held, "{access}: {dropped}");
    }
}
