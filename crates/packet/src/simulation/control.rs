//! What happens by the clock: the end of the warm-up, and samples for traces.

use forebay_scenario::{Cancel, EngineError, FlowSample, QueueSample, Recorded, Traces};
use forebay_units::Time;

use super::Simulation;
use crate::calendar::{Event, Kind};
use crate::network;

/// How often a run looks whether it was cancelled.
const WATCHES: u64 = 4096;

/// Control events: the end of the warm-up, a trace sample, a sample for the report, the start
/// of the first trace sample's interval, and a look at whether the run was cancelled.
pub(super) const WARMUP: u32 = 0;
const SAMPLE: u32 = 1;
pub(crate) const MEASURE: u32 = 2;
const BASELINE: u32 = 3;
pub(super) const WATCH: u32 = 4;

impl Simulation<'_> {
    /// Records over time what the scenario's `[trace]` asks for.
    pub(crate) fn record(&mut self) {
        let trace = self.scenario.trace();
        let groups = self.groups.iter();
        let groups = groups.map(|group| network::traced(group.spec)).collect();
        self.traces = Some(Box::new(Traces {
            groups,
            ..Traces::default()
        }));
        self.record_packets = trace.record.contains(&Recorded::Packets);
        for flow in &mut self.flows {
            flow.direct &= !self.record_packets;
        }
        let before = trace.from.saturating_sub(trace.every);
        for (at, what) in [(before, BASELINE), (trace.from, SAMPLE)] {
            self.calendar.push(Event::new(at, Kind::Control, 0, what));
        }
    }

    pub(super) fn control(&mut self, event: Event, cancel: &Cancel) -> Result<(), EngineError> {
        match event.packet() {
            WATCH => {
                cancel.check()?;
                self.schedule_watch(event.time);
                // It belongs to whoever waits for the run, not to the scenario.
                self.events -= 1;
            }
            WARMUP => self.finish_warmup(event.time),
            MEASURE => self.measure(event.time),
            BASELINE => self.sampled = (event.time, self.links[self.target].busy(event.time)),
            _ => self.sample(event.time),
        }
        Ok(())
    }

    /// The next look at whether the run was cancelled.
    pub(super) fn schedule_watch(&mut self, now: Time) {
        let every = Time::from_picos((self.end().as_picos() / WATCHES).max(1));
        let event = Event::new(now.saturating_add(every), Kind::Control, 0, WATCH);
        self.calendar.push(event);
    }

    /// Counting starts anew.
    pub(super) fn finish_warmup(&mut self, now: Time) {
        self.warm = true;
        for link in &mut self.links {
            link.restart(now);
        }
        for flow in &mut self.flows {
            flow.before = flow.counts();
        }
        for flow in &mut self.unresponsive {
            flow.before = flow.counts;
            flow.bytes_before = flow.bytes_delivered;
        }
        self.events_before = self.congestion.restart();
        self.schedule_sample(now);
    }

    /// Records one sample of each flow and of the target link.
    fn sample(&mut self, now: Time) {
        let trace = self.scenario.trace();
        let Some(traces) = &mut self.traces else {
            return;
        };
        if trace.until.is_none_or(|until| now <= until) {
            self.calendar.push(Event::new(
                now.saturating_add(trace.every),
                Kind::Control,
                0,
                SAMPLE,
            ));
        }
        if trace.record.contains(&Recorded::Cwnd) {
            let from = traces.flows.len();
            traces.flows.extend(
                self.flows
                    .iter()
                    .filter(|flow| flow.since <= now)
                    .map(|flow| FlowSample {
                        time_s: now.as_secs_f64(),
                        flow: self.groups[flow.group as usize].first_number + flow.index as u32,
                        cwnd_packets: flow.connection.window().cwnd,
                        ssthresh_packets: flow.connection.window().ssthresh,
                        rtt_s: flow.connection.smoothed_rtt(),
                    }),
            );
            traces.flows[from..].sort_by_key(|sample| sample.flow);
        }
        let wanted = trace.record.contains(&Recorded::Queue)
            || trace.record.contains(&Recorded::Utilization);
        if wanted {
            let link = &self.links[self.target];
            let busy = link.busy(now);
            traces.queue.push(QueueSample {
                time_s: now.as_secs_f64(),
                packets: link.waiting(now) as f64,
                delay_s: link.backlog(now).as_secs_f64(),
                utilization: share(busy - self.sampled.1, now - self.sampled.0),
            });
            self.sampled = (now, busy);
        }
    }
}

/// A part of a time; of none, nothing.
fn share(part: Time, whole: Time) -> f64 {
    if whole == Time::ZERO {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}
