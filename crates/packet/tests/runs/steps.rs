//! Links whose rate changes in steps.

use forebay_scenario::{Cost, GroupReport, Metric, Report};

use super::{run, run_with, traced, value};

/// A link at `rate` with two kinds of traffic, and packets of two sizes.
pub(crate) fn mixed(rate: &str, queue: &str) -> String {
    format!(
        r#"
        [link]
        rate = {rate}
        buffer = "30kB"
        queue = "{queue}"
        [[flows]]
        count = 3
        rtt = "20ms"
        [[flows]]
        name = "noise"
        packet = "333B"
        workload = {{ poisson = {{ rate = "3Mbps" }} }}
        [run]
        warmup = "1s"
        measure = "4s"
        "#
    )
}

fn disciplines() -> impl Iterator<Item = &'static str> {
    let all = forebay_discipline::descriptions().iter();
    all.map(|description| description.name)
        .filter(|name| *name != "classes")
}

/// Everything that a report says but what it costs.
pub(crate) fn text_of(mut report: Report) -> String {
    report.cost = Cost::default();
    report.to_cached().expect("a report as text")
}

/// Ten steps of one rate are that rate, byte for byte.
#[test]
fn equal_steps_are_a_constant_rate() {
    let ten: Vec<String> = (0..10)
        .map(|k| format!("[\"{k}s\", \"9999991bps\"]"))
        .collect();
    let ten = format!("{{ steps = [{}], repeat = \"11s\" }}", ten.join(", "));
    let one = "{ steps = [[\"0s\", \"9999991bps\"]] }";
    for queue in ["droptail", "codel"] {
        let constant = text_of(run(&mixed("\"9999991bps\"", queue)));
        assert_eq!(text_of(run(&mixed(one, queue))), constant);
        assert_eq!(text_of(run(&mixed(&ten, queue))), constant);
    }
}

/// A rate that changes after the run is a constant one: the transmitter in steps gives the
/// departures of the plain one, and every discipline sees the same.
#[test]
fn a_step_after_the_end_changes_nothing() {
    let later = "{ steps = [[\"0s\", \"9999991bps\"], [\"6s\", \"1Mbps\"]] }";
    for queue in disciplines() {
        let mut constant = run(&mixed("\"9999991bps\"", queue));
        let mut stepped = run(&mixed(later, queue));
        assert!(stepped.warnings[0].text.contains("changes"));
        stepped.warnings.remove(0);
        let used = [&constant, &stepped].map(|report| value(report, Metric::Utilization));
        assert!((used[0] - used[1]).abs() < 1e-9, "{queue}: {used:?}");
        // Only a link that changes has delays by its rate.
        for metric in [
            Metric::QueueDelayP50Fast,
            Metric::QueueDelayP99Fast,
            Metric::QueueDelayP50Slow,
            Metric::QueueDelayP99Slow,
        ] {
            stepped.metrics.remove(&metric);
        }
        for report in [&mut constant, &mut stepped] {
            report.metrics.remove(&Metric::Utilization);
            report.scenario_sha256 = String::new();
        }
        assert_eq!(text_of(stepped), text_of(constant), "{queue}");
    }
}

/// Where the rate changes slowly, the wait is that of M/D/1 at each rate in turn
/// (Pollaczek-Khinchine: load times transmission time over 2 (1 - load)), weighted by arrivals.
#[test]
fn slow_steps_mix_two_queues() {
    let report = run(r#"
        [link]
        rate = { steps = [["0s", "10Mbps"], ["5s", "20Mbps"]], repeat = "10s" }
        buffer = "1000000p"
        [[flows]]
        packet = "1000B"
        workload = { poisson = { rate = "8Mbps" } }
        [run]
        warmup = "5s"
        measure = "600s"
        "#);
    let wait = |load: f64, transmission: f64| load * transmission / (2.0 * (1.0 - load));
    let mixture = f64::midpoint(wait(0.8, 0.8e-3), wait(0.4, 0.4e-3));
    let measured = value(&report, Metric::QueueDelayMean);
    assert!(
        (measured / mixture - 1.0).abs() < 0.03,
        "{measured} of {mixture}"
    );
    let used = value(&report, Metric::Utilization);
    assert!((used / (8.0 / 15.0) - 1.0).abs() < 0.005, "{used}");
    // Little's law ties the waits to the packets counted.
    let waiting = value(&report, Metric::QueueMean);
    assert!(
        (waiting / (1000.0 * measured) - 1.0).abs() < 0.01,
        "{waiting}"
    );
}

/// A link that is never idle delivers all that it can, whatever its steps and its discipline.
#[test]
fn a_flooded_link_delivers_the_integral_of_its_rate() {
    for queue in disciplines() {
        let text = format!(
            r#"
            [link]
            rate = {{ steps = [["0s", "10Mbps"], ["70ms", "0bps"], ["110ms", "3333333bps"]], repeat = "330ms" }}
            buffer = "50p"
            queue = "{queue}"
            [[flows]]
            count = 2
            packet = "1000B"
            workload = {{ cbr = {{ rate = "30Mbps" }} }}
            [run]
            warmup = "500ms"
            measure = "3300ms"
            "#
        );
        let report = run(&text);
        let used = value(&report, Metric::Utilization);
        // RED and its like may drop all that comes for a while.
        let least = if ["red", "ared", "choke", "pie", "dualpi2"].contains(&queue) {
            0.9
        } else {
            0.9999
        };
        assert!(used <= 1.0 + 1e-12 && used > least, "{queue}: {used}");
        // The groups got the data that the link could send in ten periods, except for the packets
        // at both ends.
        let bits = 10.0 * (0.070 * 10e6 + 0.220 * 3_333_333.0) * used;
        let each = |group: &GroupReport| group.metrics.get(&Metric::Goodput).map(|it| it.mean);
        let goodput: f64 = report.groups.iter().filter_map(each).sum();
        let ends = 52.0 * 8000.0;
        assert!(
            (goodput * 3.3 - bits).abs() <= ends,
            "{queue}: {goodput} of {bits}"
        );
    }
}

/// Packets that arrive in an outage wait for its end.
#[test]
fn packets_wait_for_the_end_of_an_outage() {
    let report = run(r#"
        [link]
        rate = { steps = [["0s", "10Mbps"], ["9s", "0bps"]], repeat = "10s" }
        buffer = "1000p"
        [[flows]]
        packet = "1000B"
        workload = { cbr = { rate = "1Mbps" } }
        [run]
        warmup = "1s"
        measure = "20s"
        "#);
    let longest = value(&report, Metric::QueueDelayMax);
    // One every 8 ms: the first goes into transmission, the second waits longest.
    assert!((1.0 - 0.016..=1.0 + 0.0008).contains(&longest), "{longest}");
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    let used = value(&report, Metric::Utilization);
    assert!((used - 1.0 / 9.0).abs() < 1e-3, "{used}");
}

/// A buffer in bytes is longer in time where the rate has dropped: the delay at its limit is what
/// its bytes take at the rate of the time.
#[test]
fn a_full_buffer_takes_its_bytes_at_the_rate_of_the_time() {
    let delays = ["\"50Mbps\"", "\"5Mbps\""].map(|rate| {
        let steps = format!("link.rate={{ steps = [[\"0s\", \"50Mbps\"], [\"5s\", {rate}]] }}");
        let report = run_with(
            r#"
            [link]
            rate = "50Mbps"
            buffer = "125000B"
            [[flows]]
            packet = "1000B"
            workload = { cbr = { rate = "60Mbps" } }
            [run]
            warmup = "6s"
            measure = "2s"
            "#,
            &[&steps],
        );
        value(&report, Metric::QueueDelayMax)
    });
    assert!((delays[0] / 0.02 - 1.0).abs() < 0.01, "{delays:?}");
    assert!((delays[1] / 0.2 - 1.0).abs() < 0.01, "{delays:?}");
}

/// The utilization of each sample is of what could be sent in its time, and their mean is the
/// report's.
#[test]
fn traces_tell_the_use_of_what_could_be_sent() {
    let report = traced(
        r#"
        [link]
        rate = { steps = [["0s", "10Mbps"], ["500ms", "0bps"], ["1s", "2Mbps"]], repeat = "2s" }
        buffer = "100p"
        [[flows]]
        packet = "1000B"
        workload = { cbr = { rate = "12Mbps" } }
        [run]
        warmup = "0s"
        measure = "4s"
        [trace]
        every = "250ms"
        record = ["utilization", "packets"]
        "#,
    );
    let longest = value(&report, Metric::QueueDelayMax);
    let traces = report.traces.expect("traces");
    // Each packet's wait is computed from its departure, and the link's from its arrival.
    let waits = traces.packets.iter().filter(|packet| !packet.dropped);
    let most = waits.map(|packet| packet.wait_s).fold(0.0, f64::max);
    assert!((most - longest).abs() < 1e-9, "{most} of {longest}");
    let used: Vec<f64> = traces.queue.iter().map(|it| it.utilization).collect();
    for (number, used) in used.iter().enumerate().skip(1) {
        let begin = (number as f64 * 0.25 - 0.25) % 2.0;
        let expected = if (0.5..1.0).contains(&begin) {
            0.0
        } else {
            1.0
        };
        assert!((used - expected).abs() < 0.01, "{number}: {used}");
    }
    assert!(used.len() >= 15);
}

/// A stream of 8 Mb/s fills 50 kB while the rate is 5 Mb/s and not while it is 10: by hand, a queue
/// takes 80 ms to drain in one phase, and nothing in the other but for what is left from the one
/// before.
#[test]
fn each_phase_has_a_queue_of_its_own() {
    let report = run(r#"
        [link]
        rate = { steps = [["0s", "10Mbps"], ["5s", "5Mbps"]], repeat = "10s" }
        buffer = "50kB"
        [[flows]]
        packet = "500B"
        workload = { cbr = { rate = "8Mbps" } }
        [run]
        warmup = "10s"
        measure = "40s"
        "#);
    let slow = [Metric::QueueDelayP50Slow, Metric::QueueDelayP99Slow];
    for delay in slow.map(|metric| value(&report, metric)) {
        assert!((delay - 0.08).abs() < 0.0015, "{delay}");
    }
    // It drains by 2 Mb/s behind the step: 40 ms at 10 Mb/s, in 0.2 of 5 s, of which the last 1 %
    // of the time has the first quarter.
    assert!(value(&report, Metric::QueueDelayP50Fast) < 0.001);
    let left = value(&report, Metric::QueueDelayP99Fast);
    assert!((left - 0.03).abs() < 0.002, "{left}");
    let constant = run(&mixed("\"10Mbps\"", "droptail"));
    assert_eq!(constant.value(Metric::QueueDelayP99Slow), None);
}
