//! What a run may need, counted by hand: each need of a scenario is a count times what an engine keeps.

use forebay_scenario::{
    AcknowledgmentRecord, EngineError, FlowGroup, FlowSample, Footprint, Format, HeaderRecord,
    Need, PacketRecord, Scenario, TransferRecord, Waiting,
};
use forebay_units::Bytes;

/// An engine that keeps so many bytes of each.
#[derive(Default)]
struct Each {
    flow: f64,
    source: f64,
    waiting: f64,
    outstanding: f64,
    under_way: f64,
}

/// So much that the need tells what it counts.
const APART: Each = Each {
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
fn scenario(link: &str, flows: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"8Mbps\"\n{link}\n{flows}\n[run]\nwarmup = \"2s\"\nmeasure = \"8s\"\n"
    );
    Scenario::parse(&text, Format::Toml, "test", &[]).unwrap()
}

fn group(name: &str, more: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nrtt = \"100ms\"\npacket = \"1000B\"\n{more}\n")
}

/// Key and count of each need.
fn counted(scenario: &Scenario, traces: bool) -> Vec<(String, f64)> {
    let needs = scenario.needs(&APART, traces);
    needs
        .into_iter()
        .map(|need| (need.key, need.bytes))
        .collect()
}

fn of(scenario: &Scenario, key: &str) -> f64 {
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
        // Below the link's rate nothing is left over but swings; at twice the rate as much as the link
        // sends.
        (endless, cbr("4Mbps"), 0.0, 1000.0),
        (endless, cbr("16Mbps"), 10_000.0, 11_000.0),
        // Two packets for each that has left, the first windows of three flows, and those of timers.
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
        // What access links let pass waits there, and not here.
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
        // A thousand transfers, half of what the link carries: those of two round trips at least, and far
        // from all.
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
    // Of those that are acknowledged twice what the link sends, 2000 a second; of a source what it sends, 250.
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
    // Nothing is recorded that nobody asks for.
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

// To the packet ---------------------------------------------------------------------------------

fn room_for_ten(flows: &str, more: &str) -> Scenario {
    scenario("buffer = \"10p\"", &format!("{flows}\n{more}"))
}

fn bulk(more: &str) -> String {
    group("bulk", more)
}

fn only(needs: Vec<Need>) -> Need {
    assert_eq!(needs.len(), 1, "{needs:?}");
    needs.into_iter().next().unwrap()
}

#[test]
fn what_is_not_acknowledged_propagates_waits_or_follows_a_missing_packet() {
    let sent = Each {
        outstanding: 1.0,
        ..Each::default()
    };
    // A tenth of many flows at most wait for a retransmission at the same time, and swing.
    let at_once = |flows: f64| (0.1 * flows + 6.0 * f64::sqrt(0.1 * flows)) / flows;
    // With SACK a retransmission is lost at the rate of other packets, 1.5 / W^2 of windows of W packets.
    let lost_again = |flows: f64, seconds: f64| {
        let window = 114.0 / flows;
        let loss = 1.5 / (window * window);
        let waiting = flows * loss * loss * window / 0.1 * seconds;
        (waiting + 6.0 * f64::sqrt(waiting)) / flows * 1000.0 * seconds
    };
    // Rounds of 110 ms: one to detect the losses, one for their repetition, and one for each time that they are lost again.
    let repaired = |loss: f64| {
        let again = -libm::log((loss * 38.0).max(1.0)) / libm::log(loss);
        1000.0 * 0.11 * (2.0 + again)
    };
    for (more, most) in [
        // 100 packets of a round trip and one of each of three flows, 11 in the queue. Slow starts that no threshold ends
        // lose retransmissions of each flow: all three send for a timeout and three round trips.
        ("count = 3\nmin_rto = \"1s\"", 114.0 + 1300.0),
        ("count = 3\nmin_rto = \"2s\"", 114.0 + 2300.0),
        // Thresholds of 30 packets leave room in the network: later losses follow from the windows.
        (
            "count = 3\nmin_rto = \"1s\"\ninitial_ssthresh = \"30p\"",
            114.0 + lost_again(3.0, 1.3),
        ),
        (
            "count = 3\nmin_rto = \"2s\"\ninitial_ssthresh = \"30p\"",
            114.0 + lost_again(3.0, 2.3),
        ),
        // Three thresholds of 40 packets are more than the link and the buffer hold.
        (
            "count = 3\nmin_rto = \"1s\"\ninitial_ssthresh = \"40p\"",
            114.0 + 1300.0,
        ),
        // With measured rates a loss does not follow from a window: each of three flows may wait.
        (
            "count = 3\nmin_rto = \"1s\"\ncca = \"bbr\"\nrecovery = \"sack\"",
            114.0 + 3300.0,
        ),
        // RACK detects a lost retransmission after a round trip, whatever the timer is. Rate-based flows that compete lose
        // 30 % of 38 packets and 30 % of these again, those of version 3 2 %.
        (
            "count = 3\nmin_rto = \"1s\"\ncca = \"bbr\"",
            114.0 + repaired(0.3),
        ),
        (
            "count = 3\nmin_rto = \"2s\"\ncca = \"bbr3\"",
            114.0 + repaired(0.02),
        ),
        // A flow that has the link for itself repairs its losses in three round trips.
        ("min_rto = \"1s\"\ncca = \"bbr\"", 112.0 + 300.0),
        // Without SACK four times a flow's share of all that is lost, a round trip each.
        (
            "count = 30\nmin_rto = \"1s\"\nrecovery = \"newreno\"\npartial_ack_timer = \"every\"",
            141.0 + at_once(30.0) * (3000.0 + 100.0 * 4.0 * 141.0 / 30.0),
        ),
        // A timer that only the first partial acknowledgment restarts ends that recovery.
        (
            "count = 30\nmin_rto = \"1s\"\nrecovery = \"newreno\"",
            141.0 + at_once(30.0) * 3300.0,
        ),
        // Each loss of a medium reduces a window: twice 1/p packets of each flow, and swings.
        (
            "count = 3\nloss = \"random\"",
            (3.0 + 6.0 * f64::sqrt(3.0)) * (2.0 / 0.1 + 2.0),
        ),
        // First windows leave at once.
        ("count = 3\ninitial_window = \"2000p\"", 6000.0),
        // No more than windows allow.
        ("count = 3\nreceive_window = \"10p\"", 30.0),
        ("count = 5\nreceive_window = \"10p\"", 50.0),
    ] {
        let flows = bulk(&format!("{more}\nhandshake = false"));
        let found = match flows.split_once("loss = \"random\"\n") {
            Some((before, after)) => scenario(
                "buffer = \"10p\"\nloss = { random = \"10%\" }",
                &(before.to_owned() + after),
            ),
            None => room_for_ten(&flows, ""),
        };
        let need = only(found.needs(&sent, false));
        assert_eq!(need.key, "flows.bulk.rtt", "{more}");
        assert!((need.bytes - most).abs() < 1e-6, "{more}: {}", need.bytes);
    }
}

/// Transfers stay for a few round trips and a timeout, share the link with others, and swing.
#[test]
fn transfers_that_are_alive_are_those_that_come_in_the_time_that_they_stay() {
    let flows = Each {
        flow: 1.0,
        ..Each::default()
    };
    let of = |rtt: &str, min_rto: &str| {
        let open = format!(
            "[[flows]]\nname = \"web\"\nrtt = \"{rtt}\"\npacket = \"1000B\"\nmin_rto = \"{min_rto}\"\n\
             workload = {{ open_loop = {{ interarrival = \"10ms\", size = \"5kB\" }} }}\n"
        );
        only(room_for_ten(&open, "").needs(&flows, false)).bytes
    };
    let arrivals = 1001.0;
    // 6 packets of 1000 bytes every 10 ms are three fifths of the link, which drops nothing.
    let sharing = 0.6 / (1.0 - 0.6);
    for (rtt, min_rto, trip) in [
        ("100ms", "1s", 0.1),
        ("250ms", "1s", 0.25),
        ("100ms", "2s", 0.1),
    ] {
        let mean = arrivals * trip / 10.0 + sharing;
        let hand = mean + 6.0 * f64::sqrt(mean);
        let found = of(rtt, min_rto);
        assert!((found - hand).abs() < 0.01 * hand, "{found} {hand}");
    }
}

/// Windows that grow in a lossless network double in each round trip, and so do the records of what they sent.
#[test]
fn no_window_outgrows_its_slow_start() {
    let sent = Each {
        outstanding: 1.0,
        ..Each::default()
    };
    let text = "[link]\nrate = \"100Gbps\"\nbuffer = \"1BDP\"\n[[flows]]\nname = \"bulk\"\nrtt = \"1s\"\ncount = 3\n\
                [run]\nwarmup = \"1s\"\nmeasure = \"2s\"\n";
    let scenario = Scenario::parse(text, Format::Toml, "test", &[]).unwrap();
    let need = only(scenario.needs(&sent, false));
    assert!((need.bytes - 3.0 * 10.0 * 8.0).abs() < 1e-6, "{need:?}");
    // A handshake and a late start take a round trip each, and a round trip that is not over does not count.
    for (more, windows) in [
        ("handshake = true", 4.0),
        ("start = \"1s\"", 4.0),
        ("rtt = \"1.1s\"", 4.0),
        ("rtt = \"1.1s\"\nhandshake = true", 2.0),
    ] {
        let text = text.replace("count = 3", &format!("count = 3\n{more}"));
        let text = if more.contains("rtt") {
            text.replacen("rtt = \"1s\"\n", "", 1)
        } else {
            text
        };
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let need = only(scenario.needs(&sent, false));
        assert!(
            (need.bytes - 30.0 * windows).abs() < 1e-6,
            "{more} {need:?}"
        );
    }
}

/// Above a threshold a window grows by a packet in each round trip, and by 0.4 t^3 packets with CUBIC.
#[test]
fn a_threshold_bounds_the_packets_of_long_flows() {
    let waiting = Each {
        waiting: 1.0,
        ..Each::default()
    };
    for (cca, window) in [
        ("newreno", 20.0 + 3.0 + 1.0),
        ("cubic", 20.0 + 0.4 * 27.0 + 3.0 + 1.0),
        // The growth of other controllers is not known: slow start.
        ("htcp", 80.0),
    ] {
        let text = format!(
            "[link]\nrate = \"100Gbps\"\nbuffer = \"1BDP\"\n[[flows]]\nname = \"bulk\"\nrtt = \"1s\"\nmin_rto = \"60s\"\n\
             count = 3\ncca = \"{cca}\"\ninitial_ssthresh = \"20p\"\n[run]\nwarmup = \"1s\"\nmeasure = \"2s\"\n"
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let need = only(scenario.needs(&waiting, false));
        // One packet more of each flow.
        assert!(
            (need.bytes - 3.0 * window - 3.0).abs() < 1e-6,
            "{cca}: {need:?}"
        );
    }
}

/// A transfer of 32 packets sends 10, 20 and 2 of them, a round trip apart.
#[test]
fn packets_of_transfers_are_in_flight_for_a_round_trip_of_each_window_that_the_run_shows() {
    let flying = Each {
        under_way: 1.0,
        ..Each::default()
    };
    for (handshake, end, mean, variance) in [
        (false, 10.0, 32.0, 504.0),
        (false, 2.5, 31.0, 502.0),
        (false, 1.5, 20.0, 300.0),
        (true, 2.5, 20.0, 300.0),
        (true, 10.0, 32.0, 504.0),
    ] {
        let text = format!(
            "[link]\nrate = \"8Mbps\"\nbuffer = \"10p\"\n[[flows]]\nname = \"web\"\nrtt = \"1s\"\npacket = \"1000B\"\n\
             handshake = {handshake}\nworkload = {{ open_loop = {{ interarrival = \"1s\", size = \"30kB\" }} }}\n\
             [run]\nwarmup = \"0s\"\nmeasure = \"{end}s\"\n"
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let need = only(scenario.needs(&flying, false));
        let hand = mean + 6.0 * f64::sqrt(variance);
        assert!((need.bytes - hand).abs() < 1e-6, "{end} {need:?} {hand}");
    }
}

/// Transfers that come at random leave packets in a queue by their bunches, not by all that is in flight.
#[test]
fn packets_of_transfers_wait_where_arrivals_exceed_what_a_link_carries() {
    let waiting = Each {
        waiting: 1.0,
        ..Each::default()
    };
    for (rate, pipe) in [("80Gbps", 1e7), ("8Gbps", 1e6)] {
        let text = format!(
            "[link]\nrate = \"{rate}\"\nbuffer = \"1e9p\"\n[[flows]]\nname = \"web\"\nrtt = \"1s\"\npacket = \"1000B\"\n\
             handshake = false\nworkload = {{ open_loop = {{ load = 0.9, size = \"30kB\" }} }}\n\
             [run]\nwarmup = \"0s\"\nmeasure = \"10s\"\n"
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let need = only(scenario.needs(&waiting, false));
        let swing = 6.0 * f64::sqrt(0.9 * pipe / 32.0 * 504.0);
        let hand = swing + swing * swing / (4.0 * 0.1 * pipe);
        // One packet of the flow itself.
        assert!(
            (need.bytes - hand - 1.0).abs() < 1e-3 * hand,
            "{need:?} {hand}"
        );
    }
}

/// Packets wait at an access link for as long as the run lasts only where it is slower than the rest of the path.
#[test]
fn what_waits_at_access_links_is_bounded_by_windows_where_links_drop() {
    let sent = Each {
        outstanding: 1.0,
        ..Each::default()
    };
    let of = |rate: &str| {
        let flows = bulk(&format!(
            "count = 3\nhandshake = false\nrecovery = \"newreno\"\nprocessing = \"0s\"\naccess = {{ rate = \"{rate}\" }}"
        ));
        only(room_for_ten(&flows, "").needs(&sent, false)).bytes
    };
    let (free, fast, slow, slowest) = (
        only(
            room_for_ten(
                &bulk("count = 3\nhandshake = false\nrecovery = \"newreno\"\nprocessing = \"0s\""),
                "",
            )
            .needs(&sent, false),
        )
        .bytes,
        of("20Mbps"),
        of("4Mbps"),
        of("2Mbps"),
    );
    assert!(
        (fast - free - 30.0).abs() < 1e-6,
        "first windows: {fast} {free}"
    );
    assert!(
        (slow - free - 111.0 - 2500.0).abs() < 4.0,
        "as much as the network holds, and a quarter of 10,000 packets: {slow} {free}"
    );
    for without_phases in [
        "processing = \"packet\"",
        "processing = \"1us\"",
        "processing = \"0s\"\ninitial_ssthresh = \"1000p\"",
        "processing = \"0s\"\ncca = \"bbr\"",
    ] {
        let [slow, free] = [
            &format!("access = {{ rate = \"4Mbps\" }}\n{without_phases}"),
            without_phases,
        ]
        .map(|more| {
            let flows = bulk(&format!(
                "count = 3\nhandshake = false\nrecovery = \"newreno\"\n{more}"
            ));
            only(room_for_ten(&flows, "").needs(&sent, false)).bytes
        });
        assert!(
            (slow - free - 111.0).abs() < 4.0,
            "{without_phases}: {slow} {free}"
        );
    }
    assert!(slowest > 2.0 * free, "all that is sent: {slowest} {free}");
}

#[test]
fn records_are_counted_and_kept_in_lists_that_double() {
    let trace = |what: &str| format!("[trace]\nevery = \"1s\"\nrecord = [\"{what}\"]\n");
    let swung = |mean: f64| mean + 6.0 * f64::sqrt(mean);
    let needs = |flows: &str, what: &str| {
        only(room_for_ten(&bulk(flows), &trace(what)).needs(&Each::default(), true))
    };
    // Four users that ask every two seconds, and begin once: in ten seconds.
    let periodic = needs(
        "count = 4\nworkload = { periodic = { every = \"2s\", size = \"5kB\" } }",
        "transfers",
    );
    let count = swung(4.0 * 10.0 / 2.0 + 4.0);
    assert_eq!(periodic.what, format!("{} transfers", count.ceil()));
    let each = size_of::<TransferRecord>() as f64;
    assert!((periodic.bytes / count / each - 3.0).abs() < 1e-9);
    // 4 Mb/s in packets of 1000 bytes: 500 in each second.
    let steady = needs("workload = { cbr = { rate = \"4Mbps\" } }", "packets");
    let count = swung(5000.0);
    assert_eq!(steady.what, format!("{} packets", count.ceil()));
    let each = size_of::<PacketRecord>() as f64;
    let more = steady.bytes / count - 3.0 * each;
    assert!(
        (0.0..72.0).contains(&more),
        "and of those that wait a place in a tree: {more}"
    );
    // Of both directions: headers beside the packets, the acknowledgments, and what is said on the way.
    let both = trace("packets") + "acknowledgments = true\n";
    let of = |more: &str| room_for_ten(&bulk(""), more).needs(&Each::default(), true);
    let (packets, all) = (only(of(&trace("packets"))), of(&both));
    let keys: Vec<_> = all.iter().map(|need| need.key.as_str()).collect();
    let key = "trace.acknowledgments";
    assert_eq!(keys, ["trace.record", key, key]);
    assert_eq!(all[0].what, packets.what);
    let count: f64 = packets.what.split(' ').next().unwrap().parse().unwrap();
    let header = size_of::<HeaderRecord>() as f64;
    let more = (all[0].bytes - packets.bytes) / count / header;
    assert!((more - 3.0).abs() < 1e-3, "{more}");
    // The link carries 8 Mb/s in packets of 1000 bytes for ten seconds, each of which may be acknowledged.
    let each = size_of::<AcknowledgmentRecord>() as f64;
    let acknowledgments = all[1].bytes / each / 3.0;
    let carried = 10_000.0;
    assert!(
        (carried..carried + 500.0).contains(&acknowledgments),
        "{acknowledgments}"
    );
    let windows = needs("count = 7", "cwnd");
    assert_eq!(windows.what, "77 samples");
    let each = size_of::<FlowSample>() as f64;
    assert!((windows.bytes / 77.0 / each - 3.0).abs() < 1e-9);
}

/// Forty for each packet that links carry, sources send, flows begin with or push to no avail, and ten
/// thousand of the run's own.
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
        // Of packets of 500 bytes the link carries twice as many.
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
