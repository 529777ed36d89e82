//! The fluid engine behind the common contract: it translates a scenario, integrates the model and
//! returns the report.

use forebay_scenario::{
    Engine, EngineDescription, EngineError, FlowGroup, Footprint, Need, Report, RunOptions,
    Scenario, VictimCountLaw, Waiting, Warning, WarningKind,
};

use crate::adaptive::integrate_with;
use crate::coupled::integrate_coupled;
use crate::euler::integrate_euler_with;
use crate::outcome::FluidOutcome;
use crate::translation::{NAME, Translation};

/// The fluid engine.
///
/// ```
/// use forebay_fluid::FluidEngine;
/// use forebay_scenario::{Engine, Format, Metric, RunOptions, Scenario};
///
/// let text = r#"
///     [link]
///     rate = "100Mbps"
///     buffer = "1BDP"
///     [[flows]]
///     name = "elephants"
///     count = 4
///     rtt = "100ms"
///     packet = "1000B"
///     [run]
///     warmup = "50s"
///     measure = "100s"
/// "#;
/// let scenario = Scenario::parse(text, Format::Toml, "example", &[]).unwrap();
/// let report = FluidEngine.run(&scenario, &RunOptions::default())?;
/// assert!(report.value(Metric::Utilization).unwrap() > 0.99);
/// # Ok::<(), forebay_scenario::EngineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FluidEngine;

/// Memory of the engine, which does not depend on packets.
struct FluidMemory;

impl Footprint for FluidMemory {
    fn run(&self, _scenario: &Scenario) -> f64 {
        64e3
    }

    fn group(&self, _scenario: &Scenario) -> f64 {
        8e3
    }

    /// Memory of a flow: parameters, state and workspace of an integrator.
    fn flow(&self, _group: &FlowGroup) -> f64 {
        1024.0
    }

    fn source(&self, _group: &FlowGroup) -> f64 {
        0.0
    }

    /// Memory of a link: distributions of its queue, its row of the linear system, and the flows
    /// that lost. A changing rate adds its steps and the distributions of waiting times and drain
    /// times.
    fn link(&self, scenario: &Scenario, at: usize, flows: f64) -> f64 {
        let link = &scenario.links()[at];
        let steps = 1.5 * link.most_changes(scenario.run().end());
        let waits = if link.changes() { 960e3 } else { 0.0 };
        32e3 + waits + 200.0 * steps + 16.0 * scenario.links().len() as f64 + flows
    }

    fn waiting(&self, _scenario: &Scenario, _at: usize, _waiting: Waiting) -> f64 {
        0.0
    }
}

/// Step of the integrator if flows are limited, as a part of the shortest round trip: 2 ms at 100
/// ms. The utilization is within 1e-4 of the converged one.
const LIMITED_STEP: f64 = 0.02;

impl Engine for FluidEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: NAME,
                title: "Differential equations of windows and queues, with loss synchronization; an answer takes milliseconds.",
                source: "Kumar, Azad and Park 2010; Misra, Gong and Towsley 2000",
                cheap: true,
                replicates: true,
                traces: true,
                real_time: false,
                simulates_hosts: false,
                assumes_losses: true,
                models: Vec::new,
            }
        }
    }

    fn needs(&self, scenario: &Scenario, options: &RunOptions) -> Vec<Need> {
        let mut needs = scenario.needs(&FluidMemory, options.traces);
        if options.traces {
            needs.push(series(scenario));
        }
        needs
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        options.check(self.description())?;
        let needs = self.needs(scenario, options);
        scenario.afford(NAME, &needs, options.memory)?;
        let mut translation = Translation::new(scenario, options.seed)?;
        translation.model.cancel = options.cancel.clone();
        if options.traces {
            translation.model.trace = Some(scenario.trace().every.as_secs_f64());
        }
        let outcome = integrate_model(&mut translation, scenario)?;
        let mut report = translation.report(scenario, &outcome);
        if options.traces {
            report.traces = Some(Box::new(translation.traces(scenario, &outcome)));
        }
        Ok(report)
    }
}

/// Memory of the samples of all flows and links. They are stored for the whole run before the
/// traced part is selected, in lists that double as they grow.
fn series(scenario: &Scenario) -> Need {
    let run = scenario.run();
    let samples = run.end().as_secs_f64() / scenario.trace().every.as_secs_f64();
    let flows: u64 = scenario.flows().iter().map(|group| group.count).sum();
    let series = 1.0 + 2.0 * scenario.links().len() as f64 + flows as f64;
    let each = 3.0 * size_of::<f64>() as f64;
    Need::new("trace.every", (samples + 4.0) * series, "figure", each)
}

/// Runs the model adaptively. If access links or receive windows may have limited a flow, runs it
/// again with small steps.
fn integrate_model(
    translation: &mut Translation,
    scenario: &Scenario,
) -> Result<FluidOutcome, EngineError> {
    if scenario.fluid().law == VictimCountLaw::Continuous {
        let outcome = integrate_coupled(&translation.model)?;
        if !outcome.within_limits(&translation.model) {
            let text = "the continuous model ignores access links and receive windows";
            let warning = Warning::new(WarningKind::LeftOut, text);
            translation
                .warnings
                .push(warning.about("access, receive_window"));
        }
        return Ok(outcome);
    }
    let outcome = integrate_with(&translation.model, &translation.timeouts)?;
    if outcome.within_limits(&translation.model) {
        return Ok(outcome);
    }
    drop(outcome);
    let propagation = translation.model.flows.iter().map(|flow| flow.propagation);
    let shortest = propagation.fold(f64::INFINITY, f64::min);
    let step = (LIMITED_STEP * shortest).clamp(1e-7, 0.1 * translation.model.horizon);
    Ok(integrate_euler_with(
        &translation.model,
        step,
        &translation.timeouts,
    )?)
}
