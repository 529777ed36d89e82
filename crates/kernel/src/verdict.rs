//! The verdict on a run. If the machine was late, or its own limits held the senders back, the run
//! does not measure the link and is refused.

use forebay_scenario::{EngineError, Lateness as LatenessCost, Warning, WarningKind};
use forebay_units::Time;

use crate::NAME;
use crate::counters::{Counters, Event};
use crate::hosts::Strays;
use crate::lateness::Lateness;
use crate::slots::MOST_BYTES;

/// Maximum share of a run's time for which its clock may be frozen.
const MOST_FROZEN: f64 = 0.02;

/// Maximum 99.9th percentile of the lateness of packets.
const MOST_LATE: Time = Time::from_millis(1);

/// Maximum time for which the receiver's window may limit a persistent flow.
const MOST_WINDOW_LIMITED: Time = Time::from_millis(100);

/// Share of the limits above which a warning is given.
const WORTH_SAYING: f64 = 0.25;

/// Measurements of the machine during a run.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) lateness: Lateness,
    pub(crate) frozen: Time,
    pub(crate) freezes: u64,
    pub(crate) length: Time,
    /// Longest time that the receiver's window limited a persistent flow.
    pub(crate) window_limited: Time,
    /// Number of persistent flows that had no unsent data at an inspection.
    pub(crate) starved: u64,
    pub(crate) strays: Strays,
    pub(crate) counters: [Counters; 2],
}

impl Evidence {
    /// The lateness of the run, for its cost.
    pub(crate) fn cost(&self) -> LatenessCost {
        LatenessCost {
            p50_s: self.lateness.p50().as_secs_f64(),
            p99_s: self.lateness.p99().as_secs_f64(),
            p999_s: self.lateness.p99_9().as_secs_f64(),
            max_s: self.lateness.max().as_secs_f64(),
            frozen_s: self.frozen.as_secs_f64(),
            freezes: self.freezes,
        }
    }

    /// Whether the machine was late in this run. A repeated run may be on time.
    pub(crate) fn is_late(&self) -> bool {
        self.lateness.p99_9() > MOST_LATE || is_frozen_for_too_long(self.frozen, self.length)
    }

    /// Refuses a run that cannot be trusted. The error is `Untrusted`.
    pub(crate) fn judge(&self) -> Result<(), EngineError> {
        let why = [self.late_reasons(), self.other_reasons()].concat();
        if why.is_empty() {
            return Ok(());
        }
        Err(EngineError::Untrusted {
            engine: NAME,
            why: why.join("; "),
        })
    }

    fn frozen_share(&self) -> f64 {
        share(self.frozen, self.length)
    }

    fn late_reasons(&self) -> Vec<String> {
        let mut why = Vec::new();
        let late = self.lateness.p99_9();
        if late > MOST_LATE {
            why.push(format!(
                "one packet in a thousand was delivered more than {} late (allowed {})",
                in_words(late),
                in_words(MOST_LATE)
            ));
        }
        if is_frozen_for_too_long(self.frozen, self.length) {
            why.push(format!(
                "the machine stopped for {} of {} ({} times), more than {:.0} %",
                in_words(self.frozen),
                in_words(self.length),
                self.freezes,
                MOST_FROZEN * 100.0
            ));
        }
        why
    }

    /// Limits of the machine, other than its lateness, that held the senders back.
    fn other_reasons(&self) -> Vec<String> {
        let mut why = Vec::new();
        if self.window_limited > MOST_WINDOW_LIMITED {
            why.push(format!(
                "the receive window limited a flow for {}",
                in_words(self.window_limited)
            ));
        }
        if self.starved > 0 {
            why.push(format!(
                "{} persistent flows had no data to send, because their application was late",
                self.starved
            ));
        }
        let events = [
            (
                Event::MemoryPressures,
                "the kernel came under memory pressure",
            ),
            (Event::ReceivePruned, "a receiver ran out of memory"),
            (Event::OutOfOrderPruned, "a receiver ran out of memory"),
            (Event::BacklogDrops, "a socket's backlog was full"),
            (
                Event::ListenOverflows,
                "connections were not accepted in time",
            ),
        ];
        for (event, what) in events {
            let count: u64 = self.counters.iter().filter_map(|c| c.count(event)).sum();
            if count > 0 {
                why.push(format!("{what} ({count} times)"));
            }
        }
        let dropped = self.strays.device_full + self.device_drops();
        if dropped > 0 {
            why.push(format!("a device dropped {dropped} packets"));
        }
        why
    }

    fn device_drops(&self) -> u64 {
        let devices = self.counters.iter().map(Counters::device);
        devices
            .map(|d| d.received_dropped_packets + d.sent_dropped_packets)
            .sum()
    }

    /// Warnings of a run that is reported in any case, about exceeded limits of
    /// [`Evidence::judge`].
    pub(crate) fn doubts(&self) -> Vec<Warning> {
        let said = |why: Vec<String>, what: &str, subject: &str| {
            let text = format!("{what}: {}", why.join("; "));
            (!why.is_empty()).then(|| Warning::new(WarningKind::Late, text).about(subject))
        };
        let late = said(
            self.late_reasons(),
            "the machine was too late, so these figures are not reliable",
            "lateness",
        );
        let late = late.map(|warning| {
            let warning = warning.with("p999_s", self.lateness.p99_9().as_secs_f64());
            warning.with("frozen_s", self.frozen.as_secs_f64())
        });
        let others = said(
            self.other_reasons(),
            "the machine limited the traffic",
            "host",
        );
        late.into_iter().chain(others).chain(self.flood()).collect()
    }

    /// Warnings of a run that is trusted.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        self.lateness_warning()
            .into_iter()
            .chain(self.flood())
            .collect()
    }

    /// The warning that packets exceeded the storage of their flow.
    fn flood(&self) -> Option<Warning> {
        let lost = self.strays.flooded;
        let text = format!(
            "{lost} packets were lost before the first link, because {} MiB of their flow were in flight. Give the access link a `queue`, so that it drops packets as a router does",
            MOST_BYTES >> 20
        );
        let warning = Warning::new(WarningKind::LeftOut, text).about("access");
        (lost > 0).then(|| warning.with("packets", lost as f64))
    }

    fn lateness_warning(&self) -> Option<Warning> {
        let late = self.lateness.p99_9();
        let near = late.as_secs_f64() > MOST_LATE.as_secs_f64() * WORTH_SAYING;
        if !near && self.frozen_share() <= MOST_FROZEN * WORTH_SAYING {
            return None;
        }
        let text = format!(
            "the machine was late: one packet in a thousand by more than {}, and it stopped for {} in all",
            in_words(late),
            in_words(self.frozen)
        );
        let warning = Warning::new(WarningKind::Late, text).about("lateness");
        let warning = warning.with("p999_s", late.as_secs_f64());
        Some(warning.with("frozen_s", self.frozen.as_secs_f64()))
    }
}

/// Whether the clock was frozen for too large a share of a run of this length.
pub(crate) fn is_frozen_for_too_long(frozen: Time, length: Time) -> bool {
    share(frozen, length) > MOST_FROZEN
}

fn share(part: Time, whole: Time) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-12)
}

/// A time with three digits, in the unit that makes it short.
fn in_words(time: Time) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        1.0.. => (seconds, "s"),
        1e-3.. => (seconds * 1e3, "ms"),
        _ => (seconds * 1e6, "us"),
    };
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "near: 0 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0\n";

    /// Counters of a namespace with these numbers of events.
    fn counters(events: &[(Event, u64)], devices: &str) -> Counters {
        let table = |event: &Event| {
            let (group, name) = event.name().split_once('.').unwrap();
            let count = events.iter().find(|(which, _)| which == event);
            let count = count.map_or(0, |(_, count)| *count);
            format!("{group}: {name}\n{group}: {count}\n")
        };
        let tables: Vec<String> = Event::ALL.iter().map(table).collect();
        Counters::parse([&tables.concat(), ""], devices, "near").unwrap()
    }

    /// A run of ten seconds on a machine that was on time.
    fn good() -> Evidence {
        let mut lateness = Lateness::default();
        for late in 1..=2_000 {
            lateness.add(Time::from_picos(late * 100_000));
        }
        Evidence {
            lateness,
            frozen: Time::from_millis(20),
            freezes: 40,
            length: Time::from_secs(10),
            window_limited: MOST_WINDOW_LIMITED,
            starved: 0,
            // Packets that are not carried are no fault of the machine.
            strays: Strays {
                malformed: 9,
                fragments: 9,
                other_protocols: 9,
                of_nobody: 9,
                device_full: 0,
                flooded: 0,
            },
            // Losses, timeouts and other effects of a path are no fault either.
            counters: [(); 2].map(|()| {
                let usual = [
                    (Event::SegmentsRetransmitted, 99),
                    (Event::Timeouts, 7),
                    (Event::SynRetransmissions, 3),
                    (Event::Resets, 5),
                ];
                counters(&usual, DEVICE)
            }),
        }
    }

    fn late(micros: u64, of_1000: u64) -> Lateness {
        let mut lateness = Lateness::default();
        for number in 0..1_000 {
            let here = if number < of_1000 { micros } else { 1 };
            lateness.add(Time::from_micros(here));
        }
        lateness
    }

    /// Runs with one exceeded limit, and words that name it.
    fn bad() -> Vec<(&'static str, Evidence)> {
        let mut cases = vec![
            (
                "delivered more than",
                Evidence {
                    lateness: late(1_020, 2),
                    ..good()
                },
            ),
            (
                "the machine stopped",
                Evidence {
                    frozen: Time::from_micros(200_001),
                    ..good()
                },
            ),
            (
                "the receive window",
                Evidence {
                    window_limited: Time::from_micros(100_001),
                    ..good()
                },
            ),
            (
                "1 persistent flows",
                Evidence {
                    starved: 1,
                    ..good()
                },
            ),
        ];
        let mut strays = good().strays;
        strays.device_full = 4;
        cases.push(("a device dropped 4 packets", Evidence { strays, ..good() }));
        for (event, words) in [
            (Event::MemoryPressures, "memory pressure (6 times)"),
            (Event::ReceivePruned, "ran out of memory (6 times)"),
            (Event::OutOfOrderPruned, "ran out of memory (6 times)"),
            (Event::BacklogDrops, "backlog was full (6 times)"),
            (Event::ListenOverflows, "not accepted in time (6 times)"),
        ] {
            // The events may happen on one side or on both.
            for (near, far) in [(6, 0), (0, 6), (2, 4)] {
                let sides = [near, far].map(|count| counters(&[(event, count)], DEVICE));
                cases.push((
                    words,
                    Evidence {
                        counters: sides,
                        ..good()
                    },
                ));
            }
        }
        for devices in [
            "near: 0 9 0 3 0 0 0 0 0 9 0 0 0 0 0 0\n",
            "near: 0 9 0 0 0 0 0 0 0 9 0 3 0 0 0 0\n",
        ] {
            let dropping = || counters(&[], devices);
            let sound = || counters(&[], DEVICE);
            for sides in [[dropping(), sound()], [sound(), dropping()]] {
                let words = "a device dropped 3 packets";
                cases.push((
                    words,
                    Evidence {
                        counters: sides,
                        ..good()
                    },
                ));
            }
        }
        cases
    }

    #[test]
    fn a_good_run_is_believed_and_nothing_is_said_of_it() {
        assert_eq!(good().judge(), Ok(()));
        assert_eq!(good().warnings(), []);
        // A run without packets is also trusted, and so is one without any time.
        let nothing = Evidence {
            lateness: Lateness::default(),
            ..good()
        };
        assert_eq!((nothing.judge(), nothing.warnings()), (Ok(()), vec![]));
        let empty = Evidence {
            length: Time::ZERO,
            frozen: Time::ZERO,
            ..good()
        };
        assert_eq!(empty.judge(), Ok(()));
    }

    #[test]
    fn each_reason_alone_refuses_and_no_other_is_said() {
        for (words, evidence) in bad() {
            let Err(EngineError::Untrusted { engine, why }) = evidence.judge() else {
                panic!("believed: {words}");
            };
            assert_eq!(engine, NAME);
            assert!(why.contains(words), "{why}");
            assert!(
                !why.contains(';') && !why.contains('\n') && why.len() < 120,
                "{why}"
            );
        }
    }

    #[test]
    fn all_reasons_together_are_said_in_one_line() {
        let events = [
            Event::MemoryPressures,
            Event::ReceivePruned,
            Event::OutOfOrderPruned,
            Event::BacklogDrops,
            Event::ListenOverflows,
        ];
        let all = counters(&events.map(|event| (event, 1)), DEVICE);
        let evidence = Evidence {
            lateness: late(2_000, 500),
            frozen: Time::from_secs(1),
            window_limited: Time::from_secs(1),
            starved: 3,
            strays: Strays {
                device_full: 1,
                ..Strays::default()
            },
            counters: [all, counters(&[], DEVICE)],
            ..good()
        };
        let text = evidence.judge().unwrap_err().to_string();
        assert_eq!(text.matches("; ").count(), 4 + events.len(), "{text}");
        assert!(!text.contains('\n'));
    }

    #[test]
    fn limits_are_exceeded_and_not_reached() {
        // One packet of a thousand does not count.
        assert_eq!(
            Evidence {
                lateness: late(5_000, 1),
                ..good()
            }
            .judge(),
            Ok(())
        );
        assert_eq!(
            Evidence {
                frozen: Time::from_millis(200),
                ..good()
            }
            .judge(),
            Ok(())
        );
    }

    #[test]
    fn a_believed_run_that_was_near_a_limit_carries_a_warning_with_both_figures() {
        let cases = [(late(260, 2), 20), (late(1, 2), 51), (late(900, 2), 199)];
        for (lateness, frozen) in cases {
            let frozen = Time::from_millis(frozen);
            let evidence = Evidence {
                lateness,
                frozen,
                ..good()
            };
            assert_eq!(evidence.judge(), Ok(()));
            let warnings = evidence.warnings();
            assert_eq!(warnings.len(), 1);
            let figures = &warnings[0].values;
            assert_eq!(figures.get("frozen_s"), Some(&frozen.as_secs_f64()));
            let p999 = evidence.lateness.p99_9().as_secs_f64();
            assert_eq!(figures.get("p999_s"), Some(&p999));
            assert!(!warnings[0].text.contains('\n'));
        }
        let far = Evidence {
            lateness: late(240, 2),
            frozen: Time::from_millis(50),
            ..good()
        };
        assert_eq!(far.warnings(), []);
    }

    #[test]
    fn a_run_that_is_reported_in_any_case_is_doubted_beyond_the_limits_only() {
        for within in [
            good(),
            Evidence {
                lateness: late(900, 2),
                ..good()
            },
            Evidence {
                lateness: late(5_000, 1),
                ..good()
            },
            Evidence {
                frozen: Time::from_millis(200),
                ..good()
            },
        ] {
            assert_eq!(within.doubts(), []);
        }
        for beyond in [
            Evidence {
                lateness: late(1_020, 2),
                ..good()
            },
            Evidence {
                frozen: Time::from_micros(200_001),
                ..good()
            },
        ] {
            let [warning] = &beyond.doubts()[..] else {
                panic!("{:?}", beyond.doubts());
            };
            assert_eq!(warning.subject, "lateness");
            assert!(warning.text.contains("too late"), "{}", warning.text);
            assert_eq!(warning.values.len(), 2);
        }
        // Other limits of the machine are separate from its lateness.
        let pruned = [
            counters(&[(Event::ReceivePruned, 1)], DEVICE),
            counters(&[], DEVICE),
        ];
        let [warning] = &(Evidence {
            counters: pruned,
            ..good()
        })
        .doubts()[..] else {
            panic!("no warning");
        };
        assert_eq!(warning.subject, "host");
        assert!(!warning.text.contains("late"), "{}", warning.text);
    }

    #[test]
    fn a_flood_is_said_and_refuses_nothing() {
        let strays = Strays {
            flooded: 7,
            ..Strays::default()
        };
        let evidence = Evidence { strays, ..good() };
        assert_eq!(evidence.judge(), Ok(()));
        let [warning] = &evidence.warnings()[..] else {
            panic!("{:?}", evidence.warnings());
        };
        assert_eq!(warning.values.get("packets"), Some(&7.0));
        assert!(warning.text.contains("64 MiB"), "{}", warning.text);
    }

    #[test]
    fn a_run_is_late_by_its_packets_or_by_its_clock_and_by_nothing_else() {
        let stood = Evidence {
            frozen: Time::from_millis(201),
            ..good()
        };
        let lateness = late(2_000, 500);
        assert!(stood.is_late() && Evidence { lateness, ..good() }.is_late());
        let limited = Evidence {
            window_limited: Time::from_secs(1),
            starved: 3,
            ..good()
        };
        assert!(limited.judge().is_err() && !limited.is_late() && !good().is_late());
    }

    #[test]
    fn the_cost_says_what_was_measured() {
        let cost = Evidence {
            lateness: late(300, 600),
            ..good()
        }
        .cost();
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
        assert!(near(cost.p50_s, 300e-6) && near(cost.p99_s, 300e-6));
        assert!(near(cost.p999_s, 300e-6) && near(cost.max_s, 300e-6));
        let cost = Evidence {
            lateness: late(300, 20),
            ..good()
        }
        .cost();
        assert!(near(cost.p50_s, 1e-6) && near(cost.p99_s, 300e-6));
        let cost = Evidence {
            lateness: late(300, 5),
            ..good()
        }
        .cost();
        assert!(near(cost.p99_s, 1e-6) && near(cost.p999_s, 300e-6));
        assert_eq!((cost.frozen_s, cost.freezes), (0.02, 40));
    }
}
