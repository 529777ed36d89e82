//! The chart of a run: the target link and the congestion windows of the first flows, in columns of
//! simulated time. [`super`] draws it while the run advances. It depends on the scenario, on the
//! seed, on the largest number of columns and on the time, not on the steps of the caller.

use forebay_simulation::{
    Count, Event, FlowId, Flows, Kind, Level, Levels, Observer, Occasion, Scale, Signals,
    WINDOW_UNIT,
};
use forebay_units::Time;

use crate::ends::{SimulatedEnds, SimulatedFlow, is_active};

/// A chart up to the time of the run.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// The width of a column. Column number `n` begins at `n` times the width.
    pub width: Time,
    /// Packets that wait at the target link, in each column.
    pub waiting: &'a [Level],
    /// Losses, marks and bytes at the target link, in each column.
    pub counts: &'a [Count],
    /// The windows of each flow in units of [`WINDOW_UNIT`], while the flow has something to send
    /// or to have acknowledged.
    pub windows: Vec<&'a [Level]>,
    /// Packets that the target link has lost since the beginning.
    pub dropped: &'a Signals,
    /// Packets that the target link has marked since the beginning.
    pub marked: &'a Signals,
}

/// The windows of the first flows. After each event it looks at the flow whose window the event may
/// have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows {
    flows: Vec<Levels>,
}

impl Windows {
    /// The windows of the first `flows` flows.
    pub(super) fn new(scale: Scale, flows: usize) -> Self {
        Self {
            flows: vec![Levels::new(scale, None); flows],
        }
    }

    /// The columns up to `now`.
    pub(super) fn extend(&mut self, now: Time) -> Vec<&[Level]> {
        self.flows
            .iter_mut()
            .map(|levels| {
                levels.extend(now);
                levels.columns()
            })
            .collect()
    }

    #[inline]
    fn look_at(&mut self, place: usize, (now, flows): (Time, &[SimulatedFlow])) {
        if let (Some(levels), Some(flow)) = (self.flows.get_mut(place), flows.get(place)) {
            let window = flow.ends.connection.window().cwnd / WINDOW_UNIT;
            let value = is_active(flow).then_some(window as u64);
            if value != levels.value() {
                levels.set(now, value);
            }
        }
    }
}

impl Observer<SimulatedEnds> for Windows {
    #[inline]
    fn look(&mut self, event: Event, flows: &Flows<SimulatedEnds>) {
        if self.flows.is_empty() {
            return;
        }
        let now = (event.time, &flows.responsive[..]);
        match event.occasion() {
            Occasion::Arrival { .. } | Occasion::Other(Kind::Departure) => {}
            Occasion::Other(
                Kind::Delivery
                | Kind::MarkedDelivery
                | Kind::DelayedAck
                | Kind::Timer
                | Kind::Pacing,
            ) => match flows.of_number(event.flow()) {
                FlowId::Responsive(flow) => self.look_at(flow.index(), now),
                FlowId::Unresponsive(flow) => {
                    if let Some(of) = flows[flow].acks_of {
                        self.look_at(of.index(), now);
                    }
                }
            },
            Occasion::Other(_) => {
                for place in 0..self.flows.len() {
                    self.look_at(place, now);
                }
            }
        }
    }
}
