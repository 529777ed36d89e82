//! If unresponsive traffic exceeds the capacity of the link, all flows wait for their timers. The
//! run still ends, soon and with a result.

use forebay_fluid::FluidEngine;
use forebay_scenario::{Engine, Format, Metric, RunOptions, Scenario};

#[test]
fn a_run_ends_where_only_the_background_is_left_to_drop() {
    let mut runs = 0;
    for queue in ["droptail", "red", "{ kind = \"red\", gentle = false }"] {
        for buffer in ["0p", "50p", "1000000000000p"] {
            for rate in ["900kbps", "1Mbps", "9Mbps"] {
                let queue = if queue.starts_with('{') {
                    queue.to_owned()
                } else {
                    format!("\"{queue}\"")
                };
                let text = format!(
                    "[link]\nrate = \"1Mbps\"\nbuffer = \"{buffer}\"\nqueue = {queue}\n\
                     [[flows]]\ncount = 2\nrtt = \"20ms\"\nstart = {{ uniform = [\"0s\", \"500ms\"] }}\n\
                     [[flows]]\nworkload = {{ cbr = {{ rate = \"{rate}\" }} }}\n\
                     [run]\nwarmup = \"0s\"\nmeasure = \"20s\"\n"
                );
                let scenario = Scenario::parse(&text, Format::Toml, "silence", &[]).unwrap();
                let report = FluidEngine.run(&scenario, &RunOptions::default());
                let report = report.unwrap_or_else(|error| panic!("{error}\n{text}"));
                assert!(
                    report.cost.events < 200_000,
                    "{} steps\n{text}",
                    report.cost.events
                );
                let goodput = report.value(Metric::Goodput).unwrap();
                let carried = 1e6 * report.value(Metric::Utilization).unwrap();
                assert!(goodput <= carried * (1.0 + 1e-9), "{goodput}\n{text}");
                runs += 1;
            }
        }
    }
    assert_eq!(runs, 27);
}

/// Accepted packets that are still in a queue have not been delivered.
#[test]
fn no_more_is_delivered_than_the_links_have_carried() {
    for measure in ["100ms", "1s", "2s", "10s"] {
        for (first, second, queue) in [
            ("1Mbps", "10Mbps", "droptail"),
            ("10Mbps", "1Mbps", "droptail"),
            ("10Mbps", "10Mbps", "droptail"),
            ("10Mbps", "10Mbps", "red"),
            ("9Mbps", "10Mbps", "red"),
        ] {
            let text = format!(
                "[[links]]\nname = \"a\"\nrate = \"{first}\"\nbuffer = \"50p\"\nqueue = \"{queue}\"\n\
                 [[links]]\nname = \"b\"\nrate = \"{second}\"\nbuffer = \"50p\"\nqueue = \"{queue}\"\ntarget = true\n\
                 [[flows]]\ncount = 7\nrtt = \"20ms\"\npath = [\"a\", \"b\"]\n\
                 [run]\nwarmup = \"0s\"\nmeasure = \"{measure}\"\n"
            );
            let scenario = Scenario::parse(&text, Format::Toml, "short", &[]).unwrap();
            let report = FluidEngine.run(&scenario, &RunOptions::default()).unwrap();
            let goodput = report.value(Metric::Goodput).unwrap();
            let rate = |link: usize| scenario.links()[link].rate.as_bits_per_second() as f64;
            let used = report.value(Metric::Utilization).unwrap();
            let other = report.links[0].metrics[&Metric::Utilization].mean;
            for carried in [other * rate(0), used * rate(1)] {
                assert!(
                    goodput <= carried * (1.0 + 1e-9),
                    "{goodput} of {carried}\n{text}"
                );
            }
        }
    }
}

/// An event in the middle of a step delimits the measurement, and the step belongs to one side of
/// it.
#[test]
fn no_link_carries_more_than_it_can_between_two_events() {
    for queue in ["droptail", "red"] {
        for target in ["a", "b"] {
            for seed in 0..20 {
                let link = |name: &str| {
                    let target = target == name;
                    format!(
                        "[[links]]\nname = \"{name}\"\nrate = \"10Mbps\"\nbuffer = \"50p\"\n\
                         queue = \"{queue}\"\ntarget = {target}\n"
                    )
                };
                let text = format!(
                    "{}{}[[flows]]\ncount = 20\npath = [\"a\", \"b\"]\nrtt = {{ choice = [\"5ms\", \"7ms\"] }}\n\
                     receive_window = \"1p\"\n[run]\nwarmup = \"0s\"\nmeasure = \"2s\"\nseed = {seed}\n",
                    link("a"),
                    link("b")
                );
                let scenario = Scenario::parse(&text, Format::Toml, "short", &[]).unwrap();
                let report = FluidEngine
                    .run(&scenario, &RunOptions::default())
                    .unwrap_or_else(|error| panic!("{error}\n{text}"));
                let used = report.value(Metric::Utilization).unwrap();
                assert!(used <= 1.0 + 1e-9, "{used}\n{text}");
            }
        }
    }
}
