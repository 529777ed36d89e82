//! The engines and the closed-form models by name.

use forebay_closed_form::ClosedFormEngine;
use forebay_fluid::{FluidEngine, TracingFluidEngine};
use forebay_packet::{PacketEngine, TracingPacketEngine};
use forebay_scenario::{ClosedForm, Engine};

/// All engines, the default first.
pub fn engines() -> &'static [&'static dyn Engine] {
    static ALL: [&dyn Engine; 3] = [&PacketEngine, &FluidEngine, ClosedFormEngine::by_regime()];
    &ALL
}

/// Engines that also record what the scenario's `[trace]` asks for, under the names of those
/// whose numbers they share.
fn tracing_engines() -> &'static [&'static dyn Engine] {
    &[&TracingPacketEngine, &TracingFluidEngine]
}

/// The engine of this name; `closed_form:NAME` is the closed-form engine with the model NAME
/// instead of the one it would choose.
///
/// # Errors
/// The names that exist.
pub fn engine(name: &str) -> Result<&'static dyn Engine, String> {
    let Some(model) = name.strip_prefix("closed_form:") else {
        return find(name, engines(), "engine");
    };
    match ClosedFormEngine::with_model(model) {
        Ok(engine) => Ok(engine),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// The engine of this name that also records traces.
///
/// # Errors
/// The names that exist.
pub fn tracing_engine(name: &str) -> Result<&'static dyn Engine, String> {
    find(name, tracing_engines(), "tracing engine")
}

fn find(
    name: &str,
    among: &'static [&'static dyn Engine],
    what: &str,
) -> Result<&'static dyn Engine, String> {
    let found = among.iter().find(|engine| engine.name() == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = among.iter().map(|engine| engine.name()).collect();
        format!("unknown {what} `{name}`; known: {}", known.join(", "))
    })
}

/// All closed-form models that size buffers or predict metrics of a scenario.
pub fn rules() -> &'static [&'static dyn ClosedForm] {
    forebay_closed_form::rules()
}
