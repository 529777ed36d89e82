//! Distributions of quantities: every key of a scenario that reads one. The known properties of
//! each are compared with draws.

use forebay_random::{Purpose, Seed, Stream};
use forebay_scenario::{Distribution, Format, Quantity, Scenario, Workload};
use forebay_units::Time;

use crate::{check_scenario, check_sentence, text};

/// The keys that have a distribution, each in a group of its own; `@` marks the distribution.
const PLACES: [&str; 17] = [
    "rtt = @",
    "rtt = { common = @ }",
    "rtt = \"20ms\"\nstart = @",
    "rtt = \"20ms\"\nstop = @",
    "rtt = \"20ms\"\npacket = @",
    "count = 3\nrtt = @",
    "rtt = \"20ms\"\nworkload = { finite = { size = @ } }",
    "rtt = \"20ms\"\nworkload = { closed_loop = { users = 3, think = @, size = \"9kB\" } }",
    "rtt = \"20ms\"\nworkload = { closed_loop = { users = 3, think = \"1s\", size = @ } }",
    "rtt = \"20ms\"\nworkload = { periodic = { every = @, size = \"9kB\" } }",
    "rtt = \"20ms\"\nworkload = { open_loop = { interarrival = @, size = \"9kB\" } }",
    "rtt = \"20ms\"\nworkload = { open_loop = { load = 0.5, size = @ } }",
    "rtt = \"20ms\"\nworkload = { incast = { servers = 3, pause = @, size = \"9kB\" } }",
    "rtt = \"20ms\"\nworkload = { incast = { servers = 3, pause = \"1s\", delay = @, size = \"9kB\" } }",
    "workload = { on_off = { peak = \"1Mbps\", on = @, off = \"1s\" } }",
    "workload = { on_off = { peak = \"1Mbps\", on = \"1s\", off = @ } }",
    "count = @\nrtt = \"20ms\"",
];

/// Reads a distribution: the first byte selects the key, the others are the text.
pub(crate) fn feed(bytes: &[u8]) {
    let Some((place, distribution)) = bytes.split_first() else {
        return;
    };
    let Some(distribution) = text(distribution) else {
        return;
    };
    if distribution.contains('\n') {
        return;
    }
    let group = PLACES[usize::from(*place) % PLACES.len()].replace('@', distribution);
    let whole = format!(
        "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n[[flows]]\n{group}\n[run]\nwarmup = \"1s\"\nmeasure = \"1s\"\n"
    );
    match Scenario::parse(&whole, Format::Toml, "law", &[]) {
        Ok(scenario) => {
            check_scenario(&scenario);
            check_laws(&scenario);
        }
        Err(error) => check_sentence(&error.to_string()),
    }
}

/// Checks all distributions of a scenario.
pub(crate) fn check_laws(scenario: &Scenario) {
    for group in scenario.flows() {
        let count = group.count;
        check(&group.rtt, count);
        check(&group.packet, count);
        check(&group.start, count);
        group
            .stop
            .iter()
            .for_each(|distribution| check(distribution, count));
        match &group.workload {
            Workload::Finite { size } => check(size, count),
            Workload::ClosedLoop { think, size, .. } => {
                check(think, 1);
                check(size, 1);
            }
            Workload::Periodic { every, size } => {
                check(every, 1);
                check(size, 1);
            }
            Workload::OpenLoop { interarrival, size } => {
                check(interarrival, 1);
                check(size, 1);
            }
            Workload::Incast {
                pause, delay, size, ..
            } => {
                check(pause, 1);
                check(delay, 1);
                check(size, 1);
            }
            Workload::AllToAll { size, pause } => {
                check(size, 1);
                check(pause, 1);
            }
            Workload::RingAllReduce { pause, .. } => check(pause, 1),
            Workload::OnOff { on, off, .. } => {
                check(on, 1);
                check(off, 1);
                check_under_way(on);
                check_under_way(off);
            }
            _ => {}
        }
    }
}

fn stream() -> Stream {
    let seed = Seed {
        seed: 1,
        replication: 0,
    };
    Stream::new(seed, 0, Purpose::FlowCount)
}

/// Checks the known properties of a distribution. Its mean lies between its bounds, its harmonic
/// mean below its mean, and every draw between its bounds.
fn check<T: Quantity>(distribution: &Distribution<T>, count: u64) {
    let (least, mean, most) = (
        distribution.infimum(),
        distribution.mean(),
        distribution.supremum(),
    );
    let near = |x: f64| x.abs() * 1e-9 + 1e-11;
    assert!(
        least >= 0.0 && least.is_finite(),
        "{distribution:?}: {least}"
    );
    assert!(
        mean >= least - near(least),
        "{distribution:?}: {mean} of {least}"
    );
    assert!(
        mean <= most + near(most),
        "{distribution:?}: {mean} of {most}"
    );
    let inverse = distribution.mean_inverse(count);
    assert!(inverse >= 0.0, "{distribution:?}: {inverse}");
    // Jensen: 1 / E[X] <= E[1/X] <= 1 / least. Some distributions are represented by points, which
    // miss a few hundredths of a percent of the tail in the mean. One flow of a linspace has its
    // beginning, which is not the mean of many.
    let differs = match distribution {
        Distribution::Mixture(_) | Distribution::Jitter { .. } => true,
        Distribution::Linspace(..) => count == 1,
        _ => false,
    };
    let exact = mean.is_finite() && mean > 0.0 && !differs;
    assert!(
        !exact || inverse * mean >= 0.9,
        "{distribution:?}: 1 / {inverse} of {mean}"
    );
    assert!(
        least == 0.0 || inverse * least <= 1.0 + 1e-6,
        "{distribution:?}: {inverse} of {least}"
    );
    let points = distribution.representatives(count);
    assert!(!points.is_empty(), "{distribution:?}");
    let slack = |x: f64| near(x) + 1.0;
    for point in points {
        assert!(
            point >= least - near(least) && point <= most + near(most),
            "{distribution:?}: {point}"
        );
    }
    let (mut stream, mut again) = (stream(), stream());
    for index in 0..count.min(64) {
        let drawn = distribution.draw(index, count, &mut stream);
        assert_eq!(
            drawn,
            distribution.draw(index, count, &mut again),
            "{distribution:?}"
        );
        let value = drawn.to_real();
        // Sizes are rounded up to whole bytes.
        assert!(
            value >= least - near(least) && value <= most + slack(most),
            "{distribution:?}: {value}"
        );
    }
}

/// Checks a period in progress: its elapsed and remaining parts add up to a length within the
/// bounds of a draw.
fn check_under_way(distribution: &Distribution<Time>) {
    if !distribution.mean().is_finite() {
        return;
    }
    let mut stream = stream();
    for _ in 0..16 {
        let found = distribution.under_way(0, 1, &mut stream);
        let length = found.elapsed.as_secs_f64() + found.left.as_secs_f64();
        let (least, most) = (distribution.infimum(), distribution.supremum());
        assert!(
            length >= least * (1.0 - 1e-9) - 1e-11 && length <= most * (1.0 + 1e-9) + 1e-11,
            "{distribution:?}: {found:?}"
        );
    }
}
