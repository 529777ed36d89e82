//! Links whose delay changes.

use forebay_scenario::{Metric, Report};

use super::{of_group, run, value};

/// One flow over a link with this delay.
fn report(delay: &str, more: &str, queue: &str) -> Report {
    run(&format!(
        r#"
        [link]
        rate = "100Mbps"
        buffer = "1000p"
        delay = {delay}
        queue = "{queue}"
        [[flows]]
        rtt = "20ms"
        {more}
        [run]
        warmup = "10s"
        measure = "20s"
        "#
    ))
}

const WINDOW: &str = "receive_window = \"40p\"";

const FALLING: &str = r#"steps = [["0s", "25ms"], ["5s", "5ms"]], repeat = "10s""#;

/// A sender sends one window in each round trip: in `rtt` where the delay is at its shortest, and
/// in a round trip that is longer by the added delay elsewhere.
#[test]
fn a_window_is_sent_in_each_round_trip() {
    for queue in ["droptail", "codel"] {
        let constant = of_group(&report("\"5ms\"", WINDOW, queue), 0, Metric::Goodput);
        let longer = of_group(&report("\"5ms\"", WINDOW, queue), 0, Metric::Goodput) / 2.0;
        let changing = report(&format!("{{ {FALLING}, in_order = true }}"), WINDOW, queue);
        let found = of_group(&changing, 0, Metric::Goodput);
        let mean = f64::midpoint(constant, longer);
        assert!(
            (found / mean - 1.0).abs() < 0.01,
            "{queue}: {found} of {mean}"
        );
        assert_eq!(value(&changing, Metric::LossRate), 0.0);
        // The bandwidth-delay product uses the average round trip, 30 ms.
        let bdp = changing.buffer.bdp.unwrap();
        assert!(
            (bdp - 1000.0 * 1500.0 / (100e6 / 8.0 * 0.03)).abs() < 1e-6,
            "{bdp}"
        );
    }
}

/// Where the delay falls by 20 ms what is sent then arrives before what was sent in the 20 ms
/// before: a sender that counts duplicate acknowledgments takes that for losses.
#[test]
fn packets_overtake_unless_they_are_in_order() {
    let sent = |order: &str, more: &str| {
        let report = report(&format!("{{ {FALLING}{order} }}"), more, "droptail");
        assert_eq!(value(&report, Metric::LossRate), 0.0);
        of_group(&report, 0, Metric::Retransmissions)
    };
    let reno = "cca = \"newreno\"\nreceive_window = \"300p\"";
    assert_eq!(sent(", in_order = true", reno), 0.0);
    assert!(sent("", reno) > 0.0);
}

/// Nothing is lost or made on the way, and every transfer ends, however delays change.
#[test]
fn transfers_end_however_delays_change() {
    for delay in [
        r#"{ steps = [["0s", "0s"], ["3ms", "9ms"], ["5ms", "1ms"]], repeat = "11ms" }"#,
        r#"{ steps = [["0s", "30ms"], ["1s", "0s"]], repeat = "2s" }"#,
        r#"{ steps = [["0s", "30ms"], ["1s", "0s"]], repeat = "2s", in_order = true }"#,
    ] {
        for more in [
            "cca = \"newreno\"",
            "recovery = \"sack\"",
            "recovery = \"rack\"",
            "cca = \"bbr\"",
        ] {
            let workload = format!(
                "{more}\nworkload = {{ closed_loop = {{ users = 3, size = \"60kB\", think = \"1ms\" }} }}"
            );
            let found = report(delay, &workload, "droptail");
            assert!(
                found.groups[0]
                    .completions
                    .as_ref()
                    .is_some_and(|done| done.completed > 50),
                "{delay} {more}"
            );
        }
    }
}
