//! Whether a run may be believed: a machine that was late, or whose own limits held the senders back,
//! measures itself and not the link.

use forebay_scenario::{EngineError, Lateness as LatenessCost, Warning, WarningKind};
use forebay_units::Time;

use crate::NAME;
use crate::counters::{Counters, Event};
use crate::hosts::Strays;
use crate::lateness::Lateness;

/// Of a run's time, the share that its clock may have stood.
const MOST_FROZEN: f64 = 0.02;

/// How late one packet of a thousand may be handed over.
const MOST_LATE: Time = Time::from_millis(1);

/// For how long the receiver's window may have held a persistent flow back.
const MOST_WINDOW_LIMITED: Time = Time::from_millis(100);

/// Shares of the limits from which on a warning is worth its line.
const WORTH_SAYING: f64 = 0.25;

/// What a run has shown of the machine.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) lateness: Lateness,
    pub(crate) frozen: Time,
    pub(crate) freezes: u64,
    pub(crate) length: Time,
    /// The longest that the receiver's window held a persistent flow back.
    pub(crate) window_limited: Time,
    /// Persistent flows whose sender had nothing more to send at some look.
    pub(crate) starved: u64,
    pub(crate) strays: Strays,
    pub(crate) counters: [Counters; 2],
}

impl Evidence {
    /// How late the run was, as its cost says it.
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

    /// Refuses a run that is not to be believed.
    pub(crate) fn judge(&self) -> Result<(), EngineError> {
        let why = self.reasons();
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

    fn reasons(&self) -> Vec<String> {
        let mut why = Vec::new();
        let late = self.lateness.p99_9();
        if late > MOST_LATE {
            why.push(format!(
                "one packet of a thousand was handed over more than {} late (allowed {})",
                in_words(late),
                in_words(MOST_LATE)
            ));
        }
        if is_frozen_for_too_long(self.frozen, self.length) {
            why.push(format!(
                "the clock stood for {} of {} ({} times), more than {:.0} %",
                in_words(self.frozen),
                in_words(self.length),
                self.freezes,
                MOST_FROZEN * 100.0
            ));
        }
        if self.window_limited > MOST_WINDOW_LIMITED {
            why.push(format!(
                "the receiver's window held a flow back for {}",
                in_words(self.window_limited)
            ));
        }
        if self.starved > 0 {
            why.push(format!(
                "{} persistent flows had nothing left to send: their application was late",
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

    /// What is worth saying of a run that is believed.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let late = self.lateness.p99_9();
        let near = late.as_secs_f64() > MOST_LATE.as_secs_f64() * WORTH_SAYING;
        if !near && self.frozen_share() <= MOST_FROZEN * WORTH_SAYING {
            return Vec::new();
        }
        let text = format!(
            "the machine was late: one packet of a thousand by more than {}, and the clock stood for {} in all",
            in_words(late),
            in_words(self.frozen)
        );
        let warning = Warning::new(WarningKind::Late, text).about("lateness");
        vec![
            warning
                .with("p999_s", late.as_secs_f64())
                .with("frozen_s", self.frozen.as_secs_f64()),
        ]
    }
}

/// Whether the clock has stood for so long of a run of this length that nobody believes it.
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
