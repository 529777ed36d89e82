//! Classes at a link, and what the packets of each group wait there.

use std::fmt::Write as _;

use forebay_scenario::{Cost, Metric, Report};

use super::{of_group, run, run_with, value};

/// The report without the fields about the run itself.
fn without_cost(report: Report) -> Report {
    Report {
        cost: Cost::default(),
        scenario_sha256: String::new(),
        ..report
    }
}

const MIX: &str = r#"
[link]
rate = "10Mbps"
buffer = "30p"
[[flows]]
name = "calls"
count = 5
packet = "200B"
workload = "voip"
[[flows]]
name = "bulk"
count = 3
rtt = "40ms"
start = { uniform = ["0s", "1s"] }
[[flows]]
name = "noise"
packet = { choice = ["80B", "1500B"] }
workload = { poisson = { rate = "3Mbps" } }
[run]
warmup = "2s"
measure = "20s"
seed = 5
"#;

/// The discipline `priority` is strict classes that share the link's buffer. The report is the same
/// except for the scenario's hash, whichever packet is dropped and whatever the buffer counts.
#[test]
fn priority_is_strict_classes() {
    let classes = r#"classes = [{ name = "a", groups = ["calls"] }, { name = "b", groups = ["bulk"] }, { name = "c" }]"#;
    for buffer in ["30p", "20kB"] {
        for drop in ["", ", drop = \"lowest\"", ", drop = \"tail\""] {
            let queues = [
                format!("{{ kind = \"priority\", bands = 3{drop} }}"),
                format!("{{ kind = \"classes\", schedule = \"strict\"{drop}, {classes} }}"),
            ];
            let [priority, strict] = queues.map(|queue| {
                let changes = [
                    format!("link.buffer={buffer}"),
                    format!("link.queue={queue}"),
                ];
                without_cost(run_with(MIX, &changes))
            });
            assert!(value(&priority, Metric::LossRate) > 0.0);
            assert!(
                priority == strict,
                "{buffer} {drop}\n{priority:#?}\n{strict:#?}"
            );
        }
    }
}

const QUEUES: [&str; 7] = [
    "droptail",
    "red",
    "pie",
    "codel",
    "drr",
    "priority",
    r#"{ kind = "classes", schedule = "dwrr", classes = [{ name = "a", groups = ["calls"] }, { name = "b", queue = "codel" }] }"#,
];

/// With one group, the group's waits are the link's.
#[test]
fn one_groups_waits_are_the_links() {
    let delays = Metric::QUEUE_DELAY_QUANTILES.map(|(metric, _)| metric);
    let delays = [Metric::QueueDelayMean, Metric::QueueDelayMax]
        .into_iter()
        .chain(delays);
    let delays: Vec<Metric> = delays.collect();
    for group in [
        "rtt = \"40ms\"",
        "workload = { poisson = { rate = \"9.5Mbps\" } }",
    ] {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"30p\"\n[[flows]]\nname = \"calls\"\ncount = 3\n{group}\n\
             [run]\nwarmup = \"1s\"\nmeasure = \"9s\"\n"
        );
        for queue in QUEUES {
            let report = run_with(&text, &[format!("link.queue={queue}")]);
            for &metric in &delays {
                assert_eq!(
                    of_group(&report, 0, metric),
                    value(&report, metric),
                    "{queue}"
                );
            }
            assert!(value(&report, Metric::QueueDelayMean) > 0.0);
        }
    }
}

/// The link's mean wait is the groups' means, each by its accepted packets; the longest of all is
/// one group's; and a quantile of all lies between the groups'.
#[test]
fn the_groups_waits_make_the_links() {
    // All packets arrive after the warm-up's end, so that what is accepted is known by its goodput.
    let text = MIX
        .replace("warmup = \"2s\"", "warmup = \"0s\"")
        .replace("{ choice = [\"80B\", \"1500B\"] }", "\"500B\"")
        .replace(
            "rtt = \"40ms\"\nstart = { uniform = [\"0s\", \"1s\"] }",
            "workload = { poisson = { rate = \"6Mbps\" } }",
        );
    for queue in QUEUES {
        let report = run_with(&text, &[format!("link.queue={queue}")]);
        let (mut sum, mut packets, mut longest) = (0.0, 0.0, 0.0f64);
        for (group, bytes) in [200.0, 1500.0, 500.0].into_iter().enumerate() {
            let accepted = of_group(&report, group, Metric::Goodput) * 20.0 / 8.0 / bytes;
            sum += accepted * of_group(&report, group, Metric::QueueDelayMean);
            packets += accepted;
            longest = longest.max(of_group(&report, group, Metric::QueueDelayMax));
        }
        let mean = value(&report, Metric::QueueDelayMean);
        // A few of the 40,000 packets still wait at the end.
        assert!(
            (sum / packets / mean - 1.0).abs() < 2e-3,
            "{queue}: {} {mean}",
            sum / packets
        );
        assert_eq!(longest, value(&report, Metric::QueueDelayMax), "{queue}");
        for (metric, _) in Metric::QUEUE_DELAY_QUANTILES {
            let of_groups = [0, 1, 2].map(|group| of_group(&report, group, metric));
            let least = of_groups.into_iter().fold(f64::INFINITY, f64::min);
            let most = of_groups.into_iter().fold(0.0, f64::max);
            let all = value(&report, metric);
            assert!(least <= all && all <= most, "{queue} {least} {all} {most}");
        }
    }
}

/// In the first class of several strict ones a packet waits for no more than the one in
/// transmission, where its own do not come closer than they are sent.
#[test]
fn the_first_strict_class_waits_for_one_packet_at_most() {
    let text = MIX
        .replace("count = 5", "count = 1")
        .replace("\"voip\"", "{ cbr = { rate = \"64kbps\" } }");
    for (queue, longest) in [
        (
            r#"{ kind = "classes", classes = [{ name = "a", groups = ["calls"] }, { name = "b" }] }"#,
            true,
        ),
        (
            r#"{ kind = "classes", schedule = "wrr", classes = [{ name = "a", groups = ["calls"], priority = true }, { name = "b" }] }"#,
            true,
        ),
        ("droptail", false),
    ] {
        let report = run_with(&text, &[format!("link.queue={queue}")]);
        // 1500 bytes at 10 Mb/s.
        let wait = of_group(&report, 0, Metric::QueueDelayMax);
        assert_eq!(wait <= 0.0012, longest, "{wait}");
        assert!(of_group(&report, 1, Metric::QueueDelayMean) > 0.005);
    }
}

/// Overloaded classes get their weights of the link, and an idle one's share goes to the others.
#[test]
fn weights_are_shares_of_an_overloaded_link() {
    let file = |rates: [&str; 3], schedule: &str| {
        let mut text = format!(
            "[run]\nwarmup = \"1s\"\nmeasure = \"20s\"\n[link]\nrate = \"12Mbps\"\nbuffer = \"60p\"\n\
             queue = {{ kind = \"classes\", schedule = \"{schedule}\", classes = [\
             {{ name = \"a\", groups = [\"g0\"], buffer = \"20p\", weight = 5 }}, \
             {{ name = \"b\", groups = [\"g1\"], buffer = \"30kB\", weight = 3, queue = \"codel\" }}, \
             {{ name = \"c\", buffer = \"20ms\", weight = 2, queue = \"drophead\" }}] }}\n"
        );
        for (number, rate) in rates.into_iter().enumerate() {
            let _ = write!(
                text,
                "[[flows]]\nname = \"g{number}\"\npacket = \"1500B\"\nworkload = {{ poisson = {{ rate = \"{rate}\" }} }}\n"
            );
        }
        run(&text)
    };
    for schedule in ["wrr", "dwrr"] {
        for (rates, shares) in [
            (["20Mbps", "20Mbps", "20Mbps"], [6.0, 3.6, 2.4]),
            (["20Mbps", "20Mbps", "1kbps"], [7.5, 4.5, 0.0]),
            (["1kbps", "20Mbps", "20Mbps"], [0.0, 7.2, 4.8]),
        ] {
            let report = file(rates, schedule);
            assert!(value(&report, Metric::Utilization) > 0.9999);
            for (group, share) in shares.into_iter().enumerate() {
                let ours = of_group(&report, group, Metric::Goodput) / 1e6;
                assert!(
                    (ours - share).abs() < 0.03,
                    "{schedule} {rates:?} {group} {ours}"
                );
            }
        }
    }
}

/// Disciplines that mark and drop at departures do so within a class. CoDel marks ECN-capable
/// flows, and holds its class's delay while the class beside it fills a buffer of its own.
#[test]
fn codel_and_ecn_work_within_a_class() {
    let text = MIX.replace("rtt = \"40ms\"", "rtt = \"40ms\"\necn = true");
    let queue = r#"{ kind = "classes", schedule = "dwrr", classes = [
        { name = "marked", groups = ["bulk"], buffer = "500p", queue = "codel" }, { name = "rest" }] }"#;
    let report = run_with(&text, &[format!("link.queue={}", queue.replace('\n', " "))]);
    assert!(value(&report, Metric::MarkRate) > 0.001);
    assert_eq!(of_group(&report, 1, Metric::LossRate), 0.0);
    assert_eq!(of_group(&report, 1, Metric::Retransmissions), 0.0);
    let delay = of_group(&report, 1, Metric::QueueDelayMean);
    assert!((0.001..0.02).contains(&delay), "{delay}");
    assert!(value(&report, Metric::Utilization) > 0.95);
}

/// Acknowledgments that cross the target link wait there with the data, but are no group's packets.
#[test]
fn acknowledgments_are_nobodys_data() {
    let report = run(r#"
[[links]]
name = "up"
rate = "1Mbps"
buffer = "20p"
target = true
[[links]]
name = "down"
rate = "20Mbps"
buffer = "50p"
[[flows]]
name = "upload"
packet = "1500B"
workload = { poisson = { rate = "900kbps" } }
path = ["up"]
[[flows]]
name = "download"
rtt = "20ms"
path = ["down"]
reverse = ["up"]
[run]
warmup = "2s"
measure = "10s"
"#);
    let [upload, download] = &report.groups[..] else {
        panic!("{report:?}")
    };
    assert!(upload.metrics[&Metric::QueueDelayMean].mean > 0.0);
    assert!(!download.metrics.contains_key(&Metric::QueueDelayMean));
    assert!(value(&report, Metric::QueueDelayMean) > 0.0);
}
