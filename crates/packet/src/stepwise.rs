//! A run in steps: the caller advances it by a time or a number of events, and reads in between the
//! waiting packets, the packets in flight and the events so far. Neither changes a figure of the
//! report.

mod chart;
mod follower;

use forebay_scenario::{EngineError, Report, RunOptions, Scenario};
pub use forebay_simulation::WINDOW_UNIT;
use forebay_simulation::{Ends, PauseState, Scale, Seen, Usage, report};
use forebay_units::Time;

pub use self::chart::Chart;
use self::chart::Windows;
use self::follower::Follower;
pub use self::follower::{SenderState, StateHistory};
use crate::ends::{SimulatedFlow, is_active};
use crate::{NAME, PacketSimulation, admit, prepare, refused};

/// Events of a slice, after which the event count is checked again, at about the highest rate of
/// events that a scenario can have.
const EVENTS_OF_A_SLICE: f64 = 4096.0;

/// The smallest step of the run's clock.
const INSTANT: Time = Time::from_picos(1);

/// A run of the packet engine in steps.
#[derive(Debug)]
pub struct Stepwise<'a> {
    scenario: &'a Scenario,
    options: RunOptions,
    simulation: PacketSimulation<'a>,
    /// All that happens before it has happened.
    now: Time,
    /// Time in which about [`EVENTS_OF_A_SLICE`] happen.
    slice: Time,
    /// Usage of each link at the last picture.
    used: Vec<Usage>,
    /// Number of each group's first flow over all groups, as traces count them.
    first_numbers: Vec<u64>,
    follower: Option<Follower>,
    windows: Windows,
}

/// A link as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkPicture {
    /// Packets waiting, without the one in transmission.
    pub waiting: u64,
    /// Time until everything here has left, in seconds.
    pub backlog_s: f64,
    /// Share of what could be sent since the last picture that was; 0 to 1.
    pub utilization: f64,
    /// Packets that have arrived since the warm-up, or since the beginning where it is not over.
    pub arrivals: u64,
    /// Dropped packets among them.
    pub drops: u64,
    /// Marked packets among them.
    pub marks: u64,
    /// The pauses by and of the link; none where it takes no part in pauses.
    pub pauses: Option<PauseState>,
}

/// A flow with congestion control as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowPicture {
    /// Its number over all groups, as traces count them.
    pub flow: u64,
    /// Number of its group.
    pub group: u64,
    /// Whether it has something to send or to have acknowledged.
    pub active: bool,
    /// The congestion window in packets.
    pub cwnd_packets: f64,
    /// The slow-start threshold in packets; infinite where there is none.
    pub ssthresh_packets: f64,
    /// Smoothed round-trip time in seconds; 0 before the first sample.
    pub rtt_s: f64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Packets that have arrived at the target link.
    pub arrived: u64,
    /// Packets among them that were dropped there.
    pub dropped: u64,
}

impl<'a> Stepwise<'a> {
    /// A run before its first event.
    ///
    /// # Errors
    /// An unsupported feature, by name; a run that would be too large.
    pub fn begin(scenario: &'a Scenario, options: RunOptions) -> Result<Self, EngineError> {
        let simulation = prepare(scenario, &options)?;
        let seconds = scenario.run().end().as_secs_f64();
        let slice = Time::from_secs_f64(seconds * EVENTS_OF_A_SLICE / scenario.most_events());
        let mut next = 0;
        let first_numbers = scenario.flows().iter().map(|group| {
            let first = next;
            next += group.count;
            first
        });
        Ok(Self {
            slice: slice.max(Time::from_picos(1)),
            used: vec![Usage::default(); scenario.links().len()],
            first_numbers: first_numbers.collect(),
            follower: None,
            windows: Windows::default(),
            now: Time::ZERO,
            scenario,
            options,
            simulation,
        })
    }

    /// Whether [`Self::begin`] would accept this run, without its memory and its first events.
    ///
    /// # Errors
    /// An unsupported feature, by name; a run that would be too large.
    pub fn check(scenario: &Scenario, options: &RunOptions) -> Result<(), EngineError> {
        admit(scenario, options).map(|_| ())
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.simulation.end()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.simulation.events()
    }

    /// Advances the run to `until`, to the end of the run, or until about `events` more events have
    /// happened. A slice of some thousands of events is always finished, and so are all events of
    /// one instant.
    ///
    /// # Errors
    /// A run that grows too large, or that was canceled: it must not go on.
    pub fn advance(&mut self, until: Time, events: u64) -> Result<(), EngineError> {
        let until = until.min(self.end());
        let enough = self.events().saturating_add(events);
        while self.now < until && self.events() < enough {
            self.options.cancel.check()?;
            let next = self.simulation.timeline.calendar.next_time();
            let slice_end = next.max(self.now).saturating_add(self.slice);
            self.now = slice_end.min(until);
            self.follow_to(self.now)?;
            let cancel = &self.options.cancel;
            self.simulation
                .advance_observed(self.now, cancel, &mut self.windows)
                .map_err(refused)?;
            // The events that a chart has not processed are bounded by a slice.
            self.simulation.queue_chart(self.now);
        }
        Ok(())
    }

    /// If a flow is followed, advances to `end` from instant to instant and records the flow after
    /// each.
    fn follow_to(&mut self, end: Time) -> Result<(), EngineError> {
        let Some(follower) = &mut self.follower else {
            return Ok(());
        };
        let simulation = &mut self.simulation;
        loop {
            let next = simulation.timeline.calendar.next_time();
            if next >= end {
                return Ok(());
            }
            let (after, cancel) = (next.saturating_add(INSTANT), &self.options.cancel);
            simulation
                .advance_observed(after, cancel, &mut self.windows)
                .map_err(refused)?;
            follower.look(next, &simulation.traffic.hosts.flows.responsive);
        }
    }

    // --- The chart ---

    /// Draws a chart of the target link and of the windows of the first `flows` flows from now on,
    /// in `most` columns at most. It covers the run, so that it must begin with the run. Returns
    /// whether it does; if not, no chart is drawn.
    ///
    /// # Panics
    /// If `most` is zero.
    pub fn draw(&mut self, most: usize, flows: usize) -> bool {
        if self.now > Time::ZERO {
            return false;
        }
        let scale = Scale::new(most);
        self.windows = Windows::new(scale, flows);
        self.simulation.draw_queue(scale);
        true
    }

    /// The chart up to now, if one is drawn.
    pub fn chart(&mut self) -> Option<Chart<'_>> {
        let queue = self.simulation.queue_chart(self.now)?;
        Some(Chart {
            width: queue.waiting().scale().width(),
            waiting: queue.waiting().columns(),
            counts: queue.counts().columns(),
            windows: self.windows.extend(self.now),
            dropped: queue.dropped(),
            marked: queue.marked(),
        })
    }

    // --- Pictures ---

    /// Records the packets at the target link from now on, up to `most` events between two calls of
    /// [`Self::packet_events`]; zero records none. Recording costs time for each packet.
    pub fn watch(&mut self, most: usize) {
        self.simulation.watch(most);
    }

    /// The events at the target link since the last call.
    pub fn packet_events(&mut self) -> Seen {
        self.simulation.catch_up(self.now);
        self.simulation.packet_events()
    }

    /// Follows this flow of a group from now on. The flow's number counts over all groups, as in
    /// traces. The state of the flow is recorded at each change, up to `most` changes between two
    /// calls of [`Self::course`]. Following costs time for each instant. Returns whether there is
    /// such a flow with congestion control; if not, none is followed.
    pub fn follow(&mut self, (group, flow): (u64, u64), most: usize) -> bool {
        let flows = &self.simulation.traffic.hosts.flows.responsive;
        let place = flows.iter().position(|it| self.number(it) == (group, flow));
        self.follower = place.map(|place| {
            let mut follower = Follower::new(place, most);
            follower.look(self.now, flows);
            follower
        });
        self.follower.is_some()
    }

    /// The states of the followed flow since the last call.
    pub fn course(&mut self) -> StateHistory {
        let follower = self.follower.as_mut();
        follower.map(Follower::take).unwrap_or_default()
    }

    /// Each link as it is now, in the order of the scenario.
    pub fn links(&mut self) -> Vec<LinkPicture> {
        self.simulation.catch_up(self.now);
        let network = &self.simulation.network;
        let links = network.links.iter().zip(&mut self.used).enumerate();
        let picture = links
            .zip(self.scenario.links())
            .map(|((at, (link, used)), spec)| {
                let usage = link.usage(self.now);
                let before = std::mem::replace(used, usage);
                let statistics = link.statistics();
                // A medium sends whole blocks: within one, more is sent than the span permits.
                let most = spec.medium.as_ref().map_or(f64::INFINITY, |_| 1.0);
                LinkPicture {
                    waiting: link.waiting(self.now),
                    backlog_s: link.backlog(self.now).as_secs_f64(),
                    utilization: usage.since(&before).min(most),
                    arrivals: statistics.arrivals,
                    drops: statistics.drops,
                    marks: statistics.marks,
                    pauses: network.pause_state(at, self.now),
                }
            });
        picture.collect()
    }

    /// Payload in bytes that all flows with congestion control have delivered since the beginning.
    pub fn delivered_bytes(&self) -> f64 {
        let flows = self.simulation.traffic.hosts.flows.responsive.iter();
        let delivered = flows.map(|flow| {
            let header = self.scenario.flows()[flow.transit.group.index()].header();
            let payload = u64::from(flow.transit.packet_bytes) - header.get();
            // Packets count from 1.
            let packets = flow.counts().delivered.saturating_sub(1);
            flow.ends.goodput_bytes(packets, payload)
        });
        delivered.sum()
    }

    /// The first `most` flows with congestion control as they are now.
    pub fn flows(&mut self, most: usize) -> Vec<FlowPicture> {
        self.simulation.catch_up(self.now);
        let flows = &self.simulation.traffic.hosts.flows.responsive;
        flows
            .iter()
            .take(most)
            .map(|flow| self.flow(flow))
            .collect()
    }

    /// The number of a flow's group, and its own over all groups.
    fn number(&self, flow: &SimulatedFlow) -> (u64, u64) {
        let group = flow.transit.group.index();
        (group as u64, self.first_numbers[group] + flow.index)
    }

    fn flow(&self, flow: &SimulatedFlow) -> FlowPicture {
        let (group, number) = self.number(flow);
        let ends = &flow.ends;
        let (window, progress) = (ends.window(), ends.progress());
        FlowPicture {
            flow: number,
            group,
            active: is_active(flow),
            cwnd_packets: window.cwnd,
            ssthresh_packets: window.ssthresh,
            rtt_s: ends.smoothed_rtt(),
            retransmissions: progress.retransmissions,
            timeouts: progress.timeouts,
            arrived: flow.transit.arrived,
            dropped: flow.transit.dropped,
        }
    }

    // --- The end ---

    /// Runs to the end: the report of [`crate::PacketEngine`], byte for byte.
    ///
    /// # Errors
    /// A run that grows too large, or that was canceled.
    pub fn finish(mut self) -> Result<Report, EngineError> {
        self.options.cancel.check()?;
        self.advance(Time::MAX, u64::MAX)?;
        self.simulation.catch_up(self.now);
        self.simulation.finish().map_err(refused)?;
        Ok(report(
            NAME,
            (self.scenario, self.options.seed),
            self.simulation,
        ))
    }
}

#[cfg(test)]
mod chart_tests;
#[cfg(test)]
mod tests;
