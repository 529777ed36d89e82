//! Ports of a switch that share a memory.

use std::fmt::Write as _;

use forebay_scenario::{Format, Metric, Report, Scenario};

use super::{run, scenario, value};

/// `ports` links of 100 Mb/s, of which the first `overloaded` get 150 and the others nothing much.
fn switch(ports: usize, overloaded: usize, queue: &str) -> Report {
    switch_with(ports, overloaded, queue, ("", ""))
}

/// The same with keys of the memory and of each link.
fn switch_with(
    ports: usize,
    overloaded: usize,
    queue: &str,
    (of_memory, of_link): (&str, &str),
) -> Report {
    let mut text = format!("[[memories]]\nname = \"chip\"\nsize = \"600p\"\n{of_memory}\n");
    for port in 0..ports {
        let target = if port == 0 { "target = true\n" } else { "" };
        let rate = if port < overloaded { 150 } else { 10 };
        let _ = write!(
            text,
            r#"
[[links]]
name = "port{port}"
rate = "100Mbps"
buffer = "100000p"
memory = "chip"
queue = {queue}
{of_link}
{target}
[[flows]]
name = "flood{port}"
packet = "1250B"
path = ["port{port}"]
workload = {{ poisson = {{ rate = "{rate}Mbps" }} }}
"#
        );
    }
    run(&(text + "[run]\nwarmup = \"2s\"\nmeasure = \"10s\"\n"))
}

/// Choudhury and Hahne: each of S overloaded ports holds alpha B / (1 + alpha S).
#[test]
fn overloaded_ports_hold_what_the_threshold_lets_them() {
    for (alpha, overloaded) in [(1.0, 1), (1.0, 2), (1.0, 4), (0.5, 2), (8.0, 2)] {
        let report = switch(
            5,
            overloaded,
            &format!("{{ kind = \"dynamic_threshold\", alpha = {alpha:?} }}"),
        );
        let s = overloaded as f64;
        let theory = alpha * 600.0 / (1.0 + alpha * s);
        let queue = value(&report, Metric::QueueMean);
        // A departure leaves one place free until the next arrival.
        assert!(
            (queue / theory - 1.0).abs() < 0.02,
            "{alpha} {overloaded}: {queue} {theory}"
        );
        let quiet = report.links.last().expect("more ports");
        assert_eq!(quiet.metrics[&Metric::LossRate].mean, 0.0);
    }
}

/// A threshold of the memory limits the queue of any discipline as `dynamic_threshold` does.
#[test]
fn queues_of_any_discipline_hold_what_a_threshold_lets_them() {
    let queues = [
        "\"droptail\"",
        "\"drophead\"",
        r#"{ kind = "step", threshold = "50p" }"#,
    ];
    for (alpha, overloaded) in [(1.0, 1), (0.5, 2), (8.0, 2)] {
        let keys = format!("memory_alpha = {alpha:?}");
        let theory = alpha * 600.0 / (1.0 + alpha * overloaded as f64);
        for queue in queues {
            let report = switch_with(5, overloaded, queue, ("", &keys));
            let held = value(&report, Metric::QueueMean);
            assert!(
                (held / theory - 1.0).abs() < 0.02,
                "{queue} {alpha} {overloaded}: {held} {theory}"
            );
            let quiet = report.links.last().expect("more ports");
            assert_eq!(quiet.metrics[&Metric::LossRate].mean, 0.0);
        }
    }
}

/// ABM: all congested queues together hold alpha B / (1 + alpha), however many there are.
#[test]
fn congested_queues_share_what_abm_grants_all_of_them() {
    for (alpha, overloaded) in [(1.0, 1), (1.0, 3), (0.5, 4), (4.0, 2)] {
        let keys = format!("memory_alpha = {alpha:?}");
        let of_memory = "threshold = \"abm\"";
        let report = switch_with(6, overloaded, "\"droptail\"", (of_memory, &keys));
        let theory = alpha / (1.0 + alpha) * 600.0 / overloaded as f64;
        let held = value(&report, Metric::QueueMean);
        assert!(
            (held / theory - 1.0).abs() < 0.05,
            "{alpha} {overloaded}: {held} {theory}"
        );
    }
}

/// A guarantee keeps a part of the memory for each port, and the others share the rest.
#[test]
fn a_guarantee_is_free_for_its_port_alone() {
    let report = switch_with(3, 1, "\"droptail\"", ("", "memory_reserved = \"20p\""));
    let busy = value(&report, Metric::QueueMean);
    // It has its own 20 packets, and all of the shared 540.
    assert!((555.0..=560.0).contains(&busy), "{busy}");
    for quiet in &report.links[1..] {
        assert_eq!(quiet.metrics[&Metric::LossRate].mean, 0.0);
    }
}

#[test]
fn thresholds_and_guarantees_must_fit_their_memory() {
    let parse = |memory: &str, link: &str| {
        let text = format!(
            "{memory}[link]\nrate = \"1Mbps\"\nbuffer = \"1p\"\n{link}\n[[flows]]\nrtt = \"1ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "test", &[])
            .expect_err("a mistake")
            .to_string()
    };
    let memory = "[[memories]]\nname = \"chip\"\nsize = \"9p\"\n";
    for (keys, said) in [
        ("memory_alpha = 1", "only with `memory`"),
        ("memory_reserved = \"1p\"", "only with `memory`"),
        ("memory = \"chip\"\nmemory_alpha = 0", "memory_alpha"),
        ("memory = \"chip\"\nmemory_reserved = \"10p\"", "at most 9p"),
        (
            "memory = \"chip\"\nmemory_reserved = \"1kB\"",
            "the unit of the memory's size, 9p",
        ),
    ] {
        let error = parse(memory, keys);
        assert!(
            error.contains(said) && error.starts_with("test:"),
            "{error}"
        );
    }
}

/// Without thresholds the memory is full and a quiet port loses as well.
#[test]
fn complete_sharing_lets_one_port_take_it_all() {
    for queue in ["\"droptail\"", "\"drophead\""] {
        let report = switch(3, 1, queue);
        let quiet = &report.links[1].metrics;
        let queue_mean = value(&report, Metric::QueueMean);
        assert!((590.0..600.0).contains(&queue_mean), "{queue} {queue_mean}");
        // It loses what must wait: a tenth of its packets find the link busy.
        let loss = quiet[&Metric::LossRate].mean;
        assert!((0.01..0.1).contains(&loss), "{queue} {loss}");
    }
}

#[test]
fn a_memory_must_exist_and_have_a_size() {
    let parse = |text: &str| {
        Scenario::parse(text, Format::Toml, "test", &[])
            .expect_err("a mistake")
            .to_string()
    };
    let link =
        "[link]\nrate = \"1Mbps\"\nbuffer = \"1p\"\nmemory = \"chip\"\n[[flows]]\nrtt = \"1ms\"\n";
    assert!(parse(link).contains("memories"));
    let other = format!("{link}[[memories]]\nname = \"other\"\nsize = \"1MB\"\n");
    assert!(parse(&other).contains("other"));
    for size in ["1s", "1BDP", "x", "1e300p"] {
        let text = format!("{link}[[memories]]\nname = \"chip\"\nsize = \"{size}\"\n");
        assert!(parse(&text).contains("12MB"), "{size}");
    }
    let right = format!("{link}[[memories]]\nname = \"chip\"\nsize = \"1MB\"\n");
    let scenario = scenario::<&str>(&right, &[]);
    // The canonical form reads back as the same scenario.
    let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "test", &[]);
    assert_eq!(again.expect("a scenario"), scenario);
}
