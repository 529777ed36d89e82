//! The published models: one file each, which exports one value, `MODEL`.
//!
//! To add a model or rule, add its file and its line below (with the `mod` that Rust needs).

pub mod aimd;
pub mod barman_droptail;
pub mod barman_red;
pub mod bbr;
pub mod bdp;
pub mod bscl;
pub mod burst_queue;
pub mod closed_loop;
pub mod core_access;
pub mod cubic_response;
pub mod dctcp_sawtooth;
pub mod flow_proportional;
pub mod full_link_loss;
pub mod gorinsky;
pub mod hstcp_throughput;
pub mod htcp_response;
pub mod hybrid_fluid;
pub mod mathis;
pub mod mm1k;
pub mod one_flow;
pub mod overload;
pub mod pftk;
pub mod power_law;
pub mod processor_sharing;
pub mod saturability;
pub mod scalable_response;
pub mod small_buffers;
pub mod sqrt_n;
pub mod tiny_buffers;
pub mod wischik_mckeown;

use forebay_scenario::Unknown;

use crate::error::FormulaError;
use crate::model::Model;

/// All models in the order of listings; those with a sizing rule first.
static MODELS: &[&Model] = &[
    &bdp::MODEL,
    &one_flow::MODEL,
    &mm1k::MODEL,
    &sqrt_n::MODEL,
    &wischik_mckeown::MODEL,
    &hybrid_fluid::MODEL,
    &barman_droptail::MODEL,
    &barman_red::MODEL,
    &full_link_loss::MODEL,
    &bscl::MODEL,
    &tiny_buffers::MODEL,
    &small_buffers::MODEL,
    &flow_proportional::MODEL,
    &gorinsky::MODEL,
    &processor_sharing::MODEL,
    &core_access::MODEL,
    &bbr::MODEL,
    &power_law::MODEL,
    &overload::MODEL,
    &dctcp_sawtooth::MODEL,
    &closed_loop::MODEL,
    &burst_queue::MODEL,
    &saturability::MODEL,
    &mathis::MODEL,
    &aimd::MODEL,
    &cubic_response::MODEL,
    &htcp_response::MODEL,
    &scalable_response::MODEL,
    &hstcp_throughput::MODEL,
    &pftk::MODEL,
];

/// All models.
///
/// ```
/// let names: Vec<&str> = forebay_closed_form::models().map(|model| model.name).collect();
/// assert!(names.contains(&"sqrt-n") && names.contains(&"pftk"));
/// ```
pub fn models() -> impl Iterator<Item = &'static Model> {
    MODELS.iter().copied()
}

/// The model with this name or alias. Underscores and case do not matter.
///
/// # Errors
/// The existing names, if `name` is unknown.
///
/// ```
/// assert_eq!(forebay_closed_form::model("Appenzeller").unwrap().name, "sqrt-n");
/// assert!(forebay_closed_form::model("nonsense").is_err());
/// ```
pub fn model(name: &str) -> Result<&'static Model, FormulaError> {
    let wanted = name.trim().to_lowercase().replace(['_', ' '], "-");
    let is = |model: &&Model| model.name == wanted || model.aliases.contains(&wanted.as_str());
    models().find(is).ok_or_else(|| {
        let names = models().map(|model| (model.name, model.aliases.iter().copied()));
        FormulaError::Unknown(Unknown::spelled("model", name, names))
    })
}
