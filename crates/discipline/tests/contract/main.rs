//! The contract that every registered discipline must meet, whatever its algorithm.

mod classes;

use forebay_discipline::{
    Ecn, Label, Limit, Packet, Port, Queue, Setting, descriptions, discipline,
};
use forebay_random::{Purpose, Seed, Stream};
use forebay_units::parameter::{Description, ParameterKind, Parameters, Value};
use forebay_units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// An arrival: gap in microseconds since the last one, flow, bytes and ECN codepoint.
type Step = (u64, u32, u32, u8);

fn setting(limit: Limit) -> Setting {
    Setting {
        limit,
        steps: None,
        rate: Rate::from_bits_per_second(8_000_000),
        delay: Time::ZERO,
        packet: 1000.0,
        salt: 7,
    }
}

/// The discipline in the form that holds its packets.
fn queue(description: &Description, parameters: &Parameters, limit: Limit) -> Queue {
    let setting = setting(limit);
    discipline(description.name, parameters, &setting)
        .expect("a registered name")
        .queued(&setting)
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sent,
    SentMarked,
    Dropped,
}

/// A link of 8 Mb/s with a discipline, and the ends of all packets in order: (number, end, time).
struct Bench {
    queue: Queue,
    port: Port,
    limit: Limit,
    busy_until: Time,
    ends: Vec<(u32, End, Time)>,
    marks: u64,
}

impl Bench {
    fn new(queue: Queue, limit: Limit) -> Self {
        let random = Stream::new(Seed::default(), 0, Purpose::Discipline);
        Self {
            queue,
            port: Port::new(random),
            limit,
            busy_until: Time::ZERO,
            ends: Vec::new(),
            marks: 0,
        }
    }

    fn take_discards(&mut self) {
        let now = self.port.now;
        let discards = self.port.discards.drain(..);
        self.ends
            .extend(discards.map(|packet| (packet.number, End::Dropped, now)));
    }

    fn serve(&mut self, now: Time) {
        self.port.now = now;
        let sent = self.queue.dequeue(&mut self.port);
        self.take_discards();
        let Some(packet) = sent else {
            // Work-conserving: it is idle only when nothing waits.
            assert_eq!(self.queue.backlog().packets, 0, "idle with a backlog");
            assert_eq!(self.queue.backlog().bytes, 0);
            self.port.idle_since.get_or_insert(now);
            return;
        };
        assert!(packet.arrival <= now);
        self.port.idle_since = None;
        self.marks += u64::from(packet.marked());
        let end = if packet.marked() {
            assert!(
                packet.ecn() != Ecn::NotCapable,
                "marked what cannot be marked"
            );
            End::SentMarked
        } else {
            End::Sent
        };
        self.ends.push((packet.number, end, now));
        self.busy_until = now + Time::from_micros(u64::from(packet.size));
    }

    /// Serves everything that is due before `now`.
    fn run_until(&mut self, now: Time) {
        while self.port.idle_since.is_none() && self.busy_until <= now {
            self.serve(self.busy_until);
        }
    }

    fn arrive(&mut self, packet: Packet) {
        self.port.now = packet.arrival;
        self.queue.enqueue(packet, &mut self.port);
        self.take_discards();
        if self.port.idle_since.is_some() {
            self.serve(packet.arrival);
        }
        let backlog = self.queue.backlog();
        assert!(
            !self.limit.exceeded(backlog),
            "{backlog:?} is more than {:?}",
            self.limit
        );
    }

    /// All arrivals, then until everything has left.
    fn run(&mut self, steps: &[Step]) {
        let mut now = Time::ZERO;
        for (number, (gap, flow, size, ecn)) in steps.iter().enumerate() {
            now += Time::from_micros(*gap);
            self.run_until(now);
            self.arrive(Packet {
                arrival: now,
                flow: *flow,
                number: number as u32,
                size: *size,
                label: Label::new(
                    0,
                    *flow as u16,
                    [Ecn::NotCapable, Ecn::Classic, Ecn::Scalable][usize::from(*ecn)],
                ),
            });
        }
        self.run_until(Time::from_secs(1_000_000));
    }
}

/// Defaults, and each parameter at the ends of what it may be.
fn variants(description: &Description) -> Vec<Parameters> {
    let defaults = Parameters::defaults(description.parameters);
    let mut all = vec![defaults.clone()];
    for parameter in description.parameters {
        let values: Vec<Value> = match parameter.kind {
            ParameterKind::Number { min, max, .. } => vec![Value::Number(min), Value::Number(max)],
            ParameterKind::Time => [Time::ZERO, Time::from_picos(1), Time::MAX]
                .map(Value::Time)
                .into(),
            ParameterKind::Bytes => [0, 1, u64::MAX].map(|b| Value::Bytes(Bytes::new(b))).into(),
            ParameterKind::Rate => [1, u64::MAX]
                .map(|r| Value::Rate(Rate::from_bits_per_second(r)))
                .into(),
            ParameterKind::Threshold => {
                use forebay_units::parameter::Threshold;
                [
                    Threshold::Fraction(0.0),
                    Threshold::Fraction(1e4),
                    Threshold::Packets(0.0),
                    Threshold::Packets(1e300),
                    Threshold::Bytes(Bytes::new(u64::MAX)),
                    Threshold::Time(Time::MAX),
                ]
                .map(Value::Threshold)
                .into()
            }
            ParameterKind::Switch => vec![Value::Switch(false), Value::Switch(true)],
            ParameterKind::Choice { words } => words.iter().map(|w| Value::Word(w)).collect(),
        };
        for value in values {
            let mut changed = defaults.clone();
            assert!(changed.set(parameter.name, value));
            all.push(changed);
        }
    }
    all
}

const LIMITS: [Limit; 8] = [
    Limit::Packets(0),
    Limit::Packets(1),
    Limit::Packets(17),
    Limit::Packets(1_000_000_000_000),
    Limit::Bytes(0),
    Limit::Bytes(1499),
    Limit::Bytes(20_000),
    Limit::Bytes(1_000_000_000_000_000),
];

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    // Twice the link's rate on average, with pauses.
    let gap = prop_oneof![8 => 0u64..1000, 1 => 0u64..100_000];
    prop::collection::vec((gap, 0u32..40, 40u32..1500, 0u8..3), 1..count)
}

#[test]
fn names_are_unique_and_descriptions_complete() {
    let mut names: Vec<&str> = descriptions().iter().map(|d| d.name).collect();
    assert_eq!(names[0], "droptail");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), descriptions().len());
    for description in descriptions() {
        assert!(!description.title.is_empty() && !description.source.is_empty());
        for parameter in description.parameters {
            assert!(!parameter.meaning.is_empty(), "{}", parameter.name);
        }
        assert!(discipline("no such", &Parameters::defaults(&[]), &setting(LIMITS[0])).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Each offered packet is sent or dropped once. The link is never idle with a backlog, and the
    /// limit is never exceeded. Only ECN-capable packets are marked. The same input gives the same
    /// result.
    #[test]
    fn every_packet_ends_once_and_no_limit_is_passed(steps in steps(400), limit in 0usize..8) {
        let limit = LIMITS[limit];
        for description in descriptions() {
            let parameters = Parameters::defaults(description.parameters);
            let run = || {
                let mut bench = Bench::new(queue(description, &parameters, limit), limit);
                bench.run(&steps);
                bench
            };
            let bench = run();
            let mut numbers: Vec<u32> = bench.ends.iter().map(|(number, _, _)| *number).collect();
            numbers.sort_unstable();
            let offered: Vec<u32> = (0..steps.len() as u32).collect();
            prop_assert_eq!(numbers, offered, "{}", description.name);
            prop_assert!(bench.port.marks >= bench.marks);
            prop_assert_eq!(&bench.ends, &run().ends, "{}", description.name);
        }
    }

    /// No parameter value, however absurd, leads to a panic, an endless loop or a lost packet.
    #[test]
    fn absurd_parameters_are_survived(steps in steps(60), limit in 0usize..8) {
        let limit = LIMITS[limit];
        for description in descriptions() {
            for parameters in variants(description) {
                let mut bench = Bench::new(queue(description, &parameters, limit), limit);
                bench.run(&steps);
                prop_assert_eq!(bench.ends.len(), steps.len(), "{}", description.name);
            }
        }
    }

    /// The packets of one flow leave in their order of arrival.
    #[test]
    fn no_flow_is_reordered(steps in steps(300)) {
        let limit = Limit::Bytes(20_000);
        for description in descriptions() {
            let parameters = Parameters::defaults(description.parameters);
            let mut bench = Bench::new(queue(description, &parameters, limit), limit);
            // A flow has one ECN kind, because DualPI2 would otherwise separate its packets.
            let steps: Vec<Step> = steps.iter().map(|&(a, f, s, _)| (a, f, s, (f % 3) as u8)).collect();
            bench.run(&steps);
            for flow in 0..40 {
                let sent: Vec<u32> = bench
                    .ends
                    .iter()
                    .filter(|(number, end, _)| {
                        *end != End::Dropped && steps[*number as usize].1 == flow
                    })
                    .map(|(number, _, _)| *number)
                    .collect();
                prop_assert!(sent.is_sorted(), "{}", description.name);
            }
        }
    }
}

/// Below the link's rate and with small bursts no discipline drops or marks a packet.
#[test]
fn a_light_load_passes_untouched() {
    let steps: Vec<Step> = (0..5000)
        .map(|k| (3000, k % 5, 1000, (k % 3) as u8))
        .collect();
    for description in descriptions() {
        let parameters = Parameters::defaults(description.parameters);
        let limit = Limit::Packets(100);
        let mut bench = Bench::new(queue(description, &parameters, limit), limit);
        bench.run(&steps);
        let untouched = bench.ends.iter().all(|(_, end, _)| *end == End::Sent);
        assert!(untouched, "{}", description.name);
    }
}

/// A packet that finds the link idle goes into transmission at once, even if the buffer is zero.
#[test]
fn a_buffer_of_nothing_takes_what_finds_the_link_idle() {
    let steps: Vec<Step> = (0..50)
        .map(|k| (3000, k % 5, 1000, (k % 3) as u8))
        .collect();
    for description in descriptions() {
        for limit in [Limit::Packets(0), Limit::Bytes(0)] {
            let parameters = Parameters::defaults(description.parameters);
            let mut bench = Bench::new(queue(description, &parameters, limit), limit);
            bench.run(&steps);
            let passed = bench.ends.iter().all(|(_, end, _)| *end != End::Dropped);
            assert!(passed, "{} {limit:?} {:?}", description.name, bench.ends);
        }
    }
}

/// Every discipline reacts to an overload of capable and incapable packets, and an overloaded link
/// is always busy.
#[test]
fn an_overload_is_answered_and_the_link_kept_busy() {
    let steps: Vec<Step> = (0..20_000).map(|k| (500, k % 7, 1000, 0)).collect();
    for description in descriptions() {
        let parameters = Parameters::defaults(description.parameters);
        let limit = Limit::Packets(100);
        let mut bench = Bench::new(queue(description, &parameters, limit), limit);
        bench.run(&steps);
        let dropped = bench.ends.iter().filter(|(_, end, _)| *end == End::Dropped);
        let dropped = dropped.count();
        // The link sends 1000 packets a second for ten seconds, and 20,000 are offered.
        assert!(
            (9_800..10_000).contains(&dropped),
            "{} {dropped}",
            description.name
        );
    }
}
