//! The result of a fluid run. The integrators return it, and the report is built from it.

use forebay_scenario::Metric;

use crate::counters::LinkCounters;
use crate::model::FluidModel;

/// Result of a fluid run. Figures are those of the measured part unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidOutcome {
    /// Start of the measured part, in seconds.
    pub from: f64,
    /// End of the measured part, in seconds.
    pub to: f64,
    /// Limits of the measured part.
    pub measured_by: MeasuredBy,
    /// The links, in the model's order.
    pub links: Vec<LinkOutcome>,
    /// Goodput of each flow, in its own packets per second. Its share of losses and of the packets
    /// still in queues is subtracted.
    pub goodput: Vec<f64>,
    /// Packets that each flow sent.
    pub sent: Vec<f64>,
    /// Fraction of each flow's packets that was lost.
    pub loss: Vec<f64>,
    /// Largest window of each flow over the whole run, in packets of the flow.
    pub peak_window: Vec<f64>,
    /// Jain's index of the goodputs; 1 without flows.
    pub jain: f64,
    /// Samples over the whole run, if the model requests them.
    pub trace: Trace,
    /// Largest relative defect of arrivals = departures + losses + change of queue at any link,
    /// over the whole run.
    pub conservation: f64,
    /// Integration steps of the whole run, closed-form intervals included.
    pub steps: u64,
    /// Steps that the error control rejected.
    pub refused: u64,
}

impl FluidOutcome {
    /// Whether no flow can have met its [`crate::Limits`]. No window reached the receive window,
    /// and none could fill the access link even without queueing delay.
    pub fn within_limits(&self, model: &FluidModel) -> bool {
        model.flows.iter().zip(&self.peak_window).all(|(flow, w)| {
            let limits = &flow.limits;
            *w <= limits.receive_window && *w <= limits.access_rate * flow.propagation
        })
    }
}

/// Result of one link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Packets that arrived, background included.
    pub arrived: f64,
    /// Fraction of the background's packets that was lost.
    pub background_loss_rate: f64,
    /// Departures divided by accepted packets. It is not 1 if the queue changes between beginning
    /// and end.
    pub delivered: f64,
    /// Departures divided by (capacity x time), or by the possible departures if the capacity
    /// changes.
    pub utilization: f64,
    /// Losses divided by arrivals, RED's expected early drops included.
    pub loss_rate: f64,
    /// Mean fraction of the link's flows that a congestion event cuts; `None` without events.
    pub synchronization: Option<f64>,
    /// Number of congestion events.
    pub events: u64,
    /// Time average of the queue, in packets.
    pub queue_mean: f64,
    /// Mean waiting time of accepted packets, in seconds.
    pub delay_mean: f64,
    /// Quantiles of the waiting time of accepted packets, in seconds.
    pub delay_quantiles: [(Metric, f64); Metric::QUEUE_DELAY_QUANTILES.len()],
    /// Largest waiting time, in seconds.
    pub delay_max: f64,
    /// Drain times of the queue, if the capacity changes.
    pub drains: Option<Drains>,
}

/// Times until a queue has been served, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drains {
    /// Longest drain time at a fall of the capacity; `None` if it never falls.
    pub longest: Option<f64>,
    /// Median and 99th percentile over time, while the capacity is below its mean and while it is
    /// not. `None` for a phase that never occurs.
    pub by_phase: [Option<[f64; 2]>; 2],
}

/// Limits of the measured part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredBy {
    /// Fixed times limit it.
    Time,
    /// The first congestion event and a duration limit it.
    FirstEvent,
    /// The first and the last congestion event limit it.
    WholeCycles,
    /// Fewer than two congestion events limited it. It extends from the start, or from a single
    /// event on.
    TooFewEvents,
}

/// Equidistant samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Times of the samples, in seconds.
    pub times: Vec<f64>,
    /// Queue of each link in packets: `queues[link][sample]`.
    pub queues: Vec<Vec<f64>>,
    /// Share of each link's capacity in use at the instant: `used[link][sample]`.
    pub used: Vec<Vec<f64>>,
    /// Window of each flow in its own packets: `windows[flow][sample]`.
    pub windows: Vec<Vec<f64>>,
}

impl Trace {
    /// An empty trace of a model's links and flows.
    pub(crate) fn for_model(model: &FluidModel) -> Self {
        Self {
            times: Vec::new(),
            queues: vec![Vec::new(); model.links.len()],
            used: vec![Vec::new(); model.links.len()],
            windows: vec![Vec::new(); model.flows.len()],
        }
    }
}

/// Jain's index (sum x)^2 / (n sum x^2); 1 if there are no values or all are zero.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return 1.0;
    }
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| {
        let x = x / largest;
        (sum + x, squares + x * x)
    });
    sum * sum / (values.len() as f64 * squares)
}

/// The figures of a link from its counts over `time` seconds, with `possible` packets of service.
pub(crate) fn link_outcome(
    counters: &LinkCounters,
    (capacity, possible): (f64, f64),
    time: f64,
) -> LinkOutcome {
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    LinkOutcome {
        arrived: counters.arrived,
        background_loss_rate: ratio(counters.background_lost, counters.background),
        delivered: counters.delivered(),
        utilization: ratio(counters.departed, possible),
        // RED drops before the buffer clips, so a packet is lost only once.
        loss_rate: 1.0
            - (1.0 - ratio(counters.early, counters.arrived)).max(0.0)
                * (1.0 - ratio(counters.lost, counters.arrived)),
        synchronization: (counters.events > 0).then(|| counters.fractions / counters.events as f64),
        events: counters.events,
        queue_mean: ratio(counters.queue, time),
        delay_mean: ratio(counters.waiting, counters.accepted).min(counters.largest / capacity),
        // A histogram knows only its bins, so no quantile may exceed the largest value.
        delay_quantiles: Metric::QUEUE_DELAY_QUANTILES.map(|(metric, share)| {
            let found = counters.found.quantile(share).min(counters.largest);
            (metric, found / capacity)
        }),
        delay_max: counters.largest / capacity,
        drains: counters.slow.has_bins().then(|| Drains {
            longest: counters.drains,
            by_phase: [&counters.slow, &counters.fast].map(|law| {
                let found = law.quantiles([0.5, 0.99]);
                found.map(|quantiles| quantiles.map(|wait| wait / capacity))
            }),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_one_over_n_for_one_taker() {
        assert_eq!(jain(&[3.0; 7]), 1.0);
        assert!((jain(&[1.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-15);
        assert_eq!(jain(&[]), 1.0);
        assert!((jain(&[1e300, 1e300]) - 1.0).abs() < 1e-15);
    }
}
