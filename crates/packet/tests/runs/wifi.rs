//! Wi-Fi links: aggregates behind a contention.

use forebay_scenario::{Metric, Report, WarningKind};

use super::disciplines::names;
use super::{of_group, run_with, scenario, value};

/// One and a half times what the link carries.
const FLOOD: &str = r#"
[link]
rate = "130Mbps"
buffer = "200p"
medium = "wifi"
[[flows]]
packet = "1500B"
workload = { cbr = { rate = "150Mbps" } }
[run]
warmup = "1s"
measure = "4s"
"#;

/// Whatever holds the packets, a link that is never idle carries what the standard's arithmetic
/// says, and uses all of it. At 130 Mb/s (520 bits a symbol) 5.484 ms are 56 frames of 1560 B: 1345
/// symbols.
#[test]
fn a_flooded_link_carries_full_aggregates() {
    let turn = 43.0 + 7.5 * 9.0 + 40.0 + 1345.0 * 4.0 + 48.0;
    let rate = 56.0 * 12_000.0 / (turn * 1e-6);
    let told = scenario::<&str>(FLOOD, &[]).target().rate;
    assert!((told.as_bits_per_second() as f64 - rate).abs() < 1.0);
    for name in names() {
        let report = run_with(FLOOD, &[format!("link.queue={name}")]);
        // Some disciplines drop enough packets that the link is idle now and then.
        let used = value(&report, Metric::Utilization);
        assert!(used > 0.95 && used <= 1.0, "{name} {used}");
        assert!(used > 0.999 || name != "droptail", "{used}");
        // All packets that are not dropped have been sent, except those that wait.
        let carried = sent(&report) / (used * rate);
        assert!((carried - 1.0).abs() < 4e-3, "{name} {carried}");
    }
}

/// Bits per second that were not dropped.
fn sent(report: &Report) -> f64 {
    let lost = value(report, Metric::LossRate);
    150e6 * (1.0 - lost)
}

/// Other stations take their turns: with four equal ones, a flooded station has a fifth of the
/// throughput of five. Each draw is random, and utilization does not depend on it.
#[test]
fn others_take_their_shares() {
    for (medium, stations) in [
        ("{ kind = \"wifi\", stations = 4 }", 5.0),
        ("{ kind = \"wifi\", stations = 4, slow = \"6Mbps\" }", 5.0),
    ] {
        let changes = [format!("link.medium={medium}"), "run.measure=60s".into()];
        let told = scenario(FLOOD, &changes).target().rate;
        let alone = scenario::<&str>(FLOOD, &[]).target().rate;
        let rate = told.as_bits_per_second() as f64;
        let share = rate * stations / alone.as_bits_per_second() as f64;
        assert!((0.7..1.0).contains(&share), "{share}");
        let report = run_with(FLOOD, &changes);
        let used = value(&report, Metric::Utilization);
        assert!((used - 1.0).abs() < 2e-3, "{used}");
        // Two thousand turns that vary by about their mean.
        let carried = sent(&report) / rate;
        assert!((carried - 1.0).abs() < 0.1, "{carried}");
    }
}

/// The same link with hardly anything to send.
fn sparse() -> String {
    FLOOD
        .replace(
            "cbr = { rate = \"150Mbps\" }",
            "poisson = { rate = \"1Mbps\" }",
        )
        .replace("measure = \"4s\"", "measure = \"200s\"")
}

/// A packet that comes to an idle link on an idle medium goes at once; one that comes while
/// another's turn goes on waits for the rest of it: of some 0.25 ms, at 83 packets a second, 2 %
/// do.
#[test]
fn a_single_packet_hardly_waits() {
    let report = run_with::<&str>(&sparse(), &[]);
    // Data of one frame takes 25 symbols; residual turn times come as in M/G/1 with vacations
    // behind each packet: load times half a turn's mean square over its mean, and backoffs are even
    // from 0 to 15 slots.
    let busy: Vec<f64> = (0..16)
        .map(|slots| (40.0 + 25.0 * 4.0 + 48.0 + 43.0 + 9.0 * f64::from(slots)) * 1e-6)
        .collect();
    let mean = busy.iter().sum::<f64>() / 16.0;
    let square = busy.iter().map(|t| t * t).sum::<f64>() / 16.0;
    let arrivals = 1e6 / 12_000.0;
    let load = arrivals * mean;
    let wait = arrivals * square / (2.0 * (1.0 - load));
    let found = value(&report, Metric::QueueDelayMean);
    assert!((found / wait - 1.0).abs() < 0.1, "{found} {wait}");
    let used = value(&report, Metric::Utilization);
    let told = scenario::<&str>(&sparse(), &[]).target().rate;
    let share = 1e6 / told.as_bits_per_second() as f64;
    assert!((used / share - 1.0).abs() < 0.03, "{used} {share}");
}

/// The same among others: utilization is of what the link could have carried on average, whatever
/// its few turns met.
#[test]
fn what_could_have_been_sent_does_not_hang_on_chance() {
    let change = "link.medium={ kind = \"wifi\", stations = 3 }";
    let told = scenario(&sparse(), &[change]).target().rate;
    let report = run_with(&sparse(), &[change]);
    let used = value(&report, Metric::Utilization);
    let share = 1e6 / told.as_bits_per_second() as f64;
    assert!((used / share - 1.0).abs() < 0.04, "{used} {share}");
}

/// A flow over Wi-Fi fills the link as it would a wire of that rate, with a buffer for a turn more.
#[test]
fn a_flow_fills_the_link() {
    let flow = FLOOD.replace(
        "workload = { cbr = { rate = \"150Mbps\" } }",
        "rtt = \"30ms\"\ncca = \"cubic\"",
    );
    let report = run_with(
        &flow,
        &["link.buffer=2BDP", "run.measure=20s", "run.warmup=10s"],
    );
    let used = value(&report, Metric::Utilization);
    assert!(used > 0.99 && used <= 1.0, "{used}");
    let rate = scenario::<&str>(&flow, &[]).target().rate;
    let payload = rate.as_bits_per_second() as f64 * 1460.0 / 1500.0;
    let goodput = of_group(&report, 0, Metric::Goodput);
    assert!(
        (goodput / payload - used).abs() < 0.01,
        "{goodput} {payload} {used}"
    );
}

/// Luck with the air is no error of the measurement.
#[test]
fn more_than_the_average_is_carried_by_chance() {
    let flows = FLOOD.replace(
        "workload = { cbr = { rate = \"150Mbps\" } }",
        "count = 4\nrtt = \"5ms\"",
    );
    let contended = "link.medium={ kind = \"wifi\", stations = 4 }";
    let mut above = 0;
    for seed in 0..12 {
        let changes = [contended, &format!("run.seed={seed}"), "run.measure=1s"];
        let told = scenario(&flows, &changes).target().rate;
        let report = run_with(&flows, &changes);
        let lucky = value(&report, Metric::Goodput) > 1.01 * told.as_bits_per_second() as f64;
        above += u32::from(lucky);
        let kinds: Vec<_> = report.warnings.iter().map(|warning| warning.kind).collect();
        assert!(!kinds.contains(&WarningKind::GoodputAboveRate), "{kinds:?}");
    }
    assert!(above > 0);
}

/// Packets of two sizes fill aggregates by bytes of air or by frames, whichever comes first: what
/// is carried of either mixture lies between what is carried of each size alone.
#[test]
fn mixed_sizes_carry_between_what_each_does() {
    let carried = |packet: &str| {
        let changes = [format!("flows.0.packet={packet}")];
        let report = run_with(FLOOD, &changes);
        let lost = value(&report, Metric::LossRate);
        150e6 * (1.0 - lost)
    };
    let [short, mixed, long] = ["300B", "{ choice = [\"300B\", \"1500B\"] }", "1500B"].map(carried);
    assert!(short < mixed && mixed < long, "{short} {mixed} {long}");
}
