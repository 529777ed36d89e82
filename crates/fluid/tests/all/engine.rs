//! The fluid engine behind the common contract.

use forebay_scenario::{Engine, EngineError, Format, Metric, Report, RunOptions, Scenario, Seed};

use forebay_fluid::FluidEngine;

const ELEPHANTS: &str = r#"
[link]
rate   = "100Mbps"
buffer = "0.3BDP"

[[flows]]
name   = "elephants"
count  = 4
cca    = "newreno"
rtt    = "100ms"
packet = "1000B"

[run]
warmup  = "100s"
measure = "400s"
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Format::Toml, "test", &[]).expect("a valid scenario")
}

fn run(text: &str) -> Result<Report, EngineError> {
    let seed = Seed {
        seed: 1,
        replication: 0,
    };
    FluidEngine.run(&scenario(text), &seed.into())
}

/// Options of a run with traces.
fn traced(seed: Seed) -> RunOptions {
    RunOptions {
        traces: true,
        ..seed.into()
    }
}

#[test]
fn a_report_has_the_metrics_of_a_fluid() {
    let report = run(ELEPHANTS).unwrap();
    for metric in [
        Metric::Utilization,
        Metric::LossRate,
        Metric::QueueMean,
        Metric::QueueDelayMean,
        Metric::QueueDelayP05,
        Metric::QueueDelayP50,
        Metric::QueueDelayP99,
        Metric::QueueDelayMax,
        Metric::Goodput,
        Metric::JainIndex,
        Metric::Synchronization,
    ] {
        assert!(report.value(metric).unwrap().is_finite(), "{metric:?}");
    }
    assert!(!report.metrics.contains_key(&Metric::MarkRate));
    let utilization = report.value(Metric::Utilization).unwrap();
    assert!(utilization > 0.8 && utilization < 1.0);
    // Payload is 960 of 1000 bytes, and lost packets are not delivered.
    let goodput = report.value(Metric::Goodput).unwrap() / 100e6;
    assert!(
        (goodput / (0.96 * utilization) - 1.0).abs() < 2e-3,
        "{goodput} {utilization}"
    );
    assert!(report.value(Metric::QueueDelayMax).unwrap() <= 0.03 + 1e-9);
    assert_eq!(report.groups[0].per_flow.len(), 4);
    assert!(report.warnings.iter().any(|w| w.text.contains("timeouts")));
}

#[test]
fn equal_runs_give_equal_reports() {
    assert_eq!(run(ELEPHANTS).unwrap(), run(ELEPHANTS).unwrap());
}

#[test]
fn background_takes_its_share_of_rate_and_loss() {
    let text = ELEPHANTS.to_owned()
        + r#"
[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "50Mbps" } }
"#;
    let report = run(&text).unwrap();
    let background = &report.groups[1];
    let loss = background.metrics[&Metric::LossRate].mean;
    assert!(loss > 0.0 && loss < 0.01, "{loss}");
    assert!((background.metrics[&Metric::Goodput].mean / (50e6 * (1.0 - loss)) - 1.0).abs() < 1e-9);
    let alone = run(ELEPHANTS).unwrap().value(Metric::Goodput).unwrap();
    assert!(report.value(Metric::Goodput).unwrap() < 0.6 * alone);
}

#[test]
fn what_a_fluid_lacks_is_refused_by_name() {
    for (change, feature) in [
        (r#"workload = { finite = { size = "1MB" } }"#, "finite"),
        (
            r#"workload = { closed_loop = { users = 4, think = "1s", size = "1MB" } }"#,
            "closed_loop",
        ),
        (
            r#"workload = { periodic = { every = "2s", size = "1MB" } }"#,
            "periodic",
        ),
        (r#"stop = "10s""#, "stop"),
        (
            r#"workload = { incast = { servers = 4, pause = "1s", size = "1MB" } }"#,
            "incast",
        ),
        (
            r#"workload = { app_limited = { rate = "1Mbps" } }"#,
            "app_limited",
        ),
        (r#"cca = "bbr""#, "cca `bbr`"),
        (
            r#"cca = { kind = "htcp", variant = "linux" }"#,
            "other than its published form",
        ),
    ] {
        let elephants = if change.starts_with("cca") {
            ELEPHANTS.replace("cca    = \"newreno\"\n", "")
        } else {
            ELEPHANTS.to_owned()
        };
        let text = elephants.replace(
            "packet = \"1000B\"",
            &format!("packet = \"1000B\"\n{change}"),
        );
        match run(&text) {
            Err(EngineError::Unsupported {
                engine: "fluid",
                feature: found,
            }) => {
                assert!(found.contains(feature), "{found}");
            }
            other => panic!("{feature}: {other:?}"),
        }
    }
}

/// Features of a link other than a queue at a rate, one per line.
#[test]
fn what_links_do_besides_is_refused_by_name() {
    for (key, feature) in [
        ("rate = { opportunities = \"1 2 5\" }", "mahimahi"),
        ("loss = { random = \"1%\" }", "`loss`"),
        (
            "outages = { between = \"10s\", lasting = \"1s\", flush = true }",
            "`flush`",
        ),
        (
            "delay = { steps = [[\"0s\", \"5ms\"], [\"1s\", \"9ms\"]], repeat = \"2s\" }",
            "delay",
        ),
    ] {
        let mut text = ELEPHANTS.replace("[link]", &format!("[link]\n{key}"));
        if key.starts_with("rate") {
            text = text.replace("rate   = \"100Mbps\"\n", "");
        }
        let Err(EngineError::Unsupported { feature: found, .. }) = run(&text) else {
            panic!("{feature}");
        };
        assert!(found.contains(feature), "{found}");
    }
}

/// Every replication draws its own rates, and outages are steps to zero.
#[test]
fn rates_and_outages_that_are_drawn_are_followed() {
    let text = |rate: &str| ELEPHANTS.replace("\"100Mbps\"", rate);
    let markov = r#"{ markov = [{ rate = "100Mbps", mean_time = "3s" }, { rate = "10Mbps", mean_time = "2s" }] }"#;
    let of = |replication| {
        let seed = Seed {
            seed: 1,
            replication,
        };
        FluidEngine
            .run(&scenario(&text(markov)), &seed.into())
            .unwrap()
    };
    assert_eq!(of(0), of(0));
    assert_ne!(of(0).metrics, of(1).metrics);
    let outages = "outages = [[\"150s\", \"4s\"]]";
    let listed = run(&text("\"100Mbps\"").replace("[link]", &format!("[link]\n{outages}")));
    let steps = r#"{ steps = [["0s", "100Mbps"], ["150s", "0bps"], ["154s", "100Mbps"]] }"#;
    let mut steps = run(&text(steps)).unwrap();
    let listed = listed.unwrap();
    steps.scenario_sha256.clone_from(&listed.scenario_sha256);
    assert_eq!(listed.metrics, steps.metrics);
    let longest = listed.value(Metric::QueueDelayMax).unwrap();
    // The outage begins with a queue of up to 30 ms.
    assert!((3.999..4.031).contains(&longest), "{longest}");
}

/// A period of a microsecond is refused at once, with a one-line reason.
#[test]
fn more_changes_than_can_be_followed_are_refused() {
    let steps = r#"{ steps = [["0s", "100Mbps"], ["500ns", "10Mbps"]], repeat = "1us" }"#;
    let error = run(&ELEPHANTS.replace("\"100Mbps\"", steps))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("change 999999999 times in 500 s") && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn the_continuous_model_reports_full_use_and_no_events() {
    let report = run(&(ELEPHANTS.to_owned() + "\n[fluid]\nlaw = \"continuous\"\n")).unwrap();
    assert!(report.value(Metric::Utilization).unwrap() > 0.9999);
    assert!(report.value(Metric::Synchronization).is_none());
}

#[test]
fn traces_follow_the_scenario() {
    let text =
        ELEPHANTS.to_owned() + "\n[trace]\nevery = \"1s\"\nfrom = \"100s\"\nuntil = \"150s\"\n";
    let seed = Seed {
        seed: 1,
        replication: 0,
    };
    let traced = FluidEngine.run(&scenario(&text), &traced(seed)).unwrap();
    let traces = traced.traces.clone().unwrap();
    assert_eq!(traces.queue.len(), 51);
    assert_eq!(traces.flows.len(), 4 * 51);
    assert!(
        traces
            .queue
            .iter()
            .all(|s| s.packets >= 0.0 && s.packets <= 375.0)
    );
    assert!(
        traces
            .flows
            .iter()
            .all(|s| s.cwnd_packets > 0.0 && s.rtt_s >= 0.1)
    );
    let plain = FluidEngine.run(&scenario(&text), &seed.into()).unwrap();
    assert_eq!(
        Report {
            traces: None,
            ..traced
        },
        plain
    );
}

#[test]
fn one_link_of_a_path_may_be_the_bottleneck() {
    let text = r#"
[[links]]
name   = "edge"
rate   = "100Mbps"
buffer = "100p"
target = true

[[links]]
name   = "core"
rate   = "1Gbps"
buffer = "100p"

[[flows]]
count  = 4
cca    = "hstcp"
rtt    = "100ms"
packet = "1000B"
path   = ["core", "edge"]

[run]
warmup  = "100s"
measure = "400s"
"#;
    let report = run(text).unwrap();
    assert_eq!(report.links[0].name, "core");
    let core = report.links[0].metrics[&Metric::Utilization].mean;
    let edge = report.value(Metric::Utilization).unwrap();
    assert!(
        edge > 0.7 && edge <= 1.0 && (core - 0.1 * edge).abs() < 0.01,
        "{edge} {core}"
    );
}

#[test]
fn red_signals_early_and_other_disciplines_are_refused_by_name() {
    let with = |queue: &str| {
        run(&ELEPHANTS.replace(
            "buffer = \"0.3BDP\"",
            &format!("buffer = \"0.3BDP\"\nqueue = {queue}"),
        ))
    };
    let tail = run(ELEPHANTS).unwrap();
    let red = with(r#"{ kind = "red", min = "10%", max = "90%", max_p = 0.1 }"#).unwrap();
    let mean = |report: &Report| report.value(Metric::QueueMean).unwrap();
    assert!(mean(&red) < mean(&tail), "{} {}", mean(&red), mean(&tail));
    assert!(red.value(Metric::LossRate).unwrap() > 0.0);
    let classes = r#"{ kind = "classes", classes = [{ name = "all" }] }"#;
    for (queue, name) in [("\"codel\"", "codel"), (classes, "classes")] {
        match with(queue) {
            Err(EngineError::Unsupported { feature, .. }) => {
                assert_eq!(feature, format!("queue `{name}`"));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// With one group its queue delays are those of the link. With several groups a warning says that
/// they are not separated.
#[test]
fn the_delays_of_one_group_are_those_of_the_link() {
    let delays = [
        Metric::QueueDelayMean,
        Metric::QueueDelayP05,
        Metric::QueueDelayP50,
        Metric::QueueDelayP95,
        Metric::QueueDelayP99,
        Metric::QueueDelayMax,
    ];
    let another = "[[flows]]\nname = \"noise\"\nworkload = { poisson = { rate = \"9Mbps\" } }\n";
    for (more, alone) in [("", true), (another, false)] {
        let report = run(&format!("{ELEPHANTS}{more}")).unwrap();
        for metric in delays {
            let of_group = report.groups[0]
                .metrics
                .get(&metric)
                .map(|delay| delay.mean);
            let expected = report.value(metric).filter(|_| alone);
            assert_eq!(of_group, expected, "{metric:?}");
        }
        let text_of =
            |warning: &&forebay_scenario::Warning| warning.text.contains("does not separate");
        assert_eq!(report.warnings.iter().find(text_of).is_none(), alone);
    }
}

fn with(change: &str) -> String {
    ELEPHANTS.replace(
        "packet = \"1000B\"",
        &format!("packet = \"1000B\"\n{change}"),
    )
}

#[test]
fn what_cannot_hold_a_flow_back_changes_nothing() {
    let plain = run(ELEPHANTS).unwrap();
    for change in [
        r#"access = { rate = "1Gbps", queue = "10p" }"#,
        r#"receive_window = "5000p""#,
        r#"stop = "500s""#,
    ] {
        let report = run(&with(change)).unwrap();
        assert_eq!(report.metrics, plain.metrics, "{change}");
        assert_eq!(report.groups, plain.groups, "{change}");
    }
}

#[test]
fn access_links_and_receive_windows_hold_flows_back() {
    // 4 flows of 10 Mb/s use 100 Mb/s: no losses, and each flow has its access rate.
    let report = run(&with(r#"access = { rate = "10Mbps" }"#)).unwrap();
    let utilization = report.value(Metric::Utilization).unwrap();
    assert!((utilization - 0.4).abs() < 1e-3, "{utilization}");
    assert_eq!(report.value(Metric::LossRate), Some(0.0));
    // Each flow sends 20 packets of 8000 bits per 100 ms.
    let report = run(&with(r#"receive_window = "20p""#)).unwrap();
    let utilization = report.value(Metric::Utilization).unwrap();
    assert!(
        (utilization - 4.0 * 20.0 * 8000.0 / 0.1 / 100e6).abs() < 1e-6,
        "{utilization}"
    );
}

#[test]
fn traces_know_the_limits() {
    let text = with(r#"receive_window = "20p""#) + "\n[trace]\nevery = \"10s\"\n";
    let seed = Seed {
        seed: 1,
        replication: 0,
    };
    let traced = FluidEngine.run(&scenario(&text), &traced(seed)).unwrap();
    let traces = traced.traces.unwrap();
    assert_eq!(traces.queue.len(), 50);
    assert!(traces.flows.iter().all(|s| s.cwnd_packets <= 20.0));
    assert!(traces.flows.iter().any(|s| s.cwnd_packets == 20.0));
}

const BACKGROUND: &str = r#"
[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "50Mbps" } }
"#;

#[test]
fn a_redrawn_background_keeps_its_mean_and_adds_losses() {
    let text = |options: &str| format!("{ELEPHANTS}{BACKGROUND}\n[fluid]\n{options}\n");
    let constant = run(&text("background = \"constant\"")).unwrap();
    let redrawn = run(&text("background = { redrawn = \"10ms\" }")).unwrap();
    let of = |report: &Report| {
        let background = &report.groups[1].metrics;
        (
            background[&Metric::Goodput].mean,
            background[&Metric::LossRate].mean,
        )
    };
    // The rate is 6250 packets/s over 10 ms. Its standard deviation is 790 packets/s, and 4
    // packets/s over 400 s.
    let (rate, loss) = of(&redrawn);
    assert!((rate / (1.0 - loss) / of(&constant).0 * (1.0 - of(&constant).1) - 1.0).abs() < 2e-3);
    assert!(loss > of(&constant).1, "{loss} {}", of(&constant).1);
    let utilization = |report: &Report| report.value(Metric::Utilization).unwrap();
    assert!(utilization(&redrawn) < utilization(&constant));
}

#[test]
fn a_priority_matrix_chooses_who_loses() {
    let options = "\n[fluid]\nlaw = \"fixed\"\nminimum_synchronization = 0.25\n";
    let text = |victims: &str| format!("{ELEPHANTS}{options}victims = {victims}\n");
    // One of four flows loses in each event: always the third, or each in turn.
    let goodputs = |victims: &str| -> Vec<f64> {
        let report = run(&text(victims)).unwrap();
        report.groups[0]
            .per_flow
            .iter()
            .map(|flow| flow.goodput_bps)
            .collect()
    };
    let third = goodputs("{ priority = [[0, 0, 1, 0]] }");
    assert!(
        (0..4).all(|flow| flow == 2 || third[flow] > 3.0 * third[2]),
        "{third:?}"
    );
    let turns = goodputs("{ priority = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] }");
    let (low, high) = turns
        .iter()
        .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(high / low < 1.1, "{turns:?}");
}

/// A link that also counts the frames of its layer carries a smaller part of each packet as
/// payload. The groups share the delivered payload.
#[test]
fn goodput_is_the_payload_of_what_the_link_carries() {
    for (layer, framing) in [("l3", 0.0), ("l2", 18.0), ("l1", 38.0)] {
        for (packet, header) in [(1000.0, 40.0), (500.0, 52.0)] {
            let text = format!(
                "[link]\nrate = \"50Mbps\"\nbuffer = \"150p\"\nrate_layer = \"{layer}\"\n\
                 [[flows]]\nname = \"a\"\ncount = 3\nrtt = \"40ms\"\npacket = \"{packet}B\"\nheader = \"{header}B\"\n\
                 [[flows]]\nname = \"b\"\ncount = 2\nrtt = \"60ms\"\npacket = \"{packet}B\"\nheader = \"{header}B\"\n\
                 [run]\nwarmup = \"30s\"\nmeasure = \"60s\"\n"
            );
            let report = run(&text).unwrap();
            let carried = report.value(Metric::Utilization).unwrap() * 50e6;
            let goodput = report.value(Metric::Goodput).unwrap();
            let part = (packet - header) / (packet + framing);
            // Packets still in the queue at the end are not delivered.
            assert!(
                (goodput / (carried * part) - 1.0).abs() < 3e-3,
                "{layer} {packet} {goodput} {carried}"
            );
            let groups: f64 = report
                .groups
                .iter()
                .map(|group| group.metrics[&Metric::Goodput].mean)
                .sum();
            assert!((groups / goodput - 1.0).abs() < 1e-12);
            for group in &report.groups {
                let flows: f64 = group.per_flow.iter().map(|flow| flow.goodput_bps).sum();
                assert!((flows / group.metrics[&Metric::Goodput].mean - 1.0).abs() < 1e-12);
                assert_eq!(group.per_flow.len() as u64, group.flows);
            }
        }
    }
}

/// RED's adaptation is ignored; a warning says so only if RED adapts.
#[test]
fn only_red_that_adapts_is_said_not_to() {
    for (queue, adapts) in [
        ("\"droptail\"", false),
        ("{ kind = \"red\", adaptive = true }", true),
        ("{ kind = \"red\", adaptive = false }", false),
    ] {
        let text = ELEPHANTS.replace("[link]", &format!("[link]\nqueue = {queue}"));
        let report = run(&text).unwrap();
        let text_of = report.warnings.iter().any(|w| w.text.contains("adapt"));
        assert_eq!(text_of, adapts, "{queue}");
    }
}
