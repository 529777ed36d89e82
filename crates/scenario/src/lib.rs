//! The contract: scenarios, reports and engines.
//!
//! A [`Scenario`] is read from TOML or JSON and is valid by construction. An [`Engine`] answers it
//! with a [`Report`]. A [`ClosedForm`] model also says whether its assumptions hold and which
//! buffer it asks for. The life of a scenario:
//!
//! 1. `text` reads a file into a tree whose nodes remember their lines, applies [`Override`]s, and
//!    reads tables by the declarations of their keys.
//! 2. `model` declares the tables. [`Scenario::parse`] reads them in order: links, flow groups,
//!    then what depends on both, such as buffers in multiples of the bandwidth-delay product.
//! 3. `answer` has the traits of engines and models, reports and warnings.
//! 4. `derived` has what follows from a whole scenario: draws of replications, the memory estimate,
//!    the schema.
//!
//! Each layer imports only those before it. A scenario and its canonical JSON read back as equal.

mod answer;
mod derived;
mod model;
mod text;

pub use answer::engine::{
    Cancel, Check, ClosedForm, Engine, EngineDescription, EngineError, Holds, ModelError,
    Prediction, RunOptions,
};
pub use answer::footprint::{Footprint, Need, Waiting, controller_requirements};
pub use answer::quantile::{listed_quantiles, sorted_quantile};
pub use answer::report::{
    AcknowledgmentRecord, Bin, Completions, Cost, Estimate, FlowReport, FlowSample, GroupReport,
    HeaderFields, HeaderRecord, Lateness, LinkReport, MAX_BLOCKS, MAX_LISTED_FLOWS,
    MeasuredDistribution, PacketRecord, PauseRecord, QueueSample, Report, Segment, TracedGroup,
    Traces, TransferRecord, VERSION,
};
pub use derived::edit::Edit;
pub use derived::manual::{algorithms, manual, parameters};
pub use derived::memory_estimate::{DEFAULT_MEMORY, MARGIN, MORE_MEMORY, largest_need, rounded};
pub use derived::schema::schema;
pub use forebay_random::Seed;
pub use model::algorithm::{Algorithm, Code};
pub use model::buffer::{BufferLimit, BufferReport, BufferSize};
pub use model::classes::TrafficClass;
pub use model::delay::Delays;
pub use model::distribution::renewal::UnderWay;
pub use model::distribution::{Distribution, Quantity};
pub use model::fabric::routing::{HostPair, Routing};
pub use model::fabric::shape::{Role, Shape};
pub use model::fabric::table::{Fabric, FabricKind, SwitchMemory};
pub use model::flow_count::{FlowCount, MAX_FLOWS};
pub use model::flows::{Access, FlowGroup};
pub use model::link::{Link, RateLayer};
pub use model::loss::{GilbertElliott, MediumLoss};
pub use model::medium::{Cellular, Contention, Docsis, Medium, Phy, SLOT, Wifi};
pub use model::memory::{Memory, MemoryThreshold, PfcCounters};
pub use model::metric::{Goal, Metric, Relation, Scope, SourcePosition, Unit};
pub use model::options::{
    BackgroundRate, Capture, FluidOptions, MeasurementWindow, Recorded, RunPlan, TraceOptions,
    VictimCountLaw, VictimPolicy,
};
pub use model::outages::Outages;
pub use model::pfc::Pfc;
pub use model::policer::{Policer, Yellow};
pub use model::scenario::{MAX_TEXT, Scenario};
pub use model::sections::sections;
pub use model::shaper::{Shaper, ShaperKind};
pub use model::stack::{
    AckCounting, DelayedAck, FastRetransmitTimer, FullAckWindow, LimitedTransmit, PartialAckTimer,
    Processing, Recovery, Reduction, RtoArithmetic, Stack, TimeoutSsthresh,
};
pub use model::varying::{Markov, MarkovState, Varying};
pub use model::workload::Workload;
pub use text::dimension::Dimension;
pub use text::grammar::KeyText;
pub use text::naming::{Unknown, american, counted, likeliest};
pub use text::overrides::Override;
pub use text::quantity::split_quantity;
pub use text::tree::{Format, ScenarioError, Source, ValueError};

pub use answer::warning::{Warning, WarningKind};
