//! Shapers: token buckets that empty a queue.

use forebay_scenario::{Estimate, Metric, Report};

use super::disciplines::names;
use super::{of_group, run_with, traced, value};

const POISSON: &str = r#"
[link]
rate = "20Mbps"
buffer = "30p"
[[flows]]
name = "first"
count = 7
packet = "1250B"
workload = { poisson = { rate = "11Mbps" } }
[[flows]]
name = "second"
count = 3
packet = "1250B"
workload = { poisson = { rate = "8Mbps" } }
[run]
warmup = "1s"
measure = "20s"
seed = 4
"#;

const FLOWS: &str = r#"
[link]
rate = "20Mbps"
buffer = "30p"
[[flows]]
name = "flows"
count = 5
recovery = "sack"
rtt = { linspace = ["20ms", "60ms"] }
packet = "1250B"
[run]
warmup = "2s"
measure = "60s"
seed = 4
"#;

fn shaper(rate: &str, burst: u64, more: &str) -> String {
    format!("link.shaper={{ rate = \"{rate}\", burst = \"{burst}B\"{more} }}")
}

/// A bucket for one packet in front of a fast line sends each packet when a link of its rate would
/// begin to: in front of a drop-tail queue nothing that waits, drops or is counted differs, not by
/// a tick.
#[test]
fn a_shaper_of_one_packet_is_a_link_of_its_rate() {
    for (rate, buffer) in [
        ("20Mbps", "30p"),
        ("16Mbps", "4p"),
        ("20Mbps", "12500B"),
        ("12.5Mbps", "1p"),
    ] {
        let buffer = format!("link.buffer={buffer}");
        let constant = run_with(POISSON, &[format!("link.rate={rate}"), buffer.clone()]);
        let shaped = run_with(
            POISSON,
            &["link.rate=100Gbps".into(), buffer, shaper(rate, 1250, "")],
        );
        assert!(value(&constant, Metric::LossRate) > 1e-4, "{rate}");
        for (metric, estimate) in &constant.metrics {
            let found = value(&shaped, *metric);
            match metric {
                // A packet that is half sent has all its tokens.
                Metric::Utilization => assert!((found - estimate.mean).abs() < 1e-4, "{found}"),
                // The last packet that waits leaves as it has its tokens, or as its last bit is
                // sent.
                Metric::Goodput | Metric::QueueAutocorrelation => {}
                _ => assert_eq!(found, estimate.mean, "{} {rate}", metric.name()),
            }
        }
    }
}

/// The same for every discipline, but for a packet: one that holds what waits has handed the next
/// packet over as it waits for tokens, and does not count it against its limit.
#[test]
fn every_discipline_is_shaped_to_the_rate() {
    for queue in names() {
        let queue = format!("link.queue={queue}");
        let constant = run_with(FLOWS, &[&queue]);
        for more in ["", ", kind = \"htb\"", ", peak = \"30Mbps\""] {
            let changes = [
                "link.rate=1Gbps".into(),
                queue.clone(),
                shaper("20Mbps", 1250, more),
            ];
            let shaped = run_with(FLOWS, &changes);
            let near = |metric, share: f64, least: f64| {
                let (found, expected) = (value(&shaped, metric), value(&constant, metric));
                assert!(
                    (found - expected).abs() <= share * expected + least,
                    "{queue}{more} {}: {found} {expected}",
                    metric.name()
                );
            };
            near(Metric::Utilization, 0.03, 0.0);
            near(Metric::Goodput, 0.03, 0.0);
            // Two packets' time.
            near(Metric::QueueDelayMean, 0.15, 1e-3);
            near(Metric::LossRate, 0.3, 1e-3);
        }
    }
}

fn mean(report: &Report, metric: Metric) -> f64 {
    report
        .metrics
        .get(&metric)
        .map_or(0.0, |estimate: &Estimate| estimate.mean)
}

/// Packets come, leave and are dropped at a shaped link as at any: those that wait are those that
/// came and have not left, and Little's law holds: packets waiting = those accepted per second x
/// their mean wait.
#[test]
fn packets_that_wait_are_those_that_have_come_and_not_left() {
    for queue in names() {
        for kind in ["tbf", "htb"] {
            let changes = [
                "link.rate=100Mbps".into(),
                format!("link.queue={queue}"),
                shaper("20Mbps", 12_500, &format!(", kind = \"{kind}\"")),
            ];
            let report = run_with(POISSON, &changes);
            let accepted = 1900.0 * (1.0 - mean(&report, Metric::LossRate));
            let waiting = accepted * value(&report, Metric::QueueDelayMean);
            let found = value(&report, Metric::QueueMean);
            // Chance in the number of packets that came, and what waits at the ends.
            assert!(
                (found / waiting - 1.0).abs() < 0.03,
                "{queue} {kind} {found} {waiting}"
            );
            let goodput: f64 = (0..2)
                .map(|group| of_group(&report, group, Metric::Goodput))
                .sum();
            assert!(
                goodput <= 20e6 * (1.0 + 12_500.0 * 8.0 / 400e6),
                "{goodput}"
            );
        }
    }
}

/// The packets of a trace: at most rate x t + burst in every interval, at the line's rate
/// otherwise, and first in, first out.
#[test]
fn traces_show_bursts_at_the_rate_of_the_line() {
    let text = format!("{POISSON}[trace]\nrecord = [\"packets\"]\nfrom = \"1s\"\nuntil = \"4s\"\n")
        .replace(
            "rate = \"20Mbps\"",
            "rate = \"200Mbps\"\nshaper = { rate = \"20Mbps\", burst = \"12500B\" }",
        );
    let traces = traced(&text).traces.unwrap();
    let left = traces.packets.iter().filter(|packet| !packet.dropped);
    let left: Vec<f64> = left.map(|packet| packet.time_s + packet.wait_s).collect();
    assert!(left.len() > 4000 && left.is_sorted());
    let closest = left
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(1.0, f64::min);
    assert!((closest - 50e-6).abs() < 1e-9, "{closest}");
    let mut fullest: f64 = 0.0;
    for (first, begin) in left.iter().enumerate() {
        for (count, end) in left[first..].iter().enumerate() {
            let sent = (count as f64 + 1.0) * 1250.0;
            fullest = fullest.max(sent - (end - begin) * 20e6 / 8.0);
        }
    }
    // The burst is used to the last byte.
    assert!((12_499.0..12_500.001).contains(&fullest), "{fullest}");
}

const STEPS: &str = "{ steps = [[\"0s\", \"30Mbps\"], [\"300ms\", \"4Mbps\"], [\"400ms\", \"0bps\"], [\"450ms\", \"25Mbps\"]], repeat = \"700ms\" }";

/// A shaper that is faster than a line whose rate changes lets it do what it does without one.
#[test]
fn a_shaper_that_never_holds_leaves_a_changing_line_alone() {
    for (queue, outages) in [
        ("droptail", ""),
        ("codel", ""),
        ("pie", "link.outages=[[\"3s\", \"200ms\"]]"),
    ] {
        let queue = format!("link.queue={queue}");
        let mut changes = vec![format!("link.rate={STEPS}"), queue.clone()];
        changes.extend((!outages.is_empty()).then(|| outages.to_owned()));
        let plain = run_with(POISSON, &changes);
        for kind in ["tbf", "htb"] {
            let mut changes = changes.clone();
            let more = format!(", kind = \"{kind}\"");
            changes.push(shaper("30Mbps", 1_000_000, &more));
            let shaped = run_with(POISSON, &changes);
            assert!(value(&plain, Metric::LossRate) > 1e-3);
            for (metric, estimate) in &plain.metrics {
                let found = value(&shaped, *metric);
                let near = match metric {
                    // Saved tokens count as sendable data.
                    Metric::Utilization => 2e-4,
                    // A discipline that holds what waits is asked for the next packet by a turn.
                    _ => 1e-9,
                };
                let off = (found - estimate.mean).abs();
                assert!(
                    off <= near,
                    "{queue} {kind} {}: {found} {}",
                    metric.name(),
                    estimate.mean
                );
            }
        }
    }
}

/// A bucket for one packet in front of a line that is always faster is a link of its rate, however
/// the line's changes.
#[test]
fn a_shaper_hides_what_a_faster_line_does() {
    let steps = "{ steps = [[\"0s\", \"100Gbps\"], [\"7ms\", \"40Gbps\"]], repeat = \"11ms\" }";
    for queue in ["droptail", "red", "pie"] {
        let of = |rate: &str| {
            let changes = [
                format!("link.rate={rate}"),
                format!("link.queue={queue}"),
                shaper("16Mbps", 1250, ""),
            ];
            run_with(POISSON, &changes)
        };
        let (constant, changing) = (of("100Gbps"), of(steps));
        assert!(value(&constant, Metric::LossRate) > 1e-3, "{queue}");
        for metric in [
            Metric::LossRate,
            Metric::QueueMean,
            Metric::QueueDelayMean,
            Metric::QueueDelayP99,
            Metric::QueueDelayMax,
        ] {
            let (ours, theirs) = (value(&changing, metric), value(&constant, metric));
            assert_eq!(ours, theirs, "{queue} {}", metric.name());
        }
        let used = |report| value(report, Metric::Utilization);
        assert!((used(&changing) - used(&constant)).abs() < 1e-3, "{queue}");
    }
}

/// In no interval more than rate x t + burst, nor more than the line sends; nothing begins in an
/// outage before which nothing waited; and with more than enough to send all is used: 20 Mb/s of 30
/// or 25, 4 of 4.
#[test]
fn a_changing_line_behind_a_shaper_is_used_and_no_more() {
    for kind in ["tbf", "htb"] {
        let shaped = format!(
            "rate = {STEPS}\nshaper = {{ rate = \"20Mbps\", burst = \"12500B\", kind = \"{kind}\" }}"
        );
        let text =
            format!("{POISSON}[trace]\nrecord = [\"packets\"]\nfrom = \"1s\"\nuntil = \"5s\"\n")
                .replace("rate = \"20Mbps\"", &shaped)
                .replace("11Mbps", "30Mbps");
        let report = traced(&text);
        let used = value(&report, Metric::Utilization);
        assert!((0.98..=1.0).contains(&used), "{kind} {used}");
        let traces = report.traces.unwrap();
        let left = traces.packets.iter().filter(|packet| !packet.dropped);
        let left: Vec<f64> = left.map(|packet| packet.time_s + packet.wait_s).collect();
        assert!(left.len() > 2000 && left.is_sorted());
        let owed = if kind == "htb" { 1250.0 } else { 0.0 };
        let mut fullest: f64 = 0.0;
        for (first, begin) in left.iter().enumerate() {
            for (count, end) in left[first..].iter().enumerate() {
                let sent = (count as f64 + 1.0) * 1250.0;
                fullest = fullest.max(sent - owed - (end - begin) * 20e6 / 8.0);
            }
        }
        assert!(
            (11_000.0..12_500.001).contains(&fullest),
            "{kind} {fullest}"
        );
        // Packets that begin while the line is slow are 2.5 ms apart, and in an outage none does.
        let within = |from: f64, to: f64| {
            let at = |time: &&f64| (from..to).contains(&(**time % 0.7));
            left.iter().filter(at).count() as f64
        };
        let periods = 4.0 / 0.7;
        assert!(within(0.4025, 0.45) <= 0.0, "{}", within(0.4025, 0.45));
        let slow = within(0.3, 0.4) / periods;
        assert!((slow / 40.0 - 1.0).abs() < 0.1, "{slow}");
        let fast = within(0.0, 0.3) / periods;
        let expected = 0.3 * 20e6 / 8.0 / 1250.0;
        assert!((fast / expected - 1.0).abs() < 0.06, "{fast} {expected}");
    }
}

/// A second bucket that is given no size holds the largest packet as the line sees it, framing and
/// all.
#[test]
fn a_second_bucket_holds_the_largest_packet_with_its_framing() {
    let sparse = POISSON.replace("11Mbps", "4Mbps").replace("8Mbps", "3Mbps");
    for (layer, wire) in [("l3", 1250), ("l2", 1268), ("l1", 1288)] {
        let run = |peak: &str| {
            let change = shaper("8Mbps", 20_000, &format!(", peak = \"9Mbps\"{peak}"));
            let report = run_with(&sparse, &[change, format!("link.rate_layer={layer}")]);
            report.metrics
        };
        assert_eq!(
            run(""),
            run(&format!(", peak_burst = \"{wire}B\"")),
            "{layer}"
        );
        assert_ne!(run(""), run(", peak_burst = \"3000B\""), "{layer}");
    }
}
