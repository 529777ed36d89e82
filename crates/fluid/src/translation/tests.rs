//! Tests of background variances by quadrature of the correlation, and of thresholds in every unit.

use forebay_scenario::Format;

use super::*;

fn read(link: &str, flows: &str, fluid: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"80Mbps\"\nbuffer = \"200p\"\n{link}\n[[flows]]\nrtt = \"40ms\"\npacket = \"1000B\"\n\
         [[flows]]\npacket = \"500B\"\n{flows}\n{fluid}\n"
    );
    Scenario::parse(&text, Format::Toml, "test.toml", &[])
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn moments(flows: &str, interval_s: f64) -> (f64, f64) {
    let fluid = format!("[fluid]\nbackground = {{ redrawn = \"{interval_s}s\" }}");
    let scenario = read("", flows, &fluid);
    background_moments(&scenario, &scenario.flows()[1], 0)
}

/// The variance of a time average is that of the state times the mean correlation over all pairs of
/// instants. This mean is (2 / T^2) times the integral of (T - t) exp(-t / tau).
#[test]
fn averages_of_on_off_sources_vary_as_their_correlation_says() {
    for (count, on, off) in [(1.0, 0.4, 0.6), (7.0, 2.0, 0.5), (300.0, 0.01, 0.03)] {
        let flows = format!(
            "count = {count}\nworkload = {{ on_off = {{ peak = \"800kbps\", on = \"{on}s\", off = \"{off}s\" }} }}"
        );
        let (share, tau) = (on / (on + off), on * off / (on + off));
        // Packets of the link have 1000 bytes: 100 in a second.
        let state = count * 100.0 * 100.0 * share * (1.0 - share);
        for interval in [1e-5, 0.01, 0.3, 1.0, 20.0] {
            let (mean, variance) = moments(&flows, interval);
            assert!(
                (mean / (count * 100.0 * share) - 1.0).abs() < 1e-9,
                "{count} {mean}"
            );
            let n = 20_000;
            let sum: f64 = (0..n)
                .map(|k| (f64::from(k) + 0.5) / f64::from(n))
                .map(|x| (1.0 - x) * libm::exp(-x * interval / tau))
                .sum();
            let expected = 2.0 * state * sum / f64::from(n);
            assert!(
                (variance / expected - 1.0).abs() < 1e-3,
                "{count} {interval} {variance} {expected}"
            );
        }
    }
    // The counts of a Poisson stream have their mean as variance; two of its packets equal one of
    // the link's.
    for interval in [0.01, 1.0] {
        let (mean, variance) = moments("workload = { poisson = { rate = \"8Mbps\" } }", interval);
        assert!((mean - 1000.0).abs() < 1e-6, "{mean}");
        // The stream has 2000 small packets a second, each half a packet of the link.
        assert!(
            (variance / (2000.0 * 0.25 / interval) - 1.0).abs() < 1e-9,
            "{variance}"
        );
    }
    let (mean, variance) = moments("workload = { cbr = { rate = \"8Mbps\" } }", 0.1);
    assert!((mean - 1000.0).abs() < 1e-6 && variance == 0.0);
}

/// A threshold is the same in each unit.
#[test]
fn thresholds_are_the_same_in_every_unit() {
    let red = |min: &str, max: &str| {
        let queue = format!(
            "queue = {{ kind = \"red\", min = \"{min}\", max = \"{max}\", adaptive = false }}"
        );
        let scenario = read(&queue, "workload = { poisson = { rate = \"1Mbps\" } }", "");
        let capacity = 80e6 / 8000.0;
        super::red(&scenario, scenario.target(), (capacity, 200.0))
    };
    let packets = red("50p", "150p");
    assert_eq!((packets.curve.min, packets.curve.max), (50.0, 150.0));
    // The link serves 10000 packets of 1000 bytes a second.
    for (min, max) in [("25%", "75%"), ("50kB", "150kB"), ("5ms", "15ms")] {
        let same = red(min, max);
        assert!(
            (same.curve.min - 50.0).abs() < 1e-9 && (same.curve.max - 150.0).abs() < 1e-9,
            "{min} {same:?}"
        );
        assert_eq!(same.follow, packets.follow);
    }
}

/// The average follows the queue by the weight at each packet: after a second the rest of a step is
/// (1 - w)^C.
#[test]
fn a_weight_is_a_rate_of_following() {
    for weight in [0.002, 0.1, 0.5] {
        let queue = format!(
            "queue = {{ kind = \"red\", min = \"50p\", max = \"150p\", weight = {weight} }}"
        );
        let scenario = read(&queue, "workload = { poisson = { rate = \"1Mbps\" } }", "");
        let follow = red(&scenario, scenario.target(), (40.0, 200.0)).follow;
        let rest = libm::pow(1.0 - weight, 40.0);
        assert!(
            (libm::exp(-follow) / rest - 1.0).abs() < 1e-9,
            "{weight} {follow}"
        );
    }
}
