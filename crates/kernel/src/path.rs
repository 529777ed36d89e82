//! The real-time loop: it executes events that are due by the emulated clock, and accepts packets
//! of the namespaces at the instant of reading.
//!
//! The departures of a link are computed from arrival times. Therefore a late loop delivers packets
//! late and never changes the rate of a link. If an event is later than [`STALL`], the clock is
//! frozen for the lateness. Both ends then see one long round trip and not a burst of compressed
//! acknowledgments.

use std::io;
use std::os::fd::AsFd;

use forebay_scenario::Cancel;
use forebay_simulation::{Refusal, Simulation};
use forebay_units::Time;

use crate::clock::Clock;
use crate::hosts::SocketHosts;
use crate::namespaces::Namespaces;
use crate::side::Side;
use crate::verdict::is_frozen_for_too_long;
use crate::wait::{Interest, Waiting};

/// A simulation with the hosts of this engine.
pub(crate) type KernelSimulation<'a> = Simulation<'a, SocketHosts<'a>>;

/// Lateness of an event above which the clock is frozen.
const STALL: Time = Time::from_micros(400);

/// Longest sleep; failures and cancellations are checked after it.
const NAP: Time = Time::from_millis(50);

/// Emulated time between two checks of failures and cancellations.
const LOOK_EVERY: Time = Time::from_millis(20);

/// Reason why a loop ends early.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The run is refused, or was canceled.
    Refused(Refusal),
    /// The operating system reports an error.
    Failed(io::Error),
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// An observer of a run.
pub(crate) trait Observer: std::fmt::Debug {
    /// Called when the run has reached `now`. Returns whether the run ends here, as if its scenario
    /// ended.
    fn follow(&mut self, now: Time, simulation: &mut KernelSimulation<'_>) -> bool;
}

/// The loop of one run.
#[derive(Debug)]
pub(crate) struct Path<'a, 'r> {
    namespaces: &'a Namespaces,
    simulation: &'r mut KernelSimulation<'a>,
    cancel: &'r Cancel,
    observer: Option<&'r mut dyn Observer>,
    buffer: Vec<u8>,
}

/// Result of reading a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Packet,
    Nothing,
}

impl<'a, 'r> Path<'a, 'r> {
    pub(crate) fn new(
        namespaces: &'a Namespaces,
        simulation: &'r mut KernelSimulation<'a>,
        cancel: &'r Cancel,
    ) -> Self {
        Self {
            namespaces,
            simulation,
            cancel,
            observer: None,
            buffer: vec![0; usize::from(u16::MAX) + 1],
        }
    }

    /// Adds an observer.
    pub(crate) fn followed(mut self, observer: &'r mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Runs to the end of the run.
    pub(crate) fn run(&mut self) -> Result<(), Ended> {
        // The time of the setup does not belong to the run.
        self.simulation.traffic.hosts.clock = Clock::start();
        let mut look = Time::ZERO;
        loop {
            let now = self.hand_over_due()?;
            let end = self.simulation.end();
            if now >= end {
                return Ok(self.simulation.advance(self.cancel)?);
            }
            if now >= look {
                self.look(now)?;
                look = now.saturating_add(LOOK_EVERY);
            }
            let near = self.take_in(Side::Near)?;
            let far = self.take_in(Side::Far)?;
            if near == Read::Nothing && far == Read::Nothing {
                self.sleep(end)?;
            }
        }
    }

    /// Executes all events that are due. Returns the time up to which no further event is due.
    fn hand_over_due(&mut self) -> Result<Time, Ended> {
        loop {
            let next = self.simulation.timeline.calendar.next_time();
            let end = self.simulation.end();
            let hosts = &mut self.simulation.traffic.hosts;
            let now = hosts.clock.now();
            if next > now || next >= end {
                return Ok(now);
            }
            let late = now - next;
            hosts.late = late;
            if late > STALL {
                hosts.clock.freeze(late);
            }
            let behind = next.saturating_add(Time::from_picos(1));
            self.simulation.advance_to(behind, self.cancel)?;
        }
    }

    /// Accepts the next packet that the namespace of a side has sent.
    fn take_in(&mut self, side: Side) -> Result<Read, Ended> {
        let Some(length) = self.namespaces.device(side).read(&mut self.buffer)? else {
            return Ok(Read::Nothing);
        };
        // Events that are due before the packet are executed first.
        let now = self.hand_over_due()?;
        if now >= self.simulation.end() {
            // The packet comes after the end, so it is not counted.
            return Ok(Read::Packet);
        }
        let Simulation {
            network,
            traffic,
            timeline,
            ..
        } = &mut *self.simulation;
        let packet = (&self.buffer[..length], now);
        match side {
            Side::Near => traffic.hosts.receive_near(packet, network, timeline),
            Side::Far => traffic.hosts.receive_far(packet, network, timeline),
        }
        Ok(Read::Packet)
    }

    /// Waits for a packet or for the next event.
    fn sleep(&mut self, end: Time) -> Result<(), Ended> {
        let next = self.simulation.timeline.calendar.next_time().min(end);
        let now = self.simulation.traffic.hosts.clock.now();
        let nap = next.saturating_sub(now).min(NAP);
        let mut waiting = Waiting::new();
        for side in [Side::Near, Side::Far] {
            waiting.add(self.namespaces.device(side).as_fd(), Interest::Read);
        }
        waiting.wait(Some(nap))?;
        Ok(())
    }

    /// Checks whether the run must end.
    fn look(&mut self, now: Time) -> Result<(), Ended> {
        if self.cancel.requested() {
            return Err(Refusal::Interrupted.into());
        }
        let hosts = &mut self.simulation.traffic.hosts;
        if let Some(error) = hosts.failure() {
            return Err(error.into());
        }
        if self.simulation.timeline.recorder.is_warm() {
            hosts.inspect();
        }
        let frozen = hosts.clock.frozen();
        let ends = match &mut self.observer {
            Some(observer) => observer.follow(now, self.simulation),
            // The verdict would refuse this run, so it need not continue.
            None => is_frozen_for_too_long(frozen, self.simulation.end()),
        };
        if ends {
            self.simulation.end_at(now);
        }
        Ok(())
    }
}
