//! The contract: what a scenario is, what a report says, and what an engine must do.
//!
//! A [`Scenario`] is read from TOML or JSON and is valid by construction. An [`Engine`] answers
//! it with a [`Report`]; a [`ClosedForm`] model also says whether its assumptions hold and which
//! buffer it asks for.

mod algorithm;
mod engine;
mod flows;
mod law;
mod link;
mod measured;
mod metric;
mod node;
mod options;
mod quantile;
mod report;
mod scenario;
mod schema;
mod uncertain;

pub use algorithm::Algorithm;
pub use engine::{
    Check, ClosedForm, Engine, EngineError, Holds, ModelError, Prediction, interrupted,
    set_interrupt,
};
pub use flows::{
    Access, DelayedAck, FlowGroup, MAX_FLOWS, PartialAckTimer, Recovery, Reduction, Stack,
    TimeoutCut, Workload,
};
pub use forebay_random::Seed;
pub use law::{Law, Quantity};
pub use link::{BufferLimit, BufferSize, Link, Memory, RateLayer};
pub use metric::{Goal, Metric, Relation};
pub use node::{Format, Override, ScenarioError};
pub use options::{
    BackgroundRate, FluidOptions, MeasurementWindow, Recorded, TraceOptions, VictimCountLaw,
    VictimPolicy,
};
pub use quantile::{listed_quantiles, sorted_quantile};
pub use report::{
    Bin, BufferReport, Completions, Cost, Distribution, Estimate, FlowReport, FlowSample,
    GroupReport, LinkReport, MAX_LISTED_FLOWS, PacketRecord, QueueSample, Report, TracedGroup,
    Traces, TransferRecord,
};
pub use scenario::{RunPlan, Scenario};
pub use schema::schema;
pub use uncertain::CountLaw;

/// The version that reports carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
