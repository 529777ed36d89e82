//! The ways in which applications use a connection: incast, writing at a rate, speech, measured
//! sizes.

use forebay_scenario::{Format, Metric, Report, Scenario, WarningKind};

use super::{of_group, replication, run, run_with, scenario, traced, value};

/// N servers each send ten packets to a port. If the buffer has room for all of them, a round takes
/// a round trip and the time to send everything, whichever server responds first.
fn incast(servers: u32, buffer: &str, rest: &str) -> Report {
    run(&format!(
        r#"
[link]
rate = "1Gbps"
buffer = "{buffer}"
[[flows]]
name = "servers"
cca = "newreno"
rtt = "1ms"
packet = "1500B"
initial_window = "10p"
workload = {{ incast = {{ servers = {servers}, pause = "10ms", size = "10p" }} }}
{rest}
[run]
warmup = "0s"
measure = "20s"
"#
    ))
}

#[test]
fn a_round_of_an_incast_with_room_takes_a_round_trip_and_the_bytes() {
    for servers in [1, 8, 40] {
        let report = incast(servers, "1000p", "");
        let expected = 0.001 + f64::from(servers) * 10.0 * 12e-6;
        for metric in [Metric::RequestTimeP50, Metric::RequestTimeP99] {
            let ours = of_group(&report, 0, metric);
            assert!((ours / expected - 1.0).abs() < 0.01, "{servers} {ours}");
        }
        let rounds = report.groups[0].distributions["request_time_s"].count() as f64;
        let due = 20.0 / (0.010 + expected);
        assert!((rounds - due).abs() <= 2.0, "{servers} {rounds} {due}");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        // All but the last of a round wait: a response's own time lies below the round's.
        let response = of_group(&report, 0, Metric::CompletionTimeP50);
        assert!(response <= expected * 1.01, "{servers} {response}");
    }
}

/// The collapse: with little room whole windows are lost, and the round waits for the slowest
/// timer.
#[test]
fn a_round_of_an_incast_without_room_waits_for_a_timeout() {
    let report = incast(40, "64p", "min_rto = \"200ms\"");
    assert!(of_group(&report, 0, Metric::Timeouts) > 10.0);
    let ours = of_group(&report, 0, Metric::RequestTimeP50);
    assert!((0.2..2.0).contains(&ours), "{ours}");
    let shorter = incast(40, "64p", "min_rto = \"10ms\"");
    let shorter = of_group(&shorter, 0, Metric::RequestTimeP50);
    assert!(shorter < ours / 3.0, "{shorter} {ours}");
}

/// The barrier holds for those that are left.
#[test]
fn servers_that_stop_do_not_hold_up_the_others() {
    let stops = "stop = { list = [\"1s\", \"2s\", \"100s\", \"100s\"] }";
    let report = incast(4, "1000p", stops);
    let rounds = report.groups[0].distributions["request_time_s"].count();
    let due = 20.0 / (0.010 + 0.001 + 20.0 * 12e-6);
    assert!((rounds as f64 - due).abs() < 0.02 * due, "{rounds} {due}");
    let all = incast(4, "1000p", "stop = \"1s\"");
    let rounds = all.groups[0].distributions["request_time_s"].count();
    assert!((85..=92).contains(&rounds), "{rounds}");
}

/// Late servers make a round longer by the longest delay.
#[test]
fn a_server_s_delay_counts_for_the_round() {
    let text = |delay: &str| {
        format!(
            r#"
[link]
rate = "1Gbps"
buffer = "1000p"
[[flows]]
name = "servers"
rtt = "1ms"
workload = {{ incast = {{ servers = 20, pause = "1ms", delay = {delay}, size = "1p" }} }}
[run]
warmup = "1s"
measure = "20s"
"#
        )
    };
    let late = run(&text("{ uniform = [\"0s\", \"10ms\"] }"));
    let ours = of_group(&late, 0, Metric::RequestTimeP50);
    // Median of the largest of 20 uniform delays: 0.5^(1/20) of 10 ms.
    let expected = 0.001 + 0.010 * libm::pow(0.5, 1.0 / 20.0);
    assert!((ours / expected - 1.0).abs() < 0.02, "{ours} {expected}");
}

fn written(rate: &str, buffer: &str) -> Report {
    run(&format!(
        r#"
[link]
rate = "10Mbps"
buffer = "{buffer}"
[[flows]]
name = "application"
cca = "cubic"
rtt = "40ms"
packet = "1500B"
header = "40B"
workload = {{ app_limited = {{ rate = "{rate}" }} }}
[run]
warmup = "10s"
measure = "100s"
"#
    ))
}

#[test]
fn an_application_s_rate_is_what_arrives() {
    let report = written("2Mbps", "20p");
    let goodput = of_group(&report, 0, Metric::Goodput);
    assert!(
        (goodput / (2e6 * 1460.0 / 1500.0) - 1.0).abs() < 0.001,
        "{goodput}"
    );
    assert!((value(&report, Metric::Utilization) - 0.2).abs() < 0.001);
    // Its packets are far apart: no queue, no loss, and a window that does not grow unused.
    assert_eq!(value(&report, Metric::QueueDelayMax), 0.0);
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    let window = of_group(&report, 0, Metric::WindowMean);
    assert!(window < 30.0, "{window}");
}

#[test]
fn an_application_that_writes_more_than_the_link_takes_is_limited_by_congestion() {
    let report = written("20Mbps", "40p");
    assert!(value(&report, Metric::Utilization) > 0.97);
    assert!(value(&report, Metric::LossRate) > 0.0);
}

/// 1 / (1 - exp(-20/352)) packets of 1600 bits in a talk spurt, one spurt in 1.002 s on average.
#[test]
fn speech_has_its_mean_rate() {
    let report = run(r#"
[link]
rate = "10Mbps"
buffer = "100p"
[[flows]]
name = "calls"
count = 200
workload = "voip"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "10s"
measure = "300s"
"#);
    let packets = -1.0 / libm::expm1(-20.0 / 352.0);
    let expected = 200.0 * packets * 1600.0 / 1.002 / 10e6;
    let ours = value(&report, Metric::Utilization);
    assert!((ours / expected - 1.0).abs() < 0.01, "{ours} {expected}");
}

#[test]
fn measured_sizes_offer_their_load() {
    for name in ["web_search", "data_mining", "hadoop"] {
        let report = run(&format!(
            r#"
[link]
rate = "10Gbps"
buffer = "1000p"
[[flows]]
name = "transfers"
rtt = "100us"
access = {{ rate = "10Gbps" }}
workload = {{ open_loop = {{ load = 0.3, size = {{ measured = "{name}" }} }} }}
[run]
warmup = "0s"
measure = "{}"
"#,
            if name == "data_mining" { "60s" } else { "10s" }
        ));
        let ours = value(&report, Metric::Utilization);
        assert!((ours - 0.3).abs() < 0.05, "{name} {ours}");
    }
}

#[test]
fn unknown_names_and_values_are_refused_by_name() {
    let refused = |workload: &str| {
        let text = format!(
            r#"
[link]
rate = "10Mbps"
buffer = "100p"
[[flows]]
rtt = "10ms"
workload = {workload}
"#
        );
        let error = Scenario::parse(&text, Format::Toml, "test", &[]).expect_err(workload);
        error.to_string()
    };
    let error = refused("{ finite = { size = { measured = \"youtube\" } } }");
    assert!(
        error.contains("youtube") && error.contains("web_search"),
        "{error}"
    );
    let error = refused(
        "{ closed_loop = { users = 3, think = { measured = \"hadoop\" }, size = \"1kB\" } }",
    );
    assert!(error.contains("only sizes"), "{error}");
    let error = refused("{ incast = { servers = 0, pause = \"1ms\", size = \"1kB\" } }");
    assert!(error.contains("servers"), "{error}");
    let error = refused("{ voip = { interval = \"0s\" } }");
    assert!(error.contains("interval"), "{error}");
    let error = refused("{ app_limited = { rate = \"0bps\" } }");
    assert!(error.contains("rate"), "{error}");
}

/// RFC 5681 section 4.1: behind a pause longer than the timeout the window starts again from the
/// initial one; behind a shorter one it stays, and where `slow_start_after_idle` is off behind any.
/// 100 packets from a window of ten take four round trips, from a grown one a single one.
#[test]
fn the_window_restarts_after_a_long_pause() {
    let round = |pause: &str, rest: &str| {
        let report = run(&format!(
            r#"
[link]
rate = "10Gbps"
buffer = "1000p"
[[flows]]
name = "server"
cca = "newreno"
rtt = "50ms"
initial_window = "10p"
min_rto = "1s"
{rest}
workload = {{ incast = {{ servers = 1, pause = "{pause}", size = "100p" }} }}
[run]
warmup = "10s"
measure = "100s"
"#
        ));
        of_group(&report, 0, Metric::RequestTimeP50)
    };
    let (kept, restarted) = (round("100ms", ""), round("5s", ""));
    let switched_off = round("5s", "slow_start_after_idle = false");
    for kept in [kept, switched_off] {
        assert!((0.050..0.052).contains(&kept), "{kept}");
    }
    assert!((0.200..0.204).contains(&restarted), "{restarted}");
}

/// Forty windows into a buffer of one packet: no round is complete within the run.
#[test]
fn a_round_that_never_ends_is_reported_as_a_lower_bound() {
    let report = incast(40, "1p", "min_rto = \"30s\"");
    let ours = of_group(&report, 0, Metric::RequestTimeP50);
    assert!((19.9..=20.0).contains(&ours), "{ours}");
    let warned = |w: &forebay_scenario::Warning| w.subject == "servers";
    assert!(report.warnings.iter().any(warned), "{:?}", report.warnings);
}

/// A thousand million times the link's rate costs no more events than a persistent flow, nearly.
#[test]
fn an_absurd_writer_takes_few_events() {
    let report = written("10000Tbps", "40p");
    assert!(value(&report, Metric::Utilization) > 0.97);
    let packets = report.cost.data_packets as f64;
    assert!(
        report.cost.events as f64 <= 1.1 * packets + 2000.0,
        "{packets}"
    );
}

/// Users that ask for `size` every `every` over a link of `rate`, with their transfers traced.
fn periodic(rate: &str, every: &str, size: &str) -> Report {
    traced(&format!(
        r#"
[link]
rate = "{rate}"
buffer = "1000p"
[[flows]]
name = "players"
count = 4
cca = "newreno"
rtt = "50ms"
packet = "1500B"
header = "40B"
initial_window = "10p"
min_rto = "1s"
start = {{ linspace = ["0s", "750ms"] }}
workload = {{ periodic = {{ every = {every}, size = "{size}" }} }}
[run]
warmup = "10s"
measure = "100s"
[trace]
record = ["transfers"]
"#
    ))
}

/// (begun, completed) of each transfer of a user, in seconds, in the order in which they begin.
fn transfers_of(report: &Report, user: u64) -> Vec<(f64, f64)> {
    let traces = report.traces.as_ref().expect("asked for");
    let of_user = traces.transfers.iter().filter(|t| t.user == user);
    let mut times: Vec<_> = of_user.map(|t| (t.begun_s, t.completed_s)).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    times
}

/// 100 packets from a window of ten take four round trips: after each pause of longer than the
/// timeout the connection starts again (RFC 5681 section 4.1).
#[test]
fn periodic_transfers_on_an_empty_link_come_once_a_period() {
    let report = periodic("10Gbps", "\"2s\"", "146kB");
    let completed = report.groups[0].completions.as_ref().unwrap().completed;
    assert!(completed.abs_diff(4 * 50) <= 4, "{completed}");
    let goodput = of_group(&report, 0, Metric::Goodput);
    let expected = 4.0 * 146e3 * 8.0 / 2.0;
    assert!((goodput / expected - 1.0).abs() < 0.001, "{goodput}");
    let time = of_group(&report, 0, Metric::CompletionTimeP99);
    assert!((0.200..0.204).contains(&time), "{time}");
    for user in 0..4 {
        let start = 0.25 * user as f64;
        for (number, (begun, _)) in transfers_of(&report, user).iter().enumerate() {
            let due = start + 2.0 * number as f64;
            assert!((begun - due).abs() < 1e-9, "{user} {begun} {due}");
        }
    }
}

#[test]
fn periodic_transfers_that_need_more_than_the_period_follow_one_another() {
    // Four times 4 Mbps, asked of 10 Mbps: what comes is what the link carries.
    let report = periodic("10Mbps", "\"1s\"", "500kB");
    assert!(value(&report, Metric::Utilization) > 0.99);
    let completed = report.groups[0].completions.as_ref().unwrap().completed as f64;
    let carried = 100.0 * 10e6 * 1460.0 / 1500.0 / (500e3 * 8.0);
    assert!((completed / carried - 1.0).abs() < 0.03, "{completed}");
    for user in 0..4 {
        let times = transfers_of(&report, user);
        assert!(times.len() > 10, "{}", times.len());
        for pair in times.windows(2) {
            let due = (pair[0].0 + 1.0).max(pair[0].1);
            assert!((pair[1].0 - due).abs() < 1e-9, "{pair:?}");
        }
    }
}

/// A transfer that has come late delays those behind it and they are not caught up: a drawn period
/// counts from the beginning of the transfer before.
#[test]
fn a_period_may_have_a_law() {
    let report = periodic("10Gbps", "{ exponential = \"1s\" }", "146kB");
    let gaps = |user| {
        let times = transfers_of(&report, user);
        let pairs: Vec<_> = times.windows(2).map(|w| (w[0], w[1].0)).collect();
        pairs
    };
    let all: Vec<_> = (0..4).flat_map(gaps).collect();
    assert!(all.iter().all(|&((_, completed), next)| next >= completed));
    let at_once = all.iter().filter(|((_, end), next)| next - end < 1e-9);
    assert!(at_once.count() > all.len() / 20);
    // The larger of an exponential time T of mean 1 and a transfer of 50 to 200 ms: between
    // E max(T, 0.05) and E max(T, 0.2), where E max(T, a) = a + exp(-a).
    let mean = all
        .iter()
        .map(|((begun, _), next)| next - begun)
        .sum::<f64>()
        / all.len() as f64;
    assert!((0.9..1.13).contains(&mean), "{mean}");
}

/// Two groups of 200 bursty sources each at 90 % of a link.
const CROWDS: &str = r#"
[link]
rate = "30Mbps"
buffer = "40p"
[[flows]]
name = "one"
count = 200
packet = "500B"
workload = { on_off = { peak = "270kbps", on = { exponential = "500ms" }, off = { exponential = "1500ms" } } }
[[flows]]
name = "other"
count = 200
packet = "500B"
workload = { on_off = { peak = "270kbps", on = { exponential = "500ms" }, off = { exponential = "1500ms" } } }
[run]
warmup = "0s"
measure = "20s"
"#;

/// Groups that differ in nothing but their names lose alike, from the beginning; those that are
/// switched on together do not.
#[test]
fn equal_crowds_of_bursty_sources_lose_alike() {
    let losses = |changes: &[&str]| -> Vec<f64> {
        let run = |seed| replication(&scenario(CROWDS, changes), seed);
        let reports: Vec<Report> = (0..4).map(run).collect();
        let mean = |group| {
            let of = |report: &Report| of_group(report, group, Metric::LossRate);
            reports.iter().map(of).sum::<f64>() / 4.0
        };
        vec![mean(0), mean(1)]
    };
    let steady = losses(&[]);
    assert!((0.5..2.0).contains(&(steady[0] / steady[1])), "{steady:?}");
    assert!(steady.iter().all(|loss| *loss < 0.1), "{steady:?}");
    // In the first tenth of a second as in any other.
    let early = losses(&["run.measure=100ms"]);
    assert!(early.iter().all(|loss| *loss < 0.1), "{early:?}");
    let together = losses(&[
        "run.measure=100ms",
        "flows.one.start=0s",
        "flows.other.start=0s",
    ]);
    assert!(together.iter().all(|loss| *loss > 0.3), "{together:?}");
}

/// Without `start` users of a periodic service are spread over its period, and what applications
/// write is, too; with it they begin where it says.
#[test]
fn what_repeats_itself_begins_anywhere_in_its_period() {
    for (workload, period) in [
        ("{ periodic = { every = \"4s\", size = \"1p\" } }", 4.0),
        ("{ app_limited = { rate = \"12kbps\" } }", 1.0),
        (
            "{ on_off = { peak = \"12Mbps\", on = \"1ms\", off = \"1999ms\" } }",
            2.0,
        ),
    ] {
        let text = format!(
            "[link]\nrate = \"100Mbps\"\nbuffer = \"400p\"\n\
             [[flows]]\nname = \"users\"\ncount = 200\nrtt = \"10ms\"\npacket = \"1500B\"\n\
             workload = {workload}\n[run]\nwarmup = \"0s\"\nmeasure = \"{period}s\"\n"
        );
        let begun = |share: f64, start: &str| {
            let text = text.replace("[run]", &format!("{start}\n[run]"));
            let end = format!("run.measure={}s", period * share);
            let report = run_with(&text, &[end]);
            let flows = report.groups[0].per_flow.iter();
            flows.filter(|flow| flow.goodput_bps > 0.0).count() as f64 / 200.0
        };
        for share in [0.25, 0.5, 0.75] {
            // Four standard errors; a transfer takes a few milliseconds to arrive.
            let found = begun(share, "");
            let error = 4.0 * (share * (1.0 - share) / 200.0_f64).sqrt() + 0.012 / period;
            assert!((found - share).abs() < error, "{workload} {share} {found}");
        }
        assert_eq!(begun(0.25, "start = \"0s\""), 1.0, "{workload}");
        assert_eq!(begun(0.25, &format!("start = \"{}s\"", period / 2.0)), 0.0);
        let spread = format!("start = {{ linspace = [\"0s\", \"{period}s\"] }}");
        assert!((begun(0.5, &spread) - 0.5).abs() < 0.02, "{workload}");
    }
}

/// Two streams at a constant rate do not meet at the link for the whole run.
#[test]
fn constant_streams_have_phases_of_their_own() {
    let stream = |name: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\npacket = \"1000B\"\nworkload = {{ cbr = {{ rate = \"1Mbps\" }} }}\n"
        )
    };
    let text = format!(
        "[link]\nrate = \"10Mbps\"\nbuffer = \"9p\"\n{}{}[run]\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
        stream("a"),
        stream("b")
    );
    // Packets of 0.8 ms, one each 8 ms: two meet where the phases differ by less than that.
    let waits = (0..200)
        .filter(|seed| {
            let report = replication(&scenario::<&str>(&text, &[]), *seed);
            value(&report, Metric::QueueDelayMax) > 0.0
        })
        .count() as f64;
    let error = (200.0_f64 * 0.2 * 0.8).sqrt();
    assert!((waits - 40.0).abs() < 4.0 * error, "{waits}");
    let together = run_with(&text, &["flows.a.start=0s", "flows.b.start=0s"]);
    assert!(value(&together, Metric::QueueDelayMax) > 0.0);
}

/// Sources keep their draws when a group comes before them.
#[test]
fn another_group_leaves_the_draws_of_sources_alone() {
    let group = |name: &str, start: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = 5\npacket = \"500B\"\n{start}\
             workload = {{ on_off = {{ peak = \"100kbps\", on = {{ exponential = \"1s\" }}, off = {{ exponential = \"1s\" }} }} }}\n"
        )
    };
    for start in ["", "start = { uniform = [\"0s\", \"5s\"] }\n"] {
        let goodputs = |before: &str| {
            let text = format!(
                "[link]\nrate = \"1Gbps\"\nbuffer = \"900p\"\n{before}{}[run]\nwarmup = \"0s\"\nmeasure = \"9s\"\n",
                group("late", start)
            );
            let report = run(&text);
            let flows = &report.groups.last().expect("a group").per_flow;
            flows
                .iter()
                .map(|flow| flow.goodput_bps)
                .collect::<Vec<_>>()
        };
        let (alone, behind) = (goodputs(""), goodputs(&group("early", start)));
        assert_eq!(alone, behind, "{start}");
        assert!(alone.windows(2).any(|pair| pair[0] != pair[1]));
    }
}

/// More than the link carries is delivered in a short time after losses: said, not hidden.
#[test]
fn a_goodput_above_the_rate_of_the_link_is_explained() {
    let text = r#"
[link]
rate = "20Mbps"
buffer = "40p"
[[flows]]
name = "bulk"
count = 40
cca = "cubic"
rtt = { uniform = ["8ms", "90ms"] }
packet = "1000B"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "1s"
measure = "5s"
seed = 3
"#;
    let text_of = |report: &Report| {
        let kinds = report.warnings.iter().map(|warning| warning.kind);
        kinds
            .filter(|kind| *kind == WarningKind::GoodputAboveRate)
            .count()
    };
    let short = replication(&scenario::<&str>(text, &[]), 3);
    assert!(value(&short, Metric::Goodput) > 20e6);
    assert_eq!(text_of(&short), 1, "{:?}", short.warnings);
    let long = run_with(text, &["run.measure=60s"]);
    assert!(value(&long, Metric::Goodput) < 20e6);
    assert_eq!(text_of(&long), 0, "{:?}", long.warnings);
    // Packets without acknowledgments count when the buffer takes them in.
    let filling = "[link]\nrate = \"10Mbps\"\nbuffer = \"1000p\"\n[[flows]]\nname = \"flood\"\n\
         packet = \"1000B\"\nworkload = { cbr = { rate = \"20Mbps\" } }\n[run]\nwarmup = \"0s\"\nmeasure = \"100ms\"\n";
    let filling = run(filling);
    assert!(of_group(&filling, 0, Metric::Goodput) > 15e6);
    assert_eq!(text_of(&filling), 1);
    assert!(
        filling
            .warnings
            .iter()
            .any(|warning| warning.text.contains("goodput of `flood`"))
    );
}
