//! Ports of a switch that share a memory.

use std::fmt::Write as _;

use forebay_scenario::{Format, Metric, Report, Scenario};

use super::{run, scenario, value};

/// `ports` links of 100 Mb/s, of which the first `overloaded` get 150 and the others nothing much.
fn switch(ports: usize, overloaded: usize, queue: &str) -> Report {
    let mut text = "[[memories]]\nname = \"chip\"\nsize = \"600p\"\n".to_owned();
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
