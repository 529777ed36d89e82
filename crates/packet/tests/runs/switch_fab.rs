//! FAB: packets of short flows have a higher alpha in the memory of a switch.

use std::fmt::Write as _;

use forebay_scenario::{Format, Metric, Report, Scenario};

use super::{run, value};

/// A memory of 600 packets with FAB and these keys.
fn chip(keys: &str) -> String {
    format!("[[memories]]\nname = \"chip\"\nsize = \"600p\"\nthreshold = \"fab\"\n{keys}\n")
}

/// A link of 100 Mb/s with alpha in this memory. The first one is the target.
fn port(name: &str, alpha: f64) -> String {
    let target = if name == "port0" {
        "target = true\n"
    } else {
        ""
    };
    format!(
        "[[links]]\nname = \"{name}\"\nrate = \"100Mbps\"\nbuffer = \"100000p\"\n\
         memory = \"chip\"\nmemory_alpha = {alpha:?}\n{target}"
    )
}

/// A group of `count` Poisson sources that send this rate together into a port.
fn poisson(name: &str, (count, rate): (usize, u64), port: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\ncount = {count}\npacket = \"1250B\"\npath = [\"{port}\"]\n\
         workload = {{ poisson = {{ rate = \"{rate}Mbps\" }} }}\n"
    )
}

const RUN: &str = "[run]\nwarmup = \"2s\"\nmeasure = \"10s\"\n";

fn held(report: &Report, link: &str) -> f64 {
    let mut links = report.links.iter();
    let other = links.find(|other| other.name == link);
    other.map_or(&report.metrics, |other| &other.metrics)[&Metric::QueueMean].mean
}

fn loss(report: &Report, group: &str) -> f64 {
    let mut groups = report.groups.iter();
    let group = groups.find(|other| other.name == group);
    group.expect("the group").metrics[&Metric::LossRate].mean
}

/// Long flows have the dynamic threshold: each of S ports holds alpha B / (1 + alpha S).
#[test]
fn long_flows_hold_what_a_dynamic_threshold_lets_them() {
    for (alpha, overloaded) in [(1.0, 1), (0.5, 2), (8.0, 3)] {
        let mut text = chip("");
        for number in 0..4 {
            let rate = if number < overloaded { 150 } else { 10 };
            let name = format!("port{number}");
            text += &port(&name, alpha);
            text += &poisson(&format!("flood{number}"), (1, rate), &name);
        }
        let report = run(&(text + RUN));
        let theory = alpha * 600.0 / (1.0 + alpha * overloaded as f64);
        for number in 0..overloaded {
            let queue = held(&report, &format!("port{number}"));
            assert!(
                (queue / theory - 1.0).abs() < 0.02,
                "{alpha} {overloaded}: {queue} {theory}"
            );
        }
        let quiet = report.links.last().expect("more ports");
        assert_eq!(quiet.metrics[&Metric::LossRate].mean, 0.0);
    }
}

/// Packets of many slow flows come after the window, so that these flows are always short.
/// Their queue holds sigma F and that of a long flow alpha F, if F = B / (1 + alpha + sigma) is
/// free and sigma is the alpha of short flows.
#[test]
fn a_queue_of_short_flows_holds_their_alpha_times_the_free_memory() {
    for (alpha, sigma) in [(0.5, 2.0), (1.0, 8.0), (0.25, 0.25), (2.0, 3.0)] {
        let keys = format!("short_alpha = {sigma:?}\nshort_idle = \"1ms\"");
        let text = chip(&keys)
            + &port("port0", alpha)
            + &port("port1", alpha)
            + &poisson("long", (1, 150), "port0")
            + &poisson("short", (2000, 150), "port1");
        let report = run(&(text + RUN));
        let free = 600.0 / (1.0 + alpha + sigma);
        for (link, factor) in [("port0", alpha), ("port1", sigma)] {
            let queue = held(&report, link);
            let theory = factor * free;
            assert!(
                (queue / theory - 1.0).abs() < 0.03,
                "{alpha} {sigma} {link}: {queue} {theory}"
            );
        }
    }
}

/// In a queue that a long flow fills, short flows find the room above the threshold of long flows.
#[test]
fn short_flows_lose_nothing_in_a_queue_that_a_long_flow_fills() {
    let keys = "short_idle = \"1ms\"";
    let text = chip(keys)
        + &port("port0", 0.5)
        + &poisson("long", (1, 150), "port0")
        + &poisson("short", (2000, 50), "port0")
        + RUN;
    let report = run(&text);
    assert_eq!(loss(&report, "short"), 0.0);
    // A third of the link's 100 Mb/s is left for 150 Mb/s of the long flow, more or less.
    assert!((loss(&report, "long") - 2.0 / 3.0).abs() < 0.01);
    let dynamic = text.replace("threshold = \"fab\"", "").replace(keys, "");
    assert!(loss(&run(&dynamic), "short") > 0.3);
}

/// Transfers from a slot that an earlier one left are new flows, and so are their acknowledgments.
#[test]
fn each_transfer_of_an_open_loop_is_a_new_flow() {
    let keys = "short_flow = \"16kB\"\nshort_idle = \"1000s\"";
    let links = |[first, second]: [f64; 2]| {
        let back = port("back", second).replace("100Mbps", "2Mbps");
        port("port0", first) + &back
    };
    let transfers = "[[flows]]\nname = \"web\"\nrtt = \"5ms\"\npath = [\"port0\"]\n\
         reverse = [\"back\"]\ninitial_window = \"10p\"\n\
         workload = { open_loop = { rate = \"40Mbps\", size = \"10p\" } }\n";
    let run_of = |alphas| run(&(chip(keys) + &links(alphas) + transfers + RUN));
    // Long flows may not wait at all in either queue: the threshold is below a packet.
    let report = run_of([0.001, 0.001]);
    assert_eq!(loss(&report, "web"), 0.0);
    let back = report.links.iter().find(|link| link.name == "back");
    let back = &back.expect("the link").metrics;
    assert!(back[&Metric::QueueMean].mean > 0.1, "acknowledgments wait");
    assert_eq!(back[&Metric::LossRate].mean, 0.0);
    let completions = report.groups[0].completions.as_ref();
    assert!(completions.is_some_and(|it| it.completed > 1000));
    // The same packets of connections that stay are lost.
    let kept = transfers.replace(
        "open_loop = { rate = \"40Mbps\", size = \"10p\" }",
        "periodic = { every = \"3ms\", size = \"10p\" }",
    );
    let kept = run(&(chip(keys) + &links([0.001, 0.001]) + &kept + RUN));
    assert!(loss(&kept, "web") > 0.01);
}

/// Servers that answer at once, each with a short flow, beside long flows over other ports.
fn incast(threshold: &str, alpha: f64) -> Report {
    let mut text = format!("[[memories]]\nname = \"chip\"\nsize = \"300kB\"\n{threshold}\n");
    for number in 0..4 {
        text += &port(&format!("port{number}"), alpha).replace("100Mbps", "10Gbps");
    }
    let _ = write!(
        text,
        "[[flows]]\nname = \"servers\"\nrtt = \"20us\"\npath = [\"port0\"]\n\
         initial_window = \"10p\"\nmin_rto = \"5ms\"\ninitial_rto = \"5ms\"\n\
         workload = {{ incast = {{ servers = 6, pause = \"9ms\", size = \"10p\" }} }}\n"
    );
    for number in 1..4 {
        let _ = write!(
            text,
            "[[flows]]\nname = \"long{number}\"\nrtt = \"20us\"\npath = [\"port{number}\"]\n\
             cca = \"cubic\"\ncount = 4\n"
        );
    }
    run(&(text + "[run]\nwarmup = \"20ms\"\nmeasure = \"60ms\"\n"))
}

/// Three ports with long flows leave B / (1 + 3 alpha) of 300 kB, and the incast sends 90 kB. A
/// dynamic threshold grants it alpha B / (1 + 4 alpha).
#[test]
fn an_incast_of_short_flows_loses_less_than_with_dynamic_thresholds() {
    for alpha in [0.125, 0.25, 0.5] {
        let (fab, dynamic) = (incast("threshold = \"fab\"", alpha), incast("", alpha));
        let (with, without) = (loss(&fab, "servers"), loss(&dynamic, "servers"));
        assert_eq!(with, 0.0, "{alpha}");
        assert!(without > 0.1, "{alpha}: {without}");
        // Long flows still fill their links.
        for link in fab.links.iter().filter(|link| link.name != "port0") {
            let busy = link.metrics[&Metric::Utilization].mean;
            assert!(busy > 0.97, "{alpha} {}: {busy}", link.name);
        }
    }
}

/// Apart from the keys, the reports are the same.
#[test]
fn with_equal_alphas_fab_is_a_dynamic_threshold() {
    for alpha in [0.25, 1.0, 8.0] {
        let keys = format!("threshold = \"fab\"\nshort_alpha = {alpha:?}\nshort_flow = \"9kB\"");
        let mut reports = [incast(&keys, alpha), incast("", alpha)];
        assert!(value(&reports[0], Metric::LossRate) > 0.0, "{alpha}");
        for report in &mut reports {
            report.scenario_sha256.clear();
            report.cost.cpu_s = 0.0;
        }
        let [fab, dynamic] = reports.map(|report| format!("{report:?}"));
        assert_eq!(fab, dynamic, "{alpha}");
    }
}

#[test]
fn keys_of_short_flows_must_fit_the_threshold() {
    let parse = |memory: &str, alpha: &str| {
        let text = format!(
            "[[memories]]\nname = \"chip\"\nsize = \"9p\"\n{memory}\n[link]\nrate = \"1Mbps\"\n\
             buffer = \"1p\"\nmemory = \"chip\"\n{alpha}\n[[flows]]\nrtt = \"1ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "test", &[])
    };
    let fab = "threshold = \"fab\"\n";
    for (memory, alpha, said) in [
        ("short_alpha = 8", "", "only with `threshold = \"fab\"`"),
        ("short_flow = \"21kB\"", "", "only with `threshold"),
        (
            "threshold = \"abm\"\nshort_idle = \"5ms\"",
            "",
            "short_idle",
        ),
        ("threshold = \"fab\"\nshort_alpha = 0", "", "short_alpha"),
        ("threshold = \"fab\"\nshort_flow = \"0B\"", "", "short_flow"),
        (
            "threshold = \"fab\"\nshort_idle = \"-1s\"",
            "",
            "short_idle",
        ),
        (
            "threshold = \"fab\"\nshort_alpha = 0.5",
            "memory_alpha = 2",
            "link.memory_alpha: found 2; allowed: at most 0.5, `short_alpha` of `chip`",
        ),
    ] {
        let error = parse(memory, alpha).expect_err("a mistake").to_string();
        assert!(
            error.contains(said) && error.starts_with("test:") && error.lines().count() == 1,
            "{error}"
        );
    }
    // Equal alphas are allowed, and so is a link without alpha.
    for (short, alpha) in [("short_alpha = 2", "memory_alpha = 2"), ("", "")] {
        let scenario = parse(&format!("{fab}{short}"), alpha).expect("a scenario");
        let json = scenario.canonical_json();
        let again = Scenario::parse(&json, Format::Json, "test", &[]).expect("a scenario");
        assert_eq!(again, scenario);
    }
}
