//! Tests of the conversion: units, sums over groups, and the balance of flows.

use forebay_scenario::Format;
use proptest::prelude::*;

use super::*;

fn read(toml: &str) -> Situation {
    let scenario = Scenario::parse(toml, Format::Toml, "test.toml", &[]);
    Situation::new(&scenario.unwrap_or_else(|error| panic!("{error}\n{toml}")))
}

/// A link of 50 Mb/s, on which a packet of 1000 bytes takes 160 us, with these groups of flows.
fn link(groups: &[String]) -> Situation {
    let groups = groups.iter().enumerate().map(|(number, body)| {
        format!("[[flows]]\nname = \"g{number}\"\npacket = \"1000B\"\n{body}\n")
    });
    let groups: String = groups.collect();
    read(&format!(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n{groups}"
    ))
}

fn near(ours: f64, theirs: f64) -> bool {
    ours == theirs || (ours - theirs).abs() <= 1e-9 * theirs.abs()
}

/// Every kind of group that loads a link. Rates are `faster` times as high, durations as much
/// shorter, and packets and transfers `larger` times as large.
fn groups(faster: u64, larger: u64) -> Vec<String> {
    let rate = |kbps: u64| format!("\"{}kbps\"", kbps * faster * larger);
    let time = |us: u64| format!("\"{}us\"", us / faster);
    let size = |bytes: u64| format!("\"{}B\"", bytes * larger);
    let rtt = format!("rtt = {}", time(40_000));
    let law = |mean: &str| format!("{{ exponential = {mean} }}");
    let groups = [
        format!(
            "count = 3\nrtt = {{ linspace = [{}, {}] }}",
            time(40_000),
            time(80_000)
        ),
        format!("count = 4\n{rtt}\nreceive_window = \"2p\"\ncca = \"cubic\""),
        format!("count = 5\n{rtt}\naccess = {{ rate = {} }}", rate(400)),
        format!(
            "{rtt}\nworkload = {{ open_loop = {{ rate = {}, size = {} }} }}",
            rate(3000),
            law(&size(3_000_000))
        ),
        format!(
            "{rtt}\nworkload = {{ open_loop = {{ load = 0.05, size = {} }} }}",
            size(4000)
        ),
        format!(
            "{rtt}\nworkload = {{ open_loop = {{ interarrival = {}, size = {} }} }}",
            law(&time(40_000)),
            size(9000)
        ),
        format!(
            "{rtt}\nworkload = {{ closed_loop = {{ users = 8, think = {}, size = {} }} }}",
            time(4_000_000),
            size(2_000_000)
        ),
        format!(
            "count = 2\n{rtt}\nworkload = {{ periodic = {{ every = {}, size = {} }} }}",
            time(8_000_000),
            size(1_000_000)
        ),
        format!(
            "{rtt}\nworkload = {{ incast = {{ servers = 4, pause = {}, size = {} }} }}",
            time(400_000),
            size(9000)
        ),
        format!(
            "count = 3\n{rtt}\nworkload = {{ app_limited = {{ rate = {} }} }}",
            rate(900)
        ),
        format!("workload = {{ poisson = {{ rate = {} }} }}", rate(800)),
        format!(
            "count = 7\nworkload = {{ cbr = {{ rate = {} }} }}",
            rate(700)
        ),
        format!(
            "count = 2\nworkload = {{ on_off = {{ peak = {}, on = {}, off = {} }} }}",
            rate(6000),
            time(40_000),
            time(400_000)
        ),
    ];
    let common = format!("packet = {}\nheader = {}\n", size(1000), size(40));
    groups
        .iter()
        .enumerate()
        .map(|(n, body)| format!("[[flows]]\nname = \"g{n}\"\n{common}{body}\n"))
        .collect()
}

fn scaled(faster: u64, larger: u64, chosen: &dyn Fn(usize) -> bool) -> Situation {
    let rate = 40_000 * faster * larger;
    let chosen = groups(faster, larger)
        .into_iter()
        .enumerate()
        .filter(|(n, _)| chosen(*n));
    let groups: String = chosen.map(|(_, group)| group).collect();
    read(&format!(
        "[link]\nrate = \"{rate}kbps\"\nbuffer = \"50p\"\n{groups}"
    ))
}

/// The figures without a unit. They are the same on a link twice as fast if all times are half as
/// long.
fn numbers(s: &Situation) -> Vec<f64> {
    let mut all = vec![
        s.buffer,
        s.persistent,
        s.bottlenecked,
        s.held_down,
        s.sources,
        s.slow_share,
        s.background,
        s.open_loop,
        s.closed_loop,
        s.long_transfers,
        s.core_access.unwrap_or(-1.0),
        s.core_limits.unwrap_or(-1.0),
        s.saturation,
        s.largest_window.unwrap_or(-1.0),
        s.other_links as f64,
        s.capacity_pps * s.rtt_s.unwrap_or(0.0),
    ];
    for cca in ["newreno", "cubic"] {
        all.push(s.mix.share(|part| part.controller() == cca));
    }
    all.push(
        s.mix
            .share(|part| part.core_access.is_some_and(|ratio| ratio >= 100.0)),
    );
    all.extend(
        s.flows
            .iter()
            .map(|class| class.flows * class.rtt_s * s.capacity_pps),
    );
    all
}

#[test]
fn figures_without_a_unit_do_not_depend_on_units() {
    let every = 0..groups(1, 1).len();
    for without in every.clone().chain([usize::MAX]) {
        for alone in [false, true] {
            // Finite transfers and the like alone have no figure that could differ.
            let chosen = |n: usize| if alone { n == without } else { n != without };
            if alone && without == usize::MAX {
                continue;
            }
            let base = scaled(1, 1, &chosen);
            for (faster, larger) in [(8, 1), (1, 8), (4, 2)] {
                let other = scaled(faster, larger, &chosen);
                let (ours, theirs) = (numbers(&other), numbers(&base));
                let same = ours.len() == theirs.len()
                    && ours.iter().zip(&theirs).all(|(a, b)| near(*a, *b));
                assert!(
                    same,
                    "{without} {alone} {faster} {larger}\n{ours:?}\n{theirs:?}"
                );
                assert!(near(other.capacity_pps, base.capacity_pps * faster as f64));
            }
        }
    }
}

/// A flow is slow if it sends at most at a tenth of the link's rate, whatever limits its rate.
#[test]
fn a_tenth_of_the_link_is_slow() {
    let kinds: [&dyn Fn(u64) -> String; 5] = [
        &|kbps| {
            format!(
                "count = 3\nworkload = {{ cbr = {{ rate = \"{}kbps\" }} }}",
                3 * kbps
            )
        },
        &|kbps| {
            format!(
                "count = 3\nworkload = {{ on_off = {{ peak = \"{kbps}kbps\", on = \"1s\", off = \"2s\" }} }}"
            )
        },
        &|kbps| {
            format!(
                "count = 3\nrtt = \"20ms\"\nworkload = {{ app_limited = {{ rate = \"{kbps}kbps\" }} }}"
            )
        },
        &|kbps| {
            format!(
                "rtt = \"20ms\"\naccess = {{ rate = \"{kbps}kbps\" }}\n\
                 workload = {{ open_loop = {{ load = 0.3, size = \"90kB\" }} }}"
            )
        },
        // The window in packets of 8000 bits per round trip gives the rate.
        &|kbps| {
            format!(
                "count = 3\nrtt = \"800ms\"\nreceive_window = \"{}p\"",
                kbps / 10
            )
        },
    ];
    for (number, kind) in kinds.iter().enumerate() {
        for (kbps, share) in [
            (10, 1.0),
            (2500, 1.0),
            (5000, 1.0),
            (5010, 0.0),
            (9000, 0.0),
        ] {
            assert_eq!(link(&[kind(kbps)]).slow_share, share, "{number} {kbps}");
        }
        // Beside as much Poisson traffic, in which no flow sends bursts, it is a part of the load.
        let fast = link(&[
            kind(9000),
            "workload = { poisson = { rate = \"10Mbps\" } }".to_owned(),
        ]);
        let all = fast.offered_load();
        assert!(
            (fast.slow_share - 0.2 / all).abs() < 1e-8,
            "{number} {} {all}",
            fast.slow_share
        );
    }
}

/// Equal flows count as that number of sources. Flows of unequal loads count as fewer, and Poisson
/// arrivals in addition as more.
#[test]
fn equal_flows_are_so_many_sources() {
    let stream = |count: u64, each: u64| {
        format!(
            "count = {count}\nworkload = {{ cbr = {{ rate = \"{}kbps\" }} }}",
            count * each
        )
    };
    let sources = |groups: &[String]| link(groups).sources;
    for count in [1, 7, 400] {
        assert!(near(sources(&[stream(count, 50)]), count as f64));
        assert!(near(
            sources(&[stream(count, 50), stream(count, 50)]),
            2.0 * count as f64
        ));
        let poisson = "workload = { poisson = { rate = \"1Mbps\" } }".to_owned();
        assert_eq!(sources(std::slice::from_ref(&poisson)), f64::INFINITY);
        // The number is (a + b)^2 / (a^2 / n), because b comes from infinitely many sources.
        let share = 1.0 + 1000.0 / (count as f64 * 50.0);
        assert!(near(
            sources(&[poisson, stream(count, 50)]),
            count as f64 * share * share
        ));
    }
    // The number is (1 + 3)^2 / (1 + 9).
    assert!(near(sources(&[stream(1, 1000), stream(1, 3000)]), 1.6));
    let incast = |servers: u64| {
        format!(
            "rtt = \"1ms\"\nworkload = {{ incast = {{ servers = {servers}, pause = \"10ms\", size = \"9kB\" }} }}"
        )
    };
    for servers in [1, 40] {
        assert!(
            near(sources(&[incast(servers)]), 1.0),
            "they answer all at once"
        );
    }
    let web =
        "rtt = \"20ms\"\nworkload = { open_loop = { load = 0.3, size = \"9kB\" } }".to_owned();
    assert_eq!(sources(&[web]), f64::INFINITY);
    assert_eq!(sources(&["rtt = \"20ms\"".to_owned()]), 0.0);
}

/// Transfers that outlive slow start: the number in progress follows from Little's law and the
/// number of other users.
#[test]
fn transfers_in_progress_obey_the_law_of_little() {
    let size = 40_000_000.0;
    let think = |users: u64, seconds: u64| {
        format!(
            "rtt = \"20ms\"\nworkload = {{ closed_loop = {{ users = {users}, think = \"{seconds}s\", size = \"40MB\" }} }}"
        )
    };
    for (users, seconds) in [(1, 5), (3, 20), (30, 20), (200, 900)] {
        let s = link(&[think(users, seconds)]);
        // A user that does not transfer thinks for this time after each transfer.
        let thinking = s.closed_loop * 6.25e6 / size * seconds as f64;
        assert!(
            near(s.long_transfers + thinking, users as f64),
            "{users} {seconds}"
        );
        assert!(s.closed_loop > 0.0 && s.closed_loop <= 1.0);
        // The number does not change if they are divided into groups.
        if users % 3 == 0 {
            let apart = link(&[think(users / 3, seconds), think(2 * users / 3, seconds)]);
            assert!(
                near(apart.long_transfers, s.long_transfers)
                    && near(apart.closed_loop, s.closed_loop)
            );
        }
        // Beside a stream of half the rate they have half the link.
        let stream = "workload = { cbr = { rate = \"25Mbps\" } }".to_owned();
        let half = link(&[think(users, seconds), stream]);
        let thinking = half.closed_loop * 6.25e6 / size * seconds as f64;
        assert!(near(half.long_transfers + thinking, users as f64));
        assert!(half.closed_loop < s.closed_loop && half.closed_loop <= 0.5);
    }
    let web = |load: f64, size: &str| {
        format!(
            "rtt = \"20ms\"\nworkload = {{ open_loop = {{ load = {load}, size = \"{size}\" }} }}"
        )
    };
    for load in [0.1, 0.4, 0.75] {
        let s = link(&[web(load, "40MB")]);
        assert!(
            near(s.long_transfers, load / (1.0 - load)) && near(s.open_loop, load),
            "{load}"
        );
        // Each kind has its share of them. Short ones do not outlive slow start.
        let two = link(&[web(0.6 * load, "40MB"), web(0.4 * load, "1kB")]);
        assert!(
            near(two.long_transfers, 0.6 * load / (1.0 - load)),
            "{load}"
        );
        let stream = "workload = { cbr = { rate = \"10Mbps\" } }".to_owned();
        let beside = link(&[web(load, "40MB"), stream]);
        let left = load / 0.8;
        assert!(near(beside.long_transfers, left / (1.0 - left)), "{load}");
    }
    for load in [1.0, 1.5] {
        assert_eq!(link(&[web(load, "40MB")]).long_transfers, f64::INFINITY);
    }
    // Periodic users yield to each other: their load is at most the free capacity.
    let video = |count: u64, every: u64| {
        format!(
            "count = {count}\nrtt = \"20ms\"\nworkload = {{ periodic = {{ every = \"{every}s\", size = \"40MB\" }} }}"
        )
    };
    for (count, every) in [(1, 10), (3, 40), (3, 64)] {
        let (s, load) = (
            link(&[video(count, every)]),
            count as f64 * size / 6.25e6 / every as f64,
        );
        assert!(
            near(s.closed_loop, load)
                && near(s.long_transfers, (load / (1.0 - load)).min(count as f64))
        );
        let apart = link(&vec![video(1, every); count as usize]);
        assert!(near(apart.closed_loop, load) && near(apart.long_transfers, s.long_transfers));
    }
    let crowd = link(&[
        video(50, 10),
        "workload = { cbr = { rate = \"10Mbps\" } }".to_owned(),
    ]);
    assert!(near(crowd.closed_loop, 0.8) && near(crowd.long_transfers, 50.0));
}

/// A transfer is long if it has more packets than slow start sends: twice the fair window at its
/// end.
#[test]
fn long_transfers_are_those_that_outlive_slow_start() {
    // The pipe holds 20 ms of 6250 packets/s and a buffer of 100.
    let pipe = 225.0;
    let web = |packets: f64| {
        let size = 1000.0 * packets;
        format!(
            "rtt = \"20ms\"\nworkload = {{ open_loop = {{ load = 0.75, size = \"{size}B\" }} }}"
        )
    };
    // Three transfers are in progress on average. With a persistent flow four share the pipe.
    for (groups, sharing) in [(vec![], 3.0), (vec!["rtt = \"20ms\"".to_owned()], 4.0)] {
        let with = |packets| {
            let mut all = groups.clone();
            all.push(web(packets));
            link(&all).long_transfers
        };
        let edge: f64 = 2.0 * pipe / sharing;
        assert_eq!(with((edge * 0.97).round()), 0.0);
        assert!(
            near(with((edge * 1.03).round()), 3.0),
            "{}",
            with((edge * 1.03).round())
        );
    }
}

/// One persistent group: the number of flows, and the largest share of the link that one of them
/// can take.
fn lasting() -> impl Strategy<Value = (u64, Option<(bool, u64)>)> {
    (1_u64..30, prop::option::of((any::<bool>(), 1_u64..400)))
}

proptest! {
    /// Fair shares follow a water level, found here by bisection. A flow that can take less than
    /// the level has that share; all others have the level. Together they have the capacity that
    /// the unresponsive traffic leaves.
    #[test]
    fn shares_are_max_min_fair(groups in prop::collection::vec(lasting(), 1..5), load in 0_u64..45) {
        // The cap is in thousandths of the link: a window of `share` packets in 160 ms, or an
        // access link.
        let cap = |most: &Option<(bool, u64)>| most.map_or(f64::INFINITY, |(_, share)| share as f64 / 1000.0);
        let body = |(count, most): &(u64, Option<(bool, u64)>)| {
            let most = most.map_or_else(String::new, |(window, share)| if window {
                format!("receive_window = \"{share}p\"")
            } else {
                format!("access = {{ rate = \"{}kbps\" }}", 50 * share)
            });
            format!("count = {count}\nrtt = \"160ms\"\n{most}")
        };
        let mut all: Vec<String> = groups.iter().map(body).collect();
        if load > 0 {
            all.push(format!("workload = {{ poisson = {{ rate = \"{load}Mbps\" }} }}"));
        }
        let s = link(&all);
        let left = 1.0 - load as f64 / 50.0;
        let taken = |level: f64| -> f64 { groups.iter().map(|(count, most)| *count as f64 * cap(most).min(level)).sum() };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if taken(middle) < left { low = middle } else { high = middle }
        }
        // If a cap equals the level, or all caps add up to the free capacity, either answer is
        // right.
        let whole: f64 = groups.iter().map(|(count, most)| *count as f64 * cap(most)).sum();
        prop_assume!((whole - left).abs() > 1e-9);
        prop_assume!(groups.iter().all(|(_, most)| (cap(most) - high).abs() > 1e-9 * high));
        let held: f64 = groups.iter().filter(|(_, most)| cap(most) < high).map(|(n, most)| *n as f64 * cap(most)).sum();
        let free: u64 = groups.iter().filter(|(_, most)| cap(most) > high).map(|(n, _)| n).sum();
        prop_assert!((s.held_down - held).abs() < 1e-9, "{} {held}", s.held_down);
        prop_assert_eq!(s.bottlenecked, free as f64);
        prop_assert!(near(s.flows.iter().map(|class| class.flows).sum::<f64>(), free as f64) || free == 0);
        prop_assert!(near(s.saturation, whole));
        let windows: Option<Vec<u64>> = groups.iter().map(|(_, most)| most.filter(|(window, _)| *window).map(|(_, share)| share)).collect();
        prop_assert_eq!(s.largest_window, windows.and_then(|all| all.into_iter().max()).map(|most| most as f64));
        let links: Option<Vec<f64>> = groups.iter().map(|(_, most)| most.filter(|(window, _)| !window).map(|(_, share)| 1000.0 / share as f64)).collect();
        let least = links.map(|all| all.into_iter().fold(f64::INFINITY, f64::min));
        prop_assert!(s.core_access.is_some() == least.is_some() && near(s.core_access.unwrap_or(0.0), least.unwrap_or(0.0)));
    }
}

/// Points that represent a distribution represent all of its flows: their number and their mean
/// rate.
#[test]
fn round_trip_times_stand_for_their_flows() {
    for count in [1_u64, 2, 100, 256, 257, 5000] {
        let s = link(&[format!(
            "count = {count}\nrtt = {{ linspace = [\"20ms\", \"80ms\"] }}"
        )]);
        assert!(
            near(s.flows.iter().map(|class| class.flows).sum(), count as f64),
            "{count}"
        );
        assert!(s.flows.len() as u64 <= count && s.flows.len() <= POINTS);
        assert!(
            s.flows
                .iter()
                .all(|class| (0.02..=0.08).contains(&class.rtt_s))
        );
        let sum: f64 = s.flows.iter().map(|class| class.flows / class.rtt_s).sum();
        let exact: f64 = (0..count)
            .map(|k| 1.0 / (0.02 + 0.06 * k as f64 / (count - 1).max(1) as f64))
            .sum();
        assert!((sum / exact - 1.0).abs() < 0.02, "{count} {sum} {exact}");
    }
}

/// All flows that react to congestion are in the mix. Their weight is their own load, or else their
/// number. If there are persistent flows, only these count.
#[test]
fn all_that_react_are_in_the_mix() {
    let rtt = "rtt = \"20ms\"";
    let body = |cca: &str, rest: &str| format!("cca = \"{cca}\"\n{rtt}\n{rest}");
    let once = |count: u64, cca: &str| {
        body(
            cca,
            &format!("count = {count}\nworkload = {{ finite = {{ size = \"1MB\" }} }}"),
        )
    };
    let web = |load: f64, cca: &str| {
        body(
            cca,
            &format!("workload = {{ open_loop = {{ load = {load}, size = \"3kB\" }} }}"),
        )
    };
    let writing = |count: u64, cca: &str| {
        body(
            cca,
            &format!("count = {count}\nworkload = {{ app_limited = {{ rate = \"100kbps\" }} }}"),
        )
    };
    let poisson = "workload = { poisson = { rate = \"10Mbps\" } }".to_owned();
    let share = |groups: &[String], cca: &str| {
        let s = link(groups);
        assert!(near(s.mix.share(|_| true), 1.0), "{groups:?}");
        s.mix.share(|part| part.controller() == cca)
    };
    for beside in [vec![], vec![poisson.clone()]] {
        let with = |mut groups: Vec<String>| {
            groups.extend(beside.clone());
            groups
        };
        // The weight is the number of flows.
        assert!(near(
            share(&with(vec![once(1, "cubic"), once(3, "bbr")]), "bbr"),
            0.75
        ));
        // The weight is the load: 0.1 and 0.3 of the link, then 2 Mb/s and a load of 0.12.
        assert!(near(
            share(&with(vec![web(0.1, "cubic"), web(0.3, "bbr")]), "bbr"),
            0.75
        ));
        assert!(near(
            share(&with(vec![writing(20, "cubic"), web(0.12, "bbr")]), "bbr"),
            0.75
        ));
        assert!(near(
            share(&with(vec![once(9, "cubic"), web(0.2, "bbr")]), "bbr"),
            1.0
        ));
        // The weight is the number of persistent flows.
        let lasting = |count: u64, cca: &str| body(cca, &format!("count = {count}"));
        let groups = vec![
            lasting(1, "cubic"),
            lasting(3, "bbr"),
            web(0.3, "newreno"),
            once(5, "newreno"),
        ];
        assert!(near(share(&with(groups), "bbr"), 0.75));
    }
    // No flow reacts.
    assert_eq!(link(&[poisson]).mix.share(|_| true), 0.0);
}
