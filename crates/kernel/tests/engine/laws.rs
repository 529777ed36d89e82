//! Effects of links, queues and paths on real packets.

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, Metric};

use crate::{plain, report, scenario, traced, value};

const TIMES: &str = "\n[run]\nwarmup = \"300ms\"\nmeasure = \"900ms\"\n";

/// Payload share of a full packet whose headers carry timestamps.
fn share(packet: f64) -> f64 {
    (packet - 52.0) / packet
}

#[test]
fn a_busy_link_sends_no_more_than_it_can_and_nothing_waits_longer_than_the_buffer() {
    let text = "[link]\nrate = \"20Mbps\"\nbuffer = \"30p\"\n[[flows]]\ncount = 2\nrtt = \"10ms\"\nstack = \"linux\"";
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.3 && used <= 1.0 + 1e-9, "{used}");
    let (mean, max) = (
        value(&report, Metric::QueueDelayMean),
        value(&report, Metric::QueueDelayMax),
    );
    // 30 packets wait, and one is being sent.
    let buffer = 31.0 * 1500.0 * 8.0 / 20e6;
    assert!(
        0.0 < mean && mean <= max && max <= buffer,
        "{mean} {max} {buffer}"
    );
    let goodput = value(&report, Metric::Goodput);
    // Data that is acknowledged after the warm-up may have been sent before, or have waited for a
    // hole.
    let before = 31.0 * 1448.0 * 8.0 / 0.9 + 64.0 * 1448.0 * 8.0 / 0.9;
    assert!(
        goodput <= used * 20e6 * share(1500.0) + before,
        "{goodput} {used}"
    );
    assert!(goodput > 0.5 * used * 20e6, "{goodput}");
    assert!(value(&report, Metric::LossRate) < 0.5);
    assert!(report.cost.lateness.is_some());
}

#[test]
fn background_is_the_packet_engine_s_packet_for_packet() {
    let text = "[link]\nrate = \"20Mbps\"\nbuffer = \"10p\"\n[[flows]]\npacket = \"700B\"\nworkload = { poisson = { rate = \"19Mbps\" } }";
    let text = format!("{text}{TIMES}");
    let Some(report) = report(&text, plain()) else {
        return;
    };
    let simulated = PacketEngine
        .run(&scenario(&text), &plain())
        .expect("a report");
    assert!(report.cost.data_packets > 3_000);
    assert_eq!(report.cost.data_packets, simulated.cost.data_packets);
    for metric in [
        Metric::Utilization,
        Metric::LossRate,
        Metric::QueueMean,
        Metric::QueueDelayMean,
        Metric::QueueDelayMax,
    ] {
        assert_eq!(report.value(metric), simulated.value(metric), "{metric:?}");
    }
    assert!(value(&report, Metric::LossRate) > 0.0);
}

#[test]
fn capable_packets_are_marked_and_not_dropped() {
    let text = "[link]\nrate = \"20Mbps\"\nbuffer = \"500p\"\nqueue = { kind = \"step\", threshold = \"10p\" }\n[[flows]]\ncount = 2\nrtt = \"10ms\"\ncca = \"newreno\"\nstack = \"linux\"\necn = true";
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    assert!(value(&report, Metric::MarkRate) > 0.0);
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    // A sender that respects the marks needs no buffer of 500 packets, which is 300 ms.
    let max = value(&report, Metric::QueueDelayMax);
    assert!(max < 0.15, "{max}");
    assert!(value(&report, Metric::Utilization) > 0.3);
}

#[test]
fn access_links_limit() {
    let text = "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n[[flows]]\ncount = 2\nrtt = \"10ms\"\nstack = \"linux\"\naccess = { rate = \"5Mbps\" }";
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.05 && used <= 0.2001, "{used}");
    // At most two packets arrive together.
    assert!(value(&report, Metric::QueueDelayMax) <= 1500.0 * 8.0 / 50e6);
}

#[test]
fn acknowledgments_cross_the_links_of_their_way() {
    let text = r#"
        [[links]]
        name = "down"
        rate = "20Mbps"
        buffer = "60p"
        target = true
        [[links]]
        name = "up"
        rate = "100kbps"
        buffer = "20p"
        [[flows]]
        rtt = "10ms"
        stack = "linux"
        path = ["down"]
        reverse = ["up"]
    "#;
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let up = report
        .links
        .iter()
        .find(|link| link.name == "up")
        .expect("a link");
    let used = up.metrics[&Metric::Utilization].mean;
    assert!(used > 0.2 && used <= 1.0 + 1e-9, "{used}");
    // An acknowledgment has at least 52 bytes, and acknowledges at most 64 KiB.
    let most = 100e3 / 8.0 / 52.0 * 65_536.0 * 8.0;
    assert!(value(&report, Metric::Goodput) <= most);
}

#[test]
fn a_class_that_goes_first_waits_for_one_packet_of_others() {
    let text = r#"
        [link]
        rate = "20Mbps"
        buffer = "60p"
        queue = { kind = "classes", schedule = "strict", classes = [
            { name = "voice", groups = ["calls"], buffer = "20p" },
            { name = "bulk" },
        ] }
        [[flows]]
        name = "downloads"
        count = 2
        rtt = "10ms"
        stack = "linux"
        [[flows]]
        name = "calls"
        count = 3
        packet = "200B"
        workload = { cbr = { rate = "100kbps" } }
    "#;
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let of = |name: &str, metric| {
        let group = report.groups.iter().find(|group| group.name == name);
        group.expect("a group").metrics[&metric].mean
    };
    // One packet of the downloads is on the wire, and the other two calls may arrive at the same
    // instant.
    let one = (1500.0 + 400.0) * 8.0 / 20e6 + 1e-9;
    assert!(of("calls", Metric::QueueDelayMax) <= one);
    assert_eq!(of("calls", Metric::LossRate), 0.0);
    assert!(of("downloads", Metric::QueueDelayMax) > one);
}

#[test]
fn flow_queueing_shares_a_link() {
    let text = "[link]\nrate = \"20Mbps\"\nbuffer = \"200p\"\nqueue = \"fq_codel\"\n[[flows]]\nrtt = \"5ms\"\nstack = \"linux\"\n[[flows]]\nrtt = \"20ms\"\nstack = \"linux\"";
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let fair = value(&report, Metric::JainIndex);
    assert!(fair > 0.8 && fair <= 1.0 + 1e-9, "{fair}");
}

#[test]
fn a_rate_that_falls_sends_no_more_than_its_mean() {
    let text = "[link]\nrate = { steps = [[\"0s\", \"20Mbps\"], [\"600ms\", \"4Mbps\"]] }\nbuffer = \"40p\"\n[[flows]]\nrtt = \"10ms\"\nstack = \"linux\"";
    let Some(report) = report(&format!("{text}{TIMES}"), plain()) else {
        return;
    };
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.3 && used <= 1.0 + 1e-9, "{used}");
    // The backlog is sent at the lower rate.
    let max = value(&report, Metric::QueueDelayMax);
    assert!(
        max > 41.0 * 1500.0 * 8.0 / 20e6 && max <= 41.0 * 1500.0 * 8.0 / 4e6,
        "{max}"
    );
}

#[test]
fn packets_are_as_large_as_the_scenario_says() {
    for (size, rate) in [(9000, 40), (300, 4)] {
        let text = format!(
            "[link]\nrate = \"{rate}Mbps\"\nbuffer = \"30p\"\n[[flows]]\nrtt = \"10ms\"\nstack = \"linux\"\npacket = \"{size}B\"\n[trace]\nrecord = [\"packets\"]{TIMES}"
        );
        let Some(report) = report(&text, traced()) else {
            return;
        };
        let packets = &report.traces.as_ref().expect("traces").packets;
        let full = packets.iter().filter(|packet| packet.bytes == size).count();
        assert!(packets.iter().all(|packet| packet.bytes <= size));
        assert!(full * 10 > packets.len() * 8, "{full} of {}", packets.len());
        assert!(value(&report, Metric::Goodput) > 0.0);
    }
}
