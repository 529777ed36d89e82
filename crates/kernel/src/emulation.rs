//! Arbitrary programs behind the links of a scenario: the namespaces exist until the caller ends
//! the emulation. A thread runs the real-time loop of `path`.

use std::io;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use forebay_scenario::{Cancel, EngineError, Report, RunOptions, Scenario, Warning};
use forebay_simulation::{GroupId, Usage};
use forebay_units::Time;

use crate::calibration;
use crate::namespaces::{Entry, Namespaces, Running};
use crate::path::{KernelSimulation, Observer};
use crate::run::{Outcome, Visit, failed, namespaces_for, run_between};
use crate::side::Side;
use crate::translation::check;

/// Namespaces behind the links of a scenario, until the emulation is finished or dropped.
#[derive(Debug)]
pub struct Emulation {
    namespaces: Arc<Namespaces>,
    shared: Arc<Shared>,
    cancel: Cancel,
    thread: Option<JoinHandle<Result<Outcome, EngineError>>>,
    /// Warning from before the start.
    beforehand: Option<Warning>,
}

/// Current state of the target link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Emulated time since the start, in seconds.
    pub time_s: f64,
    /// Packets that have arrived at the link.
    pub arrived: u64,
    /// Arrived packets that were dropped.
    pub dropped: u64,
    /// Arrived packets that were marked.
    pub marked: u64,
    /// Packets in the queue.
    pub waiting: u64,
    /// Time to send the backlog, in seconds.
    pub delay_s: f64,
    /// Utilization of the link over the last second, from 0 to 1.
    pub utilization: f64,
    /// Packets that were malformed or no IPv4, and were not carried.
    pub strays: u64,
}

/// State that both threads share.
#[derive(Debug, Default)]
struct Shared {
    live: Mutex<Live>,
    finish: AtomicBool,
}

impl Emulation {
    /// Starts to carry packets of programs along the path of flow group number `group`, beside the
    /// scenario's flows. If `options` ask for traces, the scenario's `[trace]` selects them.
    ///
    /// # Errors
    /// `Unsupported` or `TooLarge` if the engine cannot run the scenario, `Unavailable` if the
    /// machine lacks something. `Untrusted` if a system call fails unexpectedly.
    pub fn start(
        scenario: Scenario,
        group: usize,
        options: RunOptions,
    ) -> Result<Self, EngineError> {
        check(&scenario)?;
        let beforehand = calibration::warning(&scenario, &options)?;
        let namespaces = Arc::new(namespaces_for(&scenario)?);
        let shared = Arc::new(Shared::default());
        let cancel = options.cancel.clone();
        let mut observer = Following {
            shared: shared.clone(),
            second: Time::ZERO,
            used: Usage::default(),
            utilization: 0.0,
        };
        let between = namespaces.clone();
        let thread = thread::Builder::new().name("path".into()).spawn(move || {
            let visit = Visit {
                group: GroupId::new(group),
                observer: &mut observer,
            };
            run_between(&between, (&scenario, &options), Some(visit))
        });
        Ok(Self {
            namespaces,
            shared,
            cancel,
            thread: Some(thread.map_err(failed)?),
            beforehand,
        })
    }

    /// Starts a program in the namespace of a side. Errors are those of starting a process.
    pub fn run(&self, side: Side, command: Command) -> io::Result<Running> {
        self.namespaces.run(side, command)
    }

    /// The address of a side.
    pub fn address(&self, side: Side) -> Option<Ipv4Addr> {
        self.namespaces.address(side, 0)
    }

    /// The way to enter the namespace of a side.
    pub fn entry(&self, side: Side) -> Entry {
        self.namespaces.entry(side)
    }

    /// The current state of the target link.
    pub fn live(&self) -> Live {
        *lock(&self.shared.live)
    }

    /// Whether packets are still carried. The scenario may have ended, or the machine may have
    /// failed.
    pub fn goes_on(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the emulation. Returns the report of the link since the warm-up, with a warning if the
    /// machine was too late.
    ///
    /// # Errors
    /// The reason why the emulation had ended before.
    pub fn finish(mut self) -> Result<Report, EngineError> {
        self.shared.finish.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else {
            return Err(EngineError::Interrupted);
        };
        let outcome = thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let Outcome {
            mut report,
            evidence,
        } = outcome;
        report.warnings.extend(self.beforehand.take());
        report.warnings.extend(evidence.doubts());
        Ok(report)
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.cancel.request();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Publishes the state of the link.
#[derive(Debug)]
struct Following {
    shared: Arc<Shared>,
    /// Start of the second of the utilization measurement, and the usage up to then.
    second: Time,
    used: Usage,
    utilization: f64,
}

impl Observer for Following {
    fn follow(&mut self, now: Time, simulation: &mut KernelSimulation<'_>) -> bool {
        simulation.catch_up(now);
        let hosts = &simulation.traffic.hosts;
        let strays = hosts.strays;
        let link = simulation.network.target_mut();
        let seconds = now.saturating_sub(self.second).as_secs_f64();
        if seconds >= 1.0 {
            let used = link.usage(now);
            self.utilization = used.since(&self.used);
            (self.second, self.used) = (now, used);
        }
        let statistics = link.statistics();
        *lock(&self.shared.live) = Live {
            time_s: now.as_secs_f64(),
            arrived: statistics.arrivals_before + statistics.arrivals,
            dropped: statistics.drops,
            marked: statistics.marks,
            waiting: link.count_waiting(now),
            delay_s: link.backlog(now).as_secs_f64(),
            utilization: self.utilization,
            strays: strays.malformed + strays.fragments + strays.other_protocols,
        };
        self.shared.finish.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
