//! Lossless queues: pauses of hosts and of links, headroom, and what is lost without enough of it.

use std::fmt::Write as _;

use forebay_packet::{PacketEngine, Stepwise};
use forebay_scenario::{Engine, Format, Metric, Report, RunOptions, Scenario, WarningKind};

use super::{run, value};

/// Rate of every link in bytes per second.
const RATE: f64 = 10e9 / 8.0;
const PACKET: f64 = 1500.0;

/// `hosts` hosts that send transfers into one lossless link of 10 Gb/s at once.
fn incast(hosts: usize, pfc: &str, of_link: &str) -> Report {
    run(&format!(
        r#"
[link]
rate = "10Gbps"
buffer = "100MB"
{pfc}
{of_link}
[[flows]]
name = "servers"
count = {hosts}
rtt = "20us"
packet = "1500B"
initial_window = "400p"
min_rto = "200ms"
access = {{ rate = "10Gbps" }}
workload = {{ finite = {{ size = "600kB" }} }}
[run]
warmup = "0s"
measure = "100ms"
"#
    ))
}

fn pfc(xoff: u64, xon: u64, headroom: u64, more: &str) -> String {
    format!("pfc = {{ xoff = \"{xoff}B\", xon = \"{xon}B\", headroom = \"{headroom}B\"{more} }}")
}

/// Bytes that may come from one sender after the queue has decided to pause it: those of both
/// directions of the cable and of the response, the packet in transmission, and the packet that
/// crossed the threshold.
fn most_after_pause(cable_m: f64, response_s: f64) -> f64 {
    (2.0 * cable_m / 198e6 + response_s) * RATE + 2.0 * PACKET
}

/// With enough headroom nothing is lost, every transfer completes, and the headroom that is used is
/// what the cable and the response time let come, within the packets that are not divided.
#[test]
fn nothing_is_lost_with_enough_headroom() {
    for (cable, response) in [(0.0, 0.0), (300.0, 0.0), (40.0, 2e-6), (2000.0, 5e-6)] {
        let most = most_after_pause(cable, response);
        let more = format!(", cable = \"{cable}m\", response = \"{response:e}s\"");
        let report = incast(8, &pfc(30_000, 15_000, most as u64 + 1, &more), "");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        assert!(value(&report, Metric::PauseFrames) >= 8.0);
        let used = value(&report, Metric::HeadroomMax);
        assert!(
            used <= most && used >= most - 3.0 * PACKET,
            "{cable} m: {used} of {most}"
        );
        // 8 transfers of 600 kB take 3.84 ms on the link; pauses must not leave it idle for long.
        let servers = &report.groups[0].metrics;
        let last = servers[&Metric::CompletionTimeP99].mean;
        assert!((0.0038..0.0046).contains(&last), "{last}");
        assert_eq!(servers[&Metric::Retransmissions].mean, 0.0);
    }
}

/// A headroom that is smaller than what was used by one byte loses packets.
#[test]
fn a_headroom_that_is_too_small_by_one_byte_loses_packets() {
    let more = ", cable = \"300m\"";
    let enough = incast(8, &pfc(30_000, 15_000, 100_000, more), "");
    let used = value(&enough, Metric::HeadroomMax) as u64;
    let exact = incast(8, &pfc(30_000, 15_000, used, more), "");
    assert_eq!(value(&exact, Metric::LossRate), 0.0);
    let less = incast(8, &pfc(30_000, 15_000, used - 1, more), "");
    assert!(value(&less, Metric::LossRate) > 0.0);
    let warned = |report: &Report| {
        let mut kinds = report.warnings.iter().map(|warning| warning.kind);
        kinds.any(|kind| kind == WarningKind::LosslessDrops)
    };
    assert!(warned(&less) && !warned(&exact));
}

/// A packet that crosses `xoff` is lost if there is no headroom. It begins a pause all the same,
/// and the pause ends.
#[test]
fn a_packet_that_finds_no_headroom_begins_a_pause() {
    let senders = 8.0;
    for (xoff, xon) in [(30_000, 15_000), (1_500, 0), (1_000, 0)] {
        let report = incast(8, &pfc(xoff, xon, 0, ", cable = \"300m\""), "");
        let lost = value(&report, Metric::LossRate);
        let pauses = value(&report, Metric::PauseFrames);
        assert!(lost > 0.0 && report.metrics[&Metric::PauseTime].mean < 0.1);
        if xoff < 1_500 {
            assert_eq!(
                pauses, 0.0,
                "no packet may wait, so no packet could end a pause"
            );
        } else {
            assert!(pauses >= senders, "{xoff}: {pauses}");
        }
    }
}

/// The same queue without pauses loses most of the packets that its buffer cannot hold.
#[test]
fn a_queue_of_the_same_memory_without_pauses_loses() {
    let lossless = incast(8, &pfc(30_000, 15_000, 50_000, ", cable = \"300m\""), "");
    assert_eq!(value(&lossless, Metric::LossRate), 0.0);
    let lossy = incast(8, "", "").metrics[&Metric::LossRate].mean;
    assert_eq!(lossy, 0.0, "100 MB hold everything");
    let text = r#"
[link]
rate = "10Gbps"
buffer = "640kB"
[[flows]]
name = "servers"
count = 8
rtt = "20us"
packet = "1500B"
initial_window = "400p"
min_rto = "200ms"
access = { rate = "10Gbps" }
workload = { finite = { size = "600kB" } }
[run]
warmup = "0s"
measure = "100ms"
"#;
    assert!(value(&run(text), Metric::LossRate) > 0.1);
}

/// Hosts without an access link send at the rate of the link and are paused.
#[test]
fn hosts_without_an_access_link_are_paused() {
    let text = format!(
        r#"
[link]
rate = "10Gbps"
buffer = "100MB"
{}
[[flows]]
name = "bulk"
count = 4
rtt = "100us"
packet = "1500B"
initial_window = "50p"
receive_window = "200p"
[run]
warmup = "10ms"
measure = "50ms"
"#,
        pfc(15_000, 7_500, 3_000, "")
    );
    let report = run(&text);
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.999);
    assert!(value(&report, Metric::PauseTime) > 0.0);
    // No more than `xoff` and one packet of each host waits.
    let queue = value(&report, Metric::QueueMean) * PACKET;
    assert!(queue <= 4.0 * (15_000.0 + PACKET), "{queue}");
}

/// Two senders behind one link: one goes to a slow port, which pauses the link. The other one's
/// port is idle, and it suffers all the same.
fn spreading(pfc: &str) -> Report {
    let mut text = String::new();
    for (name, rate, keys) in [
        ("shared", "10Gbps", ""),
        ("slow", "1Gbps", pfc),
        ("fast", "10Gbps", ""),
    ] {
        let target = if name == "slow" { "target = true" } else { "" };
        let _ = write!(
            text,
            "[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\nbuffer = \"100MB\"\ndelay = \"1us\"\n{keys}\n{target}\n"
        );
    }
    for (name, port) in [("culprit", "slow"), ("victim", "fast")] {
        let _ = write!(
            text,
            "[[flows]]\nname = \"{name}\"\npath = [\"shared\", \"{port}\"]\ncount = 2\nrtt = \"50us\"\n\
             packet = \"1500B\"\nreceive_window = \"100p\"\naccess = {{ rate = \"10Gbps\" }}\n"
        );
    }
    run(&(text + "[run]\nwarmup = \"20ms\"\nmeasure = \"100ms\"\n"))
}

#[test]
fn a_pause_of_a_link_hits_flows_that_never_cross_the_congested_port() {
    let lossless = spreading(&pfc(50_000, 25_000, 30_000, ""));
    let free = spreading("");
    let goodput =
        |report: &Report, group: usize| report.groups[group].metrics[&Metric::Goodput].mean;
    assert_eq!(value(&lossless, Metric::LossRate), 0.0);
    // The slow port is busy in both cases.
    for report in [&lossless, &free] {
        assert!(value(report, Metric::Utilization) > 0.99);
    }
    let (victim, alone) = (goodput(&lossless, 1), goodput(&free, 1));
    assert!(victim < 0.7 * alone, "{victim} {alone}");
    let shared = &lossless.links[0].metrics;
    let paused = shared[&Metric::PausedTime].mean;
    assert!((0.01..0.1).contains(&paused), "{paused}");
    // A link that is paused sends nothing.
    assert!(shared[&Metric::Utilization].mean <= 1.0 - paused / 0.1 + 0.01);
    // A pause that the slow port decides is one of the link, later by the delay of the frame.
    let decided = value(&lossless, Metric::PauseTime);
    assert!((paused - decided).abs() < 0.001, "{paused} {decided}");
}

/// Three switches in a ring, and flows that cross two links each: with little memory for each
/// sender all links wait for each other.
fn ring(xoff: u64, third: &str) -> Report {
    let mut text = String::new();
    for name in ["a", "b", "c"] {
        let keys = pfc(xoff, xoff / 2, 60_000, "");
        let _ = write!(
            text,
            "[[links]]\nname = \"{name}\"\nrate = \"10Gbps\"\nbuffer = \"100MB\"\ndelay = \"1us\"\n{keys}\n"
        );
    }
    for (name, path) in [
        ("ab", "\"a\", \"b\""),
        ("bc", "\"b\", \"c\""),
        ("ca", third),
    ] {
        let _ = write!(
            text,
            "[[flows]]\nname = \"{name}\"\npath = [{path}]\ncount = 4\nrtt = \"50us\"\npacket = \"1500B\"\n\
             receive_window = \"1000p\"\n"
        );
    }
    let text = text.replacen("name = \"a\"", "name = \"a\"\ntarget = true", 1);
    run(&(text + "[run]\nwarmup = \"5ms\"\nmeasure = \"50ms\"\n"))
}

#[test]
fn links_that_pause_each_other_in_a_circle_are_reported() {
    let report = ring(20_000, "\"c\", \"a\"");
    let found = report.warnings.iter();
    let mut found = found.filter(|warning| warning.kind == WarningKind::Deadlock);
    let warning = found.next().expect("a deadlock");
    let mut names: Vec<_> = warning.subject.split(", ").collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(value(&report, Metric::Utilization) < 0.01);
    // Without the flows that close the circle everything moves. Five senders share the link c, so
    // that the link b gets a fifth of it. A fifth of what leaves b is not for c, and comes from a:
    // a quarter of the fifth that goes to c.
    let open = ring(20_000, "\"c\"");
    let mut kinds = open.warnings.iter().map(|warning| warning.kind);
    assert!(kinds.all(|kind| kind != WarningKind::Deadlock));
    let share = value(&open, Metric::Utilization);
    assert!((share / 0.05 - 1.0).abs() < 0.3, "{share}");
}

/// A pause ends with its cause: after the transfers nothing is paused, and all of them completed.
#[test]
fn a_pause_does_not_outlast_its_cause() {
    let report = incast(4, &pfc(30_000, 15_000, 60_000, ", cable = \"300m\""), "");
    let pause = value(&report, Metric::PauseTime);
    // 4 transfers of 600 kB take 1.92 ms.
    assert!(pause > 0.0 && pause < 0.0021, "{pause}");
    assert_eq!(report.groups[0].metrics[&Metric::Timeouts].mean, 0.0);
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let read = |keys: &str| {
        let text = format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"1MB\"\n{keys}\n[[flows]]\nrtt = \"1ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "test", &[])
            .expect_err("a mistake")
            .to_string()
    };
    for (keys, said) in [
        (pfc(10, 11, 0, ""), "at most 10B, the `xoff`"),
        ("pfc = {}".into(), "xoff"),
        (
            pfc(10, 1, 0, ", cable = \"3 miles\""),
            "a length up to 100km",
        ),
        (pfc(10, 1, 0, ", cable = \"101km\""), "a length up to 100km"),
        (pfc(10, 1, 0, ", response = \"2s\""), "up to 1s"),
        (pfc(10, 1, 0, ", quanta = 5"), "quanta"),
    ] {
        let error = read(&keys);
        assert!(
            error.contains(said) && error.starts_with("test:"),
            "{error}"
        );
    }
}

/// The engine refuses senders that it cannot pause.
#[test]
fn senders_that_cannot_be_paused_are_refused() {
    let refusal = |flow: &str| {
        let text = format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"1MB\"\n{}\n[[flows]]\nname = \"talk\"\n{flow}\n\
             [run]\nwarmup = \"1ms\"\nmeasure = \"1ms\"\n",
            pfc(10_000, 5_000, 9_000, "")
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).expect("a scenario");
        let outcome = PacketEngine.run(&scenario, &RunOptions::default());
        outcome.expect_err("a refusal").to_string()
    };
    let said = refusal("workload = { cbr = { rate = \"1Mbps\" } }");
    assert!(
        said.contains("`talk`") && said.contains("a link before it"),
        "{said}"
    );
}

/// Frames of one instant that begin and end a pause: with `xon` at `xoff`, a packet that leaves as
/// another arrives ends the pause that the other one begins.
#[test]
fn pauses_that_begin_and_end_at_one_instant_leave_nothing_paused() {
    let mut text = String::new();
    for (name, rate) in [("first", "10Gbps"), ("second", "5Gbps")] {
        let keys = pfc(1500, 1500, 60_000, "");
        let _ = write!(
            text,
            "[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\nbuffer = \"100MB\"\n{keys}\n"
        );
    }
    let text = text.replacen("[[links]]\n", "[[links]]\ntarget = true\n", 1);
    let report = run(&(text
        + "[[flows]]\nname = \"all\"\npath = [\"first\", \"second\"]\ncount = 4\nrtt = \"50us\"\n\
           packet = \"1500B\"\ninitial_window = \"100p\"\nmin_rto = \"1s\"\nprocessing = \"0s\"\n\
           access = { rate = \"10Gbps\" }\nworkload = { finite = { size = \"300kB\" } }\n\
           [run]\nwarmup = \"0s\"\nmeasure = \"100ms\"\n"));
    let completed = report.groups[0].completions.as_ref();
    assert_eq!(completed.map(|it| it.completed), Some(4));
    assert_eq!(report.groups[0].metrics[&Metric::Timeouts].mean, 0.0);
}

/// A packet that is sent at once does not wait: it needs no memory, and no pause follows.
#[test]
fn a_packet_that_does_not_wait_is_neither_lost_nor_paused_for() {
    let text = |keys: &str| {
        format!(
            "[link]\nrate = \"10Gbps\"\nbuffer = \"100MB\"\n{keys}\n[[flows]]\nname = \"one\"\nrtt = \"50us\"\n\
             packet = \"1500B\"\nreceive_window = \"1p\"\naccess = {{ rate = \"10Gbps\" }}\n\
             [run]\nwarmup = \"0s\"\nmeasure = \"10ms\"\n"
        )
    };
    let report = run(&text(&pfc(0, 0, 0, "")));
    for metric in [
        Metric::LossRate,
        Metric::PauseFrames,
        Metric::PauseTime,
        Metric::HeadroomMax,
    ] {
        assert_eq!(value(&report, metric), 0.0, "{metric:?}");
    }
    let without = run(&text(""));
    assert_eq!(
        value(&report, Metric::Goodput),
        value(&without, Metric::Goodput)
    );
}

/// A link whose rate changes is paused, too: what it sends after a pause takes its whole time.
#[test]
fn a_link_whose_rate_changes_can_be_paused() {
    let report = run("[[links]]\nname = \"varying\"\nbuffer = \"100MB\"\n\
         rate = { steps = [[\"0s\", \"10Gbps\"], [\"1ms\", \"5Gbps\"]], repeat = \"2ms\" }\n\
         [[links]]\nname = \"slow\"\nrate = \"1Gbps\"\nbuffer = \"100MB\"\ntarget = true\n\
         pfc = { xoff = \"15kB\", xon = \"7500B\", headroom = \"3kB\" }\n\
         [[flows]]\nname = \"bulk\"\npath = [\"varying\", \"slow\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         receive_window = \"200p\"\n[run]\nwarmup = \"5ms\"\nmeasure = \"20ms\"\n");
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.999);
    // The slow link takes 1 of 7.5 Gb/s, and the varying one sends nothing in its pauses.
    let varying = &report.links[0].metrics;
    let used = varying[&Metric::Utilization].mean;
    assert!((used - 1.0 / 7.5).abs() < 0.005, "{used}");
}

/// The queue of an access link holds as many packets whether a lossless queue may pause it or not.
#[test]
fn an_access_queue_before_a_lossless_queue_holds_as_much() {
    let goodput = |queue: u64, keys: &str| {
        let report = run(&format!(
            "[link]\nrate = \"10Gbps\"\nbuffer = \"100MB\"\n{keys}\n[[flows]]\nname = \"one\"\nrtt = \"50us\"\n\
             packet = \"1500B\"\ninitial_window = \"20p\"\nprocessing = \"0s\"\n\
             access = {{ rate = \"1Gbps\", queue = \"{queue}p\" }}\n\
             workload = {{ finite = {{ size = \"30kB\" }} }}\n\
             [run]\nwarmup = \"0s\"\nmeasure = \"50ms\"\n"
        ));
        report.groups[0].metrics[&Metric::Goodput].mean
    };
    for queue in [0, 1, 5, 17, 18, 19] {
        let lossless = goodput(queue, &pfc(1_000_000, 500_000, 60_000, ""));
        assert_eq!(lossless, goodput(queue, ""), "{queue}");
    }
}

/// The packets between the link before and the queue arrive after a pause, also if their delay is
/// longer than the stated cable.
#[test]
fn the_delay_of_the_link_before_counts_if_it_is_longer_than_the_cable() {
    let report = run(&format!(
        "[[links]]\nname = \"before\"\nrate = \"10Gbps\"\nbuffer = \"100MB\"\ndelay = \"20us\"\n\
         [[links]]\nname = \"slow\"\nrate = \"1Gbps\"\nbuffer = \"100MB\"\ntarget = true\n{}\n\
         [[flows]]\nname = \"bulk\"\npath = [\"before\", \"slow\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         receive_window = \"200p\"\n[run]\nwarmup = \"5ms\"\nmeasure = \"20ms\"\n",
        pfc(30_000, 15_000, 100_000, ", cable = \"2km\"")
    ));
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    // The frame takes 10.1 us, and the packets 20 us.
    let most = (2000.0 / 198e6 + 20e-6) * RATE + 2.0 * PACKET;
    let used = value(&report, Metric::HeadroomMax);
    // Meanwhile the queue sends a tenth as much.
    assert!(
        used <= most && used >= 0.9 * most - 3.0 * PACKET,
        "{used} {most}"
    );
}

/// The arrivals at a lossless queue do not vary with the processing time of hosts, which would take
/// up to a packet more than the headroom of its cable and response.
#[test]
fn the_processing_time_of_hosts_needs_no_headroom() {
    let report = run(&format!(
        "[[links]]\nname = \"before\"\nrate = \"900Mbps\"\nbuffer = \"100MB\"\ndelay = \"6600ns\"\n\
         [[links]]\nname = \"behind\"\nrate = \"1Gbps\"\nbuffer = \"100MB\"\ntarget = true\n{}\n\
         [[flows]]\nname = \"far\"\npath = [\"before\", \"behind\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         count = 4\nreceive_window = \"200p\"\n\
         [[flows]]\nname = \"near\"\npath = [\"behind\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         count = 4\nreceive_window = \"200p\"\n[run]\nwarmup = \"0s\"\nmeasure = \"200ms\"\n",
        pfc(1_500, 0, 100_000, "")
    ));
    // Both directions of 6.6 us, and two packets.
    let most = 13.2e-6 * 900e6 / 8.0 + 2.0 * PACKET;
    let used = value(&report, Metric::HeadroomMax);
    assert!(used > PACKET && used <= most, "{used} {most}");
}

/// Only a link before a lossless queue reports the time of its pauses.
#[test]
fn only_links_that_may_be_paused_report_paused_time() {
    let report = spreading(&pfc(50_000, 25_000, 30_000, ""));
    let of = |name: &str| {
        let mut links = report.links.iter();
        links.find(|link| link.name == name).expect("a link")
    };
    assert!(of("shared").metrics.contains_key(&Metric::PausedTime));
    assert!(!of("fast").metrics.contains_key(&Metric::PausedTime));
    assert!(!report.metrics.contains_key(&Metric::PausedTime));
}

/// Links that send at turns of their own cannot be paused, and are refused by name.
#[test]
fn shapers_and_outages_that_flush_are_refused_before_a_lossless_queue() {
    for keys in [
        "shaper = { rate = \"1Gbps\", burst = \"100kB\" }",
        "outages = { times = [[\"1ms\", \"1ms\"]], flush = true }",
    ] {
        let text = format!(
            "[[links]]\nname = \"before\"\nrate = \"10Gbps\"\nbuffer = \"1MB\"\n{keys}\n\
             [[links]]\nname = \"slow\"\nrate = \"1Gbps\"\nbuffer = \"1MB\"\ntarget = true\n{}\n\
             [[flows]]\npath = [\"before\", \"slow\"]\nrtt = \"1ms\"\n[run]\nmeasure = \"1ms\"\n",
            pfc(10_000, 5_000, 9_000, "")
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).expect("a scenario");
        let outcome = PacketEngine.run(&scenario, &RunOptions::default());
        let said = outcome.expect_err("a refusal").to_string();
        assert!(
            said.contains("`before`") && said.contains("shaper"),
            "{said}"
        );
    }
}

/// A chart of a link that is paused shows all of its packets as waiting during a pause.
#[test]
fn a_chart_of_a_paused_link_agrees_with_its_report() {
    let text = format!(
        "[[links]]\nname = \"paused\"\nrate = \"10Gbps\"\nbuffer = \"100MB\"\ntarget = true\n\
         [[links]]\nname = \"slow\"\nrate = \"1Gbps\"\nbuffer = \"100MB\"\n{}\n\
         [[flows]]\npath = [\"paused\", \"slow\"]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         receive_window = \"100p\"\n[run]\nwarmup = \"0s\"\nmeasure = \"10ms\"\n",
        pfc(15_000, 7_500, 3_000, "")
    );
    let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).expect("a scenario");
    let mut run = Stepwise::begin(&scenario, RunOptions::default()).expect("a run");
    assert!(run.draw(100, 1));
    run.advance(run.end(), u64::MAX).expect("the run");
    let chart = run.chart().expect("a chart");
    let (mut sum, mut ticks) = (0, 0);
    for column in chart.waiting {
        sum += column.sum;
        ticks += column.ticks;
    }
    let mean = sum as f64 / ticks as f64;
    let report = run.finish().expect("a report");
    let queue = value(&report, Metric::QueueMean);
    assert!(value(&report, Metric::PausedTime) > 0.005);
    assert!((mean / queue - 1.0).abs() < 1e-9, "{mean} {queue}");
}
