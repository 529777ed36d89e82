//! Compares the memory estimate of a run with the bytes that the run allocates. A run takes at most
//! twice its estimate plus a few megabytes. If packets, flows or records reach the assumed counts,
//! the estimate is at most three times the allocation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_attack::allocations::{BESIDE, Counted, peak_of};
use forebay_engines::engine;
use forebay_scenario::{EngineError, Format, RunOptions, Scenario};
use forebay_units::Bytes;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The estimate and the measured peak of a run, in bytes.
#[derive(Debug)]
struct Memory {
    told: f64,
    taken: f64,
}

impl Memory {
    fn of(name: &str, text: &str) -> Self {
        let scenario = Scenario::parse(text, Format::Toml, "test", &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let engine = engine(name).unwrap();
        let options = RunOptions {
            memory: Some(Bytes::new(u64::MAX)),
            traces: text.contains("[trace]"),
            ..RunOptions::default()
        };
        let needs = engine.needs(&scenario, &options);
        let (answer, taken) = peak_of(|| engine.run(&scenario, &options));
        assert!(answer.is_ok(), "{answer:?}\n{text}");
        let memory = Self {
            told: needs.iter().map(|need| need.bytes).sum(),
            taken: taken as f64,
        };
        println!("{name} told {:.0} taken {taken}\n{text}", memory.told);
        assert!(memory.taken > 0.0, "the allocator counts");
        assert!(
            memory.taken <= 2.0 * memory.told + BESIDE,
            "{memory:?}: {needs:?}\n{text}"
        );
        memory
    }

    /// Checks both bounds, for a run that reaches the counts that its estimate assumes.
    fn near(name: &str, text: &str) {
        let memory = Self::of(name, text);
        assert!(
            memory.told <= 3.0 * memory.taken + BESIDE,
            "{memory:?}\n{text}"
        );
    }
}

fn link(rate: &str, buffer: &str, queue: &str) -> String {
    format!("[link]\nrate = \"{rate}\"\nbuffer = \"{buffer}\"\nqueue = {queue}\n")
}

/// Sources of 200 Mb/s each, one for each name and packet size.
fn flood(packets: &[(&str, &str)]) -> String {
    let each = packets.iter().map(|(name, size)| {
        format!(
            "[[flows]]\nname = \"{name}\"\npacket = \"{size}\"\nworkload = {{ cbr = {{ rate = \"200Mbps\" }} }}\n"
        )
    });
    each.collect()
}

fn lasting(seconds: &str) -> String {
    format!("[run]\nwarmup = \"0s\"\nmeasure = \"{seconds}\"\n")
}

/// Every queue discipline by its name, with the fixed-size parameters that matter.
fn disciplines() -> Vec<(&'static str, String)> {
    let described = forebay_discipline::descriptions().iter();
    let plain = described.filter(|each| each.name != "classes");
    let mut all: Vec<_> = plain
        .map(|each| (each.name, format!("\"{}\"", each.name)))
        .collect();
    for inner in forebay_discipline::descriptions() {
        if inner.name != "classes" {
            let classes = format!(
                "{{ kind = \"classes\", classes = [{{ name = \"a\", groups = [\"a\"], queue = \"{0}\", buffer = \"50000p\" }}, {{ name = \"b\", queue = \"{0}\" }}] }}",
                inner.name
            );
            all.push((inner.name, classes));
        }
    }
    all
}

/// Disciplines that keep the queue far below the buffer.
const KEEPS_SHORT: [&str; 8] = [
    "delay_limit",
    "red",
    "pie",
    "fq_pie",
    "choke",
    "dualpi2",
    "cobalt",
    "dynamic_threshold",
];

#[test]
fn what_waits_is_told_by_discipline() {
    for (name, queue) in disciplines() {
        for sizes in [&[("a", "1000B"), ("b", "500B")][..], &[("a", "500B")]] {
            let text = link("100Mbps", "70000p", &queue) + &flood(sizes) + &lasting("4s");
            let memory = Memory::of("packet", &text);
            let fills =
                !(KEEPS_SHORT.contains(&name) || queue.contains("classes") && sizes.len() == 1);
            if fills {
                let near = memory.told <= 3.0 * memory.taken + BESIDE;
                assert!(near, "{memory:?}\n{text}");
            }
        }
        let bulk = "[[flows]]\nname = \"a\"\ncount = 20\nrtt = \"50ms\"\nstack = \"linux\"\nhandshake = false\n";
        Memory::of(
            "packet",
            &(link("100Mbps", "20000p", &queue) + bulk + &lasting("5s")),
        );
    }
}

/// A drop-tail buffer stores no records of unresponsive packets of one size.
#[test]
fn what_leaves_nothing_behind_is_not_told() {
    let text =
        link("100Mbps", "1e9p", "\"droptail\"") + &flood(&[("a", "1000B")]) + &lasting("60s");
    assert!(Memory::of("packet", &text).told < 1e6);
}

#[test]
fn what_flows_keep_is_told_by_controller() {
    for controller in forebay_congestion::descriptions() {
        for stack in ["rfc", "linux"] {
            let flows = |count: u32| {
                format!(
                    "[[flows]]\nname = \"x\"\ncount = {count}\ncca = \"{}\"\nstack = \"{stack}\"\nrtt = \"100ms\"\n",
                    controller.name
                )
            };
            let few = link("500Mbps", "1BDP", "\"droptail\"") + &flows(3) + &lasting("4s");
            Memory::of("packet", &few);
            let many = link("100Mbps", "100p", "\"droptail\"") + &flows(6000) + &lasting("2s");
            Memory::near("packet", &many);
        }
    }
}

#[test]
fn traffic_of_all_kinds_is_told() {
    let web = |workload: &str| {
        format!("[[flows]]\nname = \"x\"\nrtt = \"50ms\"\nworkload = {workload}\n")
    };
    let here = |flows: &str, seconds: &str| {
        link("50Mbps", "500p", "\"droptail\"") + flows + &lasting(seconds)
    };
    // The load is twice the capacity, so nearly all transfers that arrived are active.
    Memory::near(
        "packet",
        &here(&web("{ open_loop = { load = 2, size = \"10p\" } }"), "20s"),
    );
    for load in [0.3, 0.8, 0.95] {
        let workload = format!(
            "{{ open_loop = {{ load = {load}, size = {{ pareto = {{ shape = 1.2, minimum = \"3p\" }} }} }} }}"
        );
        Memory::of("packet", &here(&web(&workload), "20s"));
    }
    Memory::near(
        "packet",
        &here(
            &web("{ closed_loop = { users = 5000, think = \"1s\", size = \"10p\" } }"),
            "5s",
        ),
    );
    Memory::near(
        "packet",
        &here(
            &(web("{ on_off = { peak = \"100kbps\", on = \"1s\", off = \"1s\" } }")
                + "count = 5000\n"),
            "2s",
        ),
    );
    Memory::of(
        "packet",
        &here(&web("{ poisson = { rate = \"49.9Mbps\" } }"), "20s"),
    );
    Memory::of(
        "packet",
        &here(
            &(web("\"persistent\"") + "count = 500\nrtt = { uniform = [\"1ms\", \"2s\"] }\n")
                .replacen("rtt = \"50ms\"\n", "", 1),
            "5s",
        ),
    );
    let groups: String = (0..100)
        .map(|at| web("\"persistent\"").replace("\"x\"", &format!("\"x{at}\"")))
        .collect();
    // Histograms reach from the shortest to the longest wait, so each group has packets that wait
    // not at all.
    let empty = link("500Mbps", "500p", "\"droptail\"") + &groups + &lasting("5s");
    Memory::near("packet", &empty);
    Memory::of("packet", &here(&groups, "5s"));
    let back = "[[links]]\nname = \"a\"\ntarget = true\nrate = \"50Mbps\"\nbuffer = \"2000p\"\n[[links]]\nname = \"b\"\nrate = \"1Mbps\"\nbuffer = \"20000p\"\n";
    let flows = web("\"persistent\"") + "count = 10\npath = [\"a\"]\nreverse = [\"b\"]\n";
    Memory::of("packet", &(back.to_owned() + &flows + &lasting("10s")));
}

/// Transfers and windows that a run ends before they are sent are not in the estimate.
#[test]
fn a_run_of_few_round_trips_does_not_count_what_slow_starts_would_send_later() {
    let long = "[[flows]]\nname = \"long\"\ncount = 10\nrtt = \"300ms\"\n";
    let web = "[[flows]]\nname = \"web\"\nrtt = \"300ms\"\nworkload = { open_loop = { load = 0.9, size = { pareto = { shape = 1.3, minimum = \"6kB\", maximum = \"5MB\" } } } }\n";
    for (rate, flows, seconds, most) in
        [("100Gbps", long, "3.2s", 3.0), ("10Gbps", web, "1.1s", 2.0)]
    {
        let text = link(rate, "0.5BDP", "\"droptail\"") + flows + &lasting(seconds);
        let memory = Memory::of("packet", &text);
        assert!(
            memory.told <= most * memory.taken + BESIDE,
            "{memory:?}\n{text}"
        );
    }
}

/// A large window rarely loses a retransmission, so no packets pile up behind a lost one.
#[test]
fn a_long_flow_with_a_large_window_does_not_wait_for_lost_retransmissions() {
    for (rtt, count) in [("200us", 1), ("200us", 10), ("20ms", 10)] {
        let flows = format!("[[flows]]\nname = \"x\"\ncount = {count}\nrtt = \"{rtt}\"\n");
        let text = link("40Gbps", "0.5BDP", "\"droptail\"") + &flows + &lasting("0.9s");
        let memory = Memory::of("packet", &text);
        // The slow start of one flow may lose a retransmission and then sends for a second.
        let most = 2.0 * memory.taken + 20e6;
        assert!(memory.told <= most, "{memory:?}\n{text}");
    }
}

#[test]
fn what_is_recorded_is_told() {
    let flows = "[[flows]]\nname = \"x\"\ncount = 10\nrtt = \"50ms\"\n";
    // The counts lie just beyond a power of two, where lists have doubled.
    for record in ["cwnd", "queue"] {
        let every = if record == "cwnd" { "1.5ms" } else { "150us" };
        let trace = format!("[trace]\nevery = \"{every}\"\nrecord = [\"{record}\"]\n");
        let text = link("20Mbps", "100p", "\"droptail\"") + flows + &lasting("10s") + &trace;
        Memory::near("packet", &text);
        Memory::of("fluid", &text);
    }
    let late = "[trace]\nevery = \"1ms\"\nfrom = \"9s\"\nuntil = \"9.1s\"\n";
    Memory::of(
        "fluid",
        &(link("20Mbps", "100p", "\"droptail\"") + flows + &lasting("10s") + late),
    );
    let packets = "[trace]\nrecord = [\"packets\", \"transfers\"]\n";
    for queue in ["droptail", "codel"] {
        let queue = format!("\"{queue}\"");
        let text = link("100Mbps", "30000p", &queue)
            + &flood(&[("a", "1000B"), ("b", "600B")])
            + &lasting("3s")
            + packets;
        Memory::near("packet", &text);
    }
    let web = "[[flows]]\nname = \"x\"\nrtt = \"10ms\"\nworkload = { open_loop = { load = 0.8, size = \"1p\" } }\n";
    Memory::of(
        "packet",
        &(link("50Mbps", "100p", "\"droptail\"") + web + &lasting("10s") + packets),
    );
    let both_ways = "[trace]\nrecord = [\"packets\"]\nacknowledgments = true\n";
    let many = flows.replace("count = 10", "count = 200");
    let queue = link("50Mbps", "1000p", "\"droptail\"");
    Memory::near("packet", &(queue + flows + &lasting("10s") + both_ways));
    for (flows, buffer) in [(many.as_str(), "20000p"), (web, "100p")] {
        let queue = link("50Mbps", buffer, "\"droptail\"");
        Memory::of("packet", &(queue + flows + &lasting("10s") + both_ways));
    }
}

#[test]
fn the_fluid_engine_is_told() {
    for (count, near) in [(1, false), (4000, true)] {
        for more in ["", "receive_window = \"5p\"\n"] {
            let flows = format!(
                "[[flows]]\nname = \"x\"\ncount = {count}\nrtt = {{ uniform = [\"50ms\", \"100ms\"] }}\n{more}"
            );
            let text = link("1Gbps", "0.2BDP", "\"droptail\"") + &flows + &lasting("1s");
            if near {
                Memory::near("fluid", &text);
            } else {
                Memory::of("fluid", &text);
            }
        }
    }
}

/// Transfers of an open loop may last longer than estimated. The run then ends with a line before
/// it exceeds the allowed memory.
#[test]
fn transfers_that_stay_end_a_run_where_memory_does() {
    let text = link("1Mbps", "10p", "\"droptail\"")
        + "[[flows]]\nname = \"web\"\nrtt = \"10ms\"\nworkload = { open_loop = { interarrival = \"1ms\", size = \"1p\" } }\n[[flows]]\nname = \"x\"\ncount = 30\nrtt = \"10ms\"\n"
        + &lasting("60s");
    let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
    let engine = engine("packet").unwrap();
    let told: f64 = engine
        .needs(&scenario, &RunOptions::default())
        .iter()
        .map(|need| need.bytes)
        .sum();
    let options = RunOptions {
        memory: Some(Bytes::new(told as u64 + 1)),
        ..RunOptions::default()
    };
    let (answer, taken) = peak_of(|| engine.run(&scenario, &options));
    match answer {
        Ok(_) => {}
        Err(EngineError::TooLarge { why, .. }) => {
            assert!(why.contains("`flows.web.workload`"), "{why}");
        }
        Err(other) => panic!("{other}"),
    }
    assert!(taken as f64 <= 2.0 * told + BESIDE, "{taken} {told}");
}

#[test]
fn media_are_told() {
    let floods = flood(&[("a", "1000B"), ("b", "64B")]) + &lasting("2s");
    for (rate, medium) in [
        ("100Mbps", "\"wifi\""),
        ("100Mbps", "\"docsis\""),
        ("1Gbps", "{ kind = \"docsis\", map = \"100ms\", grant = 1 }"),
        ("100Mbps", "\"cellular\""),
        // Every second block fails and returns after a second.
        (
            "10Mbps",
            "{ kind = \"cellular\", slot = \"62500ns\", block_error = \"50%\", repeats = 0, recovery = \"1s\" }",
        ),
        // A packet is 125 blocks.
        ("1Mbps", "{ kind = \"cellular\", slot = \"64us\" }"),
    ] {
        for queue in ["\"droptail\"", "\"fq_codel\""] {
            let text = link(rate, "20000p", queue) + &format!("medium = {medium}\n") + &floods;
            Memory::of("packet", &text);
        }
    }
}
