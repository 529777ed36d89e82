//! The time in which a queue drains when the rate of its link falls.

use forebay_scenario::{BufferReport, Metric, Report};

use super::{run, run_with, steps, value};

/// A link of these keys, flooded by 12 Mb/s in packets of 500 bytes, measured from a time on for so
/// long.
fn flooded(link: &str, from: &str, measure: &str) -> Report {
    run(&format!(
        r#"
        [link]
        {link}
        [[flows]]
        packet = "500B"
        workload = {{ cbr = {{ rate = "12Mbps" }} }}
        [run]
        warmup = "{from}"
        measure = "{measure}"
        "#
    ))
}

/// 50 kB that wait at 10 Mb/s, which is 5 Mb/s from 5 s on, nothing from 5.04 s and 2 Mb/s from
/// 5.14 s.
const FALLING: &str = r#"buffer = "50kB"
    rate = { steps = [["0s", "10Mbps"], ["5s", "5Mbps"], ["5040ms", "0bps"], ["5140ms", "2Mbps"], ["8s", "4Mbps"], ["9s", "3Mbps"]] }"#;

/// By hand: of 400 kbit half is sent at 5 Mb/s in 40 ms, none in 100 ms, half at 2 Mb/s in 100 ms.
/// At the second fall the buffer is as full: 100 ms and 400 kbit at 2 Mb/s; the third takes less. A
/// packet is in transmission each time, of which up to 4 kbit are left.
#[test]
fn a_full_buffer_drains_at_the_rates_that_follow() {
    let table = [
        ("4s", "1030ms", Some(0.240)),
        ("5010ms", "100ms", Some(0.300)),
        ("4s", "6s", Some(0.300)),
        // Rates that rise, and the one that has fallen before.
        ("5100ms", "3s", None),
        ("1s", "3s", None),
    ];
    for (from, measure, by_hand) in table {
        let report = flooded(FALLING, from, measure);
        let found = report.value(Metric::DrainTimeMax);
        assert_eq!(found.is_some(), by_hand.is_some(), "{from}: {found:?}");
        if let (Some(found), Some(by_hand)) = (found, by_hand) {
            let more = found - by_hand;
            assert!((0.0..=0.002).contains(&more), "{from}: {found}");
        }
    }
}

/// Packets that wait and are sent take their time whatever the order: every discipline that fills
/// its buffer takes as long, and disciplines with short queues take less.
#[test]
fn every_discipline_has_a_time_to_drain() {
    let with = |queue: &str| {
        let link = format!("{FALLING}\nqueue = \"{queue}\"");
        value(&flooded(&link, "4s", "1030ms"), Metric::DrainTimeMax)
    };
    let droptail = with("droptail");
    for queue in ["fq_codel", "codel", "pie", "red"] {
        let found = with(queue);
        assert!(found > 0.0 && found <= droptail, "{queue}: {found}");
    }
    assert!(with("red") < 0.9 * droptail);
}

/// Packets that an outage flushes do not drain, and the packet in transmission did not wait.
#[test]
fn what_is_flushed_takes_no_time() {
    let outage = |flush: bool| {
        let link = format!(
            "rate = \"10Mbps\"\nbuffer = \"50kB\"\noutages = {{ times = [[\"3s\", \"1s\"]], flush = {flush} }}"
        );
        value(&flooded(&link, "1s", "9s"), Metric::DrainTimeMax)
    };
    let [waits, flushed] = [false, true].map(outage);
    // 400 kbit at 10 Mb/s behind a second.
    assert!((1.040..1.0405).contains(&waits), "{waits}");
    assert_eq!(flushed, 0.0);
}

/// A queue that is empty at a fall takes no time, and a link whose rate never falls has none to
/// tell.
#[test]
fn an_empty_queue_takes_no_time() {
    let idle = FALLING.replace("10Mbps", "20Mbps");
    let report = flooded(&idle, "4s", "1030ms");
    assert_eq!(value(&report, Metric::DrainTimeMax), 0.0);
    for constant in ["rate = \"10Mbps\"", "rate = { opportunities = \"1 1 5\" }"] {
        let report = flooded(&format!("{constant}\nbuffer = \"50kB\""), "1s", "5s");
        assert_eq!(report.value(Metric::DrainTimeMax), None, "{constant}");
    }
}

/// Each link has its own: the first is flooded and falls to half its rate, the second never has a
/// queue.
#[test]
fn each_link_has_its_own() {
    let report = run(r#"
        [[links]]
        name = "radio"
        rate = { steps = [["0s", "10Mbps"], ["2s", "5Mbps"]], repeat = "4s" }
        buffer = "100p"
        [[links]]
        name = "core"
        rate = { steps = [["0s", "100Mbps"], ["1s", "50Mbps"]], repeat = "4s" }
        buffer = "100p"
        target = true
        [[links]]
        name = "constant"
        rate = "100Mbps"
        buffer = "100p"
        [[flows]]
        packet = "500B"
        path = ["radio", "core", "constant"]
        workload = { cbr = { rate = "12Mbps" } }
        [run]
        warmup = "1s"
        measure = "9s"
        "#);
    assert_eq!(value(&report, Metric::DrainTimeMax), 0.0);
    let of = |name: &str| {
        let link = report.links.iter().find(|link| link.name == name);
        let metrics = &link.expect("a link").metrics;
        metrics.get(&Metric::DrainTimeMax).map(|drain| drain.mean)
    };
    let radio = of("radio").expect("a time to drain");
    assert!((0.080..=0.0808).contains(&radio), "{radio}");
    assert_eq!(of("constant"), None);
}

/// Everything that a report says but of which scenario and at what cost.
fn text_of(mut report: Report) -> String {
    report.scenario_sha256 = String::new();
    report.buffer = BufferReport::default();
    steps::text_of(report)
}

/// On a link of one rate a limit in time is drop-tail's of as many bytes.
#[test]
fn a_limit_in_time_is_one_in_bytes_where_the_rate_stays() {
    let mixed = steps::mixed("\"9999991bps\"", "droptail");
    for limit in ["20ms", "3ms", "1us"] {
        let bytes = run_with(&mixed, &[format!("link.buffer={limit}")]);
        let queue = format!("link.queue={{ kind = \"delay_limit\", limit = \"{limit}\" }}");
        let time = run_with(&mixed, &["link.buffer=10MB", &queue]);
        assert_eq!(text_of(time), text_of(bytes), "{limit}");
    }
}

/// Behind a shaper whose rate is below the line's the limit is of the shaper's rate: 20 ms at 4
/// Mb/s are 10 kB.
#[test]
fn a_limit_in_time_is_of_the_rate_of_a_shaper() {
    let rate = r#"rate = { steps = [["0s", "10Mbps"], ["5s", "5Mbps"]], repeat = "10s" }
        shaper = { rate = "4Mbps", burst = "2kB" }"#;
    let of = |link: &str| {
        let report = flooded(&format!("{rate}\n{link}"), "10s", "20s");
        value(&report, Metric::QueueMean)
    };
    let time = of("buffer = \"10MB\"\nqueue = { kind = \"delay_limit\", limit = \"20ms\" }");
    let bytes = of("buffer = \"10kB\"");
    assert!((time - bytes).abs() < 1e-6 * bytes, "{time} {bytes}");
}

/// A limit of 20 ms keeps 20 ms at each rate, where its bytes at the higher rate are 40 ms at the
/// lower. At the fall both have the same queue to drain.
#[test]
fn a_limit_in_time_follows_the_rate() {
    let of = |link: &str| {
        let rate = r#"rate = { steps = [["0s", "10Mbps"], ["5s", "5Mbps"]], repeat = "10s" }"#;
        let report = flooded(&format!("{rate}\n{link}"), "10s", "40s");
        [
            Metric::QueueDelayP50Fast,
            Metric::QueueDelayP50Slow,
            Metric::DrainTimeMax,
        ]
        .map(|metric| value(&report, metric))
    };
    let time = of("buffer = \"10MB\"\nqueue = { kind = \"delay_limit\", limit = \"20ms\" }");
    let bytes = of("buffer = \"25kB\"");
    for (found, by_hand) in [
        (time, [0.020, 0.020, 0.040]),
        (bytes, [0.020, 0.040, 0.040]),
    ] {
        for (found, by_hand) in found.into_iter().zip(by_hand) {
            // With the packet in transmission, and less than one that did not fit.
            assert!((found - by_hand).abs() <= 0.0009, "{found} {by_hand}");
        }
    }
}
