//! The registry of the engines and the closed-form models, by name.

use forebay_closed_form::ClosedFormEngine;
use forebay_fluid::FluidEngine;
use forebay_kernel::KernelEngine;
use forebay_packet::PacketEngine;
use forebay_scenario::{ClosedForm, Engine, Unknown};

/// All engines, the default first. Add a new one as a line here.
pub fn engines() -> &'static [&'static dyn Engine] {
    static ALL: [&dyn Engine; 4] = [
        &PacketEngine,
        &FluidEngine,
        &ClosedFormEngine,
        &KernelEngine,
    ];
    &ALL
}

/// The engine with this name.
///
/// # Errors
/// The names that exist, if `name` is unknown.
pub fn engine(name: &str) -> Result<&'static dyn Engine, Unknown> {
    let named = |engine: &&&dyn Engine| engine.description().name == name;
    engines().iter().find(named).copied().ok_or_else(|| {
        let known = engines().iter().map(|engine| engine.description().name);
        Unknown::among("engine", name, known)
    })
}

/// All closed-form models that size buffers or predict metrics of a scenario.
pub fn rules() -> &'static [&'static dyn ClosedForm] {
    forebay_closed_form::rules()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::{EngineError, Format, RunOptions, Scenario};

    #[test]
    fn every_engine_that_simulates_heeds_a_cancellation() {
        let text = "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n[[flows]]\nrtt = \"100ms\"\n\
                    [run]\nmeasure = \"4000000s\"\n";
        let hours = Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap();
        let options = RunOptions::default();
        options.cancel.request();
        for engine in engines() {
            let description = engine.description();
            // An engine in real time would refuse hours, or this machine, before it looks. Its own
            // crate tests it.
            if description.replicates && !description.real_time {
                let answer = engine.run(&hours, &options);
                let interrupted = matches!(answer, Err(EngineError::Interrupted));
                assert!(interrupted, "{}: {answer:?}", description.name);
            }
        }
    }
}
