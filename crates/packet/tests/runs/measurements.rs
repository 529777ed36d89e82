//! The report's contents beyond rates and delays, compared with theory and with each other.

use forebay_scenario::{MeasuredDistribution, Metric, Report, TransferRecord};

use super::{of_group, run, traced, value};

/// The share of the values below `bound`, which is an edge of a bin.
fn below(distribution: &MeasuredDistribution, bound: f64) -> f64 {
    let bins = distribution
        .bins
        .iter()
        .filter(|bin| bin.high <= bound * (1.0 + 1e-12));
    bins.map(|bin| bin.count).sum::<u64>() as f64 / distribution.count() as f64
}

/// M/D/1 at load 0.7: nothing waits with probability p0 + p1 = 0.3 + 0.3 (e^0.7 - 1).
#[test]
fn the_queue_s_histogram_is_that_of_md1() {
    let report = run(r#"
[link]
rate = "100Mbps"
buffer = "1000p"
[[flows]]
packet = "1250B"
workload = { poisson = { rate = "70Mbps" } }
[run]
warmup = "1s"
measure = "200s"
"#);
    let none_waits = 0.3 * libm::exp(0.7);
    let queue = &report.distributions["queue_packets"];
    assert_eq!(queue.count(), 4095);
    let ours = below(queue, 1.0);
    assert!((ours - none_waits).abs() < 0.015, "{ours} {none_waits}");
    // An arrival waits not at all with probability 0.3: every other wait is longer than a tick.
    let delays = &report.distributions["queue_delay_s"];
    // The cost has the warm-up's packets too: one in 201.
    let measured = delays.count() as f64 / report.cost.data_packets as f64;
    assert!((measured - 200.0 / 201.0).abs() < 1e-3, "{measured}");
    let first = &delays.bins[0];
    let ours = first.count as f64 / delays.count() as f64;
    assert!(first.low == 0.0 && (ours - 0.3).abs() < 0.005, "{ours}");
    // Samples 49 ms apart, a relaxation time of about 1 ms: as if independent, half the distance.
    let lag = value(&report, Metric::QueueAutocorrelation);
    assert!((0.021..0.028).contains(&lag), "{lag}");
}

/// A full M/M/1/K system drops until its next departure: runs of drops are geometric, of mean
/// 1 + load.
#[test]
fn loss_bursts_of_mm1k_are_geometric() {
    let share = |size: f64| 1.0 - libm::exp(-size / 2000.0);
    let points = (0..327).map(|k| f64::from(1 + 200 * k));
    let points = points.map(|size| format!("[\"{size}B\", {}], ", share(size - 1.0)));
    let cdf: String = points.collect();
    for (queue, load) in [("droptail", 1.0), ("droptail", 2.0), ("priority", 2.0)] {
        let report = run(&format!(
            r#"
[link]
rate = "100Mbps"
buffer = "9p"
queue = "{queue}"
[[flows]]
packet = {{ cdf = [{cdf} ["65535B", 1.0]] }}
workload = {{ poisson = {{ rate = "{}Mbps" }} }}
[run]
warmup = "1s"
measure = "100s"
"#,
            100.0 * load
        ));
        let mean = value(&report, Metric::LossBurstMean);
        assert!(
            (mean / (1.0 + load) - 1.0).abs() < 0.02,
            "{queue} {load} {mean}"
        );
        // A run of one has probability 1 / (1 + load).
        let bursts = &report.distributions["loss_burst_packets"];
        let ones = below(bursts, 2.0);
        assert!((ones - 1.0 / (1.0 + load)).abs() < 0.01, "{ones}");
        let drops: f64 = bursts.count() as f64 * mean;
        let arrivals = report.distributions["queue_delay_s"].count() as f64 + drops;
        let lost = value(&report, Metric::LossRate) * arrivals;
        assert!((drops - lost).abs() < 0.5, "{drops} {lost}");
        assert!(value(&report, Metric::LossBurstMax) >= 8.0);
    }
}

const FLOWS: &str = r#"
[link]
rate = "20Mbps"
buffer = "40p"
[[flows]]
name = "bulk"
count = 5
cca = "newreno"
rtt = "40ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
[[flows]]
name = "capped"
count = 3
cca = "newreno"
rtt = "40ms"
packet = "1000B"
receive_window = "3p"
[[flows]]
name = "elsewhere"
count = 2
cca = "newreno"
rtt = "40ms"
packet = "1000B"
access = { rate = "500kbps", queue = "3p" }
[run]
warmup = "20s"
measure = "60s"
"#;

/// The target link limits five of ten flows; the windows of three and the access links of two hold
/// them back.
#[test]
fn only_flows_that_the_link_limits_are_counted() {
    let report = run(&FLOWS.replace("receive_window = \"3p\"", "receive_window = \"1p\""));
    let group = |at: usize| of_group(&report, at, Metric::LongFlows);
    assert_eq!(group(0), 5.0);
    assert_eq!(group(2), 0.0);
    // A flow of one packet in flight may lose one and then counts: as often as it is hit.
    assert!(group(1) <= 3.0);
    let sum = (0..3).map(group).sum::<f64>();
    assert!((value(&report, Metric::LongFlows) - sum).abs() < 1e-9);
    assert!(report.groups[0].distributions["window_packets"].bins[0].low >= 1.0);
}

const WRITTEN: &str = r#"
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
name = "greedy"
cca = "newreno"
rtt = "40ms"
packet = "1000B"
workload = { app_limited = { rate = "20Mbps" } }
[[flows]]
name = "idle"
count = 20
cca = "newreno"
rtt = "40ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
workload = { app_limited = { rate = "50kbps" } }
[[flows]]
name = "other"
packet = "1000B"
workload = { poisson = { rate = "9.5Mbps" } }
[run]
warmup = "10s"
measure = "300s"
[trace]
record = ["transfers"]
"#;

/// The data of an application is one transfer, however often it writes: a flow whose window was
/// reduced long ago is long, also while it has nothing to send.
#[test]
fn a_flow_whose_application_writes_on_stays_one_transfer() {
    let report = traced(WRITTEN);
    let long = |at: usize| of_group(&report, at, Metric::LongFlows);
    assert_eq!((long(0), long(1)), (1.0, 20.0));
    let transfers = &report.traces.as_ref().expect("traces").transfers;
    assert_eq!(transfers.len(), 21);
    for transfer in transfers {
        assert!(transfer.first_signal_s < 155.0, "{transfer:?}");
        assert!(transfer.arrived >= transfer.dropped, "{transfer:?}");
        assert_eq!(
            (transfer.transfer, transfer.completed_s),
            (0, f64::INFINITY)
        );
        // A packet of 1000 bytes each 160 ms from within the first second on until 310 s, but for
        // the last few where many wait already.
        let idle = transfer.group == 1;
        assert!(
            !idle || (1920..=1938).contains(&transfer.packets),
            "{transfer:?}"
        );
    }
}

#[test]
fn congestion_events_and_their_flows_fit_together() {
    let report = run(FLOWS);
    let events = value(&report, Metric::CongestionEvents);
    let hit = &report.distributions["flows_hit"];
    assert_eq!(hit.count() as f64, events);
    let hits: f64 = hit.bins.iter().map(|bin| bin.low * bin.count as f64).sum();
    let synchronization = value(&report, Metric::Synchronization);
    assert!((hits / events / 10.0 / synchronization - 1.0).abs() < 1e-9);
    let by_flow: u64 = report
        .groups
        .iter()
        .flat_map(|group| &group.per_flow)
        .map(|flow| flow.congestion_events)
        .sum();
    assert_eq!(by_flow as f64, hits);
    let losses = value(&report, Metric::LossesPerEvent) * events;
    let arrivals = report.distributions["queue_delay_s"].count() as f64 + losses;
    let lost = value(&report, Metric::LossRate) * arrivals;
    assert!((losses - lost).abs() < 0.5, "{losses} {lost}");
}

/// One flow without loss: its window over time is known.
#[test]
fn windows_are_sampled_in_time() {
    let report = run(r#"
[link]
rate = "20Mbps"
buffer = "1000p"
[[flows]]
name = "one"
cca = "newreno"
rtt = "40ms"
packet = "1000B"
initial_ssthresh = "50p"
[run]
warmup = "0s"
measure = "4s"
"#);
    // In seconds: 20 packets on average until 0.13, when 50 are reached; then a packet more in
    // each 40.4 ms up to 101, which fill the link; then W^2 = 101^2 + 5000 t. The integral is
    // 2.6 + 155.5 + 218.8 packet seconds.
    let mean = of_group(&report, 0, Metric::WindowMean);
    assert!((mean / (376.9 / 4.0) - 1.0).abs() < 0.01, "{mean}");
    let windows = &report.groups[0].distributions["window_packets"];
    let median = below(windows, 96.0);
    assert!((0.44..0.52).contains(&median), "{median}");
}

/// One of two flows begins after the run: it has no window, with or without a handshake to come.
#[test]
fn a_flow_that_has_not_begun_has_no_window() {
    for handshake in [false, true] {
        let report = run(&format!(
            r#"
[link]
rate = "20Mbps"
buffer = "100p"
[[flows]]
count = 2
cca = "newreno"
rtt = "40ms"
packet = "1000B"
handshake = {handshake}
initial_window = "2p"
receive_window = "20p"
initial_ssthresh = "2p"
start = ["0s", "100s"]
[run]
warmup = "10s"
measure = "20s"
"#
        ));
        let windows = &report.groups[0].distributions["window_packets"];
        assert_eq!(below(windows, 16.0), 0.0, "{handshake}");
    }
}

/// All packets that leave a link for the next one vary with the hosts of any group. The shortest
/// transfers of exact hosts account for that (the engine checks each slowdown).
#[test]
fn exact_hosts_beside_varied_ones_are_no_faster_than_an_empty_path() {
    let report = run(r#"
[[links]]
name = "slow"
rate = "10Mbps"
buffer = "100p"
delay = "5ms"
[[links]]
name = "fast"
rate = "100Mbps"
buffer = "100p"
target = true
[[flows]]
name = "varied"
rtt = "30ms"
path = ["slow", "fast"]
processing = "packet"
workload = { app_limited = { rate = "100kbps" } }
[[flows]]
name = "exact"
rtt = "20ms"
path = ["slow", "fast"]
workload = { closed_loop = { users = 1, think = "100ms", size = "1p" } }
[run]
warmup = "0s"
measure = "60s"
"#);
    let slowdown = report.groups[1].metrics[&Metric::SlowdownP50].mean;
    assert!((1.0 - 1e-3..2.0).contains(&slowdown), "{slowdown}");
}

/// Transfers of one packet over an empty link take what they must.
#[test]
fn an_empty_link_slows_nothing_down() {
    for handshake in [false, true] {
        let report = run(&format!(
            r#"
[link]
rate = "20Mbps"
buffer = "1000p"
[[flows]]
name = "mice"
rtt = "40ms"
packet = "1000B"
processing = "0s"
handshake = {handshake}
workload = {{ open_loop = {{ load = 0.001, size = "5p" }} }}
[run]
warmup = "0s"
measure = "1000s"
"#
        ));
        let mice = &report.groups[0];
        let value = |metric| mice.metrics[&metric].mean;
        // Quantiles are known to one part in 128.
        for metric in [
            Metric::SlowdownMean,
            Metric::SlowdownP50,
            Metric::SlowdownP95,
        ] {
            let slowdown = value(metric);
            assert!(
                (1.0 - 1e-3..1.0 + 1.0 / 128.0).contains(&slowdown),
                "{} {slowdown}",
                metric.name()
            );
        }
        assert_eq!(value(Metric::ShortTransfers), 1.0);
        assert_eq!(value(Metric::LongFlows), 0.0);
    }
}

/// A trace that starts late has the share of its own interval in its first sample, not that of all
/// the time before; the samples from then on are those of a trace from the beginning.
#[test]
fn a_late_trace_starts_with_its_own_interval() {
    let samples = |from: &str| {
        let text = format!(
            r#"
[link]
rate = "10Mbps"
buffer = "20p"
[[flows]]
cca = "newreno"
rtt = "100ms"
packet = "1000B"
[run]
warmup = "0s"
measure = "10s"
[trace]
record = ["queue", "utilization"]
every = "50ms"
from = "{from}"
"#
        );
        traced(&text).traces.expect("traces").queue
    };
    let whole = samples("0s");
    for (from, first) in [("5s", 100), ("50ms", 1), ("0s", 0)] {
        let late = samples(from);
        assert_eq!(late.len(), whole.len() - first, "{from}");
        for (ours, theirs) in late.iter().zip(&whole[first..]) {
            assert_eq!(ours.time_s, theirs.time_s, "{from}");
            assert_eq!(ours.utilization, theirs.utilization, "{from}");
        }
    }
    assert!(whole.iter().all(|sample| sample.utilization <= 1.0));
    // Between two intervals: less than a whole one lies before the first sample.
    let early = samples("20ms");
    assert!((0.0..=1.0).contains(&early[0].utilization));
}

const TRANSFERS: &str = r#"
[link]
rate = "20Mbps"
buffer = "20p"
[[flows]]
name = "arriving"
cca = "newreno"
rtt = { choice = ["20ms", "60ms"] }
packet = "1000B"
workload = { open_loop = { rate = "8Mbps", size = { exponential = "30p" } } }
[[flows]]
name = "users"
cca = "newreno"
rtt = "40ms"
packet = "1000B"
workload = { closed_loop = { users = 12, think = { exponential = "1s" }, size = { exponential = "30p" } } }
[[flows]]
name = "bulk"
cca = "newreno"
rtt = "40ms"
packet = "1000B"
[run]
warmup = "10s"
measure = "40s"
[trace]
record = ["transfers"]
"#;

/// Every transfer has a number of its own, by which it is found again with another buffer.
#[test]
fn recorded_transfers_are_numbered_and_counted() {
    let run = |buffer: &str| traced(&TRANSFERS.replace("20p", buffer));
    let (small, large) = (run("20p"), run("200p"));
    let records = |report: &Report| report.traces.as_ref().unwrap().transfers.clone();
    let (few, many) = (records(&small), records(&large));
    for (records, report) in [(&few, &small), (&many, &large)] {
        // An open loop's are numbered one by one, none is left out, a flow without end has none.
        let mut open: Vec<u64> = records
            .iter()
            .filter(|x| x.group == 0)
            .map(|x| x.transfer)
            .collect();
        open.sort_unstable();
        assert_eq!(open, (0..open.len() as u64).collect::<Vec<_>>());
        assert!(records.iter().all(|x| x.group < 2 && x.user < 12));
        for group in 0..2 {
            let mine = records.iter().filter(|x| x.group == group as u32);
            let measured = mine.filter(|x| x.completed_s.is_finite() && x.completed_s >= 10.0);
            let completed = report.groups[group].completions.as_ref().unwrap().completed;
            assert_eq!(measured.count() as u64, completed, "group {group}");
        }
        let finished = records.iter().filter(|x| x.completed_s.is_finite());
        for x in finished {
            assert!(x.begun_s < x.completed_s && x.packets >= 1, "{x:?}");
            // Every dropped packet was sent again.
            assert!(x.arrived >= x.packets + x.dropped, "{x:?}");
            assert!(x.dropped == 0 || x.first_signal_s <= x.completed_s, "{x:?}");
        }
    }
    // Common random numbers: the same arrivals and sizes at both buffers.
    let mut same = 0;
    for one in few.iter().filter(|x| x.group == 0) {
        let other = many
            .iter()
            .find(|x| x.group == 0 && x.transfer == one.transfer)
            .unwrap();
        assert_eq!((one.begun_s, one.packets), (other.begun_s, other.packets));
        same += 1;
    }
    assert!(same > 1000, "{same}");
    let dropped = |records: &[TransferRecord]| records.iter().map(|x| x.dropped).sum::<u64>();
    assert!(dropped(&few) > 2 * dropped(&many));
}

/// No transfer is faster than on an empty path, whichever opens a connection and whichever finds it
/// open: users that keep theirs shake hands once.
#[test]
fn every_slowdown_is_at_least_one() {
    let workloads = [
        r#"{ incast = { servers = 8, pause = "50ms", size = "10p" } }"#,
        r#"{ incast = { servers = 1, pause = "0s", size = "1p" } }"#,
        r#"{ periodic = { every = "100ms", size = "3p" } }"#,
        r#"{ closed_loop = { users = 3, think = "10ms", size = "4p" } }"#,
        r#"{ open_loop = { load = 0.3, size = "20p" } }"#,
        r#"{ finite = { size = "30p" } }"#,
    ];
    for workload in workloads {
        for stack in ["rfc", "ns2", "linux"] {
            let report = run(&format!(
                r#"
[link]
rate = "50Mbps"
buffer = "100p"
[[flows]]
rtt = {{ linspace = ["1ms", "40ms"] }}
packet = "1500B"
stack = "{stack}"
workload = {workload}
[run]
warmup = "0s"
measure = "20s"
"#
            ));
            let metrics = &report.groups[0].metrics;
            let of = |metric| metrics[&metric].mean;
            let slowest = of(Metric::SlowdownP99);
            let ordered = [
                1.0,
                of(Metric::SlowdownP50),
                of(Metric::SlowdownP95),
                slowest,
            ];
            assert!(ordered.is_sorted(), "{workload} {stack}: {ordered:?}");
            assert!(of(Metric::SlowdownMean) >= 1.0, "{workload} {stack}");
        }
    }
}

/// On a free path no transfer of a connection that stays open waits: with a handshake only the
/// first takes two round trips, and counts as such.
#[test]
fn a_connection_that_stays_open_shakes_hands_once() {
    let slowdown = |workload: &str, handshake: bool| {
        let report = run(&format!(
            r#"
[link]
rate = "1Gbps"
buffer = "100p"
[[flows]]
rtt = "20ms"
packet = "1000B"
handshake = {handshake}
workload = {workload}
[run]
warmup = "0s"
measure = "30s"
"#
        ));
        let metrics = &report.groups[0].metrics;
        (
            metrics[&Metric::SlowdownMean].mean,
            metrics[&Metric::SlowdownP99].mean,
        )
    };
    for workload in [
        r#"{ incast = { servers = 1, pause = "10ms", size = "1p" } }"#,
        r#"{ periodic = { every = "100ms", size = "1p" } }"#,
    ] {
        for handshake in [false, true] {
            let (mean, p99) = slowdown(workload, handshake);
            assert!((1.0..1.01).contains(&mean), "{workload} {handshake} {mean}");
            assert!((1.0..1.01).contains(&p99), "{workload} {handshake} {p99}");
        }
    }
}

/// LEDBAT++ holds one delay for most of the run, which is also its largest: the quantiles of the
/// delay rise and the highest of them is not above the maximum.
#[test]
fn quantiles_of_the_delay_lie_within_its_extremes() {
    let report = run(r#"
[link]
rate = "20Mbps"
buffer = "400ms"
[[flows]]
count = 1
cca = "ledbatpp"
rtt = "50ms"
start = { uniform = ["0s", "5s"] }
[run]
warmup = "120s"
measure = "60s"
"#);
    let quantiles = Metric::QUEUE_DELAY_QUANTILES.map(|(metric, _)| value(&report, metric));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    let largest = value(&report, Metric::QueueDelayMax);
    assert!(quantiles[3] <= largest, "{quantiles:?} {largest}");
}
