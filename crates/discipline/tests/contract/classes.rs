//! Contract tests of classes, with every discipline in them.

use forebay_discipline::{ClassSetting, Classes, QueueDiscipline};
use forebay_units::parameter::Threshold;

use super::*;

/// Parameters of the discipline `classes` with a schedule. `drop` names the packet that a full
/// shared buffer drops.
fn scheduled(schedule: &'static str, drop: Option<&'static str>) -> Parameters {
    let mut parameters = Parameters::defaults(Classes::DESCRIPTION.parameters);
    assert!(parameters.set("schedule", Value::Word(schedule)));
    if let Some(word) = drop {
        assert!(parameters.set("drop", Value::Word(word)));
    }
    parameters
}

/// A class with this discipline, its default parameters, and perhaps a buffer of its own.
fn class<'a>(
    description: &Description,
    parameters: &'a Parameters,
    limit: Option<Limit>,
) -> ClassSetting<'a> {
    ClassSetting {
        discipline: description.name,
        parameters,
        weight: 1,
        priority: false,
        limit,
        packet: 1000.0,
    }
}

/// The registered disciplines that a class may have.
fn inner() -> impl Iterator<Item = &'static Description> {
    let all = descriptions().iter().copied();
    all.filter(|description| description.name != "classes")
}

fn all_parameters(description: &Description) -> Parameters {
    Parameters::defaults(description.parameters)
}

fn of(parameters: &Parameters, limit: Limit, classes: &[ClassSetting<'_>], groups: u8) -> Queue {
    let all = Classes::of(parameters, &setting(limit), classes).expect("known disciplines");
    let last = classes.len() as u8 - 1;
    Queue::Classes(all.for_groups((0..groups).map(|group| group.min(last)).collect()))
}

const SCHEDULES: [&str; 3] = ["strict", "wrr", "dwrr"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// The schedule, the discipline and the buffer do not matter. Each packet ends once, and the
    /// link is never idle while a class has a packet. The same input gives the same result.
    #[test]
    fn every_discipline_does_its_part_in_a_class(steps in steps(250), limit in 0usize..8) {
        let limit = LIMITS[limit];
        let own = Limit::Packets(9);
        // The backlog is bounded by the two buffers.
        let most = Limit::Packets(u64::MAX);
        for description in inner() {
            let parameters = all_parameters(description);
            let droptail = all_parameters(descriptions()[0]);
            for schedule in SCHEDULES {
                let run = || {
                    let classes = [
                        ClassSetting { weight: 3, ..class(description, &parameters, None) },
                        class(description, &parameters, Some(own)),
                        ClassSetting { priority: true, ..class(descriptions()[0], &droptail, None) },
                    ];
                    let queue = of(&scheduled(schedule, None), limit, &classes, 40);
                    let mut bench = Bench::new(queue, most);
                    bench.run(&steps);
                    bench
                };
                let bench = run();
                let mut numbers: Vec<u32> = bench.ends.iter().map(|(number, ..)| *number).collect();
                numbers.sort_unstable();
                let offered: Vec<u32> = (0..steps.len() as u32).collect();
                prop_assert_eq!(numbers, offered, "{} {}", description.name, schedule);
                prop_assert_eq!(&bench.ends, &run().ends, "{} {}", description.name, schedule);
            }
        }
    }

    /// One class of all traffic equals its discipline alone, with a buffer of its own or the
    /// link's. PIE is an exception, because in a class it uses sojourn times.
    #[test]
    fn one_class_is_its_discipline(steps in steps(300), limit in 0usize..8) {
        let limit = LIMITS[limit];
        for description in inner().filter(|description| description.name != "pie") {
            let parameters = all_parameters(description);
            let mut alone = Bench::new(queue(description, &parameters, limit), limit);
            alone.run(&steps);
            for schedule in SCHEDULES {
                for (own, drop) in [(Some(limit), None), (None, Some("lowest")), (None, Some("tail"))] {
                    let classes = [class(description, &parameters, own)];
                    let queue = of(&scheduled(schedule, drop), limit, &classes, 1);
                    let mut bench = Bench::new(queue, limit);
                    bench.run(&steps);
                    prop_assert_eq!(&bench.ends, &alone.ends, "{} {} {:?}", description.name, schedule, drop);
                }
            }
        }
    }

    /// The discipline `priority` equals strict classes of drop-tail that share the link's buffer.
    #[test]
    fn priority_is_strict_classes(steps in steps(400), limit in 0usize..8, bands in 1u8..5) {
        let limit = LIMITS[limit];
        let description = descriptions().iter().find(|d| d.name == "priority").expect("registered");
        let droptail = all_parameters(descriptions()[0]);
        for drop in [None, Some("lowest"), Some("tail")] {
            let mut parameters = all_parameters(description);
            parameters.set("bands", Value::Number(f64::from(bands)));
            if let Some(word) = drop {
                parameters.set("drop", Value::Word(word));
            }
            let mut priority = Bench::new(queue(description, &parameters, limit), limit);
            priority.run(&steps);
            let classes = vec![class(descriptions()[0], &droptail, None); usize::from(bands)];
            let queue = of(&scheduled("strict", drop), limit, &classes, bands);
            let mut strict = Bench::new(queue, limit);
            strict.run(&steps);
            prop_assert_eq!(&strict.ends, &priority.ends, "{:?}", drop);
        }
    }

    /// While all classes are backlogged, their services divided by their weights differ by less
    /// than a round. With turns by bytes, a largest packet of either is added (Shreedhar and
    /// Varghese 1996, theorem 1).
    #[test]
    fn shares_follow_the_weights_within_a_packet_of_a_round(
        sizes in prop::collection::vec(40u32..1500, 1200),
        weights in (1u64..6, 1u64..6, 1u64..6),
        quantum in prop::sample::select(vec![64u64, 500, 1500, 9000]),
    ) {
        let weights = [weights.0, weights.1, weights.2];
        let droptail = all_parameters(descriptions()[0]);
        for schedule in ["wrr", "dwrr"] {
            let mut parameters = scheduled(schedule, None);
            parameters.set("quantum", Value::Bytes(Bytes::new(quantum)));
            let classes = weights.map(|weight| ClassSetting {
                weight,
                ..class(descriptions()[0], &droptail, None)
            });
            let mut queue = of(&parameters, Limit::Packets(10_000), &classes, 3);
            let mut port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
            port.idle_since = None;
            for (number, size) in sizes.iter().enumerate() {
                let packet = Packet {
                    arrival: Time::ZERO,
                    flow: 0,
                    number: number as u32,
                    size: *size,
                    label: Label::new(0, (number % 3) as u16, Ecn::NotCapable),
                };
                queue.enqueue(packet, &mut port);
            }
            let (mut left, mut served) = ([400; 3], [0.0; 3]);
            let (unit, largest) = if schedule == "wrr" { (1.0, 0.0) } else { (quantum as f64, 1500.0) };
            loop {
                let packet = queue.dequeue(&mut port).expect("a packet waits");
                let at = usize::from(packet.group());
                left[at] -= 1;
                served[at] += if schedule == "wrr" { 1.0 } else { f64::from(packet.size) };
                if left[at] == 0 {
                    break;
                }
                let rounds = [0, 1, 2].map(|at| served[at] / (weights[at] as f64 * unit));
                for (one, other) in [(0, 1), (1, 2), (0, 2)] {
                    let slack = [one, other].map(|at| largest / (weights[at] as f64 * unit));
                    let apart = (rounds[one] - rounds[other]).abs();
                    prop_assert!(apart <= 1.0 + slack[0] + slack[1] + 1e-9, "{schedule} {weights:?} {rounds:?}");
                }
            }
        }
    }
}

/// Overloads a link of 1000 packets a second for ten seconds. `rates` are the groups' packets per
/// second.
fn overload(queue: Queue, rates: &[u64]) -> Bench {
    let mut steps: Vec<(u64, u32)> = Vec::new();
    for (group, rate) in rates.iter().enumerate() {
        // The groups send at different phases.
        let times = (0..10 * rate).map(|k| k * 1_000_000 / rate + 7 * group as u64);
        steps.extend(times.map(|time| (time, group as u32)));
    }
    steps.sort_unstable();
    let mut before = 0;
    let steps: Vec<Step> = steps
        .iter()
        .map(|&(time, group)| (time - std::mem::replace(&mut before, time), group, 1000, 0))
        .collect();
    let mut bench = Bench::new(queue, Limit::Packets(u64::MAX));
    bench.run(&steps);
    let groups: Vec<u32> = steps.iter().map(|step| step.1).collect();
    // Replaces the packet number by the group number.
    for end in &mut bench.ends {
        end.0 = groups[end.0 as usize];
    }
    bench
}

impl Bench {
    fn sent(&self, group: u32) -> usize {
        let of_group = |end: &&(u32, End, Time)| end.0 == group && end.1 != End::Dropped;
        self.ends.iter().filter(of_group).count()
    }

    fn dropped(&self, group: u32) -> usize {
        let of_group = |end: &&(u32, End, Time)| end.0 == group && end.1 == End::Dropped;
        self.ends.iter().filter(of_group).count()
    }
}

/// The unused share of a class goes to the others by their weights.
#[test]
fn the_share_of_an_idle_class_goes_to_the_others() {
    let droptail = all_parameters(descriptions()[0]);
    for schedule in ["wrr", "dwrr"] {
        for (rates, expected) in [
            ([2000, 2000, 2000], [5000, 3000, 2000]),
            ([2000, 2000, 0], [6250, 3750, 0]),
            ([2000, 0, 2000], [7143, 0, 2857]),
            ([100, 2000, 2000], [1000, 5400, 3600]),
        ] {
            let classes = [5, 3, 2].map(|weight| ClassSetting {
                weight,
                ..class(descriptions()[0], &droptail, Some(Limit::Packets(20)))
            });
            let mut parameters = scheduled(schedule, None);
            parameters.set("quantum", Value::Bytes(Bytes::new(1000)));
            let queue = of(&parameters, Limit::Packets(0), &classes, 3);
            let bench = overload(queue, &rates);
            for (group, expected) in expected.into_iter().enumerate() {
                let sent = bench.sent(group as u32);
                assert!(
                    sent.abs_diff(expected) <= 25,
                    "{schedule} {rates:?} {group} {sent} {expected}"
                );
            }
        }
    }
}

/// A flood fills its own buffer and loses its own packets. A shared buffer it occupies entirely.
#[test]
fn a_buffer_of_its_own_protects_a_class() {
    let droptail = all_parameters(descriptions()[0]);
    for (own, harmed) in [(Some(Limit::Packets(10)), false), (None, true)] {
        let classes = [class(descriptions()[0], &droptail, own); 2];
        let queue = of(&scheduled("wrr", None), Limit::Packets(10), &classes, 2);
        let bench = overload(queue, &[300, 3000]);
        assert_eq!(bench.dropped(0) > 0, harmed, "{}", bench.dropped(0));
        assert!(bench.dropped(1) > 20_000);
    }
}

/// A priority class goes first under every schedule. The others keep their shares of the rest.
#[test]
fn a_priority_class_goes_before_those_with_turns() {
    let droptail = all_parameters(descriptions()[0]);
    for schedule in SCHEDULES {
        let plain = class(descriptions()[0], &droptail, Some(Limit::Packets(10)));
        let first = ClassSetting {
            priority: true,
            ..plain
        };
        // The priority class is the last in the list.
        let queue = of(
            &scheduled(schedule, None),
            Limit::Packets(0),
            &[plain, plain, first],
            3,
        );
        let bench = overload(queue, &[2000, 2000, 900]);
        let sent = [0, 1, 2].map(|group| bench.sent(group));
        if schedule == "strict" {
            assert!(sent[0] > 9900 && sent[2] < 50, "{sent:?}");
        } else {
            assert!(
                sent[2] == 9000 && sent[0].abs_diff(sent[1]) < 20,
                "{schedule} {sent:?}"
            );
        }
    }
}

/// RED's average decays while its class is empty, although the link is busy with another class.
/// Bursts come a second apart. Each finds an average that 24 packets do not raise to the threshold.
/// Otherwise the average would be the mean over the packets of all bursts.
#[test]
fn a_class_is_idle_while_others_are_not() {
    let red = descriptions()
        .iter()
        .find(|d| d.name == "red")
        .expect("registered");
    let mut parameters = all_parameters(red);
    let threshold = Value::Threshold(Threshold::Packets(8.0));
    for (name, value) in [
        ("weight", Value::Number(0.02)),
        ("adaptive", Value::Switch(false)),
        ("gentle", Value::Switch(false)),
        ("min", threshold),
        ("max", threshold),
    ] {
        assert!(parameters.set(name, value), "{name}");
    }
    let droptail = all_parameters(descriptions()[0]);
    let limit = Some(Limit::Packets(40));
    let classes = [
        ClassSetting {
            priority: true,
            ..class(red, &parameters, limit)
        },
        class(descriptions()[0], &droptail, limit),
    ];
    let mut steps: Vec<Step> = Vec::new();
    for _ in 0..20 {
        steps.extend((0..24).map(|_| (0, 0, 1000, 0)));
        steps.extend((0..1000).map(|_| (1000, 1, 1000, 0)));
    }
    let queue = of(&scheduled("wrr", None), Limit::Packets(0), &classes, 2);
    let mut bench = Bench::new(queue, Limit::Packets(u64::MAX));
    bench.run(&steps);
    let of_red = |end: &&(u32, End, Time)| steps[end.0 as usize].1 == 0 && end.1 == End::Dropped;
    assert_eq!(bench.ends.iter().filter(of_red).count(), 0);
}

/// PIE in a class with a quarter of the link controls the delay of the class, not a quarter of it.
#[test]
fn pie_in_a_class_knows_how_fast_the_class_drains() {
    let pie = descriptions()
        .iter()
        .find(|d| d.name == "pie")
        .expect("registered");
    let parameters = all_parameters(pie);
    let droptail = all_parameters(descriptions()[0]);
    let classes = [
        class(pie, &parameters, Some(Limit::Packets(10_000))),
        ClassSetting {
            weight: 3,
            ..class(descriptions()[0], &droptail, Some(Limit::Packets(10)))
        },
    ];
    let mut parameters = scheduled("dwrr", None);
    parameters.set("quantum", Value::Bytes(Bytes::new(1000)));
    let mut queue = of(&parameters, Limit::Packets(0), &classes, 2);
    let mut port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
    port.idle_since = None;
    // The link sends 1000 packets a second. PIE's class is offered 300 a second and gets 250; the
    // other is offered 900.
    let (mut waits, mut sent) = (0.0, 0.0);
    for slot in 0..60_000u64 {
        port.now = Time::from_millis(slot);
        let mut arrive = |group: u16| {
            let packet = Packet {
                arrival: Time::from_millis(slot),
                flow: u32::from(group),
                number: 0,
                size: 1000,
                label: Label::new(0, group, Ecn::NotCapable),
            };
            queue.enqueue(packet, &mut port);
        };
        if slot * 3 / 10 != (slot + 1) * 3 / 10 {
            arrive(0);
        }
        if slot % 10 != 0 {
            arrive(1);
        }
        port.discards.clear();
        if let Some(packet) = queue
            .dequeue(&mut port)
            .filter(|packet| packet.group() == 0)
            && slot > 30_000
        {
            waits += (port.now - packet.arrival).as_secs_f64();
            sent += 1.0;
        }
    }
    let mean = waits / sent;
    // The target is 15 ms.
    assert!((0.008..0.025).contains(&mean), "{mean} {sent}");
}

/// Offers a packet of 1000 bytes of this group to a busy link.
fn offer(queue: &mut Queue, port: &mut Port, group: u16) {
    let packet = Packet {
        arrival: port.now,
        flow: u32::from(group),
        number: 0,
        size: 1000,
        label: Label::new(0, group, Ecn::NotCapable),
    };
    queue.enqueue(packet, port);
}

fn busy() -> Port {
    let mut port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
    port.idle_since = None;
    port
}

/// A class does not save the unused part of its turns. With many packets it then sends no more in a
/// turn than a class that always had some.
#[test]
fn turns_are_not_saved_up() {
    let droptail = all_parameters(descriptions()[0]);
    for schedule in ["wrr", "dwrr"] {
        let classes = [5, 1].map(|weight| ClassSetting {
            weight,
            ..class(descriptions()[0], &droptail, None)
        });
        let mut parameters = scheduled(schedule, None);
        parameters.set("quantum", Value::Bytes(Bytes::new(1000)));
        let mut queue = of(&parameters, Limit::Packets(1000), &classes, 2);
        let mut port = busy();
        for _ in 0..20 {
            offer(&mut queue, &mut port, 0);
            offer(&mut queue, &mut port, 1);
            for _ in 0..2 {
                assert!(queue.dequeue(&mut port).is_some());
            }
        }
        for _ in 0..50 {
            offer(&mut queue, &mut port, 0);
            offer(&mut queue, &mut port, 1);
        }
        let groups: Vec<u16> = (0..36)
            .filter_map(|_| queue.dequeue(&mut port))
            .map(|packet| packet.group())
            .collect();
        let turns = groups.split(|group| *group == 1).map(<[u16]>::len);
        assert!(
            turns.max().is_some_and(|most| most <= 5),
            "{schedule} {groups:?}"
        );
    }
}

/// A class fills its own buffer, and the shared one stays free for the others. The reverse holds,
/// too.
#[test]
fn own_and_shared_buffers_fill_apart() {
    let droptail = all_parameters(descriptions()[0]);
    let own = class(descriptions()[0], &droptail, Some(Limit::Packets(7)));
    let shared = class(descriptions()[0], &droptail, None);
    for drop in ["lowest", "tail"] {
        for order in [[0u16, 1, 2], [2, 1, 0]] {
            let classes = [own, shared, shared];
            let parameters = scheduled("strict", Some(drop));
            let mut queue = of(&parameters, Limit::Packets(10), &classes, 3);
            let mut port = busy();
            for group in order {
                (0..15).for_each(|_| offer(&mut queue, &mut port, group));
            }
            let lost = |group: u16| port.discards.iter().filter(|p| p.group() == group).count();
            assert_eq!(lost(0), 8, "{drop} {order:?}");
            assert_eq!(lost(1) + lost(2), 20, "{drop} {order:?}");
            assert_eq!(queue.backlog().packets, 17);
        }
    }
}

/// A threshold in packets means packets of the class: 200 bytes here, whatever the link's are.
#[test]
fn thresholds_in_packets_are_packets_of_the_class() {
    let step = descriptions()
        .iter()
        .find(|known| known.name == "step")
        .unwrap();
    let mut parameters = all_parameters(step);
    parameters.set("threshold", Value::Threshold(Threshold::Packets(3.0)));
    let classes = [ClassSetting {
        packet: 200.0,
        ..class(step, &parameters, None)
    }];
    let mut queue = of(
        &scheduled("strict", None),
        Limit::Bytes(100_000),
        &classes,
        1,
    );
    let mut port = busy();
    for number in 0..10 {
        let packet = Packet {
            arrival: port.now,
            flow: 0,
            number,
            size: 200,
            label: Label::new(0, 0, Ecn::Classic),
        };
        queue.enqueue(packet, &mut port);
    }
    // The first three find fewer than three packets waiting.
    assert_eq!(port.marks, 7);
}

#[test]
fn groups_beyond_those_known_are_in_the_last_class() {
    let droptail = all_parameters(descriptions()[0]);
    let classes = vec![class(descriptions()[0], &droptail, None); 2];
    let mut queue = of(&scheduled("strict", None), Limit::Packets(9), &classes, 2);
    let mut port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
    port.idle_since = None;
    for (number, group) in [7, 1, 0].into_iter().enumerate() {
        let packet = Packet {
            arrival: Time::ZERO,
            flow: 0,
            number: number as u32,
            size: 1000,
            label: Label::new(0, group, Ecn::NotCapable),
        };
        queue.enqueue(packet, &mut port);
    }
    let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue(&mut port))
        .map(|p| p.number)
        .collect();
    assert_eq!(order, [2, 0, 1]);
    let none: &[ClassSetting<'_>] = &[];
    assert!(Classes::of(&scheduled("strict", None), &setting(LIMITS[0]), none).is_none());
}

/// A paused class keeps its packets, and the others have the link. After the pause the class goes
/// on without what it missed.
#[test]
fn a_paused_class_keeps_its_packets_and_saves_no_turns() {
    let droptail = all_parameters(descriptions()[0]);
    let classes = [(); 2].map(|()| class(descriptions()[0], &droptail, None));
    for schedule in ["strict", "wrr", "dwrr"] {
        let queue = of(
            &scheduled(schedule, None),
            Limit::Packets(1000),
            &classes,
            2,
        );
        let Queue::Classes(mut queue) = queue else {
            unreachable!("a queue of classes")
        };
        let mut port = busy();
        let packet = |group: u16| Packet {
            arrival: Time::ZERO,
            flow: u32::from(group),
            number: 0,
            size: 1000,
            label: Label::new(0, group, Ecn::NotCapable),
        };
        for group in [0, 1].repeat(40) {
            QueueDiscipline::enqueue(&mut queue, packet(group), &mut port);
        }
        queue.pause(0, true);
        let mut next =
            |queue: &mut Classes| QueueDiscipline::dequeue(queue, &mut port).map(|it| it.group());
        let sent: Vec<_> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(sent, [1; 40], "{schedule}");
        assert!(!queue.has_unpaused());
        assert_eq!(queue.backlog_of(0).packets, 40);
        // At an idle link a packet of the paused class waits, and one of the other class leaves.
        port.idle_since = Some(Time::ZERO);
        for group in [0, 1, 1, 1, 1, 1, 1, 1, 1] {
            QueueDiscipline::enqueue(&mut queue, packet(group), &mut port);
            port.idle_since = (group == 0).then_some(Time::ZERO);
        }
        assert!(queue.has_unpaused());
        queue.pause(0, false);
        let mut next =
            |queue: &mut Classes| QueueDiscipline::dequeue(queue, &mut port).map(|it| it.group());
        let sent: Vec<_> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(sent.len(), 49);
        if schedule != "strict" {
            let of_first = sent[..16].iter().filter(|group| **group == 0).count();
            assert!((7..=9).contains(&of_first), "{schedule}: {sent:?}");
        }
    }
}

/// Packets of a paused class respect their buffer, although nothing is in transmission.
#[test]
fn a_paused_class_at_an_idle_link_has_its_limit() {
    let droptail = all_parameters(descriptions()[0]);
    for limit in [None, Some(Limit::Packets(3))] {
        let classes = [(); 2].map(|()| class(descriptions()[0], &droptail, limit));
        let queue = of(&scheduled("wrr", None), Limit::Packets(3), &classes, 2);
        let Queue::Classes(mut queue) = queue else {
            unreachable!("a queue of classes")
        };
        let mut port = busy();
        port.idle_since = Some(Time::ZERO);
        queue.pause(0, true);
        let mut queue = Queue::Classes(queue);
        for _ in 0..9 {
            offer(&mut queue, &mut port, 0);
        }
        assert_eq!(queue.backlog().packets, 3, "{limit:?}");
        assert_eq!(port.discards.len(), 6);
        assert_eq!(port.idle_since, Some(Time::ZERO));
    }
}
