//! The contract: what a scenario is, what a report says, and what an engine must do.
//!
//! A [`Scenario`] is read from TOML or JSON and is valid by construction. An [`Engine`] answers
//! it with a [`Report`]; a [`ClosedForm`] model also says whether its assumptions hold and which
//! buffer it asks for.

mod algorithm;
mod assumed;
mod classes;
mod cursor;
mod delay;
mod demand;
mod dimension;
mod engine;
mod flows;
mod form;
mod kept;
mod keys;
mod law;
mod link;
mod loss;
mod manual;
mod measured;
mod medium;
mod metric;
mod naming;
mod node;
mod observed;
mod options;
mod outages;
mod overrides;
mod policer;
mod quantile;
mod rate;
mod report;
mod scenario;
mod schema;
mod shaper;
mod stack;
mod step_list;
mod uncertain;
mod varying;
mod warning;
mod workload;
mod written;

pub use algorithm::Algorithm;
pub use classes::TrafficClass;
pub use delay::Delays;
pub use demand::{
    DEFAULT_MEMORY, Footprint, MARGIN, MORE_MEMORY, Need, Waiting, controller_needs, rounded,
};
pub use dimension::{Dimension, split_quantity};
pub use engine::{
    Cancel, Check, ClosedForm, Engine, EngineDescription, EngineError, Holds, ModelError,
    Prediction, RunOptions,
};
pub use flows::{Access, FlowGroup, MAX_FLOWS};
pub use forebay_random::Seed;
pub use keys::KeyText;
pub use law::{Law, Quantity, UnderWay};
pub use link::{BufferLimit, BufferSize, Link, Memory, RateLayer};
pub use loss::{GilbertElliott, MediumLoss};
pub use manual::{algorithms, manual, sections};
pub use medium::{Cellular, Contention, Docsis, Medium, Phy, SLOT, Wifi};
pub use metric::{Goal, Metric, Place, Relation, Scope, Unit};
pub use naming::{Unknown, american, counted, likeliest};
pub use node::{Format, Mistake, ScenarioError, Source};
pub use options::{
    BackgroundRate, Capture, FluidOptions, MeasurementWindow, Recorded, RunPlan, TraceOptions,
    VictimCountLaw, VictimPolicy,
};
pub use outages::Outages;
pub use overrides::Override;
pub use policer::{Policer, Yellow};
pub use quantile::{listed_quantiles, sorted_quantile};
pub use report::{
    AcknowledgmentRecord, Bin, BufferReport, Completions, Cost, Distribution, Estimate, FlowReport,
    FlowSample, GroupReport, HeaderRecord, Lateness, LinkReport, MAX_BLOCKS, MAX_LISTED_FLOWS,
    PacketRecord, QueueSample, Report, SaidRecord, Segment, TracedGroup, Traces, TransferRecord,
};
pub use scenario::{MAX_TEXT, Scenario};
pub use schema::schema;
pub use shaper::{Shaper, ShaperKind};
pub use stack::{
    AckCounting, DelayedAck, FastRetransmitTimer, FullAckWindow, LimitedTransmit, PartialAckTimer,
    Processing, Recovery, Reduction, RtoArithmetic, Stack, TimeoutCut,
};
pub use uncertain::FlowCount;
pub use varying::{Markov, MarkovState, Varying};
pub use workload::Workload;

pub use warning::{Warning, WarningKind};

/// The version that reports carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
