//! Links that send at opportunities, at rates that are drawn, or not at all for a while.

use forebay_scenario::{Metric, Report, Seed};

use super::{run, scenario, steps, value};

/// A link at `rate` with `more` keys, flooded by packets of 1,500 bytes or crossed by flows.
fn link(more: &str, flows: &str) -> String {
    format!(
        r#"
        [link]
        {more}
        [[flows]]
        {flows}
        [run]
        warmup = "1s"
        measure = "19s"
        "#
    )
}

const FLOOD: &str = r#"workload = { cbr = { rate = "25Mbps" } }"#;
const FLOWS: &str = "count = 3\nrtt = \"20ms\"";

/// Everything that a report says but of which scenario and at what cost.
fn text_of(mut report: Report) -> String {
    report.scenario_sha256 = String::new();
    report.warnings.clear();
    steps::text_of(report)
}

/// An outage in which packets wait is a rate of nothing.
#[test]
fn an_outage_is_a_step_of_nothing() {
    for queue in ["droptail", "codel", "fq_codel", "pie"] {
        let rest = format!("buffer = \"60kB\"\nqueue = \"{queue}\"");
        let steps = r#"rate = { steps = [["0s", "9999991bps"], ["3s", "0bps"], ["3.4s", "9999991bps"], ["7s", "0bps"], ["8s", "9999991bps"]] }"#;
        let outages = r#"rate = "9999991bps"
            outages = [["3s", "400ms"], ["7s", "1s"]]"#;
        let [steps, outages] =
            [steps, outages].map(|rate| run(&link(&format!("{rate}\n{rest}"), FLOWS)));
        assert_eq!(text_of(steps), text_of(outages), "{queue}");
    }
}

/// A link that is never idle delivers all that it can, and no more, however it changes.
#[test]
fn a_flooded_link_delivers_what_it_can() {
    for (rate, least) in [
        (r#"rate = { opportunities = "1 1 1 5 9" }"#, 0.9999),
        (r#"rate = { opportunities = "0 3 400" }"#, 0.98),
        (
            r#"rate = { markov = [{ rate = "20Mbps", mean_time = "300ms" }, { rate = "0bps", mean_time = "50ms" }, { rate = "1Mbps", mean_time = "1s" }] }"#,
            0.999,
        ),
        (
            "rate = \"10Mbps\"\noutages = { between = { exponential = \"1s\" }, lasting = { uniform = [\"10ms\", \"300ms\"] } }",
            0.999,
        ),
        // An outage that flushes the queue ends with an empty link: it waits for the next packet.
        (
            "rate = \"10Mbps\"\noutages = { times = [[\"3s\", \"1s\"], [\"7s\", \"2s\"]], flush = true }",
            0.999,
        ),
    ] {
        for queue in ["droptail", "red", "codel", "fq_codel", "pie"] {
            let more = format!("{rate}\nbuffer = \"60kB\"\nqueue = \"{queue}\"");
            let report = run(&link(&more, FLOOD));
            let used = value(&report, Metric::Utilization);
            assert!(
                (least..=1.0 + 1e-9).contains(&used),
                "{rate} {queue}: {used}"
            );
        }
    }
}

/// Random values differ between replications, and are the same in the same replication.
#[test]
fn replications_draw_apart() {
    let more = r#"rate = { markov = [{ rate = "20Mbps", mean_time = "300ms" }, { rate = "2Mbps", mean_time = "100ms" }] }
        outages = { between = { exponential = "2s" }, lasting = "100ms" }
        buffer = "60kB""#;
    let scenario = scenario::<&str>(&link(more, FLOOD), &[]);
    let target = scenario.target();
    // 15.5 Mb/s on average, out for a 21st part of the time.
    let average = target.rate.as_bits_per_second() as f64;
    assert!((average - 15.5e6 * 20.0 / 21.0).abs() < 1.0, "{average}");
    let end = scenario.run().end();
    let drawn = |replication| {
        target
            .realized(
                Seed {
                    seed: 1,
                    replication,
                },
                0,
                end,
            )
            .unwrap()
    };
    assert_eq!(drawn(0), drawn(0));
    assert_ne!(drawn(0), drawn(1));
    assert_ne!(
        drawn(0),
        target
            .realized(
                Seed {
                    seed: 1,
                    replication: 0
                },
                1,
                end
            )
            .unwrap()
    );
    let means = (0..400).map(|number| drawn(number).mean(forebay_units::Time::ZERO, end));
    let mean = means.sum::<f64>() / 400.0;
    assert!((mean / average - 1.0).abs() < 0.02, "{mean} of {average}");
}

/// Where the queue is flushed at each outage, what waits then is lost, and the same is delivered.
#[test]
fn a_flushed_queue_loses_what_waits() {
    let more = |flush: bool| {
        format!(
            "rate = \"12Mbps\"\nbuffer = \"50p\"\noutages = {{ times = [[\"5s\", \"10ms\"], [\"9s\", \"10ms\"], [\"15s\", \"10ms\"]], flush = {flush} }}"
        )
    };
    let flood = r#"workload = { cbr = { rate = "13.2Mbps" } }"#;
    let lost = |flush| {
        let report = run(&link(&more(flush), flood));
        let offered = 19.0 * 13.2e6 / 12e3;
        (value(&report, Metric::LossRate) * offered, report)
    };
    let (waiting, flushed) = (lost(false), lost(true));
    // Fifty packets wait each time. In the outage eleven come, and behind it the queue fills again
    // at 100 packets a second over the rate: nothing is lost in that time that would have been.
    let more = flushed.0 - waiting.0;
    assert!(more.abs() < 8.0, "{more} of {}", waiting.0);
    let idle = value(&waiting.1, Metric::Utilization) - value(&flushed.1, Metric::Utilization);
    assert!(idle.abs() < 1e-3, "{idle}");
    // But delays are shorter behind an outage.
    let delay = |report: &Report| value(report, Metric::QueueDelayMean);
    let delays = [&flushed.1, &waiting.1].map(delay);
    // For 1.2 of 19 seconds the queue is 20 of 50 packets shorter on average: 2.5 %.
    assert!(delays[0] < 0.98 * delays[1], "{delays:?}");
}

/// A trace of one opportunity each millisecond is, for flows, a link of 12.032 Mb/s.
#[test]
fn even_opportunities_are_a_constant_rate() {
    let flows = "count = 5\nrtt = \"40ms\"";
    let report = |rate: &str, buffer: &str| {
        run(&link(
            &format!("rate = {rate}\nbuffer = \"{buffer}\""),
            flows,
        ))
    };
    for buffer in ["10p", "60p"] {
        let played = report(r#"{ opportunities = "1" }"#, buffer);
        let constant = report("\"12Mbps\"", buffer);
        for (metric, within) in [
            (Metric::Utilization, 0.02),
            (Metric::QueueMean, 3.0),
            (Metric::QueueDelayMean, 0.003),
            (Metric::LossRate, 0.003),
        ] {
            let [played, constant] = [&played, &constant].map(|report| value(report, metric));
            assert!(
                (played - constant).abs() < within,
                "{metric:?} {buffer}: {played} {constant}"
            );
        }
    }
}
