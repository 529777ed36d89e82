//! The memory that packets in flight, in queues and in records of senders need.

use forebay_scenario::{
    AcknowledgmentRecord, FlowSample, Format, HeaderRecord, PacketRecord, Scenario, TransferRecord,
};

use crate::memory_estimate::{Each, bulk, only, room_for_ten, scenario};

#[test]
fn what_is_not_acknowledged_propagates_waits_or_follows_a_missing_packet() {
    let sent = Each {
        outstanding: 1.0,
        ..Each::default()
    };
    // A tenth of many flows at most wait for a retransmission at the same time, and swing.
    let at_once = |flows: f64| (0.1 * flows + 6.0 * f64::sqrt(0.1 * flows)) / flows;
    // With SACK a retransmission is lost at the rate of other packets, 1.5 / W^2 of windows of W
    // packets.
    let lost_again = |flows: f64, seconds: f64| {
        let window = 114.0 / flows;
        let loss = 1.5 / (window * window);
        let waiting = flows * loss * loss * window / 0.1 * seconds;
        (waiting + 6.0 * f64::sqrt(waiting)) / flows * 1000.0 * seconds
    };
    // Rounds of 110 ms: one to detect the losses, one for their repetition, and one for each time
    // that they are lost again.
    let repaired = |loss: f64| {
        let again = -libm::log((loss * 38.0).max(1.0)) / libm::log(loss);
        1000.0 * 0.11 * (2.0 + again)
    };
    for (more, most) in [
        // 100 packets of a round trip and one of each of three flows, 11 in the queue. Slow starts
        // that no threshold ends lose retransmissions of each flow: all three send for a timeout
        // and three round trips.
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
        // RACK detects a lost retransmission after a round trip, whatever the timer is. Rate-based
        // flows that compete lose 30 % of 38 packets and 30 % of these again, those of version 3 2
        // %.
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

/// Windows that grow in a lossless network double in each round trip, and so do the records of what
/// they sent.
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
    // A handshake and a late start take a round trip each, and a round trip that is not over does
    // not count.
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

/// Above a threshold a window grows by a packet in each round trip, and by 0.4 t^3 packets with
/// CUBIC.
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

/// Transfers that come at random leave packets in a queue by their bunches, not by all that is in
/// flight.
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

/// Packets wait at an access link for as long as the run lasts only where it is slower than the
/// rest of the path.
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
    // The memory for both directions: headers beside the packets, the acknowledgments, and the
    // headers on the way.
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
    // The link carries 8 Mb/s in packets of 1000 bytes for ten seconds, each of which may be
    // acknowledged.
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
