//! Measurements of a run: per packet, per flow and over time.

pub(crate) mod columns;
pub(crate) mod congestion_events;
pub(crate) mod loss_phases;
pub(crate) mod probe;
pub(crate) mod queue_chart;
pub(crate) mod recorder;
pub(crate) mod sampler;
pub(crate) mod transfers;
