//! The event loop: the only place where time passes. It pops the next event and hands it over.

use forebay_scenario::{Cancel, Recorded, Scenario, Seed};
use forebay_units::{Rate, Time};

use crate::calendar::event::{Control, Event, Kind, Occasion};
use crate::ends::Ends;
use crate::flow::{Arriving, Flows};
use crate::lane_assignment;
use crate::link::Departures;
use crate::link::drain_time::RateFalls;
use crate::link::host_timing::HostTiming;
use crate::link::takes_turns;
use crate::measure::columns::Scale;
use crate::measure::probe::{Probe, Seen};
use crate::measure::queue_chart::{QueueChart, Transmission};
use crate::measure::recorder::Recorder;
use crate::network::Network;
use crate::pause_frame::Sender;
use crate::refusal::{Refusal, heed, too_large};
use crate::timeline::Timeline;
use crate::traffic::Traffic;
use crate::traffic::hosts::Hosts;

/// The largest number of packets in flight: 16 bytes each.
const MAX_IN_FLIGHT: usize = 1 << 29;

/// Events between two checks for a cancellation: some hundredths of a second. Packets that links
/// carry are not counted but timed, which costs them nothing.
const EVENTS_BETWEEN_CHECKS: u64 = 1 << 16;

/// An observer of a run, which changes nothing of it.
pub trait Observer<E> {
    /// An event has happened.
    fn look(&mut self, event: Event, flows: &Flows<E>);
}

/// No observer.
impl<E> Observer<E> for () {
    #[inline]
    fn look(&mut self, _: Event, _: &Flows<E>) {}
}

/// A run in progress.
#[derive(Debug)]
pub struct Simulation<'a, H: Hosts<'a>> {
    scenario: &'a Scenario,
    /// Links, and what happens at them.
    pub network: Network,
    /// The traffic: flows, their data and the hosts that send it.
    pub traffic: Traffic<'a, H>,
    /// The coming events, and the records of past ones.
    pub timeline: Timeline<'a>,
    falls: RateFalls,
    end: Time,
    /// Events so far, without departures from links.
    events: u64,
    /// Events among them for which no link carried a packet.
    uncarried: u64,
    /// Time between two checks for a cancellation, in which the links carry
    /// [`EVENTS_BETWEEN_CHECKS`] packets.
    look_every: Time,
}

impl<'a, H: Hosts<'a>> Simulation<'a, H> {
    /// Sets a scenario up: flows, sources and first events.
    pub fn new(scenario: &'a Scenario, seed: Seed, hosts: H) -> Result<Self, Refusal> {
        Self::with_departures(scenario, (seed, hosts), Departures::Folded)
    }

    /// The same with a choice of how links are simulated.
    pub fn with_departures(
        scenario: &'a Scenario,
        (seed, hosts): (Seed, H),
        departures: Departures,
    ) -> Result<Self, Refusal> {
        let run = scenario.run();
        let timings = if H::SIMULATED {
            HostTiming::of_links(scenario, seed)
        } else {
            vec![HostTiming::EXACT; scenario.links().len()]
        };
        let mut network = Network::new(scenario, (seed, departures), timings)?;
        let mut traffic = Traffic::new(scenario, (seed, hosts), &mut network)?;
        let mut calendar =
            lane_assignment::calendar(scenario, &mut network, &mut traffic, departures);
        traffic.schedule_starts(&mut calendar)?;
        calendar.push(Event::control(run.warmup, Control::WarmupEnd));
        let recorder = Recorder::new(scenario);
        let rates = scenario.links().iter().map(|link| link.rate);
        let carried: f64 = rates.map(Rate::as_bytes_per_second).sum();
        let sizes = scenario.flows().iter().map(|group| group.packet.infimum());
        let smallest = sizes.fold(f64::INFINITY, f64::min).clamp(1.0, 1e6);
        let end = run.end();
        // There are at most a million checks: a link may be idle for days.
        let look_every = Time::from_secs_f64(EVENTS_BETWEEN_CHECKS as f64 * smallest / carried)
            .max(Time::from_picos(end.as_picos() >> 20));
        calendar.push(Event::control(look_every, Control::Watch));
        Ok(Self {
            scenario,
            falls: RateFalls::new(&network.links, run.warmup),
            network,
            traffic,
            timeline: Timeline { calendar, recorder },
            end,
            events: 0,
            uncarried: 0,
            look_every,
        })
    }

    /// Records over time what the scenario's `[trace]` asks for.
    pub fn record(&mut self) {
        let Timeline { calendar, recorder } = &mut self.timeline;
        recorder.record_traces(self.network.target());
        if recorder.records_packets() {
            self.network.record_packets(true);
            self.traffic.record_packets(recorder);
        }
        let trace = self.scenario.trace();
        if trace.record.contains(&Recorded::Pauses) {
            self.network.record_pauses(trace);
        }
        let before = trace.from.saturating_sub(trace.every);
        calendar.push(Event::control(before, Control::TraceBaseline));
        calendar.push(Event::control(trace.from, Control::TraceSample));
    }

    /// Records the packets at the target link from now on, up to `most` events between two
    /// readings; zero records none. Events from before are discarded.
    pub fn watch(&mut self, most: usize) {
        let recorder = &mut self.timeline.recorder;
        recorder.show((most > 0).then(|| Probe::new(most)));
        self.network.record_packets(recorder.records_packets());
        self.traffic.record_packets(recorder);
    }

    /// Draws a chart of the target link, in columns of this scale. It must begin with the run.
    pub fn draw_queue(&mut self, scale: Scale) {
        let target = &self.scenario.links()[self.scenario.target_index()];
        let transmission = if takes_turns(target) {
            Transmission::Never
        } else if self.network.may_be_paused(self.scenario.target_index()) {
            Transmission::Recorded
        } else {
            Transmission::Always
        };
        let recorder = &mut self.timeline.recorder;
        recorder.draw(QueueChart::new(scale, transmission));
        self.network.record_packets(true);
        self.traffic.record_packets(recorder);
    }

    /// The chart of the target link up to `now`, if one is drawn. All events before `now` must have
    /// been processed.
    pub fn queue_chart(&mut self, now: Time) -> Option<&QueueChart> {
        self.timeline.recorder.chart()?;
        self.catch_up(now);
        let chart = self.timeline.recorder.chart()?;
        chart.extend(now);
        Some(chart)
    }

    /// The events at the target link since the last reading.
    pub fn packet_events(&mut self) -> Seen {
        let probe = self.timeline.recorder.probe();
        probe.map(Probe::look).unwrap_or_default()
    }

    /// Runs to the end, or until it is canceled, and counts the packets that are left there.
    ///
    /// # Panics
    /// Where a connection's counts contradict each other: every figure of the report would be a
    /// lie.
    pub fn run(&mut self, cancel: &Cancel) -> Result<(), Refusal> {
        self.advance(cancel)?;
        self.finish()
    }

    /// Pops the events up to the end of the run and hands them over; what was put off is done then.
    ///
    /// # Panics
    /// In tests, where an event is of the past.
    pub fn advance(&mut self, cancel: &Cancel) -> Result<(), Refusal> {
        heed(cancel)?;
        self.advance_to(self.end, cancel)?;
        self.catch_up(self.end);
        Ok(())
    }

    /// Pops the events before `end` and hands them over.
    ///
    /// # Panics
    /// In tests, where an event is of the past.
    #[inline]
    pub fn advance_to(&mut self, end: Time, cancel: &Cancel) -> Result<(), Refusal> {
        self.advance_observed(end, cancel, &mut ())
    }

    /// The same with an observer.
    ///
    /// # Panics
    /// In tests, where an event is of the past.
    // In its caller's frame the simulation would have no register of its own: 1 % of all
    // instructions.
    #[inline(never)]
    pub fn advance_observed(
        &mut self,
        end: Time,
        cancel: &Cancel,
        observer: &mut impl Observer<H::Ends>,
    ) -> Result<(), Refusal> {
        let mut before = Time::ZERO;
        loop {
            let flows = self.traffic.hosts.flows();
            let ahead = |events: &[Event]| flows.prefetch(events);
            let event = self.timeline.calendar.pop_before(end, ahead);
            if event.time >= end {
                break;
            }
            if cfg!(debug_assertions) {
                assert!(event.time >= before, "an event of the past");
                before = event.time;
            }
            self.events += 1;
            let Self {
                traffic,
                network,
                timeline,
                ..
            } = self;
            match event.occasion() {
                Occasion::Other(Kind::Delivery) => traffic.deliver(event, network, timeline),
                Occasion::Arrival { hop, mark } => {
                    let arriving = Arriving { event, hop, mark };
                    traffic.arrive(arriving, network, timeline);
                }
                Occasion::Other(Kind::Source) => {
                    traffic.emit(event, network, timeline)?;
                    self.look(cancel)?;
                }
                Occasion::Other(Kind::Control) => self.control(event, cancel)?,
                Occasion::Other(kind) => {
                    self.hand_over(event, kind)?;
                    self.look(cancel)?;
                }
            }
            observer.look(event, self.traffic.hosts.flows());
        }
        Ok(())
    }

    /// Counts an event for which no link carried a packet, and checks now and then for a
    /// cancellation: sources may send, and flows begin, any number of times before a link has
    /// carried a packet.
    #[inline]
    fn look(&mut self, cancel: &Cancel) -> Result<(), Refusal> {
        self.uncarried += 1;
        if self.uncarried.is_multiple_of(EVENTS_BETWEEN_CHECKS) {
            heed(cancel)?;
        }
        Ok(())
    }

    /// An event that hardly any packet needs.
    #[inline(never)]
    fn hand_over(&mut self, event: Event, kind: Kind) -> Result<(), Refusal> {
        let Self {
            traffic,
            network,
            timeline,
            ..
        } = self;
        match kind {
            Kind::MarkedDelivery => traffic.deliver_marked(event, network, timeline),
            Kind::Departure => {
                // The packets that have left are counted, however many there are to an event.
                self.events -= 1;
                network.depart(event, traffic.hosts.flows_mut(), timeline)?;
            }
            Kind::Timer => self.timer(event)?,
            Kind::DelayedAck | Kind::Pacing => traffic.awake((kind, event), network, timeline),
            Kind::Start => traffic.start(event, network, timeline)?,
            Kind::Pause => self.pause(event),
            Kind::Stop => traffic.stop(event, network, timeline),
            Kind::Control
            | Kind::PromptArrival
            | Kind::Arrival
            | Kind::MarkedArrival
            | Kind::Delivery
            | Kind::Source => unreachable!("the event loop takes {kind:?} itself"),
        }
        Ok(())
    }

    /// A pause frame takes effect at its sender.
    fn pause(&mut self, event: Event) {
        let (frame, now) = (event.pause_frame(), event.time);
        let flows = self.traffic.hosts.flows_mut();
        match frame.sender {
            Sender::Link(link, class) => {
                let pause = ((link, class), frame.begins);
                self.network.pause(pause, now, flows, &mut self.timeline);
            }
            Sender::Host(host) => {
                let pause = (host, frame.begins);
                self.network
                    .pause_host(pause, now, flows, &mut self.timeline);
            }
        }
    }

    fn timer(&mut self, event: Event) -> Result<(), Refusal> {
        if self.timeline.calendar.deliveries() > MAX_IN_FLIGHT {
            return Err(too_large(
                "more than 500 million packets are in flight at once",
            ));
        }
        let asked = (Kind::Timer, event);
        self.traffic
            .awake(asked, &mut self.network, &mut self.timeline);
        Ok(())
    }

    /// Handles an event at a set time.
    #[cold]
    #[inline(never)]
    fn control(&mut self, event: Event, cancel: &Cancel) -> Result<(), Refusal> {
        let now = event.time;
        self.catch_up(now);
        let flows = self.traffic.hosts.flows();
        let Timeline { calendar, recorder } = &mut self.timeline;
        match event.control_of() {
            Control::WarmupEnd => {
                self.finish_warmup(now);
                self.schedule_fall();
            }
            Control::ReportSample => {
                recorder
                    .sampler
                    .sample(now, self.network.target_mut(), flows);
                self.schedule_sample(now);
            }
            Control::TraceBaseline => recorder.begin_sampling(now, self.network.target()),
            Control::TraceSample => {
                if let Some(next) = recorder.sample(now, self.network.target(), flows) {
                    calendar.push(Event::control(next, Control::TraceSample));
                }
            }
            Control::Fall => {
                self.falls.look(now, &mut self.network.links);
                self.schedule_fall();
                // It belongs to the report, not to the scenario.
                self.events -= 1;
            }
            Control::Watch => {
                heed(cancel)?;
                let next = now.saturating_add(self.look_every);
                calendar.push(Event::control(next, Control::Watch));
                // The event belongs to the caller that waits for the run, not to the scenario.
                self.events -= 1;
            }
        }
        Ok(())
    }

    /// All that has left a link before `now` has consequences by then.
    pub fn catch_up(&mut self, now: Time) {
        let flows = self.traffic.hosts.flows_mut();
        self.network.catch_up(now, flows, &mut self.timeline);
    }

    /// Counting restarts.
    fn finish_warmup(&mut self, now: Time) {
        self.network.finish_warmup(now);
        self.traffic.hosts.flows_mut().finish_warmup();
        self.timeline.recorder.finish_warmup();
        self.schedule_sample(now);
    }

    /// Schedules the report's next sample.
    fn schedule_sample(&mut self, now: Time) {
        let Timeline { calendar, recorder } = &mut self.timeline;
        let next = recorder.sampler.next(now);
        if next < self.end {
            calendar.push(Event::control(next, Control::ReportSample));
        }
    }

    /// Schedules the look at the next fall of a link's rate.
    fn schedule_fall(&mut self) {
        let next = self.falls.next();
        if next < self.end {
            let fall = Event::control(next, Control::Fall);
            self.timeline.calendar.push(fall);
        }
    }

    /// The longest time in which the queue of link number `at` drained after a fall of its rate, in
    /// seconds.
    pub(crate) fn drain_time_max(&self, at: usize) -> Option<f64> {
        self.falls.longest(at).map(Time::as_secs_f64)
    }

    /// The run ends: what is left is counted.
    ///
    /// # Panics
    /// Where a connection's counts contradict each other: every figure of the report would be a
    /// lie.
    pub fn finish(&mut self) -> Result<(), Refusal> {
        if !self.timeline.recorder.is_warm() {
            self.finish_warmup(self.end);
        }
        // A broken count would make every figure of the report a lie.
        let flows = &self.traffic.hosts.flows().responsive;
        let wrong = flows.iter().find(|flow| !flow.ends.consistent());
        assert!(
            wrong.is_none(),
            "a connection's counts contradict each other: {wrong:?}"
        );
        let recorder = &mut self.timeline.recorder;
        self.traffic.finish(self.end, recorder);
        let flows = self.traffic.hosts.flows();
        self.network.finish(self.end, flows, recorder)
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events + self.network.departures
    }

    /// The run ends then, before its scenario says so; nothing of it has happened yet.
    pub fn end_at(&mut self, time: Time) {
        self.end = self.end.min(time);
    }

    /// How long was measured, in seconds.
    pub(crate) fn measured(&self) -> f64 {
        let warmup = self.scenario.run().warmup;
        self.end.saturating_sub(warmup).as_secs_f64()
    }

    /// When the run ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Time in which the links carry some ten thousands of packets.
    pub fn look_every(&self) -> Time {
        self.look_every
    }
}
